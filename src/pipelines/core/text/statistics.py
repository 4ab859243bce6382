"""Rates and tests that people read off a batch: intervals, pass^k, paired tests, corrections for many tests.

All of it exact or in closed form: the same numbers on every machine, and no draw of chance.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, sqrt
from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    low: float
    high: float


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a rate. Without trials nothing is known: from 0 to 1."""
    _check_count(successes, trials)
    return wilson_of_rate(successes / trials, trials, confidence=confidence) if trials else Interval(0.0, 1.0)


def wilson_of_rate(rate: float, trials: float, *, confidence: float = 0.95) -> Interval:
    """The same for a mean of rates, where what was tried (a scenario) has a rate of its own."""
    z = _z(confidence)
    spread = z * z / trials
    centre = (rate + spread / 2) / (1 + spread)
    margin = z * sqrt(rate * (1 - rate) / trials + spread / (4 * trials)) / (1 + spread)
    # At the ends the exact bound is 0 or 1, which rounding would miss by a hair.
    return Interval(0.0 if rate <= 0 else centre - margin, 1.0 if rate >= 1 else centre + margin)


def newcombe(first: tuple[int, int], second: tuple[int, int], *, confidence: float = 0.95) -> Interval:
    """The interval of the difference of two rates, second − first: Newcombe's hybrid of Wilson's scores."""
    low_1, high_1 = wilson(*first, confidence=confidence)
    low_2, high_2 = wilson(*second, confidence=confidence)
    rate_1, rate_2 = (k / n if n else 0.5 for k, n in (first, second))
    apart = rate_2 - rate_1
    below = sqrt((rate_2 - low_2) ** 2 + (high_1 - rate_1) ** 2)
    above = sqrt((high_2 - rate_2) ** 2 + (rate_1 - low_1) ** 2)
    return Interval(max(-1.0, apart - below), min(1.0, apart + above))


def fisher_exact(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Two-sided p that two rates, each (successes, trials), are one: all tables no likelier than this one."""
    (k_1, n_1), (k_2, n_2) = first, second
    _check_count(k_1, n_1)
    _check_count(k_2, n_2)
    successes = k_1 + k_2
    ways = [
        comb(n_1, k) * comb(n_2, successes - k)
        for k in range(max(0, successes - n_2), min(n_1, successes) + 1)
    ]
    seen = comb(n_1, k_1) * comb(n_2, k_2)
    return sum(each for each in ways if each <= seen) / comb(n_1 + n_2, successes)


def hypergeometric_tail(least: int, drawn: int, successes: int, trials: int) -> float:
    """The chance of so many successes or more among some drawn without putting back: Fisher's one-sided p."""
    _check_count(successes, trials)
    _check_count(drawn, trials)
    count = max(least, drawn + successes - trials, 0)
    if count > min(drawn, successes):
        return 0.0
    ways = total = comb(successes, count) * comb(trials - successes, drawn - count)
    while ways and count < min(drawn, successes):
        ways = ways * (successes - count) * (drawn - count)
        count += 1
        ways //= count * (trials - successes - drawn + count)
        total += ways
    return total / comb(trials, drawn)


def pass_hat_k(successes: int, trials: int, k: int) -> Fraction:
    """pass^k of one task: the chance that k of its runs, drawn without putting back, all passed."""
    _check_count(successes, trials)
    if not 1 <= k <= trials:
        raise ValueError(f"pass^{k} needs at least {max(k, 1)} runs and k of 1 or more; there are {trials}")
    return Fraction(comb(successes, k), comb(trials, k))


def mean_pass_hat_k(tasks: Iterable[tuple[int, int]], k: int) -> Fraction | None:
    """pass^k over tasks of (successes, trials), without those of fewer than k runs; None if none is left."""
    known = [pass_hat_k(successes, trials, k) for successes, trials in tasks if trials >= k]
    return sum(known, Fraction()) / len(known) if known else None


def exact_mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p of paired outcomes that differ: so many passed only before, so many only after."""
    _check_count(only_first, only_first + only_second)
    differing = only_first + only_second
    tail = sum(comb(differing, count) for count in range(min(only_first, only_second) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**differing)))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given; those at or under q are the discoveries at that rate."""
    ranked, count = _ranked(p_values), len(p_values)
    adjusted = [0.0] * count
    smallest = 1.0
    for rank in range(count, 0, -1):
        at = ranked[rank - 1]
        smallest = min(smallest, p_values[at] * count / rank)
        adjusted[at] = smallest
    return adjusted


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given; those at or under alpha hold together with that certainty."""
    ranked, count = _ranked(p_values), len(p_values)
    adjusted = [0.0] * count
    largest = 0.0
    for rank, at in enumerate(ranked):
        largest = max(largest, min(1.0, p_values[at] * (count - rank)))
        adjusted[at] = largest
    return adjusted


@lru_cache(maxsize=16)
def _z(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _ranked(p_values: Sequence[float]) -> list[int]:
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("p-values are from 0 to 1")
    return sorted(range(len(p_values)), key=p_values.__getitem__)


def _check_count(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is not a count of successes")
