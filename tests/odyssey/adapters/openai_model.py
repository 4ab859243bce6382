"""The OpenAI Agents SDK's Model interface, played."""

import itertools
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from agents import Agent, Model, ModelResponse, Usage, function_tool
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Summary
from played_models import MODEL, SYSTEM, THOUGHT, TOKENS_IN, TOKENS_OUT, Heard, Played, Step, Use

from pipelines.odyssey import Envelope
from pipelines.odyssey.adapters import openai_agents

NUMBERS = itertools.count()


class PlayedModel(Model):
    def __init__(self, played: Played) -> None:
        self.model = MODEL
        self.played = played

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,
        model_settings: Any,
        tools: Any,
        *rest: Any,
        **more: Any,
    ) -> ModelResponse:
        items = [{"role": "user", "content": input}] if isinstance(input, str) else input
        names = [tool.name for tool in tools]
        step = self.played.next_step(system_instructions, list(map(heard, items)), names)
        usage = Usage(requests=1, input_tokens=TOKENS_IN, output_tokens=TOKENS_OUT)
        return ModelResponse(output=[reasoning(), said(step)], usage=usage, response_id=None)

    def stream_response(self, *rest: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def heard(item: Any) -> Heard:
    if item.get("type") == "function_call_output":
        return Heard("tool", item["output"])
    if item.get("type") in ("function_call", "reasoning"):
        return Heard("assistant", "")
    content = item["content"]
    return Heard(item["role"], content if isinstance(content, str) else content[0]["text"])


def reasoning() -> ResponseReasoningItem:
    summary = [Summary(type="summary_text", text=THOUGHT)]
    return ResponseReasoningItem(id=f"rs_{next(NUMBERS)}", type="reasoning", summary=summary)


def said(step: Step) -> Any:
    if isinstance(step, Use):
        return ResponseFunctionToolCall(
            type="function_call",
            call_id=f"call_{next(NUMBERS)}",
            name=step.tool,
            arguments=json.dumps(step.arguments),
        )
    part = ResponseOutputText(type="output_text", text=step.text, annotations=[])
    return ResponseOutputMessage(
        id=f"msg_{next(NUMBERS)}", type="message", role="assistant", status="completed", content=[part]
    )


@function_tool
def get_order(order_id: str) -> dict[str, Any]:
    """Get an order by its id."""
    raise AssertionError("the body of a tool under test never runs")


@function_tool
async def refund_order(order_id: str, reason: str | None = None) -> dict[str, Any]:
    """Refund an order. The order status will be changed to 'refunded'.

    Args:
        order_id: Which order.
        reason: Why the customer wants it.
    """
    raise AssertionError("the body of a tool under test never runs")


def support_agent(played: Played, **changes: Any) -> Agent[Any]:
    given = {
        "tools": [get_order, refund_order],
        "instructions": SYSTEM,
        "model": PlayedModel(played),
    } | changes
    return Agent(**({"name": "Support"} | given))


class Studio:
    """This framework's agent for the tests that every framework has to pass."""

    def __init__(self, played: Played) -> None:
        self.agent = support_agent(played)

    def tools_schema(self) -> list[dict[str, Any]]:
        return openai_agents.dump_tools_schema(self.agent)

    def run(self, envelope: Envelope, **options: Any) -> dict[str, Any]:
        return openai_agents.run(self.agent, envelope, **options)

    @property
    def run_async(self) -> Callable[..., Any]:
        return lambda envelope, **options: openai_agents.run_async(self.agent, envelope, **options)
