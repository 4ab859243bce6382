"""Days that a person with a calendar can name: of "Thursday" or "the 9th" they know the date."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from pipelines.core.english.dates import Day

LONGEST_READ = 20_000  # characters of one message
DAYS_ABOUT = 14  # either way: a weekday without a date is one of these
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})s?\b", re.IGNORECASE)
_OF_SOME_MONTH = re.compile(r"\bthe (\d{1,2})(?:st|nd|rd|th)?\b(?! of\b)(?! [A-Z])")


def named_days(texts: list[str], today: str) -> frozenset[Day]:
    """The days around today, and those that the texts mean without saying the date."""
    try:
        now = date.fromisoformat(today[:10])
    except ValueError:
        return frozenset()
    return frozenset(Day(day.month, day.day, day.year) for day in _named_dates(texts, now))


def _named_dates(texts: list[str], now: date) -> Iterator[date]:
    yield from (now + timedelta(days=days) for days in (-1, 0, 1))
    read = [text[:LONGEST_READ] for text in texts]
    weekdays = {_WEEKDAYS.index(name.lower()) for text in read for name in _WEEKDAY.findall(text)}
    numbers = {int(number) for text in read for number in _OF_SOME_MONTH.findall(text)}
    for days in range(-31, 32):
        day = now + timedelta(days=days)
        if (abs(days) <= DAYS_ABOUT and day.weekday() in weekdays) or day.day in numbers:
            yield day
