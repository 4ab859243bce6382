"""The entities that an answer speaks of, with each of their fields as it was and as it is."""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

from pipelines.core.english.dates import Day, dates, times
from pipelines.core.english.stems import stem
from pipelines.core.json_text import Json
from pipelines.core.ledger import Ledger
from pipelines.core.simulation.reading.words import tokens, word_set
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.known import LARGEST_COUNT, LONGEST_ID, numbers_of

MOST_STATES = 12  # values of one field of states; one with more holds names
MOST_ENTITIES = 2_000  # of one type, of which the states are read
STATE = re.compile(r"[a-z]{3,20}(?:[_-][a-z]{2,20}){0,2}")
LEAST_TELLING = 4  # letters of a word that describes a thing
MOST_CHARACTERS = 60  # of a name
MOST_TEXTS = 200  # values of one field that are looked for; one with more holds free text
MOST_PLACES = 400  # of one thing; nobody speaks of more of it
#: Words of a field's name that do not tell it from another.
_GENERIC = frozenset(
    map(stem, word_set("date day time at on by id new number no code value is has the of in"))
)


class Thing(NamedTuple):
    entity_type: str
    id: str
    before: Mapping[str, Json]
    after: Mapping[str, Json]

    def values(self, key: str) -> list[Json]:
        return [state[key] for state in (self.before, self.after) if key in state]

    def has_only(self, key: str, value: Json) -> bool:
        return all(one == value and type(one) is type(value) for one in self.values(key))


class Place(NamedTuple):
    """One field of one thing, with a value that it has or had."""

    thing: str
    key: str
    words: frozenset[str]  # stems of the field's name that tell it from others
    value: Json
    was: bool
    is_so: bool  # after the run

    @property
    def numbers(self) -> set[Decimal]:
        is_number = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        return numbers_of(self.value) if is_number else set()

    @property
    def is_money(self) -> bool:
        return isinstance(self.value, float) or any(number > LARGEST_COUNT for number in self.numbers)

    @property
    def days(self) -> tuple[Day, ...]:
        return _days(self.value) if isinstance(self.value, str) else ()

    @property
    def minutes(self) -> frozenset[int]:
        return _minutes(self.value) if isinstance(self.value, str) else frozenset()


@lru_cache(maxsize=2048)
def _days(text: str) -> tuple[Day, ...]:
    return tuple(day for one in dates(text[:LONGEST_ID]) for day in one.days)


@lru_cache(maxsize=2048)
def _minutes(text: str) -> frozenset[int]:
    return frozenset(minute for one in times(text[:LONGEST_ID]) for minute in one.minutes)


@lru_cache(maxsize=2048)
def field_words(key: str) -> frozenset[str]:
    return frozenset(map(stem, tokens(key))) - _GENERIC


class Things:
    """The entities that the calls of a run named."""

    def __init__(self, evidence: RunEvidence, facts: Facts) -> None:
        self._evidence = evidence
        self.facts = facts
        self._places: dict[tuple[str, str], list[Place]] = {}
        self._linked: dict[tuple[tuple[str, str], ...], list[Thing]] = {}
        self._before = Ledger(evidence.world)

    @cached_property
    def vocabulary(self) -> dict[tuple[str, str], frozenset[str]]:
        """The states of each field that has some: words of the world's own."""
        found: dict[tuple[str, str], set[str]] = {}
        after = self._evidence.after
        for entity_type in after.entity_types():
            for _, attributes in islice(after.entities(entity_type), MOST_ENTITIES):
                self._evidence.keep_going()
                for key, value in attributes.items():
                    if isinstance(value, str) and STATE.fullmatch(value):
                        found.setdefault((entity_type, key), set()).add(value)
        return {place: frozenset(states) for place, states in found.items() if len(states) <= MOST_STATES}

    @cached_property
    def states(self) -> frozenset[str]:
        return frozenset(state for states in self.vocabulary.values() for state in states)

    @cached_property
    def texts(self) -> dict[tuple[str, str], frozenset[str]]:
        """The names and states of each field of a kind of thing that was seen, in lower case."""
        found: dict[tuple[str, str], set[str]] = {}
        for entity_type in {kind: None for kind, _ in self.facts.seen_entities if self.facts.records}:
            for _, attributes in islice(
                self._evidence.world.entities.get(entity_type, {}).items(), MOST_ENTITIES
            ):
                self._evidence.keep_going()
                for key, value in attributes.items():
                    if isinstance(value, str) and 2 < len(value) <= MOST_CHARACTERS and not dates(value):
                        found.setdefault((entity_type, key), set()).add(value.lower())
        return {place: frozenset(values) for place, values in found.items() if len(values) <= MOST_TEXTS}

    def described(self, sentence: str) -> frozenset[str]:
        """The things that a sentence means by words which some of those seen of their kind have, and others
        have not: `the yoga class`, of two."""
        every = (self._by_word.get(word, frozenset()) for word in _WORD.findall(sentence.lower()))
        return frozenset(id for ids in every for id in ids)

    @cached_property
    def _by_word(self) -> dict[str, frozenset[str]]:
        """Words of names that some things have, and others of their kind that were seen have not."""
        found: dict[str, set[tuple[str, str]]] = {}
        of_kind: dict[str, int] = {}
        for kind, id in self.facts.seen_entities if self.facts.records else ():
            of_kind[kind] = of_kind.get(kind, 0) + 1
            for value in (self._before.get(kind, id) or self._evidence.after.get(kind, id) or {}).values():
                if isinstance(value, str) and len(value) <= MOST_CHARACTERS:
                    for word in _WORD.findall(value.lower()):
                        if len(word) >= LEAST_TELLING and word not in self.facts.asked_kinds:
                            found.setdefault(word, set()).add((kind, id))
        return {
            word: frozenset(id.lower() for _, id in things)
            for word, things in found.items()
            if all(of_kind[kind] > len(things) for kind, _ in things)
        }

    def named(self, names: frozenset[str]) -> list[Thing]:
        """Those that go by one of these names, in the order in which they were seen."""
        found = {at: thing for name in names for at, thing in self._by_name.get(name, ())}
        return [found[at] for at in sorted(found)]

    @cached_property
    def _seen(self) -> tuple[Thing, ...]:
        found = []
        for entity_type, id in self.facts.seen_entities if self.facts.records else ():
            self._evidence.keep_going()
            before = self._before.get(entity_type, id) or {}
            found.append(Thing(entity_type, id, before, self._evidence.after.get(entity_type, id) or {}))
        return tuple(found)

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[int, Thing]]]:
        """Each thing, with its place in the order, by its id and its name."""
        found: dict[str, list[tuple[int, Thing]]] = {}
        for at, thing in enumerate(self._seen):
            names = {thing.id.lower(), *(str(thing.after.get(key, "")).lower() for key in ("name", "title"))}
            for name in names:
                found.setdefault(name, []).append((at, thing))
        return found

    def of_type(self, entity_type: str) -> list[Thing]:
        return [thing for thing in self._seen if thing.entity_type == entity_type]

    def linked(self, things: list[Thing]) -> list[Thing]:
        """Those of other kinds that these refer to, or that refer to them."""
        key = tuple((thing.entity_type, thing.id) for thing in things)
        if key not in self._linked:
            kinds = {thing.entity_type for thing in things}
            found: dict[int, Thing] = {}
            for thing in things:
                held = {str(value).lower() for _, value in _fields(thing.after)}
                for name in held & self._by_name.keys():
                    found |= {at: other for at, other in self._by_name[name] if other.id.lower() == name}
                found |= dict(self._by_reference.get(thing.id.lower(), ()))
            self._linked[key] = [found[at] for at in sorted(found) if found[at].entity_type not in kinds]
        return self._linked[key]

    @cached_property
    def _by_reference(self) -> dict[str, list[tuple[int, Thing]]]:
        """Each thing, with its place in the order, by the ids of other things that its fields hold."""
        found: dict[str, list[tuple[int, Thing]]] = {}
        for at, thing in enumerate(self._seen):
            self._evidence.keep_going()
            held = {str(value).lower() for _, value in _fields({**thing.before, **thing.after})}
            for name in held & self._by_name.keys():
                found.setdefault(name, []).append((at, thing))
        return found

    def acted_on(self, id: str) -> bool:
        """Whether a call that changed something was about it."""
        return id.lower() in self.facts.touched

    def places(self, thing: Thing) -> list[Place]:
        """Every field of a thing, and what calls about it alone answered beside."""
        key = thing.entity_type, thing.id
        if key not in self._places:
            was, now = [*_fields(thing.before)], [*_fields(thing.after)]
            found = [
                Place(thing.id, name, field_words(name), value, True, (name, value) in now)
                for name, value in was
            ]
            found += [
                Place(thing.id, name, field_words(name), value, False, True)
                for name, value in now
                if (name, value) not in was
            ]
            self._places[key] = [*found, *self._answered(thing, {name for name, _ in now})][:MOST_PLACES]
        return self._places[key]

    def _answered(self, thing: Thing, own: set[str]) -> Iterator[Place]:
        for row in self._evidence.calls:
            given = row.arguments if isinstance(row.arguments, dict) else {}
            if row.succeeded and thing.id.lower() in {str(value).lower() for value in given.values()}:
                told = row.response if isinstance(row.response, dict) else {}
                is_list = any(isinstance(value, list) for value in told.values())
                for name, value in () if is_list else _fields({**given, **told}):
                    if name not in own:
                        yield Place(thing.id, name, field_words(name), value, False, True)


def _fields(attributes: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Scalars by the name they stand under, however deep."""
    pending: list[tuple[str, Json]] = list(attributes.items())
    seen = 0
    while pending and seen < MOST_PLACES:
        name, value = pending.pop()
        seen += 1
        if isinstance(value, dict):
            pending.extend(value.items())
        elif isinstance(value, list):
            yield name, len(value)
            pending.extend((name, below) for below in value)
        else:
            yield name, value


_WORD = re.compile(r"[a-z]+")


def said_words(text: str) -> frozenset[str]:
    """The stems of every word, also of those that mostly say nothing: a field may be called `due`."""
    return frozenset(stem(word) for word in _WORD.findall(text))


def of_one(places: Iterable[Place], wanted: set[Decimal], is_exact: bool) -> list[Place]:
    """Those that hold a number; one that is given to the cent is no count."""
    return [place for place in places if place.numbers & wanted and (place.is_money or not is_exact)]
