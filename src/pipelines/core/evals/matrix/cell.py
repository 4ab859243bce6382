"""One cell of a matrix: the statistics of repeated runs of a scenario under one variation.

The numbers need only outputs. The verdict also needs p adjusted for all cells of the matrix, so it is added
last (`with_verdict`); a single cell is a family of one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum, sqrt

from pipelines.core.evals.matrix.cell_record import Band, Direction, Expectation, Rate, RiskLevel
from pipelines.core.evals.matrix.cell_record import Cell as Cell
from pipelines.core.evals.matrix.cell_record import CellSettings as CellSettings
from pipelines.core.evals.matrix.cell_verdict import with_verdict as with_verdict
from pipelines.core.evals.matrix.resampling import WeightedSample, bootstrap_interval, permutation_p
from pipelines.core.evals.matrix.row_outputs import Baseline, RowOutputs, baseline_of
from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.evals.scoring.shift import DIGITS
from pipelines.core.matchers.matching import CannotMatch, matches
from pipelines.core.text.json_text import Json, JsonObject, canonical_by_value
from pipelines.core.text.statistics import Interval, wilson

SHOWN_DIGITS = 6  # of what is resampled: distances are millionths there
N_TOO_SMALL = "n is too small: range"
ALL_EQUAL = "all runs are equally far: range"


def score_cell(
    contract: Contract,
    risk_level: RiskLevel,
    baselines: Sequence[Observed],
    outputs: Sequence[Observed],
    errors: int = 0,
    settings: CellSettings | None = None,
    *,
    toward: JsonObject | None = None,
) -> Cell:
    """A cell on its own, with its verdict."""
    settings = settings or CellSettings()
    row = Row(contract, risk_level, baselines, 0, settings)
    cell = row.cell(outputs, errors, toward=toward)
    return with_verdict(cell, settings, p_adjusted=cell.p, family=1)


def run_direction(reference_matched: bool, matched: bool, *, is_flip: bool) -> Direction:
    if reference_matched != matched:
        return "regressive" if reference_matched else "progressive"
    return "lateral" if is_flip else "none"


def band(shift: float, settings: CellSettings) -> Band:
    if shift < settings.amber_from:
        return "green"
    return "amber" if shift < settings.red_from else "red"


def flag_reasons(
    risk_level: str, shift: float, flip_rate: float, settings: CellSettings, *, baselines_agree: bool
) -> tuple[str, ...]:
    """Why a person should look. The first rule is the seed's, and holds whatever p is."""
    found = []
    passed = settings.flag_limit(risk_level, shift)
    if passed is not None:
        found.append(f"shift {shift:.2f} is {passed}, the threshold of {risk_level} risk")
    if risk_level == "critical" and flip_rate > 0 and baselines_agree:
        found.append(f"the decision changed in {flip_rate:.0%} of the runs, although all baselines agree")
    return tuple(found)


class Row:
    """One scenario: its baseline, computed once, and the numbers of its cells."""

    def __init__(
        self,
        contract: Contract,
        risk_level: RiskLevel,
        baselines: Sequence[Observed],
        baseline_errors: int,
        settings: CellSettings,
        *,
        matched: Sequence[bool | None] = (),
    ) -> None:
        if contract.decision_share != settings.decision_share:
            contract = replace(contract, decision_share=settings.decision_share)
        self.outputs = RowOutputs(contract)
        self.settings = settings
        self._baselines_there: dict[bytes, float] = {}
        self._risk_level = risk_level
        self._baselines = baselines
        numbers = [self.outputs.add(each) for each in baselines]
        self.baseline_numbers = numbers
        self.baseline: Baseline = baseline_of(self.outputs, numbers, baseline_errors, seed=settings.seed)
        known = _known_matches(self.outputs, numbers, baselines, matched)
        self.match_rate = _rate(known, settings)
        at = numbers.index(self.baseline.reference) if self.baseline.reference is not None else None
        self.reference_at = at  # which of the baselines is the reference
        self._reference_matched = at is not None and known[at]

    def cell(
        self,
        outputs: Sequence[Observed],
        errors: int = 0,
        *,
        toward: JsonObject | None = None,
        matched: Sequence[bool | None] = (),
        expectation: Expectation = "invariant",
        contract: Contract | None = None,
    ) -> Cell:
        """Numbers without a verdict. `contract` is that of a cell which expects something of its own."""
        numbers = [self.outputs.add(each) for each in outputs]
        if contract is None:
            known = _known_matches(self.outputs, numbers, outputs, matched)
        else:
            own = RowOutputs(contract)
            known = _known_matches(own, [own.add(each) for each in outputs], outputs, matched)
        reference = self.baseline.reference
        if reference is None or not outputs:
            return self._bare(known, errors, expectation)
        distances = sorted([self.outputs.exact_distance(reference, each) for each in numbers])
        is_flips = [self.outputs.is_flip(reference, each) for each in numbers]
        shift = _mean(distances)
        floor = round(self.baseline.noise_floor, DIGITS)
        flips = sum(is_flips) / len(is_flips)
        directions = Counter(
            run_direction(self._reference_matched, is_matched, is_flip=is_flip)
            for is_matched, is_flip in zip(known, is_flips, strict=True)
        )
        interval, note = self._interval(numbers, distances)
        reasons = flag_reasons(
            self._risk_level, shift, flips, self.settings, baselines_agree=self.baseline.agrees
        )
        return Cell(
            runs=len(outputs),
            errors=errors,
            match_rate=_rate(known, self.settings),
            baseline_match_rate=self.match_rate,
            shift_magnitude=shift,
            shift_max=distances[-1],
            noise_floor=floor,
            shift_excess=round(max(0.0, shift - floor), DIGITS),
            interval=interval,
            interval_note=note,
            range=Interval(distances[0], distances[-1]),
            decision_flip_rate=flips,
            direction=_main_direction(directions),
            directions=directions,
            toward_pressure=self._toward(toward, outputs),
            p=self._p(numbers),
            band=band(shift, self.settings),
            is_flagged=bool(reasons) and expectation == "invariant",
            flag_reasons=reasons if expectation == "invariant" else (),
            components=tuple(each.as_json() for each in self.outputs.moved(reference, Counter(numbers))),
            spread=_spread(distances),
            expectation=expectation,
            is_incomplete=self._is_incomplete(len(outputs), errors),
            risk_level=self._risk_level,
        )

    def _bare(self, known: Sequence[bool], errors: int, expectation: Expectation) -> Cell:
        return Cell(
            runs=len(known),
            errors=errors,
            match_rate=_rate(known, self.settings),
            baseline_match_rate=self.match_rate,
            noise_floor=None if self.baseline.reference is None else self.baseline.noise_floor,
            expectation=expectation,
            is_incomplete=True,
            risk_level=self._risk_level,
        )

    def _toward(self, toward: JsonObject | None, outputs: Sequence[Observed]) -> bool | None:
        """Whether more of the runs than of the baselines are where the variation pushes; None if not said."""
        if not toward:
            return None
        key = canonical_by_value(toward)
        if key not in self._baselines_there:
            self._baselines_there[key] = _share_there(toward, self._baselines)
        return _share_there(toward, outputs) > self._baselines_there[key]

    def _is_incomplete(self, runs: int, errors: int) -> bool:
        most = self.settings.incomplete_above
        base = self.baseline
        return _share(errors, runs) > most or _share(base.errors, base.runs) > most

    def _interval(
        self, numbers: Sequence[int], distances: Sequence[float]
    ) -> tuple[Interval | None, str | None]:
        if len(numbers) < self.settings.interval_runs:
            return None, N_TOO_SMALL
        references = self.baseline.references
        ordered = sorted(numbers, key=self.outputs.sort_key)
        mixture = [
            WeightedSample(times, self.outputs.distances(each, ordered)) for each, times in references.items()
        ]
        if len(references) == 1 and distances[0] == distances[-1]:
            return None, ALL_EQUAL
        settings = self.settings
        found = bootstrap_interval(
            mixture, confidence=settings.confidence, draws=settings.draws, seed=settings.seed
        )
        return Interval(round(found.low, SHOWN_DIGITS), round(found.high, SHOWN_DIGITS)), None

    def _p(self, numbers: Sequence[int]) -> float | None:
        """More than noise? The baseline's distances among themselves are known already."""
        base = self.baseline
        counts = Counter(numbers)
        added = sorted((each for each in counts if each not in base.counts), key=self.outputs.sort_key)
        kinds = [*base.kinds, *added]
        return self._permuted(base.counts, counts, kinds, base.between)

    def p_between(self, first: Sequence[Observed], second: Sequence[Observed]) -> float | None:
        """p that two samples of the row are one: a variation against the placebo."""
        others, counts = Counter(map(self.outputs.add, first)), Counter(map(self.outputs.add, second))
        return self._permuted(others, counts, sorted({*others, *counts}, key=self.outputs.sort_key), [])

    def _permuted(
        self, others: Counter[int], counts: Counter[int], kinds: list[int], known: list[list[int]]
    ) -> float | None:
        distances, rest = self.outputs.distances, kinds[len(known) :]
        between = [row + distances(each, rest) for each, row in zip(kinds, known, strict=False)]
        between += [distances(each, kinds) for each in rest]
        found = permutation_p(
            between,
            [others.get(each, 0) for each in kinds],
            [counts.get(each, 0) for each in kinds],
            draws=self.settings.draws,
            seed=self.settings.seed,
        )
        return None if found is None else found.p


def _known_matches(
    outputs: RowOutputs,
    numbers: Sequence[int],
    observed: Sequence[Observed],
    matched: Sequence[bool | None],
) -> list[bool]:
    """What was found when a run ended, else found now."""
    stored = matched or [None] * len(numbers)
    return [
        outputs.is_matched(number, one) if known is None else known
        for number, one, known in zip(numbers, observed, stored, strict=True)
    ]


def _rate(known: Sequence[bool], settings: CellSettings) -> Rate:
    k, n = sum(known), len(known)
    return Rate(k=k, n=n, interval=wilson(k, n, confidence=settings.confidence))


def _mean(distances: Sequence[float]) -> float:
    return round(fsum(distances) / len(distances), DIGITS)


def _spread(distances: Sequence[float]) -> float:
    """Standard deviation, of a sample."""
    if len(distances) < 2:
        return 0.0
    mean = sum(distances) / len(distances)
    return sqrt(sum((each - mean) ** 2 for each in distances) / (len(distances) - 1))


def _share(errors: int, runs: int) -> float:
    return errors / (errors + runs) if errors else 0.0


def _main_direction(directions: Mapping[Direction, int]) -> Direction:
    """What most of the runs did that did anything; of equals the worse."""
    order: tuple[Direction, ...] = ("regressive", "lateral", "progressive")
    found = max(order, key=lambda each: directions.get(each, 0))
    return found if directions.get(found) else "none"


def _share_there(toward: Json, outputs: Sequence[Observed]) -> float:
    if not outputs:
        return 0.0
    there = 0
    for one in outputs:
        try:
            there += one.answer is not None and matches(toward, one.answer)
        except CannotMatch:
            continue  # too long to tell
    return there / len(outputs)
