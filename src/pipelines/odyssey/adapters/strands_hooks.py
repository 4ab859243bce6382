"""Hooks that send a Strands agent's tool calls to the proxy: they replace a tool when it is called."""

from collections.abc import Collection
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from strands import Agent
from strands.hooks import BeforeModelCallEvent, BeforeNodeCallEvent, BeforeToolCallEvent, MessageAddedEvent
from strands.multiagent.base import MultiAgentBase
from strands.types.tools import AgentTool

from .adapter_run import (
    actor_label,
    async_call_tool,
    async_post_events,
    current_run,
    final_events,
    handoff_events,
    invalid_arguments,
    message_events,
    prompt_events,
    subagent_actor,
)
from .conversation import text_of
from .strands_messages import as_messages
from .strands_team import is_backend, members_of


def install(team: Any, local: Collection[str]) -> None:
    """Hooks cannot be removed, so an agent gets them once, and they are updated for each run."""
    for member in members_of(team):
        hooks = _INSTALLED.get(member.agent)
        if hooks is None:
            hooks = _INSTALLED[member.agent] = _Hooks()
            hooks.register(member.agent)
        hooks.actor, hooks.is_subagent, hooks.local = member.actor, member.is_subagent, local
    if isinstance(team, MultiAgentBase) and team not in _WATCHED:
        _WATCHED.add(team)
        watched: Any = team
        watched.hooks.add_callback(BeforeNodeCallEvent, _on_node_start)


class _ProxiedTool(AgentTool):
    """Replaces a tool for one call."""

    def __init__(self, tool: AgentTool, actor: str | None) -> None:
        super().__init__()
        self._tool = tool
        self._actor = actor

    @property
    def tool_name(self) -> str:
        return self._tool.tool_name

    @property
    def tool_spec(self) -> Any:
        return self._tool.tool_spec

    @property
    def tool_type(self) -> str:
        return self._tool.tool_type

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any) -> Any:
        arguments = tool_use.get("input") or {}
        if isinstance(arguments, dict):
            outcome = await async_call_tool(self.tool_name, arguments, self._actor)
        else:
            outcome = invalid_arguments(self.tool_name)
        yield {
            "toolUseId": tool_use["toolUseId"],
            "status": "error" if outcome.is_error else "success",
            "content": [{"text": outcome.text}],
        }


class _Hooks:
    """Of one agent: swaps its tools at the moment they are called, and tells the trace what it says. They do
    not hold the agent, which holds them: one that is built for a run must go when the run is over."""

    def __init__(self) -> None:
        self.actor: str | None = None
        self.is_subagent = False
        self.local: Collection[str] = ()

    def register(self, agent: Agent) -> None:
        agent.hooks.add_callback(BeforeModelCallEvent, self.before_model)
        agent.hooks.add_callback(BeforeToolCallEvent, self.before_tool)
        agent.hooks.add_callback(MessageAddedEvent, self.after_message)

    async def before_model(self, event: BeforeModelCallEvent) -> None:
        run = current_run()
        if run is not None and run.broken is not None:
            event.cancel = str(run.broken)  # Strands makes words of every exception: the model need not go on
        await async_post_events(prompt_events(event.agent.system_prompt, self.actor), self.actor)

    async def before_tool(self, event: "BeforeToolCallEvent[Any]") -> None:
        tool = event.selected_tool
        if tool is None:
            return
        if is_backend(tool, self.local):
            event.selected_tool = _ProxiedTool(tool, self.actor)
        elif tool.tool_type == "agent":
            to_actor = subagent_actor(str(self.actor), tool.tool_name)
            await async_post_events(handoff_events(self.actor, to_actor), self.actor)

    async def after_message(self, event: "MessageAddedEvent[Any]") -> None:
        run = current_run()
        for message in as_messages(event.message):
            if message["role"] == "assistant":
                await async_post_events(message_events(message, is_subagent=self.is_subagent), self.actor)
                if self.is_subagent and not message.get("tool_calls"):
                    await async_post_events(final_events(text_of(message)), self.actor)
            if run is not None and not self.is_subagent and message["role"] != "user":
                run.messages.append(message)


async def _on_node_start(event: BeforeNodeCallEvent) -> None:
    """Record that a node of a Swarm or Graph takes over from the node before it."""
    run = current_run()
    if run is None:
        return
    before, run.last_actor = run.last_actor, actor_label(event.node_id)
    if before is not None:
        await async_post_events(handoff_events(before, run.last_actor), before)


_INSTALLED: WeakKeyDictionary[Agent, _Hooks] = WeakKeyDictionary()
_WATCHED: WeakSet[Any] = WeakSet()
