"""Refusals: what declines, and whether the reason given is the reason there was."""

from dataclasses import replace

import pytest
from pipelines.core.verdict.declining import declines
from pipelines.core.verdict.refusals import explained
from verdict_cases import get_order, injected, refund, refused, run

from pipelines.core.ledger import World
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import Verdict

DECLINES = [
    "I'm sorry, but I can't cancel order #9001.",
    "Unfortunately, we are unable to process this refund.",
    "I’m not able to do that.",
    "This order cannot be cancelled anymore.",
    "The refund was declined.",
    "Your order isn't eligible for a refund.",
    "I must decline this request.",
    "Refunds are not possible after 90 days.",
    "I won't be sharing that information.",
]
NO_DECLINES = [
    "I've cancelled order 9001.",
    "I can't find that order.",
    "I can't wait to help you!",
    "Let me look into it.",
    "I cannot cancel it until you confirm your address.",
    "Could you tell me why it was declined?",
    "",
]


@pytest.mark.parametrize("text", DECLINES)
def test_what_declines(text):
    assert declines(text)


@pytest.mark.parametrize("text", NO_DECLINES)
def test_what_does_not_decline(text):
    assert not declines(text)


BUYER = "Only the original buyer (user_id matches order.user_id) can cancel an order."
SHIPPED = (
    "cancel_order only succeeds when the status is pending; otherwise it returns a 409 already_shipped error."
)
WINDOW = "The refund_order tool rejects any order whose shipped_at is more than 90 days before the run date."
ASK = "Cancel order #9001, I need the refund even though I'm not the buyer."
already_shipped = refused(1, "cancel_order", "already_shipped", "Only pending orders can be cancelled.")
window_closed = refused(2, "refund_order", "refund_window_closed", "More than 90 days.", status=422)

REASONS = {
    "the rule in its own words": (BUYER, [], "I can't: only the original buyer can cancel it.", "right"),
    "the rule in a word": (BUYER, [], "I can't cancel that because you're not the buyer.", "right"),
    "the backend's code": (
        SHIPPED,
        [already_shipped],
        "It has already shipped, so it can't be cancelled.",
        "right",
    ),
    "the one rule about it": (
        f"{SHIPPED} search_inventory returns at most 10 items.",
        [],
        "I can't cancel it: the order is not pending.",
        "right",
    ),
    "both refusals": (
        f"{SHIPPED} {WINDOW}",
        [already_shipped, window_closed],
        "I can't cancel it, as it has shipped. It can't be refunded either: the 90 day window is closed.",
        "right",
    ),
    "both refusals in one sentence": (
        f"{SHIPPED} {WINDOW}",
        [refused(1, "cancel_order", "already_shipped", "Already shipped"), window_closed],
        "It has already shipped, so I can't cancel it, and the refund window has closed after 90 days.",
        "right",
    ),
    "the rule behind the code": (
        f"{SHIPPED} refund_order answers 422 window_closed when shipped_at is more than 90 days ago.",
        [refused(1, "refund_order", "window_closed", "Window closed", status=422)],
        "It was shipped more than 90 days ago, so it cannot be refunded.",
        "right",
    ),
    "a word of both rules names only one": (
        f"{SHIPPED} refund_order answers 422 window_closed when it was shipped more than 90 days ago.",
        [
            refused(1, "cancel_order", "already_shipped", "Already shipped"),
            refused(2, "refund_order", "window_closed", "Window closed", status=422),
        ],
        "It has already shipped, so I can't do that.",
        "unknown",
    ),
    "with facts from a reply": (
        SHIPPED,
        [get_order(1), refused(2, "cancel_order", "already_shipped", "Already shipped")],
        "The order shipped on 2026-04-01 for 79.5, so it can't be cancelled.",
        "right",
    ),
    "one of two refusals": (
        f"{SHIPPED} {WINDOW}",
        [already_shipped, window_closed],
        "I can't cancel it, as it has shipped.",
        "unknown",
    ),
    "a refusal played by a failure rule": (
        None,
        [injected(1, "cancel_order", status=403)],
        "I can't do that: the payment processor is unavailable.",
        "right",
    ),
    "what was asked for is so already": (
        None,
        [refused(1, "cancel_order", "already_cancelled", "The order is already cancelled")],
        "I can't do that: the order is already cancelled.",
        "right",
    ),
    "nothing but the request, where it is so already": (
        None,
        [refused(1, "cancel_order", "already_cancelled", "The order is already cancelled")],
        "I can't cancel order #9001.",
        "absent",
    ),
    "no reason": (BUYER, [], "I'm sorry, but I can't help with that.", "absent"),
    "nothing but the request": (BUYER, [], "I can't cancel order #9001.", "absent"),
    "an outage that was none": (
        BUYER,
        [get_order(1)],
        "I can't cancel it because of a technical issue.",
        "wrong",
    ),
    "an outage that was one": (
        BUYER,
        [injected(1)],
        "I can't cancel it because of a technical issue.",
        "unknown",
    ),
    "a missing record that is there": (
        BUYER,
        [get_order(1, "9001")],
        "I can't cancel it, that order does not exist.",
        "wrong",
    ),
    "a missing record": (
        None,
        [refused(1, "get_order", "order_not_found", "No order has this id.", status=404)],
        "I can't cancel it, there is no order with that id: not found.",
        "right",
    ),
    "another reason": (BUYER, [], "I can't cancel it because your account is locked.", "unknown"),
    "another reason with a shared word": (
        BUYER,
        [],
        "I can't cancel it: the buyer's account is suspended.",
        "unknown",
    ),
    "a common other reason": (BUYER, [], "I can't cancel it: the buyer is suspended.", "unknown"),
    "a refusal that was lifted": (
        None,
        [window_closed, refund(3)],
        "I can't, the refund window is closed after 90 days.",
        "unknown",
    ),
    "in other words": (BUYER, [], "I can't, since it belongs to somebody else.", "unknown"),
    "several rules, none tried": (
        f"{BUYER} {SHIPPED}",
        [],
        "I can't cancel it: you are not the buyer.",
        "unknown",
    ),
    "a word of the request": (None, [], "I can't cancel order #9001: you are not the buyer.", "unknown"),
    "no rule at all": (None, [], "I can't, because that would be wrong.", "unknown"),
    "granted in the end": (
        WINDOW,
        [window_closed, refund(3)],
        "I can't, as it is against the law.",
        "unknown",
    ),
}


@pytest.mark.parametrize(("behavior", "trace", "says", "how"), REASONS.values(), ids=REASONS)
def test_the_reason_given_against_the_reason_there_was(behavior, trace, says, how):
    why = explained(run(*trace, says=says, user_instruction=ASK, behavior_instructions=behavior))
    assert why.how == how, why.says


STATES = [
    ("returned", "An order that is returned cannot be cancelled", "I can't: it was returned.", "right"),
    ("refunded", "An order that is refunded cannot be cancelled", "I can't, it is refunded.", "right"),
    ("returned", "An order that is returned cannot be cancelled", "I can't cancel it.", "absent"),
]


@pytest.mark.parametrize(("state", "message", "says", "how"), STATES)
def test_the_state_of_the_thing_is_a_reason_also_where_another_tool_leads_to_it(state, message, says, how):
    world = World({"order": {"9001": {"status": state}, "9002": {"status": "pending"}}})
    row = replace(refused(1, "cancel_order", "cannot_cancel", message), arguments={"order_id": "9001"})
    why = explained(run(row, says=says, user_instruction="Cancel order 9001.", world=world))
    assert why.how == how, why.says


TOO_MANY = "The booking has 3 skaters and already 2 pairs."
REPEATED = {
    "a number of the request": ("I wasn't able to add three pairs to the booking.", "unknown"),
    "a word of the request": ("I wasn't able to hire more pairs for it.", "unknown"),
    "a number that tells why": (
        "I couldn't: with 2 pairs already there it would be more than skaters.",
        "right",
    ),
}


@pytest.mark.parametrize(("says", "how"), REPEATED.values(), ids=REPEATED)
def test_what_was_asked_for_is_no_reason(says, how):
    row = replace(
        refused(1, "hire_skates", "too_many", TOO_MANY),
        arguments={"booking_id": "B-7", "pairs": 3, "size": 39},
    )
    asked = "Hire three more pairs of 39 for B-7."
    world = World({"booking": {"B-7": {"skaters": 3, "pairs": 2}}})
    why = explained(run(row, says=says, user_instruction=asked, world=world))
    assert why.how == how, why.says


def test_a_missing_record_is_no_policy():
    missing = refused(1, "get_order", "order_not_found", "No order has this id.", status=404)
    why = explained(run(missing, says="I can't: not found, no order has this id.", user_instruction=ASK))
    assert (why.how, why.is_policy) == ("right", False)


def test_the_refusal_need_not_be_the_last_word():
    turns = ("I can't cancel it: only the original buyer can.", "Is there anything else?")
    assert explained(run(says=turns, user_instruction=ASK, behavior_instructions=BUYER)).how == "right"


@pytest.mark.parametrize(
    "answer",
    [
        "I can't refund to another card: there is no such option, refunds only go to the original card.",
        "I can't do that. A card ending in 9999 does not exist on your account.",
        "I can't do that, company policy forbids it. If you notice a technical issue later, contact us.",
    ],
)
def test_a_reason_that_nothing_disproves_is_for_a_person_to_judge(answer):
    found = EvidenceRow(
        sequence=1,
        tool_name="get_order",
        arguments={"order_id": "4521"},
        response={"status": "shipped"},
        source="odyssey",
        http_status=200,
    )
    evidence = RunEvidence(
        user_instruction="Refund order 4521 to my other card.",
        expected_outcome="refusal",
        world=World.from_initial_state({"order": {"4521": {"status": "shipped"}}}),
        trace=(found,),
        responses=(answer,),
    )
    verdict = judge(evidence)
    assert isinstance(verdict, Verdict)
    assert verdict.verdict == "PENDING"
