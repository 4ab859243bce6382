"""How a read plan is drafted: steps, the road to one record wherever it is kept, the names of what it binds.

A draft is made with words (`class`, `größe`, `3d_print`); `with_plan_names` makes names of plans of them.
"""

import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pipelines.core.english.words import singular, tokens
from pipelines.core.simulation.domain.shapes import Collection, Link
from pipelines.core.simulation.expr import nodes as n
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
from pipelines.core.simulation.expr.steps import bound_by
from pipelines.core.simulation.guessed_refusals import INFERRED_REFERENCE
from pipelines.core.simulation.syntax.compiler import CONSTANTS, GIVEN_NAMES
from pipelines.core.simulation.syntax.functions import FUNCTIONS

_TAKEN = frozenset((*GIVEN_NAMES, *CONSTANTS, *FUNCTIONS, *keyword.kwlist))
_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 40  # characters of a name that is made up


class Noun(str):
    """The name of a record that a draft binds. A text that is made with it is a plain text: it says the word.
    Only the name itself is known to be one, so that a record `now` is not the time of the call."""

    __slots__ = ("spoken",)
    spoken: str

    def __new__(cls, name: str, spoken: str | None = None) -> "Noun":
        name_text = super().__new__(cls, name)
        name_text.spoken = spoken or name
        return name_text


def name_for(words: str | Sequence[str], avoid: Sequence[str] = ()) -> Noun:
    """The word for one of them: `order` for orders. A second one of that word is bound as `other_order`."""
    parts = tokens(words) if isinstance(words, str) else tuple(words)
    word = "_".join([*parts[:-1], singular(parts[-1])]) if parts else "record"
    return Noun(f"other_{word}", word) if word in avoid else Noun(word)


def name_for_many(word: str) -> Noun:
    return Noun(word)


def spoken(name: str) -> str:
    """What the record is called where an agent reads it."""
    return name.spoken if isinstance(name, Noun) else name


def with_plan_names(draft: Draft) -> Draft:
    """The draft with a legal name for every record that it binds; its own names (`one`, `pair`) are legal."""
    bound = [*_bound_in(draft)]
    own = {name for name in bound if not isinstance(name, Noun)}
    names: dict[str, str] = {}
    for noun in dict.fromkeys(str(name) for name in bound if isinstance(name, Noun)):
        names[noun] = _legal(noun, {*_TAKEN, *own, *names.values()})
    # What was made of a noun may be read by its word alone, but for what every plan is given.
    plain = {word: name for word, name in names.items() if word not in own and word not in GIVEN_NAMES}
    return _renamed(draft, lambda name: (names if isinstance(name, Noun) else plain).get(name, str(name)))


def _legal(word: str, others: set[str]) -> str:
    name = word
    if not _LEGAL.fullmatch(name):
        name = re.sub(r"[^A-Za-z0-9_]", "", word)[:_LONGEST].strip("_")
        name = name if name and not name[0].isdigit() else f"record{name}"
    while name in others:
        name += "_"
    return name


def _bound_in(draft: Draft) -> Iterator[str]:
    if isinstance(draft, n.Expr):
        loops = (loop for node in draft.walk() if isinstance(node, n.Comprehension) for loop in node.loops)
        yield from (name for loop in loops for name in loop.names)
    elif isinstance(draft, Mapping):
        yield from bound_by(draft)
    inside = (
        draft.values() if isinstance(draft, Mapping) else draft if isinstance(draft, (list, tuple)) else ()
    )
    for part in inside:
        yield from _bound_in(part)


def _renamed(draft: Draft, named: Callable[[str], str], key: Draft = None) -> Draft:
    """`key`: of the step whose part it is."""
    if isinstance(draft, n.Name):
        return n.Name(named(draft.name))
    if isinstance(draft, n.Expr):
        rebuilt_draft = n.rebuilt(draft, lambda part: _renamed(part, named))
        if not isinstance(rebuilt_draft, n.Comprehension):
            return rebuilt_draft
        loops = (loop._replace(names=tuple(map(named, loop.names))) for loop in rebuilt_draft.loops)
        return n.Comprehension(rebuilt_draft.shape, rebuilt_draft.results, tuple(loops))
    if isinstance(draft, str):
        # `in` has a type, also one that a tool makes and its noun names.
        return (
            named(draft) if key in ("as", "for") or (isinstance(draft, Noun) and key != "in") else str(draft)
        )
    if isinstance(draft, Mapping) and key == "let":
        return {named(name): _renamed(part, named) for name, part in draft.items()}
    if isinstance(draft, Mapping):
        return {_renamed_key(one, named): _renamed(part, named, one) for one, part in draft.items()}
    return [_renamed(part, named) for part in draft] if isinstance(draft, (list, tuple)) else draft


def _renamed_key(key: Draft, named: Callable[[str], str]) -> Draft:
    """A field called `[x]` is no key that is computed."""
    if isinstance(key, n.Expr):
        return _renamed(key, named)
    return n.ListOf((n.Constant(str(key)),)) if key[:1] == "[" else str(key)


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
    title = called.replace("_", " ").capitalize()
    which = (" ", given) if given is not None else ()
    return refusal(f"{called}_not_found", message(title, *which, " not found"), 404)


def missing(noun: str, id: Expr) -> Step:
    """The same, with the noun as the plan spells it."""
    called = spoken(noun)
    return refusal(f"{called}_not_found", message(f"{called} ", id, " not found"), 404)


def refusal(error: str, why: str | Message, status: int = 409) -> Step:
    text = message(why) if isinstance(why, str) else why
    return {"status": status, "error": word(error), "message": text}


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
