"""Copies of a team of OpenAI agents that call tools through the proxy: members, tools, handoffs, hooks."""

import copy
import dataclasses
import json
import types
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

from agents import Agent, AgentHooks, FunctionTool
from agents.items import ModelResponse, TResponseInputItem
from agents.run_context import RunContextWrapper
from agents.tool_context import ToolContext

from ..context import current
from .adapter_run import (
    actor_label,
    async_call_tool,
    async_post_events,
    final_events,
    handoff_events,
    invalid_arguments,
    message_events,
    prompt_events,
    subagent_actor,
)
from .conversation import as_text
from .openai_items import REQUIREMENT, drop_null_arguments, messages_in

# -- which agents there are


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    agent: Agent[Any]
    actor: str | None  # None for an agent that is alone
    is_subagent: bool  # used as a tool: it speaks to another agent, not to the user


def members_of(entry: Agent[Any], under: str | None = None) -> list[Member]:
    """Every agent once, nearest first; its actor id is the shortest way to it from the entry."""
    first = actor_label(entry.name) if under is None else subagent_actor(under, entry.name)
    found = [(entry, first, False)]
    seen = {id(entry)}
    for agent, path, is_subagent in found:  # grows while it is read
        reached = [(agent_of_tool(tool), True) for tool in agent.tools]
        reached += [(agent_of_handoff(handoff), is_subagent) for handoff in agent.handoffs]
        for other, is_other_asked in reached:
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                found.append((other, subagent_actor(path, other.name), is_other_asked))
    is_alone = len(found) == 1 and under is None
    return [
        Member(agent=agent, actor=None if is_alone else path, is_subagent=is_subagent)
        for agent, path, is_subagent in found
    ]


def agent_of_tool(tool: Any) -> Agent[Any] | None:
    """The agent behind `agent.as_tool(…)`."""
    agent = getattr(tool, "_agent_instance", None) if isinstance(tool, FunctionTool) else None
    return agent if isinstance(agent, Agent) else None


def agent_of_handoff(handoff: Any) -> Agent[Any] | None:
    if isinstance(handoff, Agent):
        return handoff
    agent = handoff._agent_ref() if handoff._agent_ref is not None else None
    return agent if isinstance(agent, Agent) else None


# -- copies that act through the proxy


class ProxiedTeam:
    """Copies each agent once and fills the copy in later, because handoffs may form a cycle."""

    def __init__(self, entry: Agent[Any], under: str | None = None) -> None:
        self._members = {id(member.agent): member for member in members_of(entry, under)}
        self._copies: dict[int, Agent[Any]] = {}

    def copy_of(self, agent: Agent[Any]) -> Agent[Any]:
        if id(agent) in self._copies:
            return self._copies[id(agent)]
        member = self._members[id(agent)]
        copied = agent.clone(
            tools=[], handoffs=[], hooks=_TraceHooks(agent.hooks, member), instructions=_instructions(agent)
        )
        self._copies[id(agent)] = copied
        copied.tools = [self._tool(tool, member.actor) for tool in agent.tools]
        copied.handoffs = [self._handoff(handoff, member) for handoff in agent.handoffs]
        return copied

    def _tool(self, tool: Any, actor: str | None) -> Any:
        agent = agent_of_tool(tool)
        if agent is not None:
            return _rebind_agent_tool(tool, self.copy_of(agent))
        return _proxied_tool(tool, actor) if isinstance(tool, FunctionTool) else tool

    def _handoff(self, handoff: Any, giver: Member) -> Any:
        if isinstance(handoff, Agent):
            return self.copy_of(handoff)
        target, original = agent_of_handoff(handoff), handoff.on_invoke_handoff
        copied = self.copy_of(target) if target is not None else None

        async def hand_over(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
            chosen = await original(context, arguments)  # what the author does on a handoff still happens
            if copied is not None:
                return copied
            parent = giver.actor or actor_label(giver.agent.name)
            return (
                self.copy_of(chosen)
                if id(chosen) in self._members
                else ProxiedTeam(chosen, parent).copy_of(chosen)
            )

        replaced = dataclasses.replace(handoff, on_invoke_handoff=hand_over)
        replaced._agent_ref = None if copied is None else weakref.ref(copied)
        return replaced


def _proxied_tool(tool: FunctionTool, actor: str | None) -> FunctionTool:
    name = tool.name

    async def call(_context: ToolContext[Any], arguments: str) -> str:
        parsed = _parse_arguments(arguments)
        if parsed is None:
            return invalid_arguments(name).text
        return (await async_call_tool(name, drop_null_arguments(tool, parsed), actor)).text

    copied = copy.copy(tool)
    copied.on_invoke_tool = call
    copied._output_type_adapter = None  # the declared type of the body that no longer runs
    return copied


def _parse_arguments(arguments: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(arguments) if arguments.strip() else {}
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _rebind_agent_tool(tool: FunctionTool, agent: Agent[Any]) -> FunctionTool:
    """The same agent tool, asking the copy. The SDK has no way to say so: the agent stands in a closure of
    `as_tool`, with everything else its author chose, so the closure is made anew around the copy."""
    invoker: Any = tool.on_invoke_tool
    body = getattr(invoker, "_invoke_tool_impl", None)
    names = body.__code__.co_freevars if isinstance(body, types.FunctionType) else ()
    if body is None or "self" not in names:
        raise TypeError(f"the agent tool {tool.name!r} cannot be proxied: pip install '{REQUIREMENT}'")
    cells = tuple(
        types.CellType(agent) if name == "self" else cell
        for name, cell in zip(names, body.__closure__ or (), strict=True)
    )
    rebound = types.FunctionType(body.__code__, body.__globals__, body.__name__, body.__defaults__, cells)
    rebound.__kwdefaults__ = body.__kwdefaults__
    copied = copy.copy(tool)
    rebind: Any = type(invoker)
    copied.on_invoke_tool = rebind(rebound, invoker._on_handled_error, function_tool=copied)
    copied._agent_instance = agent
    return copied


def _instructions(agent: Agent[Any]) -> Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]:
    """The agent's own instructions, with what the dispatch adds to them."""

    async def instructions(context: RunContextWrapper[Any], _copy: Agent[Any]) -> Any:
        base = await agent.get_system_prompt(context)
        return current().system_prompt(base or "") or base

    return instructions


class _TraceHooks(AgentHooks[Any]):
    """Reports what an agent does to the trace and to the author's own hooks. Hooks of the agent, not of
    the run: an agent that is used as a tool runs without the hooks of its caller's run."""

    def __init__(self, inner: Any, member: Member) -> None:
        self._inner = inner or AgentHooks()
        self._member = member

    async def on_start(self, context: Any, agent: Any) -> None:
        await self._inner.on_start(context, agent)

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        if self._member.is_subagent:
            await async_post_events(final_events(as_text(output)), self._member.actor)
        await self._inner.on_end(context, agent, output)

    async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
        from_actor, to_actor = _actor_of(source), _actor_of(agent)
        await async_post_events(handoff_events(from_actor, to_actor), from_actor)
        await self._inner.on_handoff(context, agent, source)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        called_agent = agent_of_tool(tool)
        if called_agent is not None:
            await async_post_events(
                handoff_events(self._member.actor, _actor_of(called_agent)), self._member.actor
            )
        await self._inner.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        await self._inner.on_tool_end(context, agent, tool, result)

    async def on_llm_start(
        self, context: Any, agent: Any, system_prompt: str | None, input_items: list[TResponseInputItem]
    ) -> None:
        await async_post_events(prompt_events(system_prompt, self._member.actor), self._member.actor)
        await self._inner.on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:
        for message in messages_in(response.output):
            await async_post_events(
                message_events(message, is_subagent=self._member.is_subagent), self._member.actor
            )
        await self._inner.on_llm_end(context, agent, response)


def _actor_of(agent: Any) -> str:
    """The actor id of a copy. A handoff written by hand may lead to an agent that is not a copy."""
    is_ours = isinstance(agent.hooks, _TraceHooks) and agent.hooks._member.actor is not None
    return agent.hooks._member.actor if is_ours else actor_label(agent.name)
