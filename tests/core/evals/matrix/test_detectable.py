"""What a matrix could find: each figure agrees with the test that the report would make of it."""

import random
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.matrix.cell_record import CellSettings
from pipelines.core.evals.matrix.detectable import POWER, DetectableChange, detectable_change
from pipelines.core.text.statistics import exact_mcnemar, fisher_exact

LIMITS = CellSettings()


def _of(scenarios: int = 10, variations: int = 8, repeats: int = 5, baselines: int = 10) -> DetectableChange:
    return detectable_change(scenarios=scenarios, variations=variations, repeats=repeats, baselines=baselines)


def _binomial(at_most: int, trials: int, rate: float) -> float:
    return sum(comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(at_most + 1))


def test_one_run_of_each_cell_decides_nothing_about_a_cell() -> None:
    found = _of(repeats=1, baselines=1)
    assert (found.matches_left, found.match_rate, found.tells_shift) == (None, None, False)


def test_five_runs_against_ten_baselines_show_a_fall_to_two_of_five() -> None:
    found = _of()
    assert found.matches_left == 2
    assert found.match_rate == pytest.approx(0.327, abs=0.001)
    assert found.scenarios_lost == 6


@given(repeats=st.integers(1, 30), baselines=st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_the_matches_left_are_the_most_that_fishers_test_still_calls_a_fall(
    repeats: int, baselines: int
) -> None:
    left = _of(repeats=repeats, baselines=baselines).matches_left
    falls = [
        k for k in range(repeats) if fisher_exact((baselines, baselines), (k, repeats)) <= LIMITS.match_alpha
    ]
    assert left == (max(falls) if falls else None)


@given(repeats=st.integers(2, 30))
@settings(max_examples=30, deadline=None)
def test_the_rate_told_is_found_four_times_of_five_and_a_higher_one_is_not(repeats: int) -> None:
    found = _of(repeats=repeats, baselines=2 * repeats)
    if found.matches_left is not None:
        assert found.match_rate is not None
        assert _binomial(found.matches_left, repeats, found.match_rate) >= POWER - 1e-6
        assert _binomial(found.matches_left, repeats, min(1.0, found.match_rate + 0.01)) < POWER


@given(scenarios=st.integers(1, 400))
@settings(max_examples=30, deadline=None)
def test_over_all_scenarios_mcnemars_test_agrees(scenarios: int) -> None:
    found = _of(scenarios=scenarios)
    if found.scenarios_lost is None:
        assert exact_mcnemar(scenarios, 0) > LIMITS.gate_alpha
        return
    assert exact_mcnemar(found.scenarios_lost, 0) <= LIMITS.gate_alpha
    assert exact_mcnemar(found.scenarios_lost - 1, 0) > LIMITS.gate_alpha
    assert found.share_lost is not None
    missed = _binomial(found.scenarios_lost - 1, scenarios, found.share_lost)
    assert 1 - missed == pytest.approx(POWER, abs=1e-3)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_more_runs_never_find_less(data: st.DataObject) -> None:
    fewer = data.draw(st.integers(2, 20))
    more = data.draw(st.integers(fewer, 30))
    small, large = _of(repeats=fewer, baselines=2 * fewer), _of(repeats=more, baselines=2 * more)
    assert large.runs_for_shift == small.runs_for_shift
    assert large.tells_shift or not small.tells_shift
    if small.matches_left is not None:
        assert large.matches_left is not None
        assert large.matches_left >= small.matches_left


def test_more_cells_need_more_runs_to_tell_one_from_noise() -> None:
    assert _of(scenarios=1, variations=1).runs_for_shift <= _of(scenarios=50).runs_for_shift
    wanted = LIMITS.q / 400
    runs = _of(scenarios=50).runs_for_shift
    assert 1 / comb(3 * runs, runs) <= wanted < 1 / comb(3 * (runs - 1), runs - 1)


def test_the_rate_holds_up_in_matrices_played_by_chance() -> None:
    found = _of(repeats=8, baselines=16)
    assert found.match_rate is not None
    drawn = random.Random(1)
    seen = sum(
        fisher_exact((16, 16), (sum(drawn.random() < found.match_rate for _ in range(8)), 8)) <= 0.05
        for _ in range(2_000)
    )
    assert seen / 2_000 == pytest.approx(POWER, abs=0.03)


def test_without_a_variation_there_is_nothing_to_find_and_ten_thousand_scenarios_take_no_time() -> None:
    alone = _of(variations=0)
    assert (alone.matches_left, alone.scenarios_lost) == (None, None)
    assert _of(scenarios=10_000).scenarios_lost == 6
