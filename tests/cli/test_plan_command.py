"""`pipelines odyssey plan`: whose world it reads for, which tools it shows, what it cannot read."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from pipelines.cli.main import app

LOAN_ID = {"type": "object", "properties": {"loan_id": {"type": "string"}}, "required": ["loan_id"]}
LEND = {
    "type": "object",
    "properties": {"book_id": {"type": "string"}, "member_id": {"type": "string"}},
    "required": ["book_id", "member_id"],
}
TOOLS: list[dict[str, Any]] = [
    {"name": "get_loan", "description": "Get a loan by its id.", "input_schema": LOAN_ID},
    {
        "name": "checkout_book",
        "description": "Lend a book to a member. Creates a loan.",
        "input_schema": LEND,
    },
]
WORLD = {
    "book": {"b-1": {"title": "Emma", "status": "available"}},
    "member": {"m-1": {"name": "Ann"}},
    "loan": {"l-5": {"book_id": "b-1", "member_id": "m-1", "status": "open"}},
}
TASKS = [
    {"id": "empty", "user": "Hello."},
    {"id": "lend", "user": "Lend b-1 to m-1.", "state": WORLD, "behavior": "get_loan rejects closed loans."},
]


def planned(folder: Path, *arguments: str, tools: Any = TOOLS) -> Any:
    (folder / "agent.json").write_text(json.dumps({"name": "Desk", "tools_schema": tools}))
    (folder / "state.json").write_text(json.dumps(WORLD))
    (folder / "tasks.json").write_text(json.dumps(TASKS))
    (folder / "tasks.jsonl").write_text("\n".join(map(json.dumps, TASKS)))
    places = [str(folder / each) if "." in each else each for each in arguments]
    return CliRunner().invoke(app, ["odyssey", "plan", str(folder / "agent.json"), *places])


def test_a_plan_that_is_read_without_a_world_says_so(tmp_path: Path):
    without = planned(tmp_path)
    assert without.exit_code == 0, without.output
    assert without.stdout.startswith("# Planned without a world")
    assert "add" not in without.stdout.split("checkout_book:")[1]
    assert "Planned without a world" not in planned(tmp_path, "state.json").stdout


def test_each_sentence_is_shown_as_it_is_read_or_with_where_reading_stopped(tmp_path: Path):
    told = planned(tmp_path, "state.json", "--behavior", "get_loan rejects open loans").stdout
    assert "# “get_loan rejects open loans”\n# read as: get_loan fails when the loan's status is" in told
    assert '# {"form":"require","tools":["get_loan"],' in told
    odd = planned(tmp_path, "state.json", "--behavior", "get_loan rejects dusty loans").stdout
    assert "# “get_loan rejects dusty loans”\n# not read, so not enforced: reading stopped at “dusty”" in odd


def test_a_guess_stands_above_its_plan_with_what_would_settle_it(tmp_path: Path):
    unclear = {"name": "run_close", "description": "Runs it.", "input_schema": LOAN_ID}
    told = planned(tmp_path, "state.json", tools=[*TOOLS, unclear]).stdout.split("get_loan:")[1]
    assert "confidence 0.3" in told
    assert "a guess; to confirm it, give" in told
    assert "# note: what `run_close` changes is not clear" in told


@pytest.mark.parametrize("file", ["tasks.json", "tasks.jsonl"])
@pytest.mark.parametrize("named", ["lend", "2"])
def test_the_world_and_rules_of_a_task_are_read(tmp_path: Path, file: str, named: str):
    found = planned(tmp_path, file, "--task", named)
    assert found.exit_code == 0, found.output
    assert "# In the world of this task: Lend b-1 to m-1." in found.stdout
    plans = yaml.safe_load(found.stdout)
    assert any("add" in step for step in plans["checkout_book"])
    assert "rejects closed loans" in json.dumps(plans["get_loan"]) + found.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tasks.json", "--task", "3"], "no task 3"),
        (["--task", "lend"], "--task needs a file of tasks"),
        (["state.json", "--tool", "renew"], "no tool named renew"),
    ],
)
def test_what_is_not_there_is_exit_code_2(tmp_path: Path, arguments: list[str], said: str):
    found = planned(tmp_path, *arguments)
    assert (found.exit_code, said in found.output) == (2, True), found.output


def test_json_has_only_the_tools_that_were_asked_for(tmp_path: Path):
    found = planned(tmp_path, "state.json", "--tool", "get_loan", "--json")
    assert [item["tool"] for item in json.loads(found.stdout)["items"]] == ["get_loan"]


@pytest.mark.parametrize(
    ("simulation", "said"),
    [
        ("- return: 1\n", "this is text; in JSON"),
        ([{"return": "add_day(today, 3)"}], "did you mean"),
    ],
)
def test_a_plan_that_cannot_be_read_is_exit_code_1_and_says_what_to_write(
    tmp_path: Path, simulation: Any, said: str
):
    found = planned(tmp_path, "state.json", tools=[TOOLS[0] | {"simulation": simulation}, TOOLS[1]])
    assert (found.exit_code, said in found.output) == (1, True), found.output


def test_the_ledger_schema_beside_the_tools_counts(tmp_path: Path):
    body = {"name": "Desk", "tools_schema": TOOLS, "ledger_schema": {"entities": [{"type": 5}]}}
    (tmp_path / "agent.json").write_text(json.dumps(body))
    found = CliRunner().invoke(app, ["odyssey", "plan", str(tmp_path / "agent.json")])
    assert (found.exit_code, "type" in found.output) == (2, True), found.output


def test_a_plan_says_what_the_annotations_of_its_tool_say(tmp_path: Path):
    reads = {"name": "lend_book", "inputSchema": LEND, "annotations": {"readOnlyHint": True}}
    told = planned(tmp_path, "state.json", tools=[TOOLS[0], reads]).stdout
    assert told.count("# the definition says it only reads (readOnlyHint)\n") == 1
    assert "add:" not in told.split("lend_book:")[1]


def test_the_answer_of_an_mcp_server_is_a_file_of_tools(tmp_path: Path):
    listed = {"tools": [{"name": "get_loan", "inputSchema": LOAN_ID, "annotations": {"readOnlyHint": True}}]}
    (tmp_path / "listed.json").write_text(json.dumps(listed | {"nextCursor": None}))
    told = CliRunner().invoke(app, ["odyssey", "plan", str(tmp_path / "listed.json")])
    assert told.exit_code == 0, told.output
    assert "the definition says it only reads (readOnlyHint)" in told.stdout
