"""Many rules on one plan, types with odd names, and plans with branches and loops."""

import json

import pytest
from tests.core.simulation.rules.shop import (
    FIND,
    PENDING,
    PLANS,
    Shop,
    error,
    require,
    tool,
    without_rule,
)

from pipelines.core.simulation.language import parse_plan
from pipelines.core.text.json_text import Json, JsonObject


def test_many_rules_on_one_plan_hold_together() -> None:
    rules: list[JsonObject] = [
        *(require(f"order.total > {number}", status=400 + number) for number in range(60)),
        {"form": "set", "tools": ["cancel_order"], "target": "order.reason", "expression": "args.reason"},
        {"form": "flag", "tools": ["cancel_order"], "target": "busy"},
        {"form": "put", "tools": ["cancel_order"], "target": "fee", "expression": "reply.total * 0.1"},
        {"form": "without", "tools": ["cancel_order"], "names": ["items"]},
    ]
    shop = Shop(rules=rules)
    assert error(shop, "cancel_order", order_id="o-2")[0] == 420
    reply = shop.call("cancel_order", order_id="o-1", reason="mine")
    assert reply.status == 200
    assert isinstance(reply.response, dict)
    assert (reply.response["fee"], reply.response["reason"]) == (10.0, "mine")
    assert "items" not in reply.response
    assert shop.ledger.is_flagged("busy")


def test_a_plan_takes_as_many_rules_as_the_language_allows() -> None:
    shop = Shop(rules=[require("order.total > 0", sentence=f"rule {number}") for number in range(510)])
    result = shop.applied("cancel_order")
    assert 90 < len(result.body) < 500
    assert len(result.body) - 3 + len(result.unapplied) == 510
    assert {one.reason for one in result.unapplied} == {"the plan of cancel_order would be too large with it"}
    parse_plan(without_rule(result.body), origin="read")


def test_an_expression_that_is_too_large_in_the_plan_leaves_the_others_alone() -> None:
    deep = " + ".join(["user.balance"] * 37)  # the record is `entity(…)` in the plan, which is deeper
    shop = Shop(rules=[require(f"{deep} > 0", "refund_order"), {**PENDING, "tools": ["refund_order"]}])
    assert shop.reasons("refund_order") == ["the plan of refund_order would be too large with it"]
    assert PENDING["sentence"] in json.dumps(shop.applied("refund_order").body)


HOSTILE: JsonObject = {
    "class": {
        "c-1": {"booked": 2, "capacity": 2, "shop_id": "s-1"},
        "c-2": {"booked": 1, "capacity": 2, "shop_id": "s-1"},
    },
    "shop.gyms": {"s-1": {"open": True, "from": 5, "it's {odd}": 1}},
    "lambda": {"l-1": {"count": 1}},
}
HOSTILE_TOOLS = (tool("book_class", "class_id"),)
HOSTILE_PLANS: dict[str, list[Json]] = {
    "book_class": [
        {"find": {"as": "class_", "in": "class", "id": "args.class_id"}},
        {"set": {"class_.booked": "class_.booked + 1"}},
        {"return": "class_"},
    ]
}


def gym(*rules: JsonObject) -> Shop:
    tools = [{**rule, "tools": ["book_class"]} for rule in rules]
    return Shop(rules=tools, state=HOSTILE, tools=HOSTILE_TOOLS, plans=HOSTILE_PLANS)


def test_a_type_that_is_called_like_a_word_of_the_grammar() -> None:
    shop = gym({"form": "require", "expression": "record('class').booked < record('class').capacity"})
    reply = shop.call("book_class", class_id="c-1")
    assert reply.response == {"error": {"code": "conflict", "message": "class c-1 is full (2 of 2)"}}
    assert shop.call("book_class", class_id="c-2").status == 200


def test_a_linked_record_of_a_type_with_a_point_in_its_name() -> None:
    shop = gym(
        {"form": "require", "expression": "record('shop.gyms')['it\\'s {odd}'] == 2"},
        {
            "form": "set",
            "target": "record('shop.gyms')['from']",
            "expression": "record('shop.gyms')['from'] + 1",
        },
    )
    if not shop.vocabulary.kinds["class"].links:
        pytest.skip("the survey sees no link from a class to a gym")
    assert "message" in json.dumps(shop.call("book_class", class_id="c-2").response)


def test_effects_on_types_of_any_name() -> None:
    shop = gym(
        {"form": "set", "target": "record('class').last", "expression": "today"},
        {"form": "add", "target": "lambda", "fields": {"...": "record('class').booked", "class": "1"}},
        {"form": "put", "target": "while", "expression": "reply.booked"},
    )
    reply = shop.call("book_class", class_id="c-2")
    assert isinstance(reply.response, dict)
    assert (reply.response["while"], reply.response["last"]) == (2, "2026-07-01")
    assert shop.record("lambda", "l-2") == {"...": 2, "class": 1}


def test_a_fresh_name_is_none_of_the_plan_nor_of_the_grammar() -> None:
    body: list[Json] = [
        FIND,
        {"let": {"user": 1, "applies": 2, "reply": 3}},
        {"set": {"order.x": "user + applies + reply"}},
        {"return": "order"},
    ]
    rules: list[JsonObject] = [
        {
            "form": "set",
            "tools": ["cancel_order"],
            "target": "user.loyalty_points",
            "expression": "user.loyalty_points + 1",
            "when": "order.total > 5",
        },
        {"form": "put", "tools": ["cancel_order"], "target": "y", "expression": "reply.x + 1"},
    ]
    shop = Shop(rules=rules, plans={**PLANS, "cancel_order": body})
    reply = shop.call("cancel_order", order_id="o-1")
    assert isinstance(reply.response, dict)
    assert (reply.response["x"], reply.response["y"]) == (6, 7)
    assert shop.record("user", "u-1")["loyalty_points"] == 6


def test_a_plan_that_ends_in_branches_gets_effects_in_each() -> None:
    body: list[Json] = [
        FIND,
        {
            "if": "order.total > 50",
            "then": [{"set": {"order.size": "'large'"}}, {"return": "order"}],
            "else": [
                {
                    "if": "order.total > 30",
                    "then": [{"return": {"small": True}}],
                    "else": [{"fail": {"error": "tiny"}}],
                }
            ],
        },
    ]
    rules: list[JsonObject] = [
        {"form": "set", "tools": ["cancel_order"], "target": "order.seen", "expression": "true"},
        require("order.seen == true", after_changes=True),
        {"form": "put", "tools": ["cancel_order"], "target": "extra", "expression": "1"},
    ]
    shop = Shop(rules=rules, plans={**PLANS, "cancel_order": body})
    for id, code in (("o-1", 200), ("o-4", 200), ("o-2", 400)):
        assert shop.call("cancel_order", order_id=id).status == code
        assert shop.record("order", id).get("seen") == (True if code == 200 else None)
        assert shop.record("order", id).get("extra") == (1 if code == 200 else None)


def test_a_plan_with_a_loop_keeps_its_rounds() -> None:
    body: list[Json] = [
        FIND,
        {
            "for": "item",
            "in": "order.items",
            "do": [
                {"find": {"as": "product", "in": "product", "id": "item.product_id"}},
                {"set": {"product.stock": "product.stock + item.quantity"}},
            ],
        },
        {"return": "order"},
    ]
    shop = Shop(rules=[PENDING], plans={**PLANS, "cancel_order": body})
    assert shop.call("cancel_order", order_id="o-2").status == 409
    assert shop.call("cancel_order", order_id="o-1").status == 200
    assert shop.record("product", "p-1")["stock"] == 5


def test_a_plan_that_always_fails_has_no_place_for_effects() -> None:
    rule: JsonObject = {"form": "flag", "tools": ["cancel_order"], "target": "x"}
    shop = Shop(rules=[rule], plans={**PLANS, "cancel_order": [{"fail": {"error": "no"}}]})
    assert shop.reasons("cancel_order") == ["the plan of cancel_order always fails"]
