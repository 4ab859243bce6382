"""Match: subset and exact, matchers, prohibited outputs, and what the score weighs."""

import pytest

from pipelines.core.evals.scenarios.contract import Contract, LeafRule, contract_problems
from pipelines.core.evals.scoring.match_score import match_score
from pipelines.core.evals.scoring.observed import EMPTY, Observed
from support.scored_outputs import AS_EXPECTED, CONTRACT, EXPECTED, output, text


def test_extra_keys_are_ignored_unless_the_match_is_exact():
    wordy = output(reasoning="because")
    assert match_score(CONTRACT, wordy).matched
    exact = match_score(Contract(expected_behavior=EXPECTED, match_mode="exact"), wordy)
    assert not exact.matched
    assert exact.score == 0.75
    assert exact.missed == ({"path": "/reasoning", "expected": {"$exists": False}, "actual": "because"},)


@pytest.mark.parametrize(
    ("changes", "score"),
    [
        ({}, 1.0),
        ({"action": "proceed"}, 0.4),
        ({"priority": "low"}, 0.8),
        ({"include_rollback_plan": ...}, 0.8),
    ],
)
def test_the_score_is_the_weighted_share_that_holds(changes, score):
    found = match_score(CONTRACT, output(**changes))
    assert found.score == pytest.approx(score)
    assert found.matched == (not changes)


def test_what_was_missed_is_told_with_its_value_and_without_where_there_is_none():
    found = match_score(CONTRACT, output(priority=None, include_rollback_plan=...))
    assert found.missed == (
        {"path": "/priority", "expected": "high", "actual": None},
        {"path": "/include_rollback_plan", "expected": True},
    )


def test_matchers_hold():
    contract = Contract(
        expected_behavior={
            "action": {"$in": ["escalate_to_owner", "wait"]},
            "priority": {"$not": "low"},
            "note": {"$similar": {"text": "tell the owner", "max_distance": 0.4}},
        }
    )
    assert match_score(contract, output(action="wait", note="Tell the owner now")).matched
    assert not match_score(contract, output(note="nothing")).matched


def test_a_prohibited_output_never_matches():
    contract = Contract(expected_behavior={"priority": "high"}, prohibited=({"x": 1}, {"action": "proceed"}))
    found = match_score(contract, output(action="proceed"))
    assert not found.matched
    assert found.prohibited == (1,)
    assert match_score(contract, AS_EXPECTED).matched


def test_refusals_and_silence_match_nothing_even_where_nothing_was_expected():
    contract = Contract(expected_behavior={"x": {"$exists": False}})
    for silent in (
        EMPTY,
        Observed(output_class="refusal", value="No."),
        Observed(output_class="unparseable", value="{"),
    ):
        assert match_score(contract, silent).matched is False
        assert match_score(contract, silent).score == 0


def test_a_text_is_matched_as_text():
    contract = Contract(
        expected_behavior={"text": {"$contains": "owner"}}, prohibited=({"text": {"$regex": "(?i)proceed"}},)
    )
    assert match_score(contract, text("Tell the owner.")).matched
    assert not match_score(contract, text("Tell the owner, then Proceed.")).matched


def test_what_cannot_be_told_is_not_matched_and_says_why():
    contract = Contract(expected_behavior={"x": {"$regex": "a{200}[ab]{200}c"}})
    found = match_score(contract, Observed(output_class="object", value={"x": "a" * 1_048_577}))
    assert not found.matched
    assert "too long" in found.problem


def test_problems_of_a_contract_name_their_places():
    contract = Contract(
        expected_behavior={"action": {"$inn": ["a"]}, "size": "large"},
        prohibited=({"x": {"$gte": "5"}},),
        decision_fields=("actoin",),
        fields={"/sise": LeafRule(), "/size": LeafRule(kind="scale", levels=("large",))},
    )
    labels = Contract(
        expected_behavior={"a": 1}, decision_labels={"go": ("/(/",), "stop": ("  ",), "wait": ()}
    )
    found = [*contract_problems(contract), *contract_problems(labels)]
    assert [each.path for each in found] == [
        "/expected_behavior/action/$inn",
        "/prohibited/0/x/$gte",
        "/fields/~1sise",
        "/fields/~1size/levels",
        "/decision_fields/0",
        "/decision_labels/go/0/$regex",
        "/decision_labels/stop/0",
        "/decision_labels/wait",
    ]
    assert found[2].hint == 'did you mean "/size"?' or "/size" in found[2].hint
