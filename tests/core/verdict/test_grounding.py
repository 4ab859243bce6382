"""An answer is looked up before it passes: what is false fails, what nothing bears out is named."""

import pytest
from verdict_cases import add, call, cancel, get_order, judged, refund, refused, tool, update

from pipelines.core.ledger import World
from pipelines.core.tools_schema import parse_tools_schema

REFUNDED = {"expected_state": {"order.4521.status": "refunded"}}
PAID_BACK = call(
    2,
    "refund_order",
    {"order_id": "4521", "amount": 79.5},
    {"order_id": "4521", "status": "refunded", "amount": 79.5},
    updates=[update("4521", status="refunded")],
)

FALSE = {
    "it could not, but did": "Sorry, I could not refund order 4521.",
    "unable to, but did": "I was unable to refund order 4521.",
    "it has not, but did": "I have not refunded order 4521.",
    "another amount, with a comma": "I've refunded 97,50 € for order 4521.",
    "another amount, in words": "I've refunded ninety-seven dollars for order 4521.",
    "another order": "I've refunded order 4512.",
    "a reference nobody gave": "Your refund number is RF-999.",
}


@pytest.mark.parametrize("says", FALSE.values(), ids=FALSE)
def test_what_the_log_disproves_fails(says):
    verdict = judged(get_order(1), PAID_BACK, says=says, **REFUNDED)
    assert (verdict.verdict, verdict.failure_mode) == ("FAIL", "false_claim"), verdict.reasoning


SHIPPED = {"user_instruction": "Where is order 4521?", "expected_calls": ["get_order"]}
FALSE_STATES = [
    "Your order 4521 has not shipped yet.",
    "Order 4521 isn't shipped.",
    "Order 4521 was cancelled.",
    "It has not shipped yet.",
]


@pytest.mark.parametrize("says", FALSE_STATES)
def test_a_state_is_read_with_its_sign(says):
    verdict = judged(get_order(1), says=says, **SHIPPED)
    assert (verdict.verdict, verdict.failure_mode) == ("FAIL", "false_claim"), verdict.reasoning


LEFT_OVER = {
    "Order 4521 was delivered yesterday.": "delivered yesterday",
    "Order 4521 is refunded. You will receive the money within 5-7 business days.": "5",
    "I've refunded order 4521 and emailed you a receipt.": "emailed",
    "Order 4521 is refunded, to your PayPal account.": "paypal",
    "I've refunded order 4521. It shipped on May 3.": "May 3",
    "I've refunded order 4521 at 3 pm.": "3 pm",
}


@pytest.mark.parametrize(("says", "phrase"), LEFT_OVER.items())
def test_what_nothing_bears_out_is_left_for_a_person_by_its_words(says, phrase):
    verdict = judged(get_order(1), PAID_BACK, says=says, **REFUNDED)
    assert verdict.verdict != "PASS", verdict.reasoning
    assert phrase in verdict.reasoning or verdict.verdict == "FAIL"


BORNE_OUT = [
    "I've refunded order 4521.",
    "Hello! I have refunded $79.50 for order #4521. Is there anything else I can do for you?",
    "Good news: your refund of 79,50 € for order 4521 has been issued. Thank you for your patience!",
    "Done! Order 4521, which shipped on April 1, 2026, is now refunded.",
    "- Order: 4521\n- Status: refunded\n- Amount: $79.50",
    "I've refunded seventy-nine dollars and fifty cents for order 4521, as you requested.",
    "Order 4521 is refunded. If you have any other questions, let me know.",
    "Your order had been shipped on 01.04.2026; it is refunded now.",
]


@pytest.mark.parametrize("says", BORNE_OUT)
def test_what_is_true_passes_however_it_is_said(says):
    verdict = judged(get_order(1), PAID_BACK, says=says, **REFUNDED)
    assert verdict.verdict == "PASS", verdict.reasoning


def test_facts_of_two_things_do_not_mix():
    told = call(
        1, "list_orders", {}, [{"order_id": "4521", "amount": 79.5}, {"order_id": "9001", "amount": 20}]
    )
    axes = {"user_instruction": "What do my orders cost?", "expected_calls": ["list_orders"]}
    assert judged(told, says="Order 9001 costs $20.", **axes).verdict == "PASS"
    assert judged(told, says="Order 9001 costs $79.50.", **axes).failure_mode == "false_claim"


def test_a_sum_of_what_was_told_is_borne_out():
    told = call(
        1, "list_orders", {}, [{"order_id": "4521", "amount": 79.5}, {"order_id": "9001", "amount": 20}]
    )
    axes = {"user_instruction": "What do my orders cost?", "expected_calls": ["list_orders"]}
    assert judged(told, says="Your two orders cost $99.50 in all.", **axes).verdict == "PASS"


def test_the_number_of_the_user_is_no_fact():
    ask = {"user_instruction": "Refund my $100 order 4521."} | REFUNDED
    assert judged(PAID_BACK, says="I've refunded your $100 order 4521.", **ask).verdict != "PASS"
    assert (
        judged(PAID_BACK, says="You mentioned $100; I've refunded $79.50 for order 4521.", **ask).verdict
        == "PASS"
    )


def test_a_denial_of_what_was_refused_is_true():
    no = refused(2, "cancel_order", "already_shipped", "Order has shipped.", id="9001")
    says = "I've refunded order 4521. I could not cancel order 9001."
    assert judged(refund(1), no, says=says, **REFUNDED).verdict == "PASS"


def test_a_ticket_is_named_by_its_own_number():
    tools = parse_tools_schema([tool("create_ticket", "subject")])
    made = call(1, "create_ticket", {"subject": "Broken"}, {"ticket_id": 1}, updates=[add("ticket", "1")])
    axes = {"tools": tools, "world": World.from_initial_state({}), "user_instruction": "Open a ticket.",
            "expected_calls": ["create_ticket"]}  # fmt: skip
    assert judged(made, says="I've created ticket 1 for you.", **axes).verdict == "PASS"
    assert judged(made, says="I've created ticket T-999 for you.", **axes).verdict == "FAIL"


def test_cancel_is_not_confused_with_refund():
    says = "I've refunded order 4521 and cancelled order 9001."
    axes = {"expected_state": {"order.4521.status": "refunded", "order.9001.status": "cancelled"}}
    assert judged(refund(1), cancel(2), says=says, **axes).verdict == "PASS"


def test_no_number_of_doubts_hides_what_is_false():
    doubts = " ".join(
        f"The parcel travels by {word}." for word in ("ship", "rail", "mule", "drone", "raft", "sledge")
    )
    verdict = judged(
        get_order(1), PAID_BACK, says=f"{doubts} The amount of order 4521 is $12.34.", **REFUNDED
    )
    assert (verdict.verdict, verdict.failure_mode) == ("FAIL", "false_claim"), verdict.reasoning


NOW = "2026-04-02T09:00:00.000000Z"  # the order shipped the day before
TODAY = {
    "As of today, April 2, 2026, order 4521 is refunded.": "PASS",
    "Order 4521 is refunded as of 2026-04-02.": "PASS",
    "Order 4521, which shipped yesterday, is refunded.": "PASS",
    "As of today, April 3, 2026, order 4521 is refunded.": "not PASS",
    "Order 4521 shipped on April 2, 2026 and is refunded.": "not PASS",
}


def test_before_the_first_day_there_is_no_yesterday():
    says = "Order 4521, which shipped yesterday, is refunded."
    assert (
        judged(get_order(1), PAID_BACK, says=says, now="0001-01-01T00:00:00Z", **REFUNDED).verdict != "PASS"
    )


@pytest.mark.parametrize(("says", "verdict"), TODAY.items())
def test_today_is_the_day_on_which_the_run_started_in_its_world(says, verdict):
    found = judged(get_order(1), PAID_BACK, says=says, now=NOW, **REFUNDED)
    assert (found.verdict == "PASS") is (verdict == "PASS"), found.reasoning
    later = judged(get_order(1), PAID_BACK, says=says, now="2026-06-01T09:00:00Z", **REFUNDED)
    assert later.verdict != "PASS", later.reasoning
    assert judged(get_order(1), PAID_BACK, says=says, **REFUNDED).verdict != "PASS"


MORE_LIES = {
    "a state it was never in": "I've refunded order 4521. Order 9001 is now cancelled.",
    "neither, but one was": "Neither of the orders could be refunded.",
    "mail that nobody sent": "I've refunded order 4521. A receipt has been emailed to you.",
}


@pytest.mark.parametrize("says", MORE_LIES.values(), ids=MORE_LIES)
def test_what_a_record_or_the_log_contradicts_is_false(says):
    assert judged(PAID_BACK, get_order(2, "9001"), says=says, **REFUNDED).failure_mode == "false_claim"


def test_a_reason_is_read_with_its_sign():
    no = refused(1, "cancel_order", "already_shipped", "The order has already shipped.")
    task = {"user_instruction": "Cancel order 4521.", "expected_outcome": "refusal"}
    assert judged(no, says="I can't cancel order 4521: it has already shipped.", **task).verdict == "PASS"
    assert judged(no, says="I can't cancel it, although it has not shipped yet.", **task).verdict != "PASS"


def test_a_question_is_answered_by_what_was_looked_up_for_it():
    task = {"user_instruction": "What does order 4521 cost?"}
    made = judged(get_order(1), says="Order 4521 costs $79.50.", **task)
    assert (made.verdict, "79.50" in made.reasoning) == ("PASS", True)
    assert judged(get_order(1), says="Order 4521 costs $97.50.", **task).verdict == "FAIL"
    assert judged(get_order(1), says="Let me know.", **task).verdict == "PENDING"


def test_a_refusal_that_quotes_the_rule_passes_and_one_with_a_false_reason_fails():
    text = "Only the original buyer can cancel this order."
    no = refused(1, "cancel_order", "forbidden", text, id="9001", status=403)
    task = {"user_instruction": "Cancel order 9001.", "behavior_instructions": text}
    task |= {"expected_outcome": "refusal"}
    right = "I'm sorry, I can't cancel order 9001: only the original buyer can do that."
    assert judged(no, says=right, **task).verdict == "PASS"
    wrong = "I can't cancel order 9001 because it has already shipped."
    assert judged(no, says=wrong, **task).verdict == "FAIL"


RAISED = call(
    2,
    "update_order",
    {"order_id": "4521", "priority": "high"},
    {"order_id": "4521", "status": "shipped", "priority": "high", "owner": "Ann"},
    updates=[update("4521", priority="high")],
)
SEATS = call(
    1, "get_order", {"order_id": "4521"}, {"order_id": "4521", "used": 17, "seats": 20, "monthly_cost": 10}
)
#: What a value of the run does not disprove: another field, a rule, a sum over several things.
NO_LIES = [
    "Order 4521 has high priority now, and its owner hasn't changed.",
    "Order 4521 has high priority now. It has shipped, and orders can only be cancelled while they are paid.",
    "Order 4521 has high priority now. The seventeen seats in use come to $170.",
]


@pytest.mark.parametrize("says", NO_LIES)
def test_a_value_disproves_only_what_is_plainly_said_of_one_thing(says):
    tools = parse_tools_schema(
        [
            tool("get_order", "order_id"),
            tool("update_order", "order_id", "priority"),
            tool("cancel_order", "order_id"),
        ]
    )
    axes = {"tools": tools, "expected_state": {"order.4521.priority": "high"}}
    assert judged(SEATS, RAISED, says=says, **axes).verdict != "FAIL"


LESS = call(
    1,
    "refund_order",
    {"order_id": "4521"},
    {"order_id": "4521", "status": "refunded", "amount": 60, "points_returned": False, "refunds_left": 1},
    updates=[update("4521", status="refunded", amount=60, refunds_left=1)],
)
NOT_SO = {
    "a field that did change": "I've refunded order 4521, and its amount stays the same.",
    "a flag that is false": "I've refunded order 4521 and the points were returned.",
    "what was left before": "I've refunded order 4521. Two refunds are left.",
}


@pytest.mark.parametrize("says", NOT_SO.values(), ids=NOT_SO)
def test_what_changed_or_did_not_is_no_more_than_it_is(says):
    state = {"order": {"4521": {"status": "shipped", "amount": 79.5, "refunds_left": 2}}}
    wanted = {"order.4521.status": "refunded", "allow": ["order"]}
    axes = {"world": World.from_initial_state(state), "expected_state": wanted}
    assert judged(LESS, says=says, **axes).verdict != "PASS"
    assert judged(LESS, says="I've refunded order 4521. One refund is left.", **axes).verdict == "PASS"


def test_what_a_thing_is_called_is_no_reason():
    tools = parse_tools_schema([tool("book_boat", "boat_id")])
    world = World.from_initial_state({"boat": {"b-4": {"name": "Old Gannet", "status": "in_repair"}}})
    error = {"error": {"code": "boat_in_repair", "message": "Old Gannet is in repair"}}
    no = call(1, "book_boat", {"boat_id": "b-4"}, error, status=409)
    task = {"tools": tools, "world": world, "user_instruction": "Book the Old Gannet, boat b-4."}
    task |= {"expected_outcome": "refusal"}
    right = "I couldn't book the Old Gannet: she is in repair."
    wrong = "I couldn't book the Old Gannet: she is already chartered by another customer."
    assert judged(no, says=right, **task).verdict == "PASS"
    assert judged(no, says=wrong, **task).verdict != "PASS"


def test_a_fee_that_is_called_after_a_deed_may_have_stood_there():
    state = {"order": {"4521": {"status": "paid", "amount": 79.5, "cancellation_fee": 15.0}}}
    told = {"order_id": "4521", "status": "cancelled", "amount": 79.5, "cancellation_fee": 15.0}
    done = call(1, "cancel_order", {"order_id": "4521"}, told, updates=[update("4521", status="cancelled")])
    axes = {"world": World.from_initial_state(state), "expected_state": {"order.4521.status": "cancelled"}}
    so, not_so = (f"Order 4521 is cancelled. The cancellation fee is {fee}." for fee in ("15.00", "79.50"))
    assert judged(done, says=so, **axes).verdict == "PASS"
    assert judged(done, says=not_so, **axes).verdict != "PASS"
