"""Drafts from telemetry: which there are, how sure they are, and what enters an expectation."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.telemetry.decisions import LookStatistics
from pipelines.core.evals.telemetry.drafts import Draft, best_of, draft_parts, units_of_lines
from support.made_lines import line

PRODUCTION = {"event": "deployment_failed", "environment": "production", "data_loss_risk": True}
ESCALATE = {"action": "escalate_to_owner", "priority": "high", "include_rollback_plan": True}


def used(number: int, input: Any = PRODUCTION, outcome: Any = ESCALATE, **more: Any) -> bytes:
    return line(number, input, outcome, **more)


def drafted(lines: list[bytes]) -> list[Draft]:
    return [draft for unit in units_of_lines(lines, LookStatistics()) for draft in unit]


def only(lines: list[bytes]) -> Draft:
    (draft,) = drafted(lines)
    return draft


def expected(draft: Draft) -> Any:
    return draft.scenario["expected_behavior"]


def given_to(draft: Draft) -> Any:
    return draft.scenario["input_context"]


# -- a pattern


@pytest.mark.parametrize(("count", "confidence"), [(3, 0.44), (10, 0.72), (30, 0.89)])
def test_confidence_is_the_lower_bound_of_wilson(count: int, confidence: float):
    draft = only([used(number) for number in range(1, count + 1)])
    assert (draft.kind, draft.k, draft.n) == ("recurring", count, count)
    assert round(draft.confidence, 2) == confidence
    assert given_to(draft) == PRODUCTION
    assert expected(draft) == ESCALATE


def test_two_spans_are_no_pattern():
    assert drafted([used(1), used(2)]) == []


def test_eight_of_ten_recur_and_the_two_others_are_an_exception_without_an_expectation():
    lines = [used(number, outcome=ESCALATE if number > 2 else {"action": "retry"}) for number in range(1, 11)]
    usual, exception = drafted(lines)
    assert (usual.kind, usual.k, usual.n, round(usual.confidence, 2)) == ("recurring", 8, 10, 0.49)
    assert expected(usual) == ESCALATE
    assert [count for _, count in usual.outcomes] == [8, 2]
    assert (exception.kind, exception.k, exception.n) == ("edge_case", 2, 10)
    assert expected(exception) == {}
    assert {span for _, span in exception.sources} == {f"{1:016x}", f"{2:016x}"}


def test_what_nothing_separates_is_left_open():
    lines = [used(n, outcome={"action": "approve" if n % 3 else "escalate"}) for n in range(1, 31)]
    draft = only(lines)
    assert (draft.kind, draft.k, draft.n) == ("decision_point", 20, 30)
    assert expected(draft) == {}
    assert draft.outcomes == (({"action": "approve"}, 20), ({"action": "escalate"}, 10))
    assert "expected_behavior is empty" in str(draft.scenario["description"])
    assert len({int(span, 16) % 3 == 0 for _, span in draft.sources}) == 2  # spans of both


def test_options_below_a_fifth_make_no_decision_point():
    actions = ["a"] * 7 + ["b"] + ["c"] + ["d"]
    assert (
        drafted([used(number, outcome={"action": action}) for number, action in enumerate(actions, 1)]) == []
    )


def test_ids_amounts_and_free_text_do_not_tell_inputs_apart_and_are_not_expected():
    lines = [
        used(
            n,
            {"order_id": f"ORD-{n}", "amount": n * 7.5, "note": f"Case {n}, please", "vip": True},
            {"action": "refund", "ticket": f"T-{n}", "took_ms": n * 11, "message": f"Done with {n}."},
        )
        for n in range(1, 31)
    ]
    draft = only(lines)
    assert (draft.kind, draft.k, draft.n) == ("recurring", 30, 30)
    assert expected(draft) == {"action": "refund"}
    assert draft.shape == {}


def test_failed_uses_count_as_errors_and_not_as_outcomes():
    lines = [used(1), used(2), used(3), used(4, status="error"), used(5, outcome=None, status="error")]
    draft = only(lines)
    assert (draft.k, draft.n, draft.uses, draft.errors) == (3, 3, 5, 2)
    assert "2 more decisions with this kind of input failed" in draft.notes


# -- a decision point


def test_a_category_that_decides_makes_a_case_for_each_side():
    lines = [
        used(
            n, {"environment": "production" if n % 2 else "staging"}, {"action": "page" if n % 2 else "wait"}
        )
        for n in range(1, 21)
    ]
    found = {(d.kind, given_to(d)["environment"], expected(d)["action"]) for d in drafted(lines)}
    assert found == {("recurring", "production", "page"), ("recurring", "staging", "wait")}


def test_a_threshold_makes_a_case_on_each_side_of_it_with_what_was_seen():
    lines = [
        used(n, {"amount": n}, {"decision": "approve" if n <= 50 else "escalate"}) for n in range(1, 101)
    ]
    below, above, *typical = drafted(lines)
    assert [(d.kind, given_to(d)["amount"], expected(d)["decision"]) for d in (below, above)] == [
        ("decision_point", 50, "approve"),
        ("decision_point", 51, "escalate"),
    ]
    assert [draft.shape for draft in (below, above)] == [
        {"/amount": {"at_most": 50.0}},
        {"/amount": {"at_least": 51.0}},
    ]
    assert any("decision depends on amount (up to 50, from 51 on" in note for note in below.notes)
    assert [(d.kind, given_to(d)["amount"]) for d in typical] == [("recurring", 26), ("recurring", 76)]


def test_a_condition_that_makes_no_difference_is_dropped_whatever_was_divided_first():
    chance = random.Random(1)

    def decided(told: Any) -> str:
        return "vendor" if told["model"] == "cam" else ("update" if told["age"] > 180 else "enroll")

    models = ("cam", "hub", "edge", "box", "rack", "pole")
    inputs = [{"model": chance.choice(models), "age": chance.randrange(400)} for _ in range(300)]
    drafts = drafted([used(n, told, {"action": decided(told)}) for n, told in enumerate(inputs, 1)])
    assert all(expected(draft) == {"action": decided(given_to(draft))} for draft in drafts)
    assert "age" in str(drafts[0].notes[1])  # divides more decisions, and so comes first
    (vendor,) = [draft for draft in drafts if expected(draft) == {"action": "vendor"}]
    assert vendor.shape == {"/model": {"in": ["cam"]}}


def test_the_sides_of_a_border_differ_in_what_decides_there_alone():
    chance = random.Random(2)
    inputs = [{"bar": n, "mode": chance.choice(("auto", "manual"))} for n in range(200)]
    lines = [
        used(n, told, {"action": "close" if told["bar"] > 120 and told["mode"] == "auto" else "keep"})
        for n, told in enumerate(inputs, 1)
    ]
    below, above = (draft for draft in drafted(lines) if draft.kind == "decision_point")
    assert (expected(below), expected(above)) == ({"action": "keep"}, {"action": "close"})
    autos = [told["bar"] for told in inputs if told["mode"] == "auto"]
    assert given_to(below) == {"bar": max(bar for bar in autos if bar <= 120), "mode": "auto"}
    assert given_to(above) == {"bar": min(bar for bar in autos if bar > 120), "mode": "auto"}


def test_values_of_one_field_are_one_condition():
    chance = random.Random(3)
    wards = {"rash": "skin", "cough": "lungs", "fracture": "surgery", "headache": "nerves"}
    told = [chance.choice([*wards]) for _ in range(160)]
    lines = [used(n, {"symptom": one}, {"ward": wards[one]}) for n, one in enumerate(told, 1)]
    found = [(draft.shape, expected(draft)) for draft in drafted(lines)]
    assert len(found) == 4
    assert all(({"/symptom": {"in": [one]}}, {"ward": ward}) in found for one, ward in wards.items())


def test_a_field_that_varies_by_itself_is_neither_a_decision_nor_expected():
    chance = random.Random(2)
    lines = [
        used(
            n,
            {"severity": s},
            {"queue": "on_call" if s == "high" else "desk", "cached": chance.random() < 0.5},
        )
        for n, s in enumerate((chance.choice(("low", "high")) for _ in range(80)), 1)
    ]
    assert {expected(draft)["queue"] for draft in drafted(lines)} == {"on_call", "desk"}
    assert not any("cached" in expected(draft) for draft in drafted(lines))
    assert all("not settled here, so not expected: cached" in draft.notes for draft in drafted(lines))


def test_a_field_that_repeats_the_input_decides_nothing():
    chance = random.Random(3)
    lines = [
        used(
            n, {"region": (r := chance.choice("abc"))}, {"region": r, "queue": chance.choice(("one", "two"))}
        )
        for n in range(1, 101)
    ]
    assert [draft.kind for draft in drafted(lines)] == ["decision_point"]
    assert expected(drafted(lines)[0]) == {}


def test_another_field_that_separates_as_well_is_named():
    lines = [
        used(n, {"amount": n, "cents": n * 100}, {"decision": "yes" if n < 30 else "no"})
        for n in range(1, 61)
    ]
    assert any(note.endswith("; cents separates about as well") for note in drafted(lines)[0].notes)


# -- what is rare


def test_a_rare_input_that_ended_like_others_is_an_edge_case():
    usual = [used(n, {"channel": "mail" if n % 2 else "chat"}, {"action": "send"}) for n in range(1, 99)]
    rare = [used(n, {"channel": "fax"}, {"action": "send"}) for n in (99, 100, 101)]
    failed = used(102, {"channel": "pigeon"}, {"action": "crash"}, status="error")
    drafts = {draft.kind: draft for draft in drafted([*usual, *rare, failed])}
    assert set(drafts) == {"recurring", "edge_case"}
    edge = drafts["edge_case"]
    assert (edge.k, edge.n, round(edge.confidence, 2)) == (3, 3, 0.44)
    assert (given_to(edge), expected(edge)) == ({"channel": "fax"}, {"action": "send"})


def test_inputs_that_are_equally_frequent_are_not_rare():
    lines = [used(number, {"region": f"r{'abcdefghij'[number % 10]}"}) for number in range(1, 201)]
    assert {draft.kind for draft in drafted(lines)} == {"recurring"}


# -- what is expected


def test_only_what_all_have_in_common_is_expected():
    outcomes = [ESCALATE, ESCALATE | {"extra": "x"}, {**ESCALATE, "priority": "high"}]
    draft = only([used(number, outcome=outcome) for number, outcome in enumerate(outcomes, 1)])
    assert expected(draft) == ESCALATE


def test_a_number_is_not_a_flag():
    lines = [used(n, outcome={"action": "x", "done": True if n % 2 else 1}) for n in range(1, 5)]
    assert expected(only(lines)) == {"action": "x"}


def test_masked_values_are_never_expected_and_said_where_they_stand_in_the_input():
    masked = "[email:1f3a9c02]"
    lines = [used(n, {"to": masked, "vip": True}, {"action": "send", "sent_to": masked}) for n in range(1, 6)]
    draft = only(lines)
    assert expected(draft) == {"action": "send"}
    assert any("masked" in note for note in draft.notes)


def test_outcomes_that_are_no_objects_stand_under_a_name():
    draft = only([used(number, "refund please", "approved") for number in range(1, 4)])
    assert given_to(draft) == {"input": "refund please"}
    assert expected(draft) == {"result": "approved"}


def test_outcomes_that_cannot_be_compared_give_no_draft_and_that_is_counted():
    looked = LookStatistics()
    lines = [used(number, outcome={"text": f"Answer number {number}."}) for number in range(1, 6)]
    assert units_of_lines([*lines, used(9, outcome=None), used(10, input=None)], looked) == []
    told = looked.as_json()
    assert told["spans"] == 7
    assert told["left_out"] == {
        "tool_replies": 0,
        "retries": 0,
        "spans_without_input": 1,
        "spans_without_outcome": 1,
        "shapes_without_a_constant_outcome_field": 1,
        "shapes_with_too_large_an_input": 0,
        "decided_before": 0,
    }


def test_a_key_that_would_be_a_matcher_is_left_out():
    assert expected(only([used(n, outcome={"action": "x", "$in": ["a"]}) for n in range(1, 4)])) == {
        "action": "x"
    }


# -- which are named, and how


def test_sources_are_named_up_to_a_bound_the_newest_first_and_counted():
    told = only([used(number) for number in range(1, 101)]).as_json()
    assert told["source_span_count"] == 100
    assert len(told["source_spans"]) == 20
    assert told["source_spans"][0] == {"trace_id": f"{100:032x}", "span_id": f"{100:016x}"}


def test_a_second_look_finds_the_same_ids_also_with_more_of_the_same():
    def lines(*numbers: int) -> list[bytes]:
        return [used(n, {"order": f"O-{n}", "amount": n % 97}, {"action": str(n % 97 > 40)}) for n in numbers]

    first, second = drafted(lines(*range(1, 90, 3))), drafted(lines(*range(1, 300)))
    assert [draft.id for draft in first] == [draft.id for draft in second]
    assert first[1].shape != second[1].shape  # the place of the border moved
    assert all(draft.id.startswith("drf_") and len(draft.id) == 28 for draft in first)


def test_decided_drafts_leave_room_for_others():
    lines = [used(n, skill=f"skill {n % 3}") for n in range(1, 31)]
    body = b"\n".join(lines)
    *first, looked = [json.loads(part) for part in draft_parts(body, most=1, without=frozenset())]
    assert len(first) == 1
    assert looked["found"] == 3
    decided = frozenset({first[0]["id"]})
    *second, looked = [json.loads(part) for part in draft_parts(body, most=5, without=decided)]
    assert len(second) == 2
    assert looked["left_out"]["decided_before"] == 1
    assert first[0]["id"] not in {draft["id"] for draft in second}


def test_the_best_are_of_every_kind_and_of_every_skill():
    usual = [used(n, skill="a") for n in range(1, 200)] + [used(n, skill="b") for n in range(200, 300)]
    choice = [used(n, outcome={"action": "x" if n % 2 else "y"}, skill="c") for n in range(300, 320)]
    odd = [used(400, outcome={"action": "z"}, skill="a")]
    found = best_of(units_of_lines([*usual, *choice, *odd], LookStatistics()), 4)
    assert [(draft.kind, draft.skill) for draft in found] == [
        ("recurring", "a"),
        ("decision_point", "c"),
        ("edge_case", "a"),
        ("recurring", "b"),
    ]


# -- properties

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", "some text", "$x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=5,
)
USES = st.lists(
    st.tuples(VALUES, VALUES, st.sampled_from(["ok", "unset", "error"]), st.sampled_from("st")), max_size=30
)


@given(uses=USES)
@settings(max_examples=100, deadline=None)
def test_whatever_was_seen_drafts_keep_their_promises(uses: list[Any]):
    lines = [
        line(n, told, out, status=status, skill=skill) for n, (told, out, status, skill) in enumerate(uses, 1)
    ]
    drafts = drafted(lines)
    assert len({draft.id for draft in drafts}) == len(drafts)
    seen = {
        skill: [u for u in uses if u[3] == skill and u[2] != "error" and u[1] is not None] for skill in "st"
    }
    for draft in drafts:
        assert 0 <= draft.confidence <= 1
        assert 1 <= draft.k <= draft.n <= draft.uses
        holding = sum(_holds(expected(draft), use[1]) for use in seen[draft.skill])
        assert holding >= draft.k or not expected(draft)
        assert draft.kind != "recurring" or (draft.n >= 3 and draft.k >= 0.8 * draft.n and expected(draft))
    shuffled = random.Random(len(uses)).sample(lines, len(lines))
    assert [d.as_json() for d in drafted(shuffled)] == [d.as_json() for d in drafts]


def _holds(wanted: Any, outcome: Any) -> bool:
    outcome = outcome if isinstance(outcome, dict) and outcome else {"result": outcome}
    return all(
        key in outcome
        and (
            _holds(value, outcome[key])
            if isinstance(value, dict) and value and isinstance(outcome[key], dict)
            else json.dumps(outcome[key]) == json.dumps(value)
        )
        for key, value in wanted.items()
    )
