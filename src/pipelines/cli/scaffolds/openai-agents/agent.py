"""An agent of the OpenAI Agents SDK. Under test its tools are answered by the run's proxy."""

import json
import os
from typing import Any

from agents import Agent, function_tool, set_tracing_disabled
from offline_model import OfflineModel

from pipelines.odyssey import Envelope
from pipelines.odyssey.adapters import openai_agents

HAS_KEY = bool(os.environ.get("OPENAI_API_KEY"))
set_tracing_disabled(not HAS_KEY)


@function_tool
def get_order(order_id: str) -> dict[str, Any]:
    """Get an order by its id."""
    raise NotImplementedError("your order system's answer, when this runs for real")


@function_tool
def refund_order(order_id: str) -> dict[str, Any]:
    """Refund an order. The order status will be changed to 'refunded'."""
    raise NotImplementedError("your order system's answer, when this runs for real")


def build_agent() -> Agent[Any]:
    return Agent(
        name="Support",
        instructions="You look orders up and refund them. Try again when a tool fails on its side; when it "
        "refuses, tell the customer why. Never say that something is done before a tool has confirmed it.",
        tools=[get_order, refund_order],
        model=os.environ.get("AGENT_MODEL") if HAS_KEY else OfflineModel(),
    )


def answer(envelope: Envelope) -> dict[str, Any]:
    return openai_agents.run(build_agent(), envelope)


def tools_schema() -> list[dict[str, Any]]:
    """What agent.json declares; `python agent.py` prints it."""
    return openai_agents.dump_tools_schema(build_agent())


if __name__ == "__main__":
    print(json.dumps(tools_schema(), indent=2))
