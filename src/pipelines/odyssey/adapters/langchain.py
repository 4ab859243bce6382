"""LangChain 1.x (`create_agent`) and LangGraph.

    from langchain.agents import create_agent
    from pipelines.odyssey.adapters.langchain import OdysseyMiddleware, dump_tools_schema, run

    agent = create_agent(model, tools, system_prompt="…", middleware=[OdysseyMiddleware()])
    tools_schema = dump_tools_schema(agent)     # what to register it with
    reply = run(agent, envelope)                # what a dispatch handler returns

A graph of your own, without `create_agent`, gives its ToolNode and its model `proxied_tools(tools)`.
"""

import uuid
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from typing import Any

from ...wire.envelope import Envelope
from .adapter_run import MissingFramework, Run, actor_label, as_tools_schema, bind_run
from .conversation import Reply

REQUIREMENT = "langchain>=1.4,<2"

try:
    from langchain_core.messages import AnyMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.errors import GraphRecursionError
    from langgraph.prebuilt import ToolNode
    from langgraph.pregel import Pregel

    from .langchain_messages import as_langchain, as_messages, final_text, model_of
    from .langchain_middleware import OdysseyMiddleware, TooManyTurns
    from .langchain_tools import ProxiedTool, SubagentTool, proxied_tool
except ImportError as missing:
    raise MissingFramework(REQUIREMENT) from missing

__all__ = [
    "OdysseyMiddleware",
    "dump_tools_schema",
    "proxied_tools",
    "run",
    "run_async",
    "subagent_tool",
    "uncovered_tools",
]


def dump_tools_schema(agent_or_tools: Any, *, local: Collection[str] = ()) -> list[dict[str, Any]]:
    """The `tools_schema` of an agent (a compiled graph) or of a list of tools, and of its sub-agents.

    `local` are the names that OdysseyMiddleware was told to run here; they are not in it.
    """
    return as_tools_schema(
        {
            "name": described["name"],
            "description": described.get("description"),
            "input_schema": described.get("parameters"),
        }
        for tool in _tools(agent_or_tools)
        if not isinstance(tool, dict) and _name(tool) not in local
        for described in [convert_to_openai_tool(tool)["function"]]
    )


def uncovered_tools(agent_or_tools: Any) -> list[str]:
    """Tools given as dictionaries, which the model's provider runs. A compiled graph does not show them: ask
    about the list that you give to `create_agent`. A run says it by itself."""
    return [_name(tool) for tool in _tools(agent_or_tools) if isinstance(tool, dict)]


def proxied_tools(tools: Sequence[Any]) -> list[BaseTool]:
    """The tools with the same names, schemas and descriptions, whose body is one call to the proxy.

    For graphs of your own; an agent with OdysseyMiddleware needs them not. A tool that failed answers the
    model with the backend's own error, as a ToolMessage with the status `error`.
    """
    return [proxied_tool(convert_to_openai_tool(tool)["function"]) for tool in tools]


def subagent_tool(agent: Any, *, name: str, description: str) -> BaseTool:
    """A tool that asks another agent: a question in, its last words out.

    The other agent is built with OdysseyMiddleware too, or on `proxied_tools`. Its calls carry the actor
    `<parent>/<name>`, and `dump_tools_schema` and `run` of the parent see it.
    """
    return SubagentTool.for_agent(agent, name, description)


def run(
    agent: Any,
    envelope: Envelope,
    *,
    max_turns: int = 20,
    config: RunnableConfig | None = None,
    context: Any = None,
) -> dict[str, Any]:
    """One dispatch of a compiled graph: `{final_response, messages, metadata}`.

    The graph has a `messages` state, as those of `create_agent` do. Tool calls go to the run's proxy, and the
    conversation so far comes before the user's words; with a checkpointer, a stateful conversation is its
    thread. Raises TypeError for an agent without OdysseyMiddleware or proxied tools: it would act for real.
    """
    plan = _GraphRun(agent, envelope, config)
    with bind_run(plan.envelope) as this:
        this.max_turns = max_turns
        try:
            for state in agent.stream(plan.input, plan.config, context=context, stream_mode="values"):
                plan.state = state
        except (TooManyTurns, GraphRecursionError):
            plan.is_stopped = True
    return plan.reply(this)


async def run_async(
    agent: Any,
    envelope: Envelope,
    *,
    max_turns: int = 20,
    config: RunnableConfig | None = None,
    context: Any = None,
) -> dict[str, Any]:
    """`run` for handlers that are coroutines."""
    plan = _GraphRun(agent, envelope, config)
    with bind_run(plan.envelope) as this:
        this.max_turns = max_turns
        try:
            states: AsyncIterator[Any] = agent.astream(
                plan.input, plan.config, context=context, stream_mode="values"
            )
            async for state in states:
                plan.state = state
        except (TooManyTurns, GraphRecursionError):
            plan.is_stopped = True
    return plan.reply(this)


class _GraphRun:
    """One dispatch of a graph: its input, its state, and the reply."""

    def __init__(self, agent: Any, envelope: Envelope, config: RunnableConfig | None) -> None:
        _check_no_live_tools(agent)
        is_team = any(True for _ in _subagents(agent))
        self.envelope = envelope.for_actor(actor_label(agent.name)) if is_team else envelope
        self._reply = Reply(envelope)
        self._asked_id = uuid.uuid4().hex
        is_remembered = bool(agent.checkpointer) and envelope.session_id is not None
        before = [] if is_remembered else as_langchain(self._reply.before)
        (message,) = as_langchain([self._reply.user_message])
        message.id = self._asked_id
        self.input = {"messages": [*before, message]}
        # A replayed conversation is given whole, so its thread must not remember it too.
        thread = {"thread_id": envelope.session_id or self._asked_id}
        given: dict[str, Any] = dict(config or {})
        self.config = given | {"configurable": thread | (given.get("configurable") or {})}
        self.state: Any = None
        self.is_stopped = False

    def reply(self, this: Run) -> dict[str, Any]:
        new = self._new_messages()
        structured = (self.state or {}).get("structured_response")
        final = final_text(new, structured)
        if self.is_stopped and not final:
            final = "(stopped: too many turns)"
        return self._reply.build(
            as_messages(new),
            final,
            model=model_of(new),
            input_tokens=this.input_tokens,
            output_tokens=this.output_tokens,
            uncovered_tools=this.uncovered,
        )

    def _new_messages(self) -> list[AnyMessage]:
        """The messages after the user's message of this turn."""
        messages: list[AnyMessage] = list((self.state or {}).get("messages") or ())
        places = [place for place, message in enumerate(messages) if message.id == self._asked_id]
        return messages[places[-1] + 1 :] if places else messages


# -- what is in a graph


def _tools(agent_or_tools: Any) -> Iterator[Any]:
    """All tools of an agent and of its sub-agents, but for those that ask a sub-agent."""
    for graph in _graphs(agent_or_tools):
        for tool in _own_tools(graph):
            if not isinstance(tool, SubagentTool):
                yield tool


def _graphs(agent_or_tools: Any) -> list[Any]:
    """The agent, and every agent below it, each once."""
    found = [agent_or_tools]
    for graph in found:  # grows while it is read
        found += [below for below in _subagents(graph) if not any(below is known for known in found)]
    return found


def _subagents(graph: Any) -> Iterable[Any]:
    for tool in _own_tools(graph):
        if isinstance(tool, SubagentTool):
            yield tool.agent
    if isinstance(graph, Pregel):
        yield from (below for _, below in graph.get_subgraphs())


def _own_tools(graph: Any) -> Iterable[Any]:
    if not isinstance(graph, Pregel):
        return list(graph) if isinstance(graph, Iterable) else ()
    nodes = [node.bound for node in graph.nodes.values()]
    return [tool for node in nodes if isinstance(node, ToolNode) for tool in node.tools_by_name.values()]


def _check_no_live_tools(agent: Any) -> None:
    """Refuse an agent that was not ported before it runs: its tools would act on the real world."""
    if not isinstance(agent, Pregel):
        raise TypeError(
            f"{type(agent).__name__} is not a compiled graph: pass what create_agent or compile() returns"
        )
    live: list[str] = []
    for graph in _graphs(agent):
        is_covered = isinstance(graph, Pregel) and f"{OdysseyMiddleware.__name__}.before_agent" in graph.nodes
        if not is_covered:
            kept = (tool for tool in _own_tools(graph) if not isinstance(tool, ProxiedTool | SubagentTool))
            live += [_name(tool) for tool in kept]
    if live:
        raise TypeError(
            f"these tools would act on the real world: {', '.join(live)}. Build the agent with "
            "create_agent(…, middleware=[OdysseyMiddleware()]), or its ToolNode with proxied_tools(tools)"
        )


def _name(tool: Any) -> str:
    if isinstance(tool, dict):
        return str(tool.get("name") or tool.get("type") or "a tool of the provider")
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", tool))
