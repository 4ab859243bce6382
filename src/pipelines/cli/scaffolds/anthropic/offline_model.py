"""A client of the Messages API that needs no key: `offline_rules` decides."""

from typing import Any

from anthropic.types import Message, TextBlock, ToolUseBlock, Usage
from offline_rules import Call, Result, next_step


class OfflineClient:
    """Has the one method that the tool loop calls: `client.messages.create`."""

    @property
    def messages(self) -> "OfflineClient":
        return self

    def create(self, *, messages: list[Any], model: str, **options: Any) -> Message:
        instruction, results = read(messages)
        step = next_step(instruction, results)
        if isinstance(step, Call):
            block: Any = ToolUseBlock(
                type="tool_use", id=f"toolu_{len(results)}", name=step.tool, input=step.arguments
            )
        else:
            block = TextBlock(type="text", text=step)
        return Message(
            id="msg",
            type="message",
            role="assistant",
            model=model,
            content=[block],
            stop_reason="tool_use" if isinstance(step, Call) else "end_turn",
            usage=Usage(input_tokens=0, output_tokens=0),
        )


def read(messages: list[Any]) -> tuple[str, list[Result]]:
    """What the user said last, and what the tools have answered since."""
    instruction = ""
    names: dict[str, str] = {}
    results: list[Result] = []
    for message in messages:
        for block in blocks_of(message["content"]):
            if block["type"] == "text" and message["role"] == "user":
                instruction, results = block["text"], []
            elif block["type"] == "tool_use":
                names[block["id"]] = block["name"]
            elif block["type"] == "tool_result":
                results.append(Result(names[block["tool_use_id"]], block["content"]))
    return instruction, results


def blocks_of(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block if isinstance(block, dict) else block.model_dump() for block in content]
