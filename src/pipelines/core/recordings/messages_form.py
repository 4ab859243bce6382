"""OpenAI-style messages as a recording: a list of them, or an object with `messages` and what is beside."""

from collections.abc import Sequence

from pipelines.core.agents.transcript import Message, read_messages
from pipelines.core.recordings.entries import CallOutcome, Entry, assemble
from pipelines.core.recordings.recorded_run import RecordedRun, inside
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.tools.mcp_answers import decode_text

NO_USER = "has no user message, so the request is not known"


def is_message(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def read_message_run(value: Json, place: str, problems: list[Problem]) -> RecordedRun | None:
    """The run, or None with what is wrong added to `problems`."""
    listed = value.get("messages") if isinstance(value, dict) else value
    path = inside(place, "/messages") if isinstance(value, dict) else place
    messages, found = read_messages(_with_system_role(listed), path)
    if found:
        problems.extend(found)
        return None
    raw = listed if isinstance(listed, list) else []
    entries = _entries(messages, raw, path, problems)
    if not any(message.role == "user" for message in messages):
        problems.append(Problem(path=path, message=NO_USER))
    recorded = assemble(entries)
    return RecordedRun(
        format="messages",
        place=place,
        user_turns=recorded.user_turns,
        responses=recorded.responses,
        rows=recorded.rows,
        messages=recorded.messages,
        tools=value.get("tools") if isinstance(value, dict) else None,
        notes=recorded.notes,
    )


def _with_system_role(listed: Json) -> Json:
    """Newer models call the system's role `developer`."""
    if not isinstance(listed, list):
        return listed
    return [
        {**message, "role": "system"}
        if isinstance(message, dict) and message.get("role") == "developer"
        else message
        for message in listed
    ]


def _entries(
    messages: Sequence[Message], raw: Sequence[Json], path: str, problems: list[Problem]
) -> list[Entry]:
    """Each call with the reply to it. An id that is used again names the latest call that has it."""
    outcomes: list[list[CallOutcome | None]] = [[None] * len(message.tool_calls) for message in messages]
    open_calls: dict[str, tuple[int, int]] = {}
    answered: set[str] = set()
    for index, message in enumerate(messages):
        for number, call in enumerate(message.tool_calls):
            open_calls[call.id] = (index, number)
        if message.role != "tool":
            continue
        called = message.tool_call_id or ""
        place = open_calls.pop(called, None)
        if place is None:
            why = "already has a reply" if called in answered else "no earlier message makes"
            problems.append(_unmatched_reply(path + pointer([index]), called, why))
            continue
        answered.add(called)
        outcomes[place[0]][place[1]] = _outcome(message, raw[index])
    return [Entry(message, outcomes=tuple(outcomes[index])) for index, message in enumerate(messages)]


def _unmatched_reply(path: str, called: str, why: str) -> Problem:
    return Problem(
        path=f"{path}/tool_call_id",
        message=f"answers the tool call `{called[:80]}`, which {why}",
        hint="`tool_call_id` must be the `id` of a call in `tool_calls` of an earlier assistant message",
    )


def _outcome(message: Message, raw: Json) -> CallOutcome:
    extras: JsonObject = raw if isinstance(raw, dict) else {}
    status = extras.get("is_error", extras.get("status"))
    is_error = True if status is True or status == "error" else None
    return CallOutcome(decode_text(message.text()), None, is_error)
