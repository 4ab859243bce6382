"""The tokens of one sentence, and looking for set phrases in them; the work of reading it is bounded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from pipelines.core.english.words import singular, word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind
from pipelines.core.simulation.behavior.tokens import Token

MOST_STEPS = 20_000  # a sentence of sixty words that is read takes some thousands


class TooLong(Exception):
    """More ways to take a sentence than are worth trying."""


class Quantity(NamedTuple):
    number: Decimal
    unit: str = ""  # singular, as written: hour, percent, unit, kg
    is_percent: bool = False

    @property
    def duration(self) -> m.Duration | None:
        unit = _SPANS.get(self.unit)
        return m.Duration(self.number, unit) if unit is not None else None


_SPANS: dict[str, m.Unit] = {
    "second": "second", "minute": "minute", "hour": "hour", "day": "day", "week": "week", "month": "month",
    "year": "year",
}  # fmt: skip
_UNITS = frozenset(_SPANS) | word_set(
    "euro dollar pound eur usd gbp kg kilo tonne km kilometre kilometer kilogram unit character percent "
    "point gb copy piece mile gram litre liter cent metre meter word"
)

#: How a sentence says that something is more or less, longest first.
_COMPARED: dict[m.Op, str] = {
    ">=": "at least|no less than|not less than|no fewer than|a minimum of|no lower than|no earlier than|"
    "minimum|no shorter than|no younger than",
    "<=": "at most|no more than|not more than|up to|a maximum of|no longer than|no greater than|"
    "no higher than|maximum|no later than|no larger than",
    ">": "more than|over|above|exceeding|greater than|longer than|higher than|larger than|heavier than|"
    "beyond|in excess of|older than|bigger than",
    "<": "less than|under|below|fewer than|shorter than|smaller than|lower than|younger than|lighter than",
    "==": "exactly|equal to",
}
PHRASES = sorted(
    ((tuple(phrase.split()), op) for op, phrases in _COMPARED.items() for phrase in phrases.split("|")),
    key=lambda one: -len(one[0]),
)
_AND_MORE = word_set("more over above older longer higher greater up upwards")
_AND_LESS = word_set("less fewer below under shorter younger lower")
_TIMES = {"once": 1, "twice": 2, "thrice": 3}


@dataclass(kw_only=True)
class Cursor:
    tokens: Sequence[Token]
    steps: int = field(default=0)

    def __post_init__(self) -> None:
        self.lows = [token.low for token in self.tokens]

    @property
    def end(self) -> int:
        return len(self.tokens)

    def low(self, at: int) -> str:
        return self.lows[at] if 0 <= at < len(self.lows) else ""

    def words(self, at: int, to: int) -> list[str]:
        """Words between two places, or none where something else stands there."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong
        part = self.tokens[at:to]
        return [token.low for token in part] if all(token.is_word() for token in part) else []

    def after(self, at: int, *phrases: str) -> int | None:
        """Where the first of the phrases that stands here ends; an empty phrase stands everywhere."""
        for phrase in phrases:
            said = phrase.split()
            if self.lows[at : at + len(said)] == said:
                return at + len(said)
        return None

    def past(self, at: int, words: frozenset[str]) -> int:
        """Past any number of these words."""
        while self.low(at) in words and at < self.end:
            at += 1
        return at

    # -- numbers

    def number(self, at: int) -> tuple[Decimal, int] | None:
        token = self.tokens[at] if at < self.end else None
        if token is None or token.number is None or token.kind is TokenKind.PERCENT:
            return None
        return token.number, at + 1

    def quantity(self, at: int) -> tuple[Quantity, int] | None:
        """`24 hours`, `$500`, `90 percent`, `10%`; also `twice`."""
        token = self.tokens[at] if at < self.end else None
        if token is None:
            return None
        if token.kind is TokenKind.PERCENT and token.number is not None:
            return Quantity(token.number, "percent", True), at + 1
        if token.low in ("a", "an") and self.low(at + 1) in _SPANS:
            return Quantity(Decimal(1), self.low(at + 1)), at + 2
        half = self.after(at, "half an", "half a") or self.after(at, "a quarter of an", "a quarter of a")
        if half is not None and self.low(half) in _SPANS:
            return Quantity(Decimal("0.5" if token.low == "half" else "0.25"), self.low(half)), half + 1
        if token.low in _TIMES:
            return Quantity(Decimal(_TIMES[token.low]), "time"), at + 1
        if token.number is None:
            return None
        unit = singular(self.low(at + 1))
        if unit == "square" and singular(self.low(at + 2)) in ("metre", "meter"):
            return Quantity(token.number, "sqm"), at + 3
        if unit == "percent":
            return Quantity(token.number, "percent", True), at + 2
        if unit in _UNITS:
            end = at + 2 + (self.low(at + 2) == "'s")
            return Quantity(token.number, unit), end
        return Quantity(token.number), at + 1

    def comparison(self, at: int) -> Iterator[tuple[m.Op, int]]:
        for said, op in PHRASES:
            if tuple(self.lows[at : at + len(said)]) == said:
                yield op, at + len(said)
                return

    def bounds(self, at: int) -> Iterator[tuple[tuple[tuple[m.Op, Quantity], ...], int]]:
        """`more than 30 days`, `between 1 and 5`, `60 and over`, `at least 2 and at most 12 weeks`."""
        ranges = ("in the range of", "in the range from", "in the range", "within the range of")
        if (start := self.after(at, "between", "from", *ranges)) is not None:
            low = self.quantity(start)
            high = self.quantity(low[1] + 1) if low and self.low(low[1]) in ("and", "to") else None
            if low and high:
                unit = low[0]._replace(unit=low[0].unit or high[0].unit)
                yield ((">=", unit), ("<=", high[0])), high[1] + (self.low(high[1]) == "inclusive")
            return
        for op, start in self.comparison(at):
            found = self.quantity(start)
            if found is None:
                continue
            if self.low(found[1]) == "and":
                for other, then in self.comparison(found[1] + 1):
                    second = self.quantity(then)
                    if second is not None:
                        first = found[0]._replace(unit=found[0].unit or second[0].unit)
                        yield ((op, first), (other, second[0])), second[1]
            yield ((op, found[0]),), self._aged(found[1])
        plain = self.quantity(at)
        if plain is not None:
            amount, end = plain
            end = self._aged(end)
            if self.low(end) in ("or", "and") and self.low(end + 1) in _AND_MORE:
                yield ((">=", amount),), end + 2
            elif self.low(end) in ("or", "and") and self.low(end + 1) in _AND_LESS:
                yield (("<=", amount),), end + 2
            elif amount.unit == "time" or self.low(end) == "times":
                after = end + (self.low(end) == "times")
                if (most := self.after(after, "at most", "only")) is not None:
                    yield (("<=", amount._replace(unit="time")),), most

    def _aged(self, at: int) -> int:
        return at + (self.low(at) == "old")
