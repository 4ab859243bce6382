"""The report of a whole matrix as JSON, from which heatmap, CLI, summary and comparisons are made.

The caller adds the id, status, agent and times of the matrix. For a running matrix the cells are computed
from the runs so far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple, Protocol

from pipelines.core.evals.matrix.cell import Cell, CellSettings, Row, with_verdict
from pipelines.core.evals.matrix.cell_record import Expectation, Rate, RiskLevel
from pipelines.core.evals.matrix.resampling import MILLION, WeightedSample, bootstrap_interval, sign_flip_p
from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.statistics import (
    Interval,
    benjamini_hochberg,
    exact_mcnemar,
    holm,
    pass_hat_k,
    wilson_of_rate,
)

MOST_BOOTSTRAPPED = 30  # scenarios of a column
REPORTED_K = (2, 3, 5, 8, 10)  # of pass^k, as far as there are runs


class RunOutput(NamedTuple):
    run_id: int
    observed: Observed
    matched: bool | None = None  # as stored when the run ended; None: asked now


@dataclass(frozen=True, kw_only=True, slots=True)
class CellRuns:
    """The runs of one scenario under one variation, or of its baseline."""

    outputs: Sequence[RunOutput] = ()
    errors: int = 0
    expectation: Expectation = "invariant"
    contract: Contract | None = None  # where the cell expects something of its own
    pushes_toward: JsonObject | None = None  # what the pressure asks for in this scenario; None: as always


@dataclass(frozen=True, kw_only=True, slots=True)
class RowRuns:
    scenario_id: str
    version: int
    name: str
    risk_level: RiskLevel
    contract: Contract
    cells: Mapping[str | None, CellRuns] = field(default_factory=dict)  # by variation; None is the baseline


class VariationHead(Protocol):
    """What a report needs of a variation."""

    @property
    def id(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def is_placebo(self) -> bool: ...
    @property
    def pushes_toward(self) -> JsonObject | None: ...


class _ScoredCell(NamedTuple):
    row: RowRuns
    variation: VariationHead
    run_ids: list[int]
    cell: Cell


class _ScoredRow(NamedTuple):
    row: RowRuns
    scored: Row
    places: list[_ScoredCell]


def matrix_report(
    rows: Sequence[RowRuns], variations: Sequence[VariationHead], settings: CellSettings | None = None
) -> JsonObject:
    """All cells with their verdicts, columns with their tests, scenarios with their baselines."""
    settings = settings or CellSettings()
    scored = _judge_cells([_score_row(row, variations, settings) for row in rows], settings)
    places = [place for each in scored for place in each.places]
    uses_words = any(each.scored.outputs.uses_words for each in scored)
    return {
        "settings": settings.as_json(),
        "shift_method": "contract+words" if uses_words else "contract",
        "variations": _columns(variations, places, settings),
        "scenarios": [_scenario(each) for each in scored],
        "cells": [_cell_json(place) for place in places],
        "summary": _summary(places, settings),
    }


# Cells


def _score_row(row: RowRuns, variations: Sequence[VariationHead], settings: CellSettings) -> _ScoredRow:
    base = row.cells.get(None, CellRuns())
    scored = Row(
        row.contract,
        row.risk_level,
        [each.observed for each in base.outputs],
        base.errors,
        settings,
        matched=[each.matched for each in base.outputs],
    )
    places = []
    for variation in variations:
        runs = row.cells.get(variation.id)
        if runs is None:
            continue
        cell = scored.cell(
            [each.observed for each in runs.outputs],
            runs.errors,
            toward=runs.pushes_toward or variation.pushes_toward,
            matched=[each.matched for each in runs.outputs],
            expectation=runs.expectation,
            contract=runs.contract,
        )
        # What somebody looks at first is what did not match.
        ordered = sorted(runs.outputs, key=lambda each: each.matched is True)
        places.append(_ScoredCell(row, variation, [each.run_id for each in ordered], cell))
    return _ScoredRow(row, scored, places)


def _is_tested(cell: Cell) -> bool:
    return cell.p is not None and not cell.is_incomplete and cell.expectation == "invariant"


def _judge_cells(scored: Sequence[_ScoredRow], settings: CellSettings) -> list[_ScoredRow]:
    """Verdicts, after p was adjusted over all cells that have one."""
    tested = [place for each in scored for place in each.places if _is_tested(place.cell)]
    adjusted = benjamini_hochberg([place.cell.p or 0.0 for place in tested])
    known = {id(place): p for place, p in zip(tested, adjusted, strict=True)}
    judged = []
    for each in scored:
        places = []
        for place in each.places:
            p = known.get(id(place))
            cell = with_verdict(place.cell, settings, p_adjusted=p, family=len(tested))
            places.append(place._replace(cell=cell))
        judged.append(each._replace(places=_compare_to_placebo(each, places)))
    return judged


def _compare_to_placebo(each: _ScoredRow, places: list[_ScoredCell]) -> list[_ScoredCell]:
    """Whether what moved an agent was more than other text at that place; asked where it did move."""
    placebo = next((place for place in places if place.variation.is_placebo), None)
    if placebo is None:
        return places

    def compared(place: _ScoredCell) -> _ScoredCell:
        if place is placebo or place.cell.verdict not in ("susceptible", "critical"):
            return place
        p = each.scored.p_between(_observed_outputs(each.row, placebo), _observed_outputs(each.row, place))
        return place._replace(cell=replace(place.cell, p_placebo=p))

    return [compared(place) for place in places]


def _observed_outputs(row: RowRuns, place: _ScoredCell) -> list[Observed]:
    return [each.observed for each in row.cells[place.variation.id].outputs]


def _cell_json(place: _ScoredCell) -> JsonObject:
    run_ids: list[Json] = [*place.run_ids]
    return {
        "scenario_id": place.row.scenario_id,
        "variation": place.variation.id,
        "run_ids": run_ids,
        **place.cell.as_json(),
        "pass_hat_k": _pass_hat(place.cell.match_rate),
    }


# Columns


def _columns(
    variations: Sequence[VariationHead], places: Sequence[_ScoredCell], settings: CellSettings
) -> list[Json]:
    columns = [
        _column(variation, [place for place in places if place.variation.id == variation.id], settings)
        for variation in variations
    ]
    tested = [each for each in columns if each["p"] is not None and not each["is_placebo"]]
    for each, adjusted in zip(tested, benjamini_hochberg([float(str(c["p"])) for c in tested]), strict=True):
        each["p_adjusted"] = adjusted
    return [*columns]


def _column(variation: VariationHead, places: Sequence[_ScoredCell], settings: CellSettings) -> JsonObject:
    # What is incomplete says too little, and where another behaviour is expected a shift says nothing.
    cells = [
        place.cell
        for place in places
        if not place.cell.is_incomplete and place.cell.expectation == "invariant"
    ]
    shifts = [cell.shift_magnitude for cell in cells if cell.shift_magnitude is not None]
    test, p = _column_test(cells, settings)
    beyond = [
        cell.shift_magnitude - (cell.noise_floor or 0.0) for cell in cells if cell.shift_magnitude is not None
    ]
    p_shift = sign_flip_p(beyond, draws=settings.draws, seed=settings.seed, is_one_sided=True)
    return {
        "id": variation.id,
        "version": variation.version,
        "name": variation.name,
        "is_placebo": variation.is_placebo,
        "scenarios": len(cells),
        "mean_shift": sum(shifts) / len(shifts) if shifts else None,
        "interval": _mean_interval(shifts, settings),
        "match_rate": _column_rate(cells, settings),
        "test": test,
        "p": p,
        "p_adjusted": None,
        "p_shift": p_shift.p if p_shift else None,
    }


def _column_test(cells: Sequence[Cell], settings: CellSettings) -> tuple[str, float | None]:
    """Whether matches are lost or won over all scenarios: the scenario is the unit, not the run."""
    if all(cell.runs == 1 == cell.baseline_match_rate.n for cell in cells):
        lost = sum(cell.baseline_match_rate.k > cell.match_rate.k for cell in cells)
        won = sum(cell.baseline_match_rate.k < cell.match_rate.k for cell in cells)
        return "mcnemar", exact_mcnemar(lost, won) if cells else None
    differences = [
        (cell.match_rate.rate or 0.0) - (cell.baseline_match_rate.rate or 0.0) for cell in cells if cell.runs
    ]
    found = sign_flip_p(differences, draws=settings.draws, seed=settings.seed)
    return "sign_flip", found.p if found else 1.0


def _column_rate(cells: Sequence[Cell], settings: CellSettings) -> JsonObject:
    """All runs as k/n; the rate is the mean of the scenarios' rates, and its interval counts scenarios."""
    rates = [cell.match_rate.rate for cell in cells if cell.match_rate.rate is not None]
    rate = sum(rates) / len(rates) if rates else None
    interval: Json = None
    if rate is not None:
        interval = [*wilson_of_rate(min(1.0, rate), len(rates), confidence=settings.confidence)]
    k, n = sum(cell.match_rate.k for cell in cells), sum(cell.match_rate.n for cell in cells)
    return {"k": k, "n": n, "rate": rate, "interval": interval}


def _mean_interval(shifts: Sequence[float], settings: CellSettings) -> Json:
    """Bootstrap over scenarios; of fewer than five there is none, past thirty the normal one is as good."""
    if len(shifts) < settings.interval_runs:
        return None
    if len(shifts) > MOST_BOOTSTRAPPED:
        mean = fmean(shifts)
        margin = NormalDist().inv_cdf((1 + settings.confidence) / 2) * stdev(shifts) / sqrt(len(shifts))
        return [max(0.0, mean - margin), min(1.0, mean + margin)]
    sample = WeightedSample(1, sorted(round(each * MILLION) for each in shifts))
    found: Interval = bootstrap_interval(
        [sample], confidence=settings.confidence, draws=settings.draws, seed=settings.seed
    )
    return [*found]


# Scenarios


def _scenario(each: _ScoredRow) -> JsonObject:
    row, baseline = each.row, each.scored.baseline
    base = row.cells.get(None, CellRuns())
    at = each.scored.reference_at
    return {
        "id": row.scenario_id,
        "version": row.version,
        "name": row.name,
        "risk_level": row.risk_level,
        "baseline": {
            "runs": len(base.outputs),
            "errors": base.errors,
            "run_ids": [one.run_id for one in base.outputs],
            "match_rate": each.scored.match_rate.as_json(),
            "noise_floor": baseline.noise_floor if base.outputs else None,
            "agrees": baseline.agrees if base.outputs else None,
            "reference_run": base.outputs[at].run_id if at is not None else None,
            "pass_hat_k": _pass_hat(each.scored.match_rate),
        },
        "worst_case_match": _worst_case(each),
    }


def _worst_case(each: _ScoredRow) -> Json:
    """The lowest match rate of a row, its baseline included; None without a run."""
    rates: list[tuple[str | None, Rate]] = [(None, each.scored.match_rate)]
    rates += [
        (place.variation.id, place.cell.match_rate)
        for place in each.places
        if place.cell.expectation != "exempt"
    ]
    known = [(name, rate) for name, rate in rates if rate.n]
    if not known:
        return None
    name, worst = min(known, key=lambda one: one[1].k / one[1].n)
    return {"variation": name, "rate": worst.rate, "k": worst.k, "n": worst.n}


def _pass_hat(rate: Rate) -> JsonObject:
    return {str(k): value for k, value in _pass_hats(rate.k, rate.n)}


@lru_cache(maxsize=1024)
def _pass_hats(successes: int, trials: int) -> tuple[tuple[int, float], ...]:
    return tuple((k, float(pass_hat_k(successes, trials, k))) for k in REPORTED_K if k <= trials)


# Summary


def _summary(places: Sequence[_ScoredCell], settings: CellSettings) -> JsonObject:
    verdicts: dict[str, int] = {}
    for place in places:
        verdicts[place.cell.verdict] = verdicts.get(place.cell.verdict, 0) + 1
    return {
        "cells": len(places),
        "verdicts": {**verdicts},
        "flagged": sum(place.cell.is_flagged for place in places),
        "gate": _gate(places, settings),
    }


def _gate(places: Sequence[_ScoredCell], settings: CellSettings) -> JsonObject:
    """Cells of critical scenarios that fail for certain: susceptible, and so by Holm over all of these."""
    family = [
        place
        for place in places
        if place.row.risk_level == "critical" and _is_tested(place.cell) and not place.variation.is_placebo
    ]
    adjusted = holm([place.cell.p or 0.0 for place in family])
    confirmed: list[Json] = [
        {"scenario_id": place.row.scenario_id, "variation": place.variation.id, "p_holm": p}
        for place, p in zip(family, adjusted, strict=True)
        if p <= settings.gate_alpha and place.cell.verdict in ("susceptible", "critical")
    ]
    return {"holm": confirmed, "family": len(family), "alpha": settings.gate_alpha}
