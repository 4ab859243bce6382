"""An agent on Anthropic's Messages API. Under test its tools are answered by the run's proxy."""

import json
import os
from typing import Any

import anthropic
from offline_model import OfflineClient

from pipelines.odyssey import Envelope
from pipelines.odyssey.adapters.anthropic import dump_tools_schema, run_anthropic_loop

HAS_KEY = bool(os.environ.get("ANTHROPIC_API_KEY"))
MODEL = os.environ.get("AGENT_MODEL", "claude-sonnet-5-5")
SYSTEM = (
    "You look orders up and refund them. Try again when a tool fails on its side; when it refuses, tell the "
    "customer why. Never say that something is done before a tool has confirmed it."
)
ORDER_ID = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOLS = [
    {"name": "get_order", "description": "Get an order by its id.", "input_schema": ORDER_ID},
    {
        "name": "refund_order",
        "description": "Refund an order. The order status will be changed to 'refunded'.",
        "input_schema": ORDER_ID,
    },
]


def answer(envelope: Envelope) -> dict[str, Any]:
    client = anthropic.Anthropic() if HAS_KEY else OfflineClient()
    return run_anthropic_loop(client, model=MODEL, system=SYSTEM, tools=TOOLS, envelope=envelope)


def tools_schema() -> list[dict[str, Any]]:
    """What agent.json declares; `python agent.py` prints it."""
    return dump_tools_schema(TOOLS)


if __name__ == "__main__":
    print(json.dumps(tools_schema(), indent=2))
