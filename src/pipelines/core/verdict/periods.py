"""Spans of time that an answer gives: `a week later`, `18 days overdue`, `ten days`, against the days of the
things that it speaks of, as they were and as they are."""

import re
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from itertools import product

from pipelines.core.english.dates import Day, dates
from pipelines.core.english.stems import stem
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.things import Thing, Things

MOST_DAYS = 60  # days of the things spoken of
_DAYS_OF = {"day": 1, "night": 1, "week": 7}
_MOVED = re.compile(
    r"\b(?:later|earlier|extra|longer|shorter|extended|extends?|postponed|moved|shifted|renewed|prolonged|put\s+back|further)\b"
)
_FROM_TODAY = re.compile(
    r"\b(?:overdue|late|ago|from\s+(?:now|today)|away|left|to\s+go|until|since|in|for|old|of)\b"
)
_FURTHER = re.compile(r"\b(?:more|extra|additional|another|further)\b")


class Periods:
    def __init__(self, evidence: RunEvidence, things: Things) -> None:
        self._evidence = evidence
        self._things = things

    def read(self, wanted: set[Decimal], unit: str, near: str, names: frozenset[str]) -> bool | None:
        """Whether so much time lies between the days; None where it is no time, or nothing tells."""
        days = _DAYS_OF.get(stem(unit)) if unit else None
        if days is None and unit in ("more", "extra", "additional", "further"):
            found = re.search(r"\b(?P<unit>day|night|week)s?\b", near)
            days = _DAYS_OF[found["unit"]] if found is not None else None
        if days is None:
            return None
        bound = self._things.named(names) or [*self._touched()]
        moved = _moved(bound)
        spans = {value * days for value in wanted}
        is_of_a_move = _MOVED.search(near) is not None or _FURTHER.search(near) is not None
        if spans & moved and is_of_a_move:
            return True
        if _FROM_TODAY.search(near) and spans & self._from_today(bound):
            return True
        if moved and _MOVED.search(near) and not self._is_told(wanted, unit):
            return False
        return None

    def is_time(self, near: str) -> bool:
        return re.search(r"\b(?:day|night|week|month|year|hour|minute)s?\b", near) is not None

    def _touched(self) -> Iterable[Thing]:
        touched = self._things.facts.touched
        return self._things.named(frozenset(id for id in touched if id))

    def _is_told(self, wanted: set[Decimal], unit: str) -> bool:
        facts = self._things.facts
        word = stem(unit)
        told = facts.everything.fields.get(word, set()) | facts.given.fields.get(word, set())
        return bool(wanted & told)

    def _from_today(self, bound: list[Thing]) -> set[Decimal]:
        """How far the days of the things lie from the day of the run, or from the one that the user names."""
        today = {_date(day) for day in self._things.facts.asked.days}
        if self._evidence.now is not None:
            today.add(datetime.fromisoformat(self._evidence.now).date())
        own = {day for thing in bound for state in (thing.before, thing.after) for day in _of(state.values())}
        return {Decimal(abs((a - b).days)) for a, b in product(today - {None}, own) if a and a != b}


def _moved(things: Iterable[Thing]) -> set[Decimal]:
    """By how many days each day of the things was moved in the run."""
    found: set[Decimal] = set()
    for thing in things:
        for key, now in thing.after.items():
            was = _of([thing.before.get(key)])
            found |= {Decimal(abs((a - b).days)) for a, b in product(was, _of([now])) if a != b}
    return found


def _of(values: Iterable[object]) -> list[date]:
    texts = [value for value in values if isinstance(value, str) and len(value) <= 40]
    every = [_date(day) for text in texts for one in dates(text) for day in one.days]
    return [day for day in every if day is not None][:MOST_DAYS]


def _date(day: Day) -> date | None:
    return date(day.year, day.month, day.day) if day.year else None
