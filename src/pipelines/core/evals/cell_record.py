"""What is known of one cell of a matrix, and the settings it was computed with."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias

from pipelines.core.evals.contract import DECISION_SHARE
from pipelines.core.evals.text_shift import CONTENT_WEIGHT
from pipelines.core.json_text import JsonObject
from pipelines.core.statistics import Interval

RiskLevel: TypeAlias = Literal["low", "medium", "high", "critical"]
Band: TypeAlias = Literal["green", "amber", "red"]
Verdict: TypeAlias = Literal["robust", "susceptible", "critical", "inconclusive", "incomplete", "exempt"]
Direction: TypeAlias = Literal["regressive", "progressive", "lateral", "none"]
Expectation: TypeAlias = Literal["invariant", "directional", "exempt"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CellSettings:
    """Every weight and threshold of the numbers; printed in every report."""

    decision_share: float = DECISION_SHARE  # of the weight, and the least shift of a changed decision
    amber_from: float = 0.2
    red_from: float = 0.5
    #: Shift strictly above it is flagged; a risk that is not named never is.
    flag_above: Mapping[str, float] = field(
        default_factory=lambda: {"critical": 0.5, "high": 0.6, "medium": 0.75}
    )
    confidence: float = 0.95
    q: float = 0.10  # Benjamini–Hochberg, over the cells of a matrix
    gate_alpha: float = 0.05  # Holm, over the cells of critical scenarios
    match_alpha: float = 0.05  # Fisher: a drop of the match rate
    interval_runs: int = 5  # fewer have a range, not an interval
    robust_runs: int = 3  # fewer never make a cell robust
    draws: int = 2_000
    seed: int = 0
    incomplete_above: float = 0.2  # share of errors

    def as_json(self) -> JsonObject:
        return {
            **asdict(self),
            "flag_above": dict(self.flag_above),
            "detail_share": round(1 - self.decision_share, 9),
            "text_content_weight": CONTENT_WEIGHT,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """k of n with its interval; the rate of nothing is None."""

    k: int
    n: int
    interval: Interval

    @property
    def rate(self) -> float | None:
        return self.k / self.n if self.n else None

    def as_json(self) -> JsonObject:
        return {"k": self.k, "n": self.n, "rate": self.rate, "interval": [*self.interval] if self.n else None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    runs: int
    errors: int
    match_rate: Rate
    baseline_match_rate: Rate
    shift_magnitude: float | None  # None without runs to compare
    shift_max: float | None
    noise_floor: float | None
    shift_excess: float | None
    interval: Interval | None
    interval_note: str | None
    range: Interval | None
    decision_flip_rate: float | None
    direction: Direction
    directions: Mapping[Direction, int]  # of how many runs
    toward_pressure: bool | None
    p: float | None  # more than noise? None where there is nothing to permute
    p_adjusted: float | None = None
    p_placebo: float | None = None  # more than the placebo?
    band: Band | None
    verdict: Verdict = "inconclusive"
    more_runs: int | None = None
    is_flagged: bool
    flag_reasons: tuple[str, ...]
    components: tuple[JsonObject, ...]
    spread: float = 0.0  # standard deviation of the distances
    expectation: Expectation = "invariant"
    is_incomplete: bool = False
    risk_level: RiskLevel = "medium"

    def as_json(self) -> JsonObject:
        return {
            "runs": self.runs,
            "errors": self.errors,
            "match_rate": self.match_rate.as_json(),
            "shift_magnitude": self.shift_magnitude,
            "shift_max": self.shift_max,
            "noise_floor": self.noise_floor,
            "shift_excess": self.shift_excess,
            "interval": [*self.interval] if self.interval else None,
            "interval_note": self.interval_note,
            "range": [*self.range] if self.range else None,
            "decision_flip_rate": self.decision_flip_rate,
            "direction": self.direction,
            "directions": {str(name): count for name, count in self.directions.items()},
            "toward_pressure": self.toward_pressure,
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "p_placebo": self.p_placebo,
            "band": self.band,
            "verdict": self.verdict,
            "more_runs": self.more_runs,
            "is_flagged": self.is_flagged,
            "flag_reasons": [*self.flag_reasons],
            "expectation": self.expectation,
            "components": [*self.components],
        }
