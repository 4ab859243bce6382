"""An agent of Strands. Under test its tools are answered by the run's proxy."""

import json
import os
from typing import Any

from offline_model import OfflineModel
from strands import Agent, tool

from pipelines.odyssey import Envelope
from pipelines.odyssey.adapters.strands import dump_tools_schema, run

SYSTEM = (
    "You look orders up and refund them. Try again when a tool fails on its side; when it refuses, tell the "
    "customer why. Never say that something is done before a tool has confirmed it."
)


@tool
def get_order(order_id: str) -> dict[str, Any]:
    """Get an order by its id."""
    raise NotImplementedError("your order system's answer, when this runs for real")


@tool
def refund_order(order_id: str) -> dict[str, Any]:
    """Refund an order. The order status will be changed to 'refunded'."""
    raise NotImplementedError("your order system's answer, when this runs for real")


def model() -> Any:
    """Anthropic's with its key, a model of Bedrock by its id in AGENT_MODEL, else the offline one."""
    if os.environ.get("ANTHROPIC_API_KEY"):
        from strands.models.anthropic import AnthropicModel

        return AnthropicModel(model_id=os.environ.get("AGENT_MODEL", "claude-sonnet-5-5"), max_tokens=4096)
    return os.environ.get("AGENT_MODEL") or OfflineModel()


def build_agent() -> Agent:
    return Agent(model=model(), system_prompt=SYSTEM, tools=[get_order, refund_order], callback_handler=None)


def answer(envelope: Envelope) -> dict[str, Any]:
    return run(build_agent, envelope)


def tools_schema() -> list[dict[str, Any]]:
    """What agent.json declares; `python agent.py` prints it."""
    return dump_tools_schema(build_agent())


if __name__ == "__main__":
    print(json.dumps(tools_schema(), indent=2))
