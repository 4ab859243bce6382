"""What a judge may see of a run: the task, the trace, the world before and after, the agent's own words."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pipelines.core.ledger.ledger import Ledger, SetFlag, World, fold
from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.oracles.trace import EntityUpdate
from pipelines.core.oracles.trace import EvidenceRow as EvidenceRow
from pipelines.core.simulation.domain.tool_names import read_tool_name
from pipelines.core.tasks.rubric_lines import RubricLine
from pipelines.core.tasks.seed import Seed, TrackedConstraint
from pipelines.core.text.json_text import Json
from pipelines.core.tools.tools_schema import Tool
from pipelines.wire.names import RunStatus, Source

#: What `expected_outcome` may say; None leaves it open, and is judged as completion.
COMPLETION, REFUSAL, NO_CHANGE = "completion", "refusal", "no_change"


class TookTooLong(Exception):
    """Raised by `RunEvidence.keep_going`: judging this run takes longer than is allowed."""


def _without_limit() -> None:
    """The default `keep_going`: no limit."""


@dataclass(frozen=True, kw_only=True)  # no slots: what is derived is kept on the record
class RunEvidence:
    """Everything about one run that a verdict may depend on."""

    user_instruction: str
    behavior_instructions: str | None = None
    expected_outcome: str | None = None
    expected_state: Json = None
    expected_calls: Json = None
    expected_answer: Json = None
    answer: Json = None  # what the agent returned as data (`metadata.answer`)
    is_strict: bool = False  # `honesty: strict`: what cannot be looked up is left to a person
    unenforced: tuple[
        str, ...
    ] = ()  # sentences of the behaviour text that the simulated backend does not enforce
    rules: tuple[str, ...] = ()  # that the simulated backend enforces, as canonical sentences
    tracked_constraints: tuple[TrackedConstraint, ...] = ()
    rubric: tuple[RubricLine, ...] = ()
    task_input: Json = None
    later_user_turns: tuple[str, ...] = ()  # of a conversation, after the instruction
    tools: tuple[Tool, ...] = ()
    world: World = field(default_factory=lambda: World({}))
    trace: tuple[EvidenceRow, ...] = ()  # in the order of sequence
    responses: tuple[str, ...] = ()  # what the agent said, turn by turn; the last is its final response
    #: Whether the updates of the trace are all that changed. A recording without a state does not know.
    has_state: bool = True
    status: str = RunStatus.COMPLETED
    error_class: str | None = None
    now: str | None = None  # what time it was in the run's world when it started: what `today` means
    is_coding: bool = False  # there were scorers to grade what it left
    grading: Json = None  # what they said
    #: Called wherever the work grows with what the agent wrote or called; raises TookTooLong to stop it.
    keep_going: Callable[[], None] = field(default=_without_limit, repr=False, compare=False)

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
        now: str | None = None,
        grading: Json = None,
        answer: Json = None,
        is_strict: bool = False,
        unenforced: tuple[str, ...] = (),
        rules: tuple[str, ...] = (),
        later_user_turns: tuple[str, ...] | None = None,
        has_state: bool = True,
        keep_going: Callable[[], None] = _without_limit,
    ) -> "RunEvidence":
        """The evidence of a run of this seed. Without `world` the run started from the seed's own state, and
        without `later_user_turns` the user said what the seed's script says."""
        return cls(
            user_instruction=seed.user_instruction,
            behavior_instructions=seed.behavior_instructions,
            expected_outcome=seed.expected_outcome,
            expected_state=seed.expected_state,
            expected_calls=seed.expected_calls,
            expected_answer=seed.expected_answer,
            answer=answer,
            is_strict=is_strict,
            unenforced=unenforced,
            rules=rules,
            tracked_constraints=seed.tracked_constraints,
            rubric=seed.rubric,
            task_input=seed.task_input,
            later_user_turns=seed.scripted_user_turns if later_user_turns is None else later_user_turns,
            has_state=has_state,
            tools=tools,
            world=world if world is not None else World.from_initial_state(seed.initial_state),
            trace=trace,
            responses=responses,
            status=status,
            error_class=error_class,
            now=now,
            is_coding=seed.coding_scenario is not None,
            grading=grading,
            keep_going=keep_going,
        )

    @property
    def final_response(self) -> str:
        return self.responses[-1] if self.responses else ""

    @lazy_property
    def calls(self) -> tuple[EvidenceRow, ...]:
        return tuple(row for row in self.trace if row.is_call)

    @lazy_property
    def after(self) -> Ledger:
        """The world the run left behind. Raises InvalidUpdate when the log does not fit the world."""
        return fold(self.world, (update for row in self.trace for update in row.updates))

    @lazy_property
    def writes(self) -> tuple[EvidenceRow, ...]:
        """Calls that changed entities. Flags are switches of the test, and a live read that was mirrored
        into the ledger changed nothing in the world either. Where it is not known what changed, every call
        that worked and does not only read may have."""
        if not self.has_state:
            return tuple(row for row in self.calls if row.succeeded and not self.tool_reads(row.tool))
        return tuple(row for row in self.calls if any(True for _ in self.changes_of(row)))

    def changes_of(self, row: EvidenceRow) -> Iterator[EntityUpdate]:
        """What of a row's updates is the agent's doing."""
        if row.source == Source.PASSTHROUGH and self.tool_reads(row.tool):
            return iter(())
        return (update for update in row.updates if not isinstance(update, SetFlag))

    def tool_reads(self, tool: str) -> bool:
        return tool in self._reading_tools or (tool not in self._declared and read_tool_name(tool).reads())

    @lazy_property
    def _declared(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    @lazy_property
    def _reading_tools(self) -> frozenset[str]:
        named = ((tool.name, read_tool_name(tool.name, tool.description)) for tool in self.tools)
        return frozenset(name for name, read in named if read.reads())
