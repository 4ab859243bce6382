"""The fields that plans and rules set, and the seeded world as calls may leave it."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import Ledger, Update, World
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.parse import parse
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.samples import (
    MOST_RECORDS,
    MOST_VALUES,
    Hints,
    looks_at_clock,
    moments_around,
)
from pipelines.core.simulation.rules.vocabulary import Keys, Vocabulary
from pipelines.core.simulation.syntax.text import BadExpression


class Setting(NamedTuple):
    entity_type: str
    path: Keys
    value: Expr


def settings_in(plan: Json) -> Iterator[Setting]:
    """What a plan sets, or gives to records that it adds."""
    every = [*_steps(plan)]
    found = [one for step in every for verb in ("find", "add") if isinstance(one := step.get(verb), dict)]
    types = {one.get("as"): kind for one in found if isinstance(kind := one.get("in"), str)}
    for step in every:
        for target, value in _entries(step.get("set")):
            name, _, path = target.partition(".")
            if name in types and path:
                yield Setting(types[name], tuple(path.split(".")), _expression(value))
        match step.get("add"):
            case {"in": str(kind), "attrs": attrs}:
                yield from (Setting(kind, (key,), _expression(one)) for key, one in _entries(attrs))


def settings_of(rule: r.Rule, vocabulary: Vocabulary) -> Iterator[Setting]:
    """What a rule sets."""
    match rule.form:
        case r.Set(target=target, value=value):
            yield Setting(target.root, target.keys, value or m.NULL)
        case r.Add(entity_type=kind, fields=fields):
            yield from (Setting(kind, (name,), value) for name, value in fields)
        case r.Put(name=name, value=value):
            kinds = [vocabulary.tools[tool].about for tool in rule.tools if tool in vocabulary.tools]
            yield from (Setting(kind, (name,), value) for kind in kinds if kind is not None)


def worlds_after(world: World, settings: Iterable[Setting], hints: Hints) -> Iterator[Ledger]:
    """The seeded world, and for each field that calls set the world in which all records have that value."""
    yield Ledger(world)
    for kind, path, value in dict.fromkeys(settings):
        ids = [*islice(world.entities.get(kind, {}), MOST_RECORDS)]
        for one in _set_to(value, hints) if len(path) == 1 else ():
            ledger = Ledger(world)
            ledger.apply([Update(entity_type=kind, id=id, set={path[0]: one}) for id in ids])
            yield ledger


def _set_to(value: Expr, hints: Hints) -> list[Json]:
    """The value that is written there, or whatever the rule suggests where a call says what."""
    if isinstance(value, n.Constant):
        return [value.value]
    if looks_at_clock(value):
        return [*moments_around(hints)[:MOST_VALUES]]
    numbers = [near for one in hints.numbers for near in (one - 1, one, one + 1)]
    return [*numbers, *hints.texts[:MOST_VALUES], True, False]


def _steps(body: Json) -> Iterator[JsonObject]:
    """Each step, also those within others."""
    if isinstance(body, list):
        for one in body:
            yield from _steps(one)
    elif isinstance(body, dict):
        yield body
        for part in body.values():
            yield from _steps(part) if isinstance(part, list) else ()


def _entries(body: Json) -> Iterable[tuple[str, Json]]:
    return body.items() if isinstance(body, dict) else ()


def _expression(value: Json) -> Expr:
    """What no expression stands for may be anything that a call gives."""
    try:
        return parse(value) if isinstance(value, str) else m.constant(value)
    except BadExpression:
        return m.ARGS
