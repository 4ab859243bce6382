"""Looks up the values of an answer: which are not in the run, and which are known but no reply gives them.

Arithmetic is limited on purpose: sums, differences, products and shares of the answer's own numbers, and days
counted from known days. With more operations every number could be derived from the others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import combinations

from pipelines.core.english.dates import Day
from pipelines.core.english.numbers import Quantity
from pipelines.core.verdict.words.among import is_about, is_among, is_near
from pipelines.core.verdict.words.known import KnownValues, Values
from pipelines.core.verdict.words.speech import sentences
from pipelines.core.verdict.words.values import Kind, Value, values_in

MOST_OPERANDS = 24  # numbers that are calculated with
MOST_SUMMED = 8  # of which every sum counts
CENT = Decimal("0.01")
LARGEST = Decimal(10**15)
MOST_MOMENTS = 200
_MINUTES = {
    "min": 1,
    "minute": 1,
    "hr": 60,
    "hour": 60,
    "day": 1440,
    "week": 10080,
    "month": 43200,
    "year": 525600,
}
_PERIODS = (7, 12, 24, 30, 52, 365)  # of a day in a week, a month in a year, …


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreportedValue:
    """A value of an answer that no reply, record or rule contains."""

    phrase: str
    kind: Kind
    turn: int
    is_known: bool  # the user or the agent brought it in, or it follows by arithmetic
    why: str


def unreported_values(turns: Iterable[str], known: KnownValues) -> list[UnreportedValue]:
    """All such values of the answer in order, each once."""
    sentences_by_turn = [sentences(text) for text in turns]
    found: dict[str, UnreportedValue] = {}
    for turn, sentence, look in _sentence_lookups(sentences_by_turn, known):
        for value in values_in(sentence):
            if value.phrase not in found and not look.is_told(value, sentence):
                why = look.known_as(value, sentence)
                found[value.phrase] = UnreportedValue(
                    phrase=value.phrase,
                    kind=value.kind,
                    turn=turn,
                    is_known=why is not None,
                    why=why or "it is not in the run",
                )
    return list(found.values())


def _sentence_lookups(
    said: list[tuple[str, ...]], known: KnownValues
) -> Iterator[tuple[int, str, "_Lookup"]]:
    """Each sentence with its turn; numbers of that turn are calculated with first."""
    for at, own in enumerate(said):
        before = [sentence for turn in reversed(said[:at]) for sentence in turn]
        look = _Lookup(known, [*own, *before])
        yield from ((at + 1, sentence, look) for sentence in own)


@dataclass(frozen=True)
class _Lookup:
    known: KnownValues
    said: list[str]  # sentences whose numbers are calculated with

    def is_told(self, value: Value, sentence: str) -> bool:
        return self._is_in(self.known.told, value, sentence)

    def known_as(self, value: Value, sentence: str) -> str | None:
        """Why a value is known although no reply contains it."""
        if self._is_in(self.known.brought, value, sentence):
            return "only the user or a call's arguments contain it"
        follows = False
        if value.number is not None:
            follows = any(
                self._follows(number, value.number, value.phrase, sentence) for number in value.number.values
            )
        elif value.day is not None:
            follows = any(map(self._is_counted_day, value.day.days))
        elif value.time is not None:
            follows = any(map(self._is_counted_time, value.time.minutes))
        return "it can be calculated from other values" if follows else None

    def _is_in(self, values: Values, value: Value, sentence: str) -> bool:
        return is_among(values, value, sentence, most_counted=self._ids_named)

    @cached_property
    def _ids_named(self) -> int:
        return len({value.id for sentence in self.said for value in values_in(sentence) if value.id})

    # Arithmetic

    @cached_property
    def _operands(self) -> list[Decimal]:
        """The answer's own numbers as far as they are known or follow from those, and what changed."""
        known = self.known.told.numbers | self.known.brought.numbers
        sums = dict.fromkeys(
            number
            for sentence in self.said
            for value in values_in(sentence)
            if value.number is not None
            for number in value.number.values
        )
        first = [*(number for number in sums if number in known), *sorted(self.known.changed)]
        results = _results(first[:MOST_OPERANDS])
        return [*first, *(number for number in sums if number not in known and _is_made(number, results))]

    @cached_property
    def _made(self) -> frozenset[Decimal]:
        return _results(self._operands[:MOST_OPERANDS]) | self.known.changed

    @cached_property
    def _gaps(self) -> frozenset[int]:
        """Minutes between known days, and between known times of a day."""
        known, brought = self.known.told, self.known.brought
        days = sorted(filter(None, map(_date, known.days | brought.days)))[:MOST_MOMENTS]
        times = sorted(known.minutes | brought.minutes)[:MOST_MOMENTS]
        apart = {(b - a).days * 1440 for a, b in combinations(days, 2)}
        between = {b - a for a, b in combinations(times, 2)}
        return frozenset(apart | between | {1440 - each for each in between})  # or over midnight

    def _follows(self, number: Decimal, quantity: Quantity, phrase: str, sentence: str) -> bool:
        if abs(number) >= LARGEST:
            return False
        if _is_made(number, self._made) or (
            quantity.unit == "%" and _is_share(number, phrase, self._operands)
        ):
            return True
        if is_about(phrase, sentence) and any(is_near(number, other) for other in self._made):
            return True
        if quantity.currency is not None:  # a price for another time: `354 € a year`; or stored in cents
            times = {number / factor for factor in _PERIODS}
            return not times.isdisjoint(self._operands) or number * 100 in self.known.told.numbers
        unit = quantity.unit.rstrip("s")
        return unit in _MINUTES and self._is_duration(number * _MINUTES[unit], sentence)

    def _is_duration(self, minutes: Decimal, sentence: str) -> bool:
        """In another unit than it was told, between two moments, or in parts (`2 hours and 5 minutes`)."""
        known = self.known.told.numbers | self.known.brought.numbers
        if any(minutes / unit in known for unit in _MINUTES.values()) or minutes in self._gaps:
            return True
        parts = [value.number for value in values_in(sentence) if value.number is not None]
        lengths = [
            max(one.values) * _MINUTES[unit] for one in parts if (unit := one.unit.rstrip("s")) in _MINUTES
        ]
        total = sum(lengths, Decimal(0))
        is_known = total in self._gaps or any(total / unit in known for unit in _MINUTES.values())
        return len(lengths) > 1 and is_known

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
                written_day = _date(Day(day.month, day.day, year))
                apart = abs((written_day - start).days) if written_day is not None else 0
                if apart == 1 or apart in steps or (apart % 7 == 0 and apart // 7 in steps):
                    return True
                if written_day is not None and written_day.day == start.day and apart:
                    months = abs(12 * (written_day.year - start.year) + written_day.month - start.month)
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


def _results(operands: list[Decimal]) -> frozenset[Decimal]:
    """All results of two of the numbers, and every sum of a few."""
    found: set[Decimal] = set()
    for a, b in combinations(operands, 2):
        found |= {a + b, abs(a - b), a * b}
        found |= {one + sign * one * other / 100 for one, other in ((a, b), (b, a)) for sign in (-1, 0, 1)}
        found |= {a * b / 100, *([a / b] if b else []), *([b / a] if a else [])}
    few = operands[:MOST_SUMMED]
    for size in range(3, len(few) + 1):
        found |= {sum(some, Decimal(0)) for some in combinations(few, size)}
    found.add(sum(operands, Decimal(0)))
    return frozenset(each.quantize(CENT) for each in found if abs(each) < LARGEST)


def _is_made(number: Decimal, made: frozenset[Decimal]) -> bool:
    return abs(number) < LARGEST and number.quantize(CENT) in made


def _is_share(number: Decimal, phrase: str, operands: list[Decimal]) -> bool:
    """`12.7%`: what one number is of another, rounded as it is written."""
    places = len(phrase.rstrip("% ").partition(".")[2])
    shares = (a / b * 100 for a in operands for b in operands if b)
    return any(
        round(share, places) == number or round(abs(share - 100), places) == number for share in shares
    )


def _date(day: Day) -> date | None:
    try:
        return date(day.year, day.month, day.day) if day.year is not None else None
    except ValueError:
        return None
