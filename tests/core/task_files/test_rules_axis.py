"""The `rules` axis: read from cells, seeds and agents, stored as written, in force together."""

import json

import pytest

from pipelines.core.agents.agent_definition import AgentDefinition, parse_agent_definition
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.task_files.read_tasks import parse_tasks, tasks_as_csv, tasks_as_rows
from pipelines.core.task_files.upload_warnings import upload_warnings
from pipelines.core.tasks.seed import Seed, parse_seed
from pipelines.core.tasks.task_columns import BY_NAME, LARGEST_YAML_CELL, read_cell
from pipelines.core.tasks.task_key import content_hash
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.tools_schema import parse_tools_schema

TOOLS = parse_tools_schema(
    [
        {"name": name, "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}}}
        for name in ("get_order", "cancel_order")
    ]
)
OPEN: JsonObject = {
    "name": "open-only",
    "form": "require",
    "tools": ["cancel_order"],
    "expression": "order.status == 'open'",
}
ONCE: JsonObject = {"name": "once", "form": "limit_calls", "tools": ["cancel_order"], "count": 1}
OFF: JsonObject = {"off": "once"}
STATE: JsonObject = {"order": {"1": {"status": "open", "total": 3}}}
AGENT: JsonObject = {
    "name": "Orders",
    "endpoint_url": "https://agents.example.com/dispatch",
    "tools_schema": [tool.as_json() for tool in TOOLS],
}


def table(*cells: str) -> bytes:
    quoted = ('"' + cell.replace('"', '""') + '"' for cell in cells)
    return "\n".join(["user,rules", *(f"Hi.,{cell}" for cell in quoted)]).encode()


def refused(source: object, **around: object) -> list[Problem]:
    with pytest.raises(Refused) as found:
        parse_tasks(source, **around)  # type: ignore[arg-type]
    return found.value.problems


# A cell


@pytest.mark.parametrize(
    "cell",
    [
        json.dumps([OPEN]),
        json.dumps([OPEN], indent=2),
        "- name: open-only\n  form: require\n  tools: [cancel_order]\n  expression: order.status == 'open'\n",
        "[{name: open-only, form: require, tools: [cancel_order], expression: order.status == 'open'}]",
        "# a comment\n- {name: open-only, form: require, tools: [cancel_order],"
        " expression: \"order.status == 'open'\"}",
    ],
    ids=["json", "json in lines", "yaml", "yaml in brackets", "yaml with a comment"],
)
def test_a_cell_is_yaml_or_json(cell: str) -> None:
    (seed,) = parse_tasks(table(cell))
    assert seed.rules == (OPEN,)


@pytest.mark.parametrize("value", ["", "  ", "[]", None])
def test_a_cell_may_be_empty(value: str | None) -> None:
    (seed,) = parse_tasks([{"user": "Hi.", "rules": value}])
    assert seed.rules == ()
    assert "rules" not in seed.as_json()


def test_rows_of_json_have_the_list_itself() -> None:
    (seed,) = parse_tasks([{"user": "Hi.", "rules": [OPEN, OFF]}])
    assert seed.rules == (OPEN, OFF)


def test_every_problem_of_every_cell_is_told_with_its_row_and_column() -> None:
    bad = [{"form": "requires", "tools": ["x"]}, {"form": "take", "tools": ["x"], "count": -1}, {"off": 3}]
    found = refused(
        table(json.dumps(bad), '[{"form": "take",}', "- form: take\n - x", json.dumps({"form": "take"}))
    )
    assert [(one.row, one.column, one.path) for one in found] == [
        (2, "rules", "row 2, column rules, at /0/form"),
        (2, "rules", "row 2, column rules, at /1/count"),
        (2, "rules", "row 2, column rules, at /2/off"),
        (3, "rules", "row 3, column rules"),
        (4, "rules", "row 4, column rules"),
        (5, "rules", "row 5, column rules"),
    ]
    assert [one.message for one in found[3:]] == [
        "is not valid JSON: trailing comma is not allowed (line 1, column 17)",
        "line 2, column 2: this is not YAML: expected <block end>, but found '<block sequence start>'",
        "`rules` must be a JSON array, not an object",
    ]


def test_a_tool_that_the_agent_does_not_declare_refuses_the_upload() -> None:
    rules = [OFF, {"form": "take", "tools": ["get_ordr"], "count": 1}]
    [problem] = refused([{"user": "Hi.", "rules": rules}], tools=TOOLS)
    assert (problem.path, problem.message, problem.hint) == (
        "/rows/0/rules/1/tools",
        "the agent declares no tool `get_ordr`",
        "did you mean `get_order`?",
    )
    assert parse_tasks([{"user": "Hi.", "rules": rules}])


def test_long_yaml_is_asked_for_as_json() -> None:
    long = "- {form: take, tools: [x], count: 1}\n" * (LARGEST_YAML_CELL // 36 + 1)
    [problem] = refused(table(long))
    assert problem.hint == "write a long list as JSON, which parses faster"


# A seed


def test_it_is_stored_as_written_and_loads_as_it_was() -> None:
    seed = parse_seed({"user_instruction": "Hi.", "rules": [OPEN, OFF]})
    assert seed.as_json()["rules"] == [OPEN, OFF]
    assert Seed.from_stored(seed.as_json()) == seed
    assert Seed.from_stored({"user_instruction": "Hi."}).rules == ()


def test_an_export_uploaded_again_gives_the_same_rules() -> None:
    seed = parse_seed({"user_instruction": "Hi.", "rules": [OPEN, OFF]})
    assert parse_tasks(tasks_as_csv([seed])) == [seed]
    assert parse_tasks(tasks_as_rows([seed])) == [seed]  # type: ignore[arg-type]


def test_it_is_part_of_what_names_a_task_by_content() -> None:
    plain, ruled = Seed(user_instruction="Hi."), Seed(user_instruction="Hi.", rules=(OPEN,))
    assert content_hash(plain.as_json(), None) != content_hash(ruled.as_json(), None)


def test_ten_thousand_rules_are_taken_and_one_more_is_not() -> None:
    many = [{"form": "take", "tools": ["a"], "count": at} for at in range(10_000)]
    assert len(parse_seed({"user_instruction": "Hi.", "rules": many}).rules) == 10_000  # type: ignore[dict-item]
    with pytest.raises(Refused) as found:
        parse_seed({"user_instruction": "Hi.", "rules": [*many, many[0]]})  # type: ignore[dict-item]
    assert [one.message for one in found.value.problems] == ["at most 10,000 rules are allowed, not 10,001"]


# An agent


def test_an_agent_keeps_its_rules_as_written_and_one_without_is_stored_as_before() -> None:
    definition = parse_agent_definition(AGENT | {"rules": [OPEN]})
    assert definition.as_json()["rules"] == [OPEN]
    assert AgentDefinition.from_stored(definition.as_stored()).rules == (OPEN,)
    for none in (None, []):
        assert "rules" not in parse_agent_definition(AGENT | {"rules": none}).as_stored()
    assert "rules" not in parse_agent_definition(AGENT).as_stored()


def test_everything_wrong_with_an_agents_rules_is_told_at_once() -> None:
    rules: list[object] = [
        {"form": "after", "tools": ["cancel_order"], "target": "verify"},
        {"form": "take", "tools": ["get_ordr", "list"], "count": 1},
        OFF,
        {"form": "take"},
    ]
    with pytest.raises(Refused) as found:
        parse_agent_definition(AGENT | {"rules": rules})  # type: ignore[dict-item]
    assert [(one.path, one.message) for one in found.value.problems] == [
        ("/rules/3/count", "a rule of the form `take` needs `count`"),
        ("/rules/3/tools", "`tools` must be a list of 1 to 100 names"),
        ("/rules/0/target", "the agent declares no tool `verify`"),
        ("/rules/1/tools", "the agent declares no tool `get_ordr`"),
        ("/rules/1/tools", "the agent declares no tool `list`"),
        ("/rules/2", "`off` is for tasks only: an agent inherits no rules"),
    ]


# In force


def test_a_task_adds_rules_and_switches_inherited_ones_off() -> None:
    def names(agent: list[JsonObject], task: list[JsonObject]) -> list[str | None]:
        return [rule.name for rule in active_rules(agent, task)]

    assert names([OPEN, ONCE], []) == ["open-only", "once"]
    assert names([ONCE], [OPEN]) == ["once", "open-only"]
    assert names([OPEN, ONCE], [OFF, {**ONCE, "name": "once-more"}]) == ["open-only", "once-more"]
    assert names([], []) == []


# Warnings of an upload


def warned(
    rules: list[JsonObject], *, agent: list[JsonObject] | None = None, state: JsonObject = STATE
) -> list[JsonObject]:
    seed = Seed(user_instruction="Hi.", initial_state=state, rules=tuple(rules))
    found = upload_warnings([seed], tools=TOOLS, ledger_schema=None, rules=tuple(agent or ())).warnings
    return [one for one in found if one.get("column") == "rules"]


def test_what_does_not_fit_the_world_is_a_warning_with_row_and_rule() -> None:
    assert warned([OFF, OPEN | {"expression": "order.statu == 'open'"}], agent=[ONCE]) == [
        {
            "path": "/rules/1",
            "message": "rule `open-only`: `order` has no field `statu`",
            "hint": "did you mean `status`?",
            "row": 1,
            "column": "rules",
        }
    ]
    assert warned([OPEN]) == []


def test_a_name_that_no_inherited_rule_has_is_a_warning_with_the_near_ones() -> None:
    [warning] = warned([{"off": "onec"}], agent=[ONCE, OPEN])
    assert warning["message"] == "the agent has no rule called `onec`, so nothing is switched off"
    assert warning["hint"] == "did you mean `once`?"
    [warning] = warned([{"off": "zzz"}], agent=[ONCE, OPEN])
    assert warning["hint"] == "the agent's rules are called `once`, `open-only`"
    [warning] = warned([{"off": "zzz"}])
    assert warning["hint"] == "none of the agent's rules has a name"


def test_an_agents_rule_is_told_of_only_where_no_row_has_what_it_names() -> None:
    ghost: JsonObject = OPEN | {"expression": "invoice.paid"}
    rows = [
        Seed(user_instruction="Hi.", initial_state=STATE),
        Seed(user_instruction="Hi.", initial_state={"invoice": {"1": {"paid": True}}}),
    ]
    found = upload_warnings(rows, tools=TOOLS, ledger_schema=None, rules=(ghost, OPEN)).warnings
    assert not [one for one in found if one.get("column") == "rules"]
    found = upload_warnings(rows[:1], tools=TOOLS, ledger_schema=None, rules=(ghost, OPEN)).warnings
    assert [(one["row"], one["message"]) for one in found if one.get("column") == "rules"] == [
        (1, "rule `open-only` of the agent: there is no type `invoice`")
    ]


def test_what_a_rule_of_the_agent_makes_is_there_for_the_tasks_own() -> None:
    holds: JsonObject = {"form": "set", "tools": ["get_order"], "target": "order.held", "expression": "true"}
    asks = OPEN | {"expression": "not order.held"}
    assert warned([asks], agent=[holds]) == []
    assert warned([asks]) != []


def test_a_cell_of_json_is_written_as_json() -> None:
    column = BY_NAME["rules"]
    assert read_cell(column, dumps([OPEN]).decode()) == [OPEN]
