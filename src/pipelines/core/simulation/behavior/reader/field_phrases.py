"""Fields, amounts and moments: `the vehicle's recorded mileage`, `over 200 euros`."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.cursor import Cursor, Quantity
from pipelines.core.simulation.behavior.reader.vocabulary import Vocabulary, number_of
from pipelines.core.simulation.behavior.states import may_be_a_status
from pipelines.core.simulation.behavior.things import Path
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind
from pipelines.core.simulation.behavior.tokens import Token

ARTICLES = word_set(
    "a an the any all every each such this that these those some another its their his her your"
)
_OWNED = word_set("its their his her")
BE = word_set("is are was were be being been")
HAVE = word_set("has have had having")
LONGEST_NAME = 4
_LONG = word_set("older more over less younger under at longer shorter no exceeding up from between")
_SIGNS: dict[str, m.Op] = {"zero": "==", "negative": "<", "positive": ">"}


@dataclass(kw_only=True)
class FieldPhrases:
    cursor: Cursor
    words: Vocabulary

    def dated(self, moment: m.Field, at: int) -> Iterator[tuple[m.Condition, int]]:
        """When a moment was: `more than 60 days ago`, `within the last 30 days`, `before 2026-01-05`."""
        for bounds, end in self.cursor.bounds(at):
            (op, span), *rest = bounds
            back = self.cursor.after(end, "ago", "before the run date", "before now", "before today", "back")
            if not rest and span.duration is not None and back is not None:
                yield m.Age(moment, op, span.duration), back
            ahead = self.cursor.after(end, "from now", "from the run date", "ahead", "in the future")
            if not rest and span.duration is not None and ahead is not None:
                yield m.Age(moment, op, span.duration, None, True), ahead
            yield from self._apart(moment, bounds, end)
        recent = self.cursor.after(at, "within the last", "in the last", "within the past", "in the past")
        found = self.cursor.quantity(recent) if recent is not None else None
        if found is not None and found[0].duration is not None:
            yield m.Age(moment, "<=", found[0].duration), found[1]
        word, token = self.cursor.low(at), self.token(at + 1)
        if word in ("before", "after", "since") and token is not None and token.kind is TokenKind.DATE:
            yield m.Compare(moment, "<" if word == "before" else ">", m.Literal_(token.text)), at + 2

    def _apart(
        self, moment: m.Field, bounds: tuple[tuple[m.Op, Quantity], ...], at: int
    ) -> Iterator[tuple[m.Condition, int]]:
        """How far two moments lie apart: `check_out is more than 21 days after check_in`."""
        start = self.cursor.after(at, "after", "before")
        if start is None or len(bounds) > 1 or bounds[0][1].duration is None:
            return
        is_later = self.cursor.low(start - 1) == "after"
        for other, end in self.moment(start, moment.owner):
            yield m.Age(moment, bounds[0][0], bounds[0][1].duration, None, is_later, other), end

    def moment(self, at: int, near: str | None) -> Iterator[tuple[m.Field, int]]:
        """A field that holds a moment, or an argument that is called as such a field is."""
        for name, end in self.amount_field(at, near):
            path = self.words.field_of(name.owner, [name.name]) if name.owner else None
            if name.owner and path in self.words.lexicon.kinds[name.owner].dates():
                yield name, end

    def _left(self, at: int) -> int:
        return at + (self.cursor.low(at) in ("left", "remaining", "available"))

    def _own_field(self, kind: str, at: int) -> Iterator[tuple[m.Field, Path, int]]:
        for length in range(LONGEST_NAME, 0, -1):
            said = self.cursor.words(at, at + length)
            path = self.words.field_of(kind, said) if len(said) == length else None
            if path is not None:
                yield self.words.named(kind, path), path, at + length
                return

    def valued(self, kind: str, path: Path, at: int) -> Iterator[tuple[m.Condition, int]]:
        """What a field is: `is surgery`, `exceeds 100`, `lies in the past`, `has been reached`."""
        name = self.words.named(kind, path)
        start, is_not = at, False
        while self.cursor.low(start) in BE | word_set("not has have never lies lie falls set to ="):
            is_not = is_not or self.cursor.low(start) in ("not", "never")
            start += 1
        for so, end in self._valued(name, kind, path, start):
            yield (m.negated(so) if is_not else so), end
        for values, end in self._listed_values(kind, path, start):
            so = m.OneOf(name, values)
            yield (m.negated(so) if is_not else so), end

    def _listed_values(self, kind: str, path: Path, at: int) -> Iterator[tuple[tuple[m.Value, ...], int]]:
        """`one of pending, processing or on_hold`, `'pending'`, `shipped or delivered`."""
        start = self.cursor.after(at, "one of :", "one of", "any of", "either", "neither") or at
        found: list[m.Value] = []
        ends: list[int] = []
        while (one := self._one_value(kind, path, start)) is not None:
            found.append(one[0])
            ends.append(one[1])
            joined = self.cursor.after(one[1], ", or", ", and", "or", "and", "nor", ",")
            if joined is None:
                break
            start = joined
        for count in range(len(found), 0, -1):
            yield tuple(found[:count]), ends[count - 1]

    def _one_value(self, kind: str, path: Path, at: int) -> tuple[m.Value, int] | None:
        for length in (3, 2, 1):
            said = self.cursor.words(at, at + length)
            spelled = self.words.value_in(kind, path, said) if len(said) == length else None
            if spelled is not None:
                return spelled, at + length
        token = self.token(at)
        if token is None:
            return None
        if token.kind is TokenKind.TEXT:
            return self.words.value_in(kind, path, [token.text]) or token.text, at + 1
        known = self.words.lexicon.kinds[kind]
        if token.is_word() and path == (known.status or ("status",)) and may_be_a_status(token.low):
            return token.text if "_" in token.text else token.low, at + 1
        return None

    def _valued(self, name: m.Field, kind: str, path: Path, at: int) -> Iterator[tuple[m.Condition, int]]:
        if path in self.words.lexicon.kinds[kind].dates():
            yield from self.dated(name, at)
            end = self.cursor.after(at, "in the past", "passed", "over")
            if end is not None:
                yield m.Compare(name, "<", m.Now()), end
            if (end := self.cursor.after(at, "in the future")) is not None:
                yield m.Compare(name, ">", m.Now()), end
        begun = self.cursor.after(at, "begins with", "starts with", "begin with", "start with")
        spelled = self.token(begun) if begun is not None else None
        if spelled is not None and begun is not None:
            yield m.StartsWith(name, spelled.text), begun + 1
        if self.cursor.low(at) in ("true", "false"):
            yield m.Compare(name, "==", m.Literal_(self.cursor.low(at) == "true")), at + 1
        yield from self.compared(kind, path, at)
        number = self.cursor.number(at)
        if number is not None and "number" in self.words.lexicon.kinds[kind].fields[path].kinds:
            yield m.Compare(name, "==", m.Literal_(number_of(number[0]))), number[1]

    def compared(self, kind: str, path: Path, at: int) -> Iterator[tuple[m.Condition, int]]:
        name = self.words.named(kind, path)
        start = at + (self.cursor.low(at) in ("of", "at", "is", "are", "exceeding"))
        for begin in dict.fromkeys((start, at)):
            for bounds, end in self.cursor.bounds(begin):
                yield self._within(name, path, kind, bounds), end
            yield from self._against_field(name, begin)
        if self.cursor.low(at) in ("exceed", "exceeds"):
            found = self.cursor.quantity(at + 1)
            if found is not None:
                yield self._within(name, path, kind, ((">", found[0]),)), found[1]
        op = _SIGNS.get(self.cursor.low(at))
        if op is not None:
            yield m.Compare(name, op, m.Literal_(0)), at + 1

    def _against_field(self, name: m.Field, at: int) -> Iterator[tuple[m.Condition, int]]:
        for op, start in self.cursor.comparison(at):
            for other, end in self.amount_field(start, name.owner):
                yield m.Compare(name, op, other), end
            said = self.cursor.words(begin := self.cursor.past(start, ARTICLES), begin + 1)
            tools = self.words.lexicon.tools.values()
            if said and any(said[0] in tool.arguments for tool in tools if not tool.reads):
                yield m.Compare(name, op, m.Field(said[0], None, True)), begin + 1

    def _within(
        self, name: m.Field, path: Path, kind: str, bounds: tuple[tuple[m.Op, Quantity], ...]
    ) -> m.Condition:
        parts = tuple(m.Compare(name, op, self.literal(one)) for op, one in bounds)
        return parts[0] if len(parts) == 1 else m.All(parts)

    def literal(self, one: Quantity) -> m.Amount:
        if one.is_percent:
            return m.Percent(one.number / 100)
        return m.Literal_(number_of(one.number))

    def measured(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`over 200 euros`, `aged 60 and over`, `under the age of 18`, `older than 30 days`."""
        start = at + (self.cursor.low(at) in ("aged", "worth", "of", "exceed", "exceeds", "valued"))
        if self.cursor.low(at) in ("exceed", "exceeds"):
            found = self.cursor.quantity(start)
            so = self._measure(kind, ((">", found[0]),), "") if found is not None else None
            if found is not None and so is not None:
                yield so, found[1]
            return
        if (
            after := self.cursor.after(start, "under the age of", "below the age of", "over the age of")
        ) is not None:
            number = self.cursor.number(after)
            op: m.Op = ">" if self.cursor.low(start) == "over" else "<"
            if number is not None and ("age",) in self.words.lexicon.kinds[kind].fields:
                yield m.Compare(self.words.named(kind, ("age",)), op, m.Literal_(int(number[0]))), number[1]
        for bounds, end in self.cursor.bounds(start):
            # `over a year old` is what `older than a year` is.
            said = "older" if self.cursor.low(end - 1) == "old" else self.cursor.low(start)
            so = self._measure(kind, bounds, said)
            if so is not None and self.cursor.low(end) != "ago":
                yield so, end
        for op, begin in self.cursor.comparison(start):
            for limit, end in self.amount_field(begin, None):  # younger than the event's min_age
                yield m.Measure(kind, op, limit), end

    def _measure(self, kind: str, bounds: tuple[tuple[m.Op, Quantity], ...], said: str) -> m.Condition | None:
        known = self.words.lexicon.kinds[kind]
        unit = bounds[0][1].unit
        if (bounds[0][1].duration is not None and unit != "year") or (
            unit == "year" and ("age",) not in known.fields
        ):
            spans = [(op, one.duration) for op, one in bounds]
            if said not in _LONG:
                return None
            aged = [path for path in known.fields if "age" in words_of(path[-1])]
            if said in ("older", "younger") and len(aged) == 1:  # age_years, which counts nothing else
                is_in = unit in map(singular, words_of(aged[0][-1]))
                return self._within(self.words.named(kind, aged[0]), aged[0], kind, bounds) if is_in else None
            by_unit = self.words.field_of(kind, [f"{unit}s"])
            if by_unit is not None and said not in ("older", "younger"):
                return self._within(self.words.named(kind, by_unit), by_unit, kind, bounds)
            if said not in ("older", "younger"):
                return self._lasting(unit, bounds)
            born = self.words.dates_of(kind, ["birth"]) if unit == "year" else []
            if kind in self.words.folk and unit == "year" and len(born) != 1:
                return None  # how long a person has been kept on record is not how old they are
            birth = self.words.named(kind, born[0]) if born else None
            if birth is not None:
                return m.both(*(m.Age(birth, op, span, kind) for op, span in spans if span is not None))
            parts = tuple(m.Age(None, op, span, kind) for op, span in spans if span is not None)
            return parts[0] if len(parts) == 1 else m.All(parts)
        by_unit = (
            self.words.field_of(kind, [unit]) if unit and unit not in ("euro", "dollar", "year") else None
        )
        if by_unit is not None and "number" in known.fields[by_unit].kinds:
            return self._within(self.words.named(kind, by_unit), by_unit, kind, bounds)
        if ("age",) in known.fields and unit in ("", "year"):  # members under 18
            return self._within(self.words.named(kind, ("age",)), ("age",), kind, bounds)
        return m.both(*(m.Measure(kind, op, self.literal(one)) for op, one in bounds))

    def lasting(self, bounds: tuple[tuple[m.Op, Quantity], ...]) -> m.Condition | None:
        unit = next((one.unit for _, one in bounds if one.unit), "")
        return (
            self._lasting(unit, bounds)
            if unit and bounds[0][1].unit in ("", unit) and unit != "time"
            else None
        )

    def in_units(self, bounds: tuple[tuple[m.Op, Quantity], ...], at: int) -> m.Condition | None:
        """`14 nights`: how many is what the call says under the unit's name."""
        said = self.cursor.words(at, at + 1)
        tools = [tool for tool in self.words.lexicon.tools.values() if not tool.reads]
        if not said or bounds[0][1].unit or not any(said[0] in tool.arguments for tool in tools):
            return None
        name = m.Field(said[0], None, True)
        return m.both(*(m.Compare(name, op, self.literal(one)) for op, one in bounds))

    def _lasting(self, unit: str, bounds: tuple[tuple[m.Op, Quantity], ...]) -> m.Condition | None:
        """How long it is for is what the call says under the unit's name: `hours`, `duration_minutes`."""
        tools = [tool for tool in self.words.lexicon.tools.values() if not tool.reads]
        named = dict.fromkeys(name for tool in tools for name in tool.arguments if _is_counted_in(name, unit))
        exact = [name for name in named if name in (unit, f"{unit}s")]
        found = exact or [*named]
        if len(found) != 1:
            return None
        field = m.Field(found[0], None, True)
        return m.both(*(m.Compare(field, op, self.literal(one)) for op, one in bounds))

    def amount_field(self, at: int, near: str | None = None) -> Iterator[tuple[m.Field, int]]:
        for name, end in self._amount_field(at, near):
            yield name, end
            if (left := self._left(end)) > end:  # the student's lessons left
                yield name, left

    def _amount_field(self, at: int, near: str | None = None) -> Iterator[tuple[m.Field, int]]:
        """`the vehicle's recorded mileage`, `its max_seats`, `the price of the listing`, `order.total`."""
        token = self.token(at)
        if token is not None and "." in token.text and token.kind is TokenKind.NAME:
            head, _, rest = token.text.partition(".")
            owner_kind = self.words.lexicon.kind_of(head)
            path = self.words.field_of(owner_kind, [rest]) if owner_kind else None
            if owner_kind and path is not None:
                yield self.words.named(owner_kind, path), at + 1
        if self.cursor.low(at) in _OWNED and near:
            for name, _, end in self._own_field(near, at + 1):
                yield name, end
        plain = self.cursor.past(at, ARTICLES)
        for start in dict.fromkeys((plain, self.cursor.past(plain, word_set("total current recorded")))):
            yield from self._named_amount(start, near)

    def _named_amount(self, start: int, near: str | None) -> Iterator[tuple[m.Field, int]]:
        for owner, end in self._bare_thing(start):
            after = end + (self.cursor.low(end) == "'s")
            for name, _, last in self._own_field(
                owner, self.cursor.past(after, word_set("current recorded"))
            ):
                yield name, last
        for length in range(LONGEST_NAME, 0, -1):
            said = self.cursor.words(start, start + length)
            if len(said) != length:
                continue
            yield from self._field_anywhere(said, start + length, near)

    def _field_anywhere(self, said: list[str], end: int, near: str | None) -> Iterator[tuple[m.Field, int]]:
        if self.cursor.low(end) in ("of", "on"):
            for owner, after in self._bare_thing(self.cursor.past(end + 1, ARTICLES)):
                path = self.words.field_of(owner, said)
                if path is not None:
                    yield self.words.named(owner, path), after
        if near and (path := self.words.field_of(near, said)) is not None:
            yield self.words.named(near, path), end
        homes = [
            (kind.name, path)
            for kind in self.words.lexicon.kinds.values()
            if kind.fields and (path := self.words.field_of(kind.name, said)) is not None
        ]
        if len(homes) == 1:
            yield self.words.named(*homes[0]), end

    def kinds_at(self, at: int) -> Iterator[tuple[str, int]]:
        yield from self._bare_thing(at)

    def kinds_at_once(self, at: int, to: int) -> bool:
        """Whether the words between two places name a thing."""
        start = self.cursor.past(at, ARTICLES)
        return any(end == to for _, end in self._bare_thing(start))

    def _bare_thing(self, at: int) -> Iterator[tuple[str, int]]:
        for length in (3, 2, 1):
            said = self.cursor.words(at, at + length)
            for kind in self.words.kinds_named(said) if len(said) == length else ():
                yield kind, at + length

    def token(self, at: int) -> Token | None:
        return self.cursor.tokens[at] if at < self.cursor.end else None

    def is_name(self, at: int) -> bool:
        token = self.token(at)
        return token is not None and token.kind is TokenKind.NAME


def _is_counted_in(name: str, unit: str) -> bool:
    last = singular(words_of(name)[-1])
    return last in (unit, _UNIT_NAMES.get(unit, unit))


_UNIT_NAMES = {
    "metre": "m",
    "meter": "m",
    "kilometre": "km",
    "kilometer": "km",
    "kilogram": "kg",
    "minute": "min",
}
