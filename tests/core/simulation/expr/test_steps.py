"""Plans as drafts: every expression becomes a node, and is written back as it was."""

import json
from random import Random

import pytest
from tests.core.simulation.random_plans import random_case

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr import parse
from pipelines.core.simulation.expr.make import plan_text
from pipelines.core.simulation.expr.steps import bound_by, draft_of, names_in
from pipelines.core.simulation.language import parse_plan
from pipelines.core.text.json_text import Json

PLAN: list[Json] = [
    {"find": {"as": "order", "in": "shop.orders", "id": "args.order_id", "else": {"error": "gone"}}},
    {"find": {"as": "line", "in": "order.items", "where": "line.sku == args.sku", "optional": True}},
    {"find": {"as": "many", "in": "order", "all": True, "where": "true", "sort": "-total", "limit": 5}},
    {"require": "order.open", "else": {"status": 409, "error": "no", "message": "{order.id} {{x}} {a:.2f}"}},
    {"let": {"a": "1 + 2", "b": [1, "args.x", None, {"k": "args.y"}]}},
    {"set": {"order.items[0].price": "'x'", "order['odd name']": True}},
    {"append": {"order.notes": "args.note"}},
    {"unset": ["order.a", "order.b"]},
    {"unset": "order.c"},
    {"add": {"in": "order", "as": "new", "id": "args.id", "attrs": {"...": "args", "x": "1.5"}}},
    {"for": "key, value", "in": "items(order)", "do": [{"flag": "key"}, {"unflag": "'x'"}]},
    {"if": "order.late", "then": [{"fail": {"error": "late", "body": {"why": "order.why"}}}], "else": []},
    {"remove": "order", "note": "it goes"},
    {"return": {"id": "order.id", "[order.currency]": "total", "...": "order"}, "status": 201},
]


def test_a_plan_is_written_as_it_was_read() -> None:
    assert plan_text(draft_of(PLAN)) == [
        {**step, **({"add": {**step["add"], "attrs": {"...": "args", "x": 1.5}}} if "add" in step else {})}
        for step in PLAN
    ]


def _texts(draft: object) -> list[str]:
    """Texts that are left where an expression could stand."""
    plain = {"as", "in", "error", "note", "for", "sort", "..."}
    if isinstance(draft, dict):
        return [text for key, part in draft.items() if key not in plain for text in _texts(part)]
    if isinstance(draft, list):
        return [text for part in draft for text in _texts(part)]
    return [draft] if isinstance(draft, str) else []


def test_every_expression_of_a_plan_becomes_a_node() -> None:
    draft = draft_of(PLAN)
    assert [one for one in _texts(draft) if one != "order"] == []
    assert draft[1]["find"]["in"] == m.path("order", "items")
    assert draft[0]["find"]["in"] == "shop.orders"  # nothing called `shop` is bound: it is a type
    assert draft[3]["else"]["message"] == m.Message(
        (n.FormattedValue(m.path("order", "id")), " {x} ", n.FormattedValue(n.Name("a"), ".2f"))
    )
    assert [*draft[5]["set"]] == [parse("order.items[0].price"), m.path("order", "odd name")]
    assert n.ListOf((m.path("order", "currency"),)) in draft[-1]["return"]


@pytest.mark.parametrize("seed", range(100))
def test_a_random_plan_means_the_same_when_it_is_written_back(seed: int) -> None:
    body = json.loads(json.dumps(random_case(Random(seed)).body))
    steps = body["steps"] if isinstance(body, dict) else body
    again = plan_text(draft_of(steps))
    assert draft_of(again) == draft_of(steps)
    assert plan_text(draft_of(again)) == again


def test_what_cannot_be_parsed_stays_as_it_is() -> None:
    odd: list[Json] = [
        {"let": {"a": "1 +"}},
        {"require": "x =", "else": 7},
        9,
        {"return": {"[1 +]": "lambda"}},
    ]
    assert plan_text(draft_of(odd)) == odd
    assert draft_of("no plan") == "no plan"


def test_two_spellings_of_one_path_stay_two_changes() -> None:
    body: list[Json] = [{"set": {"order.a": 1, "order['a']": 2}}]
    assert plan_text(draft_of(body)) == body


@pytest.mark.parametrize("text", ["{order['it\\'s {']} is", "{ {'a': 1}.a } and {{b}}", "a } b", "{{{x}}}"])
def test_odd_messages_survive(text: str) -> None:
    body: list[Json] = [{"fail": {"error": "x", "message": text}}]
    again = plan_text(draft_of(body))
    assert draft_of(again) == draft_of(body)


def test_a_message_may_show_a_field_with_a_quote_in_its_name() -> None:
    message = plan_text(m.message("a ", m.path("x", "it's"), "!"))
    body: list[Json] = [{"let": {"x": {"it's": 5}}}, {"fail": {"error": "x", "message": message}}]
    parse_plan(body, origin="authored")
    assert isinstance(draft_of(body)[1]["fail"]["message"], m.Message)


def test_names_in_a_draft_are_those_its_expressions_read_and_bind() -> None:
    names = {*names_in(draft_of(PLAN))}
    assert {"order", "line", "a", "args", "total"} <= names
    assert "shop" not in names
    assert {*names_in(parse("[x.a for x in y]"))} == {"x", "y"}


def test_a_step_binds_names_for_the_steps_after_it() -> None:
    bound = [[*bound_by(step)] for step in draft_of(PLAN)]
    assert [names for names in bound if names] == [
        ["order"],
        ["line"],
        ["many"],
        ["a", "b"],
        ["new"],
        ["key", "value"],
    ]
