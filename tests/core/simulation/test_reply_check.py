"""What a reply may not say: something else than the ledger, or its schema, about an entity it names."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import Add, Ledger, Remove, Update, World
from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.simulation.reply_check import (
    ANY_FIELD,
    computed_in,
    contradictions,
    may_contradict,
    reply_problems,
    update_check,
    with_ledger_values,
)
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tools_schema import Tool

ORDER: JsonObject = {
    "status": "shipped",
    "total": 49.99,
    "user_id": "u-1",
    "items": [{"product_id": "p-1", "name": "Mug", "price": 1}],
}
WORLD = World.from_initial_state(
    {
        "order": {"o-1": ORDER},
        "user": {"u-1": {"name": "Ann", "status": "active", "order_id": "o-1"}},
        "product": {"p-1": {"name": "Mug", "price": 2}},
    }
)


def tool(name: str = "get_order", *arguments: str, output: JsonObject | None = None) -> Tool:
    properties: JsonObject = {argument: {"type": "string"} for argument in arguments}
    return Tool(name=name, input_schema={"type": "object", "properties": properties}, output_schema=output)


def places(reply: Json, **given: Any) -> list[str]:
    found = reply_problems(reply, tool=given.pop("tool", tool()), ledger_after=Ledger(WORLD), **given)
    return [problem.path for problem in found]


CASES: dict[str, tuple[Json, list[str]]] = {
    "the whole entity": ({"order_id": "o-1", **ORDER}, []),
    "a part of it": ({"order_id": "o-1", "status": "shipped"}, []),
    "another status": ({"order_id": "o-1", "status": "paid"}, ["/status"]),
    "another number": ({"order_id": "o-1", "status": "shipped", "total": 50}, ["/total"]),
    "an object that names two entities is about the one whose fields it has": (
        {"order_id": "o-1", "user_id": "u-1", "status": "shipped"},
        [],
    ),
    "fields of no entity are nobody's": (
        {"order_id": "o-1", "eta_days": 3, "carrier": "post", "cost": 1},
        [],
    ),
    "inside a list": (
        {"orders": [{"order_id": "o-1", "status": "shipped"}, {"order_id": "o-1", "status": "x"}]},
        ["/orders/1/status"],
    ),
    "inside an object": ({"order": {"order_id": "o-1", "status": "x"}}, ["/order/status"]),
    "a list as the reply": ([{"order_id": "o-1", "total": 1}], ["/0/total"]),
    "named by a plain id": ({"id": "o-1", "status": "paid"}, ["/status"]),
    "what has an id of its own only refers to others": ({"id": "r-1", "order_id": "o-1", "total": 5}, []),
    "an id said twice is one": ({"id": "o-1", "order_id": "o-1", "total": 5}, ["/total"]),
    "of two that it names the one with its id is meant": (
        {"id": "o-1", "user_id": "u-1", "status": "active"},
        ["/status"],
    ),
    "what stands inside an entity is its own affair": ({"id": "o-1", **ORDER}, []),
    "also when its id is left out": (ORDER, []),
    "an order without its id is not taken for its user": ({"user_id": "u-1", "status": "shipped"}, []),
    "a record that is not there": ({"order_id": "o-9", "status": "paid"}, ["/order_id"]),
    "an id of another shape is some other system's": ({"order_id": "ORD.9", "status": "paid"}, []),
    "an id alone invents nothing": ({"order_id": "o-9", "deleted": True}, []),
    "text": ("done", []),
    "nothing": (None, []),
    "an id that is none": ({"order_id": True, "status": "x"}, []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_reply_must_keep_to_the_ledger(name: str) -> None:
    reply, expected = CASES[name]
    assert places(reply) == expected


def test_contradictions_alone_leave_inventions_and_schemas_aside() -> None:
    reply: Json = [{"order_id": "o-9", "status": "paid"}, {"order_id": "o-1", "status": "paid"}]
    assert [problem.path for problem in contradictions(reply, Ledger(WORLD))] == ["/1/status"]


@pytest.mark.parametrize("name", CASES)
def test_a_reply_made_to_agree_contradicts_nothing_and_keeps_the_rest(name: str) -> None:
    reply, ledger = CASES[name][0], Ledger(WORLD)
    before, wrong = json.dumps(reply), contradictions(reply, ledger)
    agreed = with_ledger_values(reply, ledger)
    assert contradictions(agreed, ledger) == []
    assert json.dumps(reply) == before
    assert (agreed == reply) is not bool(wrong)


ADDED = {
    "a record of its own": ({"order_id": "o-1", "total": 5}, {"order_id": "o-1", "total": 5}, []),
    "a record with less": ({"order_id": "o-1"}, {"order_id": "o-1", "total": 5}, []),
    "another record": ({"order_id": "o-1", "total": 6}, {"order_id": "o-1", "total": 5}, ["/total"]),
    "a record of something else": ({"reason": "late"}, {"order_id": "o-1", "total": 5}, ["/total"]),
}


@pytest.mark.parametrize(("attrs", "reply", "expected"), ADDED.values(), ids=ADDED)
def test_a_reply_may_be_about_what_the_call_has_added(
    attrs: JsonObject, reply: JsonObject, expected: list[str]
) -> None:
    ledger, added = Ledger(WORLD), Add(entity_type="refund", id="1", attrs=attrs)
    ledger.apply([added])
    found = contradictions(reply, ledger, updates=[added])
    assert [problem.path for problem in found] == expected
    assert contradictions(with_ledger_values(reply, ledger, updates=[added]), ledger, updates=[added]) == []


def test_only_what_contradicts_is_made_to_agree() -> None:
    reply: Json = {"orders": [{"order_id": "o-1", "status": "x", "eta_days": 3, "total": 53.99}]}
    agreed = with_ledger_values(reply, Ledger(WORLD), computed={"total"})
    assert agreed == {"orders": [{"order_id": "o-1", "status": "shipped", "eta_days": 3, "total": 53.99}]}


def test_what_a_plan_computes_may_differ() -> None:
    reply: JsonObject = {"order_id": "o-1", "status": "paid", "total": 53.99}
    assert places(reply, computed={"total"}) == ["/status"]


def test_an_argument_given_back_is_no_invention() -> None:
    reply: JsonObject = {"order_id": "o-9", "status": "paid"}
    assert places(reply, arguments={"order_id": "o-9"}) == []


def test_a_record_that_was_removed_may_be_shown_once_more() -> None:
    ledger = Ledger(WORLD)
    ledger.apply([Remove(entity_type="order", id="o-1")])
    assert reply_problems({"order_id": "o-1", **ORDER}, tool=tool("delete_order"), ledger_after=ledger) == []


def test_the_reply_is_measured_by_the_ledger_after_the_call() -> None:
    ledger = Ledger(WORLD)
    ledger.apply([Update(entity_type="order", id="o-1", set={"status": "refunded"})])
    reply: JsonObject = {"order_id": "o-1", "status": "refunded"}
    assert reply_problems(reply, tool=tool("refund_order"), ledger_after=ledger) == []


def test_the_output_schema_is_checked_too() -> None:
    strict = tool(output={"type": "object", "required": ["status"]})
    assert reply_problems({"order_id": "o-1"}, tool=strict, ledger_after=Ledger(WORLD)) != []


def test_a_field_that_another_type_shares_counts_where_the_tool_is_about_the_entity() -> None:
    reply: JsonObject = {"user_id": "u-1", "status": "shipped"}
    assert places(reply, tool=tool("get_user", "user_id")) == ["/status"]


@pytest.mark.parametrize(
    ("plan", "computed"),
    [
        ([{"return": "order"}], set()),
        ([{"return": {"id": "order.id", "total": "order.total"}}], set()),
        ([{"return": {"...": "order", "total": "order.subtotal * 1.08"}}], {"total"}),
        ([{"if": "x", "then": [{"return": {"age": "days_between(a, now)"}}]}], {"age"}),
        ({"steps": [{"return": "merge(order, {'total': 1})"}]}, {"total"}),
        ([{"return": [{"n": "1 + 1"}]}], {"n"}),
        ([{"return": {"broken": "1 +"}}], {"broken"}),
        ([{"return": {"status": {"text": "on its way"}, "user": {"id": "user.id"}}}], {"status", "text"}),
        ({"steps": [{"return": "args"}], "asserted": False}, set()),
    ],
    ids=[
        *("a name", "paths", "a sum", "inside a branch", "in an expression", "in a list", "no expression"),
        *("literal text", "not asserted"),
    ],
)
def test_computed_in(plan: Json, computed: set[str]) -> None:
    assert computed_in(plan) == computed


def test_a_plan_that_asserts_its_answers_may_differ_in_any_field() -> None:
    assert computed_in({"steps": [{"return": "args"}], "asserted": True}) is ANY_FIELD
    assert contradictions({"order_id": "o-1", "status": "paid"}, Ledger(WORLD), ANY_FIELD) == []


def test_updates_are_checked_against_a_declared_ledger_schema() -> None:
    body: Json = {
        "entities": [{"type": "order", "id_field": "id", "fields": [{"name": "total", "type": "number"}]}]
    }
    schema = parse_ledger_schema(body)
    updates = [Add(entity_type="order", id="o-2", attrs={"total": "much"})]
    assert update_check(updates, schema) != []
    assert update_check(updates, None) == []


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
entities = st.dictionaries(st.sampled_from(["status", "total", "note", "user_id"]), scalars, max_size=4)


@given(attrs=entities, keys=st.sets(st.sampled_from(["status", "total", "note", "user_id"])))
def test_a_projection_of_an_entity_is_never_a_problem(attrs: JsonObject, keys: set[str]) -> None:
    world = World.from_initial_state({"order": {"o-1": attrs}, "user": {"u-1": {"status": "active"}}})
    shown = {"order_id": "o-1", **{key: value for key, value in attrs.items() if key in keys}}
    assert reply_problems(shown, tool=tool(), ledger_after=Ledger(world)) == []


FLAT_OR_NOT = st.dictionaries(
    st.sampled_from(["id", "order_id", "userId", "status", "amount", "thing_id", "lines"]),
    st.sampled_from(["1", "2", "paid", 7, None, [], [{"order_id": "1", "status": "x"}], {"id": "1"}]),
    max_size=4,
)


@given(FLAT_OR_NOT | st.lists(FLAT_OR_NOT, max_size=2), st.booleans())
def test_what_is_not_worth_a_look_has_nothing_against_it(response, adds):
    ledger = Ledger(
        World({"order": {"1": {"status": "paid", "amount": 7}}, "user": {"2": {"status": "new"}}})
    )
    updates = [Add(entity_type="thing", id="1", attrs={"status": "made"})] if adds else []
    after = ledger.draft()
    after.apply(updates)
    if not may_contradict(response, ledger, updates):
        assert contradictions(response, after) == []
