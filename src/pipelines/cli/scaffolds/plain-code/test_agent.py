"""The tasks of tasks.csv as tests: an Odyssey in this process answers the tools, without key or network."""

import csv
import json
from pathlib import Path
from typing import Any

import agent
import pytest

from pipelines.odyssey import ToolFailed, proxy_call
from pipelines.odyssey.testing import odyssey_run

HERE = Path(__file__).parent
TOOLS = json.loads((HERE / "agent.json").read_text())["tools_schema"]
with (HERE / "tasks.csv").open(newline="") as file:
    TASKS = [{column: cell for column, cell in row.items() if cell} for row in csv.DictReader(file)]


def call_in_process(proxy_url: str, run_token: str, tool: str, arguments: dict[str, Any]) -> tuple[int, Any]:
    """In the place of the agent's own HTTP call."""
    try:
        return 200, proxy_call(tool, arguments)
    except ToolFailed as failed:
        return failed.status, failed.response


@pytest.mark.parametrize("task", TASKS, ids=[task["user"] for task in TASKS])
def test_task(task: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "call_tool", call_in_process)
    task = task | {"state": json.loads(task.get("state", "{}"))}
    with odyssey_run(tools_schema=TOOLS, **task) as run:
        reply = agent.run({"user_instruction": task["user"], "input": {}}, proxy_url="", run_token="")
    verdict = run.verdict(reply)
    assert verdict.verdict == "PASS", verdict.reasoning
