"""What the seeded records of a type show of its fields: which kinds of values they hold, and the least
number.

A model's change is held against it where no ledger schema says more: a price that was never negative stays
so.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from pipelines.core.ledger.ledger import Attributes, World
from pipelines.core.text.json_text import Json, pointer
from pipelines.core.text.problems import Problem

LOOKED_AT = 500  # records of a type
DEEPEST = 4


class Seen(NamedTuple):
    kinds: frozenset[str]
    least: float | None  # of the numbers


#: By the names on the way, lists left out: `("items", "price")`.
SeenFields = dict[tuple[str, ...], Seen]


def seen_fields(world: World, kind: str) -> SeenFields:
    """Made once for all runs in this world."""
    key = ("seen fields", kind)
    found: SeenFields | None = world.derived.get(key)
    if found is None:
        found = world.derived[key] = _seen(islice(world.entities.get(kind, {}).values(), LOOKED_AT))
    return found


def value_problems(attrs: Attributes, seen: SeenFields, path: str, what: str) -> Iterator[Problem]:
    """What no record of the type looks like."""
    for names, place, value in _values(attrs, (), path):
        known = seen.get(names)
        if known is None or value is None:
            continue
        kind = _kind(value)
        if kind not in known.kinds:
            held = " or ".join(sorted(known.kinds))
            yield Problem(
                path=place, message=f"is {kind}, but in every {what} so far `{names[-1]}` is {held}"
            )
        elif known.least is not None and known.least >= 0 and isinstance(value, (int, float)) and value < 0:
            yield Problem(path=place, message=f"is negative ({value:g}); `{names[-1]}` of a {what} never was")


def _seen(records: Iterator[Attributes]) -> SeenFields:
    kinds: dict[tuple[str, ...], set[str]] = {}
    least: dict[tuple[str, ...], float] = {}
    for attrs in records:
        for names, _, value in _values(attrs, (), ""):
            if value is None:
                continue
            kinds.setdefault(names, set()).add(_kind(value))
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                least[names] = min(value, least.get(names, value))
    return {names: Seen(frozenset(some), least.get(names)) for names, some in kinds.items()}


def _values(value: Json, names: tuple[str, ...], path: str) -> Iterator[tuple[tuple[str, ...], str, Json]]:
    if names:
        yield names, path, value
    if len(names) >= DEEPEST:
        return
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _values(part, (*names, name), path + pointer([name]))
    elif isinstance(value, list):
        for at, part in enumerate(value):
            if isinstance(part, dict):
                for name, inner in part.items():
                    yield from _values(inner, (*names, name), path + pointer([at, name]))


def _kind(value: Json) -> str:
    if isinstance(value, bool):
        return "yes or no"
    if isinstance(value, (int, float)):
        return "a number"
    return "text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"
