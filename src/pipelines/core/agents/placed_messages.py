"""Places the messages of a transcript among the calls of the log.

A transcript is the agent's own account, the log is what happened. They are combined only where both have the
same calls; otherwise the place of a message is not known.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.agents.transcript import Message


class MessagePlacement(NamedTuple):
    message: int  # its place in the transcript
    calls_before: int


def place_messages(messages: Sequence[Message], tools: Sequence[str]) -> list[MessagePlacement] | None:
    """Messages that say something, each with how many calls stand before it; None where the transcript tells
    other calls than `tools`, those of the log. The words of a message stand before the calls it makes."""
    called = [call.name for message in messages for call in message.tool_calls]
    if called != list(tools):
        return None
    placed: list[MessagePlacement] = []
    calls = 0
    for index, message in enumerate(messages):
        if message.role in ("user", "assistant") and (message.text().strip() or message.thinking):
            placed.append(MessagePlacement(index, calls))
        calls += len(message.tool_calls)
    return placed


def thinking_text(message: Message) -> str:
    """Its reasoning blocks as text, one below the other."""
    parts = (part.get("thinking", part.get("text", part.get("summary"))) for part in message.thinking)
    return "\n".join(part for part in parts if isinstance(part, str))
