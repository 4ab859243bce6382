"""ATIF trajectories as a recording: our own, whose `extra` says how each call was answered, and those of
others by the public fields. What a call changed is in none of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.core.agents.reply_limits import MAX_MESSAGES
from pipelines.core.agents.transcript import MalformedMessage, Message, Role, TranscriptCall
from pipelines.core.recordings.entries import CallOutcome, Entry, as_arguments, assemble
from pipelines.core.recordings.messages_form import NO_USER
from pipelines.core.recordings.moments import format_moment
from pipelines.core.recordings.recorded_run import RecordedRun, TaskName, inside
from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import Json, JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.tools.mcp_answers import decode_text
from pipelines.core.tools.trace_row import OUTCOME_UNKNOWN
from pipelines.wire.names import MODEL_CALL, Source, TraceEventType

_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "agent": "assistant"}
#: Events of ours that are words of the agent itself; the others are about it, and no part of what it said.
_OWN_WORDS = (TraceEventType.ASSISTANT_MESSAGE, TraceEventType.THINKING, TraceEventType.SYSTEM_PROMPT)


def is_trajectory(value: Json) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        return False
    version = value.get("schema_version")
    return (isinstance(version, str) and version.startswith("ATIF")) or isinstance(value.get("agent"), dict)


def read_trajectory(value: JsonObject, place: str, problems: list[Problem]) -> RecordedRun | None:
    path, before = inside(place, "/steps"), len(problems)
    steps: Any = value["steps"]
    if len(steps) > MAX_MESSAGES:
        message = f"has {len(steps):,} steps; at most {MAX_MESSAGES:,} are allowed"
        problems.append(Problem(path=path, message=message))
        return None
    entries = [
        entry
        for index, step in enumerate(steps)
        for entry in _entries(step, path + pointer([index]), problems)
    ]
    if not any(entry.message.role == "user" for entry in entries):
        problems.append(Problem(path=path, message=NO_USER))
    if len(problems) > before:
        return None
    entries_read = assemble(entries)
    agent, extra = _object(value.get("agent")), _object(value.get("extra"))
    session, model = value.get("session_id"), agent.get("model_name")
    return RecordedRun(
        format="atif",
        place=place,
        name=session if isinstance(session, str) else None,
        task=_task_of(extra),
        user_turns=entries_read.user_turns,
        responses=entries_read.responses,
        rows=entries_read.rows,
        messages=entries_read.messages,
        metadata={"model": model} if isinstance(model, str) else None,
        tools=agent.get("tool_definitions"),
        now=next((entry.at for entry in entries if entry.at is not None), None),
        notes=entries_read.notes,
    )


def _task_of(extra: JsonObject) -> TaskName | None:
    """Of our own trajectory: the task on the server that the run was made on."""
    task_id = extra.get("task_id")
    return TaskName("extra.task_id", task_id, is_certain=False) if isinstance(task_id, int) else None


def _entries(step: Json, path: str, problems: list[Problem]) -> Iterator[Entry]:
    """A step is one message, and the replies to its calls, which are messages of their own."""
    try:
        if not isinstance(step, dict):
            raise MalformedMessage(path, f"must be an object, not {kind(step)}")
        if _is_skipped(_object(step.get("extra"))):
            return
        message, outcomes = _message(step, path)
    except MalformedMessage as malformed:
        problems.append(malformed.problem)
        return
    at = format_moment(step.get("timestamp"))
    yield Entry(message, at, outcomes)
    for call, outcome in zip(message.tool_calls, outcomes, strict=True):
        if outcome is not None:
            content = _text(outcome.response)
            yield Entry(Message(role="tool", content=content, tool_call_id=call.id), at)


def _is_skipped(extra: JsonObject) -> bool:
    event = extra.get("event_type")
    return extra.get("kind") == MODEL_CALL or (isinstance(event, str) and event not in _OWN_WORDS)


def _message(step: JsonObject, path: str) -> tuple[Message, tuple[CallOutcome | None, ...]]:
    source = step.get("source")
    role = _ROLES.get(source) if isinstance(source, str) else None
    if role is None:
        raise MalformedMessage(f"{path}/source", "must be `system`, `user` or `agent`")
    calls = tuple(_calls(step.get("tool_calls"), f"{path}/tool_calls"))
    if calls and role != "assistant":
        raise MalformedMessage(f"{path}/tool_calls", "are allowed on steps of the agent only")
    reasoning = step.get("reasoning_content")
    message = Message(
        role=role,
        content=_content(step.get("message"), f"{path}/message"),
        tool_calls=calls,
        thinking=({"type": "thinking", "thinking": reasoning},) if isinstance(reasoning, str) else (),
    )
    return message, _outcomes(step, calls, path)


def _calls(value: Json, path: str) -> Iterator[TranscriptCall]:
    if value is not None and not isinstance(value, list):
        raise MalformedMessage(path, f"must be a list, not {kind(value)}")
    for index, call in enumerate(value or ()):
        here = path + pointer([index])
        if not isinstance(call, dict):
            raise MalformedMessage(here, f"must be an object, not {kind(call)}")
        id, name, arguments = call.get("tool_call_id"), call.get("function_name"), call.get("arguments")
        if not isinstance(id, str) or not id:
            raise MalformedMessage(f"{here}/tool_call_id", "must be a non-empty string")
        if not isinstance(name, str) or not name:
            raise MalformedMessage(f"{here}/function_name", "must be a non-empty string")
        yield TranscriptCall(id=id, name=name, arguments=as_arguments(arguments))


def _outcomes(
    step: JsonObject, calls: tuple[TranscriptCall, ...], path: str
) -> tuple[CallOutcome | None, ...]:
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    found: dict[str, CallOutcome | None] = {}
    for index, result in enumerate(results if isinstance(results, list) else ()):
        here = f"{path}/observation/results/{index}"
        body = _object(result)
        called = body.get("source_call_id")
        if called is None and len(calls) == 1:
            called = calls[0].id
        if called is None:  # what the environment said by itself
            continue
        if not any(call.id == called for call in calls):
            message = f"answers the tool call `{str(called)[:80]}`, which its step does not make"
            raise MalformedMessage(f"{here}/source_call_id", message)
        content = _text(_content(body.get("content"), f"{here}/content"))
        found[str(called)] = _outcome(content, _object(step.get("extra")))
    return tuple(found.get(call.id) for call in calls)


def _outcome(content: str, extra: JsonObject) -> CallOutcome | None:
    """By our own `extra`, where it is there: a step of ours has one call."""
    status, source, code = extra.get("http_status"), extra.get("source"), extra.get("error_code")
    if code == OUTCOME_UNKNOWN:
        return None
    is_ours = isinstance(source, str) and source in tuple(Source)
    latency, actor = extra.get("latency_ms"), extra.get("actor_id")
    return CallOutcome(
        response=decode_text(content),
        http_status=status if isinstance(status, int) else None,
        source=source if is_ours and isinstance(source, str) else Source.PASSTHROUGH,
        error_code=code if is_ours and isinstance(code, str) else None,
        latency_ms=latency if isinstance(latency, int | float) else None,
        actor_id=actor if isinstance(actor, str) else None,
    )


def _content(value: Json, path: str) -> str:
    """Text, or the text among parts."""
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, list):
        raise MalformedMessage(path, f"must be text or a list of parts, not {kind(value)}")
    texts = (part.get("text") for part in value if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
