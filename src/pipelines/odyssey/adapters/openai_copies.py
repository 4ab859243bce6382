"""Copies of OpenAI agents that act through the proxy: who is in a team, its tools, handoffs and hooks."""

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
from .acting import (
    async_call_tool,
    async_tell,
    finished,
    handed_over,
    label_of,
    no_object,
    path_of,
    prompted,
    said,
)
from .conversation import as_text
from .openai_items import REQUIREMENT, given_arguments, spoken_in

# -- which agents there are


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    agent: Agent[Any]
    actor: str | None  # None for an agent that is alone
    is_asked: bool  # used as a tool: it speaks to another agent, not to the user


def members_of(entry: Agent[Any], under: str | None = None) -> list[Member]:
    """Every agent once, nearest first; its actor id is the shortest way to it from the entry."""
    first = label_of(entry.name) if under is None else path_of(under, entry.name)
    found = [(entry, first, False)]
    seen = {id(entry)}
    for agent, path, is_asked in found:  # grows while it is read
        reached = [(asked_by(tool), True) for tool in agent.tools]
        reached += [(target_of(handoff), is_asked) for handoff in agent.handoffs]
        for other, is_other_asked in reached:
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                found.append((other, path_of(path, other.name), is_other_asked))
    is_alone = len(found) == 1 and under is None
    return [
        Member(agent=agent, actor=None if is_alone else path, is_asked=is_asked)
        for agent, path, is_asked in found
    ]


def asked_by(tool: Any) -> Agent[Any] | None:
    """The agent behind `agent.as_tool(…)`."""
    agent = getattr(tool, "_agent_instance", None) if isinstance(tool, FunctionTool) else None
    return agent if isinstance(agent, Agent) else None


def target_of(handoff: Any) -> Agent[Any] | None:
    if isinstance(handoff, Agent):
        return handoff
    agent = handoff._agent_ref() if handoff._agent_ref is not None else None
    return agent if isinstance(agent, Agent) else None


# -- copies that act through the proxy


class Copies:
    """Handoffs may lead in circles, so an agent is copied once, and filled in after it is known."""

    def __init__(self, entry: Agent[Any], under: str | None = None) -> None:
        self._members = {id(member.agent): member for member in members_of(entry, under)}
        self._copies: dict[int, Agent[Any]] = {}

    def of(self, agent: Agent[Any]) -> Agent[Any]:
        if id(agent) in self._copies:
            return self._copies[id(agent)]
        member = self._members[id(agent)]
        copied = agent.clone(
            tools=[], handoffs=[], hooks=_Reports(agent.hooks, member), instructions=_instructions(agent)
        )
        self._copies[id(agent)] = copied
        copied.tools = [self._tool(tool, member.actor) for tool in agent.tools]
        copied.handoffs = [self._handoff(handoff, member) for handoff in agent.handoffs]
        return copied

    def _tool(self, tool: Any, actor: str | None) -> Any:
        asked = asked_by(tool)
        if asked is not None:
            return _asking(tool, self.of(asked))
        return _proxied_tool(tool, actor) if isinstance(tool, FunctionTool) else tool

    def _handoff(self, handoff: Any, giver: Member) -> Any:
        if isinstance(handoff, Agent):
            return self.of(handoff)
        target, original = target_of(handoff), handoff.on_invoke_handoff
        copied = self.of(target) if target is not None else None

        async def hand_over(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
            chosen = await original(context, arguments)  # what the author does on a handoff still happens
            if copied is not None:
                return copied
            under = giver.actor or label_of(giver.agent.name)
            return self.of(chosen) if id(chosen) in self._members else Copies(chosen, under).of(chosen)

        replaced = dataclasses.replace(handoff, on_invoke_handoff=hand_over)
        replaced._agent_ref = None if copied is None else weakref.ref(copied)
        return replaced


def _proxied_tool(tool: FunctionTool, actor: str | None) -> FunctionTool:
    name = tool.name

    async def call(_context: ToolContext[Any], arguments: str) -> str:
        parsed = _parsed(arguments)
        if parsed is None:
            return no_object(name).text
        return (await async_call_tool(name, given_arguments(tool, parsed), actor)).text

    copied = copy.copy(tool)
    copied.on_invoke_tool = call
    copied._output_type_adapter = None  # the declared type of the body that no longer runs
    return copied


def _parsed(arguments: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(arguments) if arguments.strip() else {}
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _asking(tool: FunctionTool, agent: Agent[Any]) -> FunctionTool:
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


class _Reports(AgentHooks[Any]):
    """Tells the trace what an agent does, and the author's own hooks too. Hooks of the agent rather than of
    the run: an agent used as a tool runs without the hooks of the run that asks it."""

    def __init__(self, inner: Any, member: Member) -> None:
        self._inner = inner or AgentHooks()
        self._member = member

    async def on_start(self, context: Any, agent: Any) -> None:
        await self._inner.on_start(context, agent)

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        if self._member.is_asked:
            await async_tell(finished(as_text(output)), self._member.actor)
        await self._inner.on_end(context, agent, output)

    async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
        from_actor, to_actor = _actor_of(source), _actor_of(agent)
        await async_tell(handed_over(from_actor, to_actor), from_actor)
        await self._inner.on_handoff(context, agent, source)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        asked = asked_by(tool)
        if asked is not None:
            await async_tell(handed_over(self._member.actor, _actor_of(asked)), self._member.actor)
        await self._inner.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        await self._inner.on_tool_end(context, agent, tool, result)

    async def on_llm_start(
        self, context: Any, agent: Any, system_prompt: str | None, input_items: list[TResponseInputItem]
    ) -> None:
        await async_tell(prompted(system_prompt, self._member.actor), self._member.actor)
        await self._inner.on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:
        for message in spoken_in(response.output):
            await async_tell(said(message, is_subagent=self._member.is_asked), self._member.actor)
        await self._inner.on_llm_end(context, agent, response)


def _actor_of(agent: Any) -> str:
    """Of a copy its actor id; a handoff that was made by hand may lead to an agent that is none."""
    is_ours = isinstance(agent.hooks, _Reports) and agent.hooks._member.actor is not None
    return agent.hooks._member.actor if is_ours else label_of(agent.name)
