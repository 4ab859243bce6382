"""What a listing shows: which things are in it or left out, how many of them, and in which order.

Who is listed, by which verb (shown, left out; with its negation), and where (`in the list of boats`, `when
boats are listed`) are read apart, so that each goes with each.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.guards import Guards
from pipelines.core.simulation.behavior.reader.orders import ORDERING, Orders
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.things import ToolWords

Clauses = tuple[c.Clause, ...]

_SHOWING = word_set(
    "returns return shows show lists list contains contain includes include gives give displays display "
    "returned listed shown included displayed contained come comes back appear appears offered puts put"
)
_SEEN = word_set(
    "listed shown returned included displayed contained visible offered found appear appears "
    "show shows list lists "
    "returns includes displays contains gives "
    "return include display contain come comes turn"
)
_LEFT_OUT = word_set(
    "hidden omitted excluded skipped invisible left filtered kept removed dropped withheld stay stays leaves "
    "leave hides hide omits omit excludes exclude skips skip drops drop filters filter"
)
_PARTED = word_set(
    "left leave leaves filtered filter filters kept stay stays show shows come comes turn drop drops"
)
_PARTICLES = word_set("up out back hidden")
_AUXILIARIES = word_set("is are be do does will must may can should shall has have been get gets ever always")
_NOT = word_set("not never no")
_ROWS = word_set("results result entries entry items rows records titles hits matches ones")
_LISTINGS = word_set(
    "search searches list lists listing listings queue report results result overview catalogue catalog"
)
_IN = word_set("by in of from on among per during")


class Shown(NamedTuple):
    """A verb that says whether something is listed."""

    is_seen: bool
    is_only: bool
    end: int


@dataclass(kw_only=True)
class Lists:
    guards: Guards

    @property
    def phrases(self) -> Phrases:
        return self.guards.phrases

    @cached_property
    def _orders(self) -> Orders:
        return Orders(phrases=self.phrases)

    def read(self, at: int) -> Iterator[tuple[Clauses, int]]:
        for tools, kind, start in self._listings(at):
            yield from self.of_tools(tools, kind, start)
        yield from self._things_listed(at)

    def of_tools(self, tools: list[ToolWords], kind: str, at: int) -> Iterator[tuple[Clauses, int]]:
        yield from self._newest(kind, _who(tools), at)
        yield from self._several(tools, kind, at)

    # -- the verb

    def _shown(self, at: int) -> Shown | None:
        """`are never listed`, `do not show up`, `are left out`, `are only shown`."""
        cursor = self.phrases.cursor
        is_not = is_only = False
        while cursor.low(at) in _AUXILIARIES or cursor.low(at) in _NOT or cursor.low(at) == "only":
            is_not = is_not or cursor.low(at) in _NOT
            is_only = is_only or cursor.low(at) == "only"
            at += 1
        low = cursor.low(at)
        if low not in _SEEN and low not in _LEFT_OUT:
            return None
        has_particle = cursor.low(at + 1) in (_PARTICLES if low in _PARTED else ())
        return Shown((low in _SEEN) != is_not, is_only, at + 1 + has_particle)

    # -- things, and whether they are listed

    def _things_listed(self, at: int) -> Iterator[tuple[Clauses, int]]:
        """`Cancelled orders are never listed`, `No more than three invoices are returned per listing`."""
        for thing, end in self.phrases.thing(at):
            verb = self._shown(end) if thing.kind else None
            if verb is None:
                continue
            so = m.both(*thing.so)
            for tools, after in self._where(thing.kind, verb.end):
                if len(thing.bounds) == 1 and thing.bounds[0][0] == "<=" and so is None and verb.is_seen:
                    yield (c.Cap(int(thing.bounds[0][1].number), who=_who(tools)),), after
                if so is None or thing.bounds:
                    continue
                is_seen = verb.is_seen != thing.is_none
                if is_seen and not (thing.is_only or verb.is_only):
                    continue
                for unless, last in self._unless(tools[0], after):
                    keep = so if is_seen else m.negated(so)
                    whole = keep if unless is None else m.Any_((unless, keep))
                    yield (c.Keep(whole, None, _who(tools)),), last

    def _where(self, kind: str, at: int) -> Iterator[tuple[list[ToolWords], int]]:
        """`by list_plans`, `in search`, `in the list of boats`, `when boats are listed`, or nothing said."""
        cursor = self.phrases.cursor
        listing = self._listing(kind)
        start = cursor.after(at, "when", "whenever", "while")
        if start is not None and listing:
            begin = start + (cursor.low(start) in ("listing", "searching", "browsing"))
            begin = cursor.past(begin, word_set("the all for")) if begin > start else begin
            for thing, end in self.phrases.thing(begin):
                verb = self._shown(end) if begin == start else None
                if thing.kind == kind and not thing.so and (verb is not None or begin > start):
                    yield listing, verb.end if verb is not None else end
            return
        if cursor.low(at) in _IN:
            tool = self.phrases.words.lexicon.tools.get(cursor.low(at + 1))
            if tool is not None and tool.kind == kind:
                yield [tool], at + 2
            for tools, of, end in self._named_listing(at + 1):
                if of == kind:
                    yield tools, end
            return
        if listing:
            yield listing, cursor.after(at, "at a time", "at once", "per call", "per page") or at

    def _named_listing(self, at: int) -> Iterator[tuple[list[ToolWords], str, int]]:
        """`the boat list`, `the list of boats`, `search results`, `listings`."""
        cursor = self.phrases.cursor
        start = cursor.past(at, word_set("the a any all"))
        for kind, after in self.phrases.kinds_at(start):
            end = cursor.past(after, _LISTINGS)
            if end > after and self._listing(kind):
                yield self._listing(kind), kind, end
        end = cursor.past(start, _LISTINGS)
        if end == start:
            return
        begin = cursor.past(end + 1, word_set("the all")) if cursor.low(end) in ("of", "for") else 0
        for kind, last in self.phrases.kinds_at(begin) if begin else ():
            if self._listing(kind):
                yield self._listing(kind), kind, last
        kinds = [kind for kind in self.phrases.words.lexicon.kinds if self._listing(kind)]
        is_search = "search" in cursor.lows[start:end]
        for kind in kinds:
            found = self._listing(kind)
            if is_search and len(kinds) > 1:
                found = [tool for tool in found if tool.words & {"search", "find", "browse"}]
            if found:
                yield found, kind, end

    def _listing(self, kind: str) -> list[ToolWords]:
        """Tools that list such things: they read, and are given no id of one."""
        words = self.phrases.words
        tools = [tool for tool in words.lexicon.tools.values() if tool.reads and tool.kind == kind]
        return [tool for tool in tools if words.lexicon.id_argument(tool, kind) is None]

    def _listings(self, at: int) -> Iterator[tuple[list[ToolWords], str, int]]:
        """The tools that list, and of which kind: by name, by what they list, or as search results."""
        cursor = self.phrases.cursor
        of = cursor.after(at, "results of", "the results of", "results from")
        named = named_tools(self.phrases, of if of is not None else at)
        if named is not None:
            tools, end = named
            kind = tools[0].kind
            if kind and all(tool in self._listing(kind) for tool in tools):
                yield [*tools], kind, end
            return
        start = cursor.past(at, word_set("the a all"))
        for kind, after in self.phrases.kinds_at(start):
            if self._listing(kind) and cursor.low(after) not in _LISTINGS:
                yield self._listing(kind), kind, after
        yield from self._named_listing(at)

    # -- what is said of a listing

    def _several(self, tools: list[ToolWords], kind: str, at: int) -> Iterator[tuple[Clauses, int]]:
        for first, end in self._one(tools, kind, at):
            joined = self.phrases.cursor.after(end, "; and", ", and", "and", ";", ",")
            for start in dict.fromkeys((joined, end)):  # `at most 2 items sorted by name`
                for rest, last in self._several(tools, kind, start) if start is not None else ():
                    yield (first, *rest), last
            yield (first,), end

    def _one(self, tools: list[ToolWords], kind: str, at: int) -> Iterator[tuple[c.Clause, int]]:
        cursor = self.phrases.cursor
        who = _who(tools)
        verb = self._shown(at)
        if verb is not None and not verb.is_seen:
            for thing, end in self.phrases.thing(verb.end):
                so = m.both(*thing.so)
                if thing.kind == kind and so is not None:
                    for unless, last in self._unless(tools[0], end):
                        keep = m.negated(so) if unless is None else m.Any_((unless, m.negated(so)))
                        yield c.Keep(keep, None, who), last
        start = cursor.past(at, _SHOWING | word_set("is are only be must will ever"))
        is_only = any(cursor.low(place) == "only" for place in range(at, start))
        for thing, end in self.phrases.thing(start):
            so = m.both(*thing.so)
            if thing.kind != kind or so is None or thing.bounds:
                continue
            last = end + (cursor.low(end) == "only")
            if is_only or thing.is_only or last > end:
                yield c.Keep(so, None, who), last
            if (first := cursor.after(end, "first", "on top", "before the others")) is not None:
                yield c.First(so, who), first
        for begin in self._past_object(kind, at, start):
            yield from self._capped(kind, who, begin)
            yield from self._orders.read(kind, who, begin)

    def _past_object(self, kind: str, at: int, start: int) -> list[int]:
        """Where it may go on: here, past the verb, and past what is only called by its kind."""
        cursor = self.phrases.cursor
        verb = cursor.past(at, _SHOWING | (ORDERING - {"by"}) | word_set("is are be must will always"))
        found = [at, start, verb]
        for begin in (start, verb):
            noun = cursor.past(begin, word_set("all the its"))
            found += [noun + 1] if cursor.low(noun) in _ROWS else []
            found += [end for one, end in self.phrases.kinds_at(noun) if one == kind]
        return list(dict.fromkeys(found))

    # -- how many

    def _capped(self, kind: str, who: m.Who, at: int) -> Iterator[tuple[c.Clause, int]]:
        """`at most 5 results`, `four claims at most`, `is limited to 2 results`, `pages of 20`."""
        cursor = self.phrases.cursor
        number = cursor.number(cursor.past(at, word_set("the only")))
        if number is not None:
            last = self._past_rows(kind, number[1])
            if (end := cursor.after(last, "at most", "at the most")) is not None:
                yield c.Cap(int(number[0]), who=who), end
            if (end := cursor.after(last, "per page", "a page")) is not None:
                yield c.Cap(int(number[0]), True, None, who), end
            unless = cursor.after(last, "unless", "by default unless")
            if unless is not None:
                yield from self._unless_told(int(number[0]), who, unless)
        paged = cursor.after(at, "pages of", "in pages of")
        size = cursor.number(paged) if paged is not None else None
        if size is not None:
            yield c.Cap(int(size[0]), True, None, who), self._past_rows(kind, size[1])
        limit = cursor.after(at, "is limited to", "are limited to", "limited to", "is capped at", "capped at")
        most = cursor.number(limit) if limit is not None else None
        if most is not None:
            yield c.Cap(int(most[0]), who=who), self._past_rows(kind, most[1])
        for bounds, end in cursor.bounds(at):
            (op, amount), *rest = bounds
            if op == "<=" and not rest and not amount.unit:
                last = self._past_rows(kind, end)
                yield c.Cap(int(amount.number), who=who), cursor.after(last, "at a time", "per call") or last

    def _newest(self, kind: str, who: m.Who, at: int) -> Iterator[tuple[Clauses, int]]:
        """`returns the 2 most recent items`."""
        cursor = self.phrases.cursor
        start = cursor.past(at, _SHOWING | word_set("only the"))
        for phrase, down in (("newest", True), ("latest", True), ("last", True), ("oldest", False)):
            counted = cursor.after(start, phrase)
            some = cursor.number(counted) if counted is not None else None
            if some is not None and (end := self._past_rows(kind, some[1])) > some[1]:
                yield (c.Order(None, down, who), c.Cap(int(some[0]), who=who)), end
        number = cursor.number(start)
        if number is None:
            return
        for phrase, down in (("most recent", True), ("newest", True), ("latest", True), ("oldest", False)):
            begin = cursor.after(number[1], phrase)
            end = self._past_rows(kind, begin) if begin is not None else 0
            if begin is not None and end > begin:
                yield (c.Order(None, down, who), c.Cap(int(number[0]), who=who)), end

    def _unless_told(self, most: int, who: m.Who, at: int) -> Iterator[tuple[c.Clause, int]]:
        """`3 entries unless limit says otherwise`."""
        said = self.phrases.cursor.words(at, at + 1)
        end = self.phrases.cursor.after(at + 1, "says otherwise", "is given", "asks for more", "is set")
        for tool in self._tools_of(who) if end is not None else ():
            name = self.phrases.words.argument_of(tool, said)
            if name is not None and end is not None:
                yield c.Cap(most, False, m.Field(name), who), end

    def _tools_of(self, who: m.Who) -> list[ToolWords]:
        return [self.phrases.words.lexicon.tools[name.lower()] for name in who.names]

    def _past_rows(self, kind: str, at: int) -> int:
        end = self.phrases.cursor.past(at, _ROWS)
        for one, after in self.phrases.kinds_at(at) if end == at else ():
            if one == kind:
                return after
        return end

    def _unless(self, tool: ToolWords, at: int) -> Iterator[tuple[m.Condition | None, int]]:
        """`unless a status is asked for`: the argument is given."""
        cursor = self.phrases.cursor
        start = cursor.after(at, "unless", ", unless")
        if start is not None:
            begin = cursor.past(start, word_set("a an the"))
            for length in (2, 1):
                said = cursor.words(begin, begin + length)
                name = self.phrases.words.argument_of(tool, said) if len(said) == length else None
                end = cursor.after(
                    begin + length, "is asked for", "is given", "is requested", "is passed", "is specified",
                    "is set", "is provided", "is named",
                )  # fmt: skip
                if name is not None and end is not None:
                    yield m.Present(m.Field(name, None, True)), end
                    return
        yield None, at


def _who(tools: list[ToolWords]) -> m.Who:
    return m.Who(names=tuple(tool.name for tool in tools), reaches_links=True)
