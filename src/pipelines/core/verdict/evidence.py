"""What a judge may see of a run: the task, the trace, the world before and after, the agent's own words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from pipelines.core.json_text import Json
from pipelines.core.ledger import (
    Add,
    Ledger,
    LedgerUpdate,
    Remove,
    SetFlag,
    Update,
    World,
    fold,
    update_from_json,
)
from pipelines.core.seed import Seed, TrackedConstraint
from pipelines.core.simulation.reading.words import read_tool_name
from pipelines.core.tools_schema import Tool
from pipelines.wire.errors import InternalError, SimulationError, StorageUnavailable
from pipelines.wire.names import RunStatus, Source

TOOL_CALL = "tool_call"
EntityUpdate: TypeAlias = Add | Update | Remove
#: Refusals of a call that are the platform's doing; every other error code is the agent's own mistake.
_OUR_FAULTS = frozenset(error.code for error in (SimulationError, StorageUnavailable, InternalError))


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceRow:
    """One row of the trace, as far as a judge needs it."""

    sequence: int
    kind: str = TOOL_CALL
    tool_name: str | None = None
    arguments: Json = None
    response: Json = None
    source: str | None = None
    http_status: int | None = None  # the backend's; None when the platform refused the call
    error_code: str | None = None  # ours, when it did
    matched_rule_index: int | None = None
    updates: tuple[LedgerUpdate, ...] = ()
    actor_id: str | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Json]) -> "EvidenceRow":
        """From a row of `GET /api/runs/{id}/trace`; what a judge does not need is left behind."""
        updates = body.get("updates") or []
        assert isinstance(updates, list)
        known = {name: body[name] for name in cls.__slots__ if name in body and name != "updates"}
        log = tuple(update_from_json(update) for update in updates if isinstance(update, dict))
        return cls(**known, updates=log)  # type: ignore[arg-type]  # stored by us

    @property
    def is_call(self) -> bool:
        return self.kind == TOOL_CALL

    @property
    def tool(self) -> str:
        return self.tool_name or ""

    @property
    def succeeded(self) -> bool:
        """The agent was told that it worked, be it by the backend, a live endpoint or an injected reply."""
        has_answer = self.error_code is None and self.source not in (Source.ERROR, Source.TRANSPORT_ERROR)
        return self.is_call and has_answer and (self.http_status is None or self.http_status < 400)

    @property
    def is_refused_by_backend(self) -> bool:
        """The simulated or live backend's own rules said no, for a reason that it gave."""
        is_backend = self.source in (Source.ODYSSEY, Source.PASSTHROUGH)
        return self.is_call and is_backend and 400 <= (self.http_status or 0) < 500

    @property
    def is_injected_failure(self) -> bool:
        return self.is_call and self.source == Source.INJECTED and not self.succeeded

    @property
    def is_our_fault(self) -> bool:
        """The range could not answer: nothing that follows from this may be held against the agent."""
        return self.is_call and (self.source == Source.TRANSPORT_ERROR or self.error_code in _OUR_FAULTS)

    @property
    def is_agents_mistake(self) -> bool:
        """An undeclared tool, arguments that do not fit, …: refused before any backend was asked."""
        return self.is_call and self.source == Source.ERROR and not self.is_our_fault


@dataclass(frozen=True, kw_only=True)  # no slots: what is derived is kept on the record
class RunEvidence:
    """Everything about one run that a verdict may rest on. Whatever is not in here cannot count."""

    user_instruction: str
    behavior_instructions: str | None = None
    expected_outcome: str | None = None
    expected_state: Json = None
    expected_calls: Json = None
    tracked_constraints: tuple[TrackedConstraint, ...] = ()
    task_input: Json = None
    later_user_turns: tuple[str, ...] = ()  # of a conversation, after the instruction
    tools: tuple[Tool, ...] = ()
    world: World = field(default_factory=lambda: World({}))
    trace: tuple[EvidenceRow, ...] = ()  # in the order of sequence
    responses: tuple[str, ...] = ()  # what the agent said, turn by turn; the last is its final response
    status: str = RunStatus.COMPLETED
    error_class: str | None = None

    @classmethod
    def from_seed(
        cls,
        seed: Seed,
        *,
        tools: tuple[Tool, ...] = (),
        world: World | None = None,
        trace: tuple[EvidenceRow, ...] = (),
        responses: tuple[str, ...] = (),
        status: str = RunStatus.COMPLETED,
        error_class: str | None = None,
    ) -> "RunEvidence":
        """A task and what a run made of it. Without `world` the run started from the seed's own state."""
        return cls(
            user_instruction=seed.user_instruction,
            behavior_instructions=seed.behavior_instructions,
            expected_outcome=seed.expected_outcome,
            expected_state=seed.expected_state,
            expected_calls=seed.expected_calls,
            tracked_constraints=seed.tracked_constraints,
            task_input=seed.task_input,
            later_user_turns=seed.scripted_user_turns,
            tools=tools,
            world=world if world is not None else World.from_initial_state(seed.initial_state),
            trace=trace,
            responses=responses,
            status=status,
            error_class=error_class,
        )

    @property
    def final_response(self) -> str:
        return self.responses[-1] if self.responses else ""

    @cached_property
    def calls(self) -> tuple[EvidenceRow, ...]:
        return tuple(row for row in self.trace if row.is_call)

    @cached_property
    def after(self) -> Ledger:
        """The world the run left behind. Raises InvalidUpdate when the log does not fit the world."""
        return fold(self.world, (update for row in self.trace for update in row.updates))

    @cached_property
    def writes(self) -> tuple[EvidenceRow, ...]:
        """Calls that changed entities. Flags are switches of the test, and a live read that was mirrored
        into the ledger changed nothing in the world either."""
        return tuple(row for row in self.calls if any(True for _ in self.changes_of(row)))

    def changes_of(self, row: EvidenceRow) -> Iterator[EntityUpdate]:
        """What of a row's updates is the agent's doing."""
        if row.source == Source.PASSTHROUGH and self.tool_reads(row.tool):
            return iter(())
        return (update for update in row.updates if not isinstance(update, SetFlag))

    def tool_reads(self, tool: str) -> bool:
        return tool in self._reading_tools or (tool not in self._declared and read_tool_name(tool).reads())

    @cached_property
    def _declared(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def _reading_tools(self) -> frozenset[str]:
        named = ((tool.name, read_tool_name(tool.name, tool.description)) for tool in self.tools)
        return frozenset(name for name, read in named if read.reads())
