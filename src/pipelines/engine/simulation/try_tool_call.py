"""One call of a tool against a scratch world: what it would answer and change. Nothing of it is stored.

The decisions are those of a run (`core/calls/tool_call.py`), without failure rules; a tool that runs pass
through is answered by its plan, and nobody outside is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.calls.called_run import CalledRun
from pipelines.core.calls.run_moment import start_of
from pipelines.core.calls.tool_call import Decision, ReceivedCall, ToolCall, decide_without_asking, receive
from pipelines.core.ledger.initial_state import parse_initial_state
from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.ledger.world_changes import WorldChange, world_changes
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.guesses import guesses_of
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.tasks.seed_limits import size_problems
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.core.text.problems import Refused
from pipelines.core.tools.failure_rules import RuleProgress, chance_of
from pipelines.core.tools.tools_schema import Tool
from pipelines.engine.find import find_agent, task_in
from pipelines.engine.live.live_runs import MOST_READING_S
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.platform import Platform
from pipelines.storage.agents.authored_rules import rules_now
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets
from pipelines.wire.names import MAX_BODY_BYTES

SCRATCH = "a call that was tried"  # what ids and chance are drawn under


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedCall:
    source: str
    status: int | None  # the simulated backend's; None where the platform refused the call
    response: Json
    changes: tuple[WorldChange, ...]
    notes: tuple[str, ...]  # what was guessed, or is not enforced
    held_ms: int  # how long the reply would have been held back


class Scratch(NamedTuple):
    """The world a call is tried in, and the rules that hold there."""

    state: Json
    behavior: str | None = None
    now: str | None = None
    translated: Mapping[str, Sequence[Json]] = MappingProxyType({})  # rules that were accepted for it
    rules: tuple[JsonObject, ...] = ()  # the task's own, beside the agent's


class _Toolbox(NamedTuple):
    tools: Mapping[str, Tool]
    ledger_schema: LedgerSchema | None


async def try_call(
    platform: Platform, org_id: int, agent_id: int, tool: str, arguments: bytes, scratch: Scratch
) -> TriedCall:
    """Refused where the world is of no shape that a task may have."""
    agent = await find_agent(platform, org_id, agent_id)
    now = scratch.now or platform.now()
    return await platform.plan_readers.run(
        lambda: _try_in_scratch(agent.definition, tool, arguments, scratch._replace(now=now)), owner=org_id
    )


async def scratch_of_task(platform: Platform, org_id: int, task_id: int) -> Scratch:
    """The world that a task starts from, with its behaviour text."""

    def read(connection: Connection) -> Scratch:
        task = task_in(connection, org_id, task_id)
        seed = datasets.whole_seed(connection, task)
        rules = rules_now(connection, task.dataset_id, seed.behavior_instructions)
        return Scratch(seed.initial_state, seed.behavior_instructions, seed.now, rules, seed.rules)

    return await platform.database.read(read)


def _check_size(scratch: Scratch) -> None:
    """As of a task that is uploaded: what takes too long to read there would here, too."""
    axes = {"behavior_instructions": "/behavior", "initial_state": "/state"}
    found = size_problems({"behavior_instructions": scratch.behavior, "initial_state": scratch.state}, "")
    if found:
        raise Refused([replace(problem, path=axes[axis]) for axis, problem in found.items()], "the world")


def _try_in_scratch(definition: AgentDefinition, tool: str, arguments: bytes, scratch: Scratch) -> TriedCall:
    _check_size(scratch)
    state = parse_initial_state(scratch.state, ledger_schema=definition.ledger_schema, path="/state")
    world = World.from_initial_state(state)
    simulator = _simulator(definition, world, scratch)
    run = _scratch_run(definition, simulator, Ledger(world), scratch)
    body = arguments if len(arguments) <= MAX_BODY_BYTES else None
    _, received = receive(run, ToolCall(tool, body, None, None, perf_counter()))
    decision, held_ms = received, 0
    if isinstance(received, ReceivedCall):
        decision, held_ms = decide_without_asking(
            run, received, "A trial call sends nothing to a live endpoint."
        )
    assert isinstance(decision, Decision), "no key came with it"
    checked: Any = loads_own(decision.validation or "{}")
    return TriedCall(
        source=decision.source.value,
        status=decision.http_status,
        response=loads_own(decision.response),
        changes=tuple(world_changes(run.ledger, decision.updates)),
        notes=(
            *(guess.as_text() for guess in guesses_of(simulator, [tool])),
            *(str(note) for note in checked.get("notes", ())),
        ),
        held_ms=held_ms,
    )


def _simulator(definition: AgentDefinition, world: World, scratch: Scratch) -> PlannedSimulator:
    return build_simulator(
        definition.tools,
        ledger_schema=definition.ledger_schema,
        world=world,
        behavior=scratch.behavior,
        may_read=has_time(MOST_READING_S),
        translated=scratch.translated,
        rules=active_rules(definition.rules, scratch.rules),
    )


def _scratch_run(
    definition: AgentDefinition, simulator: PlannedSimulator, ledger: Ledger, scratch: Scratch
) -> CalledRun:
    return CalledRun(
        toolbox=_Toolbox(simulator.tools, definition.ledger_schema),
        simulator=simulator,
        ledger=ledger,
        progress=RuleProgress((), ledger.is_flagged, chance=chance_of(SCRATCH, 0)),
        seed=SCRATCH,
        began=start_of(datetime.fromisoformat(scratch.now or "")),
    )
