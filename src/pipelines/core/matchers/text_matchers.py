"""`$number`, `$date` and `$text`: whether a value says what is asked, and what it says instead.

A text holds what is asked if any of its numbers, or days, can be read as it. `wanted` is well formed here:
`matcher_form` has seen to it.
"""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from pipelines.core.matchers.dates import WrittenDay, written_days
from pipelines.core.matchers.matcher_form import CannotMatch, is_number
from pipelines.core.matchers.numbers import written_numbers
from pipelines.core.matchers.relative_days import parse_day
from pipelines.core.matchers.texts import folded
from pipelines.core.text.json_text import Json

LONGEST_READ = 50_000  # characters read for numbers and days: 0.3 s of prose, 1 s at worst on a busy machine


def number_holds(wanted: Any, actual: Json) -> bool:
    return any(_away(wanted, value) == 0 for value in _numbers(wanted, actual))


def nearest_number(wanted: Any, actual: Json) -> Json:
    """The number of a text that is nearest to what is asked; the value itself where it has none."""
    values = _numbers(wanted, actual) if isinstance(actual, str) else []
    if not values:
        return actual
    return float(min(values, key=lambda value: (_away(wanted, value), value)))


def day_holds(wanted: Any, actual: Json) -> bool:
    matcher = _as_day_matcher(wanted)
    day = parse_day(matcher["day"], _today(matcher))
    if day is None:
        raise CannotMatch(f"`$date` {matcher['day']} is relative to today, and the run's date is not known")
    return any(one.names(day) for one in _days(matcher, actual))


def nearest_day(wanted: Any, actual: Json) -> Json:
    """The day that a text names, in ISO form: the one asked for if it can be that, else its first."""
    matcher = _as_day_matcher(wanted)
    day = parse_day(matcher["day"], _today(matcher))
    found = _days(matcher, actual)
    if day is not None and any(one.names(day) for one in found):
        return day.isoformat()
    if not found:
        return actual
    first = min(found[0].days, key=lambda one: (one.month, one.day))
    return f"{first.year or (day.year if day is not None else 0):04}-{first.month:02}-{first.day:02}"


def text_holds(wanted: Any, actual: Json) -> bool:
    return isinstance(actual, str) and folded(actual) == folded(wanted)


def text_meant(wanted: Any, actual: Json) -> Json:
    return folded(actual) if isinstance(actual, str) else actual


def text_is_within(wanted: str, actual: str) -> bool:
    return folded(wanted) in folded(actual)


HOLDS: dict[str, Callable[[Any, Json], bool]] = {
    "$text": text_holds,
    "$number": number_holds,
    "$date": day_holds,
}
MEANT: dict[str, Callable[[Any, Json], Json]] = {
    "$text": text_meant,
    "$number": nearest_number,
    "$date": nearest_day,
}


def with_today(expected: Json, today: str | None) -> Json:
    """The expectation with what day it is written into every `$date` that does not say it. `today` is a date
    or a time in ISO form: the run's own."""
    day = today[:10] if today else None
    return expected if day is None or parse_day(day, None) is None else _dated(expected, day)


def _dated(expected: Json, today: str) -> Json:
    if isinstance(expected, list):
        return [_dated(item, today) for item in expected]
    if not isinstance(expected, dict):
        return expected
    below = {key: _dated(item, today) for key, item in expected.items()}
    expected_day = expected.get("$date")
    if isinstance(expected_day, str | dict):
        below["$date"] = {"today": today} | _as_day_matcher(expected_day)
    return below


def _numbers(wanted: Any, actual: Json) -> list[Decimal]:
    if isinstance(actual, str):
        decimal = wanted.get("decimal") if isinstance(wanted, dict) else None
        return [value for one in written_numbers(_read(actual), decimal) for value in one.values]
    return [Decimal(str(actual))] if is_number(actual) else []


def _away(wanted: Any, value: Decimal) -> Decimal:
    """How far a number is from what is asked; 0 within the tolerance or range."""
    if not isinstance(wanted, dict):
        return abs(value - Decimal(str(wanted)))
    if "value" in wanted:
        away = abs(value - Decimal(str(wanted["value"])))
        return away if away > Decimal(str(wanted.get("tolerance", 0))) else Decimal(0)
    below = Decimal(str(wanted["$gte"])) - value if "$gte" in wanted else Decimal(0)
    above = value - Decimal(str(wanted["$lte"])) if "$lte" in wanted else Decimal(0)
    return max(below, above, Decimal(0))


def _as_day_matcher(wanted: Any) -> Any:
    return {"day": wanted} if isinstance(wanted, str) else wanted


def _today(asked: Any) -> date | None:
    return date.fromisoformat(asked["today"]) if "today" in asked else None


def _days(asked: Any, actual: Json) -> tuple[WrittenDay, ...]:
    if not isinstance(actual, str):
        return ()
    return written_days(_read(actual), today=_today(asked), order=asked.get("order"))


def _read(text: str) -> str:
    if len(text) > LONGEST_READ:
        raise CannotMatch(f"a text of {len(text):,} characters is too long to be read for numbers and days")
    return text
