"""The dispatch that an adapter runs: actor ids, trace events, and tool calls through the proxy.

All adapters share it. Events are best effort: an agent does not fail because an event cannot be sent.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...wire.envelope import Envelope
from ...wire.names import TraceEventType
from ..calls import async_proxy_call_with, proxy_call_with
from ..context import current, set_current
from ..errors import CallFailed, ToolFailed
from ..events import async_try_post_trace_event, try_post_trace_event
from .conversation import Message, as_text, text_of

log = logging.getLogger(__name__)
MOST_LABELS = 8  # of an actor id, and characters of each: what the proxy takes
MOST_CHARACTERS = 64


class MissingFramework(ImportError):
    """An adapter was imported without its framework."""

    def __init__(self, requirement: str) -> None:
        super().__init__(f"this adapter needs its framework: pip install '{requirement}'")


class Event(NamedTuple):
    kind: TraceEventType
    payload: dict[str, Any]


class Outcome(NamedTuple):
    """The result of a tool call as the model reads it."""

    text: str
    is_error: bool


@dataclass(slots=True)
class Run:
    """One dispatch that is running."""

    envelope: Envelope
    #: The actors whose system prompt is already in the trace.
    reported_prompts: set[str | None] = field(default_factory=set)
    #: Messages of the agent that the user talks to, for frameworks that report them one by one.
    messages: list[Message] = field(default_factory=list)
    #: Model calls so far and allowed, by actor, where the framework does not count them itself.
    turns: Counter[str | None] = field(default_factory=Counter)
    max_turns: int | None = None
    #: Tools that stayed live.
    uncovered: list[str] = field(default_factory=list)
    #: The actor of the last step, where agents take turns.
    last_actor: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    #: Set when the proxy is lost. Some frameworks turn every exception of a tool into text for the model.
    broken: CallFailed | None = None

    def add_tokens(self, input_tokens: int | None, output_tokens: int | None) -> None:
        self.input_tokens += input_tokens or 0
        self.output_tokens += output_tokens or 0


_RUN: ContextVar[Run | None] = ContextVar("pipelines_odyssey_adapter_run", default=None)


@contextmanager
def bind_run(envelope: Envelope) -> Iterator[Run]:
    """Bind a dispatch. A lost proxy is raised at the end, even if the framework hid it."""
    run = Run(envelope)
    token = _RUN.set(run)
    try:
        with set_current(envelope):
            yield run
    except Exception:
        if run.broken is None:
            raise
    finally:
        _RUN.reset(token)
    if run.broken is not None:
        raise run.broken


def current_run() -> Run | None:
    """The dispatch that is running here; None for an agent that is run by hand."""
    return _RUN.get()


# -- actors


def actor_label(name: str | None) -> str:
    """An agent's name as one label of an actor id: `Refund desk` becomes `Refund_desk`.

    >>> actor_label("Refund desk")
    'Refund_desk'
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", (name or "").strip())[:MOST_CHARACTERS].strip("_") or "agent"


def subagent_actor(parent: str, name: str | None) -> str:
    """The actor id of an agent that another one called: `supervisor/refunds`. Too deep a path is cut."""
    labels = [*parent.split("/"), actor_label(name)]
    return "/".join(labels if len(labels) <= MOST_LABELS else [labels[0], *labels[1 - MOST_LABELS :]])


def envelope_for(actor: str | None) -> Envelope:
    """The bound envelope for this actor; None stands for a single agent."""
    envelope = current()
    return envelope if actor is None else envelope.for_actor(actor)


# -- tool calls


def call_tool(tool: str, arguments: Mapping[str, Any], actor: str | None = None) -> Outcome:
    """Call a tool. A failed tool returns the backend's error; a lost proxy raises CallFailed."""
    try:
        return Outcome(as_text(proxy_call_with(envelope_for(actor), tool, arguments)), False)
    except ToolFailed as failed:
        return Outcome(as_text(failed.response), True)
    except CallFailed as lost:
        raise _remember_lost_proxy(lost) from None


async def async_call_tool(tool: str, arguments: Mapping[str, Any], actor: str | None = None) -> Outcome:
    try:
        return Outcome(as_text(await async_proxy_call_with(envelope_for(actor), tool, arguments)), False)
    except ToolFailed as failed:
        return Outcome(as_text(failed.response), True)
    except CallFailed as lost:
        raise _remember_lost_proxy(lost) from None


def _remember_lost_proxy(lost: CallFailed) -> CallFailed:
    run = _RUN.get()
    if run is not None:
        run.broken = lost
    return lost


def invalid_arguments(tool: str) -> Outcome:
    """The outcome of arguments that are not a JSON object, which the proxy does not accept."""
    error = {"code": "invalid_arguments", "message": f"the arguments of {tool} must be a JSON object"}
    return Outcome(as_text({"error": error}), True)


# -- trace events


def message_events(message: Message, *, is_subagent: bool = False) -> list[Event]:
    """A message of the assistant as trace events: its thoughts, then its text."""
    spoken = TraceEventType.SUBAGENT_MESSAGE if is_subagent else TraceEventType.ASSISTANT_MESSAGE
    thoughts = [str(block.get("text") or "") for block in message.get("thinking") or ()]
    events = [Event(TraceEventType.THINKING, {"text": thought}) for thought in thoughts if thought]
    text = text_of(message)
    return [*events, Event(spoken, {"text": text})] if text else events


def prompt_events(system_prompt: str | None, actor: str | None = None) -> list[Event]:
    """An event with the system prompt, once for each actor of a run."""
    run = _RUN.get()
    if not system_prompt or run is None or actor in run.reported_prompts:
        return []
    run.reported_prompts.add(actor)
    return [Event(TraceEventType.SYSTEM_PROMPT, {"text": system_prompt})]


def handoff_events(from_actor: str | None, to_actor: str) -> list[Event]:
    return [Event(TraceEventType.HANDOFF, {"from_actor": from_actor, "to_actor": to_actor})]


def final_events(text: str) -> list[Event]:
    """An event with the result that a sub-agent returns to its caller."""
    return [Event(TraceEventType.SUBAGENT_FINAL, {"text": text})]


def uncovered_events(names: list[str]) -> list[Event]:
    """An event for tools that act outside the simulated world; each is also logged once and in the reply."""
    run = _RUN.get()
    new = [name for name in names if run is not None and name not in run.uncovered]
    if run is None or not new:
        return []
    run.uncovered += new
    log.warning("not proxied, so not simulated: %s", ", ".join(new))
    return [Event(TraceEventType.CUSTOM, {"uncovered_tools": new})]


def post_events(events: Iterable[Event], actor: str | None = None) -> None:
    for event in events:
        try_post_trace_event(event.kind, event.payload, envelope=envelope_for(actor))


async def async_post_events(events: Iterable[Event], actor: str | None = None) -> None:
    for event in events:
        await async_try_post_trace_event(event.kind, event.payload, envelope=envelope_for(actor))


# -- tools schema


def as_tools_schema(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry per name. Raises ValueError if two tools of one name have different schemas."""
    found: dict[str, dict[str, Any]] = {}
    clashes: list[str] = []
    for tool in tools:
        entry = {
            "name": tool["name"],
            "description": tool.get("description") or "",
            "input_schema": tool.get("input_schema") or {"type": "object", "properties": {}},
        }
        known = found.setdefault(entry["name"], entry)
        if known["input_schema"] != entry["input_schema"] and entry["name"] not in clashes:
            clashes.append(entry["name"])
    if clashes:
        raise ValueError(
            f"two tools with different schemas share a name: {', '.join(clashes)}; "
            "rename one of each, since the platform knows a tool by its name"
        )
    return list(found.values())
