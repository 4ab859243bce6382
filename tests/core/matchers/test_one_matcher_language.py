"""A matcher means the same wherever something is expected: state, calls, constraints and eval scenarios."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.evals.scenarios.contract import Contract, contract_problems
from pipelines.core.evals.scoring.match_score import match_score
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.ledger.ledger import Update
from pipelines.core.matchers.matching import MATCHER_NAMES, check_expectation, matches, with_today
from pipelines.core.tasks.seed import parse_seed
from pipelines.core.text.problems import Refused
from pipelines.core.verdict.constraints import constraint_findings
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.lint.lint import lint_seed
from pipelines.core.verdict.oracles import oracles_of
from pipelines.core.verdict.verdict import Status
from support.verdict_cases import TOOLS, call

NOW = "2026-05-01T12:00:00Z"
SAID = ["$79.50", "79,50 €", "seventy-nine fifty", "tomorrow", "2026-05-02", "Order  SHIPPED", "no", ""]
ASKED = [
    {"$number": 79.5},
    {"$number": {"value": 80, "tolerance": 1}},
    {"$date": "2026-05-02"},
    {"$date": "tomorrow"},
    {"$text": "order shipped"},
    {"$any_of": [{"$number": 79.5}, {"$date": "tomorrow"}]},
    {"$all_of": [{"$regex": "0"}, {"$number": 79.5}]},
    {"$not": {"$number": 79.5}},
    {"$in": ["no", {"$text": "ORDER SHIPPED"}]},
    {"$contains": {"$text": "shipped"}},
]


def by_state(expected, said):
    body = {"initial_state": {"order": {"1": {"note": "old"}}}, "expected_state": {"order.1.note": expected}}
    seed = parse_seed({"user_instruction": "x", **body})
    updates = (Update(entity_type="order", id="1", set={"note": said}),)
    trace = (call(1, "refund_order", updates=updates),)
    evidence = RunEvidence.from_seed(seed, tools=TOOLS, trace=trace, now=NOW)
    return oracles_of(evidence).findings(evidence)[0].status is Status.HELD


def by_calls(expected, said):
    must = [{"tool": "refund_order", "arguments": {"amount": expected}}]
    seed = parse_seed({"user_instruction": "x", "expected_calls": must})
    trace = (call(1, "refund_order", {"amount": said}),)
    evidence = RunEvidence.from_seed(seed, tools=TOOLS, trace=trace, now=NOW)
    return oracles_of(evidence).findings(evidence)[0].status is Status.HELD


def by_constraint(expected, said):
    tracked = [{"id": "answer", "description": "x", "check": {"final_response": expected}}]
    seed = parse_seed({"user_instruction": "x", "tracked_constraints": tracked})
    [finding] = constraint_findings(RunEvidence.from_seed(seed, tools=TOOLS, responses=(said,), now=NOW))
    return finding.status is Status.HELD


def by_scenario(expected, said):
    contract = Contract(expected_behavior={"total": expected}, today=NOW)
    return match_score(contract, Observed(output_class="object", value={"total": said})).matched


@pytest.mark.parametrize("place", [by_state, by_calls, by_constraint, by_scenario])
@pytest.mark.parametrize("expected", ASKED, ids=str)
def test_it_holds_alike_in_all_four_places(place, expected):
    plain = [matches(with_today(expected, NOW), said) for said in SAID]
    assert [place(expected, said) for said in SAID] == plain
    assert True in plain


BROKEN = [
    {"$number": "79.5"},
    {"$number": {"tolerance": 1}},
    {"$number": {"value": 5, "$gte": 1}},
    {"$number": {"value": 5, "decimal": ";"}},
    {"$number": {"value": 5, "tolerance": -1}},
    {"$number": {"valeu": 5}},
    {"$number": True},
    {"$date": "someday"},
    {"$date": "2026-02-30"},
    {"$date": {"day": "2026-05-03", "order": "ymd"}},
    {"$date": {"day": "2026-05-03", "today": "tomorrow"}},
    {"$date": 5},
    {"$text": ""},
    {"$text": 5},
    {"$any_of": []},
    {"$all_of": "a"},
    {"$any_of": [{"$numbre": 5}]},
    {"$not": {"$date": "someday"}},
]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_a_broken_matcher_is_refused_at_upload_in_all_four_places(broken):
    [problem] = check_expectation(broken)
    assert (problem.message.startswith("`$") and problem.hint is not None) or "array" in problem.message
    bodies = [
        {"expected_state": {"order.1.note": broken}},
        {"expected_calls": [{"tool": "refund_order", "arguments": {"amount": broken}}]},
        {"tracked_constraints": [{"id": "answer", "description": "x", "check": {"final_response": broken}}]},
    ]
    for body in bodies:
        try:
            found = lint_seed(parse_seed({"user_instruction": "x", **body}), tools=TOOLS)
        except Refused as refused:
            found = refused.problems
        assert [each for each in found if each.message == problem.message and "/" in each.path]
    found = contract_problems(Contract(expected_behavior={"total": broken}))
    assert [each.path for each in found] == ["/expected_behavior/total" + problem.path]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
KEYS = st.sampled_from([*MATCHER_NAMES, "a", "day", "value"])


def lists_and_objects(inner):
    return st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)


@given(st.recursive(SCALARS, lists_and_objects), st.text(max_size=40))
def test_what_is_well_formed_can_be_matched_with_any_text(expected, said):
    if not check_expectation(expected):
        assert matches(with_today(expected, NOW), said) in (True, False)
