"""What a listing shows and in which order: `leaves out cancelled visits`, `cheapest first`, `at most 5`."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.guards import Guards
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.scope import WORTH
from pipelines.core.simulation.behavior.things import Path, ToolWords

_SHOWING = word_set(
    "returns return shows show lists list contains contain includes include gives give displays display "
    "returned listed shown included displayed contained come comes back appear appears offered puts put"
)
_HIDING = (
    "leaves out", "leave out", "hides", "hide", "omits", "omit", "excludes", "exclude", "skips", "skip",
    "never shows", "never show", "never lists", "never returns", "never return", "does not show",
    "does not include", "do not contain", "does not contain", "does not return", "does not list",
    "filters out", "drops", "do not include", "never includes", "never include", "must not return",
    "must never return",
)  # fmt: skip
_UNSEEN = (
    "are never listed", "are not listed", "are hidden", "are left out", "are omitted", "are excluded",
    "do not appear", "never appear", "are not shown", "are never shown", "are not returned", "stay out",
    "are never returned", "are not included", "are filtered out", "must not appear", "are kept out",
    "are skipped", "never show up", "do not show up", "are not visible", "are invisible", "stay hidden",
)  # fmt: skip
_SORTING = word_set(
    "sorted sorts sort ordered orders order ranked ranks arranged in by listed come comes back returned"
)
_SORTS = word_set("sorts sort orders order ranks rank sorted ordered")
_ROWS = word_set("results result entries entry items rows records titles hits matches")
_ORDERING = word_set("sorted sorts sort ordered orders order ranked ranks arranged by")
_LATE = word_set("newest latest recent last")
_EARLY = word_set("oldest earliest soonest first")
_HIGH = word_set("highest biggest largest greatest dearest priciest most best longest heaviest")
_LOW = word_set("lowest smallest cheapest least shortest lightest fewest")
_DOWN = ("descending", "in descending order", "high to low", "highest first", "from high to low", "desc")
_UP = (
    "ascending",
    "in ascending order",
    "low to high",
    "lowest first",
    "from low to high",
    "asc",
    "alphabetically",
    "from a to z",
    "a to z",
)


@dataclass(kw_only=True)
class Lists:
    guards: Guards

    @property
    def phrases(self) -> Phrases:
        return self.guards.phrases

    def read(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        for tools, kind, start in self._listings(at):
            yield from self.of_tools(tools, kind, start)
        yield from self._unseen(at)
        yield from self._unseen_unless(at)
        yield from self._so_many(at)

    def of_tools(
        self, tools: list[ToolWords], kind: str, at: int
    ) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        yield from self._newest(kind, _who(tools), at)
        yield from self._several(tools, kind, at)

    def _so_many(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`No more than three lessons are listed`."""
        for thing, end in self.phrases.thing(at):
            last = self.phrases.cursor.after(end, "are listed", "are returned", "are shown", "are given back")
            if last is not None and len(thing.bounds) == 1 and thing.bounds[0][0] == "<=" and not thing.so:
                tools = self._listing(thing.kind)
                if tools:
                    yield (c.Cap(int(thing.bounds[0][1].number), who=_who(tools)),), last

    def _unseen(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`Cancelled orders are never listed`."""
        for thing, end in self.phrases.thing(at):
            so = m.both(*thing.so)
            last = self.phrases.cursor.after(end, *_UNSEEN)
            if so is None or last is None or not thing.kind:
                continue
            for tools, after in self._where(thing.kind, last):
                for unless, fin in self._unless(tools[0], after):
                    keep = m.negated(so) if unless is None else m.Any_((unless, m.negated(so)))
                    yield (c.Keep(keep, None, _who(tools)),), fin

    def _unseen_unless(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`Unless the caller filters by status, delivered parcels stay out of list_parcels`."""
        cursor = self.phrases.cursor
        start = cursor.after(
            at, "unless the caller filters by", "unless the caller asks for", "unless filtered by"
        )
        if start is None or cursor.low(start + 1) != ",":
            return
        said = cursor.words(start, start + 1)
        for clauses, end in self._unseen(start + 2):
            for clause in clauses:
                tools = self._tools_of(clause.who)
                name = self.phrases.words.argument_of(tools[0], said) if tools else None
                if isinstance(clause, c.Keep) and name is not None:
                    keep = m.Any_((m.Present(m.Field(name, None, True)), clause.condition))
                    yield (c.Keep(keep, None, clause.who),), end

    def _where(self, kind: str, at: int) -> Iterator[tuple[list[ToolWords], int]]:
        """`by list_plans`, `in search results`, or wherever such things are listed."""
        cursor = self.phrases.cursor
        start = cursor.after(at, "by", "in", "of", "from")
        if start is not None:
            tool = self.phrases.words.lexicon.tools.get(cursor.low(start))
            if tool is not None and tool.kind == kind:
                yield [tool], start + 1
            end = cursor.after(
                start,
                "search results",
                "the search results",
                "the list",
                "listings",
                "results",
                "the results",
            )
            if end is not None and self._listing(kind):
                yield self._listing(kind), end
        elif self._listing(kind):
            yield self._listing(kind), at

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
            end = cursor.past(after, word_set("search list queue report results result listing listings"))
            if self._listing(kind):
                yield self._listing(kind), kind, end
        after_results = cursor.after(at, "search results", "the search results", "results")
        if after_results is not None:
            kinds = [kind for kind in self.phrases.words.lexicon.kinds if self._listing(kind)]
            for kind in kinds:
                found = [tool for tool in self._listing(kind) if "search" in tool.words or len(kinds) == 1]
                if found:
                    yield found, kind, after_results

    def _several(
        self, tools: list[ToolWords], kind: str, at: int
    ) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        for first, end in self._one(tools, kind, at):
            joined = self.phrases.cursor.after(end, "; and", ", and", "and", ";", ",")
            for start in dict.fromkeys((joined, end)):  # `at most 2 items sorted by name`
                for rest, last in self._several(tools, kind, start) if start is not None else ():
                    yield (first, *rest), last
            yield (first,), end

    def _one(self, tools: list[ToolWords], kind: str, at: int) -> Iterator[tuple[c.Clause, int]]:
        cursor = self.phrases.cursor
        who = _who(tools)
        hidden = cursor.after(at, *_HIDING)
        if hidden is not None:
            for thing, end in self.phrases.thing(hidden):
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
            yield from self._ordered(kind, who, begin)

    def _past_object(self, kind: str, at: int, start: int) -> list[int]:
        """Where it may go on: here, past the verb, and past what is only called by its kind."""
        cursor = self.phrases.cursor
        verb = cursor.past(at, _SHOWING | _SORTS | word_set("is are be must will always"))
        found = [at, start, verb]
        for begin in (start, verb):
            noun = cursor.past(begin, word_set("all the its"))
            found += [noun + 1] if cursor.low(noun) in _ROWS else []
            found += [end for one, end in self.phrases.kinds_at(noun) if one == kind]
        return list(dict.fromkeys(found))

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

    def _ordered(self, kind: str, who: m.Who, at: int) -> Iterator[tuple[c.Clause, int]]:
        cursor = self.phrases.cursor
        start = cursor.past(
            at, _SORTING | word_set("is are the with be must always returns shows and of rest")
        )
        for kind_of, end in self.phrases.kinds_at(start) if not [*self._field(kind, start)] else ():
            start = cursor.past(end, _SORTING) if kind_of == kind else start
            break
        start = (
            cursor.after(start, "alphabetical order of", "the order of", "order of", "alphabetical order by")
            or start
        )
        start = (
            cursor.after(start, "descending order of", "ascending order of", "descending order by") or start
        )
        sorts = any(cursor.low(place) in _ORDERING for place in range(at, start))
        for path, end in self._field(kind, start) if sorts else ():
            for down, last in self._direction(end):
                yield c.Order(m.Field(path[0]), down, who), last
        begin = cursor.past(at, _SORTING | _SHOWING | word_set("is are the be must always with"))
        yield from self._superlative(kind, who, begin)

    def _newest(self, kind: str, who: m.Who, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
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

    def _field(self, kind: str, at: int) -> Iterator[tuple[Path, int]]:
        cursor = self.phrases.cursor
        start = cursor.past(at, word_set("their its the descending ascending"))
        for length in (3, 2, 1):
            said = cursor.words(start, start + length)
            path = self.phrases.words.field_of(kind, said) if len(said) == length else None
            if path is not None:
                yield path, start + length
                return

    def _direction(self, at: int) -> Iterator[tuple[bool, int]]:
        cursor = self.phrases.cursor
        said = [cursor.low(place) for place in range(max(0, at - 6), at)]
        if "descending" in said or "ascending" in said:
            yield "descending" in said, at
            return
        start = at + (cursor.low(at) in (",", "("))
        opened = cursor.low(at) == "("
        for phrases, down in ((_DOWN, True), (_UP, False)):
            end = cursor.after(start, *phrases)
            if end is not None:
                yield down, end + (opened and cursor.low(end) == ")")
                return
        low, following = cursor.low(start), cursor.low(start + 1)
        begin = start + (low in ("the", "most", "least") and following not in ("first",))
        word = cursor.low(begin)
        if cursor.low(begin + 1) in ("first", "on", "at") and word in _LATE | _EARLY | _HIGH | _LOW:
            end = cursor.after(begin + 1, "first", "on top", "at the top")
            if end is not None:
                yield word in _LATE | _HIGH, end + (opened and cursor.low(end) == ")")
                return
        if start == at:
            yield False, at

    def _superlative(self, kind: str, who: m.Who, at: int) -> Iterator[tuple[c.Clause, int]]:
        """`cheapest first`, `the newest orders first`, `biggest amount on top`."""
        cursor = self.phrases.cursor
        start = cursor.past(at, word_set("the most"))
        word = cursor.low(start)
        if word not in _LATE | _EARLY | _HIGH | _LOW or cursor.low(start) == "first":
            return
        ends = [start + 1]
        path: Path | None = None
        for found, end in self._field(kind, start + 1):
            path, ends = found, [end]
        for thing, end in self.phrases.thing(start + 1):
            if thing.kind == kind and not thing.so and path is None:
                ends.append(end)
        path = path or self._meant(kind, word)
        by_age = path is None and word in ("newest", "latest", "recent", "oldest")
        for begin in reversed(ends):
            last = cursor.after(begin, "first", "on top", "at the top", "come first")
            if last is not None and (path is not None or by_age):
                name = m.Field(path[0]) if path is not None else None
                yield c.Order(name, word in _LATE | _HIGH, who), last

    def _meant(self, kind: str, word: str) -> Path | None:
        """The field that a superlative speaks of, where only one can be meant."""
        known = self.phrases.words.lexicon.kinds[kind]
        if word in ("cheapest", "dearest", "priciest"):
            prices = [
                path
                for path, one in known.fields.items()
                if "number" in one.kinds
                and set(words_of(path[-1])) & {"price", "rate", "cost", "fare", "fee", "rent"}
            ]
            worth = [(name,) for name in WORTH if (name,) in known.fields]
            return prices[0] if len(prices) == 1 else worth[0] if worth and not prices else None
        if word in _LATE | _EARLY:
            dates = known.dates()
            return dates[0] if len(dates) == 1 else None
        return None

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
