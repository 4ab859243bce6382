"""Tools for LangChain: proxied tools, and tools that ask another agent."""

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import PrivateAttr

from ...wire.envelope import Envelope
from ..context import current, set_current
from .adapter_run import (
    actor_label,
    async_call_tool,
    async_post_events,
    call_tool,
    final_events,
    handoff_events,
    post_events,
)
from .langchain_messages import as_langchain, final_text


class ProxiedTool(StructuredTool):
    """A tool of `proxied_tools`."""


class SubagentTool(StructuredTool):
    """A tool of `subagent_tool`."""

    _agent: Any = PrivateAttr(default=None)

    @classmethod
    def for_agent(cls, agent: Any, name: str, description: str) -> "SubagentTool":
        def ask(request: str) -> str:
            theirs, events = _start_handoff(name)
            post_events(events)
            with set_current(theirs):
                answer = final_text(agent.invoke(_question(request))["messages"], None)
                post_events(final_events(answer))
            return answer

        async def ask_async(request: str) -> str:
            theirs, events = _start_handoff(name)
            await async_post_events(events)
            with set_current(theirs):
                answer = final_text((await agent.ainvoke(_question(request)))["messages"], None)
                await async_post_events(final_events(answer))
            return answer

        tool = cls.from_function(ask, ask_async, name=name, description=description)
        assert isinstance(tool, cls)
        tool._agent = agent
        return tool

    @property
    def agent(self) -> Any:
        return self._agent


def _start_handoff(name: str) -> tuple[Envelope, list[Any]]:
    envelope = current()
    theirs = envelope.for_actor(actor_label(name))
    return theirs, handoff_events(envelope.actor_id, str(theirs.actor_id))


def _question(request: str) -> dict[str, Any]:
    return {"messages": as_langchain([{"role": "user", "content": request}])}


def proxied_tool(described: dict[str, Any]) -> BaseTool:
    """With its schema as JSON Schema rather than as a class: the arguments arrive as the model wrote them."""
    name = described["name"]

    def call(**arguments: Any) -> str:
        outcome = call_tool(name, arguments)
        if outcome.is_error:
            raise ToolException(outcome.text)
        return outcome.text

    async def call_async(**arguments: Any) -> str:
        outcome = await async_call_tool(name, arguments)
        if outcome.is_error:
            raise ToolException(outcome.text)
        return outcome.text

    return ProxiedTool(
        name=name,
        description=described.get("description") or "",
        args_schema=described.get("parameters") or {"type": "object", "properties": {}},
        func=call,
        coroutine=call_async,
        handle_tool_error=True,
    )
