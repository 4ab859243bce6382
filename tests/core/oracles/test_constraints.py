"""Tracked constraints that a machine can check, and those that wait for a person."""

import pytest

from pipelines.core.oracles.constraint_check import parse_check
from pipelines.core.tasks.seed import TrackedConstraint
from pipelines.core.text.problems import Refused
from pipelines.core.verdict.constraints import constraint_findings
from support.verdict_cases import cancel, get_order, refund, run


def finding(check, *trace, says="Hello.", id="tone"):
    constraint = TrackedConstraint(id=id, description="Stay polite.", check=check)
    (found,) = constraint_findings(run(*trace, says=says, tracked_constraints=(constraint,)))
    return found


CASES = {
    "kept in every turn": ({"responses": {"$regex": "Hello|Bye"}}, ("Hello.", "Bye."), "held"),
    "broken in one turn": (
        {"responses": {"$not": {"$contains": "stupid"}}},
        ("That is stupid.", "Bye."),
        "broken",
    ),
    "the last turn only": ({"final_response": {"$contains": "Bye"}}, ("Hello.", "Bye."), "held"),
    "not in the last turn": ({"final_response": {"$contains": "Hello"}}, ("Hello.", "Bye."), "broken"),
    "a call it needs": ({"calls": {"must": ["get_order"]}}, "Hello.", "held"),
    "a call it forbids": ({"calls": {"must_not": ["get_order"]}}, "Hello.", "broken"),
    "all parts must hold": ({"responses": {"$contains": "H"}, "calls": ["cancel_order"]}, "Hello.", "broken"),
    "silence keeps nothing": ({"responses": {"$regex": "."}}, (), "broken"),
}


@pytest.mark.parametrize(("check", "says", "status"), CASES.values(), ids=CASES)
def test_a_check(check, says, status):
    found = finding(check, get_order(1), says=says)
    assert found.status == status
    assert found.check == "constraint/tone"
    assert "Stay polite." in found.says


def test_a_broken_one_names_turn_and_calls():
    assert (
        "turn 2 should not contain"
        in finding({"responses": {"$not": {"$contains": "no"}}}, says=("a", "no")).says
    )
    assert finding({"calls": {"must_not": ["cancel_order"]}}, refund(1), cancel(2)).evidence == (2,)


@pytest.mark.parametrize(
    ("id", "mode"),
    [("tone", "constraint_violated"), ("answer", "incomplete"), ("refusal_reason", "incorrect_completion")],
)
def test_what_breaking_one_amounts_to(id, mode):
    assert finding({"final_response": "x"}, id=id).failure_mode == mode


def test_without_a_check_it_is_left_open():
    assert finding(None).status == "open"


REFUSALS = {
    "text": ("polite", "/check", "JSON object"),
    "nothing": ({}, "/check", "needs"),
    "unknown": ({"answers": "x"}, "/check/answers", "unknown"),
    "a broken matcher": ({"responses": {"$eq": 1}}, "/check/responses/$eq", "matcher"),
    "broken calls": ({"calls": [5]}, "/check/calls/0", "a number"),
}


@pytest.mark.parametrize(("body", "place", "says"), REFUSALS.values(), ids=REFUSALS)
def test_a_malformed_check_is_refused_where_it_is_wrong(body, place, says):
    with pytest.raises(Refused) as refused:
        parse_check(body)
    assert any(problem.path == place and says in problem.message for problem in refused.value.problems)
