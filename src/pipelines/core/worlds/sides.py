"""Both sides of every rule in the behaviour text: a record that it lets through, and one that it does not, as
near to the border as the values allow."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import Ledger
from pipelines.core.simulation.behavior.rules import Rule
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, Outline, TypeOutline
from pipelines.core.worlds.rule_cases import (
    Tester,
    cases_of,
    constants_of,
    fields_of,
    kind_of,
    looks_at_clock,
    tester,
    with_record,
)
from pipelines.core.worlds.shapes import Toolset
from pipelines.core.worlds.sums import LineSum, sums_of
from pipelines.core.worlds.times import is_moment, rank_of, write_moment

_WANTED = 2  # records that are put on each side of a border


class Sided(NamedTuple):
    state: JsonObject
    notes: tuple[str, ...]


def with_both_sides(toolset: Toolset, outline: Outline, state: JsonObject, *, now: str) -> Sided:
    """The world with some records moved to the borders of rules; what could not be placed is said."""
    if not toolset.behavior:
        return Sided(state, ())
    ground = Ground(toolset, state)
    notes = [
        f"Not understood, so no record was made for it: {each}" for each in ground.simulator.not_understood
    ]
    taken: set[tuple[str, str]] = set()
    for rule in ground.rules:
        kind = kind_of(rule, ground.lexicon)
        test = tester(rule, ground.lexicon, now)
        if kind is None or test is None or kind not in outline.types:
            continue
        state = _placed(rule, kind, test, Placing(ground, outline, now, taken), state)
        ground = Ground(toolset, state) if state is not ground.state else ground
        found = cases_of(rule, ground.lexicon, ground.world, now)
        if found is not None and found.missing is not None:
            notes.append(f"No {kind} could be made that this rule {found.missing}: {rule.sentence}")
    return Sided(state, tuple(dict.fromkeys(notes)))


class Placing(NamedTuple):
    ground: Ground
    outline: Outline
    now: str
    taken: set[tuple[str, str]]  # records that stand at a border already


def _placed(rule: Rule, kind: str, test: Tester, around: Placing, state: JsonObject) -> JsonObject:
    own = around.outline.types[kind]
    records: dict[str, JsonObject] = dict(state[kind])  # type: ignore[arg-type]
    free = [id for id in reversed(records) if (kind, id) not in around.taken]
    world = around.ground.world
    placed = False
    for path in fields_of(rule, kind):
        field = own.field(path[0]) if len(path) == 1 else None
        if field is None or field.refers_to is not None or field.name == own.id_field:
            continue
        sides: dict[bool, int] = {True: 0, False: 0}
        if field.is_moment:  # of one that it has not come to, nothing is to be moved
            free = [id for id in free if records[id].get(field.name) is not None]
        for value in dict.fromkeys(border_values(field, rule, around.now)):
            if not free:
                break
            changed = with_value(own, around.outline, records[free[0]], field, value)
            outcome = test(free[0], Ledger(with_record(world, kind, free[0], changed)))
            if outcome is None or sides[outcome] >= _WANTED:
                continue
            if field.values and _has_side(test, around, kind, outcome):
                continue  # a state that somebody has already
            sides[outcome] += 1
            id = free.pop(0)
            records[id] = changed
            around.taken.add((kind, id))
            placed = True
    return {**state, kind: records} if placed else state  # type: ignore[dict-item]


def _has_side(test: Tester, around: Placing, kind: str, outcome: bool) -> bool:
    ledger = Ledger(around.ground.world)
    return any(test(id, ledger) is outcome for id in around.ground.world.entities[kind])


def border_values(field: FieldOutline, rule: Rule, now: str) -> Iterator[Json]:
    """Values at the border and next to it, nearest first."""
    constants = list(constants_of(rule))
    numbers = [one for one in constants if isinstance(one, int | float)]
    if is_moment(field):
        moment = datetime.fromisoformat(now).replace(tzinfo=None)
        for days in numbers or ([0] if looks_at_clock(rule) else []):
            for shift in (-1, 1, 0):
                for sign in (-1, 1) if rank_of(field.name) is None else (-1,):
                    yield write_moment(field, moment + timedelta(days=sign * (days + shift), hours=-2 * sign))
        yield from (one for one in constants if isinstance(one, str) and moment_of(one) is not None)
    elif field.kind in ("whole", "number"):
        step = 1 if field.kind == "whole" else 0.01
        for number in numbers:
            yield from (_rounded(number + each * step) for each in (0, 1, -1))
            yield from (_rounded(number + each) for each in (25, -25))
    elif field.kind == "boolean":
        yield from (True, False)
    elif field.values:
        yield from field.values
    else:
        yield from (one for one in constants if isinstance(one, str))
        yield None


def _rounded(value: float) -> int | float:
    return int(value) if float(value).is_integer() else round(value, 2)


def with_value(
    own: TypeOutline, outline: Outline, record: JsonObject, field: FieldOutline, value: Json
) -> JsonObject:
    """The record with another value and what follows: lines that add up, other moments moved along."""
    changed: JsonObject = {**record, field.name: value}
    rule = next((each for each in sums_of(own, outline.types) if each.total == field.name), None)
    if rule is not None and rule.link is None and isinstance(value, int | float):
        _add_up_to(changed, rule, value)
    if is_moment(field) and isinstance(value, str) and rank_of(field.name) is not None:
        _move_along(own, record, changed, field)
    return changed


def _add_up_to(record: JsonObject, rule: LineSum, total: float) -> None:
    lines = record.get(rule.lines)
    if not isinstance(lines, list) or not lines or not isinstance(lines[0], dict):
        return
    extra = rule.of(record, []) or 0.0
    one: JsonObject = {**lines[0], rule.price: _rounded(round(total - extra, 2))}
    if rule.times is not None:
        one[rule.times] = 1
    record[rule.lines] = [one]


def _move_along(own: TypeOutline, before: JsonObject, record: JsonObject, field: FieldOutline) -> None:
    """The record's life as a whole is moved, so that what came first still does."""
    old, new = moment_of(before.get(field.name)), moment_of(record[field.name])
    if old is None or new is None:
        return
    shift = new.at.replace(tzinfo=None) - old.at.replace(tzinfo=None)
    for one in own.fields:
        value = moment_of(before.get(one.name))
        if one.name != field.name and is_moment(one) and rank_of(one.name) is not None and value is not None:
            record[one.name] = write_moment(one, value.at.replace(tzinfo=None) + shift)
