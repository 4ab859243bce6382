"""Amounts that are worked out: numbers, fields and arguments, and sums of them in signs or in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.cursor import Cursor
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.vocabulary import NO_NAMES, number_of
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind

DET = word_set("a an the its their any every each")
_ADDING = (("+", "+"), ("plus", "+"), ("-", "-"), ("minus", "-"), ("less", "-"))
_MULTIPLYING = (
    ("*", "*"),
    ("x", "*"),
    ("times", "*"),
    ("multiplied by", "*"),
    ("/", "/"),
    ("divided by", "/"),
)
_FUNCTIONS = word_set("max min round abs floor ceil")
#: What a percentage may be called without changing the sum: "plus 8% sales tax".
CHARGES = word_set("tax vat gst fee surcharge charge tip commission discount markup penalty interest")
_LABELS = word_set("sales service handling processing restocking delivery late cancellation import booking")


@dataclass(kw_only=True)
class Formulas:
    phrases: Phrases
    tools: Sequence[ToolWords] = ()

    @property
    def cursor(self) -> Cursor:
        return self.phrases.cursor

    def rounded(self, at: int) -> Iterator[tuple[m.Amount, int]]:
        """A formula, also `rounded to 2 decimals`."""
        for amount, end in self.sums(at):
            start = self.cursor.after(end, ", rounded to", "rounded to")
            digits = self.cursor.number(start) if start is not None else None
            last = self.cursor.after(
                digits[1] if digits else end, "decimals", "decimal places", "digits", "decimal digits"
            )
            if digits is not None and last is not None:
                yield m.Sum("round", (amount, m.Literal_(digits[0]))), last
            yield amount, end

    def sums(self, at: int) -> Iterator[tuple[m.Amount, int]]:
        for first, end in self._terms(at):
            yield from self._more(first, end)

    def _more(self, before: m.Amount, at: int) -> Iterator[tuple[m.Amount, int]]:
        start = at + (self.cursor.low(at) == ",")
        for word, op in _ADDING:
            begin = self.cursor.after(start, word)
            if begin is None:
                continue
            flat = self._flat(begin)
            if flat is not None:
                yield from self._more(m.Sum(op, (before, flat[0])), flat[1])
                continue
            share = self.share(begin)
            if share is not None:
                yield from self._more(part_more(before, share[0], op), share[1])
                continue
            for term, end in self._terms(self.cursor.past(begin, DET)):
                if isinstance(term, m.Field) and "percent" in words_of(term.name):
                    part = m.Sum("/", (m.Sum("*", (before, term)), m.Literal_(100)))
                    yield from self._more(m.Sum(op, (before, part)), end)
                else:
                    yield from self._more(m.Sum(op, (before, term)), end)
        yield before, at

    def _flat(self, at: int) -> tuple[m.Amount, int] | None:
        """`a delivery fee of 3`, `a 3.50 dispensing fee`, `a flat start fee of 0.35`."""
        cursor = self.cursor
        start = cursor.past(at, word_set("a an the"))
        number = cursor.number(start)
        for end in range(start + (number is not None), min(start + 4, cursor.end)):
            if (
                cursor.low(end) in CHARGES
                and start < end + 1
                and all(cursor.words(p, p + 1) for p in range(start + (number is not None), end))
            ):
                if number is not None:
                    return m.Literal_(number_of(number[0])), end + 1
                told = cursor.number(end + 2) if cursor.low(end + 1) == "of" else None
                return (m.Literal_(number_of(told[0])), told[1]) if told is not None else None
        return None

    def share(self, at: int) -> tuple[Decimal, int] | None:
        """`8% tax`, `a 5% late fee`: the fraction; none where it is a share of something else."""
        found = self.cursor.quantity(self.cursor.past(at, word_set("a an")))
        if found is None or not found[0].is_percent or self.cursor.low(found[1]) == "of":
            return None
        end = self.cursor.past(found[1], _LABELS)
        end += self.cursor.low(end) in CHARGES
        return found[0].number / 100, end

    def _terms(self, at: int) -> Iterator[tuple[m.Amount, int]]:
        for first, end in self._factors(at):
            yield from self._more_factors(first, end)

    def _more_factors(self, before: m.Amount, at: int) -> Iterator[tuple[m.Amount, int]]:
        for word, op in _MULTIPLYING:
            start = self.cursor.after(at, word)
            for factor, end in self._factors(start) if start is not None else ():
                yield from self._more_factors(m.Sum(op, (before, factor)), end)
        yield before, at

    def _factors(self, at: int) -> Iterator[tuple[m.Amount, int]]:
        cursor = self.cursor
        if cursor.low(at) == "(":
            for inner, end in self.sums(at + 1):
                if cursor.low(end) == ")":
                    yield inner, end + 1
            return
        if cursor.low(at) in _FUNCTIONS and cursor.low(at + 1) == "(":
            yield from self._function(cursor.low(at), at + 2, ())
            return
        found = cursor.quantity(at)
        if found is not None and found[0].is_percent:
            if cursor.low(found[1]) == "of":
                for whole, end in self._factors(cursor.past(found[1] + 1, DET)):
                    yield m.Sum("*", (whole, m.Literal_(found[0].number / 100))), end
            return
        number = cursor.number(at)
        if number is not None:
            literal = m.Literal_(number_of(number[0]))
            per = cursor.after(number[1], "per", "for each", "for every")
            for name, end in self.names(per) if per is not None else ():
                yield m.Sum("*", (literal, name)), end
            yield literal, number[1]
            return
        yield from self._totals(at)
        yield from self.names(at)

    def _function(self, name: str, at: int, parts: tuple[m.Amount, ...]) -> Iterator[tuple[m.Amount, int]]:
        """`max(0, balance)`, `round(x, 2)`: up to four arguments."""
        for part, end in self.sums(at):
            if self.cursor.low(end) == ")":
                yield m.Sum(name, (*parts, part)), end + 1
            elif self.cursor.low(end) == "," and len(parts) < 3:
                yield from self._function(name, end + 1, (*parts, part))

    def _totals(self, at: int) -> Iterator[tuple[m.Amount, int]]:
        """`the sum of price * quantity over items`."""
        start = self.cursor.after(self.cursor.past(at, DET), "sum of", "total of")
        for each, end in self.sums(self.cursor.past(start, DET | {"all"})) if start is not None else ():
            over = self.cursor.after(end, "over", "across", "for all", "of all")
            begin = self.cursor.past(over, DET | {"all", "of"}) if over is not None else 0
            said = self.cursor.words(begin, begin + 1)
            if over is not None and said:
                yield m.Total(m.Field(said[0]), each), begin + 1

    def names(self, at: int) -> Iterator[tuple[m.Field, int]]:
        """An argument, a field, or (as it stands) a word that another rule may compute."""
        cursor = self.cursor
        start = cursor.past(at, DET | {"requested", "given"})
        for length in (3, 2, 1):
            said = cursor.words(start, start + length)
            tools = self.tools if len(said) == length else ()
            name = next((n for tool in tools if (n := self.phrases.words.argument_of(tool, said))), None)
            if name is not None:
                end = start + length
                end += cursor.low(end) in ("paid", "bought", "booked", "ordered", "requested")
                yield m.Field(name, None, True), end
                break
        kind = next((tool.kind for tool in self.tools if tool.kind), None)
        yield from self.phrases.amount_field(at, kind)
        token = self.phrases.token(start)
        plain = token is not None and token.kind in (TokenKind.WORD, TokenKind.NAME)
        if (
            token is not None
            and plain
            and token.low not in NO_NAMES
            and token.low not in CHARGES - {"tax", "fee"}
        ):
            yield m.Field(token.text, None, False, True), start + 1


def part_more(base: m.Amount, part: Decimal, sign: str) -> m.Amount:
    """The amount with a part of itself added or taken away."""
    return m.Sum("*", (base, m.Literal_(number_of(1 + part if sign == "+" else 1 - part))))
