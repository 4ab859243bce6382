"""Dates as people write them: `2026-04-01`, `April 1st, 2026`, `1 Apr`, `04/01/2026`, `1.4.26`.

As with numbers, a spelling keeps all its readings: `04/05/2026` is a day in April and one in May. A date
without a year has none, and agrees with that day of any year.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from pipelines.core.english.numbers import ORDINALS, SMALL

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBER_OF_MONTH = {name: number for number, name in enumerate(MONTHS, 1)}
_NUMBER_OF_MONTH |= {name[:3]: number for name, number in _NUMBER_OF_MONTH.items()} | {"sept": 9}
_NAMES = "|".join(sorted(_NUMBER_OF_MONTH, key=len, reverse=True))
_MONTH = rf"(?P<month>{_NAMES})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_TO = r"\s?(?:-|–|to|and|until|till|through)\s?"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\w-])(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?![\d-])(?:T[\d:.]{5,15}(?:Z|[+-]\d\d:?\d\d)?)?",
        rf"\b{_MONTH}\s{{0,2}}{_DAY}\b(?:\s?,?\s{{0,2}}{_YEAR}\b(?!:))?",
        rf"(?:(?<![\w.,:-])|(?<=\b\d-)|(?<=\b\d\d-)){_DAY}\s{{0,2}}(?:of\s)?{_MONTH}(?:\s?,?\s{{0,2}}{_YEAR}\b)?",
        rf"(?<![\w.,:-]){_DAY}(?={_TO}\d{{1,2}}(?:st|nd|rd|th)?\s{{1,2}}(?:of\s)?(?P<month>{_NAMES})\b(?:\s(?P<year>\d{{4}}))?)",
        rf"\b(?P<word>{'|'.join(ORDINALS)})\s(?:of\s)?{_MONTH}(?:\s?,?\s{{0,2}}{_YEAR}\b)?",
        rf"\b{_MONTH}\s(?:the\s)?(?P<word>{'|'.join(ORDINALS)})\b(?:\s?,?\s{{0,2}}{_YEAR}\b)?",
        r"(?<![\w./-])(?P<a>\d{1,2})(?P<mark>[./-])(?P<b>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})(?![\w/-])",
        r"(?<![\w./-])(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?![\w/-])",
        rf"\b(?:(?P<part>end|start|beginning)\sof\s)?{_MONTH}\s{{1,2}}{_YEAR}\b(?!:)",
        rf"\b(?P<part>end|start|beginning)\sof\s{_MONTH}",
    )
)


_MAY_BE_DATED = re.compile(rf"\d[-./]\d|\b(?:{_NAMES})\b", re.IGNORECASE)
_TIME = re.compile(
    r"(?<![\w:.,])(?P<hour>\d{1,2})(?:[:.h](?P<minute>\d{2}))?(?::\d{2})?\s?(?P<half>[ap]\.?m\b)"
    r"|(?<![\d:.,/])(?:(?<=T)|\b)(?P<hour24>\d{1,2}):(?P<minute24>\d{2})(?![\d])"
    r"(?:\s(?:in\sthe\s(?P<of>morning|afternoon|evening)|at\s(?P<night>night))\b)?",
    re.IGNORECASE,
)


_HOURS = {word: value for word, value in SMALL.items() if 1 <= value <= 12}
_MINUTES = {"five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}
_SPOKEN = re.compile(
    rf"\b(?:(?P<part>(?:a\s)?quarter\spast|half\spast|(?:a\s)?quarter\sto|(?P<few>{'|'.join(_MINUTES)})\s(?:past|to))\s)?(?P<hour>{'|'.join(_HOURS)}|\d{{1,2}})"
    r"(?P<clock>\so'clock)?(?:\s(?:in\sthe\s(?P<of>morning|afternoon|evening)|at\s(?P<night>night))\b)?"
    r"|\b(?P<twelve>noon|midnight)\b",
    re.IGNORECASE,
)
_HOUR = rf"{'|'.join(_HOURS)}|[01]?\d|2[0-3]"
_SPAN = re.compile(
    rf"(?:(?P<between>\bbetween\s)|(?<![\w:.,$€£-]))(?P<first>{_HOUR})\s?(?:-|–|\band\b|\bto\b|\buntil\b|\btill\b)\s?"
    rf"(?P<second>{_HOUR})\b",
    re.IGNORECASE,
)
_AT = re.compile(rf"\bat\s(?P<hour>{'|'.join(_HOURS)})\b", re.IGNORECASE)
#: Nothing is counted by what stands before.
_ENDS_THERE = re.compile(
    r"\s*(?:$|[.,;:!?)(]|(?:on|in\sthe|this|next|tomorrow|today|tonight|sharp|as|and|with)\b)", re.IGNORECASE
)
_OF_DAY = re.compile(r"\s*(?:on|in\sthe|this|next|tomorrow|today|tonight|sharp)\b", re.IGNORECASE)


class Day(NamedTuple):
    """A day of the calendar, of a year or of any."""

    month: int
    day: int
    year: int | None = None

    def agrees_with(self, other: "Day") -> bool:
        return self[:2] == other[:2] and (None in (self.year, other.year) or self.year == other.year)


class Dated(NamedTuple):
    """A date in a text, where it stands, and all that its spelling can mean."""

    start: int
    end: int
    days: frozenset[Day]


class Timed(NamedTuple):
    """A time of day in a text; without am or pm it may be in either half."""

    start: int
    end: int
    minutes: frozenset[int]  # since midnight


def times(text: str) -> list[Timed]:
    found = []
    for match in _TIME.finditer(text):
        hour = int(match["hour"] or match["hour24"])
        minute = int(match["minute"] or match["minute24"] or 0)
        half = (match["half"] or "")[:1].lower()
        if match["of"] and hour <= 12:
            half = "a" if match["of"].lower() == "morning" else "p"
        if hour > 23 or minute > 59 or (half and not 1 <= hour <= 12):
            continue
        is_whole = (
            hour > 12 or hour == 0 or text[match.start()] == "0" or text[match.start() - 1 :][:1] == "T"
        )
        if half:
            hours = {hour % 12 + (12 if half == "p" else 0)}
        else:
            hours = {hour} if is_whole else {hour, (hour + 12) % 24}
        found.append(Timed(match.start(), match.end(), frozenset(60 * each + minute for each in hours)))
    plain = sorted([*found, *_spoken(text)])
    return sorted([*plain, *_by_the_hour(text, plain)])


def _by_the_hour(text: str, known: list[Timed]) -> Iterator[Timed]:
    """`between eight and ten`, `9-11 am`, `at ten`: bare hours that their place makes times."""
    covered = {at for one in known for at in range(one.start, one.end)}
    starts = {one.start: one for one in known}
    for match in _SPAN.finditer(text):
        first, second = match["first"].lower(), match["second"].lower()
        end = starts.get(match.start("second"))
        if match.start("first") in covered or (end is None and not match["between"]):
            continue
        is_spelled = not (first.isdigit() or second.isdigit())  # `between 5-10` may count anything
        if end is None and not (_ENDS_THERE if is_spelled else _OF_DAY).match(text, match.end()):
            continue
        of_end = end.minutes if end is not None else _halves(second)
        of_start = frozenset(
            minute for minute in _halves(first) for other in of_end if 0 < other - minute < 12 * 60
        )
        yield Timed(match.start("first"), match.end("first"), of_start or _halves(first))
        if end is None:
            yield Timed(match.start("second"), match.end("second"), of_end)
    for match in _AT.finditer(text):
        if match.start("hour") not in covered and _ENDS_THERE.match(text, match.end()):
            yield Timed(match.start("hour"), match.end("hour"), _halves(match["hour"].lower()))


def _halves(hour: str) -> frozenset[int]:
    """The minutes that a bare hour can mean; of more than twelve one."""
    value = _HOURS.get(hour) or int(hour)
    return frozenset({60 * value} if value > 12 else {60 * (value % 12), 60 * (value % 12 + 12)})


def _spoken(text: str) -> Iterator[Timed]:
    """`ten in the morning`, `a quarter past four`, `noon`."""
    for match in _SPOKEN.finditer(text) if _MAY_BE_SPOKEN.search(text) else ():
        if match["twelve"]:
            yield Timed(
                match.start(), match.end(), frozenset({720 if match["twelve"].lower() == "noon" else 0})
            )
        elif match["part"] or match["clock"] or match["of"]:
            hour = int(_HOURS.get(match["hour"].lower(), 0) or match["hour"]) % 12
            part = (match["part"] or "").lower()
            few = _MINUTES.get((match["few"] or "").lower(), 15)
            minute = 30 if "half" in part else few if "past" in part else -few if part else 0
            halves = {"morning": (0,), "afternoon": (12,), "evening": (12,)}.get(
                (match["of"] or "").lower(), (0, 12)
            )
            yield Timed(
                match.start(), match.end(), frozenset((60 * (hour + half) + minute) % 1440 for half in halves)
            )


_MAY_BE_SPOKEN = re.compile(
    r"in\sthe\s(?:morning|afternoon|evening)|o'clock|quarter|\bpast\s|\bto\s|noon|midnight", re.IGNORECASE
)


def dates(text: str) -> list[Dated]:
    """Every date of a text, in order; where two spellings overlap, the longer one."""
    found = [Dated(match.start(), match.end(), days) for match, days in _found(text)]
    kept: list[Dated] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def day_of(text: str) -> date | None:
    """The one day that a text, which is a date and nothing else, can mean; None where it can mean two."""
    found = dates(text.strip())
    if len(found) != 1 or len(found[0].days) != 1 or found[0].end - found[0].start != len(text.strip()):
        return None
    (day,) = found[0].days
    return date(day.year, day.month, day.day) if day.year is not None else None


def _found(text: str) -> Iterator[tuple[re.Match[str], frozenset[Day]]]:
    if _MAY_BE_DATED.search(text) is None:  # most sentences have no day in them
        return
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            days = frozenset(_days(match.groupdict()))
            if days and match.groupdict().get("month") != "may":  # in small letters it is the verb
                yield match, days


def _days(parts: dict[str, str | None]) -> Iterator[Day]:
    year = int(parts.get("year") or 0) or None
    if year is not None and year < 100:
        year += 2000
    if "part" in parts:
        yield from _of_month(parts, year)
        return
    if parts.get("a") and parts.get("b"):
        first, second = int(parts["a"] or 0), int(parts["b"] or 0)
        pairs = [(second, first)] if parts.get("mark") == "." else [(first, second), (second, first)]
    else:
        month = (parts.get("month") or "").lower().rstrip(".")
        pairs = [
            (
                _NUMBER_OF_MONTH.get(month) or int(month),
                int(parts.get("day") or ORDINALS.get((parts.get("word") or "").lower(), 0)),
            )
        ]
    for month_number, day in pairs:
        if _exists(month_number, day, year):
            yield Day(month_number, day, year)


def _of_month(parts: dict[str, str | None], year: int | None) -> Iterator[Day]:
    """Every day of `March 2027`; one of `the end of March`."""
    month = _NUMBER_OF_MONTH[(parts.get("month") or "").lower().rstrip(".")]
    days = [day for day in range(1, 32) if _exists(month, day, year)]
    last = days[-1:] if month != 2 or year is not None else days[-2:]  # 28 or 29
    few = {"end": last, "start": days[:1], "beginning": days[:1]}.get((parts["part"] or "").lower(), days)
    yield from (Day(month, day, year) for day in few)


def _exists(month: int, day: int, year: int | None) -> bool:
    try:
        date(year or 2000, month, day)  # 2000 had a 29 February
    except ValueError:
        return False
    return True
