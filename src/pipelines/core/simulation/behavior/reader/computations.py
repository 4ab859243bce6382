"""How the amounts of a reply are worked out, and the bounds that they never leave."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from pipelines.core.english.inflection import verb_forms
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.cursor import Cursor
from pipelines.core.simulation.behavior.reader.formulas import CHARGES, DET, Formulas, part_more
from pipelines.core.simulation.behavior.reader.guards import Guards
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.said import Said
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.reader.vocabulary import NO_NAMES, Deed, key_of
from pipelines.core.simulation.behavior.things import ToolWords

Found = tuple[tuple[c.Clause, ...], int]
_COMPUTING = frozenset(
    form
    for verb in ("compute", "calculate", "derive", "determine", "return", "report", "give", "set", "quote")
    for form in verb_forms(verb)
)
_APPLYING = frozenset(
    form
    for verb in ("add", "apply", "include", "give", "take", "offer", "grant")
    for form in verb_forms(verb)
) | {"applies"}
_EQUALS = (
    "is calculated as", "is computed as", "is equal to", "equals", "=", "is", "are", "comes to", "amounts to",
)  # fmt: skip
_AS = ("as", "=", "to be", "by", "from")
_WHEN = ("when", "if", "where", "whenever", "once")
_ELSE = word_set("and or but otherwise else , ; it is")
_LATER = ("otherwise", "else", "if not", "for all others", "for others", "for everything else")
ZERO = m.Literal_(Decimal(0))
_MONEY = m.Field(m.MONEY, None, False, True)


@dataclass(kw_only=True)
class Computations:
    guards: Guards

    @property
    def phrases(self) -> Phrases:
        return self.guards.phrases

    @property
    def cursor(self) -> Cursor:
        return self.guards.phrases.cursor

    def read(self, at: int) -> Iterator[Found]:
        yield from self._of_new(at)
        named = named_tools(self.phrases, at)
        if named is not None:
            tools, start = named
            yield from self.of_tools(tools, start)
            return
        start_of = self.cursor.after(at, "for", "in")
        named = named_tools(self.phrases, start_of) if start_of is not None else None
        if named is not None and self.cursor.low(named[1]) in (",", ":"):
            yield from self._statements(named[0], named[1] + 1)
        yield from self._statements((), at)
        yield from self._discounts((), at)

    def of_tools(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[Found]:
        """`get_quote computes total as …`, `get_quote: shipping is …`, `get_quote adds 8% tax`."""
        cursor = self.cursor
        if cursor.low(at) in (":", ","):
            yield from self._statements(tools, at + 1)
        if cursor.low(at) in _COMPUTING:
            yield from self._several(tools, at + 1)
        if cursor.low(at) in _APPLYING:
            yield from self._charged(tools, at + 1)
        never = cursor.after(
            at, "never returns a negative", "never gives a negative", "never shows a negative"
        )
        for name, end in self._targets(tools, never) if never is not None else ():
            yield (c.Bound(name, ZERO, None, _who(tools)),), end

    def _several(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[Found]:
        """One or more: `tax = 8% of subtotal and total = subtotal + tax`."""
        for name, start in self._targets(tools, at):
            begin = self.cursor.after(start, *_AS, ", which is", ", which equals", "which is")
            for value, end in self._formulas(tools).rounded(begin) if begin is not None else ():
                clause = c.Compute(name, value, None, _who(tools))
                joined = self.cursor.after(end, ", and", "and", ",")
                for rest, last in self._several(tools, joined) if joined is not None else ():
                    yield (clause, *rest), last
                yield (clause,), end

    def _targets(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[tuple[m.Field, int]]:
        """The field that is worked out: one that is known, or a new one."""
        cursor = self.cursor
        start = cursor.past(at, DET)
        for length in (3, 2, 1):
            said = cursor.words(start, start + length)
            if len(said) == length and not NO_NAMES & set(said):
                token = self.phrases.token(start)
                is_name = length == 1 and token is not None and self.phrases.is_name(start)
                spelled = token.text if is_name and token is not None else " ".join(said)
                yield m.Field(spelled, None, False, True), start + length

    def _formulas(self, tools: tuple[ToolWords, ...]) -> Formulas:
        return Formulas(phrases=self.phrases, tools=tools)

    # -- statements about a field

    def _statements(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[Found]:
        cursor = self.cursor
        for name, start in self._targets(tools, at):
            if (end := cursor.after(start, "is never negative", "are never negative")) is not None:
                yield (c.Bound(name, ZERO, None, _who(tools)),), end
            capped = cursor.after(start, "is capped at", "is limited to")
            if capped is not None and (number := cursor.number(capped)) is not None:
                yield (c.Bound(name, None, m.Literal_(number[0]), _who(tools)),), number[1]
            begin = cursor.after(start, *_EQUALS)
            if begin is None:
                continue
            for value, end in self._formulas(tools).rounded(begin):
                if isinstance(value, m.Sum):
                    yield (c.Compute(name, value, None, _who(tools)),), end
            yield from self._choices(name, tools, begin)
        yield from self._kept_above(at)

    def _choices(self, name: m.Field, tools: tuple[ToolWords, ...], at: int) -> Iterator[Found]:
        """`free for orders over $50, otherwise it is $5.99`, `0 when … and 5.99 otherwise`."""
        for first, start in self._prices(tools, at):
            for when, end in self._if(tools, start):
                begin = self.cursor.past(end, _ELSE)
                for second, last in self._prices(tools, begin) if begin > end else ():
                    closed = self.cursor.after(last, *_LATER) or last
                    if closed > last or {"otherwise", "else"} & set(self.cursor.lows[end:begin]):
                        yield (c.Compute(name, m.Choice(when, first, second), None, _who(tools)),), closed

    def _prices(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[tuple[m.Amount, int]]:
        free = self.cursor.after(at, "free of charge", "free")
        if free is not None:
            yield ZERO, free
            return
        yield from self._formulas(tools).sums(at)

    def _if(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[tuple[m.Condition, int]]:
        said = _said(tools)
        start = self.cursor.after(at, *_WHEN)
        if start is not None:
            for so, _, end in self.guards.conditions(said).read(start, self.guards.near(said)):
                yield so, end
        start = self.cursor.after(at, "for", "on", "to")
        for thing, end in self.phrases.thing(start) if start is not None else ():
            so_of = m.both(*thing.so)
            if so_of is not None:
                yield so_of, end

    def _kept_above(self, at: int) -> Iterator[Found]:
        """`The user's loyalty_points can never go below zero.`"""
        cursor = self.cursor
        for name, start in self.phrases.amount_field(at, None):
            for verb in ("can never", "must never", "may never", "can not", "must not", "may not"):
                for how in ("go", "drop", "fall", "get", "be"):
                    begin = cursor.after(start, f"{verb} {how} below", f"{verb} {how} under")
                    number = cursor.number(begin) if begin is not None else None
                    if number is not None:
                        need = m.Compare(name, ">=", m.Literal_(number[0]))
                        yield (c.Invariant(need, None, m.Who(everyone=True)),), number[1]

    # -- shares of an amount

    def _charged(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[Found]:
        """`adds 8% tax to the subtotal`, `applies a 10% discount when …`."""
        share = self._formulas(tools).share(at)
        if share is None or self.cursor.low(share[1] - 1) not in CHARGES:
            return
        sign = "-" if self.cursor.low(share[1] - 1) == "discount" else "+"
        yield from self._of_base(tools, share[0], sign, share[1])

    def _discounts(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[Found]:
        """`A 10% discount is applied to orders over 500.`"""
        share = self._formulas(tools).share(at)
        if share is None or self.cursor.low(share[1] - 1) != "discount":
            return
        start = self.cursor.after(share[1], "is applied", "is given", "is granted")
        if start is not None:
            yield from self._of_base(tools, share[0], "-", start)

    def _of_base(self, tools: tuple[ToolWords, ...], part: Decimal, sign: str, at: int) -> Iterator[Found]:
        bases: list[tuple[m.Field, int]] = [(_MONEY, at)]
        start = self.cursor.after(at, "to", "on", "off", "from")
        if start is not None:
            found = self._formulas(tools).names(start)
            bases += [one for one in found if not one[0].is_new]
        for base, end in bases:
            # Tax is added to a subtotal to make the total; a discount is taken off the amount itself.
            onto = m.Field("total", None, False, True) if sign == "+" and "subtotal" in base.name else base
            value = part_more(base, part, sign)
            for when, last in self._if(tools, end):
                yield (c.Compute(onto, value, when, _who(tools)),), last
            if base is not _MONEY:
                yield (c.Compute(onto, value, None, _who(tools)),), end

    # -- of new things

    def _of_new(self, at: int) -> Iterator[Found]:
        """`A quote's total equals the deal amount minus the discount`, of the tools that make quotes."""
        for tools, name, start in self._made(at):
            begin = self.cursor.after(start, *_EQUALS)
            for value, end in self._formulas(tools).rounded(begin) if begin is not None else ():
                if isinstance(value, m.Sum):
                    who = m.Who(names=tuple(tool.name for tool in tools), reaches_links=True)
                    yield (c.Compute(m.Field(name), value, None, who),), end

    def _made(self, at: int) -> Iterator[tuple[tuple[ToolWords, ...], str, int]]:
        cursor = self.cursor
        start = cursor.past(at, DET)
        tools = self.phrases.words.lexicon.tools.values()
        makers = [tool for tool in tools if not tool.reads and tool.creates]
        for length in (3, 2, 1):
            said = cursor.words(start, start + length)
            kinds = self.phrases.words.kinds_named(said) if len(said) == length else ()
            for kind in kinds if cursor.low(start + length) == "'s" else ():
                name = cursor.low(start + length + 1)
                found = tuple(tool for tool in makers if tool.kind == kind)
                if found and name.replace("_", "").isalpha():
                    yield found, self._spelled(kind, name), start + length + 2
        name = cursor.low(start)
        if cursor.low(start + 1) == "of" and name.replace("_", "").isalpha():
            begin = cursor.past(start + 2, DET)
            for length in (3, 2, 1):
                said = cursor.words(begin, begin + length)
                for kind in self.phrases.words.kinds_named(said) if len(said) == length else ():
                    found = tuple(tool for tool in makers if tool.kind == kind)
                    if found:
                        yield found, self._spelled(kind, name), begin + length

    def _spelled(self, kind: str, name: str) -> str:
        path = self.phrases.words.field_of(kind, [name])
        return path[-1] if path is not None and key_of([path[-1]]) == key_of([name]) else name


def _said(tools: tuple[ToolWords, ...]) -> Said:
    return Said(verbs=tuple((Deed(tool=tool.name, rank=0),) for tool in tools))


def _who(tools: tuple[ToolWords, ...]) -> m.Who:
    """These tools, or (nothing said) whatever looks such a thing up."""
    return m.Who(names=tuple(tool.name for tool in tools)) if tools else m.IT
