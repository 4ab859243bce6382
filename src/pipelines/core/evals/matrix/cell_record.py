"""What is known of one cell of a matrix, and the settings it was computed with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal, TypeAlias

from pipelines.core.evals.scenarios.contract import DECISION_SHARE
from pipelines.core.evals.scoring.shift import Component
from pipelines.core.evals.scoring.text_shift import CONTENT_WEIGHT
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.statistics import Interval, fisher_exact, newcombe
from pipelines.wire.records import As, Hidden, Named, Record, shown

KnownInterval: TypeAlias = Annotated[Interval | None, "from and to; null where there is none"]
RiskLevel: TypeAlias = Literal["low", "medium", "high", "critical"]
Band: TypeAlias = Literal["green", "amber", "red"]
Verdict: TypeAlias = Literal[
    "robust", "susceptible", "critical", "failing", "inconclusive", "incomplete", "exempt"
]
Direction: TypeAlias = Literal["regressive", "progressive", "lateral", "none"]
Expectation: TypeAlias = Literal["invariant", "directional", "exempt"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CellSettings(Record):
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

    @shown(after="incomplete_above")
    def detail_share(self) -> float:
        return round(1 - self.decision_share, 9)

    @shown(after="incomplete_above")
    def text_content_weight(self) -> float:
        return CONTENT_WEIGHT

    def flag_limit(self, risk_level: str, shift: float) -> str | None:
        """Which threshold of its risk a shift passes, in words; None: it passes none."""
        above, start = self.flag_above.get(risk_level), self.flag_from.get(risk_level)
        if above is not None and shift > above:
            return f"above {above:g}"
        return f"not below {start:g}" if start is not None and shift >= start else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate(Record, component="MatchRate"):
    """k of n with its interval."""

    k: int
    n: int
    interval: Hidden[Interval]

    @property
    @shown(after="n")
    def rate(self) -> float | None:
        return self.k / self.n if self.n else None

    @shown(after="interval")
    def known_interval(self) -> Annotated[KnownInterval, Named("interval")]:
        return self.interval if self.n else None


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchChange(Record):
    """A difference of rates."""

    difference: float
    interval: Annotated[Interval, As(KnownInterval)]
    p: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell(Record, component="MatrixCell"):
    """A scenario under a variation."""

    runs: int
    errors: int
    match_rate: Rate
    baseline_match_rate: Hidden[Rate]
    shift_magnitude: float | None = None
    shift_max: float | None = None
    noise_floor: float | None = None
    shift_excess: float | None = None
    interval: KnownInterval = None
    interval_note: str | None = None
    range: KnownInterval = None
    decision_flip_rate: float | None = None
    direction: Annotated[Direction, As(str)] = "none"
    directions: Annotated[Mapping[Direction, int], As(dict[str, int])] = field(default_factory=dict)
    toward_pressure: bool | None = None
    p: float | None = None
    p_adjusted: float | None = None
    p_placebo: float | None = None  # more than the placebo?
    band: Band | None = None
    verdict: Annotated[Verdict, As(str)] = "inconclusive"
    more_runs: Annotated[int | None, "that would decide it"] = None
    is_flagged: bool = False
    flag_reasons: tuple[str, ...] = ()
    expectation: Annotated[Expectation, As(str)] = "invariant"
    components: Annotated[tuple[JsonObject, ...], As(tuple[Component, ...])] = ()
    spread: Hidden[float] = 0.0  # standard deviation of the distances
    is_incomplete: Hidden[bool] = False
    risk_level: Hidden[RiskLevel] = "medium"

    @shown(after="match_rate")
    def match_change(self) -> Annotated[MatchChange | None, "against the baseline"]:
        """The match rate less the baseline's, with Newcombe's interval and Fisher's p; None without runs."""
        now, before = self.match_rate, self.baseline_match_rate
        if not now.n or not before.n:
            return None
        interval, p = _change((before.k, before.n), (now.k, now.n))
        return MatchChange(difference=now.k / now.n - before.k / before.n, interval=interval, p=p)


@lru_cache(maxsize=4096)  # cells have few different counts
def _change(before: tuple[int, int], now: tuple[int, int]) -> tuple[Interval, float]:
    return newcombe(before, now), fisher_exact(before, now)
