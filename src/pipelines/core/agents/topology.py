"""Compares an agent's declared topology with its trace.

Nothing is refused here: the calls of an undeclared actor are answered as usual, with a warning.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pipelines.core.agents.agent_config import AgentConfig, SubAgent
from pipelines.core.text.json_text import Json

SHOWN_STEPS = 5


class ActorStep(NamedTuple):
    """One row of a trace, as far as it says who acted."""

    sequence: int
    actor_id: str | None  # a path such as supervisor/refunds
    tool_name: str | None = None  # of a tool call
    hands_over_to: str | None = None  # of a handoff


def handoff_target(payload: Json) -> str | None:
    """Whom a `handoff` event names: `to_actor`, as the SDK writes it, or `to`."""
    if not isinstance(payload, dict):
        return None
    target = payload.get("to_actor", payload.get("to"))
    return target if isinstance(target, str) else None


def topology_warnings(config: AgentConfig, steps: Iterable[ActorStep]) -> list[str]:
    """Where the trace differs from the declared topology; none for an agent without declared sub-agents."""
    if not config.sub_agents:
        return []
    declared = {each.actor_id: each for each in config.sub_agents}
    found: dict[str, list[int]] = {}  # what was found -> at which steps
    has_begun = False
    for step in steps:
        if step.actor_id is None:
            continue
        if not has_begun and config.entry is not None and not _is_within(step.actor_id, config.entry):
            says = f"the first actor is `{step.actor_id}`, but topology.entry is `{config.entry}`"
            found.setdefault(says, []).append(step.sequence)
        has_begun = True
        for says in _complaints(step, step.actor_id, declared):
            found.setdefault(says, []).append(step.sequence)
    return [f"{says} ({_steps(sequences)})" for says, sequences in found.items()]


def _complaints(step: ActorStep, actor_id: str, declared: dict[str, SubAgent]) -> list[str]:
    actor = _find_declared(actor_id, declared)
    if actor is None:
        return [f"actor `{actor_id}` is not declared in config.sub_agents"]
    if step.tool_name is not None and actor.tools is not None and step.tool_name not in actor.tools:
        return [f"actor `{actor_id}` called `{step.tool_name}`, which is not among its declared tools"]
    if step.hands_over_to is None or actor.talks_to is None:
        return []
    target = _find_declared(step.hands_over_to, declared)
    if target is None or target.actor_id not in actor.talks_to:
        return [f"actor `{actor_id}` handed over to `{step.hands_over_to}`, which is not in its talks_to"]
    return []


def _find_declared(actor_id: str, declared: dict[str, SubAgent]) -> SubAgent | None:
    """By its whole path, or by its own label: `supervisor/refunds` may be declared as `refunds`."""
    return declared.get(actor_id) or declared.get(actor_id.rpartition("/")[2])


def _is_within(actor_id: str, entry: str) -> bool:
    return actor_id == entry or actor_id.startswith(f"{entry}/")


def _steps(sequences: list[int]) -> str:
    listed = ", ".join(str(sequence) for sequence in sequences[:SHOWN_STEPS])
    more = f" and {len(sequences) - SHOWN_STEPS} more" if len(sequences) > SHOWN_STEPS else ""
    return f"{'step' if len(sequences) == 1 else 'steps'} {listed}{more}"
