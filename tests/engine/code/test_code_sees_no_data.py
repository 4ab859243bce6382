"""A server whose data lies, open to all, in a folder that every sandbox sees: its code sees none of it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from code_desk import run_code

from support.server_process import fresh_house_in

PLACE = Path("/usr/local/share")

LOOKS = """
seen = {}
for folder in task_input["input"]["folders"]:
    try: seen[folder] = sorted(os.listdir(folder))
    except OSError as error: seen[folder] = type(error).__name__
    try: seen[folder + " opened"] = open(folder + "/odyssey.db", "rb").read(15).decode()
    except OSError as error: seen[folder + " opened"] = type(error).__name__
return {"final_response": "looked", "metadata": seen}
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    if not os.access(PLACE, os.W_OK):
        pytest.skip(f"{PLACE} is shown to all code, and this user cannot make a folder in it")
    made = Path(tempfile.mkdtemp(prefix="odyssey-test-", dir=PLACE))
    try:
        made.chmod(0o755)
        yield made
    finally:
        shutil.rmtree(made)


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["in the data directory", "by its URL"])
def test_code_sees_neither_the_data_directory_nor_the_database(folder: Path, is_elsewhere: bool) -> None:
    data, database = folder / "data", folder / "database"
    for place in (data, database):
        place.mkdir()
        place.chmod(0o755)
    more = {"PIPELINES_DATABASE_URL": f"sqlite:///{database}/odyssey.db"} if is_elsewhere else {}
    with fresh_house_in(data, more) as house:
        api = house.open()
        found = api.get("/api/code-mode")
        if not found["available"]:
            pytest.skip(found["reason"])
        folders = [str(database if is_elsewhere else data)]
        task = {"user": "Look.", "task_input": {"folders": folders}}
        run = run_code(api, LOOKS, task)
        assert run["metadata"] == {folders[0]: [], f"{folders[0]} opened": "FileNotFoundError"}, run
