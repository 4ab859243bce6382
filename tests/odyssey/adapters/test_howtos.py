"""The howto of each framework, done as written: its commands end with verdicts, its code runs."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from dispatches import OpenRun
from played_models import Played, Say, Use

from conftest import FRAMEWORKS
from support.ports import free_port
from support.repository import DOCS
from support.server_process import Api, clean_environment

HOWTOS = DOCS / "howto"


def blocks(framework: str, language: str) -> list[str]:
    page = (HOWTOS / f"{framework}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def run_script(script: str, cwd: Path, environment: dict[str, str]) -> tuple[int, str]:
    """As a shell of a person's would; what it started in the background ends with it."""
    ending = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n"
    process = subprocess.Popen(
        ["bash", "-e", "-c", ending + script],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
        raise AssertionError(f"did not end: {said}") from None
    return process.returncode, said


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_its_commands_end_with_verdicts(framework: str, tmp_path: Path):
    """Only the ports are others than written, and what is installed already is not installed again."""
    (script,) = blocks(framework, "sh")
    server, agent = free_port(), free_port()
    script = script.replace("pipelines up", f"pipelines up --port {server}").replace("9100", str(agent))
    script = re.sub(r"^pip install .*$", f"sed -i s/9100/{agent}/ agent.json", script, flags=re.MULTILINE)
    environment = clean_environment() | {"PIPELINES_URL": f"http://127.0.0.1:{server}"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AGENT_MODEL"):
        environment.pop(key, None)
    code, said = run_script(script, tmp_path, environment)
    assert code == 0, said
    assert "PASS" in said


def looks_up(heard: Any) -> Any:
    return Say("It has been shipped.") if heard[-1].role == "tool" else Use("get_order", {"order_id": "4521"})


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_its_code_runs(framework: str, api: Api, monkeypatch: pytest.MonkeyPatch):
    """With the model played, and all else as written."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    given: dict[str, Any] = {}
    with ExitStack() as stack:
        after = PREPARED[framework](given, stack)
        exec(blocks(framework, "python")[0], given)
        after(given)
        assert [tool["name"] for tool in given["tools_schema"]] == ["get_order"]
        opened = OpenRun(api, given["tools_schema"])
        reply = given["answer"](opened.envelope())
    assert reply["final_response"] == "It has been shipped."
    assert len(opened.trace("tool_call")) == 1


Finish = Callable[[dict[str, Any]], Any]


def _openai(given: dict[str, Any], stack: ExitStack) -> Finish:
    from openai_model import PlayedModel

    def play(made: dict[str, Any]) -> None:
        made["agent"].model = PlayedModel(Played(looks_up))

    return play


def _anthropic(given: dict[str, Any], stack: ExitStack) -> Finish:
    from anthropic_api import client_of, played_api

    def play(made: dict[str, Any]) -> None:
        made["client"].close()
        made["client"] = stack.enter_context(client_of(stack.enter_context(played_api(Played(looks_up)))))

    return play


def _langchain(given: dict[str, Any], stack: ExitStack) -> Finish:
    from langchain_model import PlayedModel

    given["model"] = PlayedModel(played=Played(looks_up))
    return lambda made: None


def _strands(given: dict[str, Any], stack: ExitStack) -> Finish:
    from strands_model import PlayedModel

    given["model"] = PlayedModel(Played(looks_up))
    return lambda made: None


PREPARED: dict[str, Callable[[dict[str, Any], ExitStack], Finish]] = {
    "openai-agents": _openai,
    "anthropic": _anthropic,
    "langchain": _langchain,
    "strands": _strands,
}
