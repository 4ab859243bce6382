"""Tries a proposed plan: checks it, calls it on records of the world, and replays it against a
recording."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from itertools import islice

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.fidelity.fidelity import replay
from pipelines.core.simulation.fidelity.fidelity_report import Tally
from pipelines.core.simulation.fidelity.recording import Recording
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.plan_text import plan_as_yaml
from pipelines.core.simulation.reply_check import contradictions, update_check
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.simulator import Moment, SimulationFailed
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.example_arguments import example_arguments
from pipelines.core.tools.tools_schema import Tool
from pipelines.wire.records import Hidden, Record

MOST_TRIED = 20  # calls
MOST_TOLD = 8  # problems in one round
_ANY_DAY = Moment("a plan that is tried", 1, "2026-01-01T12:00:00Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanTrial(Record):
    steps: Hidden[Json]
    problems: Hidden[tuple[Problem, ...]] = ()  # for which it cannot be accepted
    differences: Hidden[tuple[Problem, ...]] = ()  # from the recording: told to the model, and shown
    calls: int = 0
    refused: int = 0  # of them, answered with an error
    fidelity: Tally | None = None

    @property
    def is_done(self) -> bool:
        return not self.problems and not self.differences

    @property
    def rank(self) -> tuple[float, ...]:
        """More is better: one that can be used, then what it gets right."""
        like = self.fidelity
        right = (like.fm_forced or 0.0) + (like.cm_forced or 0.0) if like is not None else 0.0
        return (-float(bool(self.problems)), right, -float(len(self.problems)))


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

    def simulator(
        self, name: str | None = None, steps: Json = None, world: World | None = None
    ) -> PlannedSimulator:
        """With these steps as the plan of the tool; without a name, as it is."""
        tools = [replace(tool, simulation=steps) if tool.name == name else tool for tool in self.tools]
        return build_simulator(
            tools,
            ledger_schema=self.ledger_schema,
            world=world or self.world,
            behavior=self.behavior,
            may_read=self.reading_limit(),
            rules=self.rules,
        )


def try_plan(name: str, steps: Json, around: TrialSetting, recording: Recording | None) -> PlanTrial:
    tool = next(tool for tool in around.tools if tool.name == name)
    try:
        names = [each.name for each in around.tools]
        parse_plan(steps, origin="model", path="/steps", argument_names=_arguments(tool), tool_names=names)
    except Refused as refused:
        return PlanTrial(steps=steps, problems=tuple(refused.problems[:MOST_TOLD]))
    proposed = around.simulator(name, steps)
    problems, calls, refused_calls = _call_on_records(name, proposed, around.ledger_schema)
    like: Tally | None = None
    differences: list[Problem] = []
    if recording is not None and not problems:
        like, differences = _measure(name, steps, around, recording)
    return PlanTrial(
        steps=steps,
        problems=tuple(problems[:MOST_TOLD]),
        differences=tuple(differences[:MOST_TOLD]),
        calls=calls,
        refused=refused_calls,
        fidelity=like,
    )


def fidelity_now(name: str, around: TrialSetting, recording: Recording) -> Tally | None:
    """Of the plan that the tool has."""
    report = replay(recording, lambda world: around.simulator(world=world), clock=around.clock)
    return report.by_tool().get(name)


def difference_in_plans(before: Json, after: Json) -> list[str]:
    """Line by line, as YAML."""
    old, new = (plan_as_yaml(body).splitlines() if body is not None else [] for body in (before, after))
    return [line.rstrip("\n") for line in unified_diff(old, new, "now", "proposed", lineterm="", n=100)]


def _arguments(tool: Tool) -> list[str] | None:
    fields = tool.input_schema.get("properties")
    return [*fields] if isinstance(fields, dict) and fields else None


def trial_arguments(name: str, simulator: PlannedSimulator) -> Iterator[JsonObject]:
    """One call for each of some records that the tool may be about."""
    tool, nouns = simulator.tools[name], simulator.vocabulary.tools[name]
    entities = simulator.world.entities
    plain = example_arguments(tool.input_schema, {kind: dict(some) for kind, some in entities.items()})
    argument = nouns.id_argument(nouns.about) if nouns.about is not None else None
    if argument is None or nouns.about is None:
        yield plain
        return
    yield from (plain | {argument: id} for id in entities.get(nouns.about, {}))


def _call_on_records(
    name: str, under: PlannedSimulator, schema: LedgerSchema | None
) -> tuple[list[Problem], int, int]:
    """Called on records of the world: it must not break, and must answer some of them."""
    tool = under.tools[name]
    problems: list[Problem] = []
    calls = refused = 0
    for arguments in islice(trial_arguments(name, under), MOST_TRIED):
        calls += 1
        ledger = Ledger(under.world)
        try:
            reply = under.answer(name, arguments, ledger, _ANY_DAY)
        except SimulationFailed as failed:
            problems.append(
                Problem(path="/steps", message=f"called with {arguments!r:.200} it fails: {failed}")
            )
            continue
        if reply.status >= 400:
            refused += 1
            continue
        after = ledger.draft()
        after.apply(reply.updates)
        wrong = [*tool.response_problems(reply.response), *update_check(reply.updates, schema)]
        wrong += contradictions(reply.response, after, reply.computed, reply.updates)
        where = f"called with {arguments!r:.200}"
        problems += [Problem(path="/steps", message=f"{where}: {one.path} {one.message}") for one in wrong]
    if calls and refused == calls:
        problems.append(
            Problem(path="/steps", message=f"it refuses all {calls} calls on records of the world")
        )
    return _distinct(problems), calls, refused


def _measure(
    name: str, steps: Json, around: TrialSetting, recording: Recording
) -> tuple[Tally | None, list[Problem]]:
    report = replay(recording, lambda world: around.simulator(name, steps, world), clock=around.clock)
    problems = [
        Problem(path="/steps", message=f"task {one.task}, call {one.call}: {difference}")
        for one in report.mismatches(name)
        for difference in one.differences
    ]
    return report.by_tool().get(name), _distinct(problems)


def _distinct(problems: Sequence[Problem]) -> list[Problem]:
    return list(dict.fromkeys(problems))
