"""docs/quickstart.md done by a stranger in two terminals: every command as written, to the last one."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from served import STOP_S, clean_environment

from support.ports import free_port
from support.repository import DOCS, EXAMPLES, ROOT

PAGE = (DOCS / "quickstart.md").read_text()
PATIENCE_S = 60.0  # two loaded cores: only a test that fails waits this long
SERVER_PORT, AGENT_PORT = "8420", "9100"  # as on the page


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[str]:
    """One by one, those of several lines whole; without comments."""
    lines = re.split(r"(?<!\\)\n", block)
    return [command for command in lines if command.strip() and not command.startswith("#")]


class Terminal:
    """A shell that somebody types into, and reads before typing on."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.said = ""
        self._read_to = 0
        self.shell = subprocess.Popen(
            ["bash"],
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def enter(self, command: str, until: str) -> str:
        """What is said from here on until this pattern is seen."""
        assert self.shell.stdin is not None
        assert self.shell.stdout is not None
        self.shell.stdin.write(f"{command}\n".encode())
        self.shell.stdin.flush()
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.compile(until).search(self.said, self._read_to)) is None:
            left = max(deadline - time.monotonic(), 0)
            readable = select.select([self.shell.stdout], [], [], left)[0]
            part = os.read(self.shell.stdout.fileno(), 65_536).decode() if readable else ""
            assert part, f"{command}: never said {until!r}:\n{self.said}"
            self.said += part
        before, self._read_to = self._read_to, found.end()
        return self.said[before : found.end()]

    def done(self, command: str) -> tuple[int, str]:
        """The exit code of a command, and what it said."""
        said = self.enter(f"{command}\ncode=$?; echo; echo :ended: $code", r":ended: \d+\n")
        told, _, code = said.rpartition(":ended: ")
        return int(code), told

    def answer(self, command: str) -> Any:
        """What the API answered, which is no error."""
        code, said = self.done(command)
        assert code == 0, f"{command}: {said}"
        told = json.loads(said)
        assert not isinstance(told, dict) or "error" not in told, f"{command}: {said}"
        return told

    def close(self) -> None:
        """With all that was started in it."""
        os.killpg(self.shell.pid, signal.SIGTERM)
        try:
            self.shell.communicate(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.shell.pid, signal.SIGKILL)
            self.shell.communicate()


@contextmanager
def terminal_in(directory: Path, environment: dict[str, str]) -> Iterator[Terminal]:
    terminal = Terminal(directory, environment)
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.fixture
def ports() -> dict[str, str]:
    """For each port of the page one that is free."""
    return {SERVER_PORT: str(free_port()), AGENT_PORT: str(free_port())}


@pytest.fixture
def checkout(tmp_path: Path, ports: dict[str, str]) -> Path:
    """The repository as far as the page uses it, installed already."""
    shutil.copytree(EXAMPLES / "refund_agent", tmp_path / "examples" / "refund_agent")
    agent = tmp_path / "examples" / "refund_agent" / "agent.json"
    agent.write_text(agent.read_text().replace(AGENT_PORT, ports[AGENT_PORT]))
    (tmp_path / "examples" / "demo.py").symlink_to(EXAMPLES / "demo.py")
    (tmp_path / "Makefile").symlink_to(ROOT / "Makefile")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def test_the_page_holds_from_the_first_command_to_the_last(checkout: Path, ports: dict[str, str]) -> None:
    environment = clean_environment() | {"PIPELINES_URL": f"http://127.0.0.1:{ports[SERVER_PORT]}"}
    start, key, agent, run, look, by_hand, back, plan = (
        commands(block.replace(SERVER_PORT, ports[SERVER_PORT]).replace(AGENT_PORT, ports[AGENT_PORT]))
        for block in blocks("sh")
    )
    with terminal_in(checkout, environment) as first, terminal_in(checkout, environment) as second:
        served(first, start, ports[SERVER_PORT])
        assert second.done(*key)[0] == 0
        assert (checkout / ".pipelines" / "api-key").read_text().strip() in first.said

        in_background, *registered = agent
        second.enter(in_background, r"http://\S+/dispatch")
        created, changed, tested = map(second.answer, registered)
        assert (created["id"], changed["id"]) == (1, 1)
        assert tested["ok"] is True, tested

        code, shown = second.done(*run)
        assert code == 1, shown  # as the page says
        assert "9 of 12 judged runs pass" in shown
        (told,) = blocks("text")
        for part in told.split("…"):  # however wide the terminal is
            assert " ".join(part.split()) in " ".join(shown.split())
        looked = [second.done(command) for command in look]
        assert [code for code, _ in looked] == [0, 0, 0], looked
        assert "Run 9: FAIL · incomplete" in looked[0][1]
        assert "Nothing waits for a decision." in looked[2][1]

        played(second, by_hand)
        ended, trace, ledger = map(second.answer, back)
        assert ended["status"] == "completed"
        assert [row["tool_name"] for row in trace["items"]] == ["get_order"]
        assert ledger["state"]["order"]["4521"]["status"] == "shipped"

        code, shown = second.done(*plan)
        assert (code, "refund_order:" in shown) == (0, True), shown


def served(terminal: Terminal, start: list[str], port: str) -> None:
    """`make demo` has a test of its own: here it only has to be there. It installs nothing again."""
    demo, path, up = start
    code, said = terminal.done(demo.replace("make demo", "make --dry-run --old-file .venv/.run demo"))
    assert (code, "examples/demo.py" in said) == (0, True), said
    assert terminal.done(path)[0] == 0
    terminal.enter(up.replace("pipelines up", f"pipelines up --port {port}"), "Stop with")


def played(terminal: Terminal, by_hand: list[str]) -> None:
    """The reader copies two values of the answer; what the page shows is what comes."""
    opened, copied, called = by_hand
    run = terminal.answer(opened)
    assert run["id"] == 13, "the page goes on with this number"
    for placeholder in (run["odyssey_proxy_url"], run["run_token"]):
        copied = copied.replace("…", placeholder, 1)
    assert terminal.done(copied)[0] == 0
    (shown,) = map(json.loads, blocks("json"))
    reply = terminal.answer(called)
    assert reply | {"latency_ms": 0} == shown | {"latency_ms": 0}
