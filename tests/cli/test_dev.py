"""`pipelines odyssey dev` at work: calls as they happen, again after an edit, nothing left behind."""

import csv
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from terminal import is_alive, typed
from typer.testing import CliRunner

from pipelines.cli.agent.watch import FolderWatch
from pipelines.cli.main import app
from support.server_process import Api, eventually


@pytest.fixture(scope="module")
def scaffold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dev") / "desk"
    assert CliRunner().invoke(app, ["odyssey", "init", "--dir", str(directory)]).exit_code == 0
    return directory


@pytest.fixture
def desk(scaffold: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(scaffold, tmp_path / "desk"))


def env_of(api: Api) -> dict[str, str]:
    return {"PIPELINES_URL": api.url, "PIPELINES_API_KEY": api.key}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.slow
def test_an_edit_is_seen_and_what_is_broken_can_be_mended(desk: Path, tmp_path: Path):
    """No server is there, so it brings its own; at the end nothing of it is left."""
    (tmp_path / "tmp").mkdir()
    none = {"PIPELINES_URL": "http://127.0.0.1:9", "TMPDIR": str(tmp_path / "tmp")}
    with typed("odyssey", "dev", cwd=desk, **none) as terminal:
        assert "temporary, for this session only" in terminal.until("Agent:")
        assert "PASS" in terminal.until("task 2")
        terminal.until("4 of 4 pass")
        terminal.until("Waiting for a change")
        edit(desk / "agent.py", "MOST_TRIES = 3", "MOST_TRIES = 1")
        assert "agent.py changed" in terminal.until("Agent:")
        terminal.until("3 of 4 pass")
        terminal.until("Waiting for a change")
        edit(desk / "agent.py", "def reason(", "def reason((")
        assert "agent.py:" in terminal.until("SyntaxError")
        terminal.until("Waiting for a change")
        edit(desk / "agent.py", "def reason((", "def reason(")
        terminal.until("3 of 4 pass")
        terminal.until("Waiting for a change")
        children = terminal.children()
        assert len(children) == 2
        assert terminal.end() == 0
        assert "Traceback" not in terminal.said
    assert not any(map(is_alive, children))
    assert list((tmp_path / "tmp").iterdir()) == []


def test_each_call_is_printed_as_it_happens(api: Api, desk: Path):
    """The agent waits in its second task: what came before is on the screen already."""
    edit(desk / "agent.py", "    order = ORDER.search(instruction)\n", HOLD)
    with typed("odyssey", "dev", cwd=desk, **env_of(api)) as terminal:
        assert f"Server: {api.url} (it was running)" in terminal.until("Agent:")
        first = terminal.until("task 2")
        for words in (
            'get_order    order_id="4521"',
            "odyssey   200",
            "“I have refunded order 4521.”",
            "PASS",
        ):
            assert words in first
        edit(desk / "agent.py", HOLD, "    order = ORDER.search(instruction)\n")
        assert "agent.py changed" in terminal.until("Agent:")
        rest = terminal.until("4 of 4 pass")
        assert rest.index("injected  502") < rest.index("502: Payment processor unavailable")
        assert terminal.end(signal.SIGTERM) == 0
    runs = api.get("/api/runs", limit=8)["items"]
    assert [run["status"] for run in runs].count("cancelled") == 3


HOLD = """    order = ORDER.search(instruction)
    if "5001" in instruction:
        import threading
        threading.Event().wait()
"""


@pytest.mark.slow
def test_children_do_not_outlive_a_command_that_was_killed(desk: Path, tmp_path: Path):
    none = {"PIPELINES_URL": "http://127.0.0.1:9", "TMPDIR": str(tmp_path)}
    with typed("odyssey", "dev", "--task", "2", cwd=desk, **none) as terminal:
        terminal.until("1 of 1 pass")
        children = terminal.children()
        assert len(children) == 2
        terminal.process.kill()
        try:
            eventually(lambda: not any(map(is_alive, children)), "the children are gone")
        finally:
            for child in filter(is_alive, children):  # of a test that fails
                os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--task", "4", "--task", "2"], 0, "2 of 2 pass"),
        (["--task", "9"], 2, "there is no task 9"),
        (["--dataset", "none.csv"], 2, "none.csv"),
        (["--dataset", "bad.csv"], 2, "row 2"),
        (["--app", "agent:nothing"], 1, "agent has no `nothing`"),
        (["--app", "agent"], 2, "module:attribute"),
        (["--agent", "none.json"], 2, "none.json"),
    ],
    ids=[
        "rows",
        "no such row",
        "no such file",
        "a bad file",
        "no such app",
        "no app's name",
        "no such agent",
    ],
)
def test_once_says_by_its_exit_code_how_it_went(
    api: Api, desk: Path, arguments: list[str], code: int, said: str
):
    (desk / "bad.csv").write_text('user,state\nDo it.,"{not json"\n')
    words = ["odyssey", "dev", "--once", "--dir", str(desk), *arguments]
    done = CliRunner().invoke(app, words, env=env_of(api))
    assert done.exit_code == code, done.output
    assert said in " ".join(done.output.split())


def test_uploaded_code_shows_its_calls_and_passes_too(api: Api, tmp_path: Path):
    """The scaffold of `--mode code`, as it was written."""
    isolation = api.get("/api/code-mode")
    if not isolation["available"]:
        pytest.skip(isolation["reason"])
    folder = str(tmp_path / "coded")  # the server knows a `desk` already, which is no code
    assert CliRunner().invoke(app, ["odyssey", "init", "--mode", "code", "--dir", folder]).exit_code == 0
    done = CliRunner().invoke(app, ["odyssey", "dev", "--once", "--dir", folder], env=env_of(api))
    assert done.exit_code == 0, done.output
    for words in (
        'get_order    order_id="4521"',
        "odyssey   200",
        "injected  502",
        "“I have refunded order 4521.”",
        "4 of 4 pass",
    ):
        assert words in done.output


def test_a_run_that_fails_is_exit_code_1_with_its_reason(api: Api, desk: Path):
    edit(desk / "agent.py", "    taken: list[Step] = []\n", '    raise RuntimeError("out of paper")\n')
    words = ["odyssey", "dev", "--once", "--task", "1", "--dir", str(desk)]
    done = CliRunner().invoke(app, words, env=env_of(api))
    assert done.exit_code == 1
    assert "agent_5xx" in done.output
    assert "out of paper" in done.output


def test_what_the_range_guessed_or_did_not_enforce_is_printed_with_the_run(api: Api, desk: Path):
    told = "Blue elephants are to be humoured."
    with (desk / "tasks.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (desk / "tasks.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, dict.fromkeys([*rows[0], "behavior"]))
        table.writeheader()
        table.writerow(rows[1] | {"behavior": told})
    words = ["odyssey", "dev", "--once", "--dir", str(desk)]
    done = CliRunner().invoke(app, words, env=env_of(api))
    assert done.exit_code == 0, done.output
    assert f"not understood, so not enforced: {told}" in " ".join(done.output.split())


def test_a_second_round_makes_a_new_version_of_an_agent_of_its_own(api: Api, desk: Path):
    edit(desk / "agent.json", '"name": "desk"', '"name": "one of its kind"')
    words = ["odyssey", "dev", "--once", "--task", "2", "--dir", str(desk)]
    for _ in range(2):
        assert CliRunner().invoke(app, words, env=env_of(api)).exit_code == 0
    (agent,) = [a for a in api.get("/api/agents", limit=500)["items"] if a["name"] == "one of its kind (dev)"]
    assert agent["version"] == 2


def test_the_watch_tells_what_changed_and_leaves_out_what_is_nobodys(tmp_path: Path):
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "gone.csv").write_text("1")
    watch = FolderWatch(tmp_path)
    assert watch.changed() == []
    (tmp_path / "a.py").write_text("22")
    (tmp_path / "gone.csv").unlink()
    (tmp_path / "new.json").write_text(json.dumps({}))
    for folder in (".git", "__pycache__", ".venv"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text("1")
    (tmp_path / "notes.sqlite").write_text("1")
    assert watch.changed() == ["a.py", "gone.csv", "new.json"]
    assert watch.changed() == []
