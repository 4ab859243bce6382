"""Lines inside a record: the parts used on a work order, the books in a cart, the roles of a play.

A line has a place for each thing that is given: an id of what it refers to, a number, a text. What is put in,
taken out or changed there is told by name and description; a line that is given twice becomes more of it."""

from collections.abc import Mapping
from typing import NamedTuple

from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import find_field
from pipelines.core.simulation.domain.shapes import Collection, Field
from pipelines.core.simulation.expr.make import NULL, all_of, arg, arithmetic, call, is_equal, is_null, listed
from pipelines.core.simulation.expr.nodes import Conditional, Constant, Entry, Expr, MappingOf, Name, Not
from pipelines.core.simulation.reading.account import more_than_none
from pipelines.core.simulation.reading.membership import direction_of
from pipelines.core.simulation.reading.scope import Scope, Thing, rows_of, scope_of, stems
from pipelines.core.simulation.reading.steps import (
    Bound,
    Drafted,
    Step,
    dot,
    name_for,
    not_found,
    refusal,
    require,
    same_id,
    some,
)
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import change_reply

_INTO = word_set("to into onto in on")
_OUT_OF = word_set("from off out")
_NEAR = 3  # words: "off a standing order"


class _Lines(NamedTuple):
    """The list that is meant, and which part of a line each argument is."""

    holder: Thing
    rows: Collection
    keys: Mapping[str, Argument]  # say which line
    values: Mapping[str, Argument]  # are kept in it

    @property
    def place(self) -> Expr:
        return dot(self.holder.value, *self.rows.path)

    @property
    def is_it(self) -> Expr:
        tests = (
            (same_id if one.kind != "number" or self.rows.links else is_equal)(
                dot("line", part), arg(one.name)
            )
            for part, one in self.keys.items()
        )
        return all_of(*tests)

    @property
    def is_there(self) -> Expr:
        return some(self.is_it, "line", self.place)


def read_lines(reading: Reading) -> Drafted | None:
    scope = scope_of(reading)
    found = [lines for holder in scope.things for lines in _lines_of(reading, scope, holder)]
    if len(found) > 1:
        spoken = stems((*tokens(reading.tool.name), *tokens(reading.said.summary)))
        found = [one for one in found if stems(tokens(one.rows.path[0])) & spoken]
    lines = found[0] if len(found) == 1 else None
    way = _way(reading, lines.holder) if lines is not None else None
    if lines is None or way is None or (way == "set" and not lines.values):
        return None
    changed = {"put": _put, "take": _taken, "set": _set}[way](lines)
    holder = lines.holder
    bound = Bound(steps=(), noun=holder.noun, id=holder.id, collection=holder.collection, holder=holder.noun)
    steps = (*scope.steps, *changed, {"return": change_reply(reading, bound)})
    done = {"put": "gets one, or more of it", "take": "loses one", "set": "is changed in one"}[way]
    given = ", ".join(f"`{one.name}`" for one in (*lines.keys.values(), *lines.values.values()))
    note = f"`{lines.place}` {done}: its lines have a place for {given}"
    return Drafted(steps=steps, notes=(note,), confidence=0.8)


def _way(reading: Reading, holder: Thing) -> str | None:
    """By what stands before the record that has the lines ("onto a work order"), else by the verb."""
    words = tokens(reading.said.summary.lower())
    nouns = [at for at, one in enumerate(words) if stems((one,)) & holder.called]
    before = {word for at in nouns for word in words[max(0, at - _NEAR) : at]}
    if before & _INTO and not before & _OUT_OF:
        return "put"
    if before & _OUT_OF and not before & _INTO:
        return "take"
    return direction_of(reading) or ("set" if reading.name.op in ("update", "create") else None)


def _lines_of(reading: Reading, scope: Scope, holder: Thing) -> list[_Lines]:
    """Lists of the record whose lines have a place for everything that must be given beside its id."""
    found = []
    others = [one for one in reading.arguments if one is not holder.argument and one.is_required]
    for rows in rows_of(reading, holder.collection):
        parts = {one.name: _part(one, rows, scope) for one in others}
        if not others or None in parts.values() or len({*parts.values()}) < len(parts):
            continue
        placed = {str(parts[one.name]): one for one in others}
        keys = {part: one for part, one in placed.items() if _says_which(rows.fields[part])}
        if keys:
            values = {part: one for part, one in placed.items() if part not in keys}
            found.append(_Lines(holder, rows, keys, values))
    return found


def _says_which(part: Field) -> bool:
    """A line is known by what is never blank and no amount."""
    return "null" not in part.kinds and bool(part.kinds & {"text"} or tokens(part.name)[-1] == "id")


def _part(argument: Argument, rows: Collection, scope: Scope) -> str | None:
    """By what it refers to, by its name, or as the only number."""
    thing = next((one for one in scope.things if one.argument is argument), None)
    if thing is not None:
        links = [link for link in rows.links if link.entity_type == thing.collection.entity_type]
        return links[0].path[0] if len(links) == 1 else None
    own = find_field(rows.fields, argument.name)
    numbers = [name for name, one in rows.fields.items() if "number" in one.kinds]
    if own is None and argument.kind == "number" and len(numbers) == 1:
        return numbers[0]
    return own if own is not None and argument.is_scalar else None


def _set(lines: _Lines) -> list[Step]:
    missing = not_found(name_for(lines.rows.path[0]))
    return [
        require(lines.is_there, missing),
        _changed(lines, lines.values),
    ]


def _changed(lines: _Lines, values: Mapping[str, Argument], *, adds: bool = False) -> Step:
    line = Name("line")
    new = {part: arg(one.name) for part, one in values.items()}
    if adds:
        there = {part: call("default", dot(line, part), Constant(0)) for part in new}
        new = {part: arithmetic(there[part], "+", given) for part, given in new.items()}
    merged = Conditional(lines.is_it, call("merge", line, _row(new)), line)
    return {"set": {lines.place: listed(merged, "line", lines.place)}}


def _row(values: Mapping[str, Expr]) -> Expr:
    return MappingOf(tuple(Entry(Constant(name), value) for name, value in values.items()))


def _taken(lines: _Lines) -> list[Step]:
    missing = not_found(name_for(lines.rows.path[0]))
    rest = listed(Name("line"), "line", lines.place, Not(lines.is_it))
    return [require(lines.is_there, missing), {"set": {lines.place: rest}}]


def _put(lines: _Lines) -> list[Step]:
    """A line that is there already gets more of it, or what it lacks; else it is refused."""
    given = {**lines.keys, **lines.values}
    shown = {part: arg(one.name) for part, one in given.items()}
    row = _row({name: shown.get(name, NULL) for name in lines.rows.fields})
    numbers = {
        part: one for part, one in lines.values.items() if one.kind == "number" and not _refers(lines, part)
    }
    blanks = {part: one for part, one in lines.values.items() if part not in numbers}
    steps = [more_than_none(one) for one in numbers.values()]
    again: list[Step]
    if numbers:
        again = [_changed(lines, numbers, adds=True)]
    elif blanks:
        free = (is_null(dot("line", part)) for part in blanks)
        is_free = some(all_of(lines.is_it, *free), "line", lines.place)
        again = [require(is_free, _already(lines)), _changed(lines, blanks)]
    else:
        again = [{"fail": _already(lines)}]
    return [*steps, {"if": lines.is_there, "then": [*again], "else": [{"append": {lines.place: row}}]}]


def _refers(lines: _Lines, part: str) -> bool:
    return any(link.path == (part,) for link in lines.rows.links)


def _already(lines: _Lines) -> Step:
    noun = name_for(lines.rows.path[0])
    return refusal(f"{noun}_taken", f"The {noun.replace('_', ' ')} is there already")
