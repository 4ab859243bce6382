"""The waterfall of a run: a bar for each line of its timeline, the agent's own time, and the sums."""

from typing import Any, NamedTuple

from pipelines.core.text.json_text import Json, loads_own
from pipelines.core.tools.step_times import RunTime, StepTime
from pipelines.engine.runs.read_steps import Timeline, TimelineLine
from pipelines.storage.runs.trace_steps import BRIEF_CHARS, StepBrief
from pipelines.wire.names import MODEL_CALL

SCALE = 1000  # units of a bar's drawing; the style sheet stretches it to its column
_THINNEST = 3.0  # units: a call of a long run is still seen
TICKS = 2


class Bar(NamedTuple):
    """One line of the waterfall."""

    x: float
    width: float
    own_x: float  # the agent's own time right before it
    own_width: float
    own_ms: float
    latency_ms: float
    is_model: bool
    tokens: str | None  # where the gateway counted them


def bars_of(timeline: Timeline, briefs: dict[int, StepBrief], window: range) -> dict[int, Bar]:
    """By the place of the line. Events have no bar: nobody knows how long they took."""
    time = timeline.time
    if time is None:
        return {}
    lines = ((place, timeline.lines[place]) for place in window)
    return {place: bar for place, line in lines if (bar := _bar(time, line, briefs)) is not None}


def time_context(timeline: Timeline) -> dict[str, Any] | None:
    """What stands above the waterfall: the sums, and the scale of its bars."""
    time = timeline.time
    if time is None:
        return None
    ticks = [time.total_ms * part / TICKS for part in range(TICKS + 1)]
    return {
        "total_ms": time.total_ms,
        "tools_ms": time.tools_ms,
        "models_ms": time.models_ms,
        "own_ms": time.own_ms,
        "model_calls": model_calls(timeline),
        "ticks": ticks,
    }


def model_calls(timeline: Timeline) -> int:
    return sum(step.kind == MODEL_CALL for step in timeline.steps)


def _bar(time: RunTime, line: TimelineLine, briefs: dict[int, StepBrief]) -> Bar | None:
    steps = [step for step in (line.item.step, *line.folded) if step is not None]
    times = [time.steps[step.sequence] for step in steps if step.sequence in time.steps]
    if not times:
        return None
    first, last = times[0], times[-1]
    x, width = _drawn(time, StepTime(first.start_ms, last.end_ms, 0))
    own_x, own_width = _units(time, first.start_ms - first.own_ms), _units(time, first.own_ms)
    return Bar(
        x=x,
        width=width,
        own_x=own_x,
        own_width=own_width,
        own_ms=sum(each.own_ms for each in times),
        latency_ms=sum(each.end_ms - each.start_ms for each in times),
        is_model=steps[0].kind == MODEL_CALL,
        tokens=_tokens(briefs.get(steps[0].sequence)) if steps[0].kind == MODEL_CALL else None,
    )


def _drawn(time: RunTime, span: StepTime) -> tuple[float, float]:
    width = max(_THINNEST, _units(time, span.end_ms - span.start_ms))
    return min(_units(time, span.start_ms), SCALE - width), width


def _units(time: RunTime, milliseconds: float) -> float:
    return round(milliseconds / time.total_ms * SCALE, 1) if time.total_ms else 0.0


def _tokens(brief: StepBrief | None) -> str | None:
    """`1,200 in, 80 out` of a call to a model, as its gateway counted them."""
    if brief is None or brief.payload is None or len(brief.payload) >= BRIEF_CHARS:
        return None
    payload: Json = loads_own(brief.payload)
    if not isinstance(payload, dict):
        return None
    counts = [
        f"{number:,} {word}"
        for name, word in (("input_tokens", "in"), ("output_tokens", "out"))
        if isinstance(number := payload.get(name), int)
    ]
    return ", ".join(counts) or None
