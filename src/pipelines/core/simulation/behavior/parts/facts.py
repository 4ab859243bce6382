"""What a statement says is so: states, numbers, moments, what is given, whose it is; each with its place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import NEUTRAL, Cue
from pipelines.core.simulation.behavior.parts.spans import MEASURED, Span
from pipelines.core.simulation.behavior.parts.statement import Statement, tokens_of
from pipelines.core.simulation.behavior.reader import times
from pipelines.core.simulation.behavior.reader.cursor import Quantity
from pipelines.core.simulation.behavior.reader.vocabulary import number_of
from pipelines.core.simulation.behavior.things import UNITS, Path, ToolWords, is_date

_JOINS = frozenset(
    ("or", "and", "nor", ",", "either", "neither", "be", "is", "are", "been", "has", "have", "the", "a")
)
_BEFORE = ("before", "prior to", "ahead of", "in advance of")
_AFTER = ("after", "since", "following", "of", "from", "past")
_AHEAD = ("ahead", "in advance", "in the future", "from now", "from today", "away")
_LEFT = word_set("left remaining available free open")
_TRAILING: tuple[tuple[str, m.Op], ...] = (
    ("at most", "<="), ("at the most", "<="), ("at the very most", "<="), ("maximum", "<="),
    ("or fewer", "<="), ("at least", ">="), ("at the least", ">="), ("minimum", ">="),
    ("or more", ">="), ("at the latest", "<="),
)  # fmt: skip
_STARTING = word_set("start starts from begin begins check_in in pickup departure first")
_MONEY = word_set("euro dollar pound eur usd gbp cent")


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A condition, where its words stand, and the kind of thing it is of ("" for what is given)."""

    so: m.Condition
    start: int
    end: int
    kind: str = ""
    used: frozenset[int] = frozenset()


def facts(statement: Statement, tool: ToolWords, taken: frozenset[int]) -> list[Fact] | None:
    """All of them, or None where something that is said could be of several things."""
    reader = _Facts(statement, tool, taken)
    return reader.read()


class _Facts:
    def __init__(self, statement: Statement, tool: ToolWords, taken: frozenset[int]) -> None:
        self.statement, self.tool = statement, tool
        self.words, self.cursor = statement.words, statement.cursor
        self.used: set[int] = set(taken)
        self.found: list[Fact] = []
        self.measured: tuple[m.Field | None, str, frozenset[int]] | None = None

    def read(self) -> list[Fact] | None:
        for reader in (
            self._owners,
            self._doers,
            self._counted,
            self._times,
            self._compared,
            self._listed,
            self._states,
            self._given,
            self._had,
        ):
            for fact in reader():
                self.found.append(fact)
                self.used |= fact.used
        found = _joined(sorted(self.found, key=lambda one: one.start), self.statement)
        return None if _contradict(found) else found

    def _is_free(self, span: Span) -> bool:
        return not any(place in self.used for place in range(span.start, span.end))

    # -- which thing

    def _kind_of(self, span: Span, kinds: Sequence[str]) -> str | None:
        """Of several kinds that have such a state or field the one that is spoken of, else what the tool is
        about, else the one it reaches."""
        kinds = [*dict.fromkeys(kinds)]
        near = [
            kind
            for one in sorted(self.statement.spans, key=lambda one: abs(one.start - span.start))
            if one is not span
            for kind in one.kinds
        ]
        for kind in near:
            if kind in kinds and self.statement.reaches(self.tool, kind):
                return kind
        own = [kind for kind in (self.tool.makes, self.tool.kind) if kind in kinds]
        if own:
            return own[0]
        reached = [kind for kind in kinds if self.statement.reaches(self.tool, kind)]
        return reached[0] if len(reached) == 1 else None

    def _is_denied(self, span: Span) -> tuple[bool, frozenset[int]]:
        """Whether `not`, `never` or `no longer` stands right before it, and where."""
        for one in self.statement.before_span(span):
            if one.has(Cue.NOT):
                return True, tokens_of([one])
            if not (set(one.words) <= _JOINS | {"in", "on", "an", "yet", "it", "they"}) or "and" in one.words:
                break
        return False, frozenset()

    # -- states

    def _states(self) -> Iterator[Fact]:
        for span in self.statement.spans:
            if not span.states or not self._is_free(span):
                continue
            kind = self._kind_of(span, [kind for kind, _ in span.states])
            if kind is None or (span.kinds and not self._is_used_as_state(span)):
                continue
            so = next(so for of, so in span.states if of == kind)
            if isinstance(so, m.OneOf) and self._is_yet_to_be(kind) and so.field.name in self.tool.arguments:
                so = m.OneOf(m.Field(so.field.name, None, True), so.values)
            denied, places = self._is_denied(span)
            named = self._its_field(span, so)
            yield Fact(
                so=m.negated(so) if denied else so,
                start=span.start,
                end=span.end,
                kind=kind,
                used=tokens_of([span]) | places | named,
            )

    def _is_yet_to_be(self, kind: str) -> bool:
        """Whether the call makes such a thing, so that all that is known of it is what the call gives."""
        is_found = self.words.lexicon.id_argument(self.tool, kind) is not None
        return kind in (self.tool.makes, self.tool.kind) and not is_found

    def _is_used_as_state(self, span: Span) -> bool:
        following = next((one for one in self.statement.spans if one.start >= span.end), None)
        return following is not None and bool(following.kinds)

    def _its_field(self, span: Span, so: m.Condition) -> frozenset[int]:
        """`status missing`, `at the intake stage`: the field's own name beside its value."""
        name = (
            so.field.name
            if isinstance(so, m.OneOf)
            else so.left.name
            if isinstance(so, m.Compare) and isinstance(so.left, m.Field)
            else ""
        )
        own = {singular(word) for word in words_of(name)} | {"status", "state", "stage"}
        found: set[int] = set()
        for place in (*range(span.start - 1, max(-1, span.start - 4), -1),):
            if singular(self.cursor.low(place)) in own:
                found.add(place)
        for place in range(span.end, span.end + 2):
            if singular(self.cursor.low(place)) in own:
                found.add(place)
        return frozenset(found)

    # -- numbers

    def _compared(self) -> Iterator[Fact]:
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
            left = self._counted_in(end, unit) if is_signed else self._measured(at, end, unit)
            left = left or self.measured  # minimum 1, maximum 10
            if left is None:
                return None
            self.measured = left
            name, kind, used = left
            said = tuple(
                m.Measure(kind, op, self._literal(one))
                if name is None
                else m.Compare(name, op, self._literal(one))
                for op, one in parts
            )
            so = said[0] if len(said) == 1 else m.All(said)
            return self._fact(so, at, end, kind, used)
        equal = self._equal_at(at)
        if equal is not None:
            return equal
        for op, start in self._comparisons(at):
            of = self._amount_of(start)
            if of is not None:
                name, amount, end, kind = of
                return self._fact(m.Compare(name, op, amount), at, end, kind, frozenset())
            right = self._field_after(start)
            left = self._measured(at, start, "") if right is not None else None
            if left is not None and right is not None:
                name, kind, used = left
                told: m.Condition = m.Measure(kind, op, right[0])
                if name is not None:
                    told = m.Compare(name, op, right[0])
                return self._fact(told, at, right[1], kind, used)
        return None

    def _amount_of(self, at: int) -> tuple[m.Field, m.Amount, int, str] | None:
        """`under the age of 23`, `above a value of 500`: the field stands between."""
        span = next(
            (
                one
                for one in self.statement.spans
                if one.start in (at, at + 1) and (one.fields or one.arguments)
            ),
            None,
        )
        if span is None or self.cursor.low(span.end) != "of" or not self._is_free(span):
            return None
        number = self.cursor.quantity(span.end + 1)
        found = self._number_named(span, number[0].unit) if number is not None else None
        return (
            (found[0], self._literal(number[0]), number[1], found[1])
            if found is not None and number is not None
            else None
        )

    def _equal_at(self, at: int) -> Fact | None:
        """`tier 1 services`, `severity 1 and 2 incidents`: a field, and the numbers it is."""
        span = next(
            (one for one in self.statement.spans if one.start == at and one.fields and self._is_free(one)),
            None,
        )
        found = self._number_named(span, "") if span is not None else None
        if span is None or found is None:
            return None
        values: list[m.Value] = []
        end = span.end
        while (number := self.cursor.number(end if not values else end + 1)) is not None:
            if values and self.cursor.low(end) not in ("and", "or", ","):
                break
            values.append(number_of(number[0]))
            end = number[1]
        if not values or self.cursor.quantity(end - 1) is None or self.cursor.quantity(end - 1)[0].unit:  # type: ignore[index]
            return None
        return Fact(
            so=m.OneOf(found[0], tuple(values)),
            start=at,
            end=end,
            kind=found[1],
            used=frozenset(range(at, end)),
        )

    def _bounds(self, at: int) -> Iterator[tuple[tuple[tuple[m.Op, Quantity], ...], int]]:
        cursor = self.cursor
        low = cursor.quantity(at + 1) if cursor.low(at) == "from" else cursor.quantity(at)
        start = low[1] if low is not None else at
        to = cursor.after(start, "up to", "to", "and", "-") if low is not None else None
        high = cursor.quantity(to) if to is not None else None
        if low is not None and high is not None and cursor.low(at) in ("from", "between"):
            yield ((">=", low[0]), ("<=", high[0])), high[1]
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

    def _literal(self, one: Quantity) -> m.Amount:
        if one.is_percent:
            return m.Percent(one.number / 100)
        return m.Literal_(number_of(one.number))

    def _fact(self, so: m.Condition, at: int, end: int, kind: str, used: frozenset[int]) -> Fact:
        denied = self.cursor.low(at - 1) in ("not", "never") and self.cursor.low(at - 2) not in (
            "can", "may", "must", "shall", "should", "could", "will", "would", "do", "does"
        )  # fmt: skip
        places = frozenset(range(at - denied, end)) | used
        return Fact(so=m.negated(so) if denied else so, start=at, end=end, kind=kind, used=places)

    def _measured(self, at: int, end: int, unit: str) -> tuple[m.Field | None, str, frozenset[int]] | None:
        """What a number is of: the field or argument that is named before it, then after it, then the one
        that is counted so."""
        free = [
            span for span in self.statement.spans if self._is_free(span) and (span.fields or span.arguments)
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
            kind = self._kind_of(head, head.kinds) or head.kinds[0]
            is_done = any(deed.tool == self.tool.name for deed in head.deeds)
            if counted is None or (kind not in (self.tool.makes, self.tool.called) and not is_done):
                return None, kind, frozenset()  # claims above 10,000: what they are worth
        return counted

    def _number_named(self, span: Span, unit: str) -> tuple[m.Field, str] | None:
        for tool, name in span.arguments:
            is_said = _is_number(self.tool, name) if tool == self.tool.name else False
            if is_said and _is_counted_in(name, unit) and _says_head(name, span.words):
                return m.Field(name, None, True), ""
        kinds = [
            kind
            for kind, path in span.fields
            if self._holds_number(kind, path)
            and _is_counted_in(path[-1], unit)
            and _says_head(path[-1], span.words)
        ]
        kind = self._kind_of(span, kinds) if kinds else None
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
        numbers = [name for name in self.tool.arguments if _is_number(self.tool, name)]
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
            if span.start < at or span.start > at + 6 or not self._is_free(span):
                continue
            for tool, name in span.arguments:
                if tool == self.tool.name and not span.fields:
                    return m.Field(name, None, True), span.end
            kinds = [kind for kind, path in span.fields if self._holds_number(kind, path)]
            kind = self._kind_of(span, kinds) if kinds else None
            if kind is not None:
                path = next(path for of, path in span.fields if of == kind)
                return self.words.named(kind, path), span.end
            if not span.is_neutral and not span.kinds:
                return None
        return None

    # -- moments

    def _times(self) -> Iterator[Fact]:
        for span in self.statement.spans:
            if span.quantity is None or span.quantity.duration is None or not self._is_free(span):
                continue
            yield from self._window(span, span.quantity.duration)
        yield from self._over()

    def _window(self, span: Span, duration: m.Duration) -> Iterator[Fact]:
        cursor = self.cursor
        op, start = self._op_before(span)
        for ways, is_ahead in ((_BEFORE, True), (_AFTER, False)):
            begin = cursor.after(span.end, *ways)
            if begin is None:
                continue
            event = self._event(begin)
            if event is not None:
                turned = op
                if is_ahead and (op == "<=" and self._is_deadline(start, span.start)):
                    turned = ">="
                field, end = event
                so = m.Age(field, turned, duration, None, is_ahead)
                yield Fact(
                    so=so, start=start, end=end, kind=field.owner or "", used=frozenset(range(start, end))
                )
                return
        ahead = cursor.after(span.end, *_AHEAD)
        dates = [name for name in self.tool.arguments if _gives_moment(self.tool, name)]
        dates = dates if len(dates) < 2 else [name for name in dates if _STARTING & set(words_of(name))]
        if ahead is not None and len(dates) == 1:
            so = m.Age(m.Field(dates[0], None, True), op, duration, None, True)
            yield Fact(so=so, start=start, end=ahead, used=frozenset(range(start, ahead)))

    def _op_before(self, span: Span) -> tuple[m.Op, int]:
        cursor = self.cursor
        for length in (4, 3, 2, 1):
            at = span.start - length
            if at < 0:
                continue
            for op, end in cursor.comparison(at):
                if end == span.start:
                    return op, at
            if (
                cursor.after(
                    at,
                    "within",
                    "within the first",
                    "for",
                    "until",
                    "during the first",
                    "up until",
                    "for up to",
                    "not later than",
                    "at the latest",
                )
                == span.start
            ):
                return "<=", at
        return ">=", span.start

    def _is_deadline(self, start: int, end: int) -> bool:
        said = " ".join(self.cursor.lows[start:end])
        return said in ("until", "up to", "no later than", "up until", "not later than", "at the latest")

    def _event(self, at: int) -> tuple[m.Field, int] | None:
        start = self.cursor.past(at, frozenset(("its", "their", "the", "that")))
        own = self.words.lexicon.kinds.get(self.tool.kind or "")
        if self.cursor.low(start) in ("date", "day", "time") and own is not None and len(own.dates()) == 1:
            return self.words.named(own.name, own.dates()[0]), start + 1
        kinds = [kind for kind in (self.tool.kind, self.tool.makes) if kind]
        near = [*dict.fromkeys((*self.statement.kinds, *kinds))]
        near = [
            kind
            for kind in near
            if kind in self.words.lexicon.kinds and self.statement.reaches(self.tool, kind)
        ]
        for place in range(at, min(at + 5, self.cursor.end)):
            for field, end in times.event(self.statement.phrases, place, near):
                if field.owner is None or self.statement.reaches(self.tool, field.owner):
                    return field, end
        return None

    def _over(self) -> Iterator[Fact]:
        """`a day that has already passed`, `whose expiry date has gone by`."""
        for span in self.statement.with_cue(Cue.PAST, Cue.FUTURE):
            if not self._is_free(span):
                continue
            op: m.Op = "<" if span.has(Cue.PAST) else ">"
            denied, places = self._is_denied(span)
            near = [one for one in self.statement.before_span(span) if span.start - one.end <= 5]
            for one in near:
                dated = [
                    (kind, path)
                    for kind, path in one.fields
                    if path in self.words.lexicon.kinds[kind].dates()
                ]
                kind = self._kind_of(one, [kind for kind, _ in dated]) if dated else None
                given = [name for name in self.tool.arguments if kind and _gives_moment(self.tool, name)]
                if kind is not None and given and kind == self.tool.kind:
                    return  # whether the moment that is given or the one that is kept is meant is not clear
                if kind is not None:
                    path = next(path for of, path in dated if of == kind)
                    so = m.Compare(self.words.named(kind, path), op, m.Now())
                    used = tokens_of([span, one]) | places
                    yield Fact(
                        so=m.negated(so) if denied else so,
                        start=one.start,
                        end=span.end,
                        kind=kind,
                        used=used,
                    )
                    break
            else:
                dates = [name for name in self.tool.arguments if _gives_moment(self.tool, name)]
                around = {self.cursor.low(place) for place in range(span.start - 5, span.start)}
                if len(dates) == 1 and around & {"day", "date", "time", "moment", "slot", "in"}:
                    so = m.Compare(m.Field(dates[0], None, True), op, m.Now())
                    yield Fact(so=so, start=span.start, end=span.end, used=tokens_of([span]) | places)

    # -- what is given in the call

    def _listed(self) -> Iterator[Fact]:
        """`grade is one of A, B or C`: several values of what is given."""
        for span in self.statement.spans:
            names = [name for tool, name in span.arguments if tool == self.tool.name]
            values, end, used = (
                self._values(span, names[0]) if names and self._is_free(span) else ((), 0, frozenset())
            )
            if len(values) < 2 and names and self._is_free(span) and not _is_number(self.tool, names[0]):
                values, end, used = self._named_values(span.end)
            if len(values) > 1:
                field = m.Field(names[0], None, True)
                yield Fact(
                    so=m.OneOf(field, values), start=span.start, end=end, used=tokens_of([span]) | used
                )

    def _named_values(self, at: int) -> tuple[tuple[m.Value, ...], int, frozenset[int]]:
        """`is one of red, green or blue`: values that nobody has yet, as a list of single words."""
        start = self.cursor.past(
            at, frozenset(("is", "are", "be", "must", "can", "may", "have", "has", "to", ":", "="))
        )
        listed = self.cursor.after(start, "one of", "either", "any of", "one of :") or start
        found: list[m.Value] = []
        place = listed
        while place < self.cursor.end and self.cursor.tokens[place].is_word():
            if self.cursor.low(place) in NEUTRAL and not self.cursor.tokens[place].text.isupper():
                break
            found.append(self.cursor.tokens[place].text)
            joined = self.cursor.after(place + 1, ", or", ", and", "or", "and", ",")
            if joined is None:
                place += 1
                break
            place = joined
        is_list = len(found) > 2 or (len(found) == 2 and listed > start)
        return (
            (tuple(found), place, frozenset(range(at, place)))
            if is_list and start > at
            else ((), at, frozenset())
        )

    def _given(self) -> Iterator[Fact]:
        for span in self.statement.spans:
            names = [name for tool, name in span.arguments if tool == self.tool.name]
            if not names or not self._is_free(span):
                continue
            field = m.Field(names[0], None, True)
            values, end, used = self._values(span, names[0])
            switch = self._switched(span, names[0])
            if switch is not None:
                yield switch
                continue
            if values:
                yield Fact(
                    so=m.OneOf(field, values), start=span.start, end=end, used=tokens_of([span]) | used
                )
                continue
            before = next(self.statement.before_span(span), None)
            lead = [*self.statement.before_span(span)][:4]
            missing = next(
                (one for one in lead if one.has(Cue.WITHOUT) or (one.has(Cue.NONE) and one is before)), None
            )
            is_asked = any(one.has(Cue.MUST, Cue.GIVE) for one in self.statement.spans)
            if missing is not None:
                yield Fact(
                    so=m.negated(m.Present(field)),
                    start=missing.start,
                    end=span.end,
                    used=tokens_of([span, missing]),
                )
            elif is_asked and not span.kinds:
                given = frozenset(
                    place for one in self.statement.with_cue(Cue.GIVE) for place in range(one.start, one.end)
                )
                yield Fact(
                    so=m.Present(field), start=span.start, end=span.end, used=tokens_of([span]) | given
                )

    def _switched(self, span: Span, name: str) -> Fact | None:
        """`with pets set to true`."""
        if self.tool.arguments[name].get("type") != "boolean":
            return None
        for place in range(span.end, min(span.end + 4, self.cursor.end)):
            if self.cursor.low(place) in ("true", "false"):
                so = m.Compare(m.Field(name, None, True), "==", m.Literal_(self.cursor.low(place) == "true"))
                return Fact(
                    so=so, start=span.start, end=place + 1, used=frozenset(range(span.start, place + 1))
                )
        return None

    def _values(self, span: Span, name: str) -> tuple[tuple[m.Value, ...], int, frozenset[int]]:
        """The values that follow an argument: `graded excellent, good, fair or poor`."""
        found: list[m.Value] = []
        used: set[int] = set()
        end = span.end
        for one in self.statement.spans:
            if one.start < span.end:
                continue
            spelled = [
                value for tool, argument, value in one.choices if tool == self.tool.name and argument == name
            ]
            kept = self.words.lexicon.kinds.get(self.tool.makes or self.tool.kind or "")
            field = kept.fields.get((name,)) if kept is not None else None
            known = {
                str(value).casefold(): value
                for value in (field.values if field is not None else ())
                if isinstance(value, str)
            }
            said = " ".join(one.words)
            value: m.Value | None = (
                spelled[0]
                if spelled
                else one.text
                if one.text is not None
                else known.get(said) or known.get(said.replace(" ", "_"))
            )
            if (
                value is None
                and len(found) > 1
                and not one.stands_for_something
                and set(self.cursor.lows[end : one.start]) & {"or", "and", ","}
            ):
                value = self.cursor.tokens[one.start].text  # the last one of a list
            if value is not None:
                found.append(value)
                used |= tokens_of([one])
                end = one.end
            elif (found and not set(one.words) <= _JOINS) or one.quantity is not None or one.has(Cue.FORBID):
                break
        return tuple(found), end, frozenset(used)

    # -- what something has

    def _had(self) -> Iterator[Fact]:
        """`has no seats left`, `without a licence`, `with a deposit`."""
        for span in self.statement.spans:
            if not span.fields or not self._is_free(span) or span.kinds or span.cues:
                continue
            kind = self._kind_of(span, [kind for kind, _ in span.fields])
            lead = [*self.statement.before_span(span)][:3]
            cue = next(
                (
                    one
                    for one in lead
                    if one.has(Cue.NONE, Cue.WITHOUT) or set(one.words) & {"with", "has", "have", "having"}
                ),
                None,
            )
            if kind is None or cue is None:
                continue
            path = next(path for of, path in span.fields if of == kind)
            one = self.words.lexicon.kinds[kind].fields[path]
            name = self.words.named(kind, path)
            so: m.Condition = (
                m.Compare(name, "==", m.Literal_(True)) if "boolean" in one.kinds else m.HasSome(name)
            )
            left = frozenset(
                place for place in range(span.end, span.end + 2) if self.cursor.low(place) in _LEFT
            )
            is_none = cue.has(Cue.NONE, Cue.WITHOUT)
            yield Fact(
                so=m.negated(so) if is_none else so, start=cue.start, end=span.end, kind=kind,
                used=tokens_of([span, cue]) | left,
            )  # fmt: skip

    # -- how many others

    def _counted(self) -> Iterator[Fact]:
        """`with two or more overdue invoices`, `none of its purchases is disputed`: what refers to it."""
        for span in self.statement.spans:
            found = self._referring(span) if span.kinds and self._is_free(span) else None
            if found is None:
                continue
            kind, of = found
            near = [
                one for one in self.statement.spans if abs(one.start - span.start) <= 8 and self._is_free(one)
            ]
            states = [
                (one, so) for one in near for name, so in one.states if name == kind and one is not span
            ]
            bound = next(
                ((bounds, at, end) for at in range(max(0, span.start - 6), span.start)
                 for bounds, end in self.cursor.bounds(at) if end <= span.start),
                None,
            )  # fmt: skip
            none = next((one for one in near if one.has(Cue.NONE) and 0 <= span.start - one.end <= 3), None)
            op: m.Op = ">="
            than, used = 1, tokens_of([span, *(one for one, _ in states)])
            if bound is not None and len(bound[0]) == 1 and not bound[0][0][1].unit:
                op, than = bound[0][0][0], int(bound[0][0][1].number)
                used |= frozenset(range(bound[1], bound[2]))
            elif none is not None:
                op, than, used = "==", 0, used | tokens_of([none])
            elif not states and not any(
                set(one.words) & {"with", "has", "have", "having", "any"} for one in near
            ):
                continue
            so = m.both(*(so for _, so in states))
            yield Fact(
                so=m.Counted(of, m.Thing(kind, so), op, than),
                start=span.start,
                end=span.end,
                kind=of,
                used=used,
            )
            return

    def _referring(self, span: Span) -> tuple[str, str] | None:
        """Of which kind the records are, and to what that the call names they refer."""
        links = self.words.lexicon.links
        for kind in span.kinds:
            if (
                kind in (self.tool.kind, self.tool.makes)
                or self.words.lexicon.id_argument(self.tool, kind) is not None
            ):
                continue
            before = next((one.kinds for one in self.statement.before_span(span) if one.kinds), ())
            reached = [of for of in before or (self.tool.kind,) if of and (kind, of) in links]
            if len(reached) == 1 and self.statement.reaches(self.tool, reached[0]):
                return kind, reached[0]
        return None

    # -- whose it is

    def _doers(self) -> Iterator[Fact]:
        """`only by the cleaner it was assigned to`, `by its own instructor and by no one else`."""
        if self.tool.kind is None or not any(one.has(Cue.ONLY, Cue.OWN) for one in self.statement.spans):
            return
        for span in self.statement.spans:
            persons = [kind for kind in span.kinds if kind in self.words.folk and kind != self.tool.kind]
            lead = self.cursor.lows[max(0, span.start - 3) : span.start]
            is_doer = "by" in lead or "only" in lead or "but" in lead
            if not persons or not is_doer or not self._is_free(span):
                continue
            if any(one.states and 0 <= span.start - one.end <= 1 for one in self.statement.spans):
                continue  # active cleaners: what they are like, not who they are
            following = self.cursor.lows[span.end : span.end + 8]
            ends = next(
                (at for at, low in enumerate(following) if low in ("can", "may", ",", "and")), len(following)
            )
            of = self._belonging_to(persons[0])
            if of is None:
                continue
            so = m.Related(of, persons[0])
            end = span.end + ends
            yield Fact(so=so, start=span.start, end=span.end, used=frozenset(range(span.start, end)))
            return

    def _belonging_to(self, person: str) -> str | None:
        """The kind of thing that is there before the call and says who such a person is."""
        lexicon = self.words.lexicon
        role = lexicon.kinds.roles[person].role if person in lexicon.kinds.roles else ""
        kinds = dict.fromkeys(
            kind for kind in (self.tool.kind, *self.statement.kinds) if kind and kind != self.tool.makes
        )
        found = [
            kind for kind in kinds
            if (kind, person) in lexicon.links or (role and (role,) in lexicon.kinds[kind].fields)
        ]  # fmt: skip
        return found[0] if found else None

    def _owners(self) -> Iterator[Fact]:
        for place in range(self.cursor.end):
            if place in self.used or self.cursor.low(place) not in (
                "the",
                "by",
                "their",
                "another",
                "other",
                "someone",
                "somebody",
                "its",
                "whoever",
            ):
                continue
            for thing, end in self.statement.phrases.thing(place):
                if (
                    any(isinstance(one, (m.Owns, m.Related)) for one in _leaves(thing.so))
                    and len(thing.so) == 1
                ):
                    yield Fact(
                        so=thing.so[0], start=place, end=end, kind="", used=frozenset(range(place, end))
                    )
                    break


def _leaves(so: Sequence[m.Condition]) -> Iterator[m.Condition]:
    for one in so:
        yield one.part if isinstance(one, m.Not) else one


def _is_number(tool: ToolWords, name: str) -> bool:
    return tool.arguments[name].get("type") in ("integer", "number")


def _gives_moment(tool: ToolWords, name: str) -> bool:
    schema = tool.arguments[name]
    said = words_of(name)
    return schema.get("type") in ("string", None) and (
        schema.get("format") in ("date", "date-time")
        or bool(said and said[-1] in ("at", "on", "date", "time", "day"))
    )


_SPANS = frozenset(["second", "minute", "hour", "day", "week", "month", "year"])


_UNSAID = UNITS | word_set(
    "count number amount total qty quantity left limit value level pct year hour minute"
)


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


def _joined(found: list[Fact], statement: Statement) -> list[Fact]:
    """States side by side are alternatives: `filled, cancelled or rejected`."""
    out: list[Fact] = []
    for fact in found:
        last = out[-1] if out else None
        between = statement.cursor.lows[last.end : fact.start] if last is not None else []
        if (
            last is not None
            and last.kind == fact.kind
            and _field_of(last.so) is not None
            and _field_of(last.so) == _field_of(fact.so)
            and set(between) <= _JOINS
            and isinstance(last.so, m.Not) == isinstance(fact.so, m.Not)
        ):
            out[-1] = replace(last, so=_either(last.so, fact.so), end=fact.end, used=last.used | fact.used)
            continue
        is_either = bool({"or", "nor"} & set(between)) and all(
            low in NEUTRAL or low in (",", "nor") for low in between
        )
        if last is not None and is_either:
            out[-1] = replace(last, so=m.Any_((last.so, fact.so)), end=fact.end, used=last.used | fact.used)
            continue
        out.append(fact)
    return out


def _field_of(so: m.Condition) -> str | None:
    match so:
        case m.Not(part):
            return _field_of(part)
        case m.OneOf(field, _):
            return field.name
        case m.Any_(parts):
            return _field_of(parts[0])
    return None


def _either(one: m.Condition, other: m.Condition) -> m.Condition:
    if isinstance(one, m.Not) and isinstance(other, m.Not):
        return m.Not(_either(one.part, other.part))
    parts = (*(one.parts if isinstance(one, m.Any_) else (one,)), other)
    return m.Any_(parts)


def _contradict(found: Sequence[Fact]) -> bool:
    """Whether one field is said to be two things at once, so that one of the words was not meant for it."""
    named = [
        (fact.kind, _field_of(fact.so))
        for fact in found
        if _field_of(fact.so) and not isinstance(fact.so, m.Not)
    ]
    given = [field for fact in found for field in (argument_of(fact.so),) if field]
    return len(set(named)) < len(named) or len(set(given)) < len(given)


def argument_of(so: m.Condition) -> str | None:
    """The argument that is said to be there, or to be something."""
    match so:
        case m.Not(part):
            return argument_of(part)
        case m.Present(m.Field(name, is_argument=True)) | m.OneOf(m.Field(name, is_argument=True), _):
            return name
        case m.Compare(m.Field(name, is_argument=True), "==", m.Literal_(bool())):
            return name
    return None
