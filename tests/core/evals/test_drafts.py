"""Drafts from telemetry: the three kinds, how sure they are, and what enters an expectation."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.drafts import Draft, Looked, best_of, draft_parts, drafts_of

PRODUCTION = {"event": "deployment_failed", "environment": "production", "data_loss_risk": True}
ESCALATE = {"action": "escalate_to_owner", "priority": "high", "include_rollback_plan": True}


def line(
    number: int,
    input: Any = PRODUCTION,
    outcome: Any = ESCALATE,
    *,
    skill: str = "triage",
    status: str = "ok",
) -> bytes:
    return json.dumps([skill, status, f"{number:032x}", f"{number:016x}", input, outcome]).encode()


def drafted(lines: list[bytes]) -> list[Draft]:
    return drafts_of(lines, Looked())


def only(lines: list[bytes]) -> Draft:
    (draft,) = drafted(lines)
    return draft


@pytest.mark.parametrize(("count", "confidence"), [(3, 0.44), (10, 0.72), (30, 0.89)])
def test_confidence_is_the_lower_bound_of_wilson(count: int, confidence: float):
    draft = only([line(number) for number in range(1, count + 1)])
    assert (draft.kind, draft.k, draft.n) == ("recurring", count, count)
    assert round(draft.confidence, 2) == confidence
    assert draft.scenario["input_context"] == PRODUCTION
    assert draft.scenario["expected_behavior"] == ESCALATE


def test_two_spans_are_no_pattern():
    assert drafted([line(1), line(2)]) == []


def test_eight_of_ten_recur_and_say_how_often():
    lines = [line(number, outcome=ESCALATE if number > 2 else {"action": "retry"}) for number in range(1, 11)]
    draft = only(lines)
    assert (draft.kind, draft.k, draft.n, round(draft.confidence, 2)) == ("recurring", 8, 10, 0.49)
    assert draft.scenario["expected_behavior"] == ESCALATE
    assert [count for _, count in draft.outcomes] == [8, 2]


def test_a_decision_point_expects_the_commonest_of_its_options():
    lines = [
        line(number, outcome={"action": "approve" if number % 3 else "escalate"}) for number in range(1, 31)
    ]
    draft = only(lines)
    assert (draft.kind, draft.k, draft.n) == ("decision_point", 20, 30)
    assert draft.scenario["expected_behavior"] == {"action": "approve"}
    assert draft.outcomes == (({"action": "approve"}, 20), ({"action": "escalate"}, 10))


def test_options_below_a_fifth_make_no_decision_point():
    actions = ["a"] * 7 + ["b"] + ["c"] + ["d"]
    lines = [line(number, outcome={"action": action}) for number, action in enumerate(actions, 1)]
    assert drafted(lines) == []


def test_an_input_that_tells_the_outcome_makes_two_patterns_and_no_decision_point():
    lines = [
        line(
            number,
            {"environment": "production" if number % 2 else "staging"},
            {"action": "escalate" if number % 2 else "retry"},
        )
        for number in range(1, 21)
    ]
    assert {
        (
            draft.kind,
            draft.scenario["input_context"]["environment"],
            draft.scenario["expected_behavior"]["action"],
        )
        for draft in drafted(lines)
    } == {("recurring", "production", "escalate"), ("recurring", "staging", "retry")}


def test_ids_amounts_and_free_text_do_not_tell_inputs_apart_and_are_not_expected():
    lines = [
        line(
            number,
            {
                "order_id": f"ORD-{number}",
                "amount": number * 7.5,
                "note": f"Case {number}, please",
                "vip": True,
            },
            {
                "action": "refund",
                "ticket": f"T-{number}",
                "took_ms": number * 11,
                "message": f"Done with {number}.",
            },
        )
        for number in range(1, 31)
    ]
    draft = only(lines)
    assert (draft.kind, draft.k, draft.n) == ("recurring", 30, 30)
    assert draft.scenario["expected_behavior"] == {"action": "refund"}
    assert draft.shape == {
        "/amount": {"type": "number"},
        "/note": {"type": "text"},
        "/order_id": {"type": "text"},
        "/vip": {"value": True},
    }


def test_a_rare_input_that_ended_well_is_an_edge_case():
    usual = [line(number) for number in range(1, 99)]
    rare = line(99, PRODUCTION | {"environment": "sandbox"}, {"action": "proceed"})
    failed = line(100, PRODUCTION | {"environment": "lab"}, {"action": "crash"}, status="error")
    drafts = {draft.kind: draft for draft in drafted([*usual, rare, failed])}
    assert set(drafts) == {"recurring", "edge_case"}
    edge = drafts["edge_case"]
    assert (edge.k, edge.n, round(edge.confidence, 2)) == (1, 1, 0.21)
    assert edge.scenario["input_context"]["environment"] == "sandbox"
    assert edge.scenario["expected_behavior"] == {"action": "proceed"}


def test_inputs_that_are_equally_frequent_are_not_rare():
    lines = [line(number, {"region": f"r{'abcdefghij'[number % 10]}"}) for number in range(1, 201)]
    assert {draft.kind for draft in drafted(lines)} == {"recurring"}


def test_failed_uses_count_as_errors_and_not_as_outcomes():
    draft = only([line(1), line(2), line(3), line(4, status="error"), line(5, outcome=None, status="error")])
    assert (draft.k, draft.n, draft.uses, draft.errors) == (3, 3, 5, 2)
    assert "2 of 5 uses with this kind of input failed" in draft.notes


def test_only_what_all_have_in_common_is_expected():
    outcomes = [ESCALATE, ESCALATE | {"extra": "x"}, {**ESCALATE, "priority": "high"}]
    draft = only([line(number, outcome=outcome) for number, outcome in enumerate(outcomes, 1)])
    assert draft.scenario["expected_behavior"] == ESCALATE


def test_a_number_is_not_a_flag():
    lines = [
        line(number, outcome={"action": "x", "done": True if number % 2 else 1}) for number in range(1, 4)
    ]
    assert only(lines).scenario["expected_behavior"] == {"action": "x"}


def test_masked_values_are_never_expected_and_said_where_they_stand_in_the_input():
    masked = "[email:1f3a9c02]"
    draft = only(
        [line(n, {"to": masked, "vip": True}, {"action": "send", "sent_to": masked}) for n in range(1, 6)]
    )
    assert draft.scenario["expected_behavior"] == {"action": "send"}
    assert any("masked" in note for note in draft.notes)


def test_outcomes_that_are_no_objects_stand_under_a_name():
    draft = only([line(number, "refund please", "approved") for number in range(1, 4)])
    assert draft.scenario["input_context"] == {"input": "refund please"}
    assert draft.scenario["expected_behavior"] == {"result": "approved"}


def test_outcomes_without_a_constant_field_give_no_draft_and_that_is_counted():
    looked = Looked()
    lines = [line(number, outcome={"text": f"Answer number {number}."}) for number in range(1, 6)]
    assert drafts_of([*lines, line(9, outcome=None), line(10, input=None)], looked) == []
    told = looked.as_json()
    assert told["spans"] == 7
    assert told["left_out"]["shapes_without_a_constant_outcome_field"] == 1
    assert told["left_out"]["spans_without_outcome"] == 1
    assert told["left_out"]["spans_without_input"] == 1


def test_a_key_that_would_be_a_matcher_is_left_out():
    draft = only([line(n, outcome={"action": "x", "$in": ["a"]}) for n in range(1, 4)])
    assert draft.scenario["expected_behavior"] == {"action": "x"}


def test_sources_are_named_up_to_a_bound_and_counted():
    told = only([line(number) for number in range(1, 101)]).as_json()
    assert told["source_span_count"] == 100
    assert len(told["source_spans"]) == 20
    assert told["source_spans"][0] == {"trace_id": f"{1:032x}", "span_id": f"{1:016x}"}


def test_a_second_look_finds_the_same_ids_also_with_more_of_the_same():
    lines = [line(number, PRODUCTION | {"order": f"O-{number}"}) for number in range(1, 31)]
    shuffled = [*lines, line(99, PRODUCTION | {"order": "O-99"})]
    random.Random(4).shuffle(shuffled)
    assert only(lines).id == only(shuffled).id
    assert only(lines).id.startswith("drf_")
    assert len(only(lines).id) == 28


def test_decided_drafts_leave_room_for_others():
    lines = [line(n, skill=f"skill {n % 3}") for n in range(1, 31)]
    *first, looked = [
        json.loads(part) for part in draft_parts(b"\n".join(lines), most=1, without=frozenset())
    ]
    assert len(first) == 1
    assert looked["found"] == 3
    *second, looked = [
        json.loads(part)
        for part in draft_parts(b"\n".join(lines), most=5, without=frozenset({first[0]["id"]}))
    ]
    assert len(second) == 2
    assert looked["left_out"]["decided_before"] == 1
    assert first[0]["id"] not in {draft["id"] for draft in second}


def test_the_best_are_of_every_kind():
    usual = [line(n, skill="a") for n in range(1, 200)] + [line(n, skill="b") for n in range(200, 300)]
    choice = [line(n, outcome={"action": "x" if n % 2 else "y"}, skill="c") for n in range(300, 320)]
    rare = [line(400, PRODUCTION | {"event": "odd"}, {"action": "z"}, skill="a")]
    drafts = drafted([*usual, *choice, *rare])
    assert [draft.kind for draft in best_of(drafts, 3)] == ["recurring", "decision_point", "edge_case"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", "some text", "$x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=5,
)


@given(
    uses=st.lists(
        st.tuples(VALUES, VALUES, st.sampled_from(["ok", "unset", "error"]), st.sampled_from("st")),
        max_size=30,
    )
)
@settings(max_examples=100, deadline=None)
def test_whatever_was_seen_drafts_keep_their_promises(uses: list[Any]):
    lines = [
        line(n, input, outcome, status=status, skill=skill)
        for n, (input, outcome, status, skill) in enumerate(uses, 1)
    ]
    drafts = drafted(lines)
    assert len({draft.id for draft in drafts}) == len(drafts)
    seen = {
        skill: [u for u in uses if u[3] == skill and u[2] != "error" and u[1] is not None] for skill in "st"
    }
    for draft in drafts:
        assert 0 <= draft.confidence <= 1
        assert 1 <= draft.k <= draft.n <= draft.uses
        assert draft.scenario["expected_behavior"]
        assert sum(_holds(draft.scenario["expected_behavior"], u[1]) for u in seen[draft.skill]) >= draft.k
        assert draft.kind != "recurring" or (draft.n >= 3 and draft.k >= 0.8 * draft.n)
    assert sorted(d.id for d in drafted(lines)) == sorted(d.id for d in drafts)


def _holds(expected: Any, outcome: Any) -> bool:
    outcome = outcome if isinstance(outcome, dict) and outcome else {"result": outcome}
    return all(
        key in outcome
        and (
            _holds(value, outcome[key])
            if isinstance(value, dict) and value and isinstance(outcome[key], dict)
            else json.dumps(outcome[key]) == json.dumps(value)
        )
        for key, value in expected.items()
    )
