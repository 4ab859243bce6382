"""Strands Agents: an Agent with its agent tools, a Swarm, a Graph.

    from strands import Agent, tool
    from pipelines.odyssey.adapters.strands import dump_tools_schema, run

    def build_agent() -> Agent:                 # a Strands agent holds its conversation: one for each run
        return Agent(model=…, system_prompt="…", tools=[get_order, refund_order], callback_handler=None)

    tools_schema = dump_tools_schema(build_agent())     # what to register it with
    reply = run(build_agent, envelope)                  # what a dispatch handler returns

The howto is docs/howto/strands.md.
"""

import copy
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from ...wire.envelope import Envelope
from ..shared_loop import run_on_shared_loop
from .adapter_run import MissingFramework, Run, as_tools_schema, async_post_events, bind_run, uncovered_events
from .conversation import Reply, text_of

REQUIREMENT = "strands-agents>=1.62,<2"

try:
    from strands import Agent
    from strands.multiagent.base import MultiAgentBase

    from .strands_hooks import install
    from .strands_messages import as_strands, final_text, history_as_text, input_schema_of
    from .strands_team import Member, build_agent, is_backend, members_of
except ImportError as missing:
    raise MissingFramework(REQUIREMENT) from missing

_BUSY: WeakSet[Any] = WeakSet()


def dump_tools_schema(agent: Any, *, local: Collection[str] = ()) -> list[dict[str, Any]]:
    """The `tools_schema` of an Agent, Swarm or Graph, or of a function that builds one, and of all in it.

    Agents used as tools and handoffs reach no backend, so they are not in it; nor are the names in `local`.
    """
    return as_tools_schema(
        {
            "name": tool.tool_name,
            "description": tool.tool_spec["description"],
            "input_schema": input_schema_of(tool.tool_spec),
        }
        for member in members_of(build_agent(agent))
        for tool in member.agent.tool_registry.registry.values()
        if is_backend(tool, local)
    )


def uncovered_tools(agent: Any, *, local: Collection[str] = ()) -> list[str]:
    """The tools that run here as they are: those in `local` that the agent has."""
    members = members_of(build_agent(agent))
    names = {name for member in members for name in member.agent.tool_registry.registry}
    return sorted(names & set(local))


def proxied(agent: Any, *, local: Collection[str] = ()) -> Any:
    """The same agent, whose tools (and those of its sub-agents) are from now on one call to the proxy each.

    Done with hooks of Strands, so names, schemas and descriptions stay as they are. The agent acts for the
    current envelope. `run` does this by itself: this is for loops of your own.
    """
    install(agent, frozenset(local))
    return agent


def run(
    agent: Any, envelope: Envelope, *, max_turns: int = 20, local: Collection[str] = ()
) -> dict[str, Any]:
    """One dispatch: `{final_response, messages, metadata}`. It may be called where an event loop runs.

    `agent` is an Agent, Swarm or Graph, or a function that builds one. Give the function: a Strands agent
    does one thing at a time, so a shared one refuses a second run (RuntimeError) during the first.
    Tool calls go to the run's proxy; one that failed answers the model with the backend's own error, with the
    status `error`. `local` names tools that are no backend and keep their body.
    """
    return run_on_shared_loop(lambda: run_async(agent, envelope, max_turns=max_turns, local=local))


async def run_async(
    agent: Any, envelope: Envelope, *, max_turns: int = 20, local: Collection[str] = ()
) -> dict[str, Any]:
    """`run` for handlers that are coroutines."""
    team = build_agent(agent)
    reply = Reply(envelope)
    with _reserve(team), bind_run(envelope) as this:
        await async_post_events(uncovered_events(uncovered_tools(team, local=local)))
        proxied(team, local=local)
        members = members_of(team)
        before = [_usage(member.agent) for member in members]
        with _extend_prompts(members, envelope):
            final = await _invoke(team, reply, max_turns)
        for member, (given, got) in zip(members, before, strict=True):
            after = _usage(member.agent)
            this.add_tokens(after[0] - given, after[1] - got)
    return reply.build(
        this.messages,
        final or _last_text(this, max_turns),
        model=_model_name(members[0].agent),
        input_tokens=this.input_tokens,
        output_tokens=this.output_tokens,
        uncovered_tools=this.uncovered,
    )


async def _invoke(team: Any, reply: Reply, max_turns: int) -> str:
    if isinstance(team, MultiAgentBase):
        return final_text(await team.invoke_async(history_as_text(reply.before, text_of(reply.user_message))))
    team.messages = as_strands(reply.before)
    return final_text(await team.invoke_async(text_of(reply.user_message), limits={"turns": max_turns}))


def _last_text(this: Run, max_turns: int) -> str:
    spoken = [text_of(message) for message in this.messages if message["role"] == "assistant"]
    return next((text for text in reversed(spoken) if text), f"(stopped after {max_turns} turns)")


@contextmanager
def _reserve(team: Any) -> Iterator[None]:
    if team in _BUSY:
        raise RuntimeError(
            "this Strands agent is in another run already; "
            "pass a function that builds one for each run: run(build_agent, envelope)"
        )
    _BUSY.add(team)
    try:
        yield
    finally:
        _BUSY.discard(team)


@contextmanager
def _extend_prompts(members: list[Member], envelope: Envelope) -> Iterator[None]:
    """With what the dispatch adds to the system prompts; afterwards every agent is as it was."""
    kept = [(member.agent.system_prompt_content, copy.copy(member.agent.messages)) for member in members]
    addition = envelope.system_prompt("")
    for member in members:
        content = member.agent.system_prompt_content or []
        if addition:
            # Strands puts one line break between blocks, and the addition is a paragraph of its own.
            extra: Any = {"text": f"\n{addition}" if content else addition}
            member.agent.system_prompt = [*content, extra]
    try:
        yield
    finally:
        for member, (prompt, messages) in zip(members, kept, strict=True):
            member.agent.system_prompt = prompt
            member.agent.messages = messages


def _usage(agent: Agent) -> tuple[int, int]:
    usage = agent.event_loop_metrics.accumulated_usage
    return usage["inputTokens"], usage["outputTokens"]


def _model_name(agent: Agent) -> str | None:
    config: Any = agent.model.get_config()
    name = config.get("model_id") if isinstance(config, dict) else getattr(config, "model_id", None)
    return str(name) if name else None
