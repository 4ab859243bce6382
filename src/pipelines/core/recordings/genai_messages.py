"""Messages as GenAI's conventions for spans write them: a role and parts, of text, calls and replies."""

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.agents.transcript import Message, Role, TranscriptCall, read_messages
from pipelines.core.recordings.entries import as_arguments
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.core.tools.mcp_answers import decode_text

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
INSTRUCTIONS = "gen_ai.system_instructions"
_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
    "model": "assistant", "tool": "tool",
}  # fmt: skip


class Reply(NamedTuple):
    """A tool's reply, as a message to a model told it."""

    call_id: str
    response: Json


class MessageWithReplies(NamedTuple):
    """One message, and the replies that stand in it."""

    message: Message
    replies: tuple[Reply, ...] = ()

    @property
    def signature(self) -> tuple[str, str, tuple[str, ...]]:
        """By which it is found again in the history that the next call to the model sends."""
        called = (
            *(call.name for call in self.message.tool_calls),
            *(reply.call_id for reply in self.replies),
        )
        return self.message.role, self.message.text().strip(), called


def messages_in(attributes: JsonObject) -> list[MessageWithReplies]:
    """The history that a model was sent, and what it answered; without the system's messages."""
    every = [*_as_list(attributes.get(INPUT)), *_as_list(attributes.get(OUTPUT))]
    return [read for value in every for read in _read_messages(value) if read.message.role != "system"]


def instructions_in(attributes: JsonObject) -> list[str]:
    """What the system told the model."""
    parts = _as_list(attributes.get(INSTRUCTIONS))
    apart = ["\n".join(_texts(parts))] if parts else []
    sent = [read for value in _as_list(attributes.get(INPUT)) for read in _read_messages(value)]
    texts = [*apart, *(read.message.text() for read in sent if read.message.role == "system")]
    return [text for text in texts if text.strip()]


def _as_list(value: Json) -> list[Json]:
    """Attributes hold it as it is, or as its JSON text."""
    if isinstance(value, str):
        try:
            value = loads(value)
        except InvalidJson:
            return []
    return value if isinstance(value, list) else []


def _read_messages(value: Json) -> Iterator[MessageWithReplies]:
    if not isinstance(value, dict):
        return
    parts = value.get("parts")
    if not isinstance(parts, list):  # some write them as the model's own API does
        messages, _ = read_messages([value])
        for message in messages:
            id = message.tool_call_id
            yield MessageWithReplies(
                message, (Reply(id, decode_text(message.text())),) if id is not None else ()
            )
        return
    role = _ROLES.get(str(value.get("role")))
    if role is not None:
        calls, replies = tuple(_calls(parts)), tuple(_replies(parts))
        text = "\n".join(_texts(parts))
        yield MessageWithReplies(
            Message(role="tool" if replies else role, content=text, tool_calls=calls), replies
        )


def _texts(parts: list[Json]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "text":
            content = part.get("content", part.get("text"))
            if isinstance(content, str):
                yield content


def _calls(parts: list[Json]) -> Iterator[TranscriptCall]:
    for part in parts:
        if not isinstance(part, dict) or part.get("type") != "tool_call":
            continue
        id, name, arguments = part.get("id"), part.get("name"), part.get("arguments")
        if isinstance(name, str) and name:
            given = decode_text(arguments) if isinstance(arguments, str) else arguments
            yield TranscriptCall(
                id=id if isinstance(id, str) else "", name=name, arguments=as_arguments(given)
            )


def _replies(parts: list[Json]) -> Iterator[Reply]:
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_call_response":
            id, response = part.get("id"), part.get("response", part.get("result"))
            value = decode_text(response) if isinstance(response, str) else response
            yield Reply(id if isinstance(id, str) else "", value)
