"""What most changes share: the time in the world's format, counters, and the reply to a change."""

import re
from collections.abc import Iterator, Mapping

from pipelines.core.english.words import singulars, tokens, word_set
from pipelines.core.simulation.domain.shapes import Field, Singleton
from pipelines.core.simulation.expr.make import NOW, TODAY, Draft, arg, call, constant
from pipelines.core.simulation.expr.nodes import Expr
from pipelines.core.simulation.reading.records import source_of
from pipelines.core.simulation.reading.replies import reply
from pipelines.core.simulation.reading.steps import Bound, dot
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.text.json_text import Json


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
