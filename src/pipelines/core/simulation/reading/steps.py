"""How a read plan is drafted: steps, and the road to one record wherever it is kept."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pipelines.core.english.words import tokens
from pipelines.core.simulation.domain.shapes import Collection, Link
from pipelines.core.simulation.expr.make import (
    Draft,
    Message,
    call,
    compare,
    constant,
    each_of,
    fields,
    is_equal,
    message,
)
from pipelines.core.simulation.expr.nodes import Constant, Expr, Name
from pipelines.core.simulation.guessed_refusals import INFERRED_REFERENCE
from pipelines.core.simulation.reading.bound_names import name_for as name_for
from pipelines.core.simulation.reading.bound_names import name_for_many as name_for_many
from pipelines.core.simulation.reading.bound_names import spoken

Step: TypeAlias = dict[str, Draft]  # expressions are nodes, until the plan is whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Drafted:
    """A plan as read: its steps, what it takes for granted, and how sure the reading is (0 to 1)."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # where it keeps what the caller gives: told of the plan, not of each run
    confidence: float = 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """One record within reach: the steps that get there, the name it is bound to, and its id."""

    steps: tuple[Step, ...]
    noun: str
    id: Expr
    collection: Collection
    holder: str  # the name of the entity that is, or holds, the record


def dot(base: str | Expr, *names: str) -> Expr:
    """`order.address.zip`, below a name or below another expression."""
    return fields(Name(base) if isinstance(base, str) else base, *names)


def find_one(noun: str, entity_type: str, id: Expr) -> Step:
    # Without `else` the language itself answers 404 `order_not_found`, after the entity type.
    found: Step = {"as": noun, "in": entity_type, "id": id}
    if noun != entity_type and not isinstance(id, Constant):
        found["else"] = missing(noun, id)
    return {"find": found}


def find_reference(noun: str, entity_type: str, id: Expr) -> Step:
    """Something that an argument refers to. That it has to be there is a guess, and the step says so."""
    return {
        "find": {"as": noun, "in": entity_type, "id": id, "else": missing(noun, id)},
        "note": INFERRED_REFERENCE,
    }


def not_found(noun: str, given: Expr | None = None) -> Step:
    called = spoken(noun)
    shown = called.replace("_", " ").capitalize()
    which = (" ", given) if given is not None else ()
    return refusal(f"{called}_not_found", message(shown, *which, " not found"), 404)


def missing(noun: str, id: Expr) -> Step:
    """The same, with the noun as the plan spells it."""
    called = spoken(noun)
    return refusal(f"{called}_not_found", message(f"{called} ", id, " not found"), 404)


def refusal(error: str, why: str | Message, status: int = 409) -> Step:
    shown = message(why) if isinstance(why, str) else why
    return {"status": status, "error": word(error), "message": shown}


def require(condition: Expr, failure: Mapping[str, Draft]) -> Step:
    return {"require": condition, "else": dict(failure)}


def word(phrase: str) -> str:
    """A snake_case word for an error code."""
    return re.sub(r"\W", "_", "_".join(tokens(phrase))).strip("_") or "refused"


def _in_table(collection: Collection, id: Expr, noun: str) -> Step:
    if not collection.found_by_field or collection.id_field is None:
        return find_one(noun, collection.entity_type, id)
    where = same_id(dot(noun, collection.id_field), id)
    return {"find": {"as": noun, "in": collection.entity_type, "where": where, "else": missing(noun, id)}}


def same_id(one: Expr, other: Expr) -> Expr:
    return call("same_id", one, other)


def id_of(noun: str) -> Expr:
    return call("id_of", Name(noun))


def some(test: Expr, name: str, source: Expr) -> Expr:
    """`any(test for name in source)`."""
    return call("any", each_of(test, name, source))


def refers(each: str | Expr, link: Link, id: Expr) -> Expr:
    """That a record called `each` refers to what has the id."""
    if not link.in_list:
        return same_id(dot(each, *link.path), id)
    return some(same_id(dot("one", *link.path[1:]), id), "one", dot(each, link.path[0]))


def bind(collection: Collection, id: Expr, noun: str) -> Bound:
    """The road to the record of a collection that has this id; the record is then bound as `noun`."""
    if collection.form == "table":
        found = _in_table(collection, id, noun)
        return Bound(steps=(found,), id=dot(noun, "id"), noun=noun, collection=collection, holder=noun)
    holder = name_for(collection.entity_type, avoid=(noun,))
    kept, own = dot(holder, *collection.path), dot(noun, collection.id_field or "id")
    is_map = collection.form == "map"
    if collection.owner is not None:
        into = find_one(holder, collection.entity_type, constant(collection.owner))
    else:
        where = compare(id, "in", kept) if is_map else some(is_equal(own, id), noun, kept)
        into = {
            "find": {"as": holder, "in": collection.entity_type, "where": where, "else": not_found(noun, id)}
        }
    picked: Step = {"as": noun, "in": kept, "else": not_found(noun, id)}
    picked |= {"id": id} if is_map else {"where": same_id(own, id)}
    own_id = id if is_map else own
    return Bound(steps=(into, {"find": picked}), id=own_id, noun=noun, collection=collection, holder=holder)
