"""What begins and ends with somebody, and is kept apart: the day's attendance of a child, the shift of a
worker. `check_in(child_id, date, time)` is about such a record, if that has a field called as the verb is
(`check_in`, `clocked_out_at`)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipelines.core.english.inflection import participle
from pipelines.core.english.verbs import VERB_PAIRS
from pipelines.core.english.words import joined, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.roles import states_of, status_path
from pipelines.core.simulation.domain.shapes import Collection, Link
from pipelines.core.simulation.expr.make import (
    NULL,
    Draft,
    all_of,
    any_of,
    arg,
    call,
    constant,
    is_equal,
    is_null,
    message,
)
from pipelines.core.simulation.expr.nodes import Expr, Name
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.records import noun_of, others_of, record_of
from pipelines.core.simulation.reading.states import initial_state
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    dot,
    name_for,
    not_found,
    refusal,
    require,
    same_id,
    word,
)
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import time_like

_BEGINS = word_set("check_in clock_in sign_in punch_in start begin enter arrive board")
_TIMES = word_set("time at hour clock")


class _Episode(NamedTuple):
    table: Collection
    link: Link
    id: Expr  # what is given for that
    field: str  # when the verb was done
    keys: tuple[tuple[str, Expr], ...]  # fields that say which one it is, and what is given for them
    time: Expr


def read_episode(reading: Reading) -> Drafted | None:
    bound = record_of(reading)
    if bound is None or bound.collection.form != "table":
        return None
    done = participle(reading.name.verb)
    found = [*_episodes(reading, bound.collection)]
    if len(found) != 1 or _state(bound.collection, done) is not None:
        return None
    one, begins = found[0], reading.name.verb in _BEGINS
    noun = name_for(noun_of(one.table), avoid=(bound.noun,))
    place, status = dot(noun, one.field), status_path(one.table.fields)
    state = _state(one.table, done) or (initial_state(reading, one.table) if begins and status else None)
    told: dict[tuple[str, ...], Draft] = {(one.field,): one.time}
    if state is not None and status is not None:
        told[status] = constant(state)
    search: Step = {"as": noun, "in": one.table.entity_type, "where": _which(one, noun, bound.id)}
    search |= {"optional": True} if begins else {"else": not_found(noun)}
    again = refusal(f"already_{word(done)}", message("That is done already: ", place))
    steps: list[Step] = [*bound.steps, {"find": search}]
    is_new = is_null(place)
    steps.append(require(any_of(is_null(Name(noun)), is_new) if begins else is_new, again))
    steps += [_made(one, noun, told)] if begins else []
    changes = {dot(noun, *path): value for path, value in told.items()}
    steps += [{"set": changes}, {"return": Name(noun)}]
    note = f"`{place}` says when it was done: only such records of {bound.collection.entity_type} have it"
    return Drafted(steps=tuple(steps), notes=(note,), confidence=0.8)


def _state(collection: Collection, done: str) -> str | None:
    states = states_of(collection.fields, status_path(collection.fields))
    return next((one for one in states if joined(tokens(one)) == joined(tokens(done))), None)


def _which(one: _Episode, noun: str, id: Expr) -> Expr:
    """The one of that day; where no day is given, the one of which it has not been done yet."""
    same = same_id(dot(noun, *one.link.path), id)
    keys = [is_equal(dot(noun, name), value) for name, value in one.keys]
    return all_of(same, *(keys or [is_null(dot(noun, one.field))]))


def _made(one: _Episode, noun: str, told: dict[tuple[str, ...], Draft]) -> Step:
    """A new one, where none is there yet."""
    new = call("new_id", constant(one.table.entity_type))
    own = call("int", new) if one.table.numeric_ids else new
    attrs: dict[str, Draft] = {one.table.id_field: own} if one.table.id_field is not None else {}
    attrs |= {one.link.path[0]: one.id, **dict(one.keys)}
    attrs |= {".".join(path): value for path, value in told.items()}
    blank = (name for name, field in one.table.fields.items() if "null" in field.kinds)
    added: Step = {"in": one.table.entity_type, "as": f"new_{noun}", "attrs": dict.fromkeys(blank) | attrs}
    added |= {"id": call("str", own)} if one.table.id_field is not None else {}
    return {"if": is_null(Name(noun)), "then": [{"add": added}, {"return": Name(f"new_{noun}")}]}


def _episodes(reading: Reading, about: Collection) -> Iterator[_Episode]:
    """Types that refer to the record at hand, have a field called as the verb is, and places for the rest."""
    given = [one for one in others_of(reading) if one.is_required]
    id = arg(reading.subject.id_argument.name) if reading.subject is not None else NULL
    for table in reading.known.tables.values():
        links = [
            link for link in table.links if link.entity_type == about.entity_type and len(link.path) == 1
        ]
        names = [name for name in table.fields if _is_of_verb(name, reading.name.verb)]
        if len(links) != 1 or len(names) != 1:
            continue
        paths = {one.name: field_for(one, table) for one in given}
        rest = [one for one in given if paths[one.name] is None]
        if _is_when(rest):
            keys = tuple((path[0], arg(name)) for name, path in paths.items() if path is not None)
            time = arg(rest[0].name) if rest else time_like(table.fields[names[0]].example)
            yield _Episode(table, links[0], id, names[0], keys, time)


def _is_of_verb(name: str, verb: str) -> bool:
    words = tokens(name)
    plain = words[:-1] if len(words) > 1 and words[-1] in ("at", "time", "on") else words
    pair = (
        VERB_PAIRS.get((plain[0], plain[1])) if len(plain) > 1 else None
    )  # a clock-in is read as a check-in
    return pair == verb or plain in (tokens(verb), tokens(participle(verb)))


def _is_when(rest: Sequence[Argument]) -> bool:
    return not rest or (len(rest) == 1 and rest[0].words[-1] in _TIMES)
