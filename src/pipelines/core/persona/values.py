"""Ids, amounts and days in what people say: what a simulated user must have from somewhere."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from pipelines.core.english.dates import Day, dates
from pipelines.core.english.mentions import mentions
from pipelines.core.english.numbers import Quantity

LONGEST_READ = 20_000  # characters of one message
SHORTEST_NUMBER = 4  # digits: a bare number this long is somebody's id, unless it is a year
SHORTEST_PART = 3  # digits
MOST_COMBINED = 60  # amounts of which sums and differences are looked at
SMALLEST_SUM = 100  # a bare number from here on is an amount; smaller ones are counts
_MEASURES = re.compile(r"days?|weeks?|months?|years?|hours?|minutes?|km|miles?|met(?:er|re)s?|people")
_REFERENCE = re.compile(r"#?[A-Za-z0-9][A-Za-z0-9_\-./@+]{0,80}|#\d")
_IN_GROUPS = re.compile(r"(?<![\w.,])[A-Z0-9]{1,8}(?: [A-Z0-9]{1,8}){1,7}(?!\w)")
_BARE = re.compile(r"[^a-z0-9@]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_PART_OF_MONTH = re.compile(r"end|start|beginning", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:number|no\.?|nr\.?|id|code|order|ticket|booking|reservation|account|invoice|case|reference|claim|"
    r"policy|card|pin|room|flight|zip|postcode)\s*(?:(?:number|no\.?|id|code|is|:|#|=|was)\s*){0,3}$",
    re.IGNORECASE,
)
_UNITS = re.compile(
    r"(?:st|nd|rd|th|am|pm|h|hrs?|min|mins|s|kg|g|km|m|cm|mm|gb|mb|tb|x|k|d|w|y|yo|p|px|°?[cf]|mph|%)",
    re.IGNORECASE,
)


class Value(NamedTuple):
    """Something that can be looked up, and how it stands in the text."""

    written: str
    key: str  # of an id: small letters and digits alone
    amounts: frozenset[Decimal] = frozenset()  # all that the spelling of an amount can mean
    days: frozenset[Day] = frozenset()


class KnownValues:
    """Everything that was said or is known, to look values up in."""

    def __init__(self, texts: list[str], *, days: frozenset[Day] = frozenset()) -> None:
        self._keys: set[str] = set()
        self._runs: set[str] = set()
        self._amounts: set[Decimal] = set()
        self._days: set[Day] = set(days)
        for text in texts:
            self._add(text[:LONGEST_READ])

    def holds(self, value: Value) -> bool:
        if value.days:
            return any(one.agrees_with(other) for one in value.days for other in self._days)
        if value.amounts:
            return value.key in self._keys or any(map(self._is_amount, value.amounts))
        digits = _digits(value.key)
        return value.key in self._keys or digits in self._runs or self._is_part(digits)

    def _is_amount(self, amount: Decimal) -> bool:
        """Said before, rounded as people round, or what two that were said differ by or come to."""
        is_whole = amount == amount.to_integral_value()
        if any(amount == known or (is_whole and abs(amount - known) < 1) for known in self._amounts):
            return True
        some = sorted(self._amounts)[:MOST_COMBINED]
        pairs = ((one, other) for at, one in enumerate(some) for other in some[at:])
        return any(amount in (one + other, other - one) for one, other in pairs)

    def _is_part(self, digits: str) -> bool:
        """ "It ends in 1147": part of an id that is known."""
        return len(digits) >= SHORTEST_PART and any(digits in run for run in self._runs)

    def _add(self, text: str) -> None:
        for match in _REFERENCE.finditer(text):
            key = _key(match[0])
            self._keys.add(key)
            if len(run := _digits(key)) >= 2:
                self._runs.add(run)
        for match in _IN_GROUPS.finditer(text):  # "7719 0042" is the id that others write "7719-0042"
            if len(run := _digits(key := _key(match[0]))) >= 2:
                self._keys.add(key)
                self._runs.add(run)
        found = mentions(text)
        for number in found.numbers:
            self._amounts |= number.values
        for day in found.days:
            self._days |= day.days
            self._keys.add(_key(text[day.start : day.end]))


def values_in(text: str) -> Iterator[Value]:
    """Ids, amounts of money and days. Counts ("two things", "3 weeks") are nobody's secret and left out."""
    text = text[:LONGEST_READ]
    date_spans = [(one.start, one.end) for one in dates(text)]
    for day in dates(text):
        written = text[day.start : day.end]
        yield Value(written, "", days=day.days | _about(written, day.days))
    for number in mentions(text).numbers:
        if number.currency is not None or _is_bare_amount(text, number):
            date_spans.append((number.start, number.end))
            yield Value(text[number.start : number.end], _key(text[number.start : number.end]), number.values)
    for match in _REFERENCE.finditer(text):
        if not any(start < match.end() and match.start() < end for start, end in date_spans):
            written = match[0].rstrip(".-/")
            if _is_id(written, text[: match.start()]):
                yield Value(written, _key(written))


def _about(written: str, days: frozenset[Day]) -> frozenset[Day]:
    """ "End of August" is said of the 28th too, "the beginning" of the 3rd."""
    part = _PART_OF_MONTH.match(written)
    if part is None:
        return frozenset()
    near = range(20, 32) if part[0].lower() == "end" else range(1, 11)
    return frozenset(day._replace(day=each) for day in days for each in near)


def _is_bare_amount(text: str, number: Quantity) -> bool:
    """ "I take home 2,350": grouped or with cents, so no id, and too large for a count."""
    written = text[number.start : number.end]
    is_written_so = any(mark in written for mark in ",.") and max(number.values) >= SMALLEST_SUM
    return is_written_so and _MEASURES.fullmatch(number.unit) is None


def _is_id(written: str, before: str) -> bool:
    key = _key(written)
    if "@" in written and "." in written.partition("@")[2]:
        return True
    digits = _digits(key)
    if not digits:
        return False
    if written.startswith("#"):
        return True
    if key.isdigit():
        is_long = len(key) >= SHORTEST_NUMBER and not (len(key) == 4 and _YEAR.fullmatch(key))
        return is_long or (len(key) >= 2 and _NAMED.search(before[-60:]) is not None)
    rest = key.lstrip("0123456789")
    return _UNITS.fullmatch(rest) is None and not key.startswith("http")


def _key(written: str) -> str:
    return _BARE.sub("", written.lower())


def _digits(key: str) -> str:
    return "".join(character for character in key if character.isdigit())
