"""In which order a listing comes: `sorted by price`, `cheapest first`, `in the order in which they start`."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.vocabulary import SUPERLATIVES
from pipelines.core.simulation.behavior.scope import WORTH
from pipelines.core.simulation.behavior.things import Path

ORDERING = word_set("sorted sorts sort ordered orders order ranked ranks rank arranged by")
_LATE = word_set("newest latest recent last")
_EARLY = word_set("oldest earliest soonest first")
_HIGH = word_set("highest biggest largest greatest dearest priciest most best longest heaviest")
_SUPERLATIVES = SUPERLATIVES | {"last", "first"}
_DEAR = word_set("expensive costly")
_PRICES = word_set("price rate cost fare fee rent")
_OF_PRICE = word_set("cheapest dearest priciest")
_DOWN = ("descending", "in descending order", "high to low", "highest first", "from high to low", "desc")
_UP = (
    "ascending", "in ascending order", "low to high", "lowest first", "from low to high", "asc",
    "alphabetically", "from a to z", "a to z",
)  # fmt: skip
_ON_TOP = ("come first", "comes first", "first", "on top", "at the top", "at the head")
_AS_THEY_CAME = tuple(
    f"{lead} {which} {who}".replace("  ", " ")
    for lead in ("in the order", "in order")
    for which in ("in which", "that", "")
    for who in ("they", "people", "it")
)
_GLUE = word_set(
    "is are the with be must always returns shows and of rest in by come comes back returned listed"
)


@dataclass(frozen=True, kw_only=True)
class Superlative:
    """What comes first: by a field, or by age where no field is named."""

    path: Path | None
    descending: bool
    end: int


@dataclass(kw_only=True)
class Orders:
    phrases: Phrases

    def read(self, kind: str, who: m.Who, at: int) -> Iterator[tuple[c.Clause, int]]:
        for path, down, end in self._orders(kind, at):
            by = m.Field(path[0]) if path is not None else None
            yield c.Order(by, down, who), self._said_again(kind, path, down, end)

    def _orders(self, kind: str, at: int) -> Iterator[tuple[Path | None, bool, int]]:
        yield from self._by_field(kind, at)
        start = self.phrases.cursor.past(at, ORDERING | _GLUE)
        for begin in dict.fromkeys((at, start)):
            yield from self._as_they_came(kind, begin)
            yield from self._from_to(kind, begin)
            yield from self._on_top(kind, begin)

    def _said_again(self, kind: str, path: Path | None, down: bool, at: int) -> int:
        """`…, the oldest at the top`: which end comes first, said twice."""
        if self.phrases.cursor.low(at) in (",", "(", "with"):
            for again, turned, end in self._on_top(kind, at + 1):
                if turned == down and again in (None, path):
                    return end + (self.phrases.cursor.low(end) == ")" and self.phrases.cursor.low(at) == "(")
        return at

    # -- by a field

    def _by_field(self, kind: str, at: int) -> Iterator[tuple[Path, bool, int]]:
        cursor = self.phrases.cursor
        start = cursor.past(at, ORDERING | _GLUE)
        for kind_of, end in self.phrases.kinds_at(start) if not [*self.field(kind, start)] else ():
            start = cursor.past(end, ORDERING | _GLUE) if kind_of == kind else start
            break
        turns = (f"{way} order" for way in ("alphabetical", "descending", "ascending", "the", "reverse"))
        start = (
            cursor.after(start, *(f"{way} {of}" for way in turns for of in ("of", "by")), "order of") or start
        )
        sorts = any(cursor.low(place) in ORDERING for place in range(at, start))
        for path, end in self.field(kind, start) if sorts else ():
            for down, last in self._direction(end):
                yield path, down, last

    def field(self, kind: str, at: int) -> Iterator[tuple[Path, int]]:
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
        begin = start + (low in ("the", "most", "least", "with") and following not in ("first",))
        begin += cursor.low(begin) in ("the", "most", "least")
        word = cursor.low(begin)
        end = cursor.after(begin + 1 + (cursor.low(begin + 1) in ("one", "ones")), *_ON_TOP)
        if word in _SUPERLATIVES and end is not None:
            yield word in _LATE | _HIGH, end + (opened and cursor.low(end) == ")")
        elif start == at:
            yield False, at

    # -- by what comes first

    def _on_top(self, kind: str, at: int) -> Iterator[tuple[Path | None, bool, int]]:
        """`cheapest first`, `the newest orders first`, `the order with the latest created_at first`."""
        cursor = self.phrases.cursor
        called = self.phrases.kinds_at(cursor.past(at, word_set("the")))
        having = (end + 1 for one, end in called if one == kind and cursor.low(end) in ("with", "having"))
        for found in self._superlative(kind, next(having, at)):
            ends = [found.end, found.end + (cursor.low(found.end) in ("one", "ones"))]
            ends += [
                end for thing, end in self.phrases.thing(found.end) if thing.kind == kind and not thing.so
            ]
            for begin in sorted(set(ends), reverse=True):
                last = cursor.after(begin, *_ON_TOP)
                if last is not None:
                    yield found.path, found.descending, last
                    return

    def _from_to(self, kind: str, at: int) -> Iterator[tuple[Path | None, bool, int]]:
        """`from the cheapest to the most expensive`."""
        cursor = self.phrases.cursor
        if cursor.low(at) == "from":
            for first in self._superlative(kind, at + 1):
                for last in self._superlative(kind, first.end + 1) if cursor.low(first.end) == "to" else ():
                    if last.path == first.path and last.descending != first.descending:
                        yield first.path, first.descending, last.end
                        return

    def _as_they_came(self, kind: str, at: int) -> Iterator[tuple[Path | None, bool, int]]:
        """`in the order in which they start`."""
        cursor = self.phrases.cursor
        start = cursor.after(at, *_AS_THEY_CAME, *(one.partition(" ")[2] for one in _AS_THEY_CAME))
        for begin in (
            (cursor.past(start, word_set("were are was is have been")),) if start is not None else ()
        ):
            said = cursor.words(begin, begin + 1)
            dates = self.phrases.words.dates_of(kind, said) if said else []
            if len(dates) == 1:
                yield dates[0], False, begin + 1

    def _superlative(self, kind: str, at: int) -> Iterator[Superlative]:
        cursor = self.phrases.cursor
        start = cursor.past(at, word_set("the"))
        word, following = cursor.low(start), cursor.low(start + 1)
        if word not in _SUPERLATIVES:
            return
        down = word in _LATE | _HIGH
        if word in ("most", "least") and following in _LATE | _DEAR:  # most recent, least expensive
            path = self._price(kind) if following in _DEAR else self._only_date(kind)
            if path is not None or following not in _DEAR:
                yield Superlative(path=path, descending=word == "most", end=start + 2)
            return
        for path, end in self.field(kind, start + 1):
            yield Superlative(path=path, descending=down, end=end)
            return
        path = self._price(kind) if word in _OF_PRICE else None
        if word in _LATE | _EARLY:
            path = self._only_date(kind)
        by_age = path is None and word in ("newest", "latest", "recent", "oldest")
        if path is not None or by_age:
            yield Superlative(path=path, descending=down, end=start + 1)

    def _only_date(self, kind: str) -> Path | None:
        dates = self.phrases.words.lexicon.kinds[kind].dates()
        return dates[0] if len(dates) == 1 else None

    def _price(self, kind: str) -> Path | None:
        known = self.phrases.words.lexicon.kinds[kind]
        prices = [
            path for path, one in known.fields.items()
            if "number" in one.kinds and set(words_of(path[-1])) & _PRICES
        ]  # fmt: skip
        worth = [(name,) for name in WORTH if (name,) in known.fields]
        return prices[0] if len(prices) == 1 else worth[0] if worth and not prices else None
