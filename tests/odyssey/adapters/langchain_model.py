"""LangChain's BaseChatModel, played."""

import itertools
from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from played_models import MODEL, SYSTEM, THOUGHT, TOKENS_IN, TOKENS_OUT, Heard, Played, Use

from pipelines.odyssey import Envelope
from pipelines.odyssey.adapters import langchain
from pipelines.odyssey.adapters.langchain import OdysseyMiddleware

NUMBERS = itertools.count()


class PlayedModel(BaseChatModel):
    played: Any
    offered: tuple[str, ...] = ()

    @property
    def _llm_type(self) -> str:
        return "played"

    def bind_tools(self, tools: Any, **options: Any) -> "PlayedModel":
        offered = [convert_to_openai_tool(tool)["function"]["name"] for tool in tools if not is_hosted(tool)]
        return PlayedModel(played=self.played, offered=tuple(offered))

    def _generate(self, messages: list[BaseMessage], *rest: Any, **options: Any) -> ChatResult:
        system = "".join(str(each.text) for each in messages if isinstance(each, SystemMessage))
        spoken = [heard(each) for each in messages if not isinstance(each, SystemMessage)]
        step = self.played.next_step(system, spoken, self.offered)
        is_call = isinstance(step, Use)
        words = {"type": "text", "text": "" if is_call else step.text}
        message = AIMessage(
            content=[{"type": "reasoning", "reasoning": THOUGHT}, words],
            tool_calls=[{"name": step.tool, "args": step.arguments, "id": f"call_{next(NUMBERS)}"}]
            if is_call
            else [],
            usage_metadata={"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT, "total_tokens": 14},
            response_metadata={"model_name": MODEL},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def is_hosted(tool: Any) -> bool:
    return isinstance(tool, dict) and "function" not in tool


def heard(message: BaseMessage) -> Heard:
    role = {"human": "user", "ai": "assistant"}.get(message.type, message.type)
    return Heard(role, str(message.text), isinstance(message, ToolMessage) and message.status == "error")


@tool
def get_order(order_id: str) -> dict[str, Any]:
    """Get an order by its id."""
    raise AssertionError("the body of a tool under test never runs")


@tool
def refund_order(order_id: str, reason: str | None = None) -> dict[str, Any]:
    """Refund an order. The order status will be changed to 'refunded'."""
    raise AssertionError("the body of a tool under test never runs")


def support_agent(played: Played, tools: Any = (get_order, refund_order), **changes: Any) -> Any:
    given: dict[str, Any] = {"system_prompt": SYSTEM, "middleware": [OdysseyMiddleware()]} | changes
    return create_agent(PlayedModel(played=played), list(tools), **given)


class Studio:
    """This framework's agent for the tests that every framework has to pass."""

    def __init__(self, played: Played) -> None:
        self.agent = support_agent(played)

    def tools_schema(self) -> list[dict[str, Any]]:
        return langchain.dump_tools_schema(self.agent)

    def run(self, envelope: Envelope, **options: Any) -> dict[str, Any]:
        return langchain.run(self.agent, envelope, **options)

    @property
    def run_async(self) -> Callable[..., Any]:
        return lambda envelope, **options: langchain.run_async(self.agent, envelope, **options)
