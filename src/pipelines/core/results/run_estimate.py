"""Estimates the time and cost of runs from earlier runs of the same agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from pipelines.core.text.json_text import JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEstimate:
    runs: int
    at_once: int
    timed: int  # runs that the time is estimated from; 0: there is no estimate
    run_ms: float | None  # what one of them took, on average
    total_ms: float | None
    priced: int  # runs that said what they cost; 0: there is no estimate
    total_usd: float | None  # of the agent itself
    asked: int = 0  # runs that the platform's own models were asked for, or not; 0: there is no estimate
    model_tokens: int | None = None  # of these models
    model_usd: float | None = None  # None, too, where one of them has no price

    def as_json(self) -> JsonObject:
        return {
            "runs": self.runs,
            "at_once": self.at_once,
            "time": {"from_runs": self.timed, "run_ms": self.run_ms, "total_ms": self.total_ms},
            "agent": {"from_runs": self.priced, "cost_usd": self.total_usd},
            "models": {
                "from_runs": self.asked,
                "cost_usd": self.model_usd,
                "tokens": self.model_tokens,
            },
        }


def estimate_runs(
    runs: int,
    *,
    at_once: int,
    took_ms: Sequence[float],
    cost_usd: Sequence[float],
    model_tokens: Sequence[int] = (),
    model_usd: Sequence[float] | None = None,
) -> RunEstimate:
    """The mean and not the median, since it is a sum that is wanted."""
    at_once = max(1, min(at_once, runs))
    run_ms = fmean(took_ms) if took_ms else None
    return RunEstimate(
        runs=runs,
        at_once=at_once,
        timed=len(took_ms),
        run_ms=run_ms,
        total_ms=run_ms * ceil(runs / at_once) if run_ms is not None else None,
        priced=len(cost_usd),
        total_usd=fmean(cost_usd) * runs if cost_usd else None,
        asked=len(model_tokens),
        model_tokens=round(fmean(model_tokens) * runs) if model_tokens else None,
        model_usd=fmean(model_usd) * runs if model_usd else None,
    )
