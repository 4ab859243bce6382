"""Files of the database that are deleted under a running server, or missing when one starts."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import pytest

from pipelines.core.text.problems import Refused
from pipelines.server.config.settings import load_settings
from pipelines.server.service.first_start import KEY_FILE, prepare
from support.desk import AGENT, DrivenRun, House, Org, answered, refused

pytestmark = [pytest.mark.anyio, pytest.mark.fault]

PATIENCE_S = 30.0
NOTE = {"order_id": "7001", "text": "hello"}


async def until(status: int, ask: Callable[[], Awaitable[httpx2.Response]]) -> httpx2.Response:
    async with asyncio.timeout(PATIENCE_S):
        while (reply := await ask()).status_code != status:  # noqa: ASYNC110 (over HTTP)
            await asyncio.sleep(0.02)
    return reply


@pytest.mark.parametrize("part", ["", "-wal"])
async def test_deleted_files_are_noticed_and_nothing_more_is_confirmed(
    house: House, org: Org, run: DrivenRun, part: str
) -> None:
    path = house.settings.database_path
    file, aside = path.with_name(path.name + part), path.with_name("aside")
    file.rename(aside)
    reply = await until(503, lambda: house.stranger.get("/health/ready"))
    assert file.name in refused(reply, 503, "storage_unavailable")["message"]
    refused(await org.client.post("/api/agents", json=AGENT), 503, "storage_unavailable")
    refused(await run.call("add_note", NOTE), 503, "storage_unavailable")
    refused(await org.client.get("/api/agents"), 503, "storage_unavailable")
    assert not file.exists(), "nobody makes an empty one in its place"
    aside.rename(file)
    await until(200, lambda: house.stranger.get("/health/ready"))
    answered(await run.call("add_note", NOTE))
    assert len(await run.trace()) == 1


def started(folder: Path) -> str | None:
    return prepare(load_settings({}, data_dir=folder)).key


@pytest.mark.parametrize("fate", ["deleted", "empty"])
def test_a_missing_database_beside_the_queue_of_an_earlier_one_is_refused(tmp_path: Path, fate: str) -> None:
    key = started(tmp_path)
    file, queue, key_file = tmp_path / "odyssey.db", tmp_path / "durable.db", tmp_path / KEY_FILE
    queue.write_bytes(b"of an earlier database")
    file.unlink()
    if fate == "empty":
        file.touch()
    with pytest.raises(Refused) as refused:
        started(tmp_path)
    (problem,) = refused.value.problems
    assert str(queue) in problem.message
    assert "restore a backup" in (problem.hint or "")
    assert key_file.read_text().strip() == key
    assert not file.exists() or file.stat().st_size == 0
    queue.unlink()
    assert started(tmp_path) == key, "who has the key keeps it"


def test_a_key_file_is_never_overwritten(tmp_path: Path) -> None:
    key = started(tmp_path)
    (tmp_path / "odyssey.db").unlink()
    other = "pk_live_another"
    assert prepare(load_settings({"PIPELINES_API_KEY": other}, data_dir=tmp_path)).key == other
    assert (tmp_path / KEY_FILE).read_text().strip() == other
    assert (tmp_path / f"{KEY_FILE}.old-1").read_text().strip() == key
