"""Conditions: what is said of a thing, of a field, or of an argument, and how such statements are joined."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader import times
from pipelines.core.simulation.behavior.reader.cursor import Cursor
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.thing import Thing, without_state
from pipelines.core.simulation.behavior.reader.vocabulary import ANYBODY, key_of, number_of
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind
from pipelines.core.simulation.behavior.words import OWNERS

_DET = word_set("a an the any some its their every each")
_IT = word_set("it they he she them this")
_PARTICIPLES = (
    "given passed set specified provided supplied stated named present chosen requested sent included"
)
GIVEN = tuple(f"{be} {word}" for be in ("is", "was", "are") for word in _PARTICIPLES.split())
MISSING = tuple(
    f"{be} {word}"
    for be in ("is", "are")
    for word in ("missing", "omitted", "absent", "empty", "blank", "left out", "left blank", "left empty")
) + tuple(f"{be} not {word}" for be in ("is", "was", "are") for word in _PARTICIPLES.split())
_CALLER = word_set("caller requester requestor customer user buyer client member them")
_SAME = ("matches", "match", "equals", "equal", "must match", "is the same as", "is equal to")


@dataclass(kw_only=True)
class Conditions:
    phrases: Phrases
    #: Tools that the sentence is about, once known: their arguments are meant first.
    tools: list[ToolWords] = field(default_factory=list)

    @property
    def cursor(self) -> Cursor:
        return self.phrases.cursor

    def read(self, at: int, kinds: Sequence[str]) -> Iterator[tuple[m.Condition, Thing | None, int]]:
        """Statements joined by and, or; each with the thing it is about, where it names one."""
        for so, thing, end in self._one(at, kinds):
            for word, joined in (("and", m.All), ("or", m.Any_)):
                start = self.cursor.after(end, f", {word}", word)
                if start is None:
                    continue
                near = [*([thing.kind] if thing else []), *kinds]
                for other, _, last in self.read(start, near):
                    yield joined((so, other)), thing, last
            yield so, thing, end

    def _one(self, at: int, kinds: Sequence[str]) -> Iterator[tuple[m.Condition, Thing | None, int]]:
        cursor = self.cursor
        yield from ((so, None, end) for so, end in self._matching(at))
        if cursor.low(at) in _IT or cursor.low(at) in ANYBODY:
            for kind in kinds:
                for so, end in self.phrases.predicate(kind, at + 1):
                    yield so, None, end
        for kind in kinds:  # `while active`, `if not yet delivered`
            for so, end in self.phrases.states(kind, at):
                yield so, None, end
        for thing, end in self.phrases.thing(at):
            for so, last in self._of_thing(thing, end):
                if thing.is_other and isinstance(so, m.Counted) and not thing.so:
                    so = replace(so, are_others=True)
                elif thing.is_other:
                    continue  # of which other one is not said
                whole = m.both(*thing.so, so)
                if whole is not None and not thing.bounds:
                    yield (m.negated(whole) if thing.is_none else whole), without_state(thing), last
        yield from ((so, None, end) for so, end in self.of_argument(at))
        yield from ((so, None, end) for so, end in self._of_field(at, kinds))
        yield from ((so, None, end) for so, end in self._given(at))
        yield from ((so, None, end) for so, end in self._it_is_who(at))
        yield from ((so, None, end) for so, end in self._set_phrases(at, kinds))

    def _of_thing(self, thing: Thing, at: int) -> Iterator[tuple[m.Condition, int]]:
        if not thing.kind:
            return
        yield from self.phrases.predicate(thing.kind, at)
        cursor = self.cursor
        if cursor.after(at, "exists") is not None:
            yield m.Exists(thing.kind), at + 1
        if (
            end := cursor.after(at, "does not exist", "do not exist", "is unknown", "is not found")
        ) is not None:
            yield m.Not(m.Exists(thing.kind)), end
        for said, is_not in ((("belongs to", "belong to"), False), (("does not belong to",), True)):
            start = cursor.after(at, *said)
            begin = cursor.past(start, _DET) if start is not None else at
            if start is not None and cursor.low(begin) in _CALLER:
                owned = m.Owns(thing.kind)
                yield (m.negated(owned) if is_not else owned), begin + 1
            for name, end in self.arguments(begin) if start is not None and self.tools else ():
                last = cursor.after(end, "given in the call", "in the call", "given", "passed") or end
                owned = m.Owns(thing.kind, name)
                yield (m.negated(owned) if is_not else owned), last

    def _of_field(self, at: int, kinds: Sequence[str]) -> Iterator[tuple[m.Condition, int]]:
        for name, end in self.phrases.amount_field(at, kinds[0] if kinds else None):
            path = self.phrases.words.field_of(name.owner, [name.name]) if name.owner else None
            if name.owner and path is not None:
                yield from self.phrases.valued(name.owner, path, end)
                begin = self.cursor.past(end, word_set("is are"))
                for kind in kinds:
                    yield from self.among(name, begin, kind)
                about = self.phrases.words.lexicon.kinds[name.owner].fields.get(path)
                is_switch = about is not None and "boolean" in about.kinds
                there = m.Compare(name, "==", m.Literal_(True)) if is_switch else m.Present(name)
                if (after := self.cursor.after(end, *MISSING)) is not None:
                    yield m.Not(there), after
                if (after := self.cursor.after(end, *GIVEN, "is on file", "are on file")) is not None:
                    yield there, after

    def _set_phrases(self, at: int, kinds: Sequence[str]) -> Iterator[tuple[m.Condition, int]]:
        """`there is not enough stock`, `more than 90 days have passed since shipped_at`."""
        cursor = self.cursor
        token = self.phrases.token(at)
        known = kinds[0] if kinds else ""
        if token is not None and known and "_" in token.text and token.text not in self._all_arguments():
            field = m.Field(token.text, known)  # that no record has it is found when the rule is tried
            if (after := cursor.after(at + 1, *MISSING)) is not None:
                yield m.Not(m.Present(field)), after
            if (after := cursor.after(at + 1, *GIVEN)) is not None:
                yield m.Present(field), after
        there = cursor.after(at, "there is", "there are", "there remain", "there remains")
        for kind in kinds:
            if there is None:
                break
            for so, end in (*self.phrases.having(kind, there), *self.phrases.linked_records(kind, there)):
                yield so, self.phrases.of_it(kind, end)
        short = cursor.after(at, "there is not enough", "there are not enough", "there is insufficient")
        if short is not None:
            for name, end in self.phrases.amount_field(short, None):
                yield m.Compare(name, "<", m.Field("quantity", None, True)), end
        for bounds, end in cursor.bounds(at):
            (op, span), *rest = bounds
            passed = cursor.after(end, "have passed since", "has passed since", "have elapsed since")
            if not rest and span.duration is not None and passed is not None:
                for moment, last in times.event(self.phrases, passed, kinds):
                    yield m.Age(moment, op, span.duration), last

    def _all_arguments(self) -> set[str]:
        return {name for tool in self.phrases.words.lexicon.tools.values() for name in tool.arguments}

    def _matching(self, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`user_id matches order.user_id`: what the caller says of himself against what the record says."""
        left, right = self.phrases.token(at), None
        start = self.cursor.after(at + 1, *_SAME)
        right = self.phrases.token(start) if start is not None else None
        if start is None or left is None or right is None or "." not in right.text or "." in left.text:
            return
        owner, _, name = right.text.rpartition(".")
        if self.phrases.words.lexicon.kind_of(owner) is None:
            return
        if name in OWNERS:
            yield m.Owns(None, left.text, right.text), start + 1
        else:
            yield m.Compare(m.Field(left.text, None, True), "==", m.Field(right.text)), start + 1

    # -- arguments

    def arguments(self, at: int) -> Iterator[tuple[str, int]]:
        """An argument of the tools spoken of, else of some tool that changes something, by its name."""
        start = self.cursor.past(at, _DET | {"requested", "given"})
        start = self.cursor.after(start, "number of") or start
        lexicon = self.phrases.words.lexicon
        tools = self.tools or [tool for tool in lexicon.tools.values() if not tool.reads]
        for length in (3, 2, 1):
            said = self.cursor.words(start, start + length)
            if len(said) != length:
                continue
            for tool in tools:
                name = self.phrases.words.argument_of(tool, said)
                if name is not None:
                    yield name, start + length
                    return

    def given(self, at: int) -> Iterator[tuple[m.Condition, int]]:
        """An argument that has to be there: `a reason`, `approved_by`."""
        for name, end in self.arguments(at):
            yield m.Present(m.Field(name, None, True)), end

    def _given(self, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`no reason is given`, `approved_by is set`, `a reason is missing`."""
        is_none = self.cursor.low(at) in ("no", "nobody")
        for given, end in self.given(at + (self.cursor.low(at) == "no")):
            if (after := self.cursor.after(end, *GIVEN)) is not None:
                yield (m.negated(given) if is_none else given), after
            if not is_none and (after := self.cursor.after(end, *MISSING)) is not None:
                yield m.negated(given), after

    def _it_is_who(self, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`it is the tutor who cancels`, where the call says which of them does."""
        start = self.cursor.after(at, "it is the", "it is a", "it is an")
        said = self.cursor.words(start, start + 1) if start is not None else []
        deeds = self.phrases.words.deeds_of(self.cursor.low(start + 2)) if start is not None else ()
        if not said or start is None or self.cursor.low(start + 1) not in ("who", "that") or not deeds:
            return
        tools = [self.phrases.words.lexicon.tools[deed.tool.lower()] for deed in deeds]
        named = {name for tool in tools for name in tool.arguments if singular(said[0]) in tool.choices(name)}
        if len(named) == 1:
            yield m.OneOf(m.Field(named.pop(), None, True), (singular(said[0]),)), start + 3

    def of_argument(self, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`quantity exceeds the product's stock`, `the amount is over 8`, `reason is one of …`."""
        for name, end in self.arguments(at) if self.tools else ():
            own = self.phrases.words.lexicon.kinds.get(self.tools[0].kind or "")
            if own is not None and own.status is not None and own.status[-1] == name:
                continue  # the record's own status is meant
            start = self.cursor.past(end, word_set("is are"))
            is_not = self.cursor.low(start) == "not"
            for so, last in self.asked_of(m.Field(name, None, True), start + is_not, self.tools):
                yield (m.negated(so) if is_not else so), last

    def asked_of(
        self, name: m.Field, at: int, tools: Sequence[ToolWords]
    ) -> Iterator[tuple[m.Condition, int]]:
        """What an argument is: at least 1, positive, in the future, after another one, one of these."""
        cursor = self.cursor
        start = cursor.past(at, _LYING)
        start = cursor.after(start, *_NUMBERS) or start
        is_whole = bool({"whole", "integer"} & set(cursor.lows[at:start]))
        for bounds, end in cursor.bounds(start):
            if bounds[0][1].duration is None:
                is_text = bounds[-1][1].unit == "character"
                measured = m.Sum("length", (name,)) if is_text else name
                parts = tuple(m.Compare(measured, op, self.phrases.literal(one)) for op, one in bounds)
                parts += (m.Compare(m.Sum("%", (name, m.Literal_(1))), "==", m.Literal_(0)),) * is_whole
                last = cursor.after(end, *_INCLUSIVE) or end
                if not is_text or name.is_argument:
                    yield (parts[0] if len(parts) == 1 else m.All(parts)), last
            span = bounds[0][1].duration
            ahead = cursor.after(end, "from today", "from now", "from the run date", "in the future", "ahead",
                                 "in advance", "away")  # fmt: skip
            if span is not None and ahead is not None and len(bounds) == 1:
                yield m.Age(name, bounds[0][0], span, None, True), ahead
            elif span is not None and len(bounds) == 1 and cursor.low(end) in ("after", "before"):
                for other, last in self._moments(end + 1, tools, name):
                    yield m.Age(name, bounds[0][0], span, None, cursor.low(end) == "after", other), last
            elif span is not None and f"{span.unit}s" in words_of(name.name):  # duration_minutes
                counted = m.both(*(m.Compare(name, op, self.phrases.literal(one)) for op, one in bounds))
                if counted is not None:
                    yield counted, end
        for word, op in _SIGNS:
            signed = cursor.after(start, word)
            if signed is not None:
                yield m.Compare(name, op, m.Literal_(0)), signed
        when = cursor.after(
            start, "in the future", "in the past", "a date in the future", "a date in the past"
        )
        if when is not None:
            yield m.Compare(name, ">" if cursor.low(when - 1) == "future" else "<", m.Now()), when
        if cursor.low(start) in ("true", "false"):
            yield m.Compare(name, "==", m.Literal_(cursor.low(start) == "true")), start + 1
        yield from self._against(name, start, tools)
        for word, op in _DIFFERING:
            begin = cursor.after(start, word)
            for other, end in self._other(begin, tools, name) if begin is not None else ():
                yield m.Compare(name, op, other), end
        begin = cursor.after(start, "start with", "begin with", "starts with", "begins with")
        token = self.phrases.token(begin) if begin is not None else None
        if token is not None and begin is not None:
            yield m.StartsWith(name, token.text), begin + 1
        yield from self.among(name, start, tools[0].kind if tools else None)
        for values, end in self.values(start, tools, name.name):
            yield m.OneOf(name, values), end

    def among(self, name: m.Field, at: int, near: str | None) -> Iterator[tuple[m.Condition, int]]:
        """`one of the tutor's subjects`, `among their skills`."""
        start = self.cursor.after(at, "one of", "among", "in", "listed in", "included in", "part of")
        for listed, end in self.phrases.amount_field(start, near) if start is not None else ():
            kind = self.phrases.words.lexicon.kinds.get(listed.owner or "")
            path = self.phrases.words.field_of(listed.owner or "", [listed.name])
            if kind is not None and path is not None and kind.fields[path].keeps == "list":
                yield m.Among(name, listed), end

    def _taken(self, tool: ToolWords, name: str) -> list[str]:
        """Texts that an argument may be: those of its schema, and of the field it is kept in."""
        kind = self.phrases.words.lexicon.kinds.get(tool.makes or tool.kind or "")
        field = kind.fields.get((name,)) if kind is not None else None
        seen = [value for value in field.values if isinstance(value, str)] if field is not None else []
        return [*tool.choices(name), *seen]

    def values(
        self, at: int, tools: Sequence[ToolWords], name: str
    ) -> Iterator[tuple[tuple[m.Value, ...], int]]:
        """`one of 'a', 'b' or c`: quoted, or such as the argument takes."""
        start = self.cursor.after(at, "one of :", "one of", "any of", "either") or at
        is_listed = start > at and not any(tool.choices(name) for tool in tools)
        known = {key_of([value]): value for tool in tools for value in self._taken(tool, name)}
        found: list[m.Value] = []
        while True:
            token = self.phrases.token(start)
            if token is None:
                break
            spelled = known.get(key_of([token.low]))
            is_one = is_listed and token.kind is TokenKind.WORD and token.text.isupper()  # one of A, B or C
            if is_one or token.kind is TokenKind.TEXT:
                found.append(token.text)
            elif token.kind is TokenKind.NUMBER and token.number is not None and _is_numeric(tools, name):
                found.append(number_of(token.number))
            elif spelled is not None:
                found.append(spelled)
            else:
                break
            start += 1
            joined = self.cursor.after(start, ", or", ", and", "or", "and", ",")
            following = self.phrases.token(joined) if joined is not None else None
            if joined is None or following is None:
                break
            is_number = following.kind is TokenKind.NUMBER and _is_numeric(tools, name)
            if (
                following.kind is not TokenKind.TEXT
                and key_of([following.low]) not in known
                and not is_number
            ):
                break
            start = joined
        if len(found) > 1 or (found and not isinstance(found[0], (int, float))):
            unit = self.cursor.words(start, start + 1)
            yield tuple(found), start + (bool(unit) and unit[0] in words_of(name))

    def _against(
        self, name: m.Field, at: int, tools: Sequence[ToolWords]
    ) -> Iterator[tuple[m.Condition, int]]:
        cursor = self.cursor
        ways = [*_WAYS, *((" ".join(cursor.lows[at:start]), op) for op, start in cursor.comparison(at))]
        for said, op in ways:
            start = cursor.after(at, said)
            if start is None:
                continue
            quantity = cursor.quantity(start) if said in ("exceed", "exceeds") else None
            if quantity is not None:
                yield m.Compare(name, ">", self.phrases.literal(quantity[0])), quantity[1]
            for other, end in self._other(start, tools, name):
                yield m.Compare(name, op, other), end

    def _other(self, at: int, tools: Sequence[ToolWords], name: m.Field) -> Iterator[tuple[m.Field, int]]:
        cursor = self.cursor
        start = cursor.past(at, _DET)
        for length in (2, 1):
            said = cursor.words(start, start + length)
            for other in tools[0].arguments if tools and len(said) == length else ():
                if key_of([other]) == key_of(said) and other != name.name:
                    yield m.Field(other, None, True), start + length
        yield from self.phrases.amount_field(at, tools[0].kind if tools else None)

    def _moments(self, at: int, tools: Sequence[ToolWords], name: m.Field) -> Iterator[tuple[m.Field, int]]:
        yield from (one for one in self._other(at, tools, name) if one[0].is_argument)
        yield from self.phrases.moment(at, tools[0].kind if tools else None)


def _is_numeric(tools: Sequence[ToolWords], name: str) -> bool:
    return any(tool.arguments.get(name, {}).get("type") in ("integer", "number") for tool in tools)


_LYING = word_set(
    "be come lie lies fall set kept stay remain have has contain contains range ranges run runs "
    "go goes need needs"
)
_NUMBERS = tuple(
    f"{a} {kind}" for a in ("a whole", "a", "an", "any") for kind in ("number", "value", "integer", "amount")
)
_INCLUSIVE = (
    ", both included",
    ", included",
    ", inclusive",
    "inclusive",
    "long",
    "in length",
    ", both inclusive",
)
_DIFFERING: tuple[tuple[str, m.Op], ...] = (
    ("differ from", "!="), ("different from", "!="), ("the same as", "=="), ("equal",
    "=="), ("identical to", "=="),
)  # fmt: skip
_SIGNS: tuple[tuple[str, m.Op], ...] = (
    ("positive", ">"), ("negative", "<"), ("zero", "=="), ("above zero", ">"), ("below zero", "<"),
)  # fmt: skip
_WAYS: tuple[tuple[str, m.Op], ...] = (
    ("after", ">"), ("later than", ">"), ("before", "<"), ("earlier than", "<"), ("exceed", ">"),
    ("exceeds", ">"),
)  # fmt: skip
