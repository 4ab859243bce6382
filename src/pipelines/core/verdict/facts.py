"""What a run holds that words can be looked up in: numbers, days and words, by the things they belong to.

A record is one thing as the agent was told of it: an object of a reply with what it was asked by, or an
entity that a call named. Facts of one record belong together; facts of two do not.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import combinations

from pipelines.core.english.dates import Day, dates, times
from pipelines.core.english.numbers import Quantity, quantities
from pipelines.core.json_text import Json
from pipelines.core.ledger import Ledger, Update
from pipelines.core.simulation.reading.words import tokens
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.speech import content_stems, sentences, stem

LONGEST_TEXT = 4_000  # characters of one value that are read; nobody answers with more of it
LONGEST_ID = 80
MOST_ADDED = 12  # numbers of which every sum and difference of two counts as told
LARGEST_COUNT = 31
MOST_RECORDS = 2_000
_NAMES_A_THING = re.compile(r"(?:id|ids|number|no|code|ref|reference|name)$")


@dataclass  # no slots: what is worked out is kept on the record
class Known:
    """All that some records say, ready to be looked up."""

    numbers: set[Decimal] = field(default_factory=set)
    fields: dict[str, set[Decimal]] = field(default_factory=dict)  # by each word of a field's name
    days: set[Day] = field(default_factory=set)
    times: set[int] = field(default_factory=set)  # minutes of the day
    stems: set[str] = field(default_factory=set)

    def learn(self, value: Json) -> None:
        """Numbers, days and words of a value and of all that it holds, the names of its fields too."""
        pending: list[tuple[frozenset[str], Json]] = [(frozenset(), value)]
        while pending:
            named, node = pending.pop()
            if isinstance(node, dict):
                keys = [(content_stems(" ".join(tokens(key))), below) for key, below in node.items()]
                self.stems.update(stem for stems, _ in keys for stem in stems)
                pending.extend(keys)
            elif isinstance(node, list):
                self._count(named, {Decimal(len(node))})
                pending.extend((named, below) for below in node)
            elif isinstance(node, str):
                self.read(node)
            elif isinstance(node, (int, float)) and not isinstance(node, bool):
                self._count(named, _numbers(node))

    def _count(self, named: frozenset[str], numbers: set[Decimal]) -> None:
        self.numbers |= numbers
        for word in named:
            self.fields.setdefault(word, set()).update(numbers)

    def read(self, text: str) -> None:
        text = text[:LONGEST_TEXT]
        for one in quantities(text):
            self._count(
                frozenset({stem(one.unit)} if one.unit else ()), {abs(number) for number in one.values}
            )
        self.days.update(day for one in dates(text) for day in one.days)
        self.times.update(minute for one in times(text) for minute in one.minutes)
        self.stems |= content_stems(text)
        self.stems |= content_stems(" ".join(tokens(text))) if len(text) <= LONGEST_ID else set()

    def has_number(self, number: Quantity) -> bool:
        """As told; amounts also in cents, or worked out of two that were told. Any small count could be."""
        wanted = {abs(value) for value in number.values}
        if wanted & self.numbers:
            return True
        amounts = {value for value in wanted if number.currency or value > LARGEST_COUNT}
        scaled = {each for value in amounts for each in (value * 100, value / 100)}
        return bool(scaled & self.numbers or amounts & self.worked_out)

    @cached_property
    def worked_out(self) -> set[Decimal]:
        """Asked for when everything is learned."""
        few = sorted(self.numbers)[-MOST_ADDED:]
        pairs = [*combinations(few, 2)]
        found = {a + b for a, b in pairs} | {abs(a - b) for a, b in pairs} | {sum(few, Decimal())}
        found |= (
            {a * b for a, b in pairs} | {a * b / 100 for a, b in pairs} | {b - a * b / 100 for a, b in pairs}
        )
        return {number.normalize() for number in found}

    @cached_property
    def weekdays(self) -> set[str]:
        """Of the days that are told with their year."""
        return {date(day.year, day.month, day.day).strftime("%A").lower() for day in self.days if day.year}

    def has_day(self, days: Iterable[Day]) -> bool:
        return any(day.agrees_with(known) for day in days for known in self.days)


def _numbers(value: Json) -> set[Decimal]:
    number = Decimal(str(value))
    return {abs(number).normalize()} if number.is_finite() and abs(number.adjusted()) < LONGEST_ID else set()


@dataclass(frozen=True, slots=True)
class Record:
    values: tuple[Json, ...]
    ids: frozenset[str]  # short texts and numbers in it, in lower case: by these it is named


class Facts:
    """The records of a run."""

    def __init__(self, evidence: RunEvidence) -> None:
        self._evidence = evidence
        self._known: dict[frozenset[str], Known] = {}
        self.is_refusal = evidence.expected_outcome == "refusal"

    @cached_property
    def records(self) -> tuple[Record, ...]:
        found: list[Record] = []
        for row in self._evidence.calls:
            self._evidence.keep_going()
            found += [_record([row.tool, row.arguments, part]) for part in _parts(row)]
            if len(found) > MOST_RECORDS:
                break
        return (*found, *self._entities({id for record in found for id in record.ids}))

    def _entities(self, seen: set[str]) -> Iterator[Record]:
        """Entities that the calls named, as they were and as they are: the agent saw no others."""
        before, after = Ledger(self._evidence.world), self._evidence.after
        for entity_type in after.entity_types():
            self._evidence.keep_going()
            for ledger in (before, after):
                for id in filter(None, (self._resolved(ledger, entity_type, name) for name in sorted(seen))):
                    yield _record([{"type": entity_type, "id": id}, dict(ledger.get(entity_type, id) or {})])

    def _resolved(self, ledger: Ledger, entity_type: str, name: str) -> str | None:
        self._evidence.keep_going()  # replies may name very many things
        return ledger.resolve_id(entity_type, name)

    @cached_property
    def given(self) -> Known:
        """What the task itself says: the user's words, the rules, the declared tools."""
        known = Known()
        for text in (self._evidence.user_instruction, *self._evidence.later_user_turns):
            known.stems |= content_stems(text[:LONGEST_TEXT])  # a number the user gave is not yet a fact
        known.read(self._evidence.behavior_instructions or "")
        known.learn(self._evidence.task_input)
        for row in self._evidence.calls:
            known.stems |= content_stems(" ".join(tokens(row.tool)))
        return known

    @cached_property
    def asked(self) -> Known:
        """The user's own words, numbers included."""
        known = Known()
        for text in (self._evidence.user_instruction, *self._evidence.later_user_turns):
            known.read(text)
        return known

    @cached_property
    def names(self) -> dict[str, frozenset[str]]:
        """What records go by, letters and digits only, and how they spell it."""
        found: dict[str, set[str]] = {}
        for record in self.records:
            for id in record.ids:
                found.setdefault(bare(id), set()).add(id)
        return {name: frozenset(ids) for name, ids in found.items() if name}

    @cached_property
    def subjects(self) -> dict[str, frozenset[str]]:
        """What a sentence can name a thing by: its id, or its name."""
        found: dict[str, set[str]] = {}
        for record in self.records:
            for key, value in _keyed(list(record.values)):
                if key in ("id", "name", "title") or _NAMES_A_THING.search(key):
                    found.setdefault(bare(value), set()).add(value.lower())
        return {name: frozenset(ids) for name, ids in found.items() if len(name) > 1}

    @cached_property
    def subject_starts(self) -> frozenset[str]:
        """By which a word that begins no name is passed over quickly."""
        return frozenset(name[:2] for name in self.subjects)

    @cached_property
    def asked_bare(self) -> frozenset[str]:
        """The words of the user that can be ids."""
        texts = (self._evidence.user_instruction, *self._evidence.later_user_turns)
        return frozenset(bare(word) for text in texts for word in text[:LONGEST_TEXT].split())

    @cached_property
    def sayings(self) -> tuple[frozenset[str], ...]:
        """Each sentence of the rules and of the backend: denials and promises may be quoted from them."""
        texts = [*sentences(self._evidence.behavior_instructions or "")]
        for row in self._evidence.calls:
            texts += [text for text in _texts(row.response) if " " in text]
        tools = frozenset(
            stem for row in self._evidence.calls for stem in content_stems(" ".join(tokens(row.tool)))
        )
        return tuple(content_stems(text[:LONGEST_TEXT]) | tools for text in texts)

    @cached_property
    def everything(self) -> Known:
        return self._learned(self.records)

    @cached_property
    def outdated(self) -> dict[str, frozenset[Decimal]]:
        """Numbers that the run changed, by the words of their field: what they were."""
        before = Ledger(self._evidence.world)
        found: dict[str, set[Decimal]] = {}
        for row in self._evidence.writes:
            for update in self._evidence.changes_of(row):
                if not isinstance(update, Update):
                    continue
                old = before.get(update.entity_type, update.id) or {}
                for key, value in old.items():
                    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
                    if is_number and update.set.get(key, value) != value:
                        for word in content_stems(" ".join(tokens(key))):
                            found.setdefault(word, set()).update(_numbers(value))
        return {word: frozenset(numbers) for word, numbers in found.items()}

    def about(self, ids: frozenset[str]) -> Known:
        """What the records that name these ids say, and those that they name in turn."""
        if ids not in self._known:
            named = [record for record in self.records if record.ids & ids]
            linked = ids | {id for record in named for id in record.ids if any(map(str.isdigit, id))}
            self._known[ids] = self._learned(r for r in self.records if r.ids & linked) if named else Known()
        return self._known[ids]

    def _learned(self, records: Iterable[Record]) -> Known:
        known = Known()
        known.stems |= self.given.stems
        known.numbers |= self.given.numbers
        known.days |= self.given.days
        known.times |= self.given.times
        for record in records:
            self._evidence.keep_going()
            for value in record.values:
                known.learn(value)
        return known


def _parts(row: EvidenceRow) -> list[Json]:
    """A reply taken apart: every object of a list is a thing of its own."""
    updates: list[Json] = [update.as_json() for update in row.updates]
    return [*_apart(row.response), *updates]


def _apart(value: Json) -> Iterator[Json]:
    lists = [part for part in _values(value) if _is_list_of_things(part)]
    if not lists:
        yield value
        return
    own: Json = (
        {key: part for key, part in value.items() if not _is_list_of_things(part)}
        if isinstance(value, dict)
        else {}
    )
    yield own
    yield {"count": sum(len(part) for part in lists if isinstance(part, list))}
    for part in lists:
        for thing in part if isinstance(part, list) else ():
            yield [own, thing]


def _values(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return [value] if isinstance(value, list) else []


def _is_list_of_things(value: Json) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(part, dict) for part in value)


def _record(values: list[Json]) -> Record:
    return Record(tuple(values), frozenset(_ids(values)))


def _ids(values: Json) -> Iterator[str]:
    pending = [values]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, str) and 0 < len(node) <= LONGEST_ID:
            yield node.lower()
        elif isinstance(node, int) and not isinstance(node, bool):
            yield str(node)


def _keyed(value: Json) -> Iterator[tuple[str, str]]:
    pending: list[tuple[str, Json]] = [("", value)]
    while pending:
        key, node = pending.pop()
        if isinstance(node, dict):
            pending.extend((name.lower(), below) for name, below in node.items())
        elif isinstance(node, list):
            pending.extend((key, below) for below in node)
        elif isinstance(node, str) and len(node) <= LONGEST_ID:
            yield key, node
        elif isinstance(node, int) and not isinstance(node, bool):
            yield key, str(node)


_NOT_BARE = re.compile(r"[^a-z0-9]")


def bare(text: str) -> str:
    """Letters and digits, in lower case."""
    low = text.lower()
    return low if low.isalnum() and low.isascii() else _NOT_BARE.sub("", low)


def _texts(value: Json) -> Iterator[str]:
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, (dict, list)):
            pending.extend(node.values() if isinstance(node, dict) else node)
