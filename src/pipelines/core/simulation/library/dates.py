"""Functions of dates and times, which are ISO-8601 text in plans as they are in JSON. Other spellings are
read where they can mean one moment only.

A date without a time stays one. A time without a zone is taken for UTC. Names of months and days are English,
whatever the machine's language: the same plan writes the same bytes everywhere.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from pipelines.core.english.dates import day_of
from pipelines.core.simulation.arithmetic import CONTEXT
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.library.numbers import number_needed, whole_needed
from pipelines.core.simulation.values import Stopped, Value, is_blank, kind_of

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
# A number between these is a moment since 1970 (2001 to 2100); any smaller one counts something else.
_EARLIEST_S, _LATEST_S, _MILLISECONDS = 1e9, 4.1e9, 1e11
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


class When(NamedTuple):
    at: datetime
    has_time: bool
    text: str

    def like_this(self, at: datetime) -> str:
        """Another moment in this one's spelling."""
        if not self.has_time:
            return at.date().isoformat()
        written = at.isoformat(sep="T" if "T" in self.text else " ")
        return written.replace("+00:00", "Z") if self.text.endswith("Z") else written


def moment(value: Value) -> When:
    found = moment_of(value)
    if found is not None:
        return found
    quoted = f"{value[:40]!r}" if isinstance(value, str) else kind_of(value)
    raise Stopped("plan_type", f"an ISO date or time such as 2026-04-01 is needed, not {quoted}")


def moment_of(value: Any) -> When | None:
    """ISO text; a day as people write it, where that can be one day only; or seconds or milliseconds since
    1970. What is worked out from the latter two is ISO text."""
    if isinstance(value, str) and len(value) <= 40:
        try:
            return When(datetime.fromisoformat(value), len(value) > 10, value)
        except ValueError:
            day = day_of(value)
            return None if day is None else When(datetime(day.year, day.month, day.day), False, str(day))
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        number = float(value)
        seconds = number / 1000 if number >= _MILLISECONDS else number
        if _EARLIEST_S <= seconds < _LATEST_S:
            at = datetime.fromtimestamp(seconds, UTC)
            return When(at, True, f"{at:%Y-%m-%dT%H:%M:%SZ}")
    return None


def _utc(when: When) -> datetime:
    return when.at if when.at.tzinfo is not None else when.at.replace(tzinfo=UTC)


def _days_between(call: Call, start: Value, end: Value) -> Value:
    if is_blank(start) or is_blank(end):
        return None
    first, last = moment(start), moment(end)
    if not (first.has_time and last.has_time):
        # Against a plain date only calendar days make sense.
        return (last.at.date() - first.at.date()).days
    elapsed = _utc(last) - _utc(first)
    return CONTEXT.divide(Decimal(elapsed // timedelta(microseconds=1)), Decimal(86_400_000_000))


def _shifted(when: When, by: timedelta) -> str:
    try:
        return when.like_this(when.at + by)
    except OverflowError:
        raise Stopped("plan_number", "a date is out of range") from None


def _add_days(call: Call, start: Value, days: Value) -> Value:
    count = number_needed(days)
    if abs(count) > 4_000_000:
        raise Stopped("plan_number", "a date is out of range")
    return _shifted(moment(start), timedelta(days=float(count)))


def _add_minutes(call: Call, start: Value, minutes: Value) -> Value:
    when, count = moment(start), number_needed(minutes)
    if abs(count) > 4_000_000_000:
        raise Stopped("plan_number", "a date is out of range")
    with_time = when if when.has_time else When(when.at, True, f"{when.text}T")
    return _shifted(with_time, timedelta(minutes=float(count)))


def _add_months(call: Call, start: Value, months: Value) -> Value:
    """The same day of a later month, or that month's last day."""
    when, count = moment(start), whole_needed(months)
    year, month = divmod(when.at.year * 12 + when.at.month - 1 + count, 12)
    if not 1 <= year < 9999:
        raise Stopped("plan_number", "a date is out of range")
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last_day = (following - timedelta(days=1)).day
    return when.like_this(when.at.replace(year=year, month=month + 1, day=min(when.at.day, last_day)))


def _is_before(call: Call, one: Value, other: Value) -> Value:
    if is_blank(one) or is_blank(other):
        return False
    first, last = moment(one), moment(other)
    if not (first.has_time and last.has_time):
        return first.at.date() < last.at.date()
    return _utc(first) < _utc(last)


_PARTS: dict[str, Callable[[datetime], Value]] = {
    "year": lambda at: at.year,
    "month": lambda at: at.month,
    "day": lambda at: at.day,
    "hour": lambda at: at.hour,
    "minute": lambda at: at.minute,
    "second": lambda at: at.second,
    "weekday": lambda at: _DAYS[at.weekday()],
    "date": lambda at: at.date().isoformat(),
    "time": lambda at: f"{at:%H:%M:%S}",
}


def _date_part(call: Call, value: Value, part: Value) -> Value:
    read = _PARTS.get(part) if isinstance(part, str) else None
    if read is None:
        raise Stopped("plan_type", f"a part of a date is one of {', '.join(_PARTS)}")
    return read(moment(value).at)


_CODES: dict[str, Callable[[datetime], str]] = {
    "Y": lambda at: f"{at.year:04}",
    "y": lambda at: f"{at.year % 100:02}",
    "m": lambda at: f"{at.month:02}",
    "d": lambda at: f"{at.day:02}",
    "H": lambda at: f"{at.hour:02}",
    "I": lambda at: f"{(at.hour - 1) % 12 + 1:02}",
    "M": lambda at: f"{at.minute:02}",
    "S": lambda at: f"{at.second:02}",
    "p": lambda at: "AM" if at.hour < 12 else "PM",
    "B": lambda at: _MONTHS[at.month - 1],
    "b": lambda at: _MONTHS[at.month - 1][:3],
    "A": lambda at: _DAYS[at.weekday()],
    "a": lambda at: _DAYS[at.weekday()][:3],
    "%": lambda at: "%",
}


def _format_date(call: Call, value: Value, pattern: Value) -> Value:
    if not isinstance(pattern, str) or len(pattern) > 200:
        raise Stopped("plan_type", "the pattern of a date is a short text such as '%Y-%m-%d'")
    at = moment(value).at
    call.spend(6 * len(pattern))
    written, code = [], False
    for character in pattern:
        if code and character not in _CODES:
            raise Stopped("plan_type", f"%{character} is not a part of a date; there is {' '.join(_CODES)}")
        written.append(_CODES[character](at) if code else "" if character == "%" else character)
        code = character == "%" and not code
    return "".join(written)


ROWS: tuple[tuple[str, str, str, Callable[..., Value]], ...] = (
    (
        "days_between(start, end)",
        "days from one to the other, parts of days when both have a time; null where one is missing",
        "days_between('2026-04-01', '2026-07-01') → 91",
        _days_between,
    ),
    ("add_days(date, days)", "so many days later", "add_days('2026-02-27', 2) → '2026-03-01'", _add_days),
    (
        "add_months(date, months)",
        "the same day so many months later",
        "add_months('2026-01-31', 1) → '2026-02-28'",
        _add_months,
    ),
    (
        "add_minutes(time, minutes)",
        "so many minutes later",
        "add_minutes('2026-01-01T10:00:00', 90) → '2026-01-01T11:30:00'",
        _add_minutes,
    ),
    (
        "is_before(one, other)",
        "whether one is earlier, whatever their zones; false where one is missing",
        "is_before('2026-01-01', '2026-01-02') → true",
        _is_before,
    ),
    (
        "date_part(date, part)",
        "year, month, day, hour, minute, second, weekday, date or time",
        "date_part('2026-11-15', 'weekday') → 'Sunday'",
        _date_part,
    ),
    (
        "format_date(date, pattern)",
        "with %Y %y %m %d %H %I %M %S %p %B %b %A %a",
        "format_date('2026-11-15T09:05:00', '%I:%M %p') → '09:05 AM'",
        _format_date,
    ),
)
