"""A chat model of LangChain that needs no key: `offline_rules` decides."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from offline_rules import Call, Result, next_step


class OfflineModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "offline"

    def bind_tools(self, tools: Any, **options: Any) -> "OfflineModel":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        instruction, results = read(messages)
        step = next_step(instruction, results)
        if isinstance(step, Call):
            call = {"name": step.tool, "args": step.arguments, "id": f"call_{len(results)}"}
            message = AIMessage(content="", tool_calls=[call])
        else:
            message = AIMessage(content=step)
        return ChatResult(generations=[ChatGeneration(message=message)])


def read(messages: list[BaseMessage]) -> tuple[str, list[Result]]:
    """What the user said last, and what the tools have answered since."""
    instruction = ""
    results: list[Result] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            instruction, results = str(message.text), []
        elif isinstance(message, ToolMessage):
            results.append(Result(message.name or "", message.content))
    return instruction, results
