"""Numbers that a statement compares: with a number, or with a field of what the call is about."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.fact import Fact, FactReader, is_number
from pipelines.core.simulation.behavior.parts.spans import MEASURED, Span
from pipelines.core.simulation.behavior.parts.statement import Statement, tokens_of
from pipelines.core.simulation.behavior.reader.cursor import Quantity
from pipelines.core.simulation.behavior.reader.vocabulary import number_of
from pipelines.core.simulation.behavior.things import UNITS, Path, ToolWords, is_date

_TRAILING: tuple[tuple[str, m.Op], ...] = (
    ("at most", "<="), ("at the most", "<="), ("at the very most", "<="), ("maximum", "<="),
    ("or fewer", "<="), ("at least", ">="), ("at the least", ">="), ("minimum", ">="),
    ("or more", ">="), ("at the latest", "<="),
)  # fmt: skip
_MONEY = word_set("euro dollar pound eur usd gbp cent")
_SPANS = frozenset(["second", "minute", "hour", "day", "week", "month", "year"])
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_MOST = word_set("longest largest highest biggest heaviest most")
#: The number that is meant, the kind it is of, and the places that name it.
_Measured = tuple[m.Field | None, str, frozenset[int]]
_UNSAID = UNITS | word_set(
    "count number amount total qty quantity left limit value level pct year hour minute"
)


class Numbers(FactReader):
    """What is more or less than something."""

    def __init__(self, statement: Statement, tool: ToolWords, used: set[int]) -> None:
        super().__init__(statement, tool, used)
        self.measured: _Measured | None = None

    def read(self) -> Iterator[Fact]:
        at = 0
        while at < self.cursor.end:
            fact = self._comparison_at(at) if at not in self.used else None
            if fact is not None:
                yield fact
            at = max(at + 1, fact.end if fact is not None else 0)

    def _comparison_at(self, at: int) -> Fact | None:
        bounds = next(iter(self._bounds(at)), None)
        if bounds is not None:
            parts, end = bounds
            unit = next((one.unit for _, one in parts if one.unit), "")
            is_signed = end == at + 1 and parts[0][1].number == 0
            named = end - 1 if self.cursor.low(at) in _MOST else at  # the highest temperature … is 1100
            left = self._counted_in(end, unit) if is_signed else self._measured(named, end, unit)
            left = left or self.measured  # minimum 1, maximum 10
            if left is None and unit in _SECONDS:
                left, parts = self._in_other_units(parts, unit)
            if left is None:
                return None
            self.measured = left
            name, kind, used = left
            said = tuple(
                m.Measure(kind, op, self._literal(one))
                if name is None
                else m.Compare(name, op, self._literal(one, name))
                for op, one in parts
            )
            so = said[0] if len(said) == 1 else m.All(said)
            if self.cursor.low(at) in _MOST:
                places = self.cursor.quantity(end - 2) or self.cursor.quantity(end - 1)
                start = end - 2 if places is not None and places[1] == end else end - 1
                return Fact(so=so, start=at, end=end, kind=kind, used=used | {at, *range(start, end)})
            return self._fact(so, at, end, kind, used)
        for op, start in self._comparisons(at):
            right = self._field_after(start)
            left = self._measured(at, start, "") if right is not None else None
            if left is not None and right is not None:
                name, kind, used = left
                told: m.Condition = m.Measure(kind, op, right[0])
                if name is not None:
                    told = m.Compare(name, op, right[0])
                return self._fact(told, at, right[1], kind, used)
        return None

    def _in_other_units(
        self, parts: Sequence[tuple[m.Op, Quantity]], unit: str
    ) -> tuple[_Measured | None, tuple[tuple[m.Op, Quantity], ...]]:
        """`half an hour`, of what is given in minutes."""
        numbers = [name for name in self.tool.arguments if is_number(self.tool, name)]
        named = [(name, singular(word)) for name in numbers for word in words_of(name)]
        found = [(name, word) for name, word in named if word in _SECONDS]
        if len(found) != 1:
            return None, tuple(parts)
        name, other = found[0]
        by = Decimal(_SECONDS[unit]) / _SECONDS[other]
        turned = tuple((op, Quantity(one.number * by, other)) for op, one in parts)
        return (m.Field(name, None, True), "", frozenset()), turned

    def _bounds(self, at: int) -> Iterator[tuple[tuple[tuple[m.Op, Quantity], ...], int]]:
        cursor = self.cursor
        low = cursor.quantity(at + 1) if cursor.low(at) == "from" else cursor.quantity(at)
        start = low[1] if low is not None else at
        to = cursor.after(start, "up to", "to", "and", "-") if low is not None else None
        high = cursor.quantity(to) if to is not None else None
        is_range = cursor.low(at) in ("from", "between") or cursor.low(start) == "to"
        if low is not None and high is not None and is_range:
            yield ((">=", low[0]), ("<=", high[0])), high[1]
        if cursor.low(at) in _MOST:  # the longest anyone may book it for is three hours
            ends = (place for place in range(at + 1, cursor.end) if cursor.low(place) in ("is", "are"))
            told = next((found for place in ends if (found := cursor.quantity(place + 1))), None)
            if told is not None:
                yield (("<=", told[0]),), told[1]
        yield from cursor.bounds(at)
        yield from self._bound_behind(at)
        past = cursor.after(at, "exceed", "exceeds", "exceeding", "go over", "goes over", "surpass")
        most = cursor.quantity(past) if past is not None else None
        if most is not None:
            yield ((">", most[0]),), most[1]
        sign = {"positive": ">", "negative": "<"}.get(cursor.low(at))
        if sign:
            zero = Quantity(Decimal(0))
            yield ((">" if sign == ">" else "<", zero),), at + 1

    def _bound_behind(self, at: int) -> Iterator[tuple[tuple[tuple[m.Op, Quantity], ...], int]]:
        """`six seats at most`."""
        plain = self.cursor.quantity(at)
        for said, op in _TRAILING if plain is not None else ():
            for place in (plain[1], plain[1] + 1) if plain is not None else ():
                behind = self.cursor.after(place, said)
                if behind is not None and plain is not None:
                    yield ((op, plain[0]),), behind
                    return

    def _comparisons(self, at: int) -> Iterator[tuple[m.Op, int]]:
        cursor = self.cursor
        yield from cursor.comparison(at)
        more: tuple[tuple[str, m.Op], ...] = (
            ("exceeds", ">"), ("exceed", ">"), ("go over", ">"), ("goes over", ">"), ("later than", ">"),
            ("earlier than", "<"), ("different from", "!="), ("the same as", "=="), ("surpass", ">"),
        )  # fmt: skip
        for said, op in more:
            end = cursor.after(at, said)
            if end is not None:
                yield op, end
        comparative = cursor.low(at)
        if comparative.endswith("er") and cursor.low(at + 1) == "than":
            yield ("<" if comparative in ("smaller", "lower", "shorter", "fewer", "earlier") else ">"), at + 2

    def _literal(self, one: Quantity, of: m.Field | None = None) -> m.Amount:
        is_named_so = of is not None and of.is_argument and {"percent", "pct"} & set(words_of(of.name))
        if one.is_percent and not is_named_so:
            return m.Percent(one.number / 100)
        return m.Literal_(number_of(one.number))

    def _fact(self, so: m.Condition, at: int, end: int, kind: str, used: frozenset[int]) -> Fact:
        denied = self.cursor.low(at - 1) in ("not", "never") and self.cursor.low(at - 2) not in (
            "can", "may", "must", "shall", "should", "could", "will", "would", "do", "does"
        )  # fmt: skip
        places = frozenset(range(at - denied, end)) | used
        return Fact(so=m.negated(so) if denied else so, start=at, end=end, kind=kind, used=places)

    def _measured(self, at: int, end: int, unit: str) -> _Measured | None:
        """What a number is of: the field or argument that is named before it, then after it, then the one
        that is counted so."""
        free = [
            span for span in self.statement.spans if self.is_free(span) and (span.fields or span.arguments)
        ]
        left = [span for span in free if span.end <= at]
        right = [span for span in free if span.start >= end and span.start - end <= 3]
        for span in (*reversed(left), *right):
            found = self._number_named(span, unit)
            if found is not None:
                return found[0], found[1], tokens_of([span])
        counted = self._counted_in(end, unit)
        head = next((span for span in self.statement.spans if 0 <= at - span.end <= 1 and span.kinds), None)
        if head is not None and (not unit or unit in _MONEY):
            kind = self.kind_of(head, head.kinds) or head.kinds[0]
            is_done = any(deed.tool == self.tool.name for deed in head.deeds)
            if counted is None or (kind not in (self.tool.makes, self.tool.called) and not is_done):
                return None, kind, frozenset()  # claims above 10,000: what they are worth
        return counted

    def _number_named(self, span: Span, unit: str) -> tuple[m.Field, str] | None:
        for tool, name in span.arguments:
            is_said = is_number(self.tool, name) if tool == self.tool.name else False
            if is_said and _is_counted_in(name, unit) and _says_head(name, span.words):
                return m.Field(name, None, True), ""
        kinds = [
            kind
            for kind, path in span.fields
            if self._holds_number(kind, path)
            and _is_counted_in(path[-1], unit)
            and _says_head(path[-1], span.words)
        ]
        kind = self.kind_of(span, kinds) if kinds else None
        if kind is None:
            return None
        path = next(path for of, path in span.fields if of == kind)
        return self.words.named(kind, path), kind

    def _holds_number(self, kind: str, path: Path) -> bool:
        one = self.words.lexicon.kinds[kind].fields[path]
        is_below = any(isinstance(value, (int, float)) and value < 0 for value in one.values)
        return (
            ("number" in one.kinds or one.keeps is not None) and not is_date(path[-1], one) and not is_below
        )

    def _counted_in(self, end: int, unit: str) -> tuple[m.Field, str, frozenset[int]] | None:
        """By the unit, or as the one number that the call gives."""
        numbers = [name for name in self.tool.arguments if is_number(self.tool, name)]
        said = singular(self.cursor.low(end))
        spoken = {unit, said} - {""}
        by_unit = [name for name in numbers if spoken & {singular(word) for word in words_of(name)}]
        if len(by_unit) == 1:
            used = (
                frozenset((end,))
                if said in words_of(by_unit[0]) or said in map(singular, words_of(by_unit[0]))
                else frozenset()
            )
            return m.Field(by_unit[0], None, True), "", used
        if unit == "year" or (not unit and self.cursor.low(end - 1) in ("older", "younger", "old")):
            aged = [
                kind
                for kind in self.words.folk
                if ("age",) in self.words.lexicon.kinds[kind].fields
                and self.statement.reaches(self.tool, kind)
            ]
            if "age" in self.tool.arguments:
                return m.Field("age", None, True), "", frozenset()
            return (m.Field("age", aged[0]), aged[0], frozenset()) if len(aged) == 1 else None
        counts = next((span for span in self.statement.spans if span.start == end), None)
        is_another = counts is not None and not counts.is_neutral and not counts.cues and not unit
        if is_another and counts is not None and not counts.stands_for_something:
            # `24 bottles`, of what is called an order for bottles where it is described.
            is_another = stem(singular(counts.words[0])) not in {
                stem(singular(w)) for w in self.tool.described
            }
        if (
            len(numbers) == 1
            and not is_another
            and (not unit or unit in _MONEY or unit in ("unit", "piece", "item", "copy"))
        ):
            return m.Field(numbers[0], None, True), "", frozenset()
        return None

    def _field_after(self, at: int) -> tuple[m.Field, int] | None:
        """The field that something is compared with: `the account's cash`, `its max_seats`."""
        for span in self.statement.spans:
            if span.start < at or span.start > at + 6 or not self.is_free(span):
                continue
            for tool, name in span.arguments:
                if tool == self.tool.name and not span.fields:
                    return m.Field(name, None, True), span.end
            kinds = [kind for kind, path in span.fields if self._holds_number(kind, path)]
            kind = self.kind_of(span, kinds) if kinds else None
            if kind is not None:
                path = next(path for of, path in span.fields if of == kind)
                return self.words.named(kind, path), span.end
            if not span.is_neutral and not span.kinds:
                return None
        return None


def _says_head(name: str, said: Sequence[str]) -> bool:
    """Whether the noun of a name was said: `drivers` does not mean the age of a driver."""
    parts = [singular(word) for word in words_of(name)]
    while len(parts) > 1 and parts[-1] in _UNSAID:
        parts.pop()
    return parts[-1] in {singular(word) for word in said} or len(said) > 1 or said[0] in MEASURED


def _is_counted_in(name: str, unit: str) -> bool:
    """Whether a number of this name may be counted in such a unit: no span of time but where it says so."""
    said = {singular(word) for word in words_of(name)}
    return unit not in _SPANS or bool(said & {unit, "duration", "length", "period", "term", "age"})
