"""What a statement says is so, for one tool: all its facts, with those joined that belong together."""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import NEUTRAL
from pipelines.core.simulation.behavior.parts.fact import JOINS, Fact
from pipelines.core.simulation.behavior.parts.given_values import GivenValues
from pipelines.core.simulation.behavior.parts.moments import Moments
from pipelines.core.simulation.behavior.parts.numbers import Numbers
from pipelines.core.simulation.behavior.parts.relations import Relations
from pipelines.core.simulation.behavior.parts.statement import Statement
from pipelines.core.simulation.behavior.parts.states import States
from pipelines.core.simulation.behavior.things import ToolWords


def facts(statement: Statement, tool: ToolWords, taken: frozenset[int]) -> list[Fact] | None:
    """All of them, or None where one thing would be said to be two."""
    used = set(taken)
    relations, states = Relations(statement, tool, used), States(statement, tool, used)
    given = GivenValues(statement, tool, used)
    # What is surest of its words comes first: each takes those it reads from the others.
    readers = (
        relations.doers, relations.other_doers, relations.made_by_them, relations.owners, relations.belonging,
        Moments(statement, tool, used).read,
        Numbers(statement, tool, used).read, given.listed, states.read, given.given, states.had,
    )  # fmt: skip
    found: list[Fact] = []
    for reader in readers:
        for fact in reader():
            found.append(fact)
            used |= fact.used
    joined = _joined(sorted(found, key=lambda one: one.start), statement)
    return None if _contradict(joined) else joined


def _joined(found: list[Fact], statement: Statement) -> list[Fact]:
    """States side by side are alternatives: `filled, cancelled or rejected`."""
    out: list[Fact] = []
    for fact in found:
        last = out[-1] if out else None
        between = statement.cursor.lows[last.end : fact.start] if last is not None else []
        if (
            last is not None
            and last.kind == fact.kind
            and _field_of(last.so) is not None
            and _field_of(last.so) == _field_of(fact.so)
            and set(between) <= JOINS
            and isinstance(last.so, m.Not) == isinstance(fact.so, m.Not)
        ):
            out[-1] = replace(last, so=_either(last.so, fact.so), end=fact.end, used=last.used | fact.used)
            continue
        is_either = bool({"or", "nor"} & set(between)) and all(
            low in NEUTRAL or low in (",", "nor") for low in between
        )
        if last is not None and is_either:
            out[-1] = replace(last, so=m.Any_((last.so, fact.so)), end=fact.end, used=last.used | fact.used)
            continue
        out.append(fact)
    return out


def _field_of(so: m.Condition) -> str | None:
    match so:
        case m.Not(part):
            return _field_of(part)
        case m.OneOf(field, _):
            return field.name
        case m.Any_(parts):
            return _field_of(parts[0])
    return None


def _either(one: m.Condition, other: m.Condition) -> m.Condition:
    if isinstance(one, m.Not) and isinstance(other, m.Not):
        return m.Not(_either(one.part, other.part))
    parts = (*(one.parts if isinstance(one, m.Any_) else (one,)), other)
    return m.Any_(parts)


def _contradict(found: Sequence[Fact]) -> bool:
    """Whether one field is said to be two things at once, so that one of the words was not meant for it."""
    told = {repr(fact.so): fact for fact in found}.values()  # in the workshop for maintenance: said twice
    named = [
        (fact.kind, _field_of(fact.so))
        for fact in told
        if _field_of(fact.so) and not isinstance(fact.so, m.Not)
    ]
    given = [field for fact in found for field in (argument_of(fact.so),) if field]
    return len(set(named)) < len(named) or len(set(given)) < len(given)


def argument_of(so: m.Condition) -> str | None:
    """The argument that is said to be there, or to be something."""
    match so:
        case m.Not(part):
            return argument_of(part)
        case m.Present(m.Field(name, is_argument=True)) | m.OneOf(m.Field(name, is_argument=True), _):
            return name
        case m.Compare(m.Field(name, is_argument=True), "==", m.Literal_(bool())):
            return name
    return None


def arguments_in(so: m.Condition) -> set[str]:
    """All arguments that a fact is about."""
    match so:
        case m.Not(part):
            return arguments_in(part)
        case m.All(parts) | m.Any_(parts):
            return set().union(*map(arguments_in, parts))
        case m.Compare(m.Field(name, is_argument=True)):
            return {name}
    one = argument_of(so)
    return {one} if one else set()
