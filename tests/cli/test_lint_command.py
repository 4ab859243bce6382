"""`pipelines odyssey lint`: 0 when every oracle proves something, 1 when one does not, 2 for a bad file."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from support.desk import STATE, TOOLS

HEADER = "user,state,expected_state\n"


def cell(value: object) -> str:
    return '"' + json.dumps(value).replace('"', '""') + '"'


GOOD = f"Refund order 4521.,{cell(STATE)},{cell({'order.4521.status': 'refunded'})}\n"
EMPTY = f"Look at order 4521.,{cell(STATE)},{cell({'order.4521.status': 'shipped'})}\n"
BROKEN = "Refund it.,{not json,\n"


@pytest.mark.parametrize(
    ("rows", "code", "said"),
    [
        (GOOD, 0, "1 task, 0 warnings"),
        (GOOD + EMPTY, 1, "row 3"),
        (GOOD + BROKEN, 2, "state"),
    ],
    ids=["proves something", "a do-nothing agent passes", "cannot be read"],
)
def test_the_exit_code_says_what_was_found(tmp_path: Path, rows: str, code: int, said: str):
    tasks, tools = tmp_path / "tasks.csv", tmp_path / "tools.json"
    tasks.write_text(HEADER + rows)
    tools.write_text(json.dumps(TOOLS))
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tasks), "--tools", str(tools)])
    assert result.exit_code == code, result.output
    assert said in result.output


def test_a_tool_that_would_be_a_guess_is_named_and_is_no_failure(tmp_path: Path):
    tasks, tools = tmp_path / "tasks.csv", tmp_path / "tools.json"
    unclear = {"name": "run_close", "description": "Runs it.", "input_schema": {"type": "object"}}
    tasks.write_text(HEADER + GOOD)
    tools.write_text(json.dumps([*TOOLS, unclear]))
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tasks), "--tools", str(tools)])
    assert result.exit_code == 0, result.output
    assert "run_close is a guess (confidence 0.30)" in result.output
    assert "to confirm it" in result.output


def test_a_sentence_that_is_not_enforced_is_told_and_is_no_failure(tmp_path: Path):
    tasks, tools = tmp_path / "tasks.csv", tmp_path / "tools.json"
    odd = "The moon decides about refunds."
    tasks.write_text(HEADER.replace("user,", "user,behavior,") + GOOD.replace(".,", f".,{odd},", 1))
    tools.write_text(json.dumps(TOOLS))
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tasks), "--tools", str(tools)])
    assert result.exit_code == 0, result.output
    assert f"row 2, behavior: not understood, so not enforced: {odd} (reading stopped at" in result.output
    assert "1 task, 1 warning" in result.output


def test_every_sentence_is_shown_as_it_is_read_or_with_the_nearest_that_is(tmp_path: Path):
    tasks, tools = tmp_path / "tasks.csv", tmp_path / "tools.json"
    text = "Shipped orders cannot be cancelled. cancel_order rejects suspicious shipped orders."
    tasks.write_text(HEADER.replace("user,", "user,behavior,") + GOOD.replace(".,", f".,{text},", 1))
    tools.write_text(json.dumps(TOOLS))
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tasks), "--tools", str(tools)])
    assert result.output.splitlines()[:5] == [
        "row 2, behavior: Shipped orders cannot be cancelled.",
        "    read as: cancel_order fails when the order's status is 'shipped'.",
        '    {"form":"require","tools":["cancel_order"],"expression":"order.status != \'shipped\'"}',
        '    passes: cancel_order {"order_id":"7001"} → 200',
        '    refused: cancel_order {"order_id":"45… → 409 conflict: order 4521 is shipped',
    ]
    assert "is 'shipped'.” (leaves out “suspicious”)" in result.output
    assert "(nearest: “cancel_order fails when the order's status is 'shipped'.”" in result.output
    told = json.loads(
        CliRunner().invoke(app, ["odyssey", "lint", str(tasks), "--tools", str(tools), "--json"]).stdout
    )
    assert [(one["row"], bool(one["rules"])) for one in told["sentences"]] == [(2, True), (2, False)]


def test_json_lists_the_warnings(tmp_path: Path):
    tasks = tmp_path / "tasks.csv"
    tasks.write_text(HEADER + GOOD + EMPTY)
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tasks), "--json"])
    assert result.exit_code == 1
    (warning,) = json.loads(result.stdout)["warnings"]
    assert warning["row"] == 3


@pytest.mark.parametrize("name", ["tasks.yaml", "tasks.json", "tasks.jsonl"])
def test_every_format_is_read_and_its_notes_are_told_once(tmp_path: Path, name: str):
    row = {"User": "Refund it.", "state": STATE, "expected_state": {"order.4521.status": "refunded"}}
    tasks = tmp_path / name
    tasks.write_text(json.dumps(row) if name.endswith("l") and "json" in name else json.dumps([row]))
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tasks)])
    assert result.exit_code == 0, result.output
    assert result.output.count("Note: The column `User` is used as `user`.") == 1


def test_a_workbook_gets_one_message(tmp_path: Path):
    tasks = tmp_path / "tasks.xlsx"
    tasks.write_bytes(b"PK\x03\x04[Content_Types].xml" + bytes(2_000))
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tasks)])
    assert result.exit_code == 2
    assert "1 problem\n" in result.output
    assert "an Excel workbook" in result.output


def test_a_file_that_is_not_there_is_exit_code_2(tmp_path: Path):
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tmp_path / "none.csv")])
    assert result.exit_code == 2
    assert "none.csv" in result.output


def test_rules_that_name_what_is_not_there_are_told_and_are_no_failure(tmp_path: Path):
    tasks, agent = tmp_path / "tasks.csv", tmp_path / "agent.json"
    own = [{"off": "onec"}, {"form": "require", "tools": ["cancel_order"], "expression": "order.statu"}]
    tasks.write_text(HEADER.replace("user,", "user,rules,") + GOOD.replace(".,", f".,{cell(own)},", 1))
    once = {"name": "once", "form": "limit_calls", "tools": ["cancel_order"], "count": 1}
    agent.write_text(json.dumps({"tools_schema": TOOLS, "rules": [once]}))
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tasks), "--tools", str(agent)])
    assert result.exit_code == 0, result.output
    assert "row 2, rules: the agent has no rule called `onec`" in result.output
    assert "row 2, rules: rule 2: `order` has no field `statu` (did you mean `status`?)" in result.output
    assert "1 task, 2 warnings" in result.output
    agent.write_text(json.dumps({"tools_schema": TOOLS, "rules": [once | {"tools": ["cancel_ordr"]}]}))
    result = CliRunner().invoke(app, ["odyssey", "lint", str(tasks), "--tools", str(agent)])
    assert result.exit_code == 2
    assert "the agent declares no tool `cancel_ordr`" in result.output
