"""What a server finds when it starts: another one on its files, or files that are broken."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from support.played_agents import PlayedAgent, holds, played
from support.server_process import REFUND_TASK, House, Node, eventually

pytestmark = pytest.mark.fault


def refused_start(*flags: str) -> str:
    node = Node("up", "--port", "0", *flags)
    stdout, said = node.process.stdout, ""
    assert stdout is not None
    try:
        while more := os.read(stdout.fileno(), 65_536).decode():  # until it ends, or serves
            said += more
            assert "Stop with" not in said, f"it has started: {said}"
        _, errors = node.process.communicate(timeout=40)
    finally:
        node.kill()
    assert node.process.returncode == 2, errors
    return errors


@pytest.mark.slow
def test_a_second_server_on_one_database_is_refused_by_whatever_name_it_comes(
    own_house: House, tmp_path: Path
) -> None:
    own_house.open()
    database = own_house.directory / "odyssey.db"
    linked_file, linked_folder = tmp_path / "linked.db", tmp_path / "linked"
    linked_file.symlink_to(database)
    linked_folder.symlink_to(own_house.directory)
    for number, path in enumerate([database, linked_file, linked_folder / "odyssey.db"]):
        flags = ("--data-dir", str(tmp_path / str(number)), "--database-url", f"sqlite:///{path}")
        assert f"Another server is running on {database.resolve()}" in refused_start(*flags)
    assert "Another server is running on" in refused_start("--data-dir", str(linked_folder))


def held_and_killed(house: House, agent: PlayedAgent) -> int:
    """A batch of eight, two of them with the agent when the server was killed."""
    api = house.open()
    batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 8, agent={"max_concurrency": 2})
    eventually(lambda: agent.at_once == 2, "the agent is full")
    house.kill()
    agent.may_answer.set()
    return batch_id


def files_of_queue(house: House) -> list[Path]:
    return [house.directory / f"durable.db{ending}" for ending in ("", "-wal", "-shm")]


@pytest.mark.parametrize(
    "fate",
    [
        "deleted",
        pytest.param("garbage", marks=pytest.mark.slow),
        pytest.param("cut short", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_batches_whose_queue_is_lost_are_queued_again_at_the_start(own_house: House, fate: str) -> None:
    with played(holds) as agent:
        batch_id = held_and_killed(own_house, agent)
        file, *beside = files_of_queue(own_house)
        if fate == "deleted":
            file.unlink()
        else:
            file.write_bytes(b"garbage " * 4000 if fate == "garbage" else file.read_bytes()[:10_000])
        for part in beside:
            part.unlink(missing_ok=True)
        api = own_house.open()
        batch = api.ended(batch_id)
        assert batch["counts"]["by_status"] == {"completed": 6, "failed": 2}
        assert set(agent.runs_seen.values()) == {1}
        api.ended(api.start_batch(agent.url))  # and new ones are taken
    code, errors = own_house.stop()
    assert code == 0, errors
    is_told = "The queue of batches is broken" in errors and "unfinished batches are queued again" in errors
    assert is_told == (fate != "deleted"), errors
    assert (own_house.directory / "durable.db.broken-1").exists() == is_told


@pytest.mark.slow
def test_a_queue_that_is_whole_is_kept_after_a_kill(own_house: House) -> None:
    with played(holds) as agent:
        batch_id = held_and_killed(own_house, agent)
        api = own_house.open()
        api.ended(batch_id)
    code, errors = own_house.stop()
    assert (code, "broken" in errors) == (0, False), errors
    assert not list(own_house.directory.glob("*.broken-*"))


@pytest.mark.slow
def test_a_log_that_a_kill_left_is_read_without_a_word(own_house: House) -> None:
    own_house.open().agent("http://127.0.0.1:9/")
    own_house.kill()
    api = own_house.open()
    assert len(api.get("/api/agents")["items"]) == 1
    assert own_house.stop() == (0, "")


@pytest.mark.slow
def test_a_log_of_garbage_beside_the_database_is_told_and_kept(own_house: House) -> None:
    own_house.open().agent("http://127.0.0.1:9/")
    own_house.kill()
    log = own_house.directory / "odyssey.db-wal"
    assert log.stat().st_size > 0
    log.write_bytes(b"garbage " * 4000)
    api = own_house.open()
    assert httpx2.get(f"{api.url}/health/ready").is_success
    assert api.get("/api/agents")["items"] == []  # it was in the log alone
    _, errors = own_house.stop()
    assert "are lost" in errors
    assert "restore the database from a backup" in errors
    assert (own_house.directory / "odyssey.db-wal.broken-1").read_bytes() == b"garbage " * 4000


def test_a_server_refuses_the_schema_of_a_newer_version(own_house: House) -> None:
    own_house.open()
    own_house.kill()
    with closing(sqlite3.connect(own_house.directory / "odyssey.db")) as connection, connection:
        connection.execute("INSERT INTO migrations (name) VALUES ('9998_from_the_future')")
    said = refused_start("--data-dir", str(own_house.directory))
    assert "9998_from_the_future" in said
    assert "restore the backup" in said


def test_a_second_server_on_a_hard_link_of_the_database_is_refused(own_house: House, tmp_path: Path) -> None:
    own_house.open()
    linked = tmp_path / "elsewhere" / "odyssey.db"
    linked.parent.mkdir()
    linked.hardlink_to(own_house.directory / "odyssey.db")
    flags = ("--data-dir", str(tmp_path / "other"), "--database-url", f"sqlite:///{linked}")
    assert "Another server is running on" in refused_start(*flags)
