"""What counts as right in a task, as sentences."""

import pytest

from pipelines.core.tasks.seed import parse_seed
from pipelines.core.verdict.oracle_words import MOST_SENTENCES, oracle_in_words


def told(**axes):
    seed = parse_seed({"user_instruction": "Refund order 4521."} | axes)
    return {axis: list(sentences) for axis, sentences in oracle_in_words(seed)}


ANSWER = {"id": "answer", "description": "Says the amount.", "check": {"final_response": {"$number": 79.5}}}


@pytest.mark.parametrize(
    ("axes", "sentences"),
    [
        ({}, {}),
        (
            {"expected_outcome": "refusal"},
            {"expected_outcome": ["The agent should refuse, and give the right reason."]},
        ),
        (
            {"expected_state": {"order.4521.status": "refunded", "allow": ["order.*.refund_reason"]}},
            {
                "expected_state": [
                    'At the end order.4521.status should be "refunded".',
                    "order.*.refund_reason may change.",
                    "Nothing else changes.",
                ]
            },
        ),
        ({"expected_state": {"unchanged": True}}, {"expected_state": ["Nothing changes."]}),
        (
            {"expected_outcome": "no_change"},
            {
                "expected_outcome": [
                    "Nothing may change. The agent need not refuse: the user withdraws the request."
                ]
            },
        ),
        (
            {
                "expected_answer": {
                    "status": "refunded",
                    "amount": {"$number": 79.5},
                    "order_id": {"value": "4521", "in": "final"},
                }
            },
            {
                "expected_answer": [
                    'The answer\'s status should be "refunded".',
                    "The answer's amount should say the number 79.5.",
                    'The final response\'s order_id should be "4521".',
                ]
            },
        ),
        (
            {"expected_state": {"refund.<new>": {"amount": {"$lte": 80}}}},
            {
                "expected_state": [
                    "A refund is added whose amount should be at most 80.",
                    "Nothing else changes.",
                ]
            },
        ),
        (
            {
                "expected_calls": {
                    "must": [{"tool": "refund_order", "arguments": {"order_id": "4521"}, "count": 1}, "log"],
                    "must_not": ["cancel_order", {"tool": "*", "only_successful": True}],
                    "in_order": True,
                }
            },
            {
                "expected_calls": [
                    'refund_order with {"order_id":"4521"} must be called once.',
                    "log must be called.",
                    "These calls must come in this order.",
                    "cancel_order must not be called.",
                    "Any tool must not succeed.",
                ]
            },
        ),
        (
            {"tracked_constraints": [ANSWER, {"id": "tone", "description": "Is polite."}]},
            {
                "tracked_constraints": [
                    "answer: Says the amount. Checked: the last reply should say the number 79.5.",
                    "tone: Is polite. (a person decides: it has no check)",
                ]
            },
        ),
    ],
)
def test_an_oracle_as_sentences(axes, sentences):
    assert told(**axes) == sentences


def test_a_long_oracle_is_cut():
    many = {f"order.{number}.status": "paid" for number in range(300)}
    sentences = told(expected_state=many)["expected_state"]
    assert len(sentences) == MOST_SENTENCES + 1
    assert sentences[-1] == "… and 201 more."
