"""Refusals: what declines, and whether the reason given has the subject of the reason there was."""

from dataclasses import replace

import pytest

from pipelines.core.verdict.evidence import EvidenceRow
from pipelines.core.verdict.words.declining import declines
from pipelines.core.verdict.words.reasons import explanation_of, rule_behind
from support.verdict_cases import call, get_order, injected, refused, run

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
ASK = "Cancel order #9001, I need the refund even though I'm not the buyer."
already_shipped = refused(1, "cancel_order", "already_shipped", "Only pending orders can be cancelled.")
POLICY = (
    "Borrowing records are private. We only talk about them with the holder of the card, or by court order."
)

REASONS = {
    "the rule in its own words": (BUYER, [], "I can't: only the original buyer can cancel it.", "right"),
    "the backend's code": (SHIPPED, [already_shipped], "It has already shipped, so I can't.", "right"),
    "the backend's message": (None, [already_shipped], "I can't, since it is no longer pending.", "right"),
    "a refusal played by a failure rule": (
        None,
        [injected(1, "cancel_order", status=403)],
        "I can't do that: the payment processor is unavailable.",
        "right",
    ),
    "the rule that the backend refused by": (
        None,
        [replace(already_shipped, response={"error": "no"}, matched_rule="Vouchers are not exchanged.")],
        "I can't: vouchers stay as they are.",
        "right",
    ),
    "a policy that was read": (
        None,
        [call(1, "get_policy", {}, {"text": POLICY})],
        "I'm afraid I can't tell you: that stays with whoever holds the card.",
        "right",
    ),
    "a number of the refusal": (
        None,
        [replace(already_shipped, response={"error": "window_closed", "hours_left": 6.5})],
        "I can't: it starts in 6.5 hours.",
        "right",
    ),
    "no reason": (BUYER, [], "I'm sorry, but I can't help with that.", "absent"),
    "nothing but the request": (BUYER, [], "I can't cancel order #9001.", "absent"),
    "what the user spoke of": (BUYER, [], "I can't cancel order #9001: you are not the buyer.", "other"),
    "another reason": (BUYER, [], "I can't cancel it because your account is locked.", "other"),
    "a rule that did not refuse": (
        f"{SHIPPED} Frozen accounts are read-only.",
        [already_shipped],
        "I can't cancel it, your account is frozen.",
        "other",
    ),
    "in other words": (BUYER, [], "I can't, since it belongs to somebody else.", "other"),
    "no rule at all": (None, [], "I can't, because that would be wrong.", "other"),
}


@pytest.mark.parametrize(("behavior", "trace", "says", "how"), REASONS.values(), ids=REASONS)
def test_the_reason_given_against_the_reason_there_was(behavior, trace, says, how):
    assert (
        explanation_of(run(*trace, says=says, user_instruction=ASK, behavior_instructions=behavior)).how
        == how
    )


def test_the_agents_own_policy_is_a_reason():
    policy = EvidenceRow(
        sequence=1, kind="system_prompt", payload="Basic economy flights cannot be modified."
    )
    assert (
        explanation_of(run(policy, says="I can't: it is basic economy.", user_instruction="Move it.")).how
        == "right"
    )


BEHIND = {
    "the backend refused by a rule": ([already_shipped], "I can't.", None, True),
    "the record is missing": (
        [refused(1, "cancel_order", "x", "No order.", status=404)],
        "I can't.",
        None,
        False,
    ),
    "a read was refused": ([refused(1, "get_order", "x", "Not yours.", status=403)], "I can't.", None, False),
    "the rule in its own words": (
        [get_order(1)],
        "I can't: only the original buyer can cancel it.",
        BUYER,
        True,
    ),
    "a word of the rule": ([get_order(1)], "I can't, you are not the buyer.", BUYER, False),
}


@pytest.mark.parametrize(("trace", "says", "behavior", "is_there"), BEHIND.values(), ids=BEHIND)
def test_which_rule_is_behind_a_refusal(trace, says, behavior, is_there):
    found = rule_behind(run(*trace, says=says, user_instruction=ASK, behavior_instructions=behavior))
    assert (found is not None) == is_there
