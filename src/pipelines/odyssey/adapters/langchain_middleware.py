"""The middleware for LangChain agents under test: tool calls go to the proxy, messages to the trace."""

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from ..context import current
from .adapter_run import (
    Event,
    Outcome,
    actor_label,
    async_call_tool,
    async_post_events,
    call_tool,
    current_run,
    envelope_for,
    handoff_events,
    message_events,
    post_events,
    prompt_events,
    uncovered_events,
)
from .langchain_messages import as_message
from .langchain_tools import ProxiedTool, SubagentTool


class TooManyTurns(Exception):
    """An agent asked its model more often than `run` allows."""


class OdysseyMiddleware(AgentMiddleware[Any, Any, Any]):
    """Sends every tool call of the agent to the run's proxy, instead of running the tool's body.

        agent = create_agent(model, tools, system_prompt="…", middleware=[OdysseyMiddleware()])

    It also gives the system prompt what the dispatch adds to it, and tells the trace what the agent thinks
    and says. Put it last, so that middleware of your own sees what the model sees. `local` names tools that
    are no backend and keep their body: handoffs (tools that return a Command), tools of other middleware.
    """

    def __init__(self, *, local: Collection[str] = ()) -> None:
        super().__init__()
        self._local = frozenset(local)

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        post_events(*_entry_events())

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        await async_post_events(*_entry_events())

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        actor = _actor()
        request = _prepare_request(request)
        post_events(_prompt_events(request), actor)
        response = handler(request)
        post_events(_answer_events(response), actor)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        actor = _actor()
        request = _prepare_request(request)
        await async_post_events(_prompt_events(request), actor)
        response = await handler(request)
        await async_post_events(_answer_events(response), actor)
        return response

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        if self._is_local(request):
            return handler(request)
        call = request.tool_call
        return _tool_message(request, call_tool(call["name"], call["args"], _actor()))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        if self._is_local(request):
            return await handler(request)
        call = request.tool_call
        return _tool_message(request, await async_call_tool(call["name"], call["args"], _actor()))

    def _is_local(self, request: ToolCallRequest) -> bool:
        is_ours = isinstance(request.tool, ProxiedTool | SubagentTool)
        return is_ours or request.tool_call["name"] in self._local


def _actor() -> str | None:
    """The label of an agent that stands as a node inside another graph. Others act as the envelope says: a
    lone agent without a label, a sub-agent behind a tool under the label that its tool gave it."""
    bound = current().actor_id
    name = get_config().get("metadata", {}).get("lc_agent_name")
    if bound is None or not name:
        return None
    label = actor_label(str(name))
    return None if bound.rsplit("/", 1)[-1] == label else label


def _entry_events() -> tuple[list[Event], str | None]:
    """The events when an agent inside a graph takes over from the one before it or from the graph."""
    run, actor = current_run(), _actor()
    if run is None or actor is None:
        return [], None
    before, run.last_actor = run.last_actor, envelope_for(actor).actor_id
    return handoff_events(before or current().actor_id, str(run.last_actor)), None


def _prepare_request(request: ModelRequest[Any]) -> ModelRequest[Any]:
    run = current_run()
    if run is not None:
        actor = envelope_for(_actor()).actor_id
        run.turns[actor] += 1
        if run.max_turns is not None and run.turns[actor] > run.max_turns:
            raise TooManyTurns
    addition = current().system_prompt("")
    if not addition:
        return request
    before = request.system_message.content_blocks if request.system_message is not None else []
    blocks: Any = [*before, {"type": "text", "text": f"\n\n{addition}" if before else addition}]
    return request.override(system_message=SystemMessage(content_blocks=blocks))


def _prompt_events(request: ModelRequest[Any]) -> list[Event]:
    text = request.system_message.text if request.system_message is not None else None
    live = [str(tool.get("name") or tool.get("type")) for tool in request.tools if isinstance(tool, dict)]
    return uncovered_events(live) + prompt_events(text, envelope_for(_actor()).actor_id)


def _answer_events(response: ModelResponse[Any]) -> list[Event]:
    events: list[Event] = []
    run = current_run()
    is_subagent = "/" in (envelope_for(_actor()).actor_id or "")
    for message in response.result:
        if isinstance(message, AIMessage):
            events += message_events(as_message(message), is_subagent=is_subagent)
            usage = message.usage_metadata
            if run is not None and usage is not None:
                run.add_tokens(usage["input_tokens"], usage["output_tokens"])
    return events


def _tool_message(request: ToolCallRequest, outcome: Outcome) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(
        content=outcome.text,
        name=call["name"],
        tool_call_id=str(call["id"]),
        status="error" if outcome.is_error else "success",
    )
