"""How a read plan is drafted: steps, and the road to one record wherever it is kept."""

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pipelines.core.english.words import singular, tokens
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
from pipelines.core.simulation.functions import FUNCTIONS
from pipelines.core.simulation.guessed_refusals import REFERENCE

Step: TypeAlias = dict[str, Draft]  # expressions are nodes, until the plan is whole
_TAKEN = frozenset(("args", "now", "today", "null", "true", "false"))


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


def name_for(words: str | Sequence[str], avoid: Sequence[str] = ()) -> str:
    """A readable name to bind: `order`; never one that means something else in the language."""
    parts = tokens(words) if isinstance(words, str) else tuple(words)
    name = "_".join([*parts[:-1], singular(parts[-1])]) if parts else "record"
    return _unlike_others(name, avoid, "record")


def name_for_many(word: str) -> str:
    return _unlike_others(word, (), "list")


def _unlike_others(name: str, avoid: Sequence[str], kind: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_]", "_", name)
    name = name if name.isidentifier() else f"the_{name}"
    return f"{name}_{kind}" if name in avoid or _means_something(name) else name


def _means_something(name: str) -> bool:
    """In Python, or in the language of plans."""
    return name in _TAKEN or name in FUNCTIONS or keyword.iskeyword(name)


def told_as(noun: str) -> str:
    """What a caller is told of a thing: `class`, though a plan has to call it `class_record`."""
    plain = noun.removesuffix("_record")
    return plain if _means_something(plain) else noun


def find_one(noun: str, entity_type: str, id: Expr) -> Step:
    # Without `else` the language itself answers 404 `order_not_found`, after the entity type.
    found: Step = {"as": noun, "in": entity_type, "id": id}
    if noun != entity_type and not isinstance(id, Constant):
        found["else"] = missing(noun, id)
    return {"find": found}


def find_reference(noun: str, entity_type: str, id: Expr) -> Step:
    """Something that an argument refers to. That it has to be there is a guess, and the step says so."""
    return {"find": {"as": noun, "in": entity_type, "id": id, "else": missing(noun, id)}, "note": REFERENCE}


def not_found(noun: str, given: Expr | None = None) -> Step:
    shown = told_as(noun).replace("_", " ").capitalize()
    which = (" ", given) if given is not None else ()
    return refusal(f"{told_as(noun)}_not_found", message(shown, *which, " not found"), 404)


def missing(noun: str, id: Expr) -> Step:
    """The same, with the noun as the plan spells it."""
    return refusal(f"{told_as(noun)}_not_found", message(f"{told_as(noun)} ", id, " not found"), 404)


def refusal(error: str, why: str | Message, status: int = 409) -> Step:
    shown = message(why) if isinstance(why, str) else why
    return {"status": status, "error": word(error), "message": shown}


def require(condition: Expr, failure: Mapping[str, Draft]) -> Step:
    return {"require": condition, "else": dict(failure)}


def word(phrase: str) -> str:
    """A snake_case word for an error code; it begins with a letter."""
    found = re.sub(r"[^a-z0-9_]", "_", "_".join(tokens(phrase))).lstrip("_0123456789")
    return found or "refused"


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
