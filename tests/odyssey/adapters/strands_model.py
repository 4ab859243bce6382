"""Strands' Model interface, played."""

import itertools
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

from played_models import MODEL, SYSTEM, THOUGHT, TOKENS_IN, TOKENS_OUT, Heard, Played, Use
from strands import Agent, tool
from strands.models import Model

from pipelines.odyssey import Envelope
from pipelines.odyssey.adapters import strands

NUMBERS = itertools.count()


class PlayedModel(Model):
    def __init__(self, played: Played) -> None:
        self.played = played

    def update_config(self, **config: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return {"model_id": MODEL}

    def structured_output(self, *rest: Any, **more: Any) -> AsyncGenerator[Any, None]:
        raise NotImplementedError

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **more: Any
    ) -> AsyncGenerator[Any, None]:
        names = [spec["name"] for spec in tool_specs or ()]
        spoken = [each for message in messages for each in heard(message)]
        step = self.played.next_step(system_prompt, spoken, names)
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": THOUGHT}}}}
        yield {"contentBlockStop": {}}
        if isinstance(step, Use):
            use = {"name": step.tool, "toolUseId": f"tool_{next(NUMBERS)}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(step.arguments)}}}}
        else:
            yield {"contentBlockDelta": {"delta": {"text": step.text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if isinstance(step, Use) else "end_turn"}}
        usage = {"inputTokens": TOKENS_IN, "outputTokens": TOKENS_OUT, "totalTokens": TOKENS_IN + TOKENS_OUT}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def heard(message: Any) -> list[Heard]:
    found = []
    for block in message["content"]:
        if "toolResult" in block:
            result = block["toolResult"]
            found.append(Heard("tool", result["content"][0]["text"], result["status"] == "error"))
        elif "text" in block:
            found.append(Heard(message["role"], block["text"]))
    return found


@tool
def get_order(order_id: str) -> dict[str, Any]:
    """Get an order by its id."""
    raise AssertionError("the body of a tool under test never runs")


@tool
def refund_order(order_id: str, reason: str | None = None) -> dict[str, Any]:
    """Refund an order. The order status will be changed to 'refunded'."""
    raise AssertionError("the body of a tool under test never runs")


def support_agent(played: Played, tools: Any = (get_order, refund_order), **changes: Any) -> Agent:
    given: dict[str, Any] = {"system_prompt": SYSTEM, "callback_handler": None} | changes
    return Agent(model=PlayedModel(played), tools=list(tools), **given)


class Studio:
    """This framework's agent for the tests that every framework has to pass."""

    def __init__(self, played: Played) -> None:
        self.build = lambda: support_agent(played)

    def tools_schema(self) -> list[dict[str, Any]]:
        return strands.dump_tools_schema(self.build)

    def run(self, envelope: Envelope, **options: Any) -> dict[str, Any]:
        return strands.run(self.build, envelope, **options)

    @property
    def run_async(self) -> Callable[..., Any]:
        return lambda envelope, **options: strands.run_async(self.build, envelope, **options)
