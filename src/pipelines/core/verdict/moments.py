"""Days and times of a clause, each bound to a cell; and changes that are told: `from 20 May to 27 May`."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Day, Timed
from pipelines.core.english.mentions import mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.verdict.amounts import Amounts
from pipelines.core.verdict.beside import Beside, Mention, beside, best, roles
from pipelines.core.verdict.bound import Bound, Reading
from pipelines.core.verdict.cells import Cell, Cells, Scope, When, field_words
from pipelines.core.verdict.said import NEGATED, Said, is_stated

_ENDS = frozenset({"start", "end"})
_CALLED_TODAY = re.compile(r"\b(?:today(?:'s\s+date)?(?:\s+is)?|as\s+of)\W{0,3}$", re.IGNORECASE)
_TODAY_FOLLOWS = re.compile(r"\W{0,3}today\b", re.IGNORECASE)
_SHOULD = re.compile(
    r"\b(?:will|shall|should)\s+(?=(?:be|arrive|come|land|start|end|leave|reach|close|open)\b)"
)
_COMPARES = re.compile(
    r"\b(?:instead|than|rather|before|other|another|was|were|from|until|had|originally)\b|→|->"
)
LONGEST_BETWEEN = 60
SHORTEST_MONTH = 28
_MONTH = re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})")  # `period: 2026-04`
_TELLS_CHANGE = re.compile(
    r"\b(?:moved?|chang\w+|went|goes|gone|going|reschedul\w+|switch\w+|shifted|increase\w*|rose|risen|rais\w+|drop\w*|fell|falls|fallen"
    r"|correct\w+|adjust\w+|updat\w+|extend\w+|renew\w+|lower\w+|reduc\w+|upgrad\w+|downgrad\w+|postpon\w+|transfer\w+|swapped"
    r"|redirect\w+|roll\w+|reassign\w+|promot\w+|convert\w+|now|new)\b|→|->"
)
_FROM = re.compile(r"\bfrom\s+(?:[\w']+[\s,]+){0,3}$", re.IGNORECASE)
_TO = re.compile(r"\bto\s+(?:\W*[\w']+[\s,]+){0,3}\W*$", re.IGNORECASE)
_ARROW = re.compile(r"^[^.;]{0,20}(?:→|->)[^.;]{0,12}$")
_INSTEAD = re.compile(
    r"\b(?:instead\s+of|rather\s+than|down\s+from|up\s+from|\(?was|previously|before)\s+(?:[\w']+\s+){0,3}$",
    re.IGNORECASE,
)

MINUTES_OF_DAY = 24 * 60


class Moments:
    """Binds the days and times of one run's answers."""

    def __init__(self, cells: Cells, amounts: Amounts) -> None:
        self._cells = cells
        self._facts = cells.facts
        self._amounts = amounts

    def read(self, one: Dated | Timed, said: Said, scope: Scope) -> Bound:
        near = beside(said, one)
        if isinstance(one, Dated) and self._is_today(one, said):
            return Bound(Reading.SO)
        bound = self._bound(one, near, scope, said)
        if bound:
            return Bound(Reading.SO, "", tuple(bound))
        if holds_any(one, *self._of_rules) or holds_any(
            one, self._facts.refused.days, self._facts.refused.times
        ):
            return Bound(Reading.SO)
        return self._against(one, near, scope, said)

    @property
    def _of_rules(self) -> tuple[set[Day], set[int]]:
        return self._facts.given.days, self._facts.given.times

    def _is_today(self, one: Dated, said: Said) -> bool:
        today = self._facts.day_of_run()
        is_so_called = _CALLED_TODAY.search(said.sentence[: one.start]) or _TODAY_FOLLOWS.match(
            said.sentence, one.end
        )
        return bool(today and is_so_called and any(day.agrees_with(today) for day in one.days))

    def _bound(self, one: Dated | Timed, near: Beside, scope: Scope, said: Said) -> list[Cell]:
        dated = [
            cell
            for cell in scope.cells
            if (cell.days or holds(one, cell) if isinstance(one, Dated) else cell.minutes)
        ]
        holding = [cell for cell in dated if holds(one, cell) and self._amounts.is_timely(cell, near, said)]
        named = best(dated, near)
        if named and not _COMPARES.search(near.lead):
            return [cell for cell in holding if cell.field in {other.field for other in named}]
        ends = _ends(near, scope)
        meant = [cell for cell in dated if not roles(cell.words).isdisjoint(ends)]
        if len(ends) == 1 and meant and not _COMPARES.search(near.clause):
            return [
                cell
                for cell in holding
                if not roles(cell.words).isdisjoint(ends) or not roles(cell.words) & _ENDS
            ]
        return holding

    def _may_come_of(self, one: Dated | Timed, scope: Scope) -> bool:
        """Whether it lies so many days, weeks or months from a day that is known as some number says."""
        if isinstance(one, Timed):
            return self._is_time_after(one, scope)
        numbers = self._facts.asked.numbers | self._facts.quotable
        spans = {1, *(int(n) for n in numbers if 0 < n <= 62 and n % 1 == 0)}
        known = {day for cell in scope.cells for day in cell.days if day.year} | self._facts.asked.days
        days = [date(day.year, day.month, day.day) for day in [*known][:20] if day.year]
        later = {day + timedelta(days=sign * span) for day in days for span in spans for sign in (1, -1)}
        return any(own.agrees_with(Day(day.month, day.day, day.year)) for own in one.days for day in later)

    def _is_time_after(self, one: Timed, scope: Scope) -> bool:
        """Whether it lies so many hours or minutes from a time that is known as some number says; or is no
        time at all: `she is now at nine`."""
        numbers = {n for cell in scope.cells for n in cell.numbers} | self._facts.asked.numbers
        spans = {int(n * unit) for n in numbers for unit in (1, 60) if 0 < n * unit <= MINUTES_OF_DAY}
        known = {minute for cell in scope.cells for minute in cell.minutes}
        ends = {
            (minute + sign * span) % MINUTES_OF_DAY for minute in known for span in spans for sign in (1, -1)
        }
        is_count = any(Decimal(minute) / 60 in numbers for minute in one.minutes)
        return is_count or not one.minutes.isdisjoint(ends)

    def _against(self, one: Dated | Timed, near: Beside, scope: Scope, said: Said) -> Bound:
        text = _SHOULD.sub(" ", said.text)
        if not is_stated(text) or NEGATED.search(text) or (isinstance(one, Dated) and len(one.days) > 2):
            return Bound(Reading.OPEN)
        if any(holds(one, cell) for cell in scope.cells if scope.is_own(cell)):
            return Bound(Reading.OPEN)  # the thing has it: of which field it is said is not plain enough
        kind = [cell for cell in scope.cells if (cell.days if isinstance(one, Dated) else cell.minutes)]
        own = [cell for cell in kind if cell.when is When.IS and scope.is_own(cell)]
        told = [cell for cell in kind if cell.when is When.TOLD or cell.when is When.IS]
        named = best(own, near) if isinstance(one, Dated) or not self._may_come_of(one, scope) else []
        if named and len(scope.own) == 1 and not _COMPARES.search(near.lead):
            return Bound(Reading.FALSE, " and ".join(dict.fromkeys(cell.told() for cell in named[:2])))
        everything = self._facts.everything
        is_known = holds_any(one, everything.days, everything.times) or holds_any(
            one, self._facts.asked.days, self._facts.asked.times
        )
        is_written_out = any(map(str.isdigit, said.sentence[one.start : one.end]))
        if isinstance(one, Timed) and self._may_come_of(one, scope):
            return Bound(Reading.OPEN)
        if (own or (told and not self._may_come_of(one, scope))) and not is_known and is_written_out:
            return Bound(Reading.FALSE, "another day" if isinstance(one, Dated) else "another time")
        same = {cell.field for cell in own}
        was_so = any(holds(one, cell) for cell in scope.cells if cell.field in same)
        if len(same) == 1 and not was_so and len(scope.own) == 1 and not _COMPARES.search(near.clause):
            return Bound(Reading.FALSE, own[0].told())
        return Bound(Reading.OPEN)


def _ends(near: Beside, scope: Scope) -> frozenset[str]:
    """Which end is meant; what a thing is called says nothing of that: `your leave request`."""
    kinds = frozenset(word for thing in scope.own for word in field_words(thing.entity_type))
    return roles(near.near - kinds) & _ENDS


def holds(one: Mention, cell: Cell) -> bool:
    if isinstance(one, Quantity):
        return bool({abs(value).normalize() for value in one.values} & cell.numbers)
    month = _MONTH.fullmatch(cell.value) if isinstance(cell.value, str) else None
    if month is not None and isinstance(one, Dated) and len(one.days) >= SHORTEST_MONTH:
        return all(day.month == int(month["month"]) and day.year == int(month["year"]) for day in one.days)
    return holds_any(one, cell.days, cell.minutes)


def holds_any(one: Dated | Timed, days: Iterable[Day], minutes: Iterable[int]) -> bool:
    if isinstance(one, Dated):
        return any(day.agrees_with(own) for day in one.days for own in days)
    return not one.minutes.isdisjoint(minutes)


class WrongMove(NamedTuple):
    written: str
    instead: str
    is_turned: bool = True  # what it is for what it was
    is_from: bool = False  # what it was is right, and what it is said to be now is not
    is_told: bool = False  # it is a value that some reply told: perhaps on the way


def wrong_moves(sentence: str, scope: Scope) -> Iterator[WrongMove]:
    """Changes that a sentence tells and that are none, or go the other way."""
    low = sentence.lower()
    if NEGATED.search(low):
        return
    changed = _changes(scope)
    tells = _TELLS_CHANGE.search(low) is not None
    read = mentions(sentence)
    kinds: tuple[tuple[Mention, ...], ...] = (read.days, read.times, read.numbers)
    for kind in kinds:
        for one, other in pairwise(kind):
            for move in _of_pair(sentence, one, other, changed):
                is_told = any(holds(other, c) or holds(one, c) for c in scope.cells if c.when is When.TOLD)
                if tells or move.is_from:
                    yield move._replace(is_told=is_told)


def right_moves(sentence: str, scope: Scope) -> frozenset[int]:
    """Where mentions stand that tell a change as it was: `from 46.00 to 41.40`."""
    changed = _changes(scope)
    read = mentions(sentence)
    found: set[int] = set()
    kinds: tuple[tuple[Mention, ...], ...] = (read.days, read.times, read.numbers)
    for kind in kinds if changed else ():
        for one, other in pairwise(kind):
            first, second = _in_order(sentence, one, other) or (None, None)
            if first and second and any(holds(first, was) and holds(second, now) for was, now in changed):
                found |= {one.start, other.start}
    return frozenset(found)


def _in_order(sentence: str, one: Mention, other: Mention) -> tuple[Mention, Mention] | None:
    """What is said to have been, and what is said to be; None where no change is told."""
    between = sentence[one.end : other.start]
    lead = sentence[max(0, one.start - LONGEST_BETWEEN) : one.start]
    if len(between) > LONGEST_BETWEEN:
        return None
    if (_FROM.search(lead) and _TO.search(between)) or _ARROW.search(between):
        return one, other
    return (other, one) if _INSTEAD.search(between) else None


def _changes(scope: Scope) -> list[tuple[Cell, Cell]]:
    """Each field that the run gave another value: what it was, what it is."""
    was = {(cell.record, cell.field): cell for cell in scope.cells if cell.when is When.WAS and not cell.row}
    now = (cell for cell in scope.cells if cell.when is When.IS)
    return [(was[cell.record, cell.field], cell) for cell in now if (cell.record, cell.field) in was]


def _of_pair(
    sentence: str, one: Mention, other: Mention, changed: list[tuple[Cell, Cell]]
) -> Iterator[WrongMove]:
    order = _in_order(sentence, one, other)
    if order is None:
        return
    first, second = order
    touched = [
        (was, now) for was, now in changed if any(holds(each, c) for each in (one, other) for c in (was, now))
    ]
    if touched and not any(holds(first, was) and holds(second, now) for was, now in touched):
        told = " and ".join(f"{was.field} {was.value} → {now.value}" for was, now in touched[:3])
        is_turned = any(holds(first, now) and holds(second, was) for was, now in touched)
        is_from = any(holds(first, was) for was, _ in touched)
        yield WrongMove(sentence[one.start : other.end], told, is_turned, is_from)
