"""`pipelines judge`: verdicts on recorded runs without a server."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from pipelines.cli.main import app

ASKED, ANSWER = "Refund order 4521.", "I have refunded order 4521."
STATE = {"order": {"4521": {"status": "shipped"}}}
REFUNDED = {"order": {"4521": {"status": "refunded"}}}
CALL = {"id": "c1", "name": "refund_order", "arguments": {"order_id": "4521"}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"status": "refunded"}'},
    {"role": "assistant", "content": ANSWER},
]
TASKS = [{"id": "refund", "user": ASKED, "state": STATE, "expected_state": {"order.4521.status": "refunded"}}]
TOOLS = [
    {
        "name": "refund_order",
        "description": "Refund an order.",
        "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    }
]


def judge(folder: Path, recording: Any, *options: str, tasks: Any = TASKS) -> Result:
    file = folder / "recorded.jsonl"
    lines = recording if isinstance(recording, list) and "role" not in recording[0] else [recording]
    file.write_text("\n".join(map(json.dumps, lines)))
    (folder / "tasks.json").write_text(json.dumps(tasks))
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    given = ["--tasks", str(folder / "tasks.json")] if tasks is not None else []
    return CliRunner().invoke(app, ["judge", str(file), *given, *options], env={"COLUMNS": "80"})


def test_a_run_that_left_what_was_expected_passes(tmp_path: Path) -> None:
    result = judge(tmp_path, {"messages": MESSAGES, "state_after": REFUNDED})
    assert result.exit_code == 0, result.output
    assert "recorded.jsonl: 1 run of OpenAI-style messages" in result.output
    assert "PASS run 1, task 1: Refund order 4521." in result.output


def test_a_run_that_did_not_fails_with_exit_code_1_and_the_reason(tmp_path: Path) -> None:
    result = judge(tmp_path, {"messages": MESSAGES, "state_after": STATE})
    assert result.exit_code == 1
    assert "FAIL run 1, task 1" in result.output
    assert 'should be "refunded"' in " ".join(result.output.split())
    assert max(map(len, result.output.splitlines())) <= 80


def test_the_states_of_one_run_may_be_files(tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_text(json.dumps(STATE))
    after.write_text(json.dumps(REFUNDED))
    result = judge(tmp_path, MESSAGES, "--before", str(before), "--after", str(after))
    assert result.exit_code == 0, result.output


def test_the_states_of_several_runs_stand_beside_each(tmp_path: Path) -> None:
    after = tmp_path / "after.json"
    after.write_text(json.dumps(REFUNDED))
    result = judge(tmp_path, [{"messages": MESSAGES}] * 2, "--after", str(after))
    assert result.exit_code == 2
    assert "are for one run" in result.output


def test_without_a_state_nothing_is_decided_and_that_is_said(tmp_path: Path) -> None:
    result = judge(tmp_path, {"messages": MESSAGES})
    said = " ".join(result.output.split())
    assert "PENDING run 1" in said
    assert "The recording has no state" in said
    assert result.exit_code == 1  # as of a batch of which no run is decided


def test_json_and_junit_tell_each_run(tmp_path: Path) -> None:
    junit = tmp_path / "out.xml"
    runs = [
        {"messages": MESSAGES, "state_after": REFUNDED, "task": "refund"},
        {"messages": MESSAGES, "state_after": STATE, "task": 1},
    ]
    result = judge(tmp_path, runs, "--json", "--junit", str(junit), "--tools", str(tmp_path / "tools.json"))
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["recognised"] == "2 runs of OpenAI-style messages"
    assert [(run["verdict"], run["task_key"], run["repeat_number"]) for run in told["runs"]] == [
        ("PASS", "refund", 1),
        ("FAIL", "refund", 2),
    ]
    suite = ElementTree.fromstring(junit.read_text())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


def test_without_tasks_a_run_is_judged_without_an_oracle(tmp_path: Path) -> None:
    result = judge(tmp_path, {"messages": MESSAGES, "tools": TOOLS}, "--json", tasks=None)
    (run,) = json.loads(result.stdout)["runs"]
    assert run["verdict"] == "PENDING"
    assert run["user_instruction"] == ASKED


BAD: dict[str, tuple[str, list[str]]] = {
    "a foreign shape": ('{"turns": []}', ["1 problem", "not in one of the four supported formats"]),
    "two problems": (
        json.dumps([{"messages": MESSAGES, "task": "nothing"}, {"messages": MESSAGES, "task": 7}]),
        ["2 problems", "/0/task: there is no task `nothing`", "/1/task: there is no task `7`"],
    ),
    "nothing": ("", ["has no runs"]),
}


@pytest.mark.parametrize(("text", "told"), BAD.values(), ids=BAD)
def test_a_bad_recording_is_exit_code_2_and_every_problem(tmp_path: Path, text: str, told: list[str]) -> None:
    file, tasks = tmp_path / "recorded.json", tmp_path / "tasks.json"
    file.write_text(text)
    tasks.write_text(json.dumps(TASKS))
    result = CliRunner().invoke(app, ["judge", str(file), "--tasks", str(tasks)])
    assert result.exit_code == 2
    for part in told:
        assert part in result.output
