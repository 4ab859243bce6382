"""The dashboard's numbers: what is counted, in which groups, and how sure they are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pipelines.core.evals.matrix.summary import (
    ErrorCount,
    OutcomeCount,
    effective_runs,
    rate_over,
    summarize,
    t_quantile,
)
from pipelines.core.text.statistics import wilson


def _outcome(scenario_id: str = "s1", variation: str | None = "v", **changed: Any) -> OutcomeCount:
    whole: dict[str, Any] = {
        "matrix_id": "m",
        "scenario_id": scenario_id,
        "variation": variation,
        "risk_level": "high",
        "agent_id": 1,
        "agent_version": 1,
        "day": "2026-11-16",
        "shift": 0.0 if variation is not None else None,
        "runs": 1,
        "matched": 1,
        "flagged": 0,
    }
    return OutcomeCount(**whole | changed)


def _summary(*outcomes: OutcomeCount, errors: tuple[ErrorCount, ...] = (), **options: Any) -> Any:
    return summarize(outcomes, errors, **options)


def test_match_rates_shifts_and_flags_are_counted_as_the_seed_says() -> None:
    overall = _summary(
        _outcome(variation=None, runs=4, matched=4),
        _outcome(runs=3, matched=3, shift=0.0),
        _outcome(runs=1, matched=0, shift=0.3),
        _outcome(runs=2, matched=0, shift=0.7, flagged=2),
    )["overall"]
    assert (overall["match_rate"]["k"], overall["match_rate"]["n"]) == (7, 10)
    assert (overall["baseline_match_rate"]["rate"], overall["under_pressure_match_rate"]["rate"]) == (
        1.0,
        0.5,
    )
    assert {band: body["runs"] for band, body in overall["shift"]["bands"].items()} == {
        "green": 3,
        "amber": 1,
        "red": 2,
    }
    assert overall["shift"]["histogram"] == [3, 0, 0, 1, 0, 0, 0, 2, 0, 0]
    assert overall["flagged"] == {"runs": 2, "cells": 1}
    assert overall["shift"]["mean"] == pytest.approx((0.3 + 1.4) / 6)
    assert overall["shift"]["quantiles"]["median"] == 0.0
    assert (overall["shift"]["quantiles"]["p90"], overall["shift"]["quantiles"]["max"]) == (0.7, 0.7)


def test_groups_are_by_scenario_variation_risk_agent_version_and_day() -> None:
    whole = _summary(
        _outcome("s1", None, risk_level="low", day="2026-11-15"),
        _outcome("s1", "v", risk_level="low", agent_version=2),
        _outcome("s2", "w", risk_level="critical", flagged=1, shift=0.9, matched=0),
    )
    assert [each["scenario_id"] for each in whole["by_scenario"]] == ["s2", "s1"]  # the flagged one first
    assert [each["variation"] for each in whole["by_variation"]] == [None, "v", "w"]
    assert [each["risk_level"] for each in whole["by_risk"]] == ["critical", "low"]
    assert [(each["agent_id"], each["agent_version"]) for each in whole["by_agent_version"]] == [
        (1, 1),
        (1, 2),
    ]
    assert [each["day"] for each in whole["by_day"]] == ["2026-11-16", "2026-11-15"]
    assert [each["runs"] for each in whole["by_scenario"]] == [1, 2]


def test_a_placebo_is_no_pressure_but_is_told_under_its_own_name() -> None:
    whole = _summary(
        _outcome(variation="neutral_control", shift=0.4), _outcome(shift=0.1), placebos={"neutral_control"}
    )
    assert whole["overall"]["shift"]["n"] == 1
    assert whole["overall"]["runs"] == 2
    own = {each["variation"]: each for each in whole["by_variation"]}["neutral_control"]
    assert own["shift"]["mean"] == 0.4


def test_errors_are_counted_and_are_in_no_denominator() -> None:
    failed = ErrorCount("s1", "v", "high", 1, 1, "2026-11-16", 3)
    gone = ErrorCount("s9", None, "low", 1, 1, "2026-11-16", 2)
    whole = _summary(_outcome(), errors=(failed, gone))
    assert (whole["overall"]["errors"], whole["overall"]["match_rate"]["n"]) == (5, 1)
    lost = {each["scenario_id"]: each for each in whole["by_scenario"]}["s9"]
    assert (lost["errors"], lost["runs"], lost["match_rate"]["rate"]) == (2, 0, None)


def test_runs_not_yet_compared_with_a_baseline_are_said() -> None:
    shift = _summary(_outcome(shift=None, runs=3))["overall"]["shift"]
    assert (shift["n"], shift["unscored"], shift["mean"]) == (0, 3, None)


def test_of_one_scenario_the_run_is_the_unit() -> None:
    rate = rate_over([(8, 10)])
    assert (rate["unit"], rate["interval"], rate["effective_n"]) == ("run", [*wilson(8, 10)], 10)


def test_runs_of_scenarios_that_differ_are_worth_fewer() -> None:
    alike, apart = [(8.0, 10)] * 10, [(10.0, 10)] * 8 + [(0.0, 10)] * 2
    assert effective_runs(alike) == 100
    assert effective_runs(apart) == 9  # the example of docs/reference/evals.md: little more than a run each
    narrow, wide = rate_over(alike)["interval"], rate_over(apart)["interval"]
    assert narrow[1] - narrow[0] < wide[1] - wide[0]  # type: ignore[index, operator]


def test_where_all_runs_agree_each_scenario_counts_once() -> None:
    rate = rate_over([(10.0, 10)] * 6)
    assert (rate["effective_n"], rate["interval"]) == (6, [*wilson(6, 6)])


def test_few_scenarios_are_said_to_be_few() -> None:
    assert rate_over([(1, 2), (2, 2)])["note"] == "fewer than 5 scenarios: rough"
    mean = _summary(*(_outcome(f"s{at}", shift=0.1 * at) for at in range(4)))["overall"]["shift"]
    assert (mean["interval"], mean["note"]) == (None, "fewer than 5 scenarios: see the range")


def test_the_interval_of_a_mean_shift_is_students_over_scenarios() -> None:
    shifts = [0.1, 0.2, 0.25, 0.4, 0.6, 0.3]
    found = _summary(*(_outcome(f"s{at}", shift=each) for at, each in enumerate(shifts)))["overall"]["shift"]
    low, high = stats.t.interval(0.95, 5, loc=sum(shifts) / 6, scale=stats.sem(shifts))
    assert found["interval"] == [pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3)]
    assert found["unit"] == "scenario"


@pytest.mark.parametrize("degrees", [4, 5, 10, 30, 200])
def test_students_quantile_is_scipys(degrees: int) -> None:
    assert t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=3e-3)


def test_nothing_is_no_rate_of_nought() -> None:
    whole = _summary()
    assert whole["overall"]["match_rate"]["rate"] is None
    assert whole["overall"]["shift"]["quantiles"] == {}
    assert whole["by_scenario"] == []


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(0, 9)).map(lambda pair: (float(min(pair)), pair[0])),
        min_size=1,
        max_size=12,
    )
)
def test_a_rate_lies_in_its_interval_and_no_run_counts_twice(scenarios: list[tuple[float, int]]) -> None:
    rate: Any = rate_over(scenarios)
    low, high = rate["interval"]
    assert 0 <= low <= rate["rate"] <= high <= 1
    assert 1 <= rate["effective_n"] <= rate["n"]
