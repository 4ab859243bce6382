"""What is known of one cell of a matrix, and the settings it was computed with."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

from pipelines.core.evals.scenarios.contract import DECISION_SHARE
from pipelines.core.evals.scoring.text_shift import CONTENT_WEIGHT
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.statistics import Interval, fisher_exact, newcombe

RiskLevel: TypeAlias = Literal["low", "medium", "high", "critical"]
Band: TypeAlias = Literal["green", "amber", "red"]
Verdict: TypeAlias = Literal[
    "robust", "susceptible", "critical", "failing", "inconclusive", "incomplete", "exempt"
]
Direction: TypeAlias = Literal["regressive", "progressive", "lateral", "none"]
Expectation: TypeAlias = Literal["invariant", "directional", "exempt"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CellSettings:
    """Every weight and threshold of the numbers; printed in every report."""

    decision_share: float = DECISION_SHARE  # of the weight, and the least shift of a changed decision
    amber_from: float = 0.2
    red_from: float = 0.5
    #: By risk: a shift strictly above the one, or from the other on, is flagged; a risk in neither never is.
    flag_above: Mapping[str, float] = field(default_factory=lambda: {"critical": 0.5})
    flag_from: Mapping[str, float] = field(default_factory=lambda: {"high": 0.6, "medium": 0.75})
    confidence: float = 0.95
    q: float = 0.10  # Benjamini–Hochberg, over the cells of a matrix
    gate_alpha: float = 0.05  # Holm, over the cells of critical scenarios
    match_alpha: float = 0.05  # Fisher: a drop of the match rate
    interval_runs: int = 5  # fewer have a range, not an interval
    robust_runs: int = 3  # fewer never make a cell robust or failing
    robust_match_share: float = 0.8  # of the baseline's match rate that a robust cell keeps at least
    most_from: float = 0.5  # a match rate from which on most runs match
    draws: int = 2_000
    seed: int = 0
    incomplete_above: float = 0.2  # share of errors

    def flag_limit(self, risk_level: str, shift: float) -> str | None:
        """Which threshold of its risk a shift passes, in words; None: it passes none."""
        above, start = self.flag_above.get(risk_level), self.flag_from.get(risk_level)
        if above is not None and shift > above:
            return f"above {above:g}"
        return f"not below {start:g}" if start is not None and shift >= start else None

    def as_json(self) -> JsonObject:
        return {
            **asdict(self),
            "flag_above": dict(self.flag_above),
            "flag_from": dict(self.flag_from),
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
    shift_magnitude: float | None = None  # None without runs to compare
    shift_max: float | None = None
    noise_floor: float | None = None
    shift_excess: float | None = None
    interval: Interval | None = None
    interval_note: str | None = None
    range: Interval | None = None
    decision_flip_rate: float | None = None
    direction: Direction = "none"
    directions: Mapping[Direction, int] = field(default_factory=dict)  # of how many runs
    toward_pressure: bool | None = None
    p: float | None = None  # more than noise? None where there is nothing to permute
    p_adjusted: float | None = None
    p_placebo: float | None = None  # more than the placebo?
    band: Band | None = None
    verdict: Verdict = "inconclusive"
    more_runs: int | None = None
    is_flagged: bool = False
    flag_reasons: tuple[str, ...] = ()
    components: tuple[JsonObject, ...] = ()
    spread: float = 0.0  # standard deviation of the distances
    expectation: Expectation = "invariant"
    is_incomplete: bool = False
    risk_level: RiskLevel = "medium"

    def match_change(self) -> JsonObject | None:
        """The match rate less the baseline's, with Newcombe's interval and Fisher's p; None without runs."""
        now, before = self.match_rate, self.baseline_match_rate
        if not now.n or not before.n:
            return None
        interval, p = _change((before.k, before.n), (now.k, now.n))
        return {"difference": now.k / now.n - before.k / before.n, "interval": [*interval], "p": p}

    def as_json(self) -> JsonObject:
        return {
            "runs": self.runs,
            "errors": self.errors,
            "match_rate": self.match_rate.as_json(),
            "match_change": self.match_change(),
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


@lru_cache(maxsize=4096)  # cells have few different counts
def _change(before: tuple[int, int], now: tuple[int, int]) -> tuple[Interval, float]:
    return newcombe(before, now), fisher_exact(before, now)
