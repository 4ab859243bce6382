"""Sentences that strangers wrote for a shop and that were once misread or dropped, each to the letter."""

from typing import Any

import pytest
import shop

from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.tools_schema import parse_tools_schema

WORLD = World.from_initial_state(shop.STATE)
TOOLS = parse_tools_schema(
    [
        {
            "name": one.name,
            "description": f"{one.name.replace('_', ' ').capitalize()}.",
            "input_schema": one.input_schema,
        }
        for one in shop.TOOLS
    ]
)
PENDING, SHIPPED, DELIVERED = ({"order_id": f"o-{number}"} for number in (1, 2, 3))

#: Sentence -> calls with the status each is answered with.
SENTENCES: dict[str, tuple[tuple[str, dict[str, Any], int], ...]] = {
    "A shipped order may no longer be cancelled.": (
        ("cancel_order", PENDING, 200),
        ("cancel_order", SHIPPED, 409),
    ),
    "Delivered orders shall not be refunded.": (
        ("refund_order", SHIPPED, 200),
        ("refund_order", DELIVERED, 409),
    ),
    "Once the order is delivered, refund_order fails.": (
        ("refund_order", SHIPPED, 200),
        ("refund_order", DELIVERED, 409),
    ),
    "Orders that have been shipped or delivered cannot be refunded.": (
        ("refund_order", PENDING, 200),
        ("refund_order", SHIPPED, 409),
        ("refund_order", DELIVERED, 409),
    ),
    "You can't refund an order that hasn't been shipped.": (
        ("refund_order", PENDING, 409),
        ("refund_order", SHIPPED, 200),
        ("refund_order", DELIVERED, 200),
    ),
    "cancel_order must be called with a reason.": (
        ("cancel_order", PENDING, 422),
        ("cancel_order", PENDING | {"reason": "late"}, 200),
    ),
    "Once the order is delivered, cancel_order fails.": (
        ("cancel_order", SHIPPED, 200),
        ("cancel_order", DELIVERED, 409),
    ),
    "e-mail must be unique.": (
        ("register_user", {"email": "ada@example.com", "name": "Ann"}, 422),
        ("register_user", {"email": "new@example.com", "name": "Ann"}, 200),
    ),
    "Shipped orders cannot be cancelled, and you should check the status first.": (
        ("cancel_order", PENDING, 200),
        ("cancel_order", SHIPPED, 409),
    ),
    "Shipped orders cannot be cancelled, so please apologise to the customer.": (
        ("cancel_order", PENDING, 200),
        ("cancel_order", SHIPPED, 409),
    ),
    "E-mail must be unique.": (
        ("register_user", {"email": "ada@example.com", "name": "Ann"}, 422),
        ("register_user", {"email": "new@example.com", "name": "Ann"}, 200),
    ),
}


def answered(sentence: str, *calls: tuple[str, dict[str, Any]]) -> list[SimulatedReply]:
    """Call after call on one world, under the sentence alone."""
    simulator = build_simulator(TOOLS, world=WORLD, behavior=sentence)
    assert (simulator.not_understood, simulator.without_effect) == ((), ())
    ledger, replies = Ledger(WORLD), []
    for number, (tool, arguments) in enumerate(calls, 1):
        reply = simulator.answer(tool, arguments, ledger, Moment("s", number, shop.NOW))
        ledger.apply(reply.updates)
        replies.append(reply)
    return replies


@pytest.mark.parametrize("sentence", SENTENCES)
def test_it_does_what_it_says(sentence: str) -> None:
    for tool, arguments, status in SENTENCES[sentence]:
        (reply,) = answered(sentence, (tool, arguments))
        assert reply.status == status, (tool, arguments, reply)


def test_at_most_once_is_once() -> None:
    refund = ("refund_order", SHIPPED)
    replies = answered("Each order can be refunded at most once.", refund, refund)
    assert [reply.status for reply in replies] == [200, 409]


@pytest.mark.parametrize("says", ["get_user must never return the ssn.", "get_user must never return ssn."])
def test_what_must_never_be_returned_is_not(says: str) -> None:
    (reply,) = answered(says, ("get_user", {"user_id": "u-1"}))
    assert (reply.status, "123-45-6789" in str(reply.response)) == (200, False)


@pytest.mark.parametrize("value", ["voided", "VOIDED"])
def test_a_state_is_set_to_the_word_itself(value: str) -> None:
    (reply,) = answered(f"cancel_order sets the status to {value}.", ("cancel_order", PENDING))
    assert [update.set["status"] for update in reply.updates] == [value]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "says",
    [
        "Orders can be cancelled, and you should never cancel shipped ones.",
        "Shipped orders cannot be cancelled, and you should refund them only when they are late.",
    ],
)
def test_advice_that_restricts_anything_is_not_cut_off(says: str) -> None:
    assert build_simulator(TOOLS, world=WORLD, behavior=says).not_understood == (says,)
