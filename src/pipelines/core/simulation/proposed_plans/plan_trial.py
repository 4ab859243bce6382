"""Tries proposed plans: whether they can be read, and whether the recorded calls, or else the model's own
example calls, come out as they should. No call has invented arguments: what those prove, nobody knows.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.core.ledger.ledger import World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.example_calls import ReplayedExample, example_problems, replayed
from pipelines.core.simulation.fidelity.examples import CallKey, CallSplit, calls_of, split_calls
from pipelines.core.simulation.fidelity.fidelity import replay
from pipelines.core.simulation.fidelity.fidelity_report import CallOutcome
from pipelines.core.simulation.fidelity.recording import Recording
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.proposed_plans.conversation import AnsweredPlan
from pipelines.core.simulation.reply_check import contradictions, update_check
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.tools_schema import Tool

MOST_TOLD = 8  # problems of one plan
LONGEST_ARGUMENTS = 200  # characters

Outcomes = Mapping[str, Mapping[CallKey, CallOutcome]]  # of recorded calls, by tool


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialSetting:
    """What plans of an agent are tried in."""

    tools: tuple[Tool, ...]
    ledger_schema: LedgerSchema | None
    world: World
    behavior: str | None
    #: Begins the time that one reading of the behaviour text has, in the thread that reads.
    reading_limit: Callable[[], Callable[[], bool]]
    clock: Callable[[], float]
    rules: tuple[Rule, ...] = ()  # typed ones in force
    recording: Recording | None = None
    now: str | None = None  # of the task

    def simulator(
        self, plans: Mapping[str, Json] | None = None, world: World | None = None
    ) -> PlannedSimulator:
        """With these steps as the plans of their tools; the other tools are as they are."""
        some = plans or {}
        tools = [
            replace(tool, simulation=some[tool.name]) if tool.name in some else tool for tool in self.tools
        ]
        return build_simulator(
            tools,
            ledger_schema=self.ledger_schema,
            world=world or self.world,
            behavior=self.behavior,
            may_read=self.reading_limit(),
            rules=self.rules,
        )

    def splits(self, names: Collection[str]) -> dict[str, CallSplit]:
        """Recorded calls of those among the tools that have some."""
        if self.recording is None:
            return {}
        found = {name: split_calls(self.recording, name) for name in names}
        return {name: split for name, split in found.items() if split.shown}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanTrial:
    """What came of one plan."""

    problems: tuple[Problem, ...] = ()  # for which it cannot be accepted
    differences: tuple[str, ...] = ()  # from the recorded calls that the model was shown
    examples: tuple[JsonObject, ...] = ()  # its own, as they came out
    outcomes: Mapping[CallKey, CallOutcome] = field(default_factory=dict)  # of all recorded calls
    right: int = 0  # of the shown calls, or of its own examples

    @property
    def is_done(self) -> bool:
        return not self.problems and not self.differences

    @property
    def complaints(self) -> list[str]:
        """What goes back to the model."""
        return [*(problem.said() for problem in self.problems), *self.differences]

    @property
    def rank(self) -> tuple[int, ...]:
        """More is better: one that can be used, then what it gets right."""
        return -bool(self.problems), self.right, -len(self.problems)


def try_plans(
    plans: Mapping[str, AnsweredPlan], around: TrialSetting, *, kept: Mapping[str, Json]
) -> dict[str, PlanTrial]:
    """Each beside the others, and beside those that were `kept` before."""
    problems = {name: _reading_problems(plan, around) for name, plan in plans.items()}
    readable = {name: plans[name] for name, found in problems.items() if not found}
    steps = {**kept, **{name: plan.steps for name, plan in readable.items()}}
    splits = around.splits(readable)
    outcomes = recorded_outcomes(around, splits, steps)
    context = around.simulator(steps)
    tried = {name: PlanTrial(problems=tuple(found)) for name, found in problems.items() if found}
    for name, plan in readable.items():
        examples = [replayed(one, context, now=around.now) for one in plan.examples]
        tried[name] = (
            _by_recording(splits[name], outcomes[name], examples)
            if name in splits
            else _by_examples(name, examples, context, around.ledger_schema)
        )
    return tried


def recorded_outcomes(
    around: TrialSetting, tools: Collection[str], plans: Mapping[str, Json] | None = None
) -> Outcomes:
    """How each recorded call of these tools comes out, with these plans or with those that they have."""
    recording = around.recording
    if recording is None or not tools:
        return {}
    report = replay(
        recording, lambda world: around.simulator(plans, world), clock=around.clock, only=frozenset(tools)
    )
    found: dict[str, dict[CallKey, CallOutcome]] = {name: {} for name in tools}
    keys = {name: iter([key for key, _ in calls_of(recording, name)]) for name in tools}
    for outcome in report.outcomes:
        found[outcome.tool][next(keys[outcome.tool])] = outcome
    return found


def _reading_problems(plan: AnsweredPlan, around: TrialSetting) -> list[Problem]:
    tool = next(tool for tool in around.tools if tool.name == plan.tool)
    fields = tool.input_schema.get("properties")
    arguments = [*fields] if isinstance(fields, dict) and fields else None
    names = [each.name for each in around.tools]
    try:
        parse_plan(plan.steps, origin="model", path="/steps", argument_names=arguments, tool_names=names)
    except Refused as refused:
        return refused.problems[:MOST_TOLD]
    return []


def _by_recording(
    split: CallSplit, outcomes: Mapping[CallKey, CallOutcome], examples: Sequence[ReplayedExample]
) -> PlanTrial:
    """The recorded calls decide. Its own examples are only shown."""
    shown = {key: outcomes[key] for key in sorted(split.shown)}
    right = sum(one.is_right for one in shown.values())
    wrong = [one for one in shown.values() if not one.is_right]
    summary = (f"{right} of {len(shown)} recorded calls come out as recorded",) if wrong else ()
    return PlanTrial(
        differences=(*summary, *map(mismatch_text, wrong[:MOST_TOLD])),
        examples=tuple(one.shown for one in examples),
        outcomes=outcomes,
        right=right,
    )


def mismatch_text(outcome: CallOutcome) -> str:
    """Which call it is, and how it differs from what was recorded."""
    found = outcome.mismatch
    if found is None:
        return ""
    arguments = dumps(found.arguments).decode(errors="replace")[:LONGEST_ARGUMENTS]
    return f"task {found.task}, call {found.call} with {arguments}: {'; '.join(found.differences)}"


def _by_examples(
    name: str, examples: Sequence[ReplayedExample], context: PlannedSimulator, schema: LedgerSchema | None
) -> PlanTrial:
    shown = tuple(one.shown for one in examples)
    messages = [*example_problems(shown)]
    for at, one in enumerate(examples, 1):
        if one.shown["tool"] != name:
            messages.append(f"example {at}: it is a call of {one.shown['tool']}, not of {name}")
        messages += [f"example {at}: {wrong}" for wrong in _reply_problems(name, one, context, schema)]
    return PlanTrial(
        problems=tuple(Problem(path="/examples", message=message) for message in messages[:MOST_TOLD]),
        examples=shown,
        right=sum(one["problem"] is None for one in shown),
    )


def _reply_problems(
    name: str, example: ReplayedExample, context: PlannedSimulator, schema: LedgerSchema | None
) -> list[str]:
    """Why the reply of a call that succeeded would be refused in a run."""
    reply, before = example.reply, example.before
    if reply is None or before is None or reply.status >= 400:
        return []
    after = before.draft()
    after.apply(reply.updates)
    wrong = [*context.tools[name].response_problems(reply.response), *update_check(reply.updates, schema)]
    wrong += contradictions(reply.response, after, reply.computed, reply.updates)
    return [one.said() for one in wrong]
