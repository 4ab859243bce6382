"""What becomes of a translated sentence in a world: whether it finds its place, and what it makes a
difference to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pipelines.core.example_arguments import example_arguments
from pipelines.core.json_text import Json, JsonObject, same
from pipelines.core.ledger import Ledger
from pipelines.core.simulation.build import NOT_ENFORCED, PlannedSimulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed

MOST_TRIED = 50  # calls of one tool
_ANY_DAY = Moment("a rule that is tried", 1, "2026-01-01T12:00:00Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedRule:
    """`problem` says why it cannot be accepted."""

    problem: str | None
    calls: int = 0  # tried, on records of the world
    differ: int = 0  # of them, answered otherwise with the rule than without
    refused: int = 0  # of them, refused with it and not without

    def as_json(self) -> JsonObject:
        return {"calls": self.calls, "differ": self.differ, "refused": self.refused, "problem": self.problem}


def tried_rule(
    sentence: str, rules: Sequence[Json], under: PlannedSimulator, without: PlannedSimulator
) -> TriedRule:
    """`under` has the rules of the sentence, `without` is the same without them."""
    tools = [name for name in dict.fromkeys(_tools(rules)) if name in under.tools]
    if (why := _no_place(sentence, tools, under)) is not None:
        return TriedRule(problem=why)
    calls = differ = refused = 0
    for name in tools:
        for arguments in tried_arguments(name, under):
            before, after = _answered(without, name, arguments), _answered(under, name, arguments)
            calls += 1
            differ += not _alike(before, after)
            refused += _status(before) < 400 <= _status(after)
    idle = next((one for one in under.without_effect if one.startswith(sentence)), None)
    if idle is not None:
        why = idle[len(sentence) :].strip(" ()")
        says = f"it changes nothing in this world, or lets nothing through: {why}"
        return TriedRule(problem=says, calls=calls, differ=differ, refused=refused)
    if calls > 1 and not differ and not _looks_elsewhere(rules):
        return TriedRule(problem=f"none of {calls} calls is answered otherwise with it", calls=calls)
    return TriedRule(problem=None, calls=calls, differ=differ, refused=refused)


def _no_place(sentence: str, tools: Sequence[str], under: PlannedSimulator) -> str | None:
    for name in tools:
        plan = under.plan_of(name)
        told = [note for note in plan.notes if note != NOT_ENFORCED]
        if plan.plan is None or any(note.startswith(NOT_ENFORCED) for note in plan.notes):
            return f"the plan of {name} cannot be read with it: {'; '.join(told)[:500]}"
        if any(rule.sentence == sentence for rule in plan.unwoven):
            return f"there is no place for it in what {name} does"
    reported = next((one for one in under.not_understood if one.startswith(sentence)), None)
    if reported is not None:
        return f"it is not enforced: {reported[len(sentence) :].strip(' ()') or 'no rule came of it'}"
    return None


def _tools(rules: Sequence[Json]) -> Iterator[str]:
    for rule in rules:
        names = rule.get("tools") if isinstance(rule, dict) else None
        yield from (str(name) for name in names or ()) if isinstance(names, list) else ()


def tried_arguments(name: str, simulator: PlannedSimulator) -> Iterator[JsonObject]:
    """One call for each of some records that the tool may be about."""
    tool, said = simulator.tools[name], simulator.said_of(name)
    plain = example_arguments(
        tool.input_schema, {kind: dict(some) for kind, some in simulator.world.entities.items()}
    )
    argument = simulator.id_argument(name)
    if argument is None or said.kind is None:
        yield plain
        return
    for id in islice(simulator.world.entities.get(said.kind, {}), MOST_TRIED):
        yield plain | {argument: id}


def _answered(simulator: PlannedSimulator, tool: str, arguments: JsonObject) -> SimulatedReply | str:
    try:
        return simulator.answer(tool, arguments, Ledger(simulator.world), _ANY_DAY)
    except SimulationFailed as failed:
        return failed.code


def _alike(one: SimulatedReply | str, other: SimulatedReply | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return (one.status, one.updates) == (other.status, other.updates) and same(one.response, other.response)


def _status(reply: SimulatedReply | str) -> int:
    return reply.status if isinstance(reply, SimulatedReply) else 599


def _looks_elsewhere(rules: Sequence[Json]) -> bool:
    """At arguments or the date, of which only examples were tried."""
    return any(word in str(rule) for rule in rules for word in ("args.", "today", "now"))
