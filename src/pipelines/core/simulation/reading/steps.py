"""How a read plan is written down: expressions, steps, and the road to one record wherever it is kept."""

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.core.english.words import singular, tokens
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.domain.shapes import Collection, Link
from pipelines.core.simulation.functions import FUNCTIONS
from pipelines.core.simulation.guessed_refusals import REFERENCE

Step = JsonObject
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
    id: str  # an expression
    collection: Collection
    holder: str  # the name of the entity that is, or holds, the record


def arg(name: str) -> str:
    return dot("args", name)


def dot(base: str, *names: str) -> str:
    """`order.address.zip`; names that are no identifiers in brackets."""
    for name in names:
        # Python reads µ as μ in an identifier: only plain letters go without quotes.
        plain = (
            name.isascii()
            and name.isidentifier()
            and not keyword.iskeyword(name)
            and not name.startswith("__")
        )
        base = f"{base}.{name}" if plain else f"{base}[{name!r}]"
    return base


def text(value: Json) -> str:
    """A literal, as an expression."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {text(part)}" for key, part in value.items()) + "}"
    return repr(value)


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
    if name in _TAKEN or name in FUNCTIONS or name in avoid or keyword.iskeyword(name):
        return f"{name}_{kind}"
    return name


def find_one(noun: str, entity_type: str, id: str) -> Step:
    # Without `else` the language itself answers 404 `order_not_found`, after the entity type.
    found: Step = {"as": noun, "in": entity_type, "id": id}
    if noun != entity_type and not id.startswith("'"):
        found["else"] = not_found(noun, id) | {"message": f"{noun} {{{id}}} not found"}
    return {"find": found}


def find_reference(noun: str, entity_type: str, id: str) -> Step:
    """Something that an argument refers to. That it has to be there is a guess, and the step says so."""
    missing = not_found(noun, id) | {"message": f"{noun} {{{id}}} not found"}
    return {"find": {"as": noun, "in": entity_type, "id": id, "else": missing}, "note": REFERENCE}


def not_found(noun: str, given: str | None = None) -> JsonObject:
    shown = noun.replace("_", " ").capitalize()
    which = f" {{{given}}}" if given else ""
    return {"status": 404, "error": word(f"{noun}_not_found"), "message": f"{shown}{which} not found"}


def refusal(error: str, message: str, status: int = 409) -> JsonObject:
    return {"status": status, "error": word(error), "message": message}


def require(condition: str, failure: Mapping[str, Json]) -> Step:
    return {"require": condition, "else": dict(failure)}


def word(phrase: str) -> str:
    """A snake_case word for an error code; it begins with a letter."""
    found = re.sub(r"[^a-z0-9_]", "_", "_".join(tokens(phrase))).lstrip("_0123456789")
    return found or "refused"


def _in_table(collection: Collection, id: str, noun: str) -> Step:
    found = find_one(noun, collection.entity_type, id)
    if not collection.found_by_field or collection.id_field is None:
        return found
    where = f"same_id({dot(noun, collection.id_field)}, {id})"
    missing = not_found(noun, id) | {"message": f"{noun} {{{id}}} not found"}
    return {"find": {"as": noun, "in": collection.entity_type, "where": where, "else": missing}}


def refers(each: str, link: Link, id: str) -> str:
    """That a record called `each` refers to what has the id."""
    if not link.in_list:
        return f"same_id({dot(each, *link.path)}, {id})"
    one = dot("one", *link.path[1:])
    return f"any(same_id({one}, {id}) for one in {dot(each, link.path[0])})"


def bind(collection: Collection, id: str, noun: str) -> Bound:
    """The road to the record of a collection that has this id; the record is then bound as `noun`."""
    if collection.form == "table":
        found = _in_table(collection, id, noun)
        return Bound(steps=(found,), id=f"{noun}.id", noun=noun, collection=collection, holder=noun)
    holder = name_for(collection.entity_type, avoid=(noun,))
    kept = dot(holder, *collection.path)
    own = collection.id_field or "id"
    chosen = f"{dot(noun, own)} == {id}"
    if collection.owner is not None:
        into = find_one(holder, collection.entity_type, text(collection.owner))
    else:
        where = f"{id} in {kept}" if collection.form == "map" else f"any({chosen} for {noun} in {kept})"
        missing = not_found(noun, id)
        into = {"find": {"as": holder, "in": collection.entity_type, "where": where, "else": missing}}
    picked: Step = {"as": noun, "in": kept, "else": not_found(noun, id)}
    picked |= {"id": id} if collection.form == "map" else {"where": f"same_id({dot(noun, own)}, {id})"}
    own_id = id if collection.form == "map" else dot(noun, own)
    return Bound(steps=(into, {"find": picked}), id=own_id, noun=noun, collection=collection, holder=holder)
