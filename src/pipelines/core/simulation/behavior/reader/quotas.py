"""How many of a kind one may have: `No member holds more than two open loans`, `one invoice per job`.

Whose they are, how many, and of which: said in either order. It becomes a need of the call that would make
one more, so that conditions, exceptions and answers go with it as with any other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.complements import Complements
from pipelines.core.simulation.behavior.reader.cursor import Cursor, Quantity
from pipelines.core.simulation.behavior.reader.modality import modal
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.said import Said
from pipelines.core.simulation.behavior.reader.thing import Thing
from pipelines.core.simulation.behavior.reader.vocabulary import Deed

_HOLDING = word_set("have has had hold holds keep keeps own owns with")
_WORKING = ("work on", "works on", "be on", "be responsible for", "take on", "carry", "run", "look after")
_PER = ("per", "for each", "for every", "to each", "to a", "for a", "for any one", "on each", "on a")
_AT_ONCE = (
    "at a time", "at once", "at the same time", "at any time", "in total", "on file", "at any one time",
)  # fmt: skip
_NO_MORE = (", and no more than that", "and no more than that", ", no more", "and no more", "only")
_ONE = Quantity(Decimal(1))
_HANDING_OUT = word_set("assign allocate give lend rent issue grant attach")


@dataclass(kw_only=True)
class Quotas:
    guards: Complements

    @property
    def phrases(self) -> Phrases:
        return self.guards.phrases

    @property
    def cursor(self) -> Cursor:
        return self.phrases.cursor

    def read(self, at: int) -> Iterator[tuple[Said, int]]:
        for owner, counted, is_not, is_only, end in (*self._held(at), *self._per(at), *self._there_is(at)):
            most = _most(counted, is_not, is_only)
            if most is None or not counted.kind or not owner.kind or counted.kind == owner.kind:
                continue
            last = self.cursor.after(end, *_AT_ONCE) or end
            yield from self._asked(owner, counted, most, self.cursor.after(last, *_NO_MORE) or last)

    def _held(self, at: int) -> Iterator[tuple[Thing, Thing, bool, bool, int]]:
        """`A worker holds at most one open pick order`."""
        cursor = self.cursor
        begin = cursor.after(at, "at a time", "at once", "at any time") or at
        for owner, start in self.phrases.thing(begin + (begin > at and cursor.low(begin) == ",")):
            found = modal(cursor, start)
            after = found.end if found is not None else start
            is_not = (found is not None and found.is_not) != owner.is_none
            is_only = found is not None and found.only
            held = cursor.after(after, *_WORKING, "allowed", "limited to", "restricted to")
            if cursor.low(after) in _HOLDING:
                held = after + 1
            elif held is None and found is not None and cursor.low(after - 1) in _HOLDING:
                held = after
            is_limit = held is not None and cursor.low(held - 1) == "to"
            if held is None:
                continue
            for counted, end in self.phrases.thing(held):
                last = end + (cursor.low(end) == "only")
                yield owner, counted, is_not, is_only or is_limit or last > end or self._is_all(last), last

    def _is_all(self, at: int) -> bool:
        return self.cursor.after(self.cursor.after(at, *_AT_ONCE) or at, *_NO_MORE[:4]) is not None

    def _per(self, at: int) -> Iterator[tuple[Thing, Thing, bool, bool, int]]:
        """`At most 1 locker per member`, `One claim per parcel`."""
        start = at + (self.cursor.low(at) == "only")
        for counted, end in self._counted(start):
            yield from self._of_each(counted, end, self.cursor.low(at) == "only" or start == at)

    def _there_is(self, at: int) -> Iterator[tuple[Thing, Thing, bool, bool, int]]:
        """`There can only be one invoice per job`, `There is at most one review per lesson`."""
        found = modal(self.cursor, at + 1) if self.cursor.low(at) == "there" else None
        if found is None:
            return
        for counted, end in self._counted(found.end):
            for owner, of, _, _, last in self._of_each(counted, end, found.only or counted.is_only):
                yield owner, of, found.is_not, found.only or counted.is_only, last

    def _counted(self, at: int) -> Iterator[tuple[Thing, int]]:
        """Things with their number; `one` and `a single` count too."""
        yield from self.phrases.thing(at)
        number = self.cursor.number(at)
        start = self.cursor.after(at, "a single", "just one", "one single") or (number[1] if number else None)
        for thing, end in self.phrases.thing(start) if start is not None else ():
            if not thing.bounds and (number is None or number[0] == 1):
                yield replace(thing, bounds=(("==", _ONE),)), end

    def _of_each(
        self, counted: Thing, at: int, is_only: bool
    ) -> Iterator[tuple[Thing, Thing, bool, bool, int]]:
        per = self.cursor.after(at, *_PER)
        for owner, end in self.phrases.thing(per) if per is not None else ():
            yield owner, counted, False, is_only, end

    def _asked(self, owner: Thing, counted: Thing, most: int, at: int) -> Iterator[tuple[Said, int]]:
        so = m.both(*counted.so)
        need = m.Counted(owner.kind, m.Thing(counted.kind, so), "<", most)
        deeds = tuple(Deed(tool=name, rank=0) for name in self._adding(counted.kind, owner.kind))
        if deeds:
            said = Said(verbs=(deeds,), needed=(need,), so=owner.so, is_named=True)
            yield from self.guards.restricted(said, at)

    def _adding(self, counted: str, owner: str) -> Iterator[str]:
        """Tools that make one more, or hand one to somebody."""
        words = self.phrases.words
        made = [tool.name for tool in words.makers(counted)]
        yield from made
        for tool in words.lexicon.tools.values() if not made or owner in words.folk else ():
            ids = [words.lexicon.id_argument(tool, kind) for kind in (counted, owner)]
            if not tool.reads and None not in ids and tool.verb in _HANDING_OUT and tool.name not in made:
                yield tool.name


def _most(counted: Thing, is_not: bool, is_only: bool) -> int | None:
    """How many are allowed: at most two, no more than two, not more than two, only two."""
    if len(counted.bounds) != 1:
        return None
    op, amount = counted.bounds[0]
    number = int(amount.number)
    if is_not:
        return number if op == ">" else number - 1 if op in (">=", "==") else None
    return number if op == "<=" or (op == "==" and is_only) else None
