"""The timeline of a run as lines of text, in windows.

Texts are truncated and plain; templates escape them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from pipelines.core.agents.placed_messages import thinking_text
from pipelines.core.text.json_text import Json, dumps, loads_own
from pipelines.core.tools.trace_row import OUTCOME_UNKNOWN, TOOL_CALL
from pipelines.engine.runs.read_steps import Timeline, TimelineItem
from pipelines.storage.runs.trace_steps import BRIEF_CHARS, StepBrief, StepOutline
from pipelines.wire.names import MODEL_CALL

WINDOW = 200
LINE_CHARS = 160
#: Sign, colour and label of the events that are not tool calls.
_EVENTS = {
    "assistant_message": ("❝", "", "agent"),
    "thinking": ("…", "", "thinking"),
    "system_prompt": ("§", "", "system prompt"),
    "custom": ("◇", "", "event"),
    "handoff": ("⇢", "violet", "handoff"),
    "subagent_message": ("❝", "", "sub-agent"),
    "subagent_final": ("❞", "", "sub-agent answers"),
    MODEL_CALL: ("✳", "", "model"),
}
_SOURCES = {
    "odyssey": ("●", "blue", "answered by the simulated backend"),
    "injected": ("⚡", "orange", "a declared failure"),
    "passthrough": ("→", "teal", "answered by a live endpoint"),
    "transport_error": ("⌁", "red", "the live endpoint could not be reached"),
}


class Line(NamedTuple):
    name: str  # what links call it
    place: int
    number: str  # shown before it
    sign: str
    colour: str
    means: str  # what the sign says, for those who do not see it
    label: str
    is_tool: bool
    text: str
    status: int | None  # where it is no success
    changes: bool
    lane: int | None
    actor: str | None  # where it is another than that of the line before
    is_failure: bool
    folded: int = 0  # equal calls behind it that have no line of their own


def window_at(place: int, timeline: Timeline) -> range:
    """The window around a line, with as many lines before it as after it: those beside it are there too."""
    start = max(0, min(place - WINDOW // 2, len(timeline.lines) - WINDOW))
    return range(start, min(start + WINDOW, len(timeline.lines)))


def lines_of(timeline: Timeline, briefs: dict[int, StepBrief], window: range) -> list[Line]:
    lanes = {actor: place for place, actor in enumerate(timeline.actors)} if len(timeline.actors) > 1 else {}
    lines, before = [], None
    for place in window:
        line = timeline.lines[place]
        item = line.item
        actor = item.step.actor_id if item.step is not None else None
        actor_shown = actor if lanes and actor != before else None
        before = actor if item.step is not None else before
        made = _line(timeline, item, briefs, place=place, lane=lanes.get(actor or ""), actor=actor_shown)
        lines.append(made._replace(folded=len(line.folded)))
    return lines


def _line(
    timeline: Timeline,
    item: TimelineItem,
    briefs: dict[int, StepBrief],
    *,
    place: int,
    lane: int | None,
    actor: str | None,
) -> Line:
    base = Line(item.name, place, "", "☻", "", "", "", False, "", None, False, lane, actor, False)
    run = timeline.run
    if item.kind == "start":
        return base._replace(number="0", label="user", text=_cut(run.seed.user_instruction))
    if item.kind == "end":
        if run.error_class is not None:
            error_name = run.error_class.replace("_", " ")
            return base._replace(sign="✕", colour="red", label="ended", text=error_name, is_failure=True)
        return base._replace(sign="❞", label="answer", text=_cut(run.final_response or run.status.value))
    if item.message is not None:
        message = timeline.messages[item.message]
        is_user = message.role == "user"
        text = message.text().strip()
        label = "user" if is_user else "agent" if text else "thinking"
        said = text or thinking_text(message) or "…"
        return base._replace(sign="☻" if is_user else "❝", label=label, text=_cut(said))
    assert item.step is not None
    return _step_line(base, item.step, briefs.get(item.step.sequence))


def _step_line(base: Line, step: StepOutline, brief: StepBrief | None) -> Line:
    base = base._replace(number=str(step.sequence))
    if step.kind != TOOL_CALL:
        sign, colour, label = _EVENTS.get(step.kind, ("◇", "", step.kind))
        text = event_text(step.kind, brief.payload if brief is not None else None)
        return base._replace(sign=sign, colour=colour, label=label, text=text)
    sign, colour, means = _SOURCES.get(step.source or "", ("✕", "red", "refused"))
    if step.error_code == OUTCOME_UNKNOWN:
        sign, colour, means = "◌", "amber", "its outcome is unknown"
    is_refused = step.http_status is not None and step.http_status >= 400
    return base._replace(
        sign=sign,
        colour=colour,
        means=means,
        label=step.tool_name or "",
        is_tool=True,
        text=arguments_text(brief.arguments if brief is not None else None),
        status=step.http_status if is_refused else None,
        changes=bool(step.changes),
        is_failure=step.is_failure,
    )


def arguments_text(text: str | None) -> str:
    """`order_id="4521" reason="late"`; for arguments that were cut, the beginning of their JSON."""
    if text is None:
        return ""
    value = _whole(text)
    if not isinstance(value, dict):
        return _cut(text)
    return _cut(" ".join(f"{name}={dumps(part).decode()}" for name, part in value.items()))


def event_text(kind: str, payload: str | None) -> str:
    """The text of an event, from the beginning of its payload."""
    value = _whole(payload) if payload is not None else None
    if kind == MODEL_CALL and isinstance(value, dict):
        return _cut(f"{value.get('model') or 'a model'} of gateway {value.get('gateway')}")
    if kind == "handoff" and isinstance(value, dict):
        target, reason = value.get("to_actor", value.get("to")), value.get("reason")
        return _cut(f"to {target}" + (f": {reason}" if reason else ""))
    if isinstance(value, dict):
        text = next(_texts(value), None)
        return _cut(text if text is not None else dumps(value).decode())
    return _cut(_beginning(payload or ""))


def said_in(payload: Any) -> str | None:
    """The text of an event from its usual fields, if it has one."""
    return next(_texts(payload), None) if isinstance(payload, dict) else None


def _texts(value: dict[str, Any]) -> Iterator[str]:
    return (text for name in ("text", "content", "message") if isinstance(text := value.get(name), str))


def _beginning(text: str) -> str:
    """The first text of a payload that was cut."""
    for name in ("text", "content", "message"):
        _, found, rest = text.partition(f'"{name}":"')
        if found:
            return rest.replace("\\n", " ").replace('\\"', '"')
    return text


def _whole(text: str) -> Json:
    """The parsed payload; None if it was cut."""
    if len(text) >= BRIEF_CHARS:
        return None
    try:
        return loads_own(text)
    except ValueError:
        return None


def _cut(text: str) -> str:
    line = " ".join(text[: 2 * LINE_CHARS].split())
    return line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 1] + "…"
