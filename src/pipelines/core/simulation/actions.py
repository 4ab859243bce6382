"""The actions of plan steps, shared by the interpreter and the code emitted from plans."""

from collections.abc import Generator, Iterable
from typing import NamedTuple

from pipelines.core.simulation.call import ENTITY, Call
from pipelines.core.simulation.library.lists import sorted_by
from pipelines.core.simulation.library.numbers import whole_needed
from pipelines.core.simulation.syntax.lookups import Reach, candidates
from pipelines.core.simulation.values import (
    Entity,
    Stopped,
    Value,
    as_text,
    check_length,
    check_size,
    elements,
    equal,
    id_text,
    is_blank,
    kind_of,
    leave,
)
from pipelines.core.text.json_text import Json, JsonObject

MAX_ID = 1_000  # characters: each search for an id in another spelling looks at those the run has added


class Outcome(NamedTuple):
    status: int
    response: Json


def failure_outcome(status: int, error: str, message: Value, call: Call) -> Outcome:
    return Outcome(status, {"error": {"code": error, "message": as_text(message, call)}})


def not_found(kind: str, wanted: Value, call: Call) -> Outcome:
    word = "".join(c if c.isalnum() else "_" for c in kind.lower()).strip("_")
    which = "" if wanted is None else f" {as_text(wanted, call)[:200]}"
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
        call.spend(ENTITY)
        entity = look(kind, id, call)
        if entity is not None:
            found.append(entity)
    return found


def all_of(kind: str, call: Call) -> list[Entity]:
    return list(call.entities(kind))


def scan(kind: str, call: Call) -> Iterable[tuple[str, JsonObject]]:
    """Every entity of the type: what a search without an index looks at."""
    ledger = call.world()
    changed = ledger.changed(kind)
    if not changed:
        return ledger.world.entities.get(kind, {}).items()
    call.spend(2 * len(changed))
    return ledger.entities(kind)


def narrow(kind: str, reach: Reach, wanted: Value, call: Call) -> Iterable[tuple[str, JsonObject]]:
    """The entities that may hold the wanted value; all of them where only a look at each can tell."""
    ledger = call.world()
    changed = len(ledger.changed(kind))
    call.spend(8 * changed)
    ids = candidates(ledger, kind, reach, wanted)
    if ids is None:
        return ledger.entities(kind)
    call.spend((24 if changed else 4) * len(ids))
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
    found = call.loose_id(kind, text)
    return (found, ledger.get(kind, found)) if found is not None else ("", None)


def attributes_by_exact_id(kind: str, id: Value, call: Call) -> tuple[str, JsonObject | None]:
    text = id_text(id)
    return ("", None) if text is None else (text, call.ledger.get(kind, text))


def attributes_of_all(kind: str, call: Call) -> list[JsonObject]:
    ledger = call.world()
    call.spend(len(ledger.changed(kind)))
    found = []
    for _, attrs in ledger.entities(kind):
        call.spend(ENTITY)
        found.append(attrs)
    return found


# -- in a list or mapping inside an entity


def pairs(container: Value, call: Call) -> list[tuple[Value, Value]]:
    if isinstance(container, dict):
        call.spend(3 * len(container))
        return list(container.items())
    found = elements(container)
    call.spend(3 * len(found))
    return list(enumerate(found))


def rounds(value: Value, call: Call) -> list[Value]:
    """What a `for` goes over, as it is now: the steps inside may change the list."""
    found = elements(value)
    call.spend(len(found) >> 2)
    return list(found)


def hits_by_id(container: Value, wanted: Value, call: Call) -> Generator[tuple[Value, Value], None, None]:
    """In a mapping an id is a key; in a list it is the element itself or its `id`."""
    if isinstance(container, dict):
        key = id_text(wanted)
        if key in container:
            yield key, container[key]
        return
    for key, value in pairs(container, call):
        call.spend(11)
        if equal(value.get("id") if isinstance(value, dict) else value, wanted, call):
            yield key, value


def values_of(hits: Iterable[tuple[Value, Value]]) -> list[Value]:
    return [value for _, value in hits]


def first_hit(
    hits: Iterable[tuple[Value, Value]], fields: tuple[str, ...], call: Call
) -> tuple[Value, Value]:
    """The key and the value of the first in order; no hit is a null under no key."""
    for field in reversed(fields):
        hits = sorted_by(list(hits), field, call, _second)
    return next(iter(hits), ("", None))


def _second(pair: tuple[Value, Value]) -> Value:
    return pair[1]


# -- in order


def sort_found(found: list[Value], fields: tuple[str, ...], call: Call) -> list[Value]:
    for field in reversed(fields):
        found = sorted_by(found, field, call)
    return found


def first_in_order(found: list[Value], fields: tuple[str, ...], call: Call) -> Value:
    return next(iter(sort_found(found, fields, call)), None)


def limit_found(found: list[Value], limit: Value, call: Call) -> list[Value]:
    if is_blank(limit):
        return check_size(found, call)  # type: ignore[no-any-return]
    most = max(0, whole_needed(limit, "a whole number for `limit`"))
    check_length(found, min(len(found), most), call)
    return found[:most]


# -- changes


def attributes(value: Value, call: Call) -> JsonObject:
    attrs = leave(value, call)
    if not isinstance(attrs, dict):
        raise Stopped("plan_type", f"the attributes of an entity must be a mapping, not {kind_of(attrs)}")
    return attrs


def add(kind: str, id: str, attrs: JsonObject, call: Call) -> Entity:
    if len(id) > MAX_ID:
        raise Stopped("plan_too_large", f"the id has {len(id):,} characters; at most {MAX_ID:,} are allowed")
    if call.entity(kind, id) is not None:
        raise Stopped("plan_duplicate_id", f"{kind} {id[:100]!r} already exists")
    return call.add(kind, id, attrs)


def set_flag(flag: Value, value: bool, call: Call) -> None:
    if not isinstance(flag, str) or not flag:
        raise Stopped("plan_type", f"a flag must be text, not {kind_of(flag)}")
    call.set_flag(flag, value)
