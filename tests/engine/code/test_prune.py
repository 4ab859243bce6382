"""`pipelines prune` beside a running server: what it removes, what it leaves, that nothing breaks by it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from code_desk import code_agent, run_of

from pipelines.sandbox.held_folders import USED
from pipelines.server.config.settings import load_settings
from pipelines.server.service.housekeeping import would_prune
from pipelines.storage.agents import code
from pipelines.storage.database.connection import transaction
from pipelines.storage.database.sqlite_store import SqliteStore
from support.server_process import REFUND_TASK, Api, House, clean_environment, eventually, fresh_house_in

LONG_AGO = time.time() - 100 * 86_400
PART = b"x" * 300_000


def prune(house: House, *flags: str, **env: str) -> str:
    command = [sys.executable, "-m", "pipelines", "prune", "--data-dir", str(house.directory), *flags]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment() | env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def only_folder(house: House) -> Path:
    (found,) = [path for path in (house.directory / "code").iterdir() if not path.name.startswith(".")]
    return found


def age(folder: Path) -> None:
    os.utime(folder.parent / USED / folder.name, (LONG_AGO, LONG_AGO))


def add_orphan(house: House) -> None:
    connection = SqliteStore(house.directory / "odyssey.db").connect(read_only=False)
    with transaction(connection):
        for number in range(3):
            code.add_part(connection, code.Part("lost", number, PART))
    connection.close()


@pytest.mark.slow
def test_it_says_what_it_would_free_frees_it_and_the_code_runs_again(house_of_code: House, api: Api) -> None:
    agent = api.post("/api/agents", code_agent("return 'done'"), 201)
    assert run_of(api, agent["id"])["final_response"] == "done"
    folder = only_folder(house_of_code)
    add_orphan(house_of_code)
    assert folder.name not in prune(house_of_code)  # it was used just now; the orphan goes
    age(folder)
    add_orphan(house_of_code)
    said = prune(house_of_code, "--dry-run")
    assert folder.name in said
    assert "0.9 MiB  archive lost  (parts of an upload" in said
    assert "Would free" in said
    assert folder.is_dir()
    assert folder.name in prune(house_of_code)
    assert not folder.exists()
    assert prune(house_of_code) == "Freed 0.0 MiB.\n"
    # The sandboxes that waited for this code have the folder that is gone: they do not get the run.
    assert run_of(api, agent["id"])["final_response"] == "done"


@pytest.mark.slow
def test_the_folder_of_a_run_under_way_stays(house_of_code: House, api: Api) -> None:
    body = """
    import time
    call(proxy_url, run_token, "get_order", order_id="4521")
    while time.time() < task_input["input"]["until"]: time.sleep(0.05)
    import late_part
    return late_part.WORD
    """
    files = {"agent.py": code_agent(body)["code"]["text"], "late_part.py": "WORD = 'still there'"}
    agent = api.post("/api/agents", code_agent("", code={"source": "files", "files": files}), 201)
    task = REFUND_TASK | {"task_input": {"until": time.time() + 6}}
    batch_id = api.batch_of(agent["id"], api.dataset(task)["id"])
    eventually(
        lambda: api.by_status(batch_id).get("running") or api.batch(batch_id)["status"] != "running", "runs"
    )
    eventually(lambda: [run for run in api.runs(batch_id) if api.trace(run["id"])], "the code has begun")
    for used in (house_of_code.directory / "code" / USED).iterdir():
        os.utime(used, (LONG_AGO, LONG_AGO))
    prune(house_of_code, PIPELINES_CACHE_DAYS="1")
    api.ended(batch_id)
    assert api.only_run(batch_id)["final_response"] == "still there"


@pytest.mark.slow
def test_a_server_prunes_when_it_starts(tmp_path: Path) -> None:
    with fresh_house_in(tmp_path / "house") as house:
        house.open()
        house.stop()
        old = house.directory / "environments" / ("0" * 32)
        old.mkdir(parents=True)
        os.utime(old, (LONG_AGO, LONG_AGO))
        add_orphan(house)
        house.open()
        eventually(lambda: not old.exists(), "the old environment is removed")
        connection = SqliteStore(house.directory / "odyssey.db").connect(read_only=True)
        eventually(lambda: not code.orphaned_archives(connection), "the parts are removed")
        connection.close()


@pytest.mark.parametrize(
    ("days", "limit_mb", "gone"),
    [(15, 0, {"code/oldest", "environments/old"}), (0, 2, {"code/oldest"}), (0, 0, set())],
    ids=["by age", "by size", "never"],
)
def test_age_and_size_are_settings(tmp_path: Path, days: int, limit_mb: int, gone: set[str]) -> None:
    for name, unused_days in (("code/oldest", 100), ("environments/old", 20), ("code/new", 10)):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(os.urandom(1_000_000))
        os.utime(folder, (time.time() - unused_days * 86_400,) * 2)
    environment = {
        "PIPELINES_DATA_DIR": str(tmp_path),
        "PIPELINES_CACHE_DAYS": str(days),
        "PIPELINES_CACHE_LIMIT_MB": str(limit_mb),
    }
    assert {line.what for line in would_prune(load_settings(environment))} == gone


def test_without_a_database_it_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pipelines", "prune", "--data-dir", str(tmp_path / "nothing")]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 2
    assert "the database does not exist" in done.stderr
    assert not (tmp_path / "nothing").exists()
