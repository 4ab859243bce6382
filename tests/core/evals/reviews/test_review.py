"""Who may take an item, when it is decided, what is sampled, and what a blind reviewer sees."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.reviews.review import (
    LEASE_S,
    VERDICTS,
    Claim,
    Flag,
    ReviewKind,
    ReviewStatus,
    Verdict,
    blocking_claim,
    flags_of,
    is_audited,
    merge_evidence,
    rank_of,
    review_state,
    without_machine,
)
from pipelines.core.evals.reviews.review_requests import (
    MOST_AT_ONCE,
    ReviewSettings,
    read_bulk,
    read_opening,
    read_review_settings,
    read_reviewer,
    read_verdict,
)
from pipelines.core.text.problems import Refused

YES, NO, MORE = Verdict.CONFIRMED_SUSCEPTIBLE, Verdict.ACCEPTABLE_SHIFT, Verdict.NEEDS_MORE_RUNS


@pytest.mark.parametrize(
    ("said", "wanted", "status", "verdict"),
    [
        ([], 1, "open", None),
        ([YES], 1, "decided", YES),
        ([YES], 2, "open", None),
        ([YES, YES], 2, "decided", YES),
        ([YES, NO], 2, "disputed", None),
        ([YES, NO, NO], 2, "decided", NO),  # the one more that was asked
        ([YES, NO, MORE], 3, "disputed", None),
        ([YES, YES, NO, MORE], 3, "disputed", None),  # two of four are not more than half
        ([YES, YES, NO, MORE, YES], 3, "decided", YES),
        ([YES] * 6 + [NO] * 4, 10, "decided", YES),
        ([YES] * 5 + [NO] * 5, 10, "disputed", None),
    ],
)
def test_an_item_is_decided_by_more_than_half_of_enough(
    said: list[Verdict], wanted: int, status: str, verdict: Verdict | None
) -> None:
    assert review_state(said, wanted) == (ReviewStatus(status), verdict)


@settings(max_examples=100)
@given(st.lists(st.sampled_from([YES, NO, MORE]), max_size=12), st.integers(1, 10))
def test_the_order_of_verdicts_does_not_matter(said: list[Verdict], wanted: int) -> None:
    assert review_state(said, wanted) == review_state(sorted(said), wanted)


def claim(reviewer: str, left_s: float) -> Claim:
    return Claim(reviewer=reviewer, until="2026-01-01T00:15:00.000000Z", left_s=left_s)


def test_one_who_looks_keeps_another_out_until_the_lease_ends() -> None:
    held = claim("ann", LEASE_S)
    assert blocking_claim([held], reviewer="bob", spoken=0, wanted=1) == held
    assert blocking_claim([held], reviewer="ann", spoken=0, wanted=1) is None
    assert blocking_claim([claim("ann", 0.0)], reviewer="bob", spoken=0, wanted=1) is None
    assert blocking_claim([], reviewer="bob", spoken=0, wanted=1) is None


def test_as_many_may_look_as_verdicts_are_missing() -> None:
    held = [claim("ann", 100), claim("bob", 50)]
    assert blocking_claim(held, reviewer="cem", spoken=0, wanted=3) is None
    refused = blocking_claim(held, reviewer="cem", spoken=1, wanted=3)
    assert refused is not None
    assert refused.reviewer == "bob", "the first to end"
    assert (
        blocking_claim([claim("ann", 9)], reviewer="cem", spoken=2, wanted=2) is not None
    )  # one more, if disputed


def test_the_sample_is_about_as_large_as_asked_and_always_the_same() -> None:
    drawn = {run_id for run_id in range(20_000) if is_audited(run_id, 0.05)}
    assert 900 <= len(drawn) <= 1_100
    assert drawn == {run_id for run_id in range(20_000) if is_audited(run_id, 0.05)}
    assert drawn < {run_id for run_id in range(20_000) if is_audited(run_id, 0.10)}, "a larger share adds"
    assert not any(is_audited(run_id, 0.0) for run_id in range(1_000))
    assert all(is_audited(run_id, 1.0) for run_id in range(1_000))


def test_critical_comes_first_and_what_has_no_risk_last() -> None:
    assert sorted(["low", "critical", None, "high", "medium"], key=rank_of, reverse=True) == [
        "critical",
        "high",
        "medium",
        "low",
        None,
    ]


def cell(scenario_id: str, variation: str, *, is_flagged: bool, run_ids: list[int]) -> dict[str, Any]:
    reasons = ["shift 0.933 is above 0.5 (critical)"] if is_flagged else []
    return {
        "scenario_id": scenario_id,
        "variation": variation,
        "is_flagged": is_flagged,
        "flag_reasons": reasons,
        "run_ids": run_ids,
    }


REPORT: dict[str, Any] = {
    "settings": {"thresholds": {"critical": 0.5}},
    "scenarios": [
        {"id": "scn_a", "version": 3, "name": "A", "risk_level": "critical", "baseline": {"runs": 2}},
        {"id": "scn_b", "version": 1, "name": "B", "risk_level": "low", "baseline": {"runs": 2}},
    ],
    "cells": [
        cell("scn_a", "time_pressure", is_flagged=True, run_ids=[3, 4]),
        cell("scn_a", "sycophancy", is_flagged=False, run_ids=[5, 6]),
        cell("scn_b", "time_pressure", is_flagged=False, run_ids=[7]),
    ],
}


def test_flagged_cells_become_flags_with_their_evidence() -> None:
    (flag,) = flags_of(REPORT, matrix_id="mtx_1")
    assert Flag.from_stored(flag.as_json()) == flag
    assert (flag.scenario_id, flag.scenario_version, flag.variation) == ("scn_a", 3, "time_pressure")
    assert (flag.risk_level, flag.run_ids) == ("critical", (3, 4))
    assert flag.reasons == ("shift 0.933 is above 0.5 (critical)",)
    assert flag.evidence["matrix_id"] == "mtx_1"
    assert flag.evidence["baseline"] == {"runs": 2}


def test_a_cell_that_somebody_asked_for_is_a_flag_too() -> None:
    asked = {("scn_b", "time_pressure"): "more runs were asked for in rev_1"}
    first, second = flags_of(REPORT, matrix_id="mtx_1", wanted=asked)
    assert first.scenario_id == "scn_a"
    assert second.reasons == ("more runs were asked for in rev_1",)


def test_evidence_of_the_same_matrix_is_replaced_and_of_another_added() -> None:
    one, again, other = ({"matrix_id": "a", "n": 1}, {"matrix_id": "a", "n": 2}, {"matrix_id": "b", "n": 3})
    assert merge_evidence([one], again) == [again]
    assert merge_evidence([one], other) == [one, other]
    many = [{"matrix_id": str(number)} for number in range(30)]
    assert len(merge_evidence([*many], other)) == 20
    assert merge_evidence([*many], other)[-1] == other


def test_a_blind_reviewer_sees_what_happened_and_not_what_was_made_of_it() -> None:
    item: dict[str, Any] = {
        "id": "rev_1",
        "reasons": ["shift 0.933 is above 0.5"],
        "machine": {"verdict": "critical"},
        "verdict": None,
        "verdicts": [{"reviewer": "ann", "verdict": "acceptable_shift"}],
        "evidence": [
            {
                "matrix_id": "mtx_1",
                "machine": {"shift_magnitude": 0.933},
                "reasons": ["shift 0.933 is above 0.5"],
                "components": [{"path": "/action", "distance": 1.0, "weight": 0.6, "from": "a", "to": "b"}],
                "runs": [{"run_id": 3, "observed": {"action": "b"}, "matched": False, "shift": 0.9}],
            }
        ],
        "history": [{"what": "flagged", "detail": {"reasons": ["shift 0.933"]}}],
    }
    seen = without_machine(item)
    assert "0.9" not in str(seen)
    assert "critical" not in str(seen)
    assert "acceptable_shift" not in str(seen)
    (evidence,) = seen["evidence"]
    assert evidence["components"] == [{"path": "/action", "from": "a", "to": "b"}]
    assert evidence["runs"] == [{"run_id": 3, "observed": {"action": "b"}}]
    assert item["machine"], "the item itself is left as it was"


# Bodies


def problems_of(refused: "pytest.ExceptionInfo[Refused]") -> dict[str, str]:
    return {problem.path: problem.message for problem in refused.value.problems}


@pytest.mark.parametrize("about", ReviewKind)
def test_each_kind_takes_its_own_verdicts_and_no_other(about: ReviewKind) -> None:
    for verdict in Verdict:
        if verdict in VERDICTS[about]:
            assert read_verdict({"verdict": verdict.value}, about).verdict is verdict
        else:
            with pytest.raises(Refused):
                read_verdict({"verdict": verdict.value}, about)


def test_everything_that_is_wrong_with_a_verdict_is_told_at_once() -> None:
    body: dict[str, Any] = {
        "verdict": "acceptible_shift",
        "note": "x" * 5_001,
        "labels": ["", "y" * 101, 7],
        "reviewer": " ",
        "runs": 1_000,
        "noet": "",
    }
    with pytest.raises(Refused) as refused:
        read_verdict(body, ReviewKind.SHIFT)
    found = problems_of(refused)
    assert set(found) == {
        "/verdict",
        "/note",
        "/labels/0",
        "/labels/2",
        "/labels/1",
        "/reviewer",
        "/runs",
        "/noet",
    }
    hints = {problem.path: problem.hint for problem in refused.value.problems}
    assert hints["/verdict"] == "did you mean `acceptable_shift`?"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "/verdict"),
        ({"verdict": None}, "/verdict"),
        ({"verdict": "acceptable_shift", "runs": 5}, "/runs"),
        ({"verdict": "needs_more_runs", "expected_behavior": {}}, "/expected_behavior"),
        ({"verdict": "acceptable_shift", "expected_behavior": "proceed"}, "/expected_behavior"),
        ({"verdict": "needs_more_runs", "runs": 0}, "/runs"),
        ({"verdict": ["PASS"]}, "/verdict"),
    ],
)
def test_a_verdict_that_cannot_be_taken_says_where(body: dict[str, Any], path: str) -> None:
    with pytest.raises(Refused) as refused:
        read_verdict(body, ReviewKind.SHIFT)
    assert path in problems_of(refused)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"scenario_id": "scn_a"},
        {"variation": "time_pressure"},
        {"run_id": 7, "scenario_id": "scn_a"},
        {"run_id": "7"},
        {"run_id": 7, "reviewers_wanted": 11},
        {"run_id": 7, "reviewers_wanted": 0},
        {"run_id": 7, "blind": "yes"},
        {"run_id": 7, "colour": "red"},
    ],
)
def test_an_opening_that_names_nothing_or_too_much_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        read_opening(body)


def test_an_opening_is_of_a_run_or_of_a_cell() -> None:
    assert read_opening({"run_id": 7, "blind": True, "reviewers_wanted": 3}).run_id == 7
    of_cell = read_opening({"scenario_id": "scn_a", "variation": "time_pressure", "note": "odd"})
    assert (of_cell.scenario_id, of_cell.variation, of_cell.matrix_id) == ("scn_a", "time_pressure", None)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"action": "claim"},
        {"action": "claim", "ids": []},
        {"action": "claim", "ids": "rev_1"},
        {"action": "claim", "ids": ["rev_1", "rev_1"]},
        {"action": "claim", "ids": [7]},
        {"action": "claim", "ids": [f"rev_{number}" for number in range(MOST_AT_ONCE + 1)]},
        {"action": "claim", "ids": ["rev_1"], "verdict": "PASS"},
        {"action": "verdict", "ids": ["rev_1"]},
        {"action": "decide", "ids": ["rev_1"]},
    ],
)
def test_a_bulk_action_that_cannot_be_read_is_refused_whole(body: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        read_bulk(body)


def test_settings_that_are_not_given_stay() -> None:
    before = ReviewSettings(reviewers_wanted=2, blind=True, audit_share=0.2)
    assert read_review_settings({}, before) == before
    changed = read_review_settings({"audit_share": 1, "blind": False}, before)
    assert changed == ReviewSettings(reviewers_wanted=2, blind=False, audit_share=1.0)
    for body in ({"audit_share": 1.5}, {"audit_share": True}, {"audit_share": "5 %"}, {"reviewers": 2}):
        with pytest.raises(Refused):
            read_review_settings(dict(body), before)


def test_a_claim_says_who_or_nothing() -> None:
    assert read_reviewer({}).name is None
    assert read_reviewer({"reviewer": " ann "}).name == "ann"
    with pytest.raises(Refused):
        read_reviewer({"reviewer": 7, "until": "tomorrow"})
