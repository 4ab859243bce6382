"""`pipelines odyssey init`: what it writes passes its own tests, and the commands it prints work."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from terminal import PATIENT_S
from typer.testing import CliRunner

from pipelines.cli.main import app
from support.ports import free_port
from support.server_process import Api, clean_environment, eventually

FRAMEWORKS = ["plain", "openai-agents", "anthropic", "langchain", "strands"]
QUICK = {("plain", "http"), ("plain", "code"), ("openai-agents", "http")}
ALL = [
    pytest.param(name, mode, marks=[] if (name, mode) in QUICK else [pytest.mark.slow])
    for name in FRAMEWORKS
    for mode in ("http", "code")
]
BIN = Path(sys.executable).parent
BASE = {".env.example", ".gitignore", "README.md", "agent.json", "agent.py", "requirements.txt", "tasks.csv"}


def written(directory: Path, *arguments: str) -> Path:
    done = CliRunner().invoke(app, ["odyssey", "init", "--dir", str(directory), *arguments])
    assert done.exit_code == 0, done.output
    return directory


def shell(commands: str, directory: Path, **env: str) -> tuple[int, str]:
    """Typed as they stand: exit code and output. What was left in the background ends with the session."""
    path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100", "NO_COLOR": "1"}
    quick = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    with (directory.parent / "said.txt").open("w+") as said:
        process = subprocess.Popen(
            ["bash", "-ec", commands],
            cwd=directory,
            env=clean_environment() | path | quick | env,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(timeout=PATIENT_S * 2)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=PATIENT_S)
        said.seek(0)
        return process.returncode, said.read()


def block(readme: Path, heading: str) -> str:
    """The commands under a heading of a README."""
    found = re.search(rf"{heading}.*?```sh\n(.*?)```", readme.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(("framework", "mode"), ALL)
def test_a_new_agent_passes_its_own_tests_and_the_doctor(tmp_path: Path, api: Api, framework: str, mode: str):
    directory = written(tmp_path / "new-agent", "--framework", framework, "--mode", mode)
    env = {"OPENAI_API_KEY": "sk-none", "ANTHROPIC_API_KEY": "none"}  # must not be used by a test
    code, said = shell("pytest -q", directory, **env)
    assert code == 0, said
    assert re.search(r"^[45] passed", said, re.MULTILINE), said
    words = ["odyssey", "doctor", "--dir", str(directory), "--json", "--server", api.url]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    levels = {each["check"]: each["level"] for each in json.loads(found.stdout)["findings"]}
    assert {check for check, level in levels.items() if level != "ok"} <= {"auth token"}, found.stdout
    assert {"plans", "tasks", "agent file", "import" if mode == "http" else "entry"} <= levels.keys()


@pytest.mark.parametrize("mode", ["http", pytest.param("code", marks=pytest.mark.slow)])
def test_the_commands_of_the_readme_lead_to_verdicts(tmp_path: Path, mode: str):
    """On a server of its own, to the exit code of `pipelines run`; only the ports are other ones."""
    directory = written(tmp_path / "desk", "--mode", mode)
    server, agent = str(free_port()), str(free_port())
    for name in ("agent.json", "README.md"):
        (directory / name).write_text((directory / name).read_text().replace("9100", agent))
    first = block(directory / "README.md", "# desk").replace("pipelines odyssey dev ", "true ")
    code, said = shell(first, directory, PIP_NO_INDEX="1")
    assert code == 0, said
    assert "4 passed" in said
    assert "Ready" in said
    env = {"PIPELINES_PORT": server, "PIPELINES_URL": f"http://127.0.0.1:{server}"}
    code, said = shell(block(directory / "README.md", "## On a server"), directory, **env)
    assert code == 0, said
    assert "Agent 1: desk, version 1, 2 tools" in said
    assert "4 of 4 judged runs pass: 100%" in said
    eventually(lambda: not is_listening(int(server)), "the server has ended")


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_what_is_printed_is_what_to_type_next(tmp_path: Path):
    done = CliRunner().invoke(app, ["odyssey", "init", "--dir", str(tmp_path / "my first agent")])
    assert done.exit_code == 0
    assert f"cd '{tmp_path}/my first agent'" in done.stdout
    for command in ("pip install -r requirements.txt pytest", "pytest ", "doctor", "dev"):
        assert command in done.stdout


@pytest.mark.parametrize("mode", ["http", "code"])
def test_without_a_folder_it_is_my_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["odyssey", "init", "--mode", mode])
    assert done.exit_code == 0, done.output
    assert "cd my-agent" in done.stdout
    assert json.loads((tmp_path / "my-agent" / "agent.json").read_text())["name"] == "my-agent"
    again = CliRunner().invoke(app, ["odyssey", "init", "--mode", mode])
    assert (again.exit_code, "my-agent is not empty" in again.output) == (2, True)


@pytest.mark.parametrize(
    ("folder", "name", "typed"),
    [
        ("desk", "desk", "--agent desk "),
        ("my first agent", "my first agent", "--agent 'my first agent' "),
        ('say "hi"', 'say "hi"', "--agent 'say \"hi\"' "),
        ("2024", "agent-2024", "--agent agent-2024 "),
        ("tab\there", "my-agent", "--agent my-agent "),
    ],
)
def test_an_agent_is_named_after_its_folder(tmp_path: Path, folder: str, name: str, typed: str):
    directory = written(tmp_path / folder)
    assert json.loads((directory / "agent.json").read_text())["name"] == name
    readme = (directory / "README.md").read_text()
    assert readme.startswith(f"# {name}\n")
    assert f"pipelines run {typed}" in readme


def test_every_file_is_there_and_no_secret(tmp_path: Path):
    for framework in FRAMEWORKS:
        for mode in ("http", "code"):
            directory = written(tmp_path / framework / mode, "--framework", framework, "--mode", mode)
            names = {path.name for path in directory.iterdir()}
            assert names >= BASE | {"test_agent.py"}
            assert ("app.py" in names) == (mode == "http")
            filled = re.findall(r"^\w+=(.+)$", (directory / ".env.example").read_text(), re.MULTILINE)
            assert filled == []


def test_uploaded_code_of_the_plain_agent_needs_the_standard_library_only(tmp_path: Path):
    directory = written(tmp_path / "coded", "--mode", "code")
    imported = re.findall(r"^(?:import|from) (\w+)", (directory / "agent.py").read_text(), re.MULTILINE)
    assert set(imported) <= set(sys.stdlib_module_names)
    assert {path.name for path in directory.glob("*.py")} == {"agent.py", "test_agent.py"}


# -- refused, and nothing lost


@pytest.mark.parametrize("name", ["notes.txt", "agent.py", ".env.example"])
def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path, name: str):
    (tmp_path / name).write_text("mine")
    done = CliRunner().invoke(app, ["odyssey", "init", "--dir", str(tmp_path)])
    assert done.exit_code == 2
    assert name in done.output
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_fresh_repository_is_empty_enough(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".venv").mkdir()
    written(tmp_path)
    assert (tmp_path / "agent.py").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dir", "{tmp}/file"], "is a file"),
        (["--dir", "{tmp}/file/below"], "file"),
        (["--dir", "{tmp}/new", "--framework", "none"], "--framework"),
        (["--dir", "{tmp}/new", "--mode", "none"], "--mode"),
    ],
)
def test_wrong_usage_is_exit_code_2(tmp_path: Path, arguments: list[str], words: str):
    (tmp_path / "file").write_text("mine")
    done = CliRunner().invoke(app, ["odyssey", "init", *[a.format(tmp=tmp_path) for a in arguments]])
    assert done.exit_code == 2
    assert words in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
