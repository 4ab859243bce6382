"""What learning gives: for each tool a plan, where it comes from, and how far it can be trusted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tools_schema import Tool
from pipelines.wire.records import Record

#: read: inferred from names and schemas; searched: found by the search; model: written by a model.
PlanOrigin = Literal["read", "searched", "model"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate(Record):
    """One of the plans that a tool could have."""

    origin: PlanOrigin
    #: Calls answered exactly right that it was not learnt from; of all calls, where the plan is not learnt.
    right: int
    #: Of so many calls.
    calls: int
    #: Calls that it answers exactly right among those that it was learnt from.
    explained: int
    plan: Json

    @property
    def confidence(self) -> float:
        """The share of calls answered exactly right, drawn to one half where there were few."""
        return (self.right + 1) / (self.calls + 2)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnexplainedCall(Record):
    """A recorded call that the kept plan answers otherwise."""

    task: str
    call: int  # 1 for the first of its task
    arguments: JsonObject
    recorded: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnedTool(Record):
    tool: str
    kept: PlanOrigin
    #: Why this candidate and not another, in one sentence.
    reason: str
    plan: Json
    #: From how many recorded calls.
    calls: int
    #: By cross-validation, 0 to 1.
    confidence: float
    candidates: tuple[Candidate, ...]
    unexplained: tuple[UnexplainedCall, ...]
    #: Groups of calls with the same arguments in the same world that were answered differently.
    contradictions: tuple[tuple[UnexplainedCall, ...], ...] = ()
    #: True where the time ended before the search did: more time may give a better plan.
    is_cut_short: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnedPlans(Record):
    tools: tuple[LearnedTool, ...]
    #: Tools that the recording has no call of: they stay as they are.
    without_calls: tuple[str, ...] = ()
    #: The records that the replies show, where the recording has replies alone: an initial state.
    inferred_state: JsonObject | None = None
    #: What the recording could not show, in sentences.
    unseen: tuple[str, ...] = ()

    def by_tool(self) -> Mapping[str, LearnedTool]:
        return {one.tool: one for one in self.tools}

    def applied_to(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """The tools with the learnt plans. A tool whose plan is read best keeps being read: what is read fits
        each world."""
        known = self.by_tool()
        return tuple(
            replace(tool, simulation=known[tool.name].plan)
            if tool.name in known and known[tool.name].kept != "read"
            else tool
            for tool in tools
        )

    def plans(self) -> dict[str, Json]:
        """The plans to write to a file: those that reading would not give anyway."""
        return {one.tool: one.plan for one in self.tools if one.kept != "read"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How learning is done."""

    #: Seconds for the whole recording; a tool that is not searched by then keeps the plan that is read.
    budget_s: float = 60.0
    #: Parts for cross-validation.
    folds: int = 3
    #: Refuse to learn a tool whose calls contradict each other, instead of taking the majority.
    refuse_contradictions: bool = False
    #: Plans of other origin by tool, such as a model's: they are measured on all calls.
    model_plans: Mapping[str, Json] = field(default_factory=dict)
