"""Every value of a run, collected once: an answer's values are looked up here.

`told` has the values of the backend: replies, records, rules. `brought` has those that come only from the
user or the agent (the user's words, arguments of calls): they are known too, but prove less.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from pipelines.core.english.dates import Day
from pipelines.core.ledger.ledger import Ledger
from pipelines.core.text.json_text import Json
from pipelines.core.verdict.changes import changes
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.words.values import id_tokens, normalize_id, values_in

SYSTEM_PROMPT = "system_prompt"
MOST_RECORDS = 500  # named in a run: their fields are known, too
LONGEST_TEXT = 20_000  # characters of one text of a reply that are read for values
_NUMBER = re.compile(r"[-+]?\d{1,15}(?:\.\d{1,10})?")
_MOMENT = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2}))?\S{0,16}")
_CLOCK_OF_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T(\d{2}):(\d{2})")
_CLOCK = re.compile(r"(\d{2}):(\d{2})(?::\d{2})?(?:[+]\d)?")
_DIGIT = re.compile(r"\d")


@dataclass(kw_only=True, slots=True)
class Values:
    """Values of one kind of source, ready to be asked for."""

    numbers: set[Decimal] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)  # squeezed
    days: set[Day] = field(default_factory=set)
    minutes: set[int] = field(default_factory=set)  # since midnight
    words: set[str] = field(default_factory=set)  # texts without a digit, in small letters
    longest_list: int = 0

    def read(self, value: Json) -> None:
        """Add all values of a JSON value. Columns of lists are summed, since an answer may give their
        total."""
        stack: list[Json] = [value]
        while stack:
            match stack.pop():
                case bool() | None:
                    pass
                case int() | float() as number:
                    self.read_number(number)
                case str() as text:
                    self.read_text(text)
                case list() as items:
                    stack.extend(items)
                    self.longest_list = max(self.longest_list, len(items))
                    self.numbers.update(_column_sums(items))
                case dict() as body:
                    stack.extend(body.values())
                    self.longest_list = max(self.longest_list, len(body))
                    self.ids.update(normalize_id(key) for key in body if _DIGIT.search(key))

    def read_number(self, number: float) -> None:
        """Without its sign: `-21.4 °C` and `21.4 below` are one."""
        written = repr(number).lstrip("-")
        self.numbers.add(Decimal(written))
        self.ids.add(written)

    def read_text(self, text: str) -> None:
        if not _DIGIT.search(text) and len(text) <= 40:
            self.words.add(text.lower().replace("_", " "))
        elif _NUMBER.fullmatch(text):
            self.numbers.add(abs(Decimal(text)))
            self.ids.add(text.lstrip("+-"))
        elif (moment := _MOMENT.fullmatch(text)) is not None:
            year, month, day, hour, minute = moment.groups()
            self.days.add(Day(int(month), int(day), int(year)))
            self.minutes.update({60 * int(hour) + int(minute)} if hour else ())
        elif (clock := _CLOCK.fullmatch(text)) is not None:
            self.minutes.add(60 * int(clock[1]) + int(clock[2]))
        elif " " in text or len(text) > 40:
            self.read_prose(text)
        else:
            self.ids.update(id_tokens(text))

    def read_prose(self, text: str) -> None:
        """A text that somebody wrote: a rule, a message, a note."""
        text = text[:LONGEST_TEXT]
        self.ids.update(id_tokens(text))
        self.minutes.update(60 * int(hour) + int(minute) for hour, minute in _CLOCK_OF_MOMENT.findall(text))
        for value in values_in(text):
            if value.number is not None:
                self.numbers.update(value.number.values)
            elif value.day is not None:
                self.days.update(value.day.days)
            elif value.time is not None:
                self.minutes.update(value.time.minutes)


def _column_sums(items: list[Json]) -> Iterator[Decimal]:
    columns: dict[str, Decimal] = {}
    for item in items:
        for key, value in item.items() if isinstance(item, dict) else ():
            if isinstance(value, int | float) and not isinstance(value, bool):
                columns[key] = columns.get(key, Decimal(0)) + _decimal(value)
    yield from columns.values()


def _decimal(number: float) -> Decimal:
    try:
        return Decimal(repr(number))
    except InvalidOperation:  # an infinity: no JSON has one
        return Decimal(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownValues:
    told: Values
    brought: Values
    changed: frozenset[Decimal]  # numbers before and after a change, and by how much it changed


def known_values(evidence: RunEvidence) -> KnownValues:
    """All values of a run. The agent's own statements are not a source."""
    known, brought = Values(), Values()
    for text in rule_texts(evidence):
        known.read_prose(text)
    for row in evidence.calls:
        evidence.keep_going()
        known.read(row.response)
        brought.read(row.arguments)
    for text in (evidence.user_instruction, *evidence.later_user_turns):
        brought.read_prose(text)
    brought.read(evidence.task_input)
    if evidence.now is not None:
        known.read_text(evidence.now)
    for attributes in touched_records(evidence, known.ids | brought.ids):
        evidence.keep_going()
        known.read(attributes)
    return KnownValues(told=known, brought=brought, changed=frozenset(_changed_numbers(evidence)))


def rule_texts(evidence: RunEvidence) -> Iterator[str]:
    """Texts that were fixed before the run: behaviour text, constraints, tools, the agent's own policy."""
    yield evidence.behavior_instructions or ""
    yield from (constraint.description for constraint in evidence.tracked_constraints)
    yield from (line.text for line in evidence.rubric)
    yield from (tool.description for tool in evidence.tools if tool.description)
    yield from policy_texts(evidence.trace)


def policy_texts(trace: Iterable[EvidenceRow]) -> Iterator[str]:
    """The agent's system prompt, as far as the trace has it."""
    for row in trace:
        if row.kind == SYSTEM_PROMPT:
            yield from _texts_in(row.payload)


def _texts_in(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts_in(item)
        case dict():
            for item in value.values():
                yield from _texts_in(item)


def touched_records(evidence: RunEvidence, ids: set[str]) -> Iterator[Json]:
    """Records that the run names or changed, as they were and as they are."""
    before, after = Ledger(evidence.world), evidence.after
    named = {(kind, id) for kind, id in _named_records(evidence, after, ids)}
    named |= {(change.path[0], change.path[1]) for change in changes(evidence) if len(change.path) > 1}
    for kind, id in sorted(named)[:MOST_RECORDS]:
        yield from (attributes for each in (before, after) if (attributes := each.get(kind, id)) is not None)


def _named_records(evidence: RunEvidence, ledger: Ledger, ids: set[str]) -> Iterator[tuple[str, str]]:
    for kind in ledger.entity_types():
        loose = evidence.world.loose_ids(kind)
        for id in ids:
            yield from ((kind, real) for real in loose.get(id, ()))


def _changed_numbers(evidence: RunEvidence) -> Iterator[Decimal]:
    for change in changes(evidence):
        sides = [
            Decimal(repr(side))
            for side in (change.before, change.after)
            if isinstance(side, int | float) and not isinstance(side, bool)
        ]
        yield from sides
        if len(sides) == 2:
            yield abs(sides[0] - sides[1])
