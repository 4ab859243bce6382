"""What a refused call is told: the record and the values that stand in the way, never the rule."""

import re

import pytest
from tests.core.simulation.rules.shop import PLANS, STATE, TOOLS, Shop, tool

from pipelines.core.text.json_text import Json, JsonObject


def refused(shop: Shop, name: str, **arguments: Json) -> str:
    reply = shop.call(name, **arguments)
    assert reply.status >= 400, reply
    assert isinstance(reply.response, dict)
    told = reply.response["error"]
    assert isinstance(told, dict)
    return str(told["message"])


def told(expression: str, name: str = "cancel_order", **arguments: Json) -> str:
    shop = Shop(rules=[{"form": "require", "tools": [name], "expression": expression}])
    return refused(shop, name, **{"order_id": "o-2", **arguments})


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        # States.
        ("order.status == 'pending'", "order o-2 is shipped"),
        ("order.status in ['pending', 'new']", "order o-2 is shipped"),
        ("order.status != 'shipped'", "order o-2 is shipped"),
        ("order.status not in ['shipped', 'delivered']", "order o-2 is shipped"),
        ("not (order.status == 'shipped')", "order o-2 is shipped"),
        ("'pending' == order.status", "order o-2 is shipped"),
        ("order.status == 'pending' or order.status == 'new'", "order o-2 is shipped"),
        # What is there and what is not.
        ("order.delivered_at != null", "order o-2 has no delivered_at"),
        ("order.delivered_at", "order o-2 has no delivered_at"),
        ("order.delivered_at not in [null, '']", "order o-2 has no delivered_at"),
        ("order.shipped_at == null", "order o-2 was shipped on 2026-06-05"),
        ("not order.shipped_at", "order o-2 was shipped on 2026-06-05"),
        # Yes and no.
        ("order.refunded", "order o-2 is not refunded"),
        ("order.refunded == true", "order o-2 is not refunded"),
        ("order.refunded != false", "order o-2 is not refunded"),
        ("user.verified", "user u-2 is not verified"),
        # Numbers and other fields.
        ("order.total >= 100", "the total of order o-2 is 20"),
        ("100 <= order.total", "the total of order o-2 is 20"),
        ("user.tier == 'gold'", "the tier of user u-2 is silver"),
        ("entity('user', order.user_id).tier == 'gold'", "the tier of user u-2 is silver"),
        # Dates.
        ("days_between(order.shipped_at, today) <= 20", "order o-2 was shipped on 2026-06-05"),
        ("days_between(order.delivered_at, today) <= 20", "order o-2 has no delivered_at"),
        ("is_before(today, order.created_at)", "order o-2 was created on 2026-06-01"),
        # Several at once.
        ("order.status == 'pending' and order.total > 50", "order o-2 has status shipped, total 20"),
        (
            "order.status == 'pending' or user.verified",
            "order o-2 has status shipped; user u-2 has verified false",
        ),
        ("order.delivered_at != null and order.total > 1", "order o-2 has delivered_at not set, total 20"),
        ("order.balance + order.total > 100", "order o-2 has balance -5, total 20"),
        # Nothing of the call or its records.
        ("false", "cancel_order is not available"),
        ("not is_flagged('x') and false", "cancel_order is not available"),
        ("today < '2026-01-01'", "cancel_order is not available"),
    ],
)
def test_a_refusal_tells_the_values_of_the_record(expression: str, message: str) -> None:
    assert told(expression) == message


def test_a_switch_that_is_on_is_told_as_it_is() -> None:
    assert told("not order.refunded", order_id="o-4") == "order o-4 is refunded"
    assert told("order.refunded == false", order_id="o-4") == "order o-4 is refunded"


def test_what_must_hold_after_a_call_is_told_as_it_would_be() -> None:
    rules: list[JsonObject] = [
        {"form": "set", "tools": ["cancel_order"], "target": "order.total", "expression": -5},
        {
            "form": "require",
            "tools": ["cancel_order"],
            "expression": "order.total >= 0",
            "after_changes": True,
        },
    ]
    assert refused(Shop(rules=rules), "cancel_order", order_id="o-1") == "the total of order o-1 would be -5"


def test_a_short_text_is_not_called_missing() -> None:
    rule: JsonObject = {"form": "require", "tools": ["refund_order"], "expression": "len(args.reason) >= 3"}
    reply = Shop(rules=[rule]).call("refund_order", order_id="o-1", reason="a")
    assert reply.response == {"error": {"code": "invalid_reason", "message": "reason a is not accepted"}}


@pytest.mark.parametrize(
    ("expression", "arguments", "message"),
    [
        ("args.amount <= order.total", {"amount": 120}, "amount 120 is more than the order's total (20)"),
        ("order.total >= args.amount", {"amount": 120}, "amount 120 is more than the order's total (20)"),
        ("args.amount < order.total", {"amount": 20}, "amount 20 is not less than the order's total (20)"),
        ("args.amount > order.total", {"amount": 20}, "amount 20 is not more than the order's total (20)"),
        ("args.amount >= order.total", {"amount": 1.5}, "amount 1.5 is less than the order's total (20)"),
        ("args.amount <= 50", {"amount": 120}, "amount 120 is too large"),
        ("args.amount > 0", {"amount": -1}, "amount -1 is too small"),
        ("1 <= args.amount <= 5", {"amount": 9}, "amount 9 is not accepted"),
        ("args.amount >= 1 and args.amount <= 5", {"amount": 9}, "amount 9 is not accepted"),
        ("not (args.amount < order.total)", {"amount": 1}, "amount 1 is less than the order's total (20)"),
        ("args.reason != null", {}, "reason is missing"),
        ("args.reason", {}, "reason is missing"),
        ("args.reason not in [null, '']", {"reason": ""}, "reason is missing"),
        ("args.reason in ['late']", {"reason": "none"}, "reason none is not accepted"),
        ("args.reason == null", {"reason": "none"}, "reason none is not accepted"),
        ("args.amount > 5 and args.reason == 'x'", {"amount": 1, "reason": "y"}, "amount 1, reason y"),
    ],
)
def test_a_refusal_tells_what_was_given(expression: str, arguments: JsonObject, message: str) -> None:
    assert told(expression, "refund_order", **arguments) == message


@pytest.mark.parametrize("need", ["order.user_id == args.user_id", "same_id(args.user_id, order.user_id)"])
def test_who_does_not_own_a_record_is_told_whose_it_is_not(need: str) -> None:
    assert told(need, user_id="u-1") == "order o-2 belongs to another user"
    assert told(need) == "user_id is missing"


def test_the_session_is_not_told_by_its_id() -> None:
    state: JsonObject = {**STATE, "session": {"s-1": {"user_id": "u-1", "signed_in": False}}}
    rules: list[JsonObject] = [{"form": "require", "tools": ["get_order"], "expression": "session.signed_in"}]
    assert (
        refused(Shop(rules=rules, state=state), "get_order", order_id="o-2") == "the session is not signed in"
    )
    rules = [{"form": "require", "tools": ["get_order"], "expression": "order.user_id == session.user_id"}]
    assert (
        refused(Shop(rules=rules, state=state), "get_order", order_id="o-2")
        == "order o-2 belongs to another user"
    )


GYM: JsonObject = {
    "class": {
        "c-1": {"booked": 1, "capacity": 8, "attendees": ["a"], "is_open": True},
        "c-2": {"booked": 8, "capacity": 8, "attendees": ["a"] * 8, "is_open": False, "has_trainer": False},
    },
    "membership": {"m-7": {"member_id": "x-1", "state": "frozen"}},
    "member": {"x-1": {"name": "Ada"}, "x-2": {"name": "Bo"}},
}
GYM_TOOLS = (tool("book_class", "class_id"), tool("freeze_membership", "membership_id", "member_id"))
GYM_PLANS: dict[str, list[Json]] = {
    "book_class": [
        {"find": {"as": "found", "in": "class", "id": "args.class_id"}},
        {"set": {"found.booked": "found.booked + 1"}},
        {"return": "found"},
    ],
    "freeze_membership": [
        {"find": {"as": "membership", "in": "membership", "id": "args.membership_id"}},
        {"set": {"membership.state": "'frozen'"}},
    ],
}


def gym(expression: str, name: str = "book_class", **arguments: Json) -> str:
    rules: list[JsonObject] = [{"form": "require", "tools": [name], "expression": expression}]
    shop = Shop(rules=rules, state=GYM, tools=GYM_TOOLS, plans=GYM_PLANS)
    return refused(shop, name, **(arguments or {"class_id": "c-2"}))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("record('class').booked < record('class').capacity", "class c-2 is full (8 of 8)"),
        ("len(record('class').attendees) < record('class').capacity", "class c-2 is full (8 of 8)"),
        ("not (record('class').booked >= record('class').capacity)", "class c-2 is full (8 of 8)"),
        ("record('class').is_open", "class c-2 is not open"),
        ("record('class').has_trainer", "class c-2 has no trainer"),
        ("record('class').booked + 2 <= record('class').capacity", "class c-2 has booked 8, capacity 8"),
    ],
)
def test_a_full_class_is_told_with_its_numbers(expression: str, message: str) -> None:
    assert gym(expression) == message


def test_a_membership_of_another_member() -> None:
    call: JsonObject = {"membership_id": "m-7", "member_id": "x-2"}
    assert gym("membership.member_id == args.member_id", "freeze_membership", **call) == (
        "membership m-7 belongs to another member"
    )
    assert gym("membership.state != 'frozen'", "freeze_membership", **call) == "membership m-7 is frozen"


@pytest.mark.parametrize(
    ("expression", "name", "arguments", "message"),
    [
        (
            "not any(one.email == args.email for one in entities('user'))",
            "register_user",
            {"email": "ada@example.com"},
            "there is already a user with email ada@example.com",
        ),
        (
            "len([one for one in entities('order') if same_id(one.user_id, user.id)]) < 2",
            "place_order",
            {"user_id": "u-1", "product_id": "p-1", "quantity": 1},
            "there are already 2 orders for user u-1",
        ),
        (
            "not (len([one for one in entities('order') if same_id(one.user_id, user.id)]) >= 2)",
            "place_order",
            {"user_id": "u-1", "product_id": "p-1", "quantity": 1},
            "there are already 2 orders for user u-1",
        ),
        (
            "not any(one.user_id == user.id and one.refunded for one in entities('order'))",
            "get_user",
            {"user_id": "u-2"},
            "there is already an order for user u-2",
        ),
        (
            "any(one.user_id == user.id and one.total > 900 for one in entities('order'))",
            "get_user",
            {"user_id": "u-2"},
            "there is no such order for user u-2",
        ),
    ],
)
def test_other_records_that_stand_in_the_way(
    expression: str, name: str, arguments: JsonObject, message: str
) -> None:
    shop = Shop(rules=[{"form": "require", "tools": [name], "expression": expression}])
    assert refused(shop, name, **arguments) == message


def test_an_unknown_id_is_told_by_what_was_given() -> None:
    shop = Shop(rules=[{"form": "not_found", "tools": ["get_order"], "target": "order"}])
    assert refused(shop, "get_order", order_id="o-9") == "there is no order o-9"


NEEDS = [
    "order.status == 'pending'",
    "order.total > 1000 and user.verified",
    "not any(one.status == 'shipped' for one in entities('order'))",
    "days_between(order.created_at, today) < 0",
    "args.user_id == order.user_id",
    "args.reason in ['it']",
    "order.items == []",
    "len(order.items) > 5",
    "(order.total if order.refunded else 0) > 5",
]
PLAN_WORDS = re.compile(r"==|!=|>=|<=|\[|\{|\bnull\b|entities|entity|args|not possible|permitted|\bNone\b")


@pytest.mark.parametrize("need", NEEDS)
def test_no_message_speaks_the_language_of_plans(need: str) -> None:
    message = told(need, reason="x", user_id="u-9")
    assert not PLAN_WORDS.search(message.replace("[{", "")), message
    assert message


def test_the_tools_of_these_tests_are_those_of_the_shop() -> None:
    assert {one.name for one in TOOLS} == {*PLANS}
