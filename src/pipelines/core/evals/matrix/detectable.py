"""Estimates, before a matrix starts, how large a change so many runs could detect.

Exact for the tests that the report makes: Fisher's for a cell's match rate, permutation with Benjamini and
Hochberg's correction for its shift, McNemar's for a variation over all scenarios. A change is called
detectable where four of five matrices of this size would find it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, lgamma, log

from pipelines.core.evals.matrix.cell_record import CellSettings
from pipelines.core.evals.matrix.more_runs import least_runs
from pipelines.core.text.statistics import exact_mcnemar, fisher_exact

POWER = 0.8
MOST_SCENARIOS = 1_000  # past it the share of scenarios hardly changes, and binomials are long
_STEPS = 30  # of halving: far finer than anybody reads


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectableChange:
    scenarios: int
    cells: int
    repeats: int
    baselines: int
    #: A cell whose baseline always matches: at most so many of its runs may match for the fall to be certain.
    matches_left: int | None  # None: no fall is, not even to none
    #: The true match rate to which it must fall to be found four times of five.
    match_rate: float | None
    #: Runs of a cell from which on one moved cell among all can be told from noise by its shift.
    runs_for_shift: int
    #: Scenarios that a variation must cost the match, by one run each, to be found over all of them.
    scenarios_lost: int | None
    share_lost: float | None

    @property
    def tells_shift(self) -> bool:
        return self.repeats >= self.runs_for_shift


def detectable_change(*, scenarios: int, variations: int, repeats: int, baselines: int) -> DetectableChange:
    settings = CellSettings()
    cells = scenarios * variations
    remaining = _matches_left(repeats, baselines, settings.match_alpha) if variations else None
    lost = _scenarios_lost(min(scenarios, MOST_SCENARIOS), settings.gate_alpha) if variations else None
    return DetectableChange(
        scenarios=scenarios,
        cells=cells,
        repeats=repeats,
        baselines=baselines,
        matches_left=remaining,
        match_rate=_highest(lambda rate: _at_most(remaining, repeats, rate))
        if remaining is not None
        else None,
        runs_for_shift=least_runs(settings.q / max(cells, 1)),
        scenarios_lost=lost,
        share_lost=_lowest_share(lost, min(scenarios, MOST_SCENARIOS)) if lost is not None else None,
    )


def _matches_left(repeats: int, baselines: int, alpha: float) -> int | None:
    """Of a cell, against baselines that all match."""
    found = None
    for matched in range(repeats):
        if fisher_exact((baselines, baselines), (matched, repeats)) > alpha:
            break
        found = matched
    return found


def _scenarios_lost(scenarios: int, alpha: float) -> int | None:
    """How many scenarios must lose their match, and none win it."""
    return next((lost for lost in range(1, scenarios + 1) if exact_mcnemar(lost, 0) <= alpha), None)


def _lowest_share(lost: int, scenarios: int) -> float:
    """Of scenarios that the variation costs the match."""
    return 1 - _highest(lambda kept: _at_most(scenarios - lost, scenarios, kept))


def _highest(chance: Callable[[float], float]) -> float:
    """The highest rate at which the chance is still POWER; it falls as the rate rises."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) >= POWER else (low, middle)
    return low


def _at_most(successes: int, trials: int, rate: float) -> float:
    """The chance of so many successes or fewer; by logarithms, for the factors leave what a float holds."""
    if successes >= trials or rate <= 0:
        return 1.0
    if rate >= 1:
        return 0.0
    whole = lgamma(trials + 1)
    return sum(
        exp(whole - lgamma(k + 1) - lgamma(trials - k + 1) + k * log(rate) + (trials - k) * log(1 - rate))
        for k in range(successes + 1)
    )
