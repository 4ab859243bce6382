"""LangChain's messages, from and to messages of a transcript."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from .conversation import (
    Message,
    arguments_of,
    as_text,
    assistant_message,
    call_record,
    name_of,
    text_of,
    tool_message,
)


def as_langchain(messages: Iterable[Message]) -> list[AnyMessage]:
    return [_as_langchain(message) for message in messages]


def _as_langchain(message: Message) -> AnyMessage:
    text = text_of(message)
    if message["role"] == "user":
        return HumanMessage(content=text)
    if message["role"] == "system":
        return SystemMessage(content=text)
    if message["role"] == "tool":
        return ToolMessage(content=text, tool_call_id=message["tool_call_id"])
    calls = [
        {"type": "tool_call", "id": call["id"], "name": name_of(call), "args": arguments_of(call)}
        for call in message.get("tool_calls") or ()
    ]
    return AIMessage(content=text, tool_calls=calls)


def as_messages(messages: Iterable[AnyMessage]) -> list[Message]:
    return [as_message(message) for message in messages]


def as_message(message: Any) -> Message:
    if isinstance(message, AIMessage):
        return _assistant_message(message)
    if isinstance(message, ToolMessage):
        return tool_message(message.tool_call_id, message.content)
    role = "system" if isinstance(message, SystemMessage) else "user"
    return {"role": role, "content": str(message.text)}


def _assistant_message(message: AIMessage) -> Message:
    calls = [call_record(str(call["id"]), call["name"], call["args"]) for call in message.tool_calls]
    # Calls that the model wrote so badly that they cannot be read are calls all the same.
    bad = [
        call_record(str(call["id"]), str(call["name"]), call["args"] or {})
        for call in message.invalid_tool_calls
        if call["id"] and call["name"]
    ]
    thoughts = [
        str(block.get("reasoning") or "") for block in message.content_blocks if block["type"] == "reasoning"
    ]
    return assistant_message(str(message.text), [*calls, *bad], thoughts)


def final_text(messages: Sequence[AnyMessage], structured: Any) -> str:
    """The structured response as JSON where the agent has one, else the last thing it said."""
    if structured is not None:
        if hasattr(structured, "model_dump_json"):
            return str(structured.model_dump_json())
        return structured if isinstance(structured, str) else json.dumps(structured, default=vars)
    spoken = [str(message.text) for message in messages if isinstance(message, AIMessage)]
    return next((text for text in reversed(spoken) if text.strip()), "")


def model_of(messages: Sequence[AnyMessage]) -> str | None:
    parts = [message.response_metadata for message in messages if isinstance(message, AIMessage)]
    names = [about.get("model_name") or about.get("model") for about in parts]
    return next((as_text(name) for name in names if name), None)
