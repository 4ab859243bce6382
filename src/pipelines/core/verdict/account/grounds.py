"""What a run holds that a word of an answer can stand for: values by their fields, calls, rules."""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from pipelines.core.english.dates import dates, times
from pipelines.core.english.idioms import SAME_STATES
from pipelines.core.english.mentions import mentions
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import tokens, word_set
from pipelines.core.json_text import dumps
from pipelines.core.matching import MISSING
from pipelines.core.verdict.account.lexicon import BINDS, DENIALS
from pipelines.core.verdict.account.segments import Segment
from pipelines.core.verdict.cells import Cell, Cells, Scope, When
from pipelines.core.verdict.changes import changes
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.lists import ListReading, Lists
from pipelines.core.verdict.records import bare, texts_in
from pipelines.core.verdict.said import statements
from pipelines.core.verdict.speech import Signed, sentences, signed_words

LONGEST_VALUE = 80
SHORTEST_NAME = 4  # letters of a word that tells a thing by
LONGEST_SAYING = 600
LEAST_QUOTED = 2  # spaces of a turn that is quoted, and not only named
MOST_VALUES = 400
_HAS_PARTS = re.compile(r"[,;:()&]|\d.*\s|\s.*\d|\s\w+\s")
_OF_DAYS = word_set("on at date day until")


class Text(NamedTuple):
    """A text that stands in a cell, as words."""

    words: tuple[str, ...]
    cell: Cell
    is_name: bool  # written with a capital


class Quotable(NamedTuple):
    """A sentence that the task, a tool's description or the backend said."""

    stems: frozenset[str]
    words: frozenset[str]
    numbers: frozenset[Decimal]
    signed: Signed
    is_reply: bool

    @property
    def binds(self) -> bool:
        return not BINDS.isdisjoint(self.words)

    def says(self, word: str) -> bool:
        is_denial = word in DENIALS and bool(self.signed.denied)
        return is_denial or word in self.words or stem_of(word) in self.stems


def words_in(text: str) -> tuple[str, ...]:
    plain = text.lower().replace("_", " ").replace("-", " ").replace("'", " ").replace("/", " ")
    return tuple(
        "".join(c for c in word if c.isalnum()) for word in plain.split() if any(map(str.isalnum, word))
    )


class Made(NamedTuple):
    """What the run made of the world, in the ways that verbs tell of it."""

    is_added: bool = False
    is_changed: bool = False  # another day, number or text stands in a field
    is_later: bool = False
    is_more: bool = False
    is_less: bool = False


def stem_of(word: str) -> str:
    return stem(word.removesuffix("'s").removesuffix("'"))


class Grounds:
    """Of one run. What is worked out of a scope is kept by its identity, since the cells keep each scope."""

    def __init__(self, evidence: RunEvidence, facts: Facts, cells: Cells) -> None:
        self.evidence = evidence
        self.facts = facts
        self.cells = cells
        self._texts: dict[int, list[Text]] = {}  # by the scope, which the cells keep
        self._by_start: dict[int, dict[str, list[Text]]] = {}
        self._parts: dict[int, dict[str, list[Cell]]] = {}
        self._name_words: dict[int, frozenset[str]] = {}
        self._fields: dict[int, frozenset[str]] = {}
        self._ids: dict[tuple[int, bool], frozenset[str]] = {}

    @cached_property
    def kinds(self) -> dict[str, frozenset[str]]:
        """Of each thing seen, the stems of its kind."""
        return {
            thing.id.lower(): frozenset(map(stem, tokens(thing.entity_type))) for thing in self.cells.things
        }

    @cached_property
    def kind_words(self) -> frozenset[str]:
        """Stems of the kinds of the world, and of what tools are about."""
        types = (word for kind in self.evidence.after.entity_types() for word in tokens(kind))
        return frozenset(other for word in types for other in related(stem(word)))

    def labels(self, cell: Cell) -> frozenset[str]:
        """Stems by which a value can be called: its field's name, and the kind of its thing."""
        named = tokens(cell.field)
        own = frozenset(map(stem, named)) | self.kinds.get(cell.record, frozenset())
        if cell.days or not _OF_DAYS.isdisjoint(named):
            own |= {stem("date"), stem("day")}
        if cell.minutes:
            own |= {stem("time")}
        return frozenset(other for word in own for other in related(word))

    def texts_from(self, scope: Scope, words: Iterable[str]) -> Iterator[Text]:
        """Those that begin with one of these words, in any form, the longest first."""
        key = id(scope)
        if key not in self._by_start:
            found: dict[str, list[Text]] = {}
            for text in self.texts(scope):
                for start in {stem(text.words[0]), stem("".join(text.words))}:
                    found.setdefault(start, []).append(text)
            self._by_start[key] = found
        starts = self._by_start[key]
        every = (text for start in {stem(word) for word in words} for text in starts.get(start, ()))
        yield from sorted(dict.fromkeys(every), key=lambda one: -len(one.words))

    def parts_of_names(self, scope: Scope) -> dict[str, list[Cell]]:
        """The cells of each word of a name."""
        key = id(scope)
        if key not in self._parts:
            found: dict[str, list[Cell]] = {}
            for text in self.texts(scope):
                for word in text.words if text.is_name else ():
                    found.setdefault(word, []).append(text.cell)
            self._parts[key] = found
        return self._parts[key]

    def name_words(self, scope: Scope) -> frozenset[str]:
        """Stems of the longer words of names in several: `tomatoes`, of `Vine tomatoes, crate`."""
        key = id(scope)
        if key not in self._name_words:
            self._name_words[key] = frozenset(
                stem(word)
                for text in self.texts(scope)
                if len(text.words) > 1 and text.is_name and text.cell.when is not When.TRIED
                for word in text.words
                if len(word) >= SHORTEST_NAME
            )
        return self._name_words[key]

    def fields(self, scope: Scope) -> frozenset[str]:
        """Stems of the names of fields: to name one is to state nothing yet."""
        key = id(scope)
        if key not in self._fields:
            held = {cell.field for cell in scope.cells if cell.when is not When.TRIED}
            self._fields[key] = frozenset(stem(word) for field in held for word in tokens(field))
        return self._fields[key]

    def texts(self, scope: Scope) -> list[Text]:
        key = id(scope)
        if key not in self._texts:
            found: dict[tuple[tuple[str, ...], str, str, When], Text] = {}
            for cell in scope.cells:
                if isinstance(cell.value, str) and 0 < len(cell.value) <= LONGEST_VALUE:
                    words = words_in(cell.value)
                    is_name = cell.value[:1].isupper()
                    for spelled in {words, *_said_otherwise(words)} if words else ():
                        found[spelled, cell.record, cell.field, cell.when] = Text(spelled, cell, is_name)
            self._texts[key] = sorted(found.values(), key=lambda one: -len(one.words))
        return self._texts[key]

    def ids(self, scope: Scope, *, is_past: bool) -> frozenset[str]:
        """Letters and digits of all that goes by a name or an id there, as it is now, or also as it was."""
        key = id(scope), is_past
        if key not in self._ids:
            held = {
                bare(str(cell.value))
                for cell in scope.cells
                if isinstance(cell.value, (str, int)) and (is_past or cell.when is not When.WAS)
            }
            self._ids[key] = frozenset(held | {bare(thing.id) for thing in scope.own})
        return self._ids[key]

    def listed(self, sentence: str, names: frozenset[str]) -> ListReading:
        """What of a sentence a whole list bears out that was told: counts, and which is the first."""
        found = [self._lists.read(said, names) for said in statements(sentence)]
        return ListReading(
            frozenset(word for one in found for word in one.words),
            frozenset(start for one in found for start in one.numbers),
        )

    @cached_property
    def _lists(self) -> Lists:
        return Lists(self.cells)

    def holders(self, segment: Segment) -> frozenset[str]:
        """The things that hold every name which a segment gives, where it names none of them itself."""
        found: frozenset[str] | None = None
        for token in segment.tokens:
            name = words_in(token.text)
            held = self._by_name.get(" ".join(name)) if token.is_value or token.is_capital else None
            if held:
                found = held if found is None else found & held
        return found or frozenset()

    @cached_property
    def _by_name(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for text in self.texts(self.cells.scope(frozenset())):
            if text.is_name and text.cell.record:
                for spelled in {" ".join(text.words), *text.words}:
                    found.setdefault(spelled, set()).add(text.cell.record)
        return {name: frozenset(records) for name, records in found.items()}

    # Calls

    @cached_property
    def done(self) -> tuple[EvidenceRow, ...]:
        """Calls that may have changed something and worked."""
        return tuple(
            row for row in self.evidence.calls if row.succeeded and not self.evidence.tool_reads(row.tool)
        )

    @cached_property
    def refused(self) -> tuple[EvidenceRow, ...]:
        return tuple(row for row in self.evidence.calls if not row.succeeded)

    @cached_property
    def done_words(self) -> frozenset[str]:
        """Stems of what calls did that worked, by their names."""
        return _deeds(row.tool for row in self.done)

    @cached_property
    def refused_words(self) -> frozenset[str]:
        return _deeds(row.tool for row in self.refused)

    @cached_property
    def call_nouns(self) -> frozenset[str]:
        return frozenset(stem(word) for row in self.evidence.calls for word in tokens(row.tool)[1:])

    @cached_property
    def asked(self) -> frozenset[str]:
        return frozenset(
            stem(word)
            for text in (self.evidence.user_instruction, *self.evidence.later_user_turns)
            for word in words_in(text)
        )

    @cached_property
    def refusal_words(self) -> frozenset[str]:
        """What the backend said as it refused, word by word, letters and digits alone."""
        texts = [text for row in self.refused for text in texts_in(row.response)]
        return frozenset(bare(word) for text in texts for word in text[:LONGEST_SAYING].split())

    @cached_property
    def made(self) -> Made:
        added = changed = later = more = less = False
        for one in changes(self.evidence):
            before, after = one.before, one.after
            added |= before is MISSING or isinstance(after, list)
            changed |= before is not MISSING and after is not MISSING
            if isinstance(before, (int, float)) and isinstance(after, (int, float)):
                more |= after > before
                less |= after < before
            if isinstance(before, str) and isinstance(after, str) and dates(before) and dates(after):
                later |= after > before  # both as ISO has it
        return Made(added, changed, later, more, less)

    @cached_property
    def tool_words(self) -> frozenset[str]:
        """Stems of what any tool does."""
        return _deeds(tool.name for tool in self.evidence.tools)

    @cached_property
    def states(self) -> frozenset[str]:
        """Stems of the words by which things of the world are told to be in a state."""
        return frozenset(stem(word) for state in self.cells.states for word in words_in(state))

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of all that is written with a capital in records, and of the user's own words."""
        every = self.cells.scope(frozenset())
        held = {stem(word) for text in self.texts(every) if text.is_name for word in text.words}
        return frozenset(held | self.asked)

    @cached_property
    def long_values(self) -> re.Pattern[str] | None:
        """Finds texts of records that a sentence has to keep in one piece."""
        found = {
            cell.value.lower()
            for cell in self.cells.scope(frozenset()).cells
            if isinstance(cell.value, str)
            and 4 < len(cell.value) <= LONGEST_VALUE
            and _HAS_PARTS.search(cell.value)
            and not dates(cell.value)
            and not times(cell.value)
        }
        longest = sorted(found, key=len, reverse=True)[:MOST_VALUES]
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)") if longest else None

    def without_quotes(self, text: str) -> str:
        """Without what it gives as a whole of a user's turn, or of a reply in the notation of JSON or of
        Python: who repeats it states nothing."""
        for turn in (self.evidence.user_instruction, *self.evidence.later_user_turns):
            text = text.replace(turn, " ") if turn.count(" ") >= LEAST_QUOTED else text
        if "{" not in text and "[" not in text:
            return text
        for row in self.evidence.calls:
            if row.succeeded and isinstance(row.response, (dict, list)):
                self.evidence.keep_going()
                for written in (str(row.response), json.dumps(row.response), dumps(row.response).decode()):
                    text = text.replace(written, " ")
        return text

    # Rules

    @cached_property
    def rules(self) -> tuple[Quotable, ...]:
        return tuple(self._rules())

    @cached_property
    def rule_numbers(self) -> frozenset[Decimal]:
        return frozenset(number for rule in self.rules for number in rule.numbers)

    def _rules(self) -> Iterator[Quotable]:
        told = [(text, False) for text in sentences(self.evidence.behavior_instructions or "")]
        told += [(text, False) for tool in self.evidence.tools for text in sentences(tool.description)]
        for row in self.evidence.calls:
            texts = [*texts_in(row.response)]
            told += [(text, True) for text in texts if len(text.split()) > 2 or not row.succeeded]
        for text, is_reply in told:
            short = text[:LONGEST_SAYING]
            words = words_in(short)
            read = mentions(short)
            numbers = {abs(value).normalize() for one in read.numbers for value in one.values}
            yield Quotable(
                frozenset(other for word in words for other in related(stem(word))),
                frozenset(words),
                frozenset(numbers),
                signed_words(short),
                is_reply,
            )


def _deeds(tools: Iterable[str]) -> frozenset[str]:
    return frozenset(other for name in {*tools} for word in tokens(name) for other in related(stem(word)))


_SIZES = {"s": "small", "m": "medium", "l": "large"}


def _said_otherwise(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    spelled = " ".join(words)
    if spelled in _SIZES:
        yield (_SIZES[spelled],)
    for row in SAME_STATES:
        if spelled in row:  # `free` may be of charge
            yield from (tuple(other.split()) for other in row if other != "free")
