"""A folder of code on its way to a server: in the registration where it fits, as a zip where it does not."""

import json
import zipfile
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer

from pipelines.cli import code_upload
from pipelines.cli.agent.register import register
from pipelines.cli.client import Server
from pipelines.cli.code_upload import CannotUpload, collect_code
from pipelines.cli.project import Project, find_project
from support.server_process import Api

AGENT = "def run(task_input, *, proxy_url, run_token):\n    return 'done'\n"
TOOLS = [{"name": "get_order", "description": "Get an order.", "input_schema": {"type": "object"}}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Named after the test, so that each has an agent of its own."""
    definition = {"name": tmp_path.name, "mode": "code", "tools_schema": TOOLS}
    (tmp_path / "agent.json").write_text(json.dumps(definition))
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def with_many_files(folder: Path) -> Path:
    (folder / "lib").mkdir()
    for number in range(60):
        (folder / "lib" / f"part_{number}.py").write_text(f"PART = {number}\n")
    return folder


def registered(api: Api, folder: Path) -> Any:
    with closing(Server(api.url, api.key)) as server:
        return register(server, find_project(folder), token=None)


def stored(api: Api, agent: Any) -> dict[str, bytes]:
    """What the server would run."""
    headers = {"Authorization": f"Bearer {api.key}"}
    raw = httpx2.get(f"{api.url}/api/agents/{agent['id']}/code", headers=headers).content
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_small_folder_goes_along_with_the_registration(api: Api, folder: Path):
    agent = registered(api, folder)
    assert (agent["status"], agent["code"]["source"], agent["version"]) == ("published", "files", 1)


def test_more_than_fifty_files_go_as_a_zip(api: Api, folder: Path):
    agent = registered(api, with_many_files(folder))
    assert (agent["status"], agent["code"]["source"], agent["code"]["files"]) == ("published", "zip", 61)
    files = stored(api, agent)
    assert files["agent.py"] == AGENT.encode()
    assert files["lib/part_59.py"] == b"PART = 59\n"
    assert "agent.json" not in files


def test_a_changed_folder_is_a_new_version_of_the_same_agent(api: Api, folder: Path):
    before = registered(api, with_many_files(folder))
    (folder / "lib" / "part_7.py").write_text("PART = 'seven'\n")
    after = registered(api, folder)
    assert (after["id"], after["status"]) == (before["id"], "published")
    assert after["version"] > before["version"]
    assert stored(api, after)["lib/part_7.py"] == b"PART = 'seven'\n"


@pytest.mark.parametrize("content", [b"\x89PNG\xff\x00", b"x" * 300_000], ids=["no text", "a large file"])
def test_what_the_registration_cannot_hold_goes_as_a_zip(api: Api, folder: Path, content: bytes):
    (folder / "data.bin").write_bytes(content)
    agent = registered(api, folder)
    assert (agent["status"], agent["code"]["source"]) == ("published", "zip")
    assert stored(api, agent)["data.bin"] == content


def test_a_refused_zip_leaves_a_draft_that_the_next_try_publishes(
    api: Api, folder: Path, capsys: pytest.CaptureFixture[str]
):
    (with_many_files(folder) / "agent.py").write_text("def run(:\n")
    with pytest.raises(typer.Exit):
        registered(api, folder)
    assert "agent.py" in capsys.readouterr().err
    (folder / "agent.py").write_text(AGENT)
    agent = registered(api, folder)
    assert (agent["status"], agent["code"]["files"]) == ("published", 61)


def test_a_draft_stays_one(api: Api, folder: Path):
    definition = json.loads((folder / "agent.json").read_text()) | {"status": "draft"}
    (with_many_files(folder) / "agent.json").write_text(json.dumps(definition))
    agent = registered(api, folder)
    assert (agent["status"], agent["code"]["source"]) == ("draft", "zip")


@pytest.mark.parametrize(
    ("limit", "words"),
    [("MAX_ZIP_FILES", "files, and at most"), ("MAX_UNPACKED_BYTES", "the files are over")],
)
def test_what_no_server_would_take_is_not_even_packed(
    folder: Path, limit: str, words: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(code_upload, limit, 3)
    project: Project = find_project(with_many_files(folder))
    with pytest.raises(CannotUpload, match=words):
        collect_code(project)


def test_an_archive_that_is_too_large_is_told_before_it_is_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(code_upload, "MAX_ZIP_BYTES", 3)
    code = collect_code(find_project(folder))
    assert code is not None
    with pytest.raises(CannotUpload, match="packed"):
        code.as_zip()
