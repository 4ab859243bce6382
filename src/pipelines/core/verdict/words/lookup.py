"""Looking up the values of an answer: which of them are nowhere in the run, and which are known but not told.

Arithmetic is small on purpose: sums, differences, products and shares of the answer's own numbers, and days
counted from known days. With more, every number could be made from the others.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import combinations

from pipelines.core.english.dates import Day
from pipelines.core.english.numbers import Quantity
from pipelines.core.verdict.words.known import Known, Values
from pipelines.core.verdict.words.speech import sentences
from pipelines.core.verdict.words.values import Kind, Value, values_in

ALWAYS_KNOWN = 2  # `one of our`, `two ways`: too common in any text to be facts
MOST_OPERANDS = 24  # numbers that are calculated with
MOST_SUMMED = 8  # of which every sum counts
CENT = Decimal("0.01")
APPROXIMATE = Decimal("0.1")  # `about 40` is true of 37
_ABOUT = re.compile(
    r"\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|some|up to|over|under"
    r"|(?:more|less) than)\s+\S{0,2}$|~\s?$",
    re.IGNORECASE,
)
#: How many of the smaller unit one has: days of a week, hours of a day.
_FACTORS = tuple(map(Decimal, (7, 12, 24, 30, 60, 100, 365, 1000, 1440, 3600)))
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)|[a-z]+", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked:
    """A value of an answer that no reply, record or rule told."""

    phrase: str
    kind: Kind
    turn: int
    is_known: bool  # the user or the agent brought it in, or it follows by arithmetic
    why: str


def looked_up(turns: Iterable[str], known: Known) -> list[Looked]:
    """All values of the answer that were not told, in order; a value that is repeated, once."""
    said = [(turn, sentence) for turn, text in enumerate(turns, start=1) for sentence in sentences(text)]
    look = _Look(known, [sentence for _, sentence in said])
    found: dict[str, Looked] = {}
    for turn, sentence in said:
        for value in values_in(sentence):
            if value.phrase not in found and not look.is_told(value, sentence):
                why = look.known_as(value, sentence)
                found[value.phrase] = Looked(
                    phrase=value.phrase,
                    kind=value.kind,
                    turn=turn,
                    is_known=why is not None,
                    why=why or "it is nowhere in the run",
                )
    return list(found.values())


@dataclass(frozen=True)
class _Look:
    known: Known
    said: list[str]  # sentences of the whole answer

    def is_told(self, value: Value, sentence: str) -> bool:
        return self._is_in(self.known.told, value, sentence)

    def known_as(self, value: Value, sentence: str) -> str | None:
        """Why a value that nobody told is known all the same."""
        if self._is_in(self.known.brought, value, sentence):
            return "only the user or a call's own arguments say it"
        follows = False
        if value.number is not None:
            follows = any(self._follows(number, value.number) for number in value.number.values)
        elif value.day is not None:
            follows = any(map(self._is_counted_day, value.day.days))
        elif value.time is not None:
            follows = any(map(self._is_counted_time, value.time.minutes))
        return "it follows from other values" if follows else None

    def _is_in(self, values: Values, value: Value, sentence: str) -> bool:
        if value.id:
            return value.id in values.ids or (value.id.isdigit() and self._by_parts(values, value.phrase))
        if value.day is not None:
            return any(day.agrees_with(other) for day in value.day.days for other in values.days)
        if value.time is not None:
            return bool(value.time.minutes & values.minutes)
        assert value.number is not None
        return self._has_number(values, value.number, value.phrase, sentence)

    def _by_parts(self, values: Values, phrase: str) -> bool:
        """`2024-2025`: two numbers, both known."""
        parts = re.findall(r"\d+", phrase)
        return all(part in values.ids or Decimal(part) in values.numbers for part in parts)

    def _has_number(self, values: Values, number: Quantity, phrase: str, sentence: str) -> bool:
        if not number.values.isdisjoint(values.numbers) or self._is_count(number, phrase, values):
            return True
        if number.unit == "%" and not {each / 100 for each in number.values}.isdisjoint(values.numbers):
            return True
        digits = "".join(re.findall(r"\d", phrase)) if number.currency is None else ""
        if digits and (digits in values.ids or _is_end_of(digits, values.ids)):
            return True
        if any(_is_year_of(each, values.days) for each in number.values):
            return True
        at = sentence.find(phrase)
        if _ABOUT.search(sentence[max(0, at - 16) : max(0, at)]):
            return any(_is_near(each, other) for each in number.values for other in values.numbers)
        return False

    def _is_count(self, number: Quantity, phrase: str, values: Values) -> bool:
        """`three of them`: no more than there are of anything that was listed."""
        if number.currency is not None or number.unit == "%":
            return False
        if _ORDINAL.fullmatch(phrase) and not phrase.isalpha():
            return True
        most = max(ALWAYS_KNOWN, values.longest_list, self._ids_named)
        return all(each == each.to_integral_value() and 0 <= each <= most for each in number.values)

    @cached_property
    def _ids_named(self) -> int:
        return len({value.id for sentence in self.said for value in values_in(sentence) if value.id})

    # Arithmetic

    @cached_property
    def _operands(self) -> list[Decimal]:
        """The answer's own numbers that are known, what changed, and what calls were given."""
        known = self.known.told.numbers | self.known.brought.numbers
        said = [
            number
            for sentence in self.said
            for value in values_in(sentence)
            if value.number is not None
            for number in value.number.values
            if number in known
        ]
        pool = dict.fromkeys([*said, *sorted(self.known.changed)])
        return list(pool)[:MOST_OPERANDS]

    @cached_property
    def _results(self) -> frozenset[Decimal]:
        pool = self._operands
        found: set[Decimal] = set(self.known.changed)
        for a, b in combinations(pool, 2):
            found |= {a + b, abs(a - b), a * b, a * b / 100, a - a * b / 100, a + a * b / 100}
            found |= {b - a * b / 100, b + a * b / 100}
            found |= {a / b} if b else set()
            found |= {b / a} if a else set()
            found |= {a / b * 100} if b else set()
            found |= {b / a * 100} if a else set()
        few = pool[:MOST_SUMMED]
        found |= {
            sum(some, Decimal(0)) for size in range(3, len(few) + 1) for some in combinations(few, size)
        }
        found.add(sum(pool, Decimal(0)))
        return frozenset(each.quantize(CENT) for each in found if abs(each) < 10**15)

    @cached_property
    def _gaps(self) -> frozenset[int]:
        """Days between known days."""
        days = sorted(filter(None, map(_date, self.known.told.days | self.known.brought.days)))[:60]
        return frozenset((b - a).days for a, b in combinations(days, 2))

    def _follows(self, number: Decimal, quantity: Quantity) -> bool:
        if abs(number) >= 10**15:
            return False
        if number.quantize(CENT) in self._results:
            return True
        if quantity.currency is None:
            known = self.known.told.numbers | self.known.brought.numbers
            scaled = {number * factor for factor in _FACTORS} | {number / factor for factor in _FACTORS}
            days = {int(number * factor) for factor in (1, 7, 30, 365) if number == int(number)}
            return not scaled.isdisjoint(known) or not days.isdisjoint(self._gaps)
        return number * 100 in self.known.told.numbers  # stored in cents

    def _is_counted_day(self, day: Day) -> bool:
        """So many known days before or after a known day, or months from it."""
        steps = {
            int(number)
            for number in self.known.told.numbers | self.known.brought.numbers
            if number == number.to_integral_value() and 0 < number <= 400
        }
        starts = [
            moment for other in self.known.told.days | self.known.brought.days if (moment := _date(other))
        ]
        for start in starts:
            for year in (day.year,) if day.year is not None else (start.year, start.year + 1):
                wanted = _date(Day(day.month, day.day, year))
                apart = abs((wanted - start).days) if wanted is not None else 0
                if apart == 1 or apart in steps or (apart % 7 == 0 and apart // 7 in steps):
                    return True
                if wanted is not None and wanted.day == start.day and apart:
                    months = abs(12 * (wanted.year - start.year) + wanted.month - start.month)
                    if months in (1, 12) or months in steps or months / 12 in steps:
                        return True
        return False

    def _is_counted_time(self, minute: int) -> bool:
        """A known time and a known duration, in minutes or hours."""
        lengths = self.known.told.numbers | self.known.brought.numbers
        times = self.known.told.minutes | self.known.brought.minutes
        return any(
            Decimal(apart) in lengths or Decimal(apart) / 60 in lengths
            for start in times
            if (apart := abs(minute - start))
        )


def _is_end_of(digits: str, ids: set[str]) -> bool:
    """`the card ending in 4471`."""
    return len(digits) >= 3 and any(id.endswith(digits) for id in ids)


def _is_year_of(number: Decimal, days: set[Day]) -> bool:
    return 1900 <= number <= 2200 and any(day.year == number for day in days)


def _is_near(number: Decimal, other: Decimal) -> bool:
    return abs(number - other) <= abs(other) * APPROXIMATE


def _date(day: Day) -> date | None:
    try:
        return date(day.year, day.month, day.day) if day.year is not None else None
    except ValueError:
        return None
