"""Rules as data: what is read is written back, and everything that is wrong is said at once."""

import pytest

from pipelines.core.simulation.expr import written
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.forms import FORMS, active_rules, as_json, read_rule, read_rules
from pipelines.core.simulation.rules.rule import as_requirement
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem

RULES: list[JsonObject] = [
    {"form": "require", "tools": ["cancel_order"], "expression": "order.status == 'pending'"},
    {
        "form": "require",
        "tools": ["cancel_order", "refund_order"],
        "expression": "not order.refunded",
        "status": 409,
        "error": "ALREADY_REFUNDED",
        "message": "too late",
        "after_changes": True,
    },
    {"form": "require", "tools": ["a"], "expression": "record('class').booked < 8", "unchanged": True},
    {"form": "require", "tools": ["a"], "expression": "args.user_id != null", "reply": []},
    {"form": "limit_calls", "tools": ["refund_order"], "count": 1, "per": "order", "status": 409},
    {"form": "after", "tools": ["refund_order"], "target": "verify_user", "per": "user"},
    {
        "form": "running_total",
        "tools": ["refund_order"],
        "expression": "args.amount",
        "limit": "user.limit",
        "per": "user",
    },
    {"form": "not_found", "tools": ["get_order"], "target": "order", "status": 404, "error": "no_such_order"},
    {"form": "keep", "tools": ["list_orders"], "expression": "each.status == 'open'"},
    {"form": "sort", "tools": ["list_orders"], "target": ["-created_at", "id"]},
    {"form": "sort", "tools": ["list_orders"], "expression": "each.status == 'open'"},
    {"form": "sort", "tools": ["list_orders"], "latest": True},
    {"form": "take", "tools": ["list_orders"], "count": 10},
    {"form": "take", "tools": ["list_orders"], "count": 10, "pages": True},
    {
        "form": "set",
        "tools": ["a"],
        "target": "order.status",
        "expression": "'void'",
        "when": "order.total > 9",
    },
    {"form": "unset", "tools": ["a"], "target": "order.shipped_at"},
    {"form": "flag", "tools": ["a"], "target": "outage", "on": False},
    {"form": "add", "tools": ["a"], "target": "fee", "fields": {"amount": "order.total * 0.1"}},
    {"form": "remove", "tools": ["a"], "target": "order", "when": "order.total == 0"},
    {
        "form": "require",
        "tools": ["a"],
        "expression": "order.status != 'void'",
        "unchanged": True,
        "first": True,
    },
    {
        "form": "sort",
        "tools": ["list_orders"],
        "target": ["-total", "id"],
        "expression": "each.status == 'open'",
    },
    {
        "form": "set",
        "tools": ["a"],
        "target": "agent.load",
        "where": "same_id(id_of(each), ticket.agent_id)",
        "before": True,
        "expression": "each.load - 1",
    },
    {"form": "unset", "tools": ["a"], "target": "order.note", "where": "each.total > 3"},
    {"form": "remove", "tools": ["a"], "target": "order", "where": "each.user_id == args.user_id"},
    {"form": "drop", "tools": ["a"], "target": "order.status"},
    {"form": "drop", "tools": ["a"], "target": "order"},
    {"form": "amend", "tools": ["a"], "target": "pending-only", "when": "user.tier == 'gold'"},
    {"form": "amend", "tools": ["a"], "target": "pending-only", "status": 422, "error": "NO"},
    {"form": "amend", "tools": ["a"], "target": "pending-only", "unchanged": True},
    {"form": "put", "tools": ["a"], "target": "total", "expression": "reply.subtotal * 1.08"},
    {"form": "without", "tools": ["a"], "names": ["ssn"]},
    {"form": "only", "tools": ["a"], "names": ["name", "tier"]},
    {"form": "mask", "tools": ["a"], "target": "card_number", "count": 4},
]


def read(body: JsonObject) -> r.Rule:
    problems: list[Problem] = []
    found = read_rule(body, "", problems)
    assert found is not None, problems
    return found


@pytest.mark.parametrize("body", RULES, ids=lambda body: f"{body['form']}")
def test_a_rule_is_written_as_it_was_read(body: JsonObject) -> None:
    assert as_json(read(body)) == body
    assert read(as_json(read(body))) == read(body)


def test_every_form_has_an_example_here() -> None:
    assert {body["form"] for body in RULES} == {*FORMS}


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"form": "requires"}, "/form", "`form` must be one of"),
        ({"expression": None}, "/expression", ""),
        ({"expression": "order.status = 'x'"}, "/expression", "not an expression"),
        ({"expression": "each.status == 'x'"}, "/expression", "`each` is not available"),
        ({"tools": []}, "/tools", "a list of 1 to 100 names"),
        ({"tools": [7]}, "/tools", "a name must have"),
        ({"status": 200}, "/status", "from 400 to 599"),
        ({"error": "a b"}, "/error", "a word"),
        ({"count": 3}, "/count", "unknown field"),
        ({"unchanged": True, "status": 409}, "/unchanged", "give only one of"),
        ({"after_changes": "yes"}, "/after_changes", "true or false"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(change: JsonObject, path: str, message: str) -> None:
    problems: list[Problem] = []
    body: JsonObject = {"form": "require", "tools": ["a"], "expression": "true"} | change
    found = read_rule(body, "", problems)
    if message:
        assert found is None
        assert [path] == [one.path for one in problems if message in one.message], problems


def test_all_problems_of_all_rules_are_told_at_once() -> None:
    problems: list[Problem] = []
    read_rules([{"form": "x"}, 7, {"form": "take", "tools": "a"}, {"off": 3}], "/rules", problems)
    assert [one.path for one in problems] == ["/rules/0/form", "/rules/1", "/rules/2/count", "/rules/3/off"]


def test_ten_thousand_rules_are_read_and_one_more_is_refused() -> None:
    problems: list[Problem] = []
    one: JsonObject = {"form": "take", "tools": ["a"], "count": 1}
    assert len(read_rules([one] * 10_000, "", problems).rules) == 10_000
    assert not problems
    read_rules([one] * 10_001, "", problems)
    assert len(problems) == 1


def test_a_task_adds_rules_and_switches_an_inherited_one_off() -> None:
    problems: list[Problem] = []
    agent = read_rules(
        [{**RULES[0], "name": "pending"}, {**RULES[1], "name": "once"}, RULES[2]], "", problems
    )
    task = read_rules([{"off": "pending"}, RULES[3]], "", problems)
    assert not problems
    assert active_rules(agent.rules, task) == (agent.rules[1], agent.rules[2], task.rules[0])


def test_two_rules_of_one_name_are_refused() -> None:
    problems: list[Problem] = []
    read_rules([{**RULES[0], "name": "x"}, {**RULES[1], "name": "x"}], "", problems)
    assert [one.message for one in problems] == ["two rules are called `x`"]


def test_guards_over_calls_become_requirements() -> None:
    ids = {"refund_order": "order_id", "verify_user": "user_id"}

    def needs(body: JsonObject, per: str | None) -> str:
        form = read({**body, "per": per} if per else {k: v for k, v in body.items() if k != "per"}).form
        assert isinstance(form, (r.LimitCalls, r.After, r.RunningTotal))
        return written(as_requirement(form, "refund_order", lambda tool, _: ids[tool]).need)

    assert needs(RULES[4], None) == "len(calls('refund_order')) < 1"
    same = "same_id(call.order_id, args.order_id)"
    assert needs(RULES[4], "order") == f"len([call for call in calls('refund_order') if {same}]) < 1"
    same = "same_id(call.user_id, args.order_id)"
    assert needs(RULES[5], "user") == f"len([call for call in calls('verify_user') if {same}]) > 0"
    summed = "sum([default(call.amount, 0) for call in calls('refund_order')]) + args.amount <= user.limit"
    assert needs(RULES[6], None) == summed
