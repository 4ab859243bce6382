"""The record a tool works on, what its arguments pick beside it, and the reply to a change."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.core.english.stems import stem
from pipelines.core.english.verbs import DONE_TO_OTHERS
from pipelines.core.english.words import article, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import field_at
from pipelines.core.simulation.domain.shapes import Collection, Field, Singleton
from pipelines.core.simulation.expr.make import NOW, TODAY, Draft, arg, call, constant
from pipelines.core.simulation.expr.nodes import Expr, Name
from pipelines.core.simulation.reading.replies import Source, find_path, reply
from pipelines.core.simulation.reading.steps import (
    Bound,
    Step,
    bind,
    dot,
    find_reference,
    name_for,
    not_found,
    refers,
    require,
    same_id,
)
from pipelines.core.simulation.reading.targets import CONTAINER_WORDS, subject_of
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.text.json_text import Json


def record_of(reading: Reading) -> Bound | None:
    """The record that a tool's id argument picks."""
    found = reading.subject
    if found is None:
        return None
    return bind(found.collection, arg(found.id_argument.name), noun_of(found.collection))


def others_of(reading: Reading) -> list[Argument]:
    """The arguments beside the one that picks the record."""
    found = reading.subject
    return [one for one in reading.arguments if found is None or one is not found.id_argument]


def noun_of(collection: Collection) -> str:
    """What one record of a collection is called: order, job for a job_queue."""
    words = [word for word in collection.words if word not in CONTAINER_WORDS]
    return name_for(singular(words[-1]) if words else collection.name)


def source_of(collection: Collection, value: str | Expr, noun: str, id: Expr | None, **more: Any) -> Source:
    """A record of a collection, or a list of them, as what a reply is made of."""
    return Source(
        value=Name(value) if isinstance(value, str) else value,
        noun=noun,
        fields=collection.fields,
        id=id,
        own_names=collection.own_names,
        id_words=collection.id_words,
        id_is_number=collection.whole_number_keys,
        **more,
    )


def ownership(bound: Bound, others: Sequence[Argument], reading: Reading) -> list[Step]:
    """Further ids must belong together: get_line(customer_id, line_id) is refused for another's line."""
    steps: list[Step] = []
    fields = bound.collection.fields
    for argument in others:
        if not (argument.id_noun and argument.is_scalar and argument.is_required):
            continue
        path = find_path(fields, argument.name)
        kept = field_at(fields, path) if path is not None else None
        # What may be there or not is what is being set: dispatch_crew(request_id, crew_id). Whose post it is
        # matters not to like_post(post_id, user_id).
        is_set = kept is not None and "null" in kept.kinds and not reading.name.reads()
        if path is None or fields[path[0]].keeps or is_set or reading.name.verb in DONE_TO_OTHERS:
            steps += _there(reading, argument, bound)
        else:
            owned = same_id(dot(bound.noun, *path), arg(argument.name))
            steps.append(require(owned, not_found(bound.noun, bound.id)))
    return steps


def _there(reading: Reading, argument: Argument, bound: Bound) -> list[Step]:
    other = subject_of(reading.name, [argument], reading.known, reading.service)
    if other is None or other.collection.form != "table" or other.collection.is_empty:
        return []
    if other.collection == bound.collection:
        return []  # ship(order_id, tracking_code): no order has that id
    noun = name_for(noun_of(other.collection), avoid=(bound.noun,))
    # A customer that lists its lines has no other: suspend_line(customer_id, line_id).
    lists = [link for link in other.collection.list_links if link.entity_type == bound.collection.entity_type]
    held = [require(refers(noun, one, bound.id), not_found(bound.noun, bound.id)) for one in lists[:1]]
    return [find_reference(noun, other.collection.entity_type, arg(argument.name)), *held]


def now_as(layout: str) -> Expr:
    return call("format_date", NOW, constant(layout))


_FORMATS = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", NOW),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", now_as("%Y-%m-%dT%H:%M:%S")),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", now_as("%Y-%m-%d %H:%M:%S")),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", now_as("%Y-%m-%d %H:%M")),
    (r"\d{4}-\d\d-\d\d", TODAY),
    (r"\d\d/\d\d/\d{4}", now_as("%m/%d/%Y")),
    (r"\d\d:\d\d [AP]M", now_as("%I:%M %p")),
    (r"\d\d:\d\d", now_as("%H:%M")),
)


def time_like(example: Json, otherwise: Expr = NOW) -> Expr:
    """The run's time, written as the world writes its times."""
    if isinstance(example, str):
        return next((written for layout, written in _FORMATS if re.fullmatch(layout, example)), otherwise)
    return otherwise


_CREATED = word_set("created opened placed booked submitted posted sent issued registered added ordered")


def creation_times(fields: Mapping[str, Field]) -> dict[str, Expr]:
    """created_at, date, timestamp: set when a record is made; due_date and closed_at are not."""
    found: dict[str, Expr] = {}
    for name, field in fields.items():
        words = tokens(name)
        plain = words in (("date",), ("timestamp",), ("time",), ("created",))
        if plain or (words and words[0] in _CREATED and words[-1] in ("at", "date", "on", "time")):
            found[name] = time_like(field.example)
    return found


def counter_for(noun: str, service: Singleton | None) -> tuple[str, bool] | None:
    """`case_counter`, `next_case_id`: (field, whether it gives the next id); `case_count` only counts."""
    if service is None:
        return None
    for name, field in service.fields.items():
        words = singulars(tokens(name))
        if "number" not in field.kinds or noun not in words:
            continue
        if words[-1] == "counter" or (words[0] == "next" and words[-1] in ("id", noun, "number")):
            return name, True
        if words[-1] == "count" or words[0] in ("num", "total"):
            return name, False
    return None


def change_reply(reading: Reading, bound: Bound, *, changed: tuple[str, ...] | None = None) -> Draft:
    """The record after the change; a service answers with the id and what changed."""
    if not reading.output and reading.answers_in_objects and changed is not None:
        return {id_word(bound): bound.id, changed[-1]: dot(bound.noun, *changed)}
    source = source_of(bound.collection, bound.noun, bound.noun, bound.id)
    return reply(source, reading.output, reading.arguments)


def change_notes(reading: Reading, bound: Bound, changes: dict[Expr, Draft]) -> tuple[str, ...]:
    """What nobody said: a field that no record has yet."""
    return _new_places(reading, bound, changes, given=False)


def change_remarks(reading: Reading, bound: Bound, changes: dict[Expr, Draft]) -> tuple[str, ...]:
    """Fields that no record has yet, for what the caller gives."""
    return _new_places(reading, bound, changes, given=True)


def _new_places(
    reading: Reading, bound: Bound, changes: dict[Expr, Draft], *, given: bool
) -> tuple[str, ...]:
    known = {*_places(bound.noun, bound.collection.fields)}
    arguments = {arg(one.name) for one in reading.arguments}
    new = [place for place in changes if place not in known and not bound.collection.is_empty]
    such = [place for place in new if (changes[place] in arguments) == given]
    return tuple(f"no record has `{place}` yet: the change adds it" for place in such)


def _places(base: str | Expr, fields: Mapping[str, Field]) -> Iterator[Expr]:
    for name, one in fields.items():
        yield (place := dot(base, name))
        yield from _places(place, one.parts) if one.keeps is None else ()


def id_word(bound: Bound) -> str:
    own = bound.collection.id_field
    return own if own is not None and own != "id" else f"{bound.noun}_id"


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """A record that an argument picks."""

    noun: str
    id: Expr
    collection: Collection
    argument: Argument

    @property
    def value(self) -> Expr:
        return Name(self.noun)

    @property
    def bound(self) -> Bound:
        return Bound(steps=(), noun=self.noun, id=self.id, collection=self.collection, holder=self.noun)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    steps: tuple[Step, ...]
    things: tuple[Thing, ...]
    arguments: tuple[Argument, ...]  # those that pick nothing


def scope_of(reading: Reading) -> Scope:
    """Every required argument that is an id picks its record; no two go by one name."""
    steps: list[Step] = []
    things: list[Thing] = []
    rest: list[Argument] = []
    for argument in reading.arguments:
        found = subject_of(reading.name, [argument], reading.known, reading.service)
        is_picked = found is not None and argument.is_required and (argument.is_key or not found.is_taken)
        if found is None or not is_picked or found.collection.form != "table" or found.collection.is_empty:
            rest.append(argument)
            continue
        noun = noun_of(found.collection)
        while any(one.noun == noun for one in things):
            noun = f"other_{noun}"
        bound = bind(found.collection, arg(argument.name), noun)
        steps += bound.steps
        things.append(Thing(noun=noun, id=bound.id, collection=found.collection, argument=argument))
    return Scope(steps=tuple(steps), things=tuple(things), arguments=tuple(rest))


def stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(singular(word)) for word in words)


def nouns_of(collection: Collection) -> frozenset[str]:
    named = (collection.words, *collection.called, tokens(collection.entity_type))
    return frozenset(stem(singular(word)) for noun in named for word in noun)


def is_only_spoken_of(collection: Collection) -> bool:
    """Nothing of the kind is seeded, and no tool makes or changes any."""
    is_known = collection.placeholder or collection.fields or not collection.is_empty
    return collection.form == "table" and not is_known


def reply_name(reading: Reading) -> str:
    """`get_wishlist` answers {"wishlist": …}: the tool's own words name what it returns."""
    return "_".join(reading.name.nouns) or "result"


def taken_for_id(argument: Argument, noun: str) -> str:
    return f"`{argument.name}` is taken for the id of {article(noun).lower()} {noun}, though not called so"
