"""Turns the entries of a recorded conversation into trace rows, user turns and responses.

All formats are read into the same entries. A reply's HTTP status is seldom recorded, so it is inferred from
the reply, and a note of the run says so.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipelines.core.agents.reply_limits import MAX_FINAL_RESPONSE
from pipelines.core.agents.transcript import Message, TranscriptCall
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.tools.trace_row import OUTCOME_UNKNOWN, TOOL_CALL, TraceRow
from pipelines.wire.names import Source, TraceEventType

FAILED_STATUS, WORKED_STATUS = 400, 200
INFERRED = "HTTP statuses are inferred: a tool reply that reports an error counts as 400, any other as 200"
NO_REPLY = "{count} without a recorded reply: the outcome is not known"
NO_OBJECT = "{count} with arguments that are not a JSON object: they are left out"


class CallOutcome(NamedTuple):
    """What is known about the reply of one tool call."""

    response: Json
    http_status: int | None  # None: none is recorded
    is_error: bool | None = None  # the recording says so beside the reply; None: it says nothing
    source: str = Source.PASSTHROUGH  # something outside this range answered
    error_code: str | None = None
    latency_ms: float | None = None
    actor_id: str | None = None


class Entry(NamedTuple):
    message: Message
    at: str | None = None  # as our timestamps are written
    outcomes: tuple[CallOutcome | None, ...] = ()  # one for each of its tool calls; None: no reply is known


class ConversationRecord(NamedTuple):
    rows: tuple[TraceRow, ...]
    user_turns: tuple[str, ...]
    responses: tuple[str, ...]
    messages: list[Json]
    notes: tuple[str, ...]


def assemble(entries: Sequence[Entry]) -> ConversationRecord:
    numbers = iter(range(1, 1 + sum(1 + len(entry.message.tool_calls) for entry in entries)))
    rows = tuple(row for entry in sorted_by_time(entries) for row in _rows(entry, numbers))
    user_turns, responses = turns_of([entry.message for entry in entries])
    cut = [text for text in responses if len(text) > MAX_FINAL_RESPONSE]
    notes = [*_notes(entries)]
    notes += [f"{len(cut)} of the responses cut at {MAX_FINAL_RESPONSE} characters"] if cut else []
    return ConversationRecord(
        rows,
        user_turns,
        tuple(text[:MAX_FINAL_RESPONSE].replace("\0", "\ufffd") for text in responses),
        [entry.message.as_json() for entry in entries],
        tuple(notes),
    )


def turns_of(messages: Iterable[Message]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the user said, turn by turn, and the agent's last words in each turn that has any. What the agent
    says before the first user message is a greeting and answers nothing. A turn of the agent without
    words counts as an empty response where it is the last one: then the run has no answer."""
    user: list[str] = []
    spoken: list[str] = []
    text, has_acted = "", False
    for message in messages:
        if message.role == "user":
            if user and not has_acted:
                user[-1] = f"{user[-1]}\n{message.text()}"
                continue
            spoken += [text] if user and text else []
            user.append(message.text())
            text, has_acted = "", False
        elif message.role == "assistant" and user:
            text = message.text() if message.text().strip() else text
            has_acted = True
    return tuple(user), (*spoken, text) if has_acted or not spoken else tuple(spoken)


def sorted_by_time(entries: Sequence[Entry]) -> Iterator[Entry]:
    """The entries in their recorded order, with times that never go back: the trace is shown by time."""
    latest = ""
    for entry in entries:
        latest = max(latest, entry.at or "")
        yield entry._replace(at=latest)


def as_arguments(value: Json) -> JsonObject | str:
    """The arguments of a call; as text where they are no object."""
    if value is None or value == "":
        return {}
    if isinstance(value, dict | str):
        return value
    return dumps(value).decode()


def is_error_reply(response: Json) -> bool:
    """Whether a reply says of itself that it is an error, by the usual signs."""
    if isinstance(response, str):
        return response.lstrip().lower().startswith("error")
    if not isinstance(response, dict):
        return False
    return bool(response.get("error")) or response.get("status") == "error" or response.get("isError") is True


def event_row(sequence: int, kind: str, payload: JsonObject, at: str) -> TraceRow:
    return TraceRow(0, sequence, kind, occurred_at=at, payload=dumps(payload).decode())


def _rows(entry: Entry, numbers: Iterator[int]) -> Iterator[TraceRow]:
    message, at = entry.message, entry.at or ""
    if message.role == "system":
        yield event_row(next(numbers), TraceEventType.SYSTEM_PROMPT, {"text": message.text()}, at)
    for call, outcome in zip(message.tool_calls, entry.outcomes, strict=True):
        yield _call_row(next(numbers), call, outcome, at)


def _call_row(sequence: int, call: TranscriptCall, outcome: CallOutcome | None, at: str) -> TraceRow:
    arguments = dumps(call.arguments).decode() if isinstance(call.arguments, dict) else None
    row = TraceRow(
        0,
        sequence,
        TOOL_CALL,
        tool_name=call.name.replace("\0", "\ufffd"),
        arguments=arguments,
        occurred_at=at,
    )
    if outcome is None:  # nobody may hold it against the agent that a reply was not recorded
        return row._replace(source=Source.TRANSPORT_ERROR.value, error_code=OUTCOME_UNKNOWN)
    return row._replace(
        response=dumps(outcome.response).decode(),
        source=str(outcome.source),
        http_status=outcome.http_status if outcome.http_status is not None else _infer_status(outcome),
        error_code=outcome.error_code,
        latency_ms=outcome.latency_ms,
        actor_id=outcome.actor_id,
    )


def _infer_status(outcome: CallOutcome) -> int:
    is_error = outcome.is_error if outcome.is_error is not None else is_error_reply(outcome.response)
    return FAILED_STATUS if is_error else WORKED_STATUS


def _notes(entries: Sequence[Entry]) -> Iterator[str]:
    outcomes = [outcome for entry in entries for outcome in entry.outcomes]
    if any(outcome is not None and outcome.http_status is None for outcome in outcomes):
        yield INFERRED
    if missing := outcomes.count(None):
        yield NO_REPLY.format(count=_calls(missing))
    odd = sum(not isinstance(call.arguments, dict) for entry in entries for call in entry.message.tool_calls)
    if odd:
        yield NO_OBJECT.format(count=_calls(odd))


def _calls(count: int) -> str:
    return f"{count} tool call{'s' if count > 1 else ''}"
