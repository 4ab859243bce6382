"""What steps do once their values are known: shared by the interpreter and the code emitted from plans."""

from collections.abc import Generator, Iterable
from typing import NamedTuple

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.library.lists import sorted_by
from pipelines.core.simulation.library.numbers import whole_needed
from pipelines.core.simulation.lookups import Reach, candidates
from pipelines.core.simulation.values import (
    Entity,
    Stopped,
    Value,
    as_text,
    check_size,
    elements,
    equal,
    id_text,
    is_blank,
    kind_of,
    leave,
)


class Outcome(NamedTuple):
    status: int
    response: Json


def failed(status: int, error: str, message: Value) -> Outcome:
    return Outcome(status, {"error": {"code": error, "message": as_text(message)}})


def not_found(kind: str, wanted: Value) -> Outcome:
    word = "".join(c if c.isalnum() else "_" for c in kind.lower()).strip("_")
    which = "" if wanted is None else f" {as_text(wanted)[:200]}"
    return Outcome(404, {"error": {"code": f"{word}_not_found", "message": f"{kind}{which} not found"}})


# -- among the entities of a type


def by_id(kind: str, id: Value, call: Call) -> Entity | None:
    """In any spelling."""
    text = id_text(id)
    return None if text is None else call.resolve(kind, text)


def by_exact_id(kind: str, id: Value, call: Call) -> Entity | None:
    text = id_text(id)
    return None if text is None else call.entity(kind, text)


def by_ids(kind: str, ids: Value, is_exact: bool, call: Call) -> list[Entity]:
    look = by_exact_id if is_exact else by_id
    found = []
    for id in elements(ids):
        call.spend()
        entity = look(kind, id, call)
        if entity is not None:
            found.append(entity)
    return found


def all_of(kind: str, call: Call) -> list[Entity]:
    return list(call.entities(kind))


def scanned(kind: str, call: Call) -> Iterable[tuple[str, JsonObject]]:
    """Every entity of the type: what a search without an index looks at."""
    ledger = call.world()
    return ledger.entities(kind) if ledger.changed(kind) else ledger.world.entities.get(kind, {}).items()


def narrowed(kind: str, reach: Reach, wanted: Value, call: Call) -> Iterable[tuple[str, JsonObject]]:
    """The entities that may hold the wanted value; all of them where only a look at each can tell."""
    ledger = call.world()
    ids = candidates(ledger, kind, reach, wanted)
    if ids is None:
        return ledger.entities(kind)
    return [(id, attrs) for id in ids if (attrs := ledger.get(kind, id)) is not None]


# -- likewise, where a plan only reads: attributes will do


def attributes_by_id(kind: str, id: Value, call: Call) -> tuple[str, JsonObject | None]:
    """In any spelling; the id in the ledger's."""
    ledger, text = call.ledger, id_text(id)
    if text is None:
        return "", None
    attrs = ledger.get(kind, text)
    if attrs is not None:
        return text, attrs
    found = ledger.resolve_id(kind, text)
    return (found, ledger.get(kind, found)) if found is not None else ("", None)


def attributes_by_exact_id(kind: str, id: Value, call: Call) -> tuple[str, JsonObject | None]:
    text = id_text(id)
    return ("", None) if text is None else (text, call.ledger.get(kind, text))


def attributes_of_all(kind: str, call: Call) -> list[JsonObject]:
    found = []
    for _, attrs in scanned(kind, call):
        call.spend()
        found.append(attrs)
    return found


# -- in a list or mapping inside an entity


def pairs(container: Value) -> list[tuple[Value, Value]]:
    if isinstance(container, dict):
        return list(container.items())
    return list(enumerate(elements(container)))


def hits_by_id(container: Value, wanted: Value, call: Call) -> Generator[tuple[Value, Value], None, None]:
    """In a mapping an id is a key; in a list it is the element itself or its `id`."""
    if isinstance(container, dict):
        key = id_text(wanted)
        if key in container:
            yield key, container[key]
        return
    for key, value in pairs(container):
        call.spend()
        if equal(value.get("id") if isinstance(value, dict) else value, wanted, call):
            yield key, value


def values_of(hits: Iterable[tuple[Value, Value]]) -> list[Value]:
    return [value for _, value in hits]


def first_hit(hits: Iterable[tuple[Value, Value]], fields: tuple[str, ...]) -> tuple[Value, Value]:
    """The key and the value of the first in order; no hit is a null under no key."""
    for field in reversed(fields):
        hits = sorted_by(hits, field, _second)
    return next(iter(hits), ("", None))


def _second(pair: tuple[Value, Value]) -> Value:
    return pair[1]


# -- in order


def in_order(found: list[Value], fields: tuple[str, ...]) -> list[Value]:
    for field in reversed(fields):
        found = sorted_by(found, field)
    return found


def first_in_order(found: list[Value], fields: tuple[str, ...]) -> Value:
    return next(iter(in_order(found, fields)), None)


def arranged(found: list[Value], fields: tuple[str, ...], call: Call) -> list[Value]:
    call.spend(len(found) * len(fields))
    return in_order(found, fields)


def limited(found: list[Value], limit: Value, call: Call) -> list[Value]:
    if is_blank(limit):
        return check_size(found, call)  # type: ignore[no-any-return]
    return found[: max(0, whole_needed(limit, "a whole number for `limit`"))]


# -- changes


def attributes(value: Value, call: Call) -> JsonObject:
    attrs = leave(value, call)
    if not isinstance(attrs, dict):
        raise Stopped("plan_type", f"the attributes of an entity are a mapping, not {kind_of(attrs)}")
    return attrs


def add(kind: str, id: str, attrs: JsonObject, call: Call) -> Entity:
    if call.entity(kind, id) is not None:
        raise Stopped("plan_duplicate_id", f"{kind} {id[:100]!r} is there already")
    return call.add(kind, id, attrs)


def set_flag(flag: Value, value: bool, call: Call) -> None:
    if not isinstance(flag, str) or not flag:
        raise Stopped("plan_type", f"a flag is text, not {kind_of(flag)}")
    call.set_flag(flag, value)
