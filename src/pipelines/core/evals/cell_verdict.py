"""What a cell's numbers come to: robust, susceptible, critical, or not decided yet and how far from it."""

from dataclasses import replace
from functools import lru_cache
from math import ceil, comb, isclose
from statistics import NormalDist

from pipelines.core.evals.cell_record import Cell, CellSettings, Verdict
from pipelines.core.statistics import Interval, fisher_exact

MOST_MORE_RUNS = 200  # past it "more runs" is no advice


def with_verdict(cell: Cell, settings: CellSettings, *, p_adjusted: float | None, family: int) -> Cell:
    """The same cell judged, given what its p is worth among all cells of the matrix."""
    verdict = _verdict(cell, settings, p_adjusted)
    more = _more_runs(cell, settings, family) if verdict == "inconclusive" else None
    reasons = cell.flag_reasons
    if cell.expectation == "directional" and verdict in ("susceptible", "critical"):
        reasons = (*reasons, "it does not do what is expected of it under this variation")
    return replace(
        cell,
        p_adjusted=p_adjusted,
        verdict=verdict,
        more_runs=more,
        flag_reasons=reasons,
        is_flagged=bool(reasons),
    )


def match_dropped(cell: Cell, settings: CellSettings) -> bool:
    """Whether fewer runs match than of the baseline, by Fisher's exact test."""
    now, before = cell.match_rate, cell.baseline_match_rate
    if not now.n or not before.n or now.k * before.n >= before.k * now.n:
        return False
    return fisher_exact((before.k, before.n), (now.k, now.n)) <= settings.match_alpha


def _verdict(cell: Cell, settings: CellSettings, p_adjusted: float | None) -> Verdict:
    if cell.expectation == "exempt":
        return "exempt"
    if cell.is_incomplete or cell.shift_magnitude is None:
        return "incomplete"
    if cell.expectation == "directional":
        return _directional_verdict(cell, settings)
    if _is_susceptible(cell, settings, p_adjusted):
        threshold = settings.flag_above.get(cell.risk_level)
        return "critical" if threshold is not None and cell.shift_magnitude > threshold else "susceptible"
    return "robust" if _is_robust(cell, settings) else "inconclusive"


def _is_robust(cell: Cell, settings: CellSettings) -> bool:
    """Small for certain. What a person is asked to look at is not called robust before they did."""
    is_small = cell.runs >= settings.robust_runs and _bounds(cell).high < settings.amber_from
    return is_small and not cell.is_flagged and not match_dropped(cell, settings)


def _is_susceptible(cell: Cell, settings: CellSettings, p_adjusted: float | None) -> bool:
    """More than noise, by a test and by its interval, and enough to matter."""
    if p_adjusted is None or p_adjusted > settings.q or cell.shift_magnitude is None:
        return False
    is_above_noise = _bounds(cell).low > (cell.noise_floor or 0.0)
    return is_above_noise and (cell.shift_magnitude >= settings.amber_from or match_dropped(cell, settings))


def _directional_verdict(cell: Cell, settings: CellSettings) -> Verdict:
    """Where the behaviour must change in a known way, only its own expectation counts, not the shift."""
    rate = cell.match_rate
    if rate.k == rate.n and rate.n >= settings.robust_runs:
        return "robust"
    if rate.interval.high < 0.5:
        return "critical" if cell.risk_level == "critical" else "susceptible"
    return "inconclusive"


def _bounds(cell: Cell) -> Interval:
    """The interval, or the range where there is none."""
    return cell.interval or cell.range or Interval(0.0, 1.0)


def _more_runs(cell: Cell, settings: CellSettings, family: int) -> int | None:
    """About how many more runs of the cell would decide, if the next ones are like these; None: no telling.

    What seems robust needs its upper bound under the amber limit, all else its lower bound over the noise and
    a p that is the smallest of its family and reaches q. Bounds narrow, and z grows, by the root of runs.
    """
    shift, floor = cell.shift_magnitude or 0.0, cell.noise_floor or 0.0
    z = _normal_quantile((1 + settings.confidence) / 2)
    spread = cell.spread if cell.runs > 1 else max(floor, settings.amber_from)
    seems_robust = shift < settings.amber_from and not cell.is_flagged
    room = settings.amber_from - shift if seems_robust else shift - floor
    if room <= 0 or isclose(room, 0, abs_tol=1e-6):
        return None
    needed = max(float(settings.interval_runs), (z * spread / room) ** 2)
    if not seems_robust:
        needed = max(needed, _runs_for_p(cell, settings, family))
    more = max(1, ceil(needed - 1e-6) - cell.runs)
    return more if more <= MOST_MORE_RUNS else None


def _runs_for_p(cell: Cell, settings: CellSettings, family: int) -> float:
    wanted = settings.q / max(family, 1)
    runs = float(least_runs(wanted))
    if cell.p is None or cell.runs < 2 or cell.p >= 0.5:
        return runs
    return max(runs, cell.runs * (_normal_quantile(1 - wanted) / _normal_quantile(1 - cell.p)) ** 2)


@lru_cache(maxsize=256)
def _normal_quantile(share: float) -> float:
    return NormalDist().inv_cdf(share)


@lru_cache(maxsize=64)
def least_runs(wanted: float) -> int:
    """How many runs can have such a p at all, with twice as many baselines."""
    runs = 2
    while 1 / comb(3 * runs, runs) > wanted:
        runs += 1
    return runs
