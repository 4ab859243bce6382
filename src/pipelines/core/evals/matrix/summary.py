"""The dashboard's numbers over all eval runs of a time window: match rates, shift distribution, flags.

Runs of one scenario are alike, so where there are several scenarios the scenario is the unit of an interval,
not the run: many runs of few scenarios do not look like much evidence.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from math import sqrt
from statistics import NormalDist
from typing import Any, NamedTuple, TypeAlias

from pipelines.core.evals.matrix.cell_record import CellSettings
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.statistics import wilson, wilson_of_rate

QUANTILES = {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95}
FEW = 5  # fewer units make no interval of a mean, and only a rough one of a rate
MOST_GROUPS = 500  # of one kind in an answer
_RISKS = ("critical", "high", "medium", "low")
_Z = NormalDist().inv_cdf(0.975)


class OutcomeCount(NamedTuple):
    """Runs that ended alike: same cell, same day, equally far from the baseline."""

    matrix_id: str
    scenario_id: str
    variation: str | None  # None: the baseline
    risk_level: str
    agent_id: int
    agent_version: int
    day: str
    shift: float | None  # None of baselines, and until the matrix has ended
    runs: int
    matched: int
    flagged: int


class ErrorCount(NamedTuple):
    """Runs that ended with an error: in no denominator, and never hidden."""

    scenario_id: str
    variation: str | None
    risk_level: str
    agent_id: int
    agent_version: int
    day: str
    errors: int


Counted: TypeAlias = OutcomeCount | ErrorCount
Key: TypeAlias = tuple[Any, ...]
#: What a summary is broken down by, and what tells its groups apart.
GROUPINGS: Mapping[str, tuple[tuple[str, ...], Callable[[Counted], Key]]] = {
    "by_scenario": (("scenario_id", "risk_level"), lambda each: (each.scenario_id, each.risk_level)),
    "by_variation": (("variation",), lambda each: (each.variation,)),
    "by_risk": (("risk_level",), lambda each: (each.risk_level,)),
    "by_agent_version": (
        ("agent_id", "agent_version"),
        lambda each: (each.agent_id, each.agent_version),
    ),
    "by_day": (("day",), lambda each: (each.day,)),
}


class _Tally:
    """A sum over so many runs, kept by scenario."""

    __slots__ = ("_by_scenario",)

    def __init__(self) -> None:
        self._by_scenario: dict[str, list[float]] = {}

    def add(self, scenario_id: str, total: float, runs: int) -> None:
        held = self._by_scenario.setdefault(scenario_id, [0.0, 0])
        held[0] += total
        held[1] += runs

    @property
    def scenarios(self) -> list[tuple[float, int]]:
        return [(total, int(runs)) for total, runs in self._by_scenario.values()]


@dataclass(kw_only=True, slots=True)
class _Group:
    all_runs: _Tally = field(default_factory=_Tally)
    baseline: _Tally = field(default_factory=_Tally)
    under_pressure: _Tally = field(default_factory=_Tally)
    shift: _Tally = field(default_factory=_Tally)
    shifts: Counter[float] = field(default_factory=Counter)
    unscored: int = 0  # under pressure, and not yet compared with a baseline
    flagged_runs: int = 0
    flagged_cells: set[tuple[str, str, str | None]] = field(default_factory=set)
    errors: int = 0

    def add(self, each: OutcomeCount, *, is_placebo: bool) -> None:
        self.all_runs.add(each.scenario_id, each.matched, each.runs)
        if each.flagged:
            self.flagged_runs += each.flagged
            self.flagged_cells.add((each.matrix_id, each.scenario_id, each.variation))
        if each.variation is None:
            self.baseline.add(each.scenario_id, each.matched, each.runs)
        elif not is_placebo:
            self.under_pressure.add(each.scenario_id, each.matched, each.runs)
            self._add_shift(each)

    def _add_shift(self, each: OutcomeCount) -> None:
        if each.shift is None:
            self.unscored += each.runs
            return
        self.shifts[each.shift] += each.runs
        self.shift.add(each.scenario_id, each.shift * each.runs, each.runs)

    def as_json(self, settings: CellSettings) -> JsonObject:
        return {
            "runs": sum(runs for _, runs in self.all_runs.scenarios),
            "errors": self.errors,
            "scenarios": len(self.all_runs.scenarios),
            "match_rate": rate_over(self.all_runs.scenarios),
            "baseline_match_rate": rate_over(self.baseline.scenarios),
            "under_pressure_match_rate": rate_over(self.under_pressure.scenarios),
            "shift": _distribution(self, settings),
            "flagged": {"runs": self.flagged_runs, "cells": len(self.flagged_cells)},
        }


def summarize(
    outcomes: Iterable[OutcomeCount],
    errors: Iterable[ErrorCount],
    *,
    placebos: Set[str] = frozenset(),
) -> JsonObject:
    """Overall and by each of GROUPINGS. Placebos are no pressure: they are told only under their own name."""
    settings = CellSettings()
    overall = _Group()
    groups: dict[str, dict[Key, _Group]] = {name: {} for name in GROUPINGS}
    for each in outcomes:
        is_placebo = each.variation in placebos
        overall.add(each, is_placebo=is_placebo)
        for name, (_, key_of) in GROUPINGS.items():
            group = groups[name].setdefault(key_of(each), _Group())
            group.add(each, is_placebo=is_placebo and name != "by_variation")
    for failed in errors:
        overall.errors += failed.errors
        for name, (_, key_of) in GROUPINGS.items():
            groups[name].setdefault(key_of(failed), _Group()).errors += failed.errors
    whole: JsonObject = {"overall": overall.as_json(settings)}
    for name, (columns, _) in GROUPINGS.items():
        whole[name] = _groups_as_json(name, columns, groups[name], settings)
    return whole


def _groups_as_json(
    name: str, columns: tuple[str, ...], groups: Mapping[Key, _Group], settings: CellSettings
) -> list[Json]:
    """The worst scenarios first, the latest days first, the rest in their natural order."""
    keys = sorted(groups, key=lambda key: tuple(_natural(part) for part in key), reverse=name == "by_day")
    if name == "by_scenario":
        keys.sort(key=lambda key: (-groups[key].flagged_runs, _share(groups[key].all_runs.scenarios)))
    return [
        {**dict(zip(columns, key, strict=True)), **groups[key].as_json(settings)}
        for key in keys[:MOST_GROUPS]
    ]


def _natural(part: Any) -> tuple[int, Any]:
    """Baselines before variations, the gravest risk first."""
    if part is None:
        return (0, "")
    return (1, _RISKS.index(part)) if part in _RISKS else (2, part)


def _share(scenarios: list[tuple[float, int]]) -> float:
    runs = sum(count for _, count in scenarios)
    return sum(total for total, _ in scenarios) / runs if runs else 1.0


# Rates


def rate_over(scenarios: list[tuple[float, int]]) -> JsonObject:
    """k of n with a Wilson interval; of several scenarios, over as many runs as these are worth."""
    k, n = round(sum(matched for matched, _ in scenarios)), sum(runs for _, runs in scenarios)
    if not n:
        return {"k": 0, "n": 0, "rate": None, "interval": None, "unit": None, "effective_n": 0}
    if len(scenarios) == 1:
        interval, unit, worth = wilson(k, n), "run", n
    else:
        worth = effective_runs(scenarios)
        interval, unit = wilson_of_rate(k / n, worth), "scenario"
    body: JsonObject = {"k": k, "n": n, "rate": k / n, "interval": [*interval], "unit": unit}
    rough: JsonObject = {"note": f"fewer than {FEW} scenarios: rough"} if 1 < len(scenarios) < FEW else {}
    return body | {"effective_n": worth} | rough


def effective_runs(scenarios: list[tuple[float, int]]) -> int:
    """How many independent runs would tell as much: the fewer, the more scenarios differ from each other.

    Where all runs agree nothing shows how alike those of one scenario are: each scenario then counts once.
    """
    n = sum(runs for _, runs in scenarios)
    rate = sum(matched for matched, _ in scenarios) / n
    if rate in (0, 1):
        return len(scenarios)
    variance = _variance_of_mean(scenarios)
    worth = rate * (1 - rate) / variance + 1e-9 if variance else n  # nine is not to become eight by rounding
    return max(1, min(n, int(worth)))


def _variance_of_mean(clusters: list[tuple[float, int]]) -> float:
    """Of the mean over all runs, when clusters are drawn, not runs: the ratio estimator's."""
    n, count = sum(runs for _, runs in clusters), len(clusters)
    mean = sum(total for total, _ in clusters) / n
    squares = sum((total - mean * runs) ** 2 for total, runs in clusters)
    return squares * count / (count - 1) / n**2


# Shifts


def _distribution(group: _Group, settings: CellSettings) -> JsonObject:
    n = group.shifts.total()
    bands = {"green": 0, "amber": 0, "red": 0}
    histogram = [0] * 10
    for shift, runs in group.shifts.items():
        band = "green" if shift < settings.amber_from else "amber" if shift < settings.red_from else "red"
        bands[band] += runs
        histogram[min(9, int(shift * 10 + 1e-9))] += runs  # 0.3 * 10 may be a hair below 3
    shares: JsonObject = {
        band: {"runs": runs, "share": runs / n if n else None, "interval": [*wilson(runs, n)] if n else None}
        for band, runs in bands.items()
    }
    whole: JsonObject = {"n": n, "unscored": group.unscored, **_mean(group, n), "bands": shares}
    return whole | {"quantiles": _quantiles(group.shifts), "histogram": [*histogram]}


def _mean(group: _Group, n: int) -> JsonObject:
    if not n:
        return {"mean": None, "interval": None, "unit": None}
    mean = sum(shift * runs for shift, runs in group.shifts.items()) / n
    clusters, unit = group.shift.scenarios, "scenario"
    if len(clusters) == 1:
        clusters, unit = [(shift, 1) for shift in group.shifts.elements()], "run"
    if len(clusters) < FEW:
        note = f"fewer than {FEW} {unit}s: see the range"
        return {"mean": mean, "interval": None, "unit": unit, "note": note}
    margin = t_quantile(len(clusters) - 1) * sqrt(_variance_of_mean(clusters))
    return {"mean": mean, "interval": [max(0.0, mean - margin), min(1.0, mean + margin)], "unit": unit}


def _quantiles(shifts: Counter[float]) -> JsonObject:
    """The least value that so large a share of the runs does not pass; and the two ends."""
    if not shifts:
        return {}
    ordered, n = sorted(shifts), shifts.total()
    found: JsonObject = {"min": ordered[0], "max": ordered[-1]}
    for name, share in QUANTILES.items():
        reached = 0
        for shift in ordered:
            reached += shifts[shift]
            if reached >= share * n:
                found[name] = shift
                break
    return found


def t_quantile(degrees: int) -> float:
    """Student's t at 97.5 %, by Cornish and Fisher's expansion: within 0.3 % from four degrees on."""
    z = _Z
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3
