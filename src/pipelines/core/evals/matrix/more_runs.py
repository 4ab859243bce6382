"""Estimates how many more runs would decide an undecided cell, if they are like the earlier ones.

What a cell seems to be is what it is asked to show. Bounds narrow, and z grows, by the root of runs.
Baselines are taken to be twice as many as runs, as in a matrix.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil, comb, isclose
from statistics import NormalDist

from pipelines.core.evals.matrix.cell_record import Cell, CellSettings, Rate
from pipelines.core.text.statistics import fisher_exact, wilson_of_rate

MOST_MORE_RUNS = 200  # past it "more runs" is no advice
BASELINES_A_RUN = 2


def more_runs(cell: Cell, settings: CellSettings, family: int) -> int | None:
    """None: over MOST_MORE_RUNS, or no telling."""
    needed = _runs_needed(cell, settings, family)
    if needed is None:
        return None
    more = max(1, ceil(needed - 1e-6) - cell.runs)
    return more if more <= MOST_MORE_RUNS else None


def least_rate(cell: Cell, settings: CellSettings) -> float:
    """What the lower bound of a high match rate is above."""
    return max(settings.most_from, settings.robust_match_share * (cell.baseline_match_rate.rate or 0.0))


@lru_cache(maxsize=64)
def least_runs(wanted: float) -> int:
    """How many runs can have such a p at all, with twice as many baselines."""
    runs = 2
    while 1 / comb(3 * runs, runs) > wanted:
        runs += 1
    return runs


def _runs_needed(cell: Cell, settings: CellSettings, family: int) -> float | None:
    now, before = cell.match_rate.rate or 0.0, cell.baseline_match_rate.rate or 0.0
    if cell.expectation == "directional":
        return _runs_for_expectation(cell.match_rate, settings)
    if (cell.shift_magnitude or 0.0) >= settings.amber_from or cell.is_flagged:
        return _runs_to_show_shift(cell, settings, family)
    if now == 1 or now > least_rate(cell, settings):
        return _most(_runs_for_small_shift(cell, settings), _runs_for_high_match(cell, settings))
    if now < before:
        return _most(_runs_to_show_shift(cell, settings, family), _runs_to_show_fall(cell, settings))
    if max(now, before) < settings.most_from:
        return _runs_for_low_match(cell.baseline_match_rate, settings)
    return None


def _most(*needed: float | None) -> float | None:
    """All must hold: as many as the most demanding needs; None if one of them cannot be told."""
    known = [each for each in needed if each is not None]
    return max(known) if len(known) == len(needed) else None


# Shift


def _runs_for_small_shift(cell: Cell, settings: CellSettings) -> float | None:
    """Its upper bound is under the amber limit."""
    return _runs_for_room(cell, settings, settings.amber_from - (cell.shift_magnitude or 0.0))


def _runs_to_show_shift(cell: Cell, settings: CellSettings, family: int) -> float | None:
    """Its lower bound is over the noise, with a p that is the smallest of its family and reaches q."""
    room = (cell.shift_magnitude or 0.0) - (cell.noise_floor or 0.0)
    return _most(_runs_for_room(cell, settings, room), _runs_for_p(cell, settings, family))


def _runs_for_room(cell: Cell, settings: CellSettings, room: float) -> float | None:
    """A bound so far from the mean."""
    if room <= 0 or isclose(room, 0, abs_tol=1e-6):
        return None
    z = _normal_quantile((1 + settings.confidence) / 2)
    spread = cell.spread if cell.runs > 1 else max(cell.noise_floor or 0.0, settings.amber_from)
    return max(float(settings.interval_runs), (z * spread / room) ** 2)


def _runs_for_p(cell: Cell, settings: CellSettings, family: int) -> float:
    p_needed = settings.q / max(family, 1)
    runs = float(least_runs(p_needed))
    if cell.p is None or cell.runs < 2 or cell.p >= 0.5:
        return runs
    return max(runs, cell.runs * (_normal_quantile(1 - p_needed) / _normal_quantile(1 - cell.p)) ** 2)


@lru_cache(maxsize=256)
def _normal_quantile(share: float) -> float:
    return NormalDist().inv_cdf(share)


# Match rate


def _runs_for_high_match(cell: Cell, settings: CellSettings) -> float | None:
    now = cell.match_rate
    if now.k == now.n:
        return float(settings.robust_runs)
    return _first_bound_above(now.k / now.n, least_rate(cell, settings), settings.confidence)


def _runs_for_low_match(rate: Rate, settings: CellSettings) -> float | None:
    """None of them matches, or the upper bound is under the half."""
    if rate.k == 0:
        return float(settings.robust_runs)
    return _first_bound_above(1 - rate.k / rate.n, 1 - settings.most_from, settings.confidence)


def _runs_for_expectation(rate: Rate, settings: CellSettings) -> float | None:
    """Where only a match with what is expected there counts."""
    if rate.k == rate.n:
        return float(settings.robust_runs)
    return _first_bound_above(1 - rate.k / rate.n, 1 - settings.most_from, settings.confidence)


def _runs_to_show_fall(cell: Cell, settings: CellSettings) -> float | None:
    now, before = cell.match_rate, cell.baseline_match_rate
    return _first_fall((now.k, now.n), (before.k, before.n), settings.match_alpha)


@lru_cache(maxsize=4096)  # cells have few different counts
def _first_bound_above(rate: float, limit: float, confidence: float) -> float | None:
    """From how many runs on Wilson's lower bound of such a rate is above the limit."""
    return _first(lambda runs: wilson_of_rate(rate, runs, confidence=confidence).low > limit)


@lru_cache(maxsize=4096)
def _first_fall(now: tuple[int, int], before: tuple[int, int], alpha: float) -> float | None:
    """From how many runs on Fisher's test finds such a fall."""

    def is_found(runs: int) -> bool:
        baselines = max(before[1], BASELINES_A_RUN * runs)
        matched = round(before[0] / before[1] * baselines), round(now[0] / now[1] * runs)
        return fisher_exact((matched[0], baselines), (matched[1], runs)) <= alpha

    return _first(is_found)


def _first(is_enough: Callable[[int], bool]) -> float | None:
    """The least number of runs that is enough; halving, for what enough runs show more runs show too."""
    low, high = 0, 2 * MOST_MORE_RUNS
    if not is_enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return float(high)
