"""What a clause says of a whole list that was told: how many are so, and which is the first by a measure.

list of a reply -> the things that the words of the clause pick out -> their number, or their extreme.
A number or a name that another choice of the list gives is false; where the words pick nothing out for sure,
nothing is decided here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from pipelines.core.english.measures import Measure, measures_in
from pipelines.core.english.mentions import MARK
from pipelines.core.english.numbers import ORDINALS, Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import singular
from pipelines.core.json_text import Json
from pipelines.core.simulation.reading.words import tokens
from pipelines.core.verdict.bound import Reading
from pipelines.core.verdict.cells import Cells, said_words
from pipelines.core.verdict.known import LARGEST_COUNT, LONGEST_ID, is_nothing
from pipelines.core.verdict.records import bare
from pipelines.core.verdict.said import Said, is_stated
from pipelines.core.verdict.small_words import NEUTRAL
from pipelines.core.verdict.speech import content_stems, sentences
from pipelines.core.verdict.values import Strange

LONGEST_ASKED = 400
MOST_LISTED = 200  # things of a list; nobody counts more by hand
_NONE_BEFORE = re.compile(
    r"(?:\b(?:no|not|without|never|nobody|none|isn't|aren't|hasn't|haven't)|n't)\s+(?:\w+\s+){0,2}?$"
)
_PER = re.compile(r"\b(?:per|a|an)\s+(?P<unit>[a-z]+)\b")
_BEHIND = re.compile(r"\b(?:is|are|was|were|at|with|of|in|from|for|by)\b|[§,:(]")
_OF_ALL = re.compile(r"\bof\s+(?:the|our|all|your|my)\s*$")
_COUNTS = re.compile(
    r"^\W*(?:of\s+(?:the|our|your|my|them|these|those)\b|are\b|is\b|have\b|has\b|were\b|in\s+all\b)"
)


class ListReading(NamedTuple):
    """What of a clause was settled by a list, and what is against it."""

    words: frozenset[str] = frozenset()  # stems that need nothing else to bear them out
    numbers: frozenset[int] = frozenset()  # where the counts stand that are right
    strange: tuple[Strange, ...] = ()


class _Thing(NamedTuple):
    names: frozenset[str]  # letters and digits of what it goes by
    holds: frozenset[str]  # stems of its values, and of its flags that are true
    lacks: frozenset[str]  # stems of its fields in which nothing is
    values: Mapping[str, Json]


class _List(NamedTuple):
    things: tuple[_Thing, ...]
    kinds: frozenset[str]  # stems of what its things are called
    fields: frozenset[str]  # stems of the names of their fields
    values: frozenset[str]  # stems of all that any of them holds

    def named_in(self, text: str) -> frozenset[int]:
        """The places of the things that a text names by a word that no other of them goes by."""
        words = {
            bare(found[0].removesuffix("'s"))
            for found in re.finditer(r"[\w'-]+", text)
            if content_stems(found[0])
        }
        found = [{at for at, one in enumerate(self.things) if word in one.names} for word in words]
        return frozenset(at for places in found if len(places) == 1 for at in places)

    def last_named_in(self, text: str) -> frozenset[int]:
        """What `which` or `it` stands for: the one that was named last."""
        words = reversed(re.findall(r"[\w'-]+", text))
        return next((found for word in words if len(found := self.named_in(word)) == 1), frozenset())

    def pick(self, word: str, is_denied: bool) -> frozenset[int]:
        """The places of the things of which a word is so, or is denied."""
        meant = related(word)
        has = frozenset(at for at, one in enumerate(self.things) if not one.holds.isdisjoint(meant))
        if not is_denied:
            return has
        lacking = frozenset(at for at, one in enumerate(self.things) if not one.lacks.isdisjoint(meant))
        return lacking or (frozenset(range(len(self.things))) - has if has else frozenset())


class _Picked(NamedTuple):
    places: frozenset[int]
    words: frozenset[str]  # that pick something out
    is_sure: bool  # every word of the clause is understood


class Lists:
    """The lists that one run was told."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._facts = cells.facts
        self._evidence = cells.evidence

    @cached_property
    def _lists(self) -> tuple[_List, ...]:
        """Only of runs that changed nothing: a list that was told before a change says nothing of after."""
        if self._evidence.writes:
            return ()
        found = []
        for row in self._evidence.calls:
            self._evidence.keep_going()
            for key, things in _lists_in(row.response) if row.succeeded else ():
                kinds = {stem(singular(word)) for word in (*tokens(row.tool)[1:], *tokens(key))}
                every = tuple(map(_thing, things))
                fields = frozenset(stem(word) for one in every for key in one.values for word in tokens(key))
                values = frozenset(word for one in every for word in one.holds)
                found.append(_List(every, frozenset(kinds), fields, values))
        return tuple(found)

    def read(self, said: Said, focus: frozenset[str]) -> ListReading:
        if not self._lists or "?" in said.text:
            return ListReading()
        counted = self._counts(said)
        ranked = self._ranks(said, frozenset(map(bare, focus)))
        return ListReading(
            counted.words | ranked.words,
            counted.numbers | ranked.numbers,
            (*counted.strange, *ranked.strange),
        )

    # How many

    def _counts(self, said: Said) -> ListReading:
        words: frozenset[str] = frozenset()
        numbers: set[int] = set()
        strange: list[Strange] = []
        for one in said.numbers:
            every = [picked for each in self._lists if (picked := self._counted(one, said, each))]
            if any(Decimal(len(picked.places)) in one.values for picked in every):
                numbers.add(one.start)
                words |= frozenset(word for picked in every for word in picked.words)
                strange += self._wrong_members(one, said, every)
            elif len(self._lists) == 1 and every and every[0].is_sure and said.is_stated:
                told = f"{len(every[0].places)} in the list"
                strange.append(Strange(said.sentence[one.start : one.end], Reading.FALSE, told))
        return ListReading(words, frozenset(numbers), tuple(strange))

    def _wrong_members(self, one: Quantity, said: Said, every: list[_Picked]) -> Iterator[Strange]:
        """`Two plots are free: P-05 and P-07`, where another one is."""
        rest = said.sentence[one.end :].partition(":")[2]
        if not rest or len(self._lists) != 1 or not every[0].words or not every[0].is_sure:
            return
        named = self._lists[0].named_in(rest.lower())
        if Decimal(len(named)) in one.values and not named <= every[0].places:
            yield Strange(rest.strip(), Reading.FALSE, "of others")

    def _counted(self, one: Quantity, said: Said, each: _List) -> _Picked | None:
        """What the words beside a number pick out of a list; None where it counts none of its things."""
        written = said.sentence[one.start : one.end].lower()
        if one.currency or written in ORDINALS or any(v % 1 or v > LARGEST_COUNT for v in one.values):
            return None
        starts = [start for start, _ in said.leads]
        pieces = said.text.split(MARK)
        following = pieces[starts.index(one.start) + 1] if one.start in starts else ""
        following = f"{one.unit} {following}" if not following.strip().startswith(one.unit) else following
        picked = self._picked(following.partition(":")[0], each)
        names_kind = not each.kinds.isdisjoint(
            other for word in said_words(following) for other in related(word)
        )
        lead = pieces[starts.index(one.start)] if one.start in starts else ""
        if _OF_ALL.search(lead):
            return _Picked(frozenset(range(len(each.things))), frozenset(), False)
        whole = self._picked(_without(said.text.partition(":")[0], each), each)
        if whole.words - picked.words and whole.places != picked.places:
            return None  # `the open ones come to 300 across three deals`: of which are they three?
        if not names_kind and not (_COUNTS.search(following.strip()) and picked.words):
            return None
        return picked

    def _picked(self, text: str, each: _List) -> _Picked:
        """The things of which all words are so that are so of some of them only."""
        places = frozenset(range(len(each.things)))
        picking: set[str] = set()
        is_sure = True
        for found in re.finditer(r"[a-z]+", text):
            word = stem(found[0])
            if not content_stems(found[0]) - NEUTRAL and word not in each.values:
                continue
            own = each.pick(word, _NONE_BEFORE.search(text[: found.start()]) is not None)
            if 0 < len(own) < len(each.things):
                places &= own
                picking.add(word)
            elif not own and related(word).isdisjoint(each.kinds | each.fields):
                is_sure = False
        return _Picked(places, frozenset(picking), is_sure)

    # Which is the first

    def _ranks(self, said: Said, focus: frozenset[str]) -> ListReading:
        measures = measures_in(said.text)
        if not measures or len(measures) > 1:
            return ListReading()
        (measure,) = measures
        verdicts = [
            verdict
            for each in self._lists
            if (verdict := self._is_first(measure, focus, said, each)) is not None
        ]
        if any(verdicts):
            of_two = [one.start for one in said.numbers if measure.is_of_two and 2 in one.values]
            return ListReading(measure.words, frozenset(of_two[:1]))
        if verdicts and len(self._lists) == 1 and is_stated(said.text):
            return ListReading(strange=(Strange(measure.said, Reading.FALSE, "of another one"),))
        return ListReading()

    def _is_first(self, measure: Measure, focus: frozenset[str], said: Said, each: _List) -> bool | None:
        """Whether what is named is the first by the measure; None where that cannot be told."""
        named = each.named_in(said.raw)
        spoken_of = frozenset(at for at, one in enumerate(each.things) if not one.names.isdisjoint(focus))
        mine = named or each.last_named_in(said.sentence.lower().partition(said.raw.strip())[0]) or spoken_of
        fields = [key for key in self._measured(each) if measure.is_of(key)]
        said_of = {key for key in fields if frozenset(map(stem, tokens(key))) & said_words(said.text)}
        per = _PER.search(measure.following)
        if per is not None:  # `the cheapest per bottle` is measured only by a field that says so
            unit = related(stem(per["unit"]))
            fields = [key for key in fields if not unit.isdisjoint(map(stem, tokens(key)))]
        fields = [key for key in fields if key in said_of] or fields
        if len(mine) != 1 or not fields:
            return None
        if not self._picked(_BEHIND.split(_without(measure.following, each))[0], each).is_sure:
            return None
        is_first = any(
            self._extreme(measure, key, each, places) & mine
            for key in fields
            for places in self._among(said.text, each)
        )
        is_of_all = said.sentence in self._first or not said_words(measure.following).isdisjoint(each.kinds)
        return is_first or (False if named and is_of_all and len(fields) == 1 else None)

    @cached_property
    def _first(self) -> frozenset[str]:
        """How each answer begins. Further on, `the heaviest` may be meant of those that were just named."""
        return frozenset(sentences(text)[0] for text in self._evidence.responses if sentences(text))

    def _among(self, clause: str, each: _List) -> list[frozenset[int]]:
        """The things that may be compared: those that the clause picks out by more than a name, else those
        that the question does, or all."""
        asked = self._evidence.user_instruction.lower()[:LONGEST_ASKED]
        own, wished = (self._picked(_without(text, each), each) for text in (clause, asked))
        if own.words and own.places:
            return [own.places]
        return [wished.places, frozenset(range(len(each.things)))]

    def _measured(self, each: _List) -> dict[str, None]:
        """Fields with a number or a day in every thing that has them."""
        return {
            key: None for one in each.things for key, value in one.values.items() if _rank(value) is not None
        }

    def _extreme(self, measure: Measure, key: str, each: _List, places: frozenset[int]) -> frozenset[int]:
        ranked = {at: rank for at in places if (rank := _rank(each.things[at].values.get(key))) is not None}
        if len(ranked) < 2:
            return frozenset(ranked)
        best = (max if measure.is_most else min)(ranked.values())
        return frozenset(at for at, rank in ranked.items() if rank == best)


def _without(text: str, each: _List) -> str:
    """A text without the names of the things: `U-5D in Harbour House` picks nothing out."""
    names = {name for one in each.things for name in one.names}
    return re.sub(r"[\w'-]+", lambda found: " " if bare(found[0]) in names else found[0], text)


def _rank(value: Json) -> float | None:
    """Numbers as they are, days by their order."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and re.match(r"\d{4}-\d{2}-\d{2}", value):
        try:
            return float(date.fromisoformat(value[:10]).toordinal())
        except ValueError:
            return None
    return None


def _lists_in(value: Json) -> Iterator[tuple[str, Sequence[Mapping[str, Json]]]]:
    parts = value.items() if isinstance(value, dict) else [("", value)]
    for key, part in parts:
        if isinstance(part, list) and 1 < len(part) <= MOST_LISTED:
            things = [one for one in part if isinstance(one, dict)]
            if len(things) == len(part):
                yield key, things


def _thing(values: Mapping[str, Json]) -> _Thing:
    names: set[str] = set()
    holds: set[str] = set()
    lacks: set[str] = set()
    for key, value in values.items():
        words = frozenset(map(stem, tokens(key)))
        if is_nothing(value):
            lacks |= words
        elif value is True:
            holds |= words
        elif isinstance(value, (str, list)):
            texts = [value] if isinstance(value, str) else [one for one in value if isinstance(one, str)]
            for text in texts:
                if len(text) <= LONGEST_ID:
                    holds |= frozenset(map(stem, tokens(text)))
                    if isinstance(value, str) and (tokens(key)[-1] == "id" or text[:1].isupper()):
                        names |= {bare(text), *map(bare, text.split())}
    return _Thing(frozenset(names) - {""}, frozenset(holds), frozenset(lacks), values)
