"""What a run holds that words can be looked up in: numbers, days and words, by the things they belong to.

A record is one thing as the agent was told of it: an object of a reply with what it was asked by, or an
entity that a call named. Facts of one record belong together; facts of two do not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from pipelines.core.english.dates import Day, dates
from pipelines.core.english.idioms import plain_verbs
from pipelines.core.english.numbers import quantities
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.json_text import Json
from pipelines.core.ledger import Ledger
from pipelines.core.simulation.reading.words import tokens
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.known import LONGEST_TEXT, Known, is_nothing, numbers_of
from pipelines.core.verdict.records import (
    NAMES_A_THING,
    Record,
    all_stems,
    bare,
    content,
    ids_in,
    is_list_of_things,
    keyed,
    parts_of_row,
    record_of,
    states_in,
    texts_in,
    values_of,
)
from pipelines.core.verdict.speech import Signed, content_stems, sentences, signed_words
from pipelines.core.verdict.tool_words import writing_tools

MOST_RECORDS = 2_000
LONGEST_STATE = 30  # characters of a value that says how a thing is
LEAST_SPACES = 3  # of a sentence: "Dr. Shah" says nothing
MOST_READ_ALONE = 100  # records that a sentence can be about without naming them


class Saying(NamedTuple):
    """A sentence of the rules or of the backend."""

    stems: frozenset[str]
    is_denied: bool
    words: frozenset[str]  # its own, without the names of tools
    numbers: frozenset[Decimal] = frozenset()
    percents: frozenset[Decimal] = frozenset()
    is_carried_out: bool = False  # says what a tool does that was called and worked


_TODAY = re.compile(r"(?:today(?:'s\s+date)?|the\s+date)\s+is\b", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:not|never|no|cannot|without|unless|only|refused|rejected|neither|nor)\b|n't\b")


_ON_CONDITION = re.compile(
    r"\b(?:if|when|unless|until|only|may|can|up\s+to|at\s+most|after|before|once|optional\w*)\b"
)


def _saying(text: str, tools: frozenset[str], is_done: bool) -> Saying:
    numbers = quantities(text)
    low = text.lower()
    words = content_stems(text)
    return Saying(
        stems=words | tools,
        words=words,
        is_denied=_DENIES.search(low) is not None,
        numbers=frozenset(abs(value).normalize() for one in numbers for value in one.values),
        percents=frozenset(
            abs(value).normalize() for one in numbers if one.unit == "%" for value in one.values
        ),
        is_carried_out=is_done and _ON_CONDITION.search(low) is None,
    )


class Facts:
    """The records of a run."""

    def __init__(self, evidence: RunEvidence) -> None:
        self._evidence = evidence
        self._known: dict[frozenset[str], Known] = {}
        self.seen_entities: dict[tuple[str, str], None] = {}  # filled as the records are read
        self.is_refusal = evidence.expected_outcome == "refusal"

    def day_of_run(self, days_later: int = 0) -> Day | None:
        """The day on which the run started in its world, or one so much later; None where it is not known."""
        if self._today is None:
            return None
        try:
            day = self._today + timedelta(days=days_later)
        except OverflowError:  # before the first day there is
            return None
        return Day(day.month, day.day, day.year)

    @cached_property
    def _today(self) -> date | None:
        """As the run has it; else as the rules say: `Today is Monday 3 March 2025`."""
        if self._evidence.now is not None:
            return datetime.fromisoformat(self._evidence.now).date()
        for sentence in sentences(self._evidence.behavior_instructions or ""):
            said = _TODAY.match(sentence)
            found = dates(sentence[said.end() :]) if said is not None else []
            days = [day for one in found[:1] for day in one.days if day.year]
            if len(days) == 1:
                return date(days[0].year or 1, days[0].month, days[0].day)
        return None

    @cached_property
    def records(self) -> tuple[Record, ...]:
        found: list[Record] = []
        for row in self._evidence.calls:
            self._evidence.keep_going()
            found += [record_of([row.tool, row.arguments, part]) for part in parts_of_row(row)]
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
                    self.seen_entities[entity_type, id] = None
                    yield record_of(
                        [{"type": entity_type, "id": id}, dict(ledger.get(entity_type, id) or {})]
                    )

    def tells(self, id: str, value: str) -> bool:
        """Whether any record that names the id also holds this text."""
        wanted, low = value.lower(), id.lower()
        return any(low in record.ids and wanted in record.ids for record in self.records)

    def tells_of(self, word: str) -> bool:
        """Whether a rule, a tool, a reply or the user speaks of it."""
        meant = related(stem(word))
        said = (*(one.stems for one in self.sayings), *self.refusals, self.done.stems, self.asked.stems)
        return any(not stems.isdisjoint(meant) for stems in said)

    def _resolved(self, ledger: Ledger, entity_type: str, name: str) -> str | None:
        self._evidence.keep_going()  # replies may name very many things
        return ledger.resolve_id(entity_type, name)

    @cached_property
    def given(self) -> Known:
        """What the task itself says: the rules, the called tools, and of the user the words."""
        known = Known()
        known.read(self._evidence.behavior_instructions or "")
        known.learn(self._evidence.task_input)
        called = {row.tool for row in self._evidence.calls}
        for name in called:
            known.stems |= content_stems(" ".join(tokens(name)))
        for tool in self._evidence.tools:
            if tool.name in called:
                known.read(tool.description)
        known.states = set()  # a rule names states; it does not say that anything is in one
        for text in self._turns:
            for sentence in sentences(text[:LONGEST_TEXT]):
                if not is_question(sentence):  # nor is a number the user gave yet a fact
                    known.heard |= content_stems(sentence)
        return known

    @property
    def _turns(self) -> tuple[str, ...]:
        return (self._evidence.user_instruction, *self._evidence.later_user_turns)

    @cached_property
    def asked(self) -> Known:
        """The user's own words, numbers included."""
        known = Known()
        for text in self._turns:
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
            for key, value in keyed(list(record.values)):
                if key in ("id", "name", "title") or NAMES_A_THING.search(key):
                    found.setdefault(bare(value), set()).add(value.lower())
        for first, names in self._first_names(found).items():
            found.setdefault(first, names)
        return {name: frozenset(ids) for name, ids in found.items() if len(name) > 1}

    def _first_names(self, found: Mapping[str, set[str]]) -> dict[str, set[str]]:
        """`Ben`, of Ben Cole, where nobody else is called so."""
        named: dict[str, set[str]] = {}
        for name in {name for names in found.values() for name in names}:
            first, _, rest = name.partition(" ")
            if rest and rest.isascii() and len(first) > 2 and first.isalpha() and content_stems(first):
                named.setdefault(first, set()).add(name)
        return {first: names for first, names in named.items() if len(names) == 1}

    @cached_property
    def subject_starts(self) -> frozenset[str]:
        """By which a word that begins no name is passed over quickly."""
        return frozenset(name[:2] for name in self.subjects)

    @cached_property
    def asked_bare(self) -> frozenset[str]:
        """The words of the user that can be ids."""
        return frozenset(bare(word) for text in self._turns for word in text[:LONGEST_TEXT].split())

    @cached_property
    def sayings(self) -> tuple["Saying", ...]:
        """Each sentence of the rules and of the backend: denials and promises may be quoted from them."""
        worked = {row.tool for row in self._evidence.calls if row.succeeded}
        texts = [(text, False) for text in sentences(self._evidence.behavior_instructions or "")]
        for tool in self._evidence.tools:
            texts += [(text, tool.name in worked) for text in sentences(tool.description)]
        for row in self._evidence.calls:
            texts += [(text, False) for text in texts_in(row.response) if text.count(" ") >= LEAST_SPACES]
        tools = frozenset(
            word for row in self._evidence.calls for word in content_stems(" ".join(tokens(row.tool)))
        )
        return tuple(_saying(text[:LONGEST_TEXT], tools, is_done) for text, is_done in texts)

    @cached_property
    def emptied(self) -> frozenset[str]:
        """Words of fields that the run left empty, and of no other that something is in."""
        empty: set[str] = set()
        full: set[str] = set()
        for kind, id in self.seen_entities if self.records else ():
            if id.lower() in self.touched:
                for key, value in (self._evidence.after.get(kind, id) or {}).items():
                    (empty if is_nothing(value) else full).update(content_stems(" ".join(tokens(key))))
        return frozenset(empty - full)

    @cached_property
    def spoken_fields(self) -> dict[str, frozenset[str]]:
        """Names and other short texts of the records, by each word of their field's name."""
        found: dict[str, set[str]] = {}
        for record in self.records:
            for key, value in keyed(list(record.values)):
                if len(value) > 2 and not value.isdigit():
                    for word in tokens(key):
                        found.setdefault(stem(word), set()).update((value.lower(), value.lower().split()[-1]))
        return {word: frozenset(values) for word, values in found.items()}

    @cached_property
    def refusals(self) -> tuple[frozenset[str], ...]:
        """What the backend said as it refused."""
        texts = [text for row in self._evidence.calls if not row.succeeded for text in texts_in(row.response)]
        return tuple(content_stems(text[:LONGEST_TEXT].replace("_", " ")) for text in texts)

    @cached_property
    def dealt_with(self) -> frozenset[str]:
        """What calls were given and what that is called: ids, names and what belongs to them."""
        given = frozenset(ids_in([row.arguments for row in self._evidence.calls]))
        linked = given.union(*(record.links for record in self.records if record.ids & given))
        return given.union(*(record.ids for record in self.records if record.ids & linked))

    @cached_property
    def reasons(self) -> tuple[Signed, ...]:
        """The words of each refusal by their sign; of one that tells a condition (`must be paid`) none."""
        texts = [text for row in self._evidence.calls if not row.succeeded for text in texts_in(row.response)]
        plain = [plain_verbs(text[:LONGEST_TEXT].lower()) for text in texts if text.count(" ") >= 2]
        return tuple(signed_words(text) for text in plain if _ON_CONDITION.search(text) is None)

    @cached_property
    def quotable(self) -> set[Decimal]:
        """Numbers of the rules and of the backend's refusals."""
        return self.given.numbers | self.refusal_numbers

    @property
    def refusal_numbers(self) -> set[Decimal]:
        return self.refused.numbers

    @cached_property
    def refused(self) -> Known:
        """What the backend said as it refused."""
        known = Known()
        for row in self._evidence.calls:
            for text in texts_in(row.response) if not row.succeeded else ():
                known.read(text)
        return known

    @cached_property
    def everything(self) -> Known:
        return self._learned(self.records)

    @cached_property
    def columns(self) -> dict[str, list[Decimal]]:
        """The numbers of each list that was told, by the names of their fields: they may be added up."""
        found: dict[str, list[Decimal]] = {}
        for row in self._evidence.calls:
            for number, things in enumerate(
                part for part in values_of(row.response) if is_list_of_things(part)
            ):
                for thing in things if isinstance(things, list) else ():
                    for key, value in thing.items() if isinstance(thing, dict) else ():
                        if isinstance(value, (int, float)) and not isinstance(value, bool):
                            column = found.setdefault(f"{row.sequence}/{number}/{key}", [])
                            column += numbers_of(value, key)
        return found

    @cached_property
    def lists(self) -> list[list[frozenset[str]]]:
        """The words of each thing of every list that was told: they may be counted."""
        found = []
        for row in self._evidence.calls:
            for part in (row.response, *values_of(row.response)):
                if isinstance(part, list) and len(part) <= MOST_READ_ALONE:
                    found.append([all_stems(thing) for thing in part])
        return found

    @cached_property
    def asked_for(self) -> frozenset[str]:
        """The ids that the user gives."""
        return frozenset(bare(word) for word in self._evidence.user_instruction[:LONGEST_TEXT].split()) & {
            bare(id) for _, id in self.seen_entities
        }

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Stems of the states that things of the kinds which were seen can be in."""
        found: set[str] = set()
        for kind in {kind for kind, _ in self.seen_entities} if self.records else ():
            for attributes in islice(self._evidence.world.entities.get(kind, {}).values(), MOST_RECORDS):
                self._evidence.keep_going()
                found.update(stem(part) for state in states_in(attributes) for part in state.split("_"))
        return frozenset(found)

    @cached_property
    def asked_kinds(self) -> frozenset[str]:
        """Words for kinds of things and for fields: they describe none of them."""
        found = {word for kind in self._evidence.after.entity_types() for word in tokens(kind)}
        for record in self.records[:MOST_READ_ALONE]:
            found |= {word for key, _ in keyed(list(record.values)) for word in tokens(key)}
        return frozenset(found)

    @cached_property
    def kind_stems(self) -> frozenset[str]:
        return frozenset(map(stem, self.asked_kinds))

    @cached_property
    def verbs(self) -> frozenset[str]:
        """Stems for what the declared tools do, and for doing at all."""
        own = {stem(form) for tool in writing_tools(self._evidence.tools) for form in tool.past | tool.doing}
        found = own | {stem(word) for word in ("change", "do", "done", "move", "touch", "happen", "alter")}
        return frozenset(other for word in found for other in related(word))

    @cached_property
    def refused_verbs(self) -> frozenset[str]:
        """Stems for what was tried and refused."""
        refused = {row.tool for row in self._evidence.calls if not row.succeeded}
        tools = [tool for tool in writing_tools(self._evidence.tools) if tool.tool in refused]
        own = {stem(form) for tool in tools for form in tool.past | tool.doing}
        return frozenset(other for word in own for other in related(word))

    @cached_property
    def tool_nouns(self) -> frozenset[str]:
        """Stems of what the declared tools are about, which are no verbs of theirs."""
        tools = writing_tools(self._evidence.tools)
        verbs = {stem(form) for tool in tools for form in tool.past | tool.doing}
        return frozenset(stem(noun) for tool in tools for noun in tool.nouns) - verbs

    @cached_property
    def touched(self) -> frozenset[str]:
        """The ids of all that the run changed, and what the calls that did so were given."""
        updates = [update for row in self._evidence.writes if row.succeeded for update in row.updates]
        given = [row.arguments for row in self._evidence.writes if row.succeeded]
        return frozenset(str(getattr(update, "id", "")).lower() for update in updates) | {*ids_in(given)}

    @cached_property
    def portions(self) -> frozenset[str]:
        """Whether an amount that was written is all of one that stood in the world, or half of it."""
        before = Ledger(self._evidence.world)
        held = {
            number
            for kind, id in (self.seen_entities if self.records else ())
            if id.lower() in self.touched
            for value in (before.get(kind, id) or {}).values()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
            for number in numbers_of(value)
            if number
        }
        words = _WHOLE if self.written & held else frozenset()
        return words | (_HALF if {number * 2 for number in self.written} & held else frozenset())

    @cached_property
    def done(self) -> Known:
        """What was done can be told by: what calls that succeeded are named, were given, answered and wrote.
        The fields of what was only read tell no deed: a record's `email` does not mean that one was sent."""
        known = Known()
        for row in self._evidence.calls:
            self._evidence.keep_going()
            if row.succeeded:
                known.stems |= content_stems(" ".join(tokens(row.tool)))
                if not self._evidence.tool_reads(row.tool):
                    for value in self._told_by(row):
                        known.learn(value)
                else:
                    _read_deeds(known, row.response)
        return known

    def _told_by(self, row: EvidenceRow) -> list[Json]:
        return [row.arguments, row.response, *map(content, row.updates)]

    @cached_property
    def written(self) -> set[Decimal]:
        """Numbers that calls that changed something were given, answered or wrote."""
        known = Known()
        for row in self._evidence.writes:
            for value in self._told_by(row) if row.succeeded else ():
                known.learn(value)
        return known.numbers

    @cached_property
    def acts(self) -> Known:
        """What calls that may change something did: their names, what they were given, answered and wrote."""
        known = Known()
        for row in self._evidence.calls:
            is_write = row.updates or not self._evidence.tool_reads(row.tool)
            if row.succeeded and is_write:
                known.states |= content_stems(" ".join(tokens(row.tool)))
                for value in self._told_by(row):
                    known.learn(value)
        known.stems |= known.states
        return known

    @cached_property
    def deeds(self) -> Known:
        """What was done in the run, or is told of a record as done: `status: shipped`."""
        known = Known()
        known.add(self.acts)
        called = {row.tool.lower() for row in self._evidence.calls}
        for record in self.records:
            for text in record.ids - called:
                if len(text) <= LONGEST_STATE and "@" not in text:
                    known.read(text.replace("_", " "))
        return known

    @cached_property
    def states(self) -> frozenset[str]:
        """Values of one word in the records."""
        return frozenset(
            id for record in self.records for id in record.ids if re.fullmatch(r"[a-z_]{3,30}", id)
        )

    @cached_property
    def digits(self) -> str:
        """The digits of every id and text, each by itself: of an id often only the end is said."""
        return " ".join({re.sub(r"\D", "", id) for record in self.records for id in record.ids})

    @cached_property
    def words_with_digits(self) -> frozenset[str]:
        """`p95`, `1.13.2`: words of longer texts, and versions."""
        texts = [text[:LONGEST_TEXT] for record in self.records for text in texts_in(list(record.values))]
        found = (bare(word) for text in texts for word in text.split() if any(map(str.isdigit, word)))
        return frozenset(name for name in found if not name.isdigit())

    @cached_property
    def shapes(self) -> frozenset[str]:
        """How ids are spelled, with 9 for each digit: by letters before digits, or digits in groups."""
        found = {re.sub(r"\d", "9", id) for record in self.records for id in record.ids}
        return frozenset(shape for shape in found if _IS_ID.fullmatch(shape))

    def about(self, ids: frozenset[str]) -> Known:
        """What the records that name these ids say, and those that they name in turn."""
        if ids not in self._known:
            named = [record for record in self.records if record.ids & ids]
            linked = ids.union(*(record.links for record in named))
            self._known[ids] = self._learned(r for r in self.records if r.ids & linked) if named else Known()
        return self._known[ids]

    def _learned(self, records: Iterable[Record]) -> Known:
        known = Known()
        known.add(self.given)
        known.columns = self.columns
        known.lists = self.lists
        known.stems |= self.portions
        known.written = self.written
        for record in records:
            self._evidence.keep_going()
            for value in record.values:
                known.learn(value)
        return known


_IS_ID = re.compile(r"[a-z]{1,8}[-_]?9+|9{2,}(?:-9{2,})+")
_ASKS = re.compile(
    r"\?|\b(?:overview|summary|rundown|breakdown|details?)\s+(?:of|for|on|about)\b"
    r"|\b(?:like|want|need)\s+to\s+know\b|\blet\s+me\s+know\b"
    r"|^(?:hi|hello|hey)?\W*(?:what|which|who|when|where|how|is|are|do|does|did|can you tell"
    r"|tell me|show me|list|check)\b",
    re.IGNORECASE,
)


def is_question(text: str) -> bool:
    return _ASKS.search(text[:LONGEST_TEXT]) is not None


_WHOLE = frozenset(map(stem, ("full", "fully", "whole", "entire", "entirely", "completely")))
_HALF = frozenset({stem("half")})


def _read_deeds(known: Known, value: Json) -> None:
    for text in texts_in(value):
        if "@" not in text:  # of an address the parts mean nothing: `mail.example`
            known.read(text)
