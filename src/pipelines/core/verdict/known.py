"""What some records say, ready to be looked up: numbers, days, times, words, and what follows from them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache

from pipelines.core.english.dates import Day, dates, times
from pipelines.core.english.idioms import plain_verbs
from pipelines.core.english.numbers import quantities
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.json_text import Json
from pipelines.core.simulation.reading.words import tokens, word_set
from pipelines.core.verdict.speech import content_stems

LONGEST_TEXT = 4_000  # characters of one value that are read; nobody answers with more of it
LONGEST_ID = 80
MOST_ADDED = 12  # numbers of which every sum and difference of two counts as told
LARGEST_COUNT = 31

_AMOUNTS = frozenset(
    stem(word)
    for word in word_set(
        "amount total price fee balance refund refunded credit cost charge rate rent premium due"
    )
)


@dataclass  # no slots: what is worked out is kept on the record
class Known:
    """All that some records say."""

    numbers: set[Decimal] = field(default_factory=set)
    fields: dict[str, set[Decimal]] = field(default_factory=dict)  # by each word of a field's name
    columns: dict[str, list[Decimal]] = field(default_factory=dict)  # by the whole name: of things in a list
    groups: list[set[Decimal]] = field(default_factory=list)  # the numbers of each record
    money: set[Decimal] = field(default_factory=set)  # those of the numbers that can be amounts
    lists: list[list[frozenset[str]]] = field(default_factory=list)  # of each list the words of its things
    written: set[Decimal] = field(default_factory=set)  # numbers that the run's own calls were given or wrote
    days: set[Day] = field(default_factory=set)
    times: set[int] = field(default_factory=set)  # minutes of the day
    stems: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)  # words of fields that are 0, false or empty
    present: set[str] = field(default_factory=set)  # words of fields in which something is
    states: set[str] = field(default_factory=set)  # words of values, and of fields that are true
    heard: set[str] = field(default_factory=set)  # words that only the user said
    dated: set[str] = field(default_factory=set)  # words of fields that hold a day

    def learn(self, value: Json) -> None:
        """Numbers, days and words of a value and of all that it holds, the names of its fields too."""
        pending: list[tuple[frozenset[str], Json]] = [(frozenset(), value)]
        before, self.numbers = self.numbers, set()
        while pending:
            named, node = pending.pop()
            if isinstance(node, dict):
                keys = [(content_stems(" ".join(tokens(key))), below) for key, below in node.items()]
                for words, below in keys:
                    # A field in which nothing is bears out no statement: `stock: 0` is not "in stock".
                    (self.absent if is_nothing(below) else self.stems).update(words)
                    self.present.update(() if is_nothing(below) else words)
                    self.states.update(words if below is True else ())
                pending.extend(keys)
            elif isinstance(node, list):
                self._count(named, {Decimal(len(node))})
                pending.extend((named, below) for below in node)
            elif isinstance(node, str):
                self.read(node)
                self.dated.update(named if len(node) <= LONGEST_ID and dates(node) else ())
            elif isinstance(node, (int, float)) and not isinstance(node, bool):
                self._count(named, numbers_of(node))
                if isinstance(node, float) or abs(node) > LARGEST_COUNT or named & _AMOUNTS:
                    self.money |= numbers_of(node)
        self.groups.append(self.numbers)
        self.numbers = self.numbers | before

    def _count(self, named: frozenset[str], numbers: set[Decimal]) -> None:
        self.numbers |= numbers
        for word in named:
            self.fields.setdefault(word, set()).update(numbers)

    def read(self, text: str) -> None:
        text = text[:LONGEST_TEXT]
        for one in quantities(text):
            # "10.00 in fees" counts no "in".
            unit = frozenset({"%"}) if one.unit == "%" else content_stems(one.unit)
            self._count(unit, {abs(number) for number in one.values})
            if not unit or one.currency:
                self.money |= {abs(number) for number in one.values}
        self.days.update(day for one in dates(text) for day in one.days)
        self.times.update(minute for one in times(text) for minute in one.minutes)
        words = content_stems(text)
        if len(text) <= LONGEST_ID:
            words |= content_stems(" ".join(tokens(text)))
            words |= content_stems(plain_verbs(" ".join(tokens(text))))  # as answers are read: `on_time`
        self.stems |= words
        self.states |= words

    def add(self, other: "Known") -> None:
        self.numbers |= other.numbers
        self.money |= other.money
        self.days |= other.days
        self.times |= other.times
        self.stems |= other.stems
        self.absent |= other.absent
        self.present |= other.present
        self.states |= other.states
        self.heard |= other.heard

    # Words

    def knows(self, word: str) -> bool:
        """The stem, or one that says the same; the user's own words too."""
        return not related(word).isdisjoint(self.stems) or not related(word).isdisjoint(self.heard)

    def tells(self, word: str) -> bool:
        """The stem, or one that says the same, in a record, rule or reply, not only in the user's words."""
        return not related(word).isdisjoint(self.stems)

    def is_empty(self, word: str) -> bool:
        """Whether the word names a field, and nothing is in it."""
        return word in self.absent and word not in self.present and word not in self.states

    # Numbers

    # Days

    @cached_property
    def years(self) -> set[int]:
        return {day.year for day in self.days if day.year}

    @cached_property
    def weekdays(self) -> set[str]:
        """Of the days that are told with their year."""
        return {date(day.year, day.month, day.day).strftime("%A").lower() for day in self.days if day.year}

    @cached_property
    def months(self) -> set[int]:
        return {day.month for day in self.days}

    def has_day(self, days: Iterable[Day]) -> bool:
        return any(day.agrees_with(known) for day in days for known in self.days)


def is_nothing(value: Json) -> bool:
    return (
        value is None
        or value is False
        or value in (0, "", [], {})
        or (isinstance(value, str) and value in _NOTHING)
    )


_NOTHING = frozenset({"none", "None", "null", "n/a", "-"})  # as some backends spell it


def numbers_of(value: Json, field: str = "") -> set[Decimal]:
    """The number; of a field that is kept in cents, the amount."""
    number = Decimal(str(value))
    if not number.is_finite() or abs(number.adjusted()) >= LONGEST_ID:
        return set()
    plain = abs(number).normalize()
    return {(plain / 100).normalize() if _is_in_cents(field) else plain}


@lru_cache(maxsize=2048)  # asked for every number of every cell, again and again
def _is_in_cents(field: str) -> bool:
    return tokens(field)[-1:] in {("cents",), ("cent",), ("pence",), ("pennies",), ("minor",)}
