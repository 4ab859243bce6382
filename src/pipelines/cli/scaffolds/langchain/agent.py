"""An agent of LangChain. Under test its tools are answered by the run's proxy."""

import json
import os
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain.tools import tool
from offline_model import OfflineModel

from pipelines.odyssey import Envelope
from pipelines.odyssey.adapters.langchain import OdysseyMiddleware, dump_tools_schema, run

# Such as `anthropic:claude-sonnet-5-5` with ANTHROPIC_API_KEY; install its package too (langchain-anthropic).
MODEL = os.environ.get("AGENT_MODEL")
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


def build_agent() -> Any:
    model = init_chat_model(MODEL) if MODEL else OfflineModel()
    tools = [get_order, refund_order]
    return create_agent(model, tools, system_prompt=SYSTEM, middleware=[OdysseyMiddleware()])


def answer(envelope: Envelope) -> dict[str, Any]:
    return run(build_agent(), envelope)


def tools_schema() -> list[dict[str, Any]]:
    """What agent.json declares; `python agent.py` prints it."""
    return dump_tools_schema(build_agent())


if __name__ == "__main__":
    print(json.dumps(tools_schema(), indent=2))
