"""Messages in the shape of the wire contract, which every framework is translated from and to; the reply.

Each framework has its own form of a conversation. Histories are kept in the contract's form, so that adapters
treat replayed and remembered conversations alike.
"""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ...wire.envelope import Envelope

Message: TypeAlias = dict[str, Any]

NO_FINAL_RESPONSE = "(no final response)"
MOST_SESSIONS = 1_000  # stateful conversations remembered in this process; the oldest is forgotten first


def earlier_messages(envelope: Envelope) -> list[Message]:
    """The messages before this turn: replayed by the platform, or remembered here by `session_id`."""
    if envelope.messages:
        replayed = list(envelope.messages)
        return replayed[:-1] if replayed[-1].get("role") == "user" else replayed
    return _MEMORY.recall(envelope.session_id)


def user_message(envelope: Envelope) -> Message:
    """The user's message of this turn."""
    if envelope.messages and envelope.messages[-1].get("role") == "user":
        return dict(envelope.messages[-1])
    return {"role": "user", "content": envelope.user_instruction}


def assistant_message(
    text: str, calls: Iterable[Mapping[str, Any]] = (), thinking: Iterable[str] = ()
) -> Message:
    message: Message = {"role": "assistant", "content": text or None}
    if call_records := [dict(call) for call in calls]:
        message["tool_calls"] = call_records
    if thoughts := [{"type": "text", "text": thought} for thought in thinking if thought]:
        message["thinking"] = thoughts
    return message


def call_record(id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A tool call in a message. `arguments` are an object, or the text that the model wrote."""
    return {"id": id, "name": name, "arguments": arguments}


def tool_message(call_id: str, content: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": as_text(content)}


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message: its content, or the text parts of it."""
    content = message.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = (part if isinstance(part, str) else part.get("text") for part in content)
    return "\n".join(part for part in parts if isinstance(part, str))


def as_turns(messages: Iterable[Message], blocks_of: Callable[[Message], list[Any]]) -> list[dict[str, Any]]:
    """Messages of content blocks: results of tools are the user's, and roles take turns. The system prompt
    is not part of the conversation."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [] if message["role"] == "system" else blocks_of(message)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def arguments_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, in either form that transcripts use."""
    arguments = (call.get("function") or call).get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return {}
    return arguments if isinstance(arguments, dict) else {}


def name_of(call: Mapping[str, Any]) -> str:
    return str((call.get("function") or call).get("name") or "")


def as_text(value: Any) -> str:
    """A tool's result for the model: text unchanged, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class Reply:
    """Builds the reply to a dispatch. Create it when the agent starts: it measures the agent's time."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._started = time.monotonic()
        self.before = earlier_messages(envelope)
        self.user_message = user_message(envelope)

    def build(
        self,
        new: Iterable[Message],
        final_response: str,
        *,
        model: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """`{final_response, messages, metadata}`. Remembers a stateful conversation for its next turn."""
        messages = [*self.before, self.user_message, *new]
        _MEMORY.keep(self._envelope.session_id, messages)
        metadata = {
            "model": model,
            "total_input_tokens": input_tokens,
            "total_output_tokens": output_tokens,
            "agent_runtime_ms": round((time.monotonic() - self._started) * 1000),
        } | more
        return {
            "final_response": final_response if final_response.strip() else NO_FINAL_RESPONSE,
            "messages": messages,
            "metadata": {name: value for name, value in metadata.items() if value not in (None, [])},
        }


class _Memory:
    def __init__(self) -> None:
        self._sessions: OrderedDict[str, list[Message]] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, session_id: str | None) -> list[Message]:
        with self._lock:
            return list(self._sessions.get(session_id or "", ()))

    def keep(self, session_id: str | None, messages: list[Message]) -> None:
        if not session_id:
            return
        with self._lock:
            self._sessions[session_id] = list(messages)
            self._sessions.move_to_end(session_id)
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)


_MEMORY = _Memory()
