"""Every day that a text names: english spellings, those of German, French and Spanish, and `tomorrow`.

A spelling keeps all its readings (`03/05/2026` is a day in May and one in March). A day without a year agrees
with that day of any year; a month without a day names no day.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from pipelines.core.english.dates import Day, dates
from pipelines.core.matchers.relative_days import relative_days

Order: TypeAlias = Literal["dmy", "mdy"]

MOST_KEPT = 32  # texts: several matchers ask one answer in turn

_LONG = (
    ("januar", "jänner", "janvier", "enero", "january"),
    ("februar", "feber", "février", "fevrier", "febrero", "february"),
    ("märz", "maerz", "mars", "marzo", "march"),
    ("april", "avril", "abril"),
    ("mai", "mayo", "may"),
    ("juni", "juin", "junio", "june"),
    ("juli", "juillet", "julio", "july"),
    ("august", "août", "aout", "agosto"),
    ("september", "septembre", "septiembre", "setiembre"),
    ("oktober", "octobre", "octubre", "october"),
    ("november", "novembre", "noviembre"),
    ("dezember", "décembre", "decembre", "diciembre", "december"),
)
_SHORT = (
    ("jan", "janv", "ene"),
    ("feb", "févr", "fevr"),
    ("mär", "mrz", "mar"),
    ("apr", "avr", "abr"),
    (),
    ("jun",),
    ("jul", "juil"),
    ("aug", "ago"),
    ("sep", "sept"),
    ("okt", "oct"),
    ("nov",),
    ("dez", "déc", "dec", "dic"),
)
_MONTHS = {name: at for names in (_LONG, _SHORT) for at, each in enumerate(names, 1) for name in each}
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_NAMED = re.compile(
    rf"(?<![\w.,:-])(?P<day>\d{{1,2}})(?:\.|er|º|\.º)?(?:\s{{0,2}}(?:de\s)?|[-/])(?P<month>{_NAMES})\b\.?"
    r"(?:(?:\s(?:de|del)\s|[\s-]|,\s)(?P<year>\d{4})\b(?!:))?",
    re.IGNORECASE,
)
_YEAR_FIRST = re.compile(r"(?<![\w./-])(?P<year>\d{4})\.(?P<month>\d{2})\.(?P<day>\d{2})(?!\w)(?!\.\d)")
_SLASHED = re.compile(r"(?<![\w./,-])(?P<a>\d{1,2})/(?P<b>\d{1,2})(?![\w/-])(?![.,]\d)")
_GERMAN = re.compile(
    r"\b(?:am|vom|bis|zum|ab|seit)\s(?P<a>\d{1,2})\.\s?(?P<b>\d{1,2})\.(?!\d)", re.IGNORECASE
)
_NUMERIC = re.compile(r"(?P<a>\d{1,2})[/-](?P<b>\d{1,2})(?:[/-](?P<year>\d{2,4}))?\Z")


class WrittenDay(NamedTuple):
    start: int
    end: int
    days: frozenset[Day]

    @property
    def has_year(self) -> bool:
        """Whether it can hardly be anything but a date: `March 15` may be a month and a number."""
        return all(day.year is not None for day in self.days)

    def names(self, day: date) -> bool:
        day_wanted = Day(day.month, day.day, day.year)
        return any(one.agrees_with(day_wanted) for one in self.days)


@lru_cache(maxsize=MOST_KEPT)
def written_days(
    text: str, *, today: date | None = None, order: Order | None = None
) -> tuple[WrittenDay, ...]:
    """In order, none overlapping another; without `today` words such as `tomorrow` name no day."""
    found = [WrittenDay(*one) for one in dates(text) if not _is_whole_month(one.days)]
    found += _other_spellings(text)
    if order is not None:
        found = [_in_order(text, one, order) for one in found]
    if today is not None:
        found += [WrittenDay(start, end, frozenset(days)) for start, end, days in relative_days(text, today)]
    kept: list[WrittenDay] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
        elif one.end > kept[-1].end and one.start == kept[-1].start:
            kept[-1] = one
    return tuple(one for one in kept if one.days)


def _is_whole_month(days: frozenset[Day]) -> bool:
    return len(days) > 2  # `May 2026` is read as each of its days; two are day and month either way


def _other_spellings(text: str) -> Iterator[WrittenDay]:
    for match in _NAMED.finditer(text):
        month, year = _MONTHS[match["month"].lower()], int(match["year"]) if match["year"] else None
        yield WrittenDay(*match.span(), _existing(Day(month, int(match["day"]), year)))
    for match in _YEAR_FIRST.finditer(text):
        yield WrittenDay(
            *match.span(), _existing(Day(int(match["month"]), int(match["day"]), int(match["year"])))
        )
    for match in _SLASHED.finditer(text):
        a, b = int(match["a"]), int(match["b"])
        yield WrittenDay(*match.span(), _existing(Day(a, b), Day(b, a)))
    for match in _GERMAN.finditer(text):
        yield WrittenDay(match.start("a"), match.end(), _existing(Day(int(match["b"]), int(match["a"]))))


def _existing(*days: Day) -> frozenset[Day]:
    return frozenset(day for day in days if _exists(day))


def _exists(day: Day) -> bool:
    try:
        date(day.year or 2000, day.month, day.day)  # 2000 had a 29 February
    except ValueError:
        return False
    return True


def _in_order(text: str, one: WrittenDay, order: Order) -> WrittenDay:
    """Only the reading that the author says is meant, of a spelling that has two."""
    spelled = _NUMERIC.match(text[one.start : one.end])
    if spelled is None:
        return one
    a, b = int(spelled["a"]), int(spelled["b"])
    readings = (b, a) if order == "dmy" else (a, b)
    return one._replace(days=frozenset(day for day in one.days if day[:2] == readings))
