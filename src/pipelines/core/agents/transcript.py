"""Transcripts in the rich message shape: what was said and called, by whom, in order.

Agents send them in several dialects; here they are read into one, or found malformed. Which of the tool calls
in them really happened is not decided here: the trace of the proxy says that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pipelines.core.agents.reply_limits import MAX_MESSAGES
from pipelines.core.text.authored import kind, quote_names
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads, pointer
from pipelines.core.text.problems import Problem
from pipelines.wire.records import Mark, Omitted, Record, Via

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)

#: Text, parts such as `{"type": "text", "text": …}`, or nothing (a turn that is purely a tool call).
Content: TypeAlias = str | tuple[JsonObject, ...] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TranscriptCall(Record, component="MadeCall"):
    """A tool call as the agent tells it."""

    id: str
    name: str
    #: The text as it stood when the model wrote no JSON object: that, too, is what happened.
    arguments: Annotated[JsonObject | str, "an object, or text where a model wrote none"]


def _as_list(content: Content) -> Json:
    return list(content) if isinstance(content, tuple) else content


@dataclass(frozen=True, kw_only=True, slots=True)
class Message(Record):
    """A message of a transcript."""

    role: Role
    content: Annotated[Content, Via(_as_list), Mark.OFTEN, "text, or a list of parts"] = None
    tool_call_id: Omitted[str | None] = None  # which call a tool message answers
    tool_calls: Omitted[tuple[TranscriptCall, ...]] = ()
    thinking: Annotated[Omitted[tuple[JsonObject, ...]], "reasoning blocks, as they came"] = ()

    def text(self) -> str:
        """What a reader sees of it: the content, or its text parts one below the other."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(text for part in self.content if isinstance(text := part.get("text"), str))

    def is_gradeable(self) -> bool:
        """Whether a judge has something to read: words of the agent itself."""
        return self.role == "assistant" and bool(self.text().strip())


def messages_from_stored(entries: Any) -> tuple[Message, ...]:
    """From what `Message.as_json` wrote; a text among the arguments was found to be no JSON object then."""
    return tuple(
        Message(
            role=entry["role"],
            content=tuple(entry["content"]) if isinstance(entry["content"], list) else entry["content"],
            tool_call_id=entry.get("tool_call_id"),
            tool_calls=tuple(TranscriptCall(**call) for call in entry.get("tool_calls", ())),
            thinking=tuple(entry.get("thinking", ())),
        )
        for entry in entries
    )


class MalformedMessage(ValueError):
    """Part of a transcript is not in the rich message shape."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(path=path, message=message)


def read_messages(value: Json, path: str = "/messages") -> tuple[tuple[Message, ...], list[Problem]]:
    """The messages that can be read, and what is wrong with those that cannot."""
    if not isinstance(value, list):
        return (), [Problem(path=path, message=f"must be a list of messages, not {kind(value)}")]
    if len(value) > MAX_MESSAGES:
        return (), [
            Problem(path=path, message=f"has {len(value)} messages; at most {MAX_MESSAGES} are allowed")
        ]
    messages: list[Message] = []
    problems: list[Problem] = []
    for index, item in enumerate(value):
        try:
            messages.append(_read_message(item, path + pointer([index])))
        except MalformedMessage as malformed:
            problems.append(malformed.problem)
    return tuple(messages), problems


def oddities(messages: Sequence[Message]) -> Iterator[Problem]:
    """Warnings about a transcript that is well formed."""
    called: set[str] = set()
    for index, message in enumerate(messages):
        here = "/messages" + pointer([index])
        for call in message.tool_calls:
            called.add(call.id)
            if isinstance(call.arguments, str):
                yield Problem(path=here, message=f"the arguments of `{call.name[:80]}` are not a JSON object")
        if message.role == "tool" and message.tool_call_id not in called:
            call_id = (message.tool_call_id or "")[:80]
            yield Problem(
                path=here, message=f"answers the tool call `{call_id}`, which no earlier message makes"
            )


def after_turn(
    history: Sequence[Message], reply: Sequence[Message] | None, final_response: str
) -> list[Message]:
    """The transcript after an agent's turn, for replay: its tool calls where it told them, then its words.

    Agents differ in whether they send back the whole conversation or only their own part, so what counts is
    what stands behind the last user message.
    """
    messages = list(reply or ())
    last_user = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
    own = [message for message in messages[last_user + 1 :] if message.role != "system"]
    if not own or own[-1].role != "assistant" or own[-1].text() != final_response:
        own.append(Message(role="assistant", content=final_response))
    return [*history, *own]


def _read_message(value: Json, path: str) -> Message:
    if not isinstance(value, dict):
        raise MalformedMessage(path, f"must be an object, not {kind(value)}")
    role = value.get("role")
    if not isinstance(role, str) or role not in ROLES:
        quoted = f"`{role[:40]}`" if isinstance(role, str) else kind(role)
        raise MalformedMessage(f"{path}/role", f"must be {quote_names(ROLES)}, not {quoted}")
    answers = value.get("tool_call_id")
    if answers is not None and not isinstance(answers, str):
        raise MalformedMessage(f"{path}/tool_call_id", f"must be a string, not {kind(answers)}")
    if role == "tool" and not answers:
        raise MalformedMessage(f"{path}/tool_call_id", "is required on a tool message")
    calls = _read_calls(value.get("tool_calls"), f"{path}/tool_calls")
    if calls and role != "assistant":
        raise MalformedMessage(
            f"{path}/tool_calls", f"are allowed on assistant messages only, not on {role} messages"
        )
    return Message(
        role=role,
        content=_read_content(value.get("content"), f"{path}/content"),
        tool_call_id=answers or None,
        tool_calls=calls,
        thinking=_read_parts([] if (blocks := value.get("thinking")) is None else blocks, f"{path}/thinking"),
    )


def _read_content(value: Json, path: str) -> Content:
    if value is None or isinstance(value, str):
        return value
    return _read_parts(value, path)


def _read_parts(value: Json, path: str) -> tuple[JsonObject, ...]:
    """Objects as they are; a bare string is a text part (some frameworks mix the two)."""
    if not isinstance(value, list):
        raise MalformedMessage(path, f"must be a list of parts, not {kind(value)}")
    parts: list[JsonObject] = []
    for index, part in enumerate(value):
        part = {"type": "text", "text": part} if isinstance(part, str) else part
        if not isinstance(part, dict):
            raise MalformedMessage(path + pointer([index]), f"must be an object, not {kind(part)}")
        if part.get("type") == "text" and not isinstance(part.get("text"), str):
            raise MalformedMessage(path + pointer([index]), "the `text` of a text part must be a string")
        parts.append(part)
    return tuple(parts)


def _read_calls(value: Json, path: str) -> tuple[TranscriptCall, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MalformedMessage(path, f"must be a list, not {kind(value)}")
    return tuple(_read_call(call, path + pointer([index])) for index, call in enumerate(value))


def _read_call(value: Json, path: str) -> TranscriptCall:
    """`{id, name, arguments}`, or the nested `{id, type, function: {name, arguments}}`."""
    if not isinstance(value, dict):
        raise MalformedMessage(path, f"must be an object, not {kind(value)}")
    inner = value.get("function", value)
    if not isinstance(inner, dict):
        raise MalformedMessage(f"{path}/function", f"must be an object, not {kind(inner)}")
    id, name = value.get("id"), inner.get("name")
    if not isinstance(id, str) or not id:
        raise MalformedMessage(f"{path}/id", "must be a non-empty string")
    if not isinstance(name, str) or not name:
        raise MalformedMessage(f"{path}/name", "must be a non-empty string")
    return TranscriptCall(
        id=id, name=name, arguments=_read_arguments(inner.get("arguments"), f"{path}/arguments")
    )


def _read_arguments(value: Json, path: str) -> JsonObject | str:
    if value is None or isinstance(value, dict):
        return value or {}
    if not isinstance(value, str):
        raise MalformedMessage(path, f"must be an object or JSON text, not {kind(value)}")
    try:
        decoded = loads(value) if value.strip() else {}
    except InvalidJson:
        return value
    return decoded if isinstance(decoded, dict) else value
