"""Whether a value of a text is one of the known values: in words or digits, rounded, or shortened."""

import re
from decimal import Decimal

from pipelines.core.english.dates import Day
from pipelines.core.english.numbers import Quantity
from pipelines.core.verdict.words.known import Values
from pipelines.core.verdict.words.values import Value

ALWAYS_KNOWN = 2  # `one of our`, `two ways`: too common in any text to be facts
APPROXIMATE = Decimal("0.1")  # `about 40` is true of 37
_ABOUT = re.compile(
    r"\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|some|up to|over|under"
    r"|(?:more|less) than)\s+\S{0,2}$|~\s?$",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)


def is_among(values: Values, value: Value, sentence: str, *, most_counted: int = 0) -> bool:
    """`most_counted` is how many things the text itself lists."""
    if value.id:
        return value.id in values.ids or (value.id.isdigit() and _by_parts(values, value.phrase))
    if value.day is not None:
        return any(day.agrees_with(other) for day in value.day.days for other in values.days)
    if value.time is not None:
        return bool(value.time.minutes & values.minutes)
    assert value.number is not None
    return _has_number(values, value.number, value.phrase, sentence) or _is_count(
        value.number, value.phrase, max(ALWAYS_KNOWN, values.longest_list, most_counted)
    )


def _by_parts(values: Values, phrase: str) -> bool:
    """`2024-2025`: two numbers, both known."""
    parts = re.findall(r"\d+", phrase)
    return all(part in values.ids or Decimal(part) in values.numbers for part in parts)


def _has_number(values: Values, number: Quantity, phrase: str, sentence: str) -> bool:
    if not number.values.isdisjoint(values.numbers):
        return True
    if number.unit == "%" and not {each / 100 for each in number.values}.isdisjoint(values.numbers):
        return True
    digits = "".join(re.findall(r"\d", phrase)) if number.currency is None else ""
    if digits and (digits in values.ids or _is_end_of(digits, values.ids)):
        return True
    if any(_is_year_of(each, values.days) for each in number.values):
        return True
    near = ((each, other) for each in number.values for other in values.numbers)
    return is_about(phrase, sentence) and any(is_near(each, other) for each, other in near)


def _is_count(number: Quantity, phrase: str, most: int) -> bool:
    """`three of them`: no more than there are of anything that was listed."""
    if number.currency is not None or number.unit == "%":
        return False
    whole = all(each == each.to_integral_value() and 0 <= each <= most for each in number.values)
    return whole or _ORDINAL.fullmatch(phrase) is not None


def is_about(phrase: str, sentence: str) -> bool:
    at = max(0, sentence.find(phrase))
    return _ABOUT.search(sentence[max(0, at - 16) : at]) is not None


def _is_end_of(digits: str, ids: set[str]) -> bool:
    """`the card ending in 4471`."""
    return len(digits) >= 3 and any(id.endswith(digits) for id in ids)


def _is_year_of(number: Decimal, days: set[Day]) -> bool:
    return 1900 <= number <= 2200 and any(day.year == number for day in days)


def is_near(number: Decimal, other: Decimal) -> bool:
    return abs(number - other) <= abs(other) * APPROXIMATE
