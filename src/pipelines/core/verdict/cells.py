"""A run as cells: of which record, in which field, which value, and when it was so.

world and log -> things (records that calls or replies named) -> cells. What an answer says is held against
cells; a value that stands in another record or another field than the answer speaks of bears out nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from enum import Enum, auto
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

from pipelines.core.english.dates import Day, dates, times
from pipelines.core.english.stems import stem
from pipelines.core.json_text import Json
from pipelines.core.ledger import Ledger
from pipelines.core.simulation.reading.words import tokens, word_set
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.known import LARGEST_COUNT, LONGEST_ID, numbers_of

MOST_STATES = 12  # values of one field of states; one with more holds names
MOST_ENTITIES = 2_000  # of one type, of which the values are read
MOST_CHARACTERS = 60  # of a name
MOST_TEXTS = 200  # values of one field that are looked for; one with more holds free text
MOST_OF_ONE = 400  # cells of one thing or call; nobody speaks of more of it
MOST_CELLS = 4_000  # of all calls
LEAST_TELLING = 4  # letters of a word that describes a thing
STATE = re.compile(r"[a-z]{3,20}(?:[_-][a-z]{2,20}){0,2}")
#: Words of a field's name that do not tell it from another.
_GENERIC = frozenset(
    map(stem, word_set("date day time at on by id new number no code value is has the of in"))
)
_WORD = re.compile(r"[a-z]+")


class When(Enum):
    WAS = auto()  # before the run, and not any more
    IS = auto()  # after the run
    GIVEN = auto()  # to a call that worked
    TOLD = auto()  # by its reply
    TRIED = auto()  # given to a call that was refused


class Cell(NamedTuple):
    record: str  # the id of the thing, in lower case; "" of a call about none
    field: str
    words: frozenset[str]  # stems of the field's name that tell it from others
    value: Json
    when: When
    row: int = 0  # the call's sequence; 0 of the world

    @property
    def numbers(self) -> set[Decimal]:
        is_number = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        return numbers_of(self.value, self.field) if is_number else set()

    @property
    def is_amount(self) -> bool:
        """Has a fraction, or is too large for a count."""
        return isinstance(self.value, float) or any(number > LARGEST_COUNT for number in self.numbers)

    @property
    def days(self) -> tuple[Day, ...]:
        return _days(self.value) if isinstance(self.value, str) else ()

    @property
    def minutes(self) -> frozenset[int]:
        return _minutes(self.value) if isinstance(self.value, str) else frozenset()

    def told(self) -> str:
        return (
            f"{self.field} of {self.record} is {self.value}" if self.record else f"{self.field} {self.value}"
        )


@lru_cache(maxsize=2048)
def _days(text: str) -> tuple[Day, ...]:
    return tuple(day for one in dates(text[:LONGEST_ID]) for day in one.days)


@lru_cache(maxsize=2048)
def _minutes(text: str) -> frozenset[int]:
    return frozenset(minute for one in times(text[:LONGEST_ID]) for minute in one.minutes)


@lru_cache(maxsize=2048)
def field_words(key: str) -> frozenset[str]:
    return frozenset(map(stem, tokens(key))) - _GENERIC


def said_words(text: str) -> frozenset[str]:
    """The stems of every word, also of those that mostly say nothing: a field may be called `due`."""
    return frozenset(stem(word) for word in _WORD.findall(text))


class Thing(NamedTuple):
    entity_type: str
    id: str
    before: Mapping[str, Json]
    after: Mapping[str, Json]

    def values(self, key: str) -> list[Json]:
        return [state[key] for state in (self.before, self.after) if key in state]


class Scope(NamedTuple):
    """What a clause speaks of: its things, those that belong to them, and the cells of both."""

    own: tuple[Thing, ...]
    linked: tuple[Thing, ...]
    cells: tuple[Cell, ...]
    ids: frozenset[str]  # of its own things; none where the clause names nothing
    changed: frozenset[tuple[str, str]]  # records and fields that the run gave another value

    def of_field(self, cell: Cell) -> "Scope":
        """The cells of the same record and field alone."""
        same = tuple(c for c in self.cells if (c.record, c.field) == (cell.record, cell.field))
        return self._replace(cells=same)

    @property
    def is_single(self) -> bool:
        """Whether one call at most told its numbers: then what it told is what is meant."""
        return len({cell.row for cell in self.cells if cell.when is When.TOLD}) <= 1

    def has_changed(self, cell: Cell) -> bool:
        return (cell.record, cell.field) in self.changed

    def is_own(self, cell: Cell) -> bool:
        return not self.ids or cell.record in self.ids


class Cells:
    """The records that a run named, and every cell of them."""

    def __init__(self, evidence: RunEvidence, facts: Facts) -> None:
        self.evidence = evidence
        self.facts = facts
        self._before = Ledger(evidence.world)
        self._scopes: dict[frozenset[str], Scope] = {}
        self._of_things: dict[tuple[str, str], tuple[Cell, ...]] = {}

    # Things

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        found = []
        for entity_type, id in self.facts.seen_entities if self.facts.records else ():
            self.evidence.keep_going()
            before = self._before.get(entity_type, id) or {}
            found.append(Thing(entity_type, id, before, self.evidence.after.get(entity_type, id) or {}))
        return tuple(found)

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[int, Thing]]]:
        """Each thing, with its place in the order, by its id and its name."""
        found: dict[str, list[tuple[int, Thing]]] = {}
        for at, thing in enumerate(self.things):
            names = {thing.id.lower(), *(str(thing.after.get(key, "")).lower() for key in ("name", "title"))}
            for name in names:
                found.setdefault(name, []).append((at, thing))
        return found

    def named(self, names: Iterable[str]) -> list[Thing]:
        """Those that go by one of these names, in the order in which they were seen."""
        found = {at: thing for name in names for at, thing in self._by_name.get(name, ())}
        return [found[at] for at in sorted(found)]

    def linked(self, things: Iterable[Thing]) -> list[Thing]:
        """Those of other kinds that these refer to, or that refer to them."""
        things = [*things]
        kinds = {thing.entity_type for thing in things}
        found: dict[int, Thing] = {}
        for thing in things:
            held = {str(value).lower() for _, value in scalars(thing.after)}
            for name in held & self._by_name.keys():
                found |= {at: other for at, other in self._by_name[name] if other.id.lower() == name}
            found |= dict(self._by_reference.get(thing.id.lower(), ()))
        return [found[at] for at in sorted(found) if found[at].entity_type not in kinds]

    def _handled_with(self, things: list[Thing]) -> list[Thing]:
        """What a call that changed something was given or wrote, where these are among it: `your credits`, of
        a package that was bought."""
        ids = {thing.id.lower() for thing in things}
        found: list[Thing] = []
        for row in self.evidence.writes if ids else ():
            part = {str(getattr(update, "id", "")).lower() for update in row.updates}
            part |= {str(value).lower() for _, value in scalars(row.arguments)}
            found += self.named(part) if row.succeeded and part & ids else []
        kinds = {thing.entity_type for thing in things}
        return [thing for thing in found if thing.entity_type not in kinds]

    @cached_property
    def _by_reference(self) -> dict[str, list[tuple[int, Thing]]]:
        """Each thing, with its place in the order, by the ids of other things that its fields hold."""
        found: dict[str, list[tuple[int, Thing]]] = {}
        for at, thing in enumerate(self.things):
            self.evidence.keep_going()
            held = {str(value).lower() for _, value in scalars({**thing.before, **thing.after})}
            for name in held & self._by_name.keys():
                found.setdefault(name, []).append((at, thing))
        return found

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
        for thing in self.things:
            of_kind[thing.entity_type] = of_kind.get(thing.entity_type, 0) + 1
            for value in (thing.before or thing.after).values():
                if isinstance(value, str) and len(value) <= MOST_CHARACTERS:
                    for word in _WORD.findall(value.lower()):
                        if len(word) >= LEAST_TELLING and word not in self.facts.asked_kinds:
                            found.setdefault(word, set()).add((thing.entity_type, thing.id))
        return {
            word: frozenset(id.lower() for _, id in things)
            for word, things in found.items()
            if all(of_kind[kind] > len(things) for kind, _ in things)
        }

    # The world's own vocabulary

    @cached_property
    def texts(self) -> dict[tuple[str, str], frozenset[str]]:
        """The names and states of each field of a kind of thing that was seen, in lower case."""
        found: dict[tuple[str, str], set[str]] = {}
        seen = {thing.entity_type for thing in self.things}
        for entity_type in dict.fromkeys((*sorted(seen), *self.evidence.world.entities)):
            known = self.evidence.world.entities.get(entity_type, {}).values()
            touched = (thing.after for thing in self.things if thing.entity_type == entity_type)
            for attributes in islice((*touched, *known), MOST_ENTITIES):
                self.evidence.keep_going()
                for key, value in attributes.items():
                    if isinstance(value, str) and 2 < len(value) <= MOST_CHARACTERS and not dates(value):
                        found.setdefault((entity_type, key), set()).add(value.lower())
        # Of kinds that were not seen only the states: their names may be any words.
        states = {
            place: frozenset(value for value in values if STATE.fullmatch(value))
            for place, values in found.items()
            if place[0] not in seen and place[1].lower() in ("status", "state", "stage")
        }
        own = {place: values for place, values in found.items() if place[0] in seen}
        return {
            place: frozenset(values)
            for place, values in {**states, **own}.items()
            if len(values) <= MOST_TEXTS
        }

    @cached_property
    def proper_names(self) -> frozenset[str]:
        """Values that are written with a capital, in lower case."""
        things = (
            value
            for thing in self.things
            for state in (thing.before, thing.after)
            for value in state.values()
        )
        worlds = (
            value
            for kind in {thing.entity_type for thing in self.things}
            for attributes in islice(self.evidence.world.entities.get(kind, {}).values(), MOST_ENTITIES)
            for value in attributes.values()
        )
        return frozenset(
            value.lower() for value in (*things, *worlds) if isinstance(value, str) and value[:1].isupper()
        )

    @cached_property
    def states(self) -> frozenset[str]:
        """Words that say how a thing is, in fields that have few of them."""
        fields = (values for values in self.texts.values() if len(values) <= MOST_STATES)
        return frozenset(value for values in fields for value in values if STATE.fullmatch(value))

    # Cells

    def scope(self, names: frozenset[str]) -> Scope:
        """Of what goes by these names; of everything that was seen where there is none."""
        if names not in self._scopes:
            own = self.named(names)
            linked = self.linked(own) if own else []
            linked += [thing for thing in self._handled_with(own) if thing not in linked and thing not in own]
            things = [*own, *linked] if own else [*self.things]
            ids = frozenset(thing.id.lower() for thing in things)
            every = {thing.id.lower() for thing in self.things}
            cells = [cell for thing in things for cell in self.of(thing)]
            stale = {(cell.record, cell.field, str(cell.value)) for cell in cells if cell.when is When.WAS}
            for row, of_row in self._of_calls:
                about = self._about(row) & every
                if not own or about & ids or not about:
                    cells += (cell for cell in of_row if not own or not cell.record or cell.record in ids)
            now = [
                cell._replace(when=When.WAS)
                if cell.when is When.TOLD and (cell.record, cell.field, str(cell.value)) in stale
                else cell
                for cell in cells
            ]
            own_ids = frozenset(thing.id.lower() for thing in own)
            changed = frozenset((cell.record, cell.field) for cell in now if cell.when is When.WAS)
            every_cell = tuple(dict.fromkeys(now))
            self._scopes[names] = Scope(tuple(own), tuple(linked), every_cell, own_ids, changed)
        return self._scopes[names]

    def of(self, thing: Thing) -> tuple[Cell, ...]:
        key = thing.entity_type, thing.id
        if key not in self._of_things:
            record = thing.id.lower()
            now = [*scalars(thing.after)]
            was = [pair for pair in scalars(thing.before) if pair not in now]
            found = [Cell(record, name, field_words(name), value, When.IS) for name, value in now]
            found += [Cell(record, name, field_words(name), value, When.WAS) for name, value in was]
            self._of_things[key] = tuple(found[:MOST_OF_ONE])
        return self._of_things[key]

    @cached_property
    def _of_calls(self) -> list[tuple[EvidenceRow, list[Cell]]]:
        found: list[tuple[EvidenceRow, list[Cell]]] = []
        seen = 0
        for row in self.evidence.calls:
            self.evidence.keep_going()
            about = [name for name in self._about(row) if name in self._by_name]
            record = about[0] if len(about) == 1 else ""
            cells = [*self._of_call(row, record)][:MOST_OF_ONE]
            found.append((row, cells))
            seen += len(cells)
            if seen > MOST_CELLS:
                break
        return found

    def _of_call(self, row: EvidenceRow, record: str) -> Iterator[Cell]:
        when = When.GIVEN if row.succeeded else When.TRIED
        for name, value in scalars(row.arguments):
            yield Cell(record, name, field_words(name), value, when, row.sequence)
        if not row.succeeded:
            return
        for part in _objects(row.response):
            own = self._id_in(part)
            for name, value in part:
                yield Cell(own or record, name, field_words(name), value, When.TOLD, row.sequence)

    def _id_in(self, part: list[tuple[str, Json]]) -> str:
        """The thing that an object of a reply is: by its `id`, else by the first id of a thing in it."""
        for key, value in sorted(part, key=lambda pair: pair[0].lower() not in ("id", "name")):
            is_key = key.lower() == "id" or key.lower().endswith(("_id", "id", "name", "number"))
            if is_key and isinstance(value, (str, int)) and str(value).lower() in self._by_name:
                return self._by_name[str(value).lower()][0][1].id.lower()
        return ""

    def _about(self, row: EvidenceRow) -> frozenset[str]:
        """Short texts that a call was given or answered, in lower case: ids among them."""
        given = row.arguments.values() if isinstance(row.arguments, dict) else ()
        answered = row.response.values() if isinstance(row.response, dict) else ()
        return frozenset(str(value).lower() for value in (*given, *answered) if isinstance(value, (str, int)))

    def deeds(self, ids: frozenset[str]) -> frozenset[str]:
        """Stems of what calls that changed something did to these things: their names and answers."""
        found: set[str] = set()
        for row in self.evidence.writes:
            touched = {str(getattr(update, "id", "")).lower() for update in row.updates} | self._about(row)
            if row.succeeded and (not ids or touched & ids):
                texts = [value for _, value in scalars(row.response) if isinstance(value, str)]
                words = (*tokens(row.tool), *(word for text in texts for word in tokens(text[:LONGEST_ID])))
                found.update(map(stem, words))
        return frozenset(found)

    def of_row(self, sequence: int) -> list[Cell]:
        """What one call was given and answered, and what it wrote."""
        for row, cells in self._of_calls:
            if row.sequence == sequence:
                ids = {str(getattr(update, "id", "")).lower() for update in row.updates} | self._about(row)
                written = [cell for thing in self.named(ids) for cell in self.of(thing)]
                return [*cells, *written]
        return []


def _objects(value: Json) -> Iterator[list[tuple[str, Json]]]:
    """A reply taken apart: every object of a list is a thing of its own; a list counts as its length."""
    pending: list[Json] = [value]
    seen = 0
    while pending and seen < MOST_OF_ONE:
        node = pending.pop()
        seen += 1
        if isinstance(node, list):
            pending.extend(part for part in node if isinstance(part, (dict, list)))
        elif isinstance(node, dict):
            own: list[tuple[str, Json]] = []
            for key, below in node.items():
                if isinstance(below, list) and any(isinstance(part, dict) for part in below):
                    own.append((key, len(below)))
                    pending.append(below)
                else:
                    own += scalars({key: below})
            yield own
        elif node is not None:
            yield [("", node)]


def scalars(value: Json | Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Scalars by the name they stand under, however deep; of a list its length, too."""
    pending: list[tuple[str, Json]] = [("", value)]  # type: ignore[list-item]  # a mapping of JSON
    seen = 0
    while pending and seen < MOST_OF_ONE:
        name, node = pending.pop()
        seen += 1
        if isinstance(node, Mapping):
            pending.extend(node.items())
        elif isinstance(node, list):
            yield name, len(node)
            pending.extend((name, below) for below in node)
        else:
            yield name, node
