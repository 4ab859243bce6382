"""The Messages API's content blocks, from and to messages of a transcript."""

from collections.abc import Iterable, Mapping
from typing import Any

from .conversation import Message, arguments_of, assistant_message, call_record, name_of, text_of


def as_param(tool: Any) -> dict[str, Any]:
    """A tool as the API takes it: a dictionary already, or an object that can say itself (`@beta_tool`)."""
    if isinstance(tool, Mapping):
        return dict(tool)
    if hasattr(tool, "to_dict"):
        return dict(tool.to_dict())
    raise TypeError(f"{tool!r} is not a tool: pass what messages.create accepts, or a @beta_tool function")


def message_of_blocks(content: Iterable[Any]) -> Message:
    """The content blocks of one answer as one message."""
    blocks = list(content)
    return assistant_message(
        "\n".join(block.text for block in blocks if block.type == "text"),
        [call_record(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"],
        [block.thinking for block in blocks if block.type == "thinking"],
    )


def blocks_of(message: Message) -> list[dict[str, Any]]:
    text = text_of(message)
    if message["role"] == "tool":
        return [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}]
    words = [{"type": "text", "text": text}] if text.strip() else []
    calls = [
        {"type": "tool_use", "id": call["id"], "name": name_of(call), "input": arguments_of(call)}
        for call in message.get("tool_calls") or ()
    ]
    return [*words, *calls]
