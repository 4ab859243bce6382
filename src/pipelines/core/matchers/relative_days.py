"""Days told from today: `tomorrow`, `in two weeks`, `3 days ago`, `next Monday`, `morgen`."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from pipelines.core.english.dates import Day
from pipelines.core.english.numbers import SMALL

#: `hier` is missing on purpose: yesterday in French, here in German.
_WORDS = {
    "the day after tomorrow": 2,
    "day after tomorrow": 2,
    "the day before yesterday": -2,
    "day before yesterday": -2,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "heute": 0,
    "morgen": 1,
    "übermorgen": 2,
    "gestern": -1,
    "vorgestern": -2,
    "aujourd'hui": 0,
    "demain": 1,
    "après-demain": 2,
    "avant-hier": -2,
    "hoy": 0,
    "mañana": 1,
    "pasado mañana": 2,
    "ayer": -1,
    "anteayer": -2,
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNT = rf"(?P<count>\d{{1,3}}|an?|{'|'.join(word for word, value in SMALL.items() if value)})"
_UNIT = r"(?P<unit>day|week)s?\b"
_WORD = re.compile(
    rf"(?<!\w)(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?!\w)".replace("'", "['’]"),
    re.IGNORECASE,
)
_AHEAD = re.compile(rf"\bin\s{_COUNT}\s{_UNIT}", re.IGNORECASE)
_FROM = re.compile(
    rf"\b{_COUNT}\s{_UNIT}\s(?:from|after)\s(?P<from>now|today|tomorrow|yesterday)\b", re.IGNORECASE
)
_AGO = re.compile(rf"\b{_COUNT}\s{_UNIT}\sago\b", re.IGNORECASE)
_WEEKDAY = re.compile(
    rf"\b(?:(?P<which>next|last|this|coming|past|previous)\s)?(?P<name>{'|'.join(_WEEKDAYS)})\b",
    re.IGNORECASE,
)
_BACK = frozenset({"last", "past", "previous"})


def relative_days(text: str, today: date) -> Iterator[tuple[int, int, list[Day]]]:
    """Where each stands, and the days it can mean."""
    for match in _WORD.finditer(text):
        yield (*match.span(), _days(today, _WORDS[match[0].lower().replace("’", "'")]))
    for match in _AHEAD.finditer(text):
        yield (*match.span(), _days(today, _distance(match)))
    for match in _FROM.finditer(text):
        yield (*match.span(), _days(today, _distance(match) + _WORDS.get(match["from"].lower(), 0)))
    for match in _AGO.finditer(text):
        yield (*match.span(), _days(today, -_distance(match)))
    for match in _WEEKDAY.finditer(text):
        yield (*match.span(), _days(today, *_to_weekday(match, today)))


def parse_day(text: str, today: date | None) -> date | None:
    """The one day that an author writes: an ISO date, or where `today` is known, words (`in 7 days`)."""
    text = text.strip()
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        try:
            return date.fromisoformat(text)
        except ValueError:
            return None
    if today is None:
        return None
    whole = [days for start, end, days in relative_days(text, today) if (start, end) == (0, len(text))]
    if len(whole) != 1 or len(whole[0]) != 1:
        return None
    [[day]] = whole
    return date(day.year or today.year, day.month, day.day)


def _distance(match: re.Match[str]) -> int:
    word = match["count"].lower()
    count = int(word) if word.isdigit() else SMALL.get(word, 1)
    return count * (7 if match["unit"].lower() == "week" else 1)


def _to_weekday(match: re.Match[str], today: date) -> list[int]:
    """`Monday` is the coming one, and on a Monday today's too; `next Monday` is that or the one a week later:
    people mean either."""
    ahead = (_WEEKDAYS.index(match["name"].lower()) - today.weekday()) % 7
    which = (match["which"] or "").lower()
    if which in _BACK:
        return [ahead - 7]
    if which == "next":
        return [ahead or 7, ahead + 7]
    return [ahead, 7] if not ahead else [ahead]


def _days(today: date, *distances: int) -> list[Day]:
    found = []
    for distance in distances:
        try:
            day = today + timedelta(days=distance)
        except OverflowError:
            continue
        found.append(Day(day.month, day.day, day.year))
    return found
