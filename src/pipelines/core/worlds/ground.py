"""One world, ready to be called: its plans are read and compiled once for all rows.

`core/calls/tool_call.py` decides the reply to a call, as in a run: failure rules, simulator, checks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pipelines.core.calls.called_run import CalledRun
from pipelines.core.calls.run_moment import start_of
from pipelines.core.calls.tool_call import (
    Ask,
    Decision,
    ReceivedCall,
    ToolCall,
    decide,
    receive,
    row_of,
    settle,
)
from pipelines.core.ledger.ledger import Ledger, LedgerUpdate, World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.oracles.trace import EvidenceRow
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.domain.shapes import Survey
from pipelines.core.simulation.domain.tool_facts import ToolFacts, facts_of
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import Vocabulary
from pipelines.core.simulation.simulator import Wait
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.tools.failure_rules import FailureRule, RuleProgress, chance_of
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.worlds.outline import Outline
from pipelines.core.worlds.shapes import Toolset
from pipelines.core.worlds.types.world_outline import outline_of_world
from pipelines.wire.errors import AskFailed
from pipelines.wire.names import Source


class _Toolbox(NamedTuple):
    tools: Mapping[str, Tool]
    ledger_schema: LedgerSchema | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the backend said to one call."""

    status: int | None  # None where the platform refused the call
    response: Json
    updates: tuple[LedgerUpdate, ...]
    source: str
    error: str | None  # the code in the backend's error, or the platform's own
    row: EvidenceRow

    @property
    def succeeded(self) -> bool:
        return self.status is not None and self.status < 400

    @property
    def is_refused(self) -> bool:
        """By the backend itself, for a reason that it gave."""
        return self.source == Source.ODYSSEY and self.status is not None and 400 <= self.status < 500


class Ground:
    """Belongs to one toolset and one state, and is not changed by what is tried on it."""

    def __init__(
        self, toolset: Toolset, state: JsonObject, may_read: Callable[[], bool] = lambda: True
    ) -> None:
        self.toolset = toolset
        self.state = state
        self.world = World.from_initial_state(state)
        self.simulator: PlannedSimulator = build_simulator(
            toolset.tools,
            ledger_schema=toolset.ledger_schema,
            world=self.world,
            behavior=toolset.behavior,
            may_read=may_read,
            rules=toolset.rules,
        )

    @property
    def survey(self) -> Survey:
        return self.simulator.survey

    @lazy_property
    def outline(self) -> Outline:
        return outline_of_world(self.toolset, self.state, self.survey)

    @lazy_property
    def facts(self) -> Mapping[str, ToolFacts]:
        return {one.tool.name: one for one in facts_of(self.toolset.tools)}

    @property
    def vocabulary(self) -> Vocabulary:
        return self.simulator.vocabulary

    @lazy_property
    def rules(self) -> tuple[Rule, ...]:
        """Those that the plans enforce."""
        return self.simulator.enforced

    def opened(self, *, now: str, rules: Sequence[FailureRule] = (), name: str = "a row") -> CalledRun:
        """A run of its own in this world; ids and chance are drawn under `name`."""
        ledger = Ledger(self.world)
        return CalledRun(
            toolbox=_Toolbox(self.simulator.tools, self.toolset.ledger_schema),
            simulator=self.simulator,
            ledger=ledger,
            progress=RuleProgress(rules, ledger.is_flagged, chance=chance_of(name, 0)),
            seed=name,
            began=start_of(datetime.fromisoformat(now)),
        )


def ground_of(toolset: Toolset, state: JsonObject, *, may_read: Callable[[], bool] = lambda: True) -> Ground:
    """`may_read` says no when reading the behaviour text has taken long enough, as for runs."""
    return Ground(toolset, state, may_read)


def called(run: CalledRun, tool: str, arguments: JsonObject) -> Answer:
    """One call, answered as in a run; later calls of the same run see what it changed."""
    call = ToolCall(tool, dumps(arguments), None, None, 0.0)
    text, received = receive(run, call)
    arrival = received.arrival if isinstance(received, ReceivedCall) else None
    decision = _settled(run, received) if isinstance(received, ReceivedCall) else received
    assert isinstance(decision, Decision), "no key came with it"
    row = row_of(1, run.sequence + 1, call, text, decision, arrival, 0.0, "")
    run.fold(row, arrival, decision.updates)
    response = loads_own(decision.response)
    return Answer(
        status=decision.http_status,
        response=response,
        updates=decision.updates,
        source=decision.source.value,
        error=_error_code(response),
        row=EvidenceRow.from_json(row.as_json()),
    )


def _settled(run: CalledRun, received: ReceivedCall) -> Decision:
    """Nobody waits for a reply that would be late, and nothing outside is asked."""
    outcome = decide(run, received)
    while isinstance(outcome, Ask):
        is_wait = isinstance(outcome.question, Wait)
        outcome = settle(run, outcome, None if is_wait else AskFailed("A proof asks nothing outside."))
    return outcome


def _error_code(response: Json) -> str | None:
    error = response.get("error") if isinstance(response, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, str) else None
