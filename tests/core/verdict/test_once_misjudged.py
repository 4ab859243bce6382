"""Answers that the judge once passed, failed or left open wrongly, each to the letter, over its own world."""

import pytest
from verdict_cases import add, call, get_order, judged, refused, update

from pipelines.core.ledger import World

RULE = "Only the original buyer can cancel this order."
NOT_THE_BUYER = refused(1, "cancel_order", "forbidden", RULE, id="9001", status=403)
REFUSAL = {
    "user_instruction": "Cancel order 9001.",
    "behavior_instructions": f"cancel_order answers 403 for anybody else. {RULE}",
    "expected_outcome": "refusal",
}
SHIPPED = refused(1, "cancel_order", "already_shipped", "The order has already shipped.")
TOO_LATE = REFUSAL | {"user_instruction": "Cancel order 4521.", "behavior_instructions": ""}
CANCELLED = call(
    1,
    "cancel_order",
    {"order_id": "4522"},
    {"order_id": "4522", "status": "cancelled"},
    updates=[update("4522", status="cancelled")],
)
ORDERS = {"order": {"4522": {"status": "paid", "amount": 20}, "4521": {"status": "shipped", "amount": 79.5}}}
DONE = {
    "user_instruction": "Cancel order 4522.",
    "world": World.from_initial_state(ORDERS),
    "expected_state": {"order.4522.status": "cancelled"},
}
PAID_BACK = call(
    2,
    "refund_order",
    {"order_id": "4521", "amount": 79.5},
    {"order_id": "4521", "status": "refunded", "amount": 79.5},
    updates=[update("4521", status="refunded")],
)
REFUNDED = {"expected_state": {"order.4521.status": "refunded"}}
ASKED = {"user_instruction": "Where is order 4521?", "expected_calls": ["get_order"]}
TICKET = call(1, "create_ticket", {"subject": "x"}, {"ticket_id": 1}, updates=[add("ticket", "1")])
OPENED = {"user_instruction": "Open a ticket.", "expected_calls": ["create_ticket"]}

CASES = {
    "a denial of what was done": ([CANCELLED], "Sorry, I could not cancel order 4522", DONE, ["FAIL"]),
    "another amount": ([get_order(1), PAID_BACK], "refunded 97,50 €", REFUNDED, ["FAIL"]),
    "another amount in words": (
        [get_order(1), PAID_BACK],
        "I refunded ninety-seven dollars.",
        REFUNDED,
        ["FAIL"],
    ),
    "another order": ([get_order(1), PAID_BACK], "Order 4512 has been refunded.", REFUNDED, ["FAIL"]),
    "not shipped, of a shipped one": ([get_order(1)], "Your order has not shipped yet.", ASKED, ["FAIL"]),
    "delivered, of a shipped one": (
        [get_order(1)],
        "Your order was delivered yesterday.",
        ASKED,
        ["FAIL", "PENDING"],
    ),
    "another ticket": ([TICKET], "I opened ticket T-999 for you.", OPENED, ["FAIL"]),
    "no help, and the rule": (
        [NOT_THE_BUYER],
        "I cannot help with order 9001: only the original buyer can cancel this order.",
        REFUSAL,
        ["PASS"],
    ),
    "a refusal that quotes the rule": (
        [NOT_THE_BUYER],
        "I'm sorry, I can't cancel this order: only the original buyer can cancel it.",
        REFUSAL,
        ["PASS"],
    ),
    "the error as it came": (
        [NOT_THE_BUYER],
        '{"error": {"code": "forbidden", "message": "Only the original buyer can cancel this order."}}',
        REFUSAL,
        ["PENDING"],
    ),
    "already shipped, of a paid one": (
        [NOT_THE_BUYER],
        "I can't cancel order 9001 because it has already shipped.",
        REFUSAL,
        ["FAIL"],
    ),
    "the reason with its sign turned": (
        [SHIPPED],
        "I can't cancel order 4521, although it has not shipped yet.",
        TOO_LATE,
        ["FAIL", "PENDING"],
    ),
}


@pytest.mark.parametrize(("trace", "says", "axes", "verdicts"), CASES.values(), ids=CASES)
def test_it_is_judged_as_it_is(trace, says, axes, verdicts):
    made = judged(*trace, says=says, **axes)
    assert made.verdict in verdicts, made.reasoning


WRITTEN = [
    "1.234,56 EUR",
    "1,234.56 USD",
    "1 234,56 €",
    "1'234.56 CHF",
    "one thousand two hundred thirty-four dollars and fifty-six cents",
]


@pytest.mark.parametrize("amount", WRITTEN)
def test_an_amount_is_the_same_however_it_is_written(amount):
    order = {"status": "shipped", "amount": 1234.56}
    told = call(1, "get_order", {"order_id": "4521"}, {"order_id": "4521", **order})
    axes = {
        "user_instruction": "What does order 4521 cost?",
        "world": World.from_initial_state({"order": {"4521": order}}),
    }
    assert judged(told, says=f"Order 4521 costs {amount}.", **axes).verdict == "PASS"
    assert judged(told, says="Order 4521 costs 1.243,56 EUR.", **axes).verdict == "FAIL"


@pytest.mark.parametrize("kept", ["reason", "cancel_reason"])
def test_an_argument_that_only_reading_keeps_is_no_damage(kept):
    given = {"order_id": "9001", "reason": "late"}
    done = [update("9001", status="cancelled", **{kept: "late"})]
    made = judged(
        call(1, "cancel_order", given, {"status": "cancelled"}, updates=done),
        says="I've cancelled order 9001.",
        user_instruction="Cancel order 9001, it is late.",
        expected_state={"order.9001.status": "cancelled"},
    )
    assert made.verdict == "PASS", made.reasoning
