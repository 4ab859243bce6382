"""The tasks of tasks.csv as tests: an Odyssey in this process answers the tools, without key or network."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from main import run as run_code

from pipelines.odyssey.testing import odyssey_run

HERE = Path(__file__).parent
TOOLS = json.loads((HERE / "agent.json").read_text())["tools_schema"]
with (HERE / "tasks.csv").open(newline="") as file:
    TASKS = [{column: cell for column, cell in row.items() if cell} for row in csv.DictReader(file)]


@pytest.mark.parametrize("task", TASKS, ids=[task["user"] for task in TASKS])
def test_task(task: dict[str, Any]) -> None:
    task = task | {"state": json.loads(task.get("state", "{}"))}
    with odyssey_run(tools_schema=TOOLS, **task) as run:
        text = run.envelope
        task_input = {"task_id": text.task_id, "user_instruction": text.user_instruction, "input": {}}
        reply = run_code(task_input, proxy_url=text.odyssey_proxy_url, run_token=text.run_token)
    verdict = run.verdict(reply)
    assert verdict.verdict == "PASS", verdict.reasoning
