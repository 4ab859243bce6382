"""Strands' messages, from and to messages of a transcript."""

from collections.abc import Iterable
from typing import Any

from .conversation import (
    Message,
    arguments_of,
    as_text,
    as_turns,
    assistant_message,
    call_record,
    name_of,
    text_of,
    tool_message,
)


def as_strands(messages: Iterable[Message]) -> list[Any]:
    return as_turns(messages, _blocks)


def _blocks(message: Message) -> list[dict[str, Any]]:
    text = text_of(message)
    if message["role"] == "tool":
        content = [{"text": text}]
        return [
            {"toolResult": {"toolUseId": message["tool_call_id"], "status": "success", "content": content}}
        ]
    words = [{"text": text}] if text.strip() else []
    calls = [
        {"toolUse": {"toolUseId": call["id"], "name": name_of(call), "input": arguments_of(call)}}
        for call in message.get("tool_calls") or ()
    ]
    return [*words, *calls]


def as_messages(message: Any) -> list[Message]:
    """One of their messages: what the assistant said, or the results that the user hands in."""
    blocks = message["content"]
    words = "\n".join(block["text"] for block in blocks if "text" in block)
    if message["role"] == "assistant":
        calls = [block["toolUse"] for block in blocks if "toolUse" in block]
        call_records = [call_record(call["toolUseId"], call["name"], call["input"]) for call in calls]
        return [assistant_message(words, call_records, map(_thinking_text, blocks))]
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    text: list[Message] = [{"role": "user", "content": words}] if words else []
    return [tool_message(result["toolUseId"], _content(result["content"])) for result in results] + text


def _thinking_text(block: Any) -> str:
    return str(((block.get("reasoningContent") or {}).get("reasoningText") or {}).get("text") or "")


def _content(parts: list[Any]) -> str:
    return "\n".join(part["text"] if "text" in part else as_text(part.get("json", part)) for part in parts)


def final_text(result: Any) -> str:
    """An agent's structured output as JSON, else its last message; of a team, that of its last member."""
    if result is None or isinstance(result, Exception):
        return ""
    if hasattr(result, "results"):
        ordered = list(result.results.values())
        history = [node.node_id for node in getattr(result, "node_history", ())]
        last = result.results.get(history[-1]) if history else (ordered[-1] if ordered else None)
        return final_text(last.result) if last is not None else ""
    if getattr(result, "structured_output", None) is not None:
        return str(result.structured_output.model_dump_json())
    blocks = result.message.get("content", []) if result.message else []
    return "\n".join(block["text"] for block in blocks if "text" in block)


def history_as_text(earlier: list[Message], words: str) -> str:
    """For a team, which takes one text: the conversation so far, retold before the user's words."""
    parts = [f"{message['role']}: {text}" for message in earlier if (text := text_of(message))]
    return "\n".join(["The conversation so far:", *parts, "", words]) if parts else words


def input_schema_of(spec: Any) -> dict[str, Any]:
    schema = spec["inputSchema"]
    return dict(schema.get("json", schema))
