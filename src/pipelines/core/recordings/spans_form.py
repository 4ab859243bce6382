"""OTLP GenAI spans as recordings: a run is a trace, or all traces of one conversation.

Words come from the messages on the spans of model calls, calls from `execute_tool` spans, matched by the id
of the call. Where a trace has no such spans, the messages tell the calls too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pipelines.core.agents.transcript import Message, TranscriptCall
from pipelines.core.evals.telemetry.otlp import UnreadableSpan, spans_of
from pipelines.core.evals.telemetry.spans import Span, is_skill_span, skill_use
from pipelines.core.recordings.entries import CallOutcome, Entry, as_arguments, assemble
from pipelines.core.recordings.genai_messages import (
    INPUT,
    OUTPUT,
    MessageWithReplies,
    instructions_in,
    messages_in,
)
from pipelines.core.recordings.messages_form import NO_USER
from pipelines.core.recordings.moments import moment_of_ns
from pipelines.core.recordings.recorded_run import RecordedRun, TaskName
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused

CONVERSATION, CALL_ID, OPERATION = "gen_ai.conversation.id", "gen_ai.tool.call.id", "gen_ai.operation.name"
TASK = "pipelines.task"  # an attribute of a span or a resource: which task the run was given
_MODEL_CALLS = ("chat", "generate_content", "text_completion")
NO_WORDS = "has no messages, so the agent's answers are not known and cannot be judged"
WORDS_HINT = (
    f"record `{INPUT}` and `{OUTPUT}` on the spans of model calls; exporters leave them out by default"
)
UNREADABLE = "has a span that cannot be read"
LEFT_OUT = "{count} with another history, such as a sub-agent's, left out"


def is_telemetry(value: Json) -> bool:
    if isinstance(value, dict):
        return "resourceSpans" in value or "resource_spans" in value
    return isinstance(value, list) and bool(value) and all(_is_plain_span(item) for item in value)


def _is_plain_span(value: Json) -> bool:
    return isinstance(value, dict) and "attributes" in value and ("trace_id" in value or "traceId" in value)


def read_span_runs(value: Json, place: str, problems: list[Problem]) -> list[RecordedRun]:
    try:
        read = list(spans_of(dumps(value), "json", may_be_list=True))
    except Refused as refused:
        problems.extend(replace(each, path=place) for each in refused.problems)
        return []
    bad = [each.reason for each in read if isinstance(each, UnreadableSpan)]
    problems.extend(Problem(path=place, message=f"{UNREADABLE}: {reason}") for reason in bad)
    spans = [each for each in read if isinstance(each, Span)]
    groups = _conversations(spans)
    if not groups and not bad:
        problems.append(Problem(path=place, message="has no spans"))
    runs = (_run(name, traces, place, problems) for name, traces in groups.items())
    return [run for run in runs if run is not None]


def _conversations(spans: Iterable[Span]) -> dict[str, list[list[Span]]]:
    """The traces of each run, in the order they began, by the name of the run."""
    traces: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda span: span.start_ns):
        traces.setdefault(span.trace_id, []).append(span)
    found: dict[str, list[list[Span]]] = {}
    for trace_id, own in traces.items():
        names = (span.attributes.get(CONVERSATION) for span in own)
        name = next((each for each in names if isinstance(each, str) and each), trace_id)
        found.setdefault(name, []).append(own)
    return found


class _TraceTurn(NamedTuple):
    """What a trace adds to a conversation."""

    messages: list[MessageWithReplies]
    tools: list[Span]
    left_out: int  # model calls whose messages are no part of it


def _run(name: str, traces: list[list[Span]], place: str, problems: list[Problem]) -> RecordedRun | None:
    known: list[MessageWithReplies] = []
    turns: list[_TraceTurn] = []
    for trace in traces:
        turn = _turn(trace, known)
        known += turn.messages
        turns.append(turn)
    if not any(each.message.role == "assistant" for each in known):
        message = f"run {name[:80]} {NO_WORDS}"
        problems.append(Problem(path=place, message=message, hint=WORDS_HINT))
        return None
    if not any(each.message.role == "user" for each in known):
        problems.append(Problem(path=place, message=f"run {name[:80]} {NO_USER}", hint=WORDS_HINT))
        return None
    spans = [span for trace in traces for span in trace]
    system = dict.fromkeys(text for span in spans for text in instructions_in(span.attributes))
    entries = [Entry(Message(role="system", content=text)) for text in system]
    entries += [entry for turn in turns for entry in _entries(turn)]
    recorded = assemble(entries)
    left_out = sum(turn.left_out for turn in turns)
    notes = [LEFT_OUT.format(count=f"{left_out} model call{'s' if left_out > 1 else ''}")] if left_out else []
    return RecordedRun(
        format="otlp",
        place=place,
        name=name,
        task=_task_of(spans),
        user_turns=recorded.user_turns,
        responses=recorded.responses,
        rows=recorded.rows,
        messages=recorded.messages,
        now=next((moment for span in spans if (moment := moment_of_ns(span.start_ns))), None),
        notes=(*recorded.notes, *notes),
    )


def _task_of(spans: Iterable[Span]) -> TaskName | None:
    tasks = (each.get(TASK) for span in spans for each in (span.attributes, span.resource))
    value = next((each for each in tasks if isinstance(each, str | int) and not isinstance(each, bool)), None)
    return TaskName(TASK, value) if value is not None else None


def _turn(trace: Sequence[Span], known: list[MessageWithReplies]) -> _TraceTurn:
    """Each call to the model sends what was said before, so the messages of the last one tell all."""
    models = [span for span in trace if messages_in(span.attributes)]
    chats = [span for span in models if span.attributes.get(OPERATION) in _MODEL_CALLS]
    history: list[MessageWithReplies] = []
    left_out = 0
    for span in chats or models:
        messages = messages_in(span.attributes)
        if _begins_with(messages, history):
            history = messages
        else:
            left_out += 1
    new = history[len(known) :] if _begins_with(history, known) else history
    return _TraceTurn(new, [span for span in trace if is_skill_span(span.name, span.attributes)], left_out)


def _begins_with(told: Sequence[MessageWithReplies], start: Sequence[MessageWithReplies]) -> bool:
    return [each.signature for each in told[: len(start)]] == [each.signature for each in start]


def _entries(turn: _TraceTurn) -> Iterator[Entry]:
    """The messages in order; calls that only spans tell stand before the agent's last words."""
    replies = {reply.call_id: reply.response for message in turn.messages for reply in message.replies}
    waiting = list(turn.tools)
    entries: list[Entry] = []
    for message in turn.messages:
        if message.replies:
            entries += [_tool_entry(reply.call_id, reply.response) for reply in message.replies]
            continue
        found = [(call, _take_span(call, waiting)) for call in message.message.tool_calls]
        outcomes = tuple(_outcome(call, span, replies) for call, span in found)
        at = next((moment_of_ns(span.start_ns) for _, span in found if span is not None), None)
        entries.append(Entry(message.message, at, outcomes))
    spoken = [index for index, entry in enumerate(entries) if entry.message.role == "assistant"]
    last = spoken[-1] if spoken else len(entries)
    yield from entries[:last]
    for span in waiting:
        yield from _from_span(span)
    yield from entries[last:]


def _take_span(call: TranscriptCall, waiting: list[Span]) -> Span | None:
    """The span of a call: by its id, and where spans or messages have none, the next one of its tool."""
    for span in waiting:
        id = span.attributes.get(CALL_ID)
        is_it = id == call.id if isinstance(id, str) and call.id else skill_use(span).skill == call.name
        if is_it:
            waiting.remove(span)
            return span
    return None


def _outcome(call: TranscriptCall, span: Span | None, replies: dict[str, Json]) -> CallOutcome | None:
    if span is not None:
        own = _span_outcome(span)
        return own if own.response is not None else own._replace(response=replies.get(call.id))
    return CallOutcome(replies[call.id], None) if call.id in replies else None


def _span_outcome(span: Span) -> CallOutcome:
    """A span that ended well says so of its call, also where the reply was not captured."""
    use = skill_use(span)
    failed = span.status == "error"
    error: JsonObject = {"error": span.attributes.get("error.type") or "the call failed"}
    response = error if failed and use.outcome is None else use.outcome
    latency = (span.end_ns - span.start_ns) / 1e6 if 0 < span.start_ns <= span.end_ns else None
    is_error = True if failed else None if response is not None else False
    return CallOutcome(response, None, is_error, latency_ms=latency, actor_id=None)


def _from_span(span: Span) -> Iterator[Entry]:
    use, outcome = skill_use(span), _span_outcome(span)
    id = str(span.attributes.get(CALL_ID) or span.span_id)
    call = TranscriptCall(id=id, name=use.skill, arguments=as_arguments(use.input))
    at = moment_of_ns(span.start_ns)
    yield Entry(Message(role="assistant", tool_calls=(call,)), at, (outcome,))
    yield _tool_entry(id, outcome.response)


def _tool_entry(call_id: str, response: Json) -> Entry:
    content = response if isinstance(response, str) else dumps(response).decode()
    return Entry(Message(role="tool", content=content, tool_call_id=call_id or "call"))
