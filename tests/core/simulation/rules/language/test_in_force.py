"""Sentences in force in the shop: what the page says of optional arguments, missing dates and filters."""

from typing import Any

import pytest
from tests.core.simulation.rules.language.worlds import shop
from tests.core.simulation.rules.shop import Shop

from pipelines.core.simulation.rules.forms import as_json


def shop_under(sentence: str) -> Shop:
    reading = shop().read(sentence)
    assert reading.is_read, sentence
    return Shop(rules=[as_json(rule) for rule in reading.rules])


CALLS: list[tuple[str, str, dict[str, Any], int]] = [
    # An optional argument that is not given breaks no rule, in words or in backticks.
    ("refund_order fails when the amount is more than the order's total.", "refund_order", {}, 200),
    (
        "refund_order fails when the amount is more than the order's total.",
        "refund_order",
        {"amount": 200},
        409,
    ),
    ("refund_order fails unless `args.amount < 5`.", "refund_order", {}, 200),
    ("refund_order fails unless `args.amount < 5`.", "refund_order", {"amount": 9}, 422),
    ("amount must be positive.", "refund_order", {}, 200),
    ("amount must be positive.", "refund_order", {"amount": -1}, 422),
    # Unless the rule asks for it.
    ("cancel_order requires a reason.", "cancel_order", {}, 422),
    ("cancel_order fails when no reason is given.", "cancel_order", {"reason": "late"}, 200),
    ("cancel_order fails when the reason is shorter than 10 characters.", "cancel_order", {}, 422),
    (
        "cancel_order fails when the reason is shorter than 10 characters.",
        "cancel_order",
        {"reason": "late"},
        422,
    ),
    (
        "cancel_order fails when the reason is shorter than 3 characters.",
        "cancel_order",
        {"reason": "late"},
        200,
    ),
    # A missing date is neither old nor new, in any unit.
    ("cancel_order fails when delivered_at is more than 2 days ago.", "cancel_order", {}, 200),
    ("cancel_order fails when delivered_at is less than 2 hours ago.", "cancel_order", {}, 200),
    ("cancel_order fails when delivered_at is at most 30 minutes from now.", "cancel_order", {}, 200),
    ("cancel_order fails when delivered_at is at most 2 months ago.", "cancel_order", {}, 200),
    ("cancel_order fails when delivered_at is within the last 3 hours.", "cancel_order", {}, 200),
    ("cancel_order fails when delivered_at is within the next 3 days.", "cancel_order", {}, 200),
    # Both directions of time; o-1 was made eleven days ago.
    ("cancel_order fails when created_at is within the last 12 days.", "cancel_order", {}, 409),
    ("cancel_order fails when created_at is within the last 10 days.", "cancel_order", {}, 200),
    ("cancel_order fails when created_at is within the next 12 days.", "cancel_order", {}, 200),
    ("cancel_order fails when created_at is more than 200 hours ago.", "cancel_order", {}, 409),
    # Numbers below zero.
    ("cancel_order fails when the order's balance is more than -15.", "cancel_order", {}, 409),
    ("cancel_order fails when the order's balance is between -30 and 8.", "cancel_order", {}, 200),
]


@pytest.mark.parametrize(("sentence", "tool", "arguments", "status"), CALLS)
def test_a_call_of_order_1_under_a_sentence(
    sentence: str, tool: str, arguments: dict[str, Any], status: int
) -> None:
    assert shop_under(sentence).call(tool, order_id="o-1", **arguments).status == status


def test_a_filter_takes_an_argument_that_is_not_given_as_null() -> None:
    under = shop_under("list_orders returns only orders whose user_id matches the given user_id.")
    assert under.call("list_orders").response == []
    assert len(under.call("list_orders", user_id="u-1").response) == 2  # type: ignore[arg-type]


def test_a_filter_lets_everything_through_where_it_says_so() -> None:
    under = shop_under(
        "list_orders returns only orders where the given user_id is missing or the order's user_id matches "
        "the given user_id."
    )
    assert len(under.call("list_orders").response) == 4  # type: ignore[arg-type]
    assert len(under.call("list_orders", user_id="u-1").response) == 2  # type: ignore[arg-type]


def test_two_sentences_are_two_tiers() -> None:
    low = shop().read(
        "refund_order increases the user's loyalty_points by 1 when the order's total is at most 50."
    )
    high = shop().read(
        "refund_order increases the user's loyalty_points by 5 when the order's total is more than 50."
    )
    under = Shop(rules=[as_json(rule) for reading in (low, high) for rule in reading.rules])
    under.call("refund_order", order_id="o-1")
    assert under.record("user", "u-1")["loyalty_points"] == 10
    under.call("refund_order", order_id="o-2")
    assert under.record("user", "u-2")["loyalty_points"] == 1


def test_what_is_not_given_gets_the_value_that_the_sentence_says() -> None:
    under = shop_under("cancel_order sets the order's reason to 'changed mind' when no reason is given.")
    under.call("cancel_order", order_id="o-1")
    assert under.record("order", "o-1")["reason"] == "changed mind"
