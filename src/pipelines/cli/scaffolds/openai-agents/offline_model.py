"""A model of the OpenAI Agents SDK that needs no key: `offline_rules` decides."""

import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse, Usage
from offline_rules import Call, Result, next_step
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class OfflineModel(Model):
    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> ModelResponse:
        instruction, results = read(input)
        step = next_step(instruction, results)
        output = tool_call(step, len(results)) if isinstance(step, Call) else message(step)
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("the offline model does not stream")


def read(items: Any) -> tuple[str, list[Result]]:
    """What the user said last, and what the tools have answered since."""
    if isinstance(items, str):
        return items, []
    instruction = ""
    names: dict[str, str] = {}
    results: list[Result] = []
    for item in items:
        if item.get("role") == "user":
            instruction, results = text_of(item["content"]), []
        elif item.get("type") == "function_call":
            names[item["call_id"]] = item["name"]
        elif item.get("type") == "function_call_output":
            results.append(Result(names[item["call_id"]], item["output"]))
    return instruction, results


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def tool_call(call: Call, number: int) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", call_id=f"call_{number}", name=call.tool, arguments=json.dumps(call.arguments)
    )


def message(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="msg", type="message", role="assistant", status="completed", content=[part]
    )
