"""Rules about values: what an argument may be, what it is when not given, and how a field is worked out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.conditions import GIVEN, MISSING, Conditions
from pipelines.core.simulation.behavior.reader.guards import Guards
from pipelines.core.simulation.behavior.reader.modality import modal
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.said import Said
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.reader.vocabulary import key_of, number_of
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind

_DET = word_set("a an the its their any every each")
_UNLESS = tuple(
    f"unless {said}"
    for said in (
        "told otherwise", "stated otherwise", "otherwise specified", "otherwise stated",
        "another one is chosen", "another is chosen", "another one is given", "another one is named",
        "another is given", "a different one is given", "something else is given", "another one is requested",
        "another one is specified", "otherwise given", "otherwise requested", "one is given",
    )
)  # fmt: skip
_NONE_GIVEN = tuple(
    f"{when} {none}"
    for when in ("when", "if", "unless")
    for none in (
        "none is given", "none is supplied", "none is specified", "none is provided", "missing", "omitted",
        "not given", "it is missing", "it is left out", "it is omitted", "it is not given", "left out",
    )
)  # fmt: skip
_REQUIRED = tuple(
    f"{be} {word}"
    for be in ("is", "are", "is always", "must be", "has to be", "should be")
    for word in ("required", "mandatory", "compulsory", "provided", "given", "supplied", "stated")
    if not (be.startswith("is") and word in ("provided", "given", "supplied", "stated"))
    and not (be == "are" and word in ("provided", "given", "supplied", "stated"))
)
_STARTING = word_set(
    "start starts begin begins get gets receive receives are is come comes created opened made"
)
_JOINS = word_set("in as with on at out a an the to of into and")


@dataclass(kw_only=True)
class Values:
    guards: Guards

    @property
    def phrases(self) -> Phrases:
        return self.guards.phrases

    def read(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        yield from self._bounded(at)
        yield from self._defaults(at)
        yield from self._new_things(at)
        yield from self._unique(at)
        yield from self._given_to(at)
        yield from self._of_new(at)

    def _unique(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`E-mail addresses of leads are unique`."""
        cursor = self.phrases.cursor
        for tools, name, start in self._arguments(at):
            end = cursor.after(
                start, "are unique", "is unique", "must be unique", "has to be unique", "have to be unique"
            )
            makers = [tool for tool in tools if tool.creates]
            if end is not None and makers:
                yield (c.Guard(m.Unique(m.Field(name)), None, _who(makers)),), end

    def _given_to(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`Nobody gets a discount above 15 percent`."""
        cursor = self.phrases.cursor
        start = cursor.after(
            at, "nobody gets", "nobody may get", "no one gets", "nobody receives", "no one may get"
        )
        for tools, name, begin in self._arguments(start) if start is not None else ():
            for bounds, end in cursor.bounds(begin):
                (op, amount), *rest = bounds
                if not rest and op in (">", ">="):
                    so = m.Compare(m.Field(name, None, True), op, self.phrases.literal(amount))
                    yield (c.Guard(m.negated(so), None, _who(tools)),), end

    def _of_new(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`The price of a new lesson is 50`."""
        cursor = self.phrases.cursor
        start = cursor.past(at, _DET)
        for length in (2, 1):
            said = cursor.words(start, start + length)
            if len(said) != length or cursor.low(start + length) != "of":
                continue
            for thing, end in self.phrases.thing(start + length + 1):
                path = self.phrases.words.field_of(thing.kind, said) if thing.kind else None
                number = cursor.number(end + 1) if cursor.low(end) == "is" else None
                tools = self._makers(thing.kind)
                if (
                    thing.is_new
                    and path is not None
                    and number is not None
                    and len(tools) == 1
                    and not thing.so
                ):
                    value = m.Literal_(number_of(number[0]))
                    yield (
                        (c.Assign(self.phrases.words.named(thing.kind, path), value, None, _who(tools)),),
                        number[1],
                    )

    def _makers(self, kind: str) -> list[ToolWords]:
        lexicon = self.phrases.words.lexicon
        tools = [tool for tool in lexicon.tools.values() if tool.kind == kind and not tool.reads]
        return [tool for tool in tools if lexicon.id_argument(tool, kind) is None]

    # -- what an argument may be

    def _bounded(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`The price must be greater than zero`, `return_date must come after pickup_date`."""
        for tools, name, start in self._arguments(at):
            field = m.Field(name, None, True)
            yield from self._asked_for(tools, name, start)
            found = modal(self.phrases.cursor, start)
            conditions = Conditions(phrases=self.phrases, tools=tools)
            for need, end in conditions.asked_of(field, found.end, tools) if found is not None else ():
                is_limit = found is not None and (found.must or found.is_not or _is_limit(need))
                if found is not None and is_limit and not (found.is_not and isinstance(need, m.All)):
                    so = m.negated(need) if found.is_not else need
                    yield (c.Guard(so, None, _who(tools)),), end
            yield from self._limited(tools, field, start)
            yield from self._ranging(tools, field, start)

    def _ranging(
        self, tools: list[ToolWords], field: m.Field, at: int
    ) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`The score in submit_feedback runs from 1 to 10`."""
        cursor = self.phrases.cursor
        inside = cursor.after(at, "in", "of", "for")
        found = named_tools(self.phrases, inside) if inside is not None else None
        start, about = (found[1], [*found[0]]) if found is not None else (at, tools)
        if cursor.low(start) in ("runs", "ranges", "goes", "lies"):
            for bounds, end in cursor.bounds(start + 1):
                parts = tuple(m.Compare(field, op, self.phrases.literal(one)) for op, one in bounds)
                yield (c.Guard(parts[0] if len(parts) == 1 else m.All(parts), None, _who(about)),), end

    def _limited(
        self, tools: list[ToolWords], field: m.Field, at: int
    ) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`is limited to 2`, `never exceeds 2`, `cannot go over 2`."""
        cursor = self.phrases.cursor
        limited = cursor.after(
            at, "is limited to", "are limited to", "is capped at", "are capped at", "never exceeds",
            "can not go over", "can not go above", "must not go over", "may not go over",
        )  # fmt: skip
        found = cursor.quantity(limited) if limited is not None else None
        if found is not None:
            so = m.Compare(field, "<=", self.phrases.literal(found[0]))
            yield (c.Guard(so, None, _who(tools)),), found[1]

    def _asked_for(
        self, tools: list[ToolWords], name: str, at: int
    ) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`A reason is required for cancel_order`, `a reason must be provided when cancelling an order`."""
        cursor = self.phrases.cursor
        end = cursor.after(at, *_REQUIRED)
        if end is None:
            return
        present = m.Present(m.Field(name, None, True))
        start = cursor.after(end, "for", "when calling", "in", "by", "when", "to", "on")
        named = named_tools(self.phrases, start) if start is not None else None
        if named is not None:
            yield (c.Guard(present, None, _who(list(named[0]))),), named[1]
        for thing, last in self.phrases.thing(start) if start is not None else ():
            for said, after in self.guards.extended(Said(verbs=(thing.deeds,)), last) if thing.deeds else ():
                about = [one for one in self.guards.tools_of(said) if name in one.arguments]
                about = [one for one in about if not said.kinds or one.kind in said.kinds] or about
                if about and not said.so and not said.needed:
                    yield (c.Guard(present, None, _who(about)),), after
        yield (c.Guard(present, None, _who(tools)),), end

    def _arguments(self, at: int) -> Iterator[tuple[list[ToolWords], str, int]]:
        """An argument, by the words for it, and the tools that take it."""
        cursor = self.phrases.cursor
        start = cursor.past(at, _DET)
        start = cursor.after(start, "number of") or start
        owner = ""
        for length in (2, 1):
            said = cursor.words(start, start + length)
            kinds = self.phrases.words.kinds_named(said) if len(said) == length else ()
            if kinds and cursor.low(start + length) == "'s":
                owner, start = kinds[0], start + length + 1
                break
        for length in (3, 2, 1):
            said = cursor.words(start, start + length)
            found = list(self._taking(said)) if len(said) == length else []
            if not found:
                continue
            end = start + length
            done = cursor.words(end, end + 1)
            if done and done[0].endswith("ed") and self.phrases.words.deeds_of(done[0]):
                end += 1  # the amount claimed
            for thing, last in self.phrases.linked(end) if cursor.low(end) in ("of", "for", "on") else ():
                about = [
                    one for one in found if thing.kind and self.phrases.words.is_about(one[0], thing.kind)
                ]
                if about and not thing.so:
                    yield [tool for tool, _ in about], about[0][1], last
            about = [one for one in found if not owner or self.phrases.words.is_about(one[0], owner)]
            if about and len({name for _, name in about}) == 1:
                yield [tool for tool, _ in about], about[0][1], end
            return

    def _taking(self, said: Sequence[str]) -> Iterator[tuple[ToolWords, str]]:
        for tool in self.phrases.words.lexicon.tools.values():
            name = self.phrases.words.argument_of(tool, said)
            if tool.reads and name is not None and key_of([name]) != key_of(said):
                continue  # what only filters a list is meant where it is called by its own name
            is_spelled_so = name is not None and key_of([name]) == key_of(said)  # e-mail is email
            if name is not None and (is_spelled_so or set(words_of(name)) & set(words_of(" ".join(said)))):
                yield tool, name

    # -- what it is when it is not given

    def _defaults(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        cursor = self.phrases.cursor
        for tools, name, start in self._arguments(at):
            begin = cursor.after(start, "defaults to", "default to", "is by default")
            for value, end in self._value(tools, name, begin) if begin is not None else ():
                yield self._default(tools, name, value), end
            begin = cursor.after(
                start, "falls back to", "is taken to be", "is assumed to be", "is set to", "is"
            )
            for value, end in self._value(tools, name, begin) if begin is not None else ():
                if (last := cursor.after(end, *_NONE_GIVEN)) is not None:
                    yield self._default(tools, name, value), last
        found = named_tools(self.phrases, at)
        if found is not None and cursor.low(found[1]) in ("uses", "assumes", "takes"):
            for tools, name, start in self._arguments(found[1] + 1):
                for value, end in self._value(tools, name, start):
                    if (last := cursor.after(end, *_NONE_GIVEN)) is not None:
                        yield self._default([*found[0]], name, value), last
        lead = cursor.after(at, "if", "when", "where", "unless")
        for tools, name, start in self._absent(lead, cursor.low(at) == "unless") if lead is not None else ():
            begin = self._past_subject(start + (cursor.low(start) == ","))
            for value, end in self._value(tools, name, begin):
                yield self._default(tools, name, value), end

    def _absent(self, at: int, is_unless: bool) -> Iterator[tuple[list[ToolWords], str, int]]:
        cursor = self.phrases.cursor
        is_no = cursor.low(at) == "no"
        for tools, name, start in self._arguments(at + is_no):
            end = cursor.after(start, *(GIVEN if is_no or is_unless else MISSING))
            if end is not None:
                yield tools, name, end

    def _past_subject(self, at: int) -> int:
        """`the appointment is booked as`, `new members get`, `it is`, `holds are sent to`."""
        cursor = self.phrases.cursor
        start = cursor.past(at, _DET | {"new", "it", "they"})
        for thing, end in self.phrases.thing(at):
            if thing.kind and not thing.so:
                start = end
                break
        while start < cursor.end:
            low = cursor.low(start)
            said = cursor.words(start, start + 1)
            is_done = (
                bool(said)
                and bool(self.phrases.words.deeds_of(said[0]))
                and low.endswith(("ed", "en", "ade"))
            )
            if low in _STARTING | word_set("will be has have set used assumed taken") or is_done:
                start += 1
            else:
                break
        return cursor.past(start, _JOINS)

    def _value(self, tools: list[ToolWords], name: str, at: int) -> Iterator[tuple[Json, int]]:
        """A value of the argument, with or without its name beside it."""
        cursor = self.phrases.cursor
        known = self._values_of(tools, name)
        for length in (3, 2, 1):
            said = cursor.words(at, at + length)
            if len(said) != length:
                continue
            for value in known:
                for words, after in ((said, 0), (said[1:], 0), (said[:-1], 0)):
                    named = set(said) - set(words)
                    if words and key_of(words) == key_of([str(value)]) and named <= set(words_of(name)):
                        yield value, at + length + after
                        return
        number = cursor.number(at)
        if number is not None:
            yield number_of(number[0]), cursor.past(number[1], frozenset(words_of(name)))
        token = self.phrases.token(at)
        if token is not None and token.kind is TokenKind.TEXT and token.text:
            yield token.text, at + 1

    def _values_of(self, tools: list[ToolWords], name: str) -> list[Json]:
        found: list[Json] = []
        for tool in tools:
            enum = tool.arguments[name].get("enum") if name in tool.arguments else None
            found += enum if isinstance(enum, list) else []
            kind = self.phrases.words.lexicon.kinds.get(tool.kind or "")
            one = kind.fields.get((name,)) if kind is not None else None
            found += one.values if one is not None else ()
        return [value for value in dict.fromkeys(found) if isinstance(value, str)]

    def _default(self, tools: list[ToolWords], name: str, value: Json) -> tuple[c.Clause, ...]:
        makers = [tool for tool in tools if name not in tool.required]
        return (c.Default(m.Field(name), m.Literal_(value), _who(makers or tools)),)

    # -- what new things are like

    def _new_things(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`New members start on the basic plan … and with status active.`"""
        cursor = self.phrases.cursor
        for thing, start in self.phrases.thing(at):
            makers = self._makers(thing.kind)
            start += cursor.low(start) == "always"
            if not thing.is_new or thing.so or len(makers) != 1 or cursor.low(start) not in _STARTING:
                continue
            begin = cursor.past(start, _STARTING | _JOINS)
            yield from self._items(makers[0], thing.kind, begin)

    def _items(self, tool: ToolWords, kind: str, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        cursor = self.phrases.cursor
        for name, value, end in self._item(kind, at):
            given = (f"unless {name.replace('_', ' ')} {be}" for be in ("is given", "is set", "is specified"))
            last = cursor.after(end, *_UNLESS, *given, "by default") or end
            who = _who([tool])
            literal = m.Literal_(value)
            clause: c.Clause = (
                c.Default(m.Field(name), literal, who)
                if name in tool.arguments
                else c.Assign(m.Field(name, kind), literal, None, who)
            )
            start = cursor.after(last, ", and", "and", ",", "with")
            if start is not None:
                for rest, fin in self._items(tool, kind, cursor.past(start, _JOINS)):
                    yield (clause, *rest), fin
            yield (clause,), last

    def _item(self, kind: str, at: int) -> Iterator[tuple[str, m.Value, int]]:
        cursor = self.phrases.cursor
        for so, end in self.phrases.state(kind, at):
            match so:
                case m.OneOf(field, (value,)):
                    yield field.name, value, end
                case m.Compare(m.Field() as field, "==", m.Literal_(bool() as switch)):
                    yield field.name, switch, end
        for length in (2, 1):
            said = cursor.words(at, at + length)
            path = self.phrases.words.field_of(kind, said) if len(said) == length else None
            begin = cursor.past(at + length, word_set("of is"))
            number = cursor.number(begin)
            if path is not None and number is not None:
                yield path[-1], number_of(number[0]), number[1]
        number = cursor.number(at)
        for length in (2, 1) if number is not None else ():
            said = cursor.words(number[1], number[1] + length) if number is not None else []
            path = self.phrases.words.field_of(kind, said) if len(said) == length else None
            if path is not None and number is not None:  # 20 minutes long
                end = number[1] + length
                yield path[-1], number_of(number[0]), end + (cursor.low(end) == "long")
        for so, end in self.phrases.value_nouns(kind, at):
            yield so.field.name, so.values[0], end


def _who(tools: list[ToolWords]) -> m.Who:
    return m.Who(names=tuple(tool.name for tool in tools), reaches_links=True)


def _is_limit(need: m.Condition) -> bool:
    """`can be at most 5` sets a limit; `can be over 5` allows something, and `is over 5` tells it."""
    match need:
        case m.Compare(_, op, _):
            return op in ("<=", ">=", "<")
        case m.All(parts):
            return all(_is_limit(part) for part in parts)
    return False
