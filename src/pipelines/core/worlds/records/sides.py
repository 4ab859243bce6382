"""Both sides of every rule: a record that it lets through, and one that it does not, as near to the border as
the values allow."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.samples import hints_of, looks_at_clock, moments_around
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, Outline, TypeOutline
from pipelines.core.worlds.records.rule_cases import Tester, cases_of, fields_of, need_of, tester
from pipelines.core.worlds.shapes import Toolset
from pipelines.core.worlds.values.sums import LineSum, sums_of
from pipelines.core.worlds.values.times import rank_of, write_moment

_WANTED = 2  # records that are put on each side of a border
_LOOKED_AT = 40  # records, for those that a rule's border runs through
_LIFE = timedelta(days=36_500)  # no record is older


class Sided(NamedTuple):
    state: JsonObject
    notes: tuple[str, ...]


def with_both_sides(toolset: Toolset, outline: Outline, state: JsonObject, *, now: str) -> Sided:
    """The world with some records moved to the borders of rules; what could not be placed is said."""
    if not toolset.behavior and not toolset.rules:
        return Sided(state, ())
    book = Ground(toolset, state).simulator.rule_book
    notes: list[str] = []
    used_pairs: set[tuple[str, str]] = set()
    for rule in book.rules:
        test = tester(rule, book.vocabulary, now)
        if test is None or test.kind not in outline.types:
            continue
        state = _placed(Border(rule, test, outline, World.from_initial_state(state)), state, used_pairs)
        found = cases_of(rule, book.vocabulary, World.from_initial_state(state), now)
        if found is not None and found.missing is not None:
            notes.append(f"No {test.kind} could be made that this rule {found.missing}: {rule.sentence}")
    not_read = Ground(toolset, state).simulator.not_understood
    unread = (f"Not understood, so no record was made for it: {each}" for each in not_read)
    return Sided(state, tuple(dict.fromkeys((*unread, *notes))))


class Border(NamedTuple):
    """Where a rule tells the records of a type apart."""

    rule: Rule
    test: Tester
    outline: Outline
    world: World

    @property
    def own(self) -> TypeOutline:
        return self.outline.types[self.test.kind]

    @property
    def fields(self) -> list[FieldOutline]:
        """Those of the type that it looks at and that can be given another value."""
        own = self.own
        found = (own.field(keys[0]) for keys in fields_of(self.rule, own.name) if len(keys) == 1)
        return [one for one in found if one and one.refers_to is None and one.name != own.id_field]

    def values(self, field: FieldOutline, id: str) -> list[tuple[Json, bool]]:
        """With what the rule says of the record then; those first between which it turns."""
        record = self.world.entities[self.own.name][id]
        found: list[tuple[Json, bool]] = []
        ledger = Ledger(self.world)
        values = values_around(field, need_of(self.rule), self.test.now)
        is_ordered = field.is_moment or field.kind in ("whole", "number")
        for value in sorted(values) if is_ordered else values:  # type: ignore[type-var]
            changed = with_value(self.own, self.outline, record, field, value)
            outcome = self.test(id, changed, ledger)
            found += [(value, outcome)] if outcome is not None else []
        turns = [at + 0.5 for at in range(len(found) - 1) if found[at][1] != found[at + 1][1]]
        order = sorted(range(len(found)), key=lambda at: min((abs(at - turn) for turn in turns), default=0))
        return [found[at] for at in order]

    def has_side(self, outcome: bool) -> bool:
        ledger, records = Ledger(self.world), self.world.entities[self.test.kind]
        return any(self.test(id, record, ledger) is outcome for id, record in records.items())


def _placed(border: Border, state: JsonObject, taken: set[tuple[str, str]]) -> JsonObject:
    """`taken`: records that stand at a border already."""
    own = border.own
    records: dict[str, JsonObject] = dict(state[own.name])  # type: ignore[arg-type]
    free = [id for id in reversed(records) if (own.name, id) not in taken]
    for field in border.fields:
        if field.is_moment:  # of one that it has not come to, nothing is to be moved
            free = [id for id in free if records[id].get(field.name) is not None]
        # Where a rule has two conditions, only records that meet the other one tell its sides apart.
        turning = [id for id in free[:_LOOKED_AT] if len({so for _, so in border.values(field, id)}) == 2]
        picked = turning or list(free)
        sides: dict[bool, int] = {True: 0, False: 0}
        for value, outcome in border.values(field, picked[0]) if picked else ():
            if not picked or sides[outcome] >= _WANTED or (field.values and border.has_side(outcome)):
                continue  # enough of them, or a state that somebody has already
            sides[outcome] += 1
            id = picked.pop(0)
            free.remove(id)
            records[id] = with_value(own, border.outline, records[id], field, value)
            taken.add((own.name, id))
    return {**state, own.name: records}  # type: ignore[dict-item]


def values_around(field: FieldOutline, need: Expr, now: str, at: int = 0) -> list[Json]:
    """Values that may decide whether something holds, the plainest first; the at-th record gets others."""
    hints = hints_of(need, ())
    if field.is_moment:
        today = datetime.fromisoformat(now).replace(tzinfo=UTC)
        dates = (*hints.dates, *([today] if looks_at_clock(need) else []))
        moments = _moments(field, moments_around(hints._replace(dates=dates)) if dates else (), today)
        away = timedelta(days=2 * at)
        moved = (one + (away if one > today else -away) for one in moments) if at else ()
        return [*dict.fromkeys(write_moment(field, one.replace(tzinfo=None)) for one in (*moved, *moments))]
    if field.kind in ("whole", "number"):
        return [*dict.fromkeys(_near(hints.numbers, at, 1 if field.kind == "whole" else 0.01))]
    if field.kind == "boolean":
        return [True, False]
    turn = at % len(field.values) if field.values else 0
    return [*field.values[turn:], *field.values[:turn]] or [None, *hints.texts]


def _near(numbers: Sequence[float], at: int, step: float) -> Iterator[int | float]:
    """Nothing below zero where nothing speaks of that."""
    for number in numbers:
        far = max(1.0, abs(number) * 0.05) * (at + 1)
        for shift in (0, far, -far, step, -step):
            if number + shift >= 0 or min(numbers) <= 0:
                yield _rounded(round(number + shift) if step == 1 else number + shift)


def _moments(field: FieldOutline, moments: Sequence[str], now: datetime) -> list[datetime]:
    """Nearest first; of what has happened, nothing that is still to come."""
    found = (one for one in map(datetime.fromisoformat, moments) if abs(one - now) < _LIFE)
    may_come = rank_of(field.name) is None
    return sorted((one for one in found if one < now or may_come), key=lambda one: abs(one - now))


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
    if field.is_moment and isinstance(value, str) and rank_of(field.name) is not None:
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
        if one.name != field.name and one.is_moment and rank_of(one.name) is not None and value is not None:
            record[one.name] = write_moment(one, value.at.replace(tzinfo=None) + shift)
