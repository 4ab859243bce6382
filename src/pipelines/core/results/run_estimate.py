"""Estimates the time and cost of runs from earlier runs of the same agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from pipelines.wire.records import Record


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeEstimate(Record, component=""):
    """How long."""

    from_runs: int  # 0: there is no estimate
    run_ms: float | None  # what one of them took, on average
    total_ms: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CostEstimate(Record, component=""):
    """Of the agent."""

    from_runs: int  # runs that reported their cost; 0: there is no estimate
    cost_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelsEstimate(Record, component=""):
    """Of the models that the platform asks."""

    from_runs: int  # whether they asked models or not; 0: there is no estimate
    cost_usd: float | None  # None, too, where one of the models has no price
    tokens: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEstimate(Record):
    """What a batch would take, by what the agent's latest runs took."""

    runs: int
    at_once: int
    time: TimeEstimate
    agent: CostEstimate
    models: ModelsEstimate


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
        time=TimeEstimate(
            from_runs=len(took_ms),
            run_ms=run_ms,
            total_ms=run_ms * ceil(runs / at_once) if run_ms is not None else None,
        ),
        agent=CostEstimate(from_runs=len(cost_usd), cost_usd=fmean(cost_usd) * runs if cost_usd else None),
        models=ModelsEstimate(
            from_runs=len(model_tokens),
            cost_usd=fmean(model_usd) * runs if model_usd else None,
            tokens=round(fmean(model_tokens) * runs) if model_tokens else None,
        ),
    )
