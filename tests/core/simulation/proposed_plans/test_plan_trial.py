"""What comes of a proposed plan: recorded calls try it, or else its own example calls."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from pipelines.core.ledger.ledger import World
from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.simulation.fidelity.examples import CallSplit
from pipelines.core.simulation.fidelity.recording import read_recording
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.proposed_plans.conversation import AnsweredPlan
from pipelines.core.simulation.proposed_plans.plan_trial import (
    PlanTrial,
    TrialSetting,
    recorded_outcomes,
    try_plans,
)
from pipelines.core.simulation.proposed_plans.prompt import instructions
from pipelines.core.simulation.proposed_plans.proposal import PresentPlan, ProposedPlan, proposal_of
from pipelines.core.tools.tools_schema import parse_tools_schema
from support.desk import ORDER_ID, tool

TOOLS = [
    tool("settle", "Settle the order.", ORDER_ID, ["order_id"]),
    tool("get_order", "Get an order.", ORDER_ID, ["order_id"]),
]
STATE: Any = {"order": {str(number): {"status": "open", "amount": number} for number in range(1, 8)}}
FIND = {"find": {"as": "order", "in": "order", "id": "args.order_id"}}


def plan(status: str = "paid", *guards: Any, tool: str = "settle", examples: Any = ()) -> AnsweredPlan:
    changes = {"set": {"order.status": f"'{status}'"}}
    ending = {"return": {"id": "order.id", "status": "order.status"}}
    return AnsweredPlan(tool=tool, why="so", steps=[FIND, *guards, changes, ending], examples=tuple(examples))


def settled(number: str, status: str = "paid") -> Any:
    change = {"op": "update", "entity_type": "order", "id": number, "set": {"status": status}, "unset": []}
    response = {"id": number, "status": status}
    return {
        "tool": "settle",
        "args": {"order_id": number},
        "status": "ok",
        "response": response,
        "updates": [change],
    }


def setting(calls: Any = (), **more: Any) -> TrialSetting:
    return TrialSetting(
        tools=parse_tools_schema(TOOLS),
        ledger_schema=None,
        world=World.from_initial_state(STATE),
        behavior=None,
        reading_limit=lambda: lambda: True,
        clock=lambda: 0.0,
        recording=read_recording(STATE, [{"task": "t", "calls": [*calls]}]) if calls else None,
        **more,
    )


def tried(answered: AnsweredPlan, around: TrialSetting) -> PlanTrial:
    return try_plans({answered.tool: answered}, around, kept={})[answered.tool]


def proposed(answered: AnsweredPlan, around: TrialSetting, **present: Any) -> ProposedPlan:
    outcomes = recorded_outcomes(around, ["settle"], present.get("plans"))
    return proposal_of(
        answered,
        tried(answered, around),
        PresentPlan(body=None, outcomes=outcomes.get("settle", {}), right_examples=0),
        around.splits(["settle"]).get("settle"),
        rounds=1,
        model="scripted:test",
        exchange_id=1,
    )


ALLOWED = {"tool": "settle", "arguments": {"order_id": "1"}, "outcome": "allowed"}
REFUSED = {"tool": "settle", "arguments": {"order_id": "x"}, "outcome": "refused"}


def test_every_step_that_the_instructions_show_can_be_read() -> None:
    text = instructions().replace("FAILURE", json.dumps({"status": 409, "error": "e", "message": "m"}))
    for name, value in {"EXPRESSION": "1", "VALUE": '"1"', "[steps]": '[{"return": "null"}]'}.items():
        text = text.replace(name, value)
    steps: list[Any] = []
    for found in re.finditer(
        r'\{"(?:find|require|let|set|unset|append|add|remove|flag|unflag|for|if|fail)":', text
    ):
        steps.append(json.JSONDecoder().raw_decode(text, found.start())[0])
    assert {verb for step in steps for verb in step} >= {"find", "require", "set", "add", "for", "if", "fail"}
    for step in steps:
        parse_plan([FIND, step], origin="model", path="/steps")


def test_recorded_calls_decide_whatever_its_own_examples_say() -> None:
    around = setting([settled("1"), settled("2")])
    trial = tried(plan("paid", examples=[ALLOWED | {"outcome": "refused"}]), around)
    assert trial.is_done
    assert trial.examples[0]["problem"]


def test_a_plan_that_breaks_on_a_recorded_call_says_where() -> None:
    broken = replace(plan(), steps=[FIND, {"return": "order.nothing * 2"}])
    trial = tried(broken, setting([settled("1")]))
    assert not trial.problems
    assert "it cannot be answered: " in trial.differences[1]


def test_an_example_of_another_tool_shows_nothing_of_this_one() -> None:
    other = {"tool": "get_order", "arguments": {"order_id": "1"}, "outcome": "allowed"}
    trial = tried(plan(examples=[ALLOWED, other]), setting())
    assert [one.message for one in trial.problems] == ["example 2: it is a call of get_order, not of settle"]


def test_the_better_of_two_tries_is_the_one_that_explains_more() -> None:
    some = [settled("1"), settled("2", "late"), settled("3", "late")]
    around = setting(some)
    guard = {"require": "order.amount < 0", "else": {"status": 409, "error": "no"}}
    worse, better = tried(plan("paid", guard), around), tried(plan("late"), around)
    assert better.rank > worse.rank
    unusable = tried(replace(plan(), steps=[{"return": "ordr"}]), around)
    assert worse.rank > unusable.rank


def test_plans_of_one_conversation_are_tried_beside_each_other() -> None:
    """An example may make a call of another tool first: that tool then has its new plan."""
    after = {"tool": "get_order", "arguments": {"order_id": "1"}, "outcome": "allowed"}
    examples = [
        after | {"before": [ALLOWED], "reply": {"status": "paid"}},
        after | {"arguments": {"order_id": "x"}, "outcome": "refused"},
    ]
    examples[0]["before"] = [{"tool": "settle", "arguments": {"order_id": "1"}}]
    reads = AnsweredPlan(
        tool="get_order", why="so", steps=[FIND, {"return": "order"}], examples=tuple(examples)
    )
    around = setting()
    assert tried(reads, around).problems, "the plan that was read sets another status"
    assert not try_plans({"get_order": reads}, around, kept={"settle": plan().steps})["get_order"].problems


@pytest.mark.parametrize(
    ("statuses", "output", "says"),
    [
        (["open", "closed"], None, "status"),
        (
            None,
            {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}},
            "total",
        ),
    ],
)
def test_a_reply_that_a_run_would_refuse_is_a_problem(statuses: Any, output: Any, says: str) -> None:
    tools = parse_tools_schema([TOOLS[0] | ({"output_schema": output} if output else {})])
    around = replace(setting(), tools=tools)
    if statuses is not None:
        field = {"name": "status", "type": "string", "enum": statuses}
        schema: Any = {"entities": [{"type": "order", "id_field": "order_id", "fields": [field]}]}
        around = replace(around, ledger_schema=parse_ledger_schema(schema))
    trial = tried(plan(examples=[ALLOWED, REFUSED]), around)
    assert any(says in one.message for one in trial.problems), trial


def test_held_out_calls_measure_and_what_speaks_for_neither_keeps_the_current_plan() -> None:
    around = setting([settled(number) for number in STATE["order"]])
    better = proposed(plan("paid"), around)
    assert (better.choice, better.measured.basis, better.measured.calls) == ("proposed", "held_out", 2)
    assert (better.measured.before, better.measured.after) == (0, 2)
    same = proposed(plan("paid"), around, plans={"settle": plan("paid").steps})
    assert (same.choice, same.measured.before) == ("current", 2)
    worse = proposed(plan("late"), around, plans={"settle": plan("paid").steps})
    assert (worse.choice, worse.measured.after, len(worse.not_explained)) == ("current", 0, 7)


def test_where_held_out_calls_are_even_all_calls_decide() -> None:
    """Both explain no held-out call; one explains a call that was shown."""
    calls = [settled("1", "late"), settled("2"), settled("3", "late")]
    around = setting(calls)
    split = around.splits(["settle"])["settle"]
    assert len(split.held_out) == 1
    found = proposed(plan("late"), around)
    assert (found.measured.before, found.measured.after, found.choice) == (0, 0, "proposed")


def test_without_a_recording_the_examples_are_what_there_is() -> None:
    found = proposed(plan(examples=[ALLOWED, REFUSED]), setting())
    assert (found.choice, found.measured.basis, found.measured.after) == ("proposed", "examples", 2)
    assert found.not_explained == ()
    assert setting().splits(["settle"]) == {}
    assert setting([settled("1")]).splits(["get_order"]) == {}
    assert isinstance(setting([settled("1")]).splits(["settle"])["settle"], CallSplit)
