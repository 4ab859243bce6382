"""OpenAI Agents SDK: agents, their handoffs and the agents they use as tools.

    from agents import Agent, function_tool
    from pipelines.odyssey.adapters.openai_agents import dump_tools_schema, run

    agent = Agent(name="Support", instructions="…", tools=[get_order, refund_order])
    tools_schema = dump_tools_schema(agent)     # what to register it with
    reply = run(agent, envelope)                # what a dispatch handler returns

The howto is docs/howto/openai-agents.md.
"""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from ...wire.envelope import Envelope
from ..shared_loop import run_on_shared_loop
from .adapter_run import MissingFramework, as_tools_schema, async_post_events, bind_run, uncovered_events
from .conversation import Message, Reply, arguments_of, as_text, name_of, text_of
from .openai_items import REQUIREMENT, input_schema_of, messages_of

try:
    from agents import Agent, FunctionTool, Handoff, MaxTurnsExceeded, RunConfig, Runner
    from agents.items import TResponseInputItem

    from .openai_team import ProxiedTeam, agent_of_handoff, agent_of_tool, members_of
except ImportError as missing:
    raise MissingFramework(REQUIREMENT) from missing


def dump_tools_schema(agent: Agent[Any]) -> list[dict[str, Any]]:
    """The `tools_schema` of an agent: its function tools, and those of every agent it can hand off to or ask.

    Handoffs and agents used as tools are no tools of a backend, so they are not in it. Raises ValueError when
    two agents have tools of one name and different schemas.
    """
    return as_tools_schema(
        {"name": tool.name, "description": tool.description, "input_schema": input_schema_of(tool)}
        for member in members_of(agent)
        for tool in member.agent.tools
        if isinstance(tool, FunctionTool) and not agent_of_tool(tool)
    )


def uncovered_tools(agent: Agent[Any]) -> list[str]:
    """Hosted tools and MCP servers, which work outside the proxy and stay live; and handoffs made by hand,
    whose agents are not known before they happen: their tools are not in `dump_tools_schema`."""
    names: dict[str, None] = {}
    for member in members_of(agent):
        names |= {tool.name: None for tool in member.agent.tools if not isinstance(tool, FunctionTool)}
        names |= {f"MCP server {server.name}": None for server in member.agent.mcp_servers}
        names |= {
            handoff.tool_name: None
            for handoff in member.agent.handoffs
            if isinstance(handoff, Handoff) and agent_of_handoff(handoff) is None
        }
    return list(names)


def proxied(agent: Agent[Any]) -> Agent[Any]:
    """A copy of the agent and of every agent it reaches, whose function tools are one call to the proxy each.

    Names, schemas and descriptions stay, and so do your hooks and guardrails; the originals are not touched.
    The copy acts for the current envelope. `run` makes one by itself: this is for loops of your own.
    """
    return ProxiedTeam(agent).copy_of(agent)


def run(
    agent: Agent[Any],
    envelope: Envelope,
    *,
    max_turns: int = 20,
    run_config: RunConfig | None = None,
    context: Any = None,
) -> dict[str, Any]:
    """One dispatch: `{final_response, messages, metadata}`. It may be called where an event loop runs.

    Every call of a function tool goes to the run's proxy; a tool that failed answers the model with the
    backend's own error. The conversation so far (`envelope.messages`, or what was said under `session_id`)
    comes before the user's words. An agent that needs more than `max_turns` is answered for with what it said
    so far. Unless you pass a `run_config`, the SDK's own tracing is off.
    """
    return run_on_shared_loop(
        lambda: run_async(agent, envelope, max_turns=max_turns, run_config=run_config, context=context)
    )


async def run_async(
    agent: Agent[Any],
    envelope: Envelope,
    *,
    max_turns: int = 20,
    run_config: RunConfig | None = None,
    context: Any = None,
) -> dict[str, Any]:
    """`run` for handlers that are coroutines."""
    reply = Reply(envelope)
    uncovered = uncovered_tools(agent)
    with bind_run(envelope):
        await async_post_events(uncovered_events(uncovered))
        try:
            result = await Runner.run(
                proxied(agent),
                [item for message in [*reply.before, reply.user_message] for item in _as_input(message)],
                context=context,
                max_turns=max_turns,
                run_config=run_config or RunConfig(tracing_disabled=True),
            )
        except MaxTurnsExceeded as stopped:
            if stopped.run_data is None:
                raise
            said_so_far = messages_of(stopped.run_data.new_items)
            usage, final = stopped.run_data.context_wrapper.usage, _last_text(said_so_far, max_turns)
        else:
            said_so_far = messages_of(result.new_items)
            usage, final = result.context_wrapper.usage, _final_text(result)
    return reply.build(
        said_so_far,
        final,
        model=_model_name(agent),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        uncovered_tools=uncovered,
    )


def _as_input(message: Message) -> Iterable[TResponseInputItem]:
    """One message of a transcript as the items of the Responses API."""
    if message["role"] == "tool":
        answers: Any = {"type": "function_call_output", "call_id": message["tool_call_id"]}
        return [answers | {"output": text_of(message)}]
    words: list[Any] = [{"role": message["role"], "content": text}] if (text := text_of(message)) else []
    calls: list[Any] = [
        {
            "type": "function_call",
            "call_id": call["id"],
            "name": name_of(call),
            "arguments": json.dumps(arguments_of(call)),
        }
        for call in message.get("tool_calls") or ()
    ]
    return [*words, *calls]


def _final_text(result: Any) -> str:
    if result.interruptions:
        waiting = ", ".join(sorted({str(item.tool_name) for item in result.interruptions}))
        return f"(stopped: {waiting} waits for an approval that nobody can give here)"
    output: Any = result.final_output
    if output is None or isinstance(output, str):
        return output or ""
    if hasattr(output, "model_dump_json"):
        return str(output.model_dump_json())
    is_record = dataclasses.is_dataclass(output) and not isinstance(output, type)
    return as_text(dataclasses.asdict(output) if is_record else output)


def _last_text(messages: list[Message], max_turns: int) -> str:
    spoken = [text_of(message) for message in messages if message["role"] == "assistant"]
    return next((text for text in reversed(spoken) if text), f"(stopped after {max_turns} turns)")


def _model_name(agent: Agent[Any]) -> str | None:
    if agent.model is None or isinstance(agent.model, str):
        return agent.model
    return str(getattr(agent.model, "model", type(agent.model).__name__))
