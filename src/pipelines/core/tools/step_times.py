"""When each step of a run began and ended, and how long the agent worked by itself between them.

A step covers the time in which a tool or a model was asked. What no step covers is the agent's own time.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from pipelines.core.tools.trace_row import TOOL_CALL
from pipelines.wire.names import MODEL_CALL


class TimedRow(NamedTuple):
    """One row of the log, as far as its time goes."""

    sequence: int
    kind: str
    occurred_at: str
    latency_ms: float | None


class StepTime(NamedTuple):
    """All in milliseconds after the start of the run."""

    start_ms: float
    end_ms: float
    own_ms: float  # the agent's own time right before the step: nothing was under way


class RunTime(NamedTuple):
    steps: dict[int, StepTime]  # by sequence; only tool calls and calls of a model gateway
    total_ms: float
    tools_ms: float  # the latencies of all tool calls; calls at the same time count each
    models_ms: float
    own_ms: float  # of the whole run, in which no step was under way


def run_time(rows: Sequence[TimedRow], began: str | None, ended: str | None) -> RunTime | None:
    """`began` is when the run was sent to the agent. None for a run that was never sent."""
    if began is None:
        return None
    start = datetime.fromisoformat(began)

    def after_start(moment: str) -> float:
        return (datetime.fromisoformat(moment) - start).total_seconds() * 1000

    spans = sorted(_spans(rows, after_start), key=lambda span: (span.start_ms, span.sequence))
    covered = own = 0.0
    steps: dict[int, StepTime] = {}
    for span in spans:
        gap = max(0.0, span.start_ms - covered)
        steps[span.sequence] = StepTime(span.start_ms, span.end_ms, gap)
        own += gap
        covered = max(covered, span.end_ms)
    total = max(covered, after_start(ended) if ended is not None else 0.0)
    return RunTime(
        steps=steps,
        total_ms=total,
        tools_ms=sum(span.end_ms - span.start_ms for span in spans if not span.is_model),
        models_ms=sum(span.end_ms - span.start_ms for span in spans if span.is_model),
        own_ms=own + total - covered,
    )


class _Span(NamedTuple):
    sequence: int
    start_ms: float
    end_ms: float
    is_model: bool


def _spans(rows: Sequence[TimedRow], after_start: Callable[[str], float]) -> Iterable[_Span]:
    """The log has the end of a tool call, and the beginning of a call to a model."""
    for row in rows:
        if row.kind not in (TOOL_CALL, MODEL_CALL):
            continue
        moment, length = after_start(row.occurred_at), row.latency_ms or 0.0
        is_model = row.kind == MODEL_CALL
        first = moment if is_model else moment - length
        # Clocks of two nodes may differ: no step begins before its run.
        yield _Span(row.sequence, max(0.0, first), max(0.0, first) + length, is_model)
