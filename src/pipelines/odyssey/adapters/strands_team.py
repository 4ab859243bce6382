"""Who is in a Strands team: an agent, the agents it uses as tools, the nodes of a Swarm or Graph."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from strands import Agent
from strands.multiagent.base import MultiAgentBase
from strands.types.tools import AgentTool

from .adapter_run import actor_label, subagent_actor

#: Tools that Strands itself gives an agent: they steer it and reach no backend.
OWN_TOOL_TYPES = ("agent", "structured_output")
SWARM_HANDOFF = "handoff_to_agent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    agent: Agent
    actor: str | None  # None for an agent that is alone
    is_subagent: bool = False  # used as a tool: it speaks to another agent, not to the user


def build_agent(agent: Any) -> Any:
    """The agent itself, or what a function builds."""
    is_agent = isinstance(agent, Agent | MultiAgentBase)
    built = agent if is_agent or not callable(agent) else agent()
    if not isinstance(built, Agent | MultiAgentBase):
        raise TypeError(f"{type(built).__name__} is no Strands Agent, Swarm or Graph, nor builds one")
    return built


def members_of(team: Any) -> list[Member]:
    """Every agent once, its sub-agents after it; its actor id is the way to it."""
    found: list[tuple[Agent, str, bool]] = []
    _collect(team, None, False, found)
    is_alone = len(found) == 1 and isinstance(team, Agent)
    return [
        Member(agent=agent, actor=None if is_alone else path, is_subagent=is_subagent)
        for agent, path, is_subagent in found
    ]


def _collect(team: Any, parent: str | None, is_subagent: bool, found: list[tuple[Agent, str, bool]]) -> None:
    if isinstance(team, MultiAgentBase):
        nodes: Any = getattr(team, "nodes", {})
        for node_id, node in nodes.items():
            _collect_named(node.executor, node_id, parent, is_subagent, found)
    elif isinstance(team, Agent):
        _collect_named(team, team.name, parent, is_subagent, found)


def _collect_named(
    team: Any, name: str, parent: str | None, is_subagent: bool, found: list[tuple[Agent, str, bool]]
) -> None:
    path = actor_label(name) if parent is None else subagent_actor(parent, name)
    if isinstance(team, MultiAgentBase):
        _collect(team, path, is_subagent, found)
    elif isinstance(team, Agent) and not any(team is known for known, _, _ in found):
        found.append((team, path, is_subagent))
        for tool in team.tool_registry.registry.values():
            if tool.tool_type == "agent":
                _collect_named(getattr(tool, "agent", None), tool.tool_name, path, True, found)


def is_backend(tool: AgentTool, local: Collection[str]) -> bool:
    is_own = tool.tool_type in OWN_TOOL_TYPES or tool.tool_name == SWARM_HANDOFF
    return not is_own and tool.tool_name not in local
