"""The expected answer proposed from a run: values of its final response that the backend reported."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from pipelines.core.english.dates import Day
from pipelines.core.english.stems import stem
from pipelines.core.proposed_oracles.value_origins import Origins
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.words.among import ALWAYS_KNOWN
from pipelines.core.verdict.words.known import Values
from pipelines.core.verdict.words.speech import sentences
from pipelines.core.verdict.words.values import Value, normalize_id, values_in

MOST_VALUES = 10
LONGEST_WORDS = 40  # characters of a state or a name; a longer text is told in other words
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}\S{0,16})?")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,10})?")
_WORD = re.compile(r"[^\W\d_]+")
_PART = re.compile(r"[^\W_]+")


class ReportedValue(NamedTuple):
    """A value of the answer, where the backend told it."""

    name: str
    expected: Json
    row: EvidenceRow


class _Leaf(NamedTuple):
    name: str
    value: Json
    row: EvidenceRow


def reported_values(evidence: RunEvidence, origins: Origins) -> list[ReportedValue]:
    """Numbers, days and ids of the final response that a reply has and the user did not say; words too, where
    the request asks for their field or the response has nothing else."""
    leaves = [leaf for leaf in _leaves(evidence) if not origins.is_made(leaf.value)]
    index, requested = _Index(leaves), _requested_values(evidence)
    found: dict[str, ReportedValue] = {}
    for sentence in sentences(evidence.final_response):
        for value in values_in(sentence):
            evidence.keep_going()
            leaf = None if _is_in_request(value, requested) else index.leaf_of(value)
            if leaf is not None:
                mentioned = ReportedValue(leaf.name, _as_expected(value, leaf.value), leaf.row)
                found.setdefault(repr(mentioned.expected), mentioned)
    values, words = list(found.values()), list(_reported_words(evidence, leaves))
    stems = _stems(evidence.user_instruction)
    named = [mentioned for mentioned in words if _stems(mentioned.name) & stems]
    return (values + (named if values else named or words))[:MOST_VALUES]


def as_axis(told: Iterable[ReportedValue]) -> JsonObject | None:
    """By the names of the reply's fields; a second value of one name gets a number."""
    body: JsonObject = {}
    for number, each in enumerate(told, start=1):
        name = each.name or f"value_{number}"
        while name in body:
            name = f"{each.name or 'value'}_{number}"
            number += 1
        body[name] = each.expected
    return body or None


def _leaves(evidence: RunEvidence) -> Iterator[_Leaf]:
    for row in evidence.calls:
        if row.succeeded:
            yield from _named_leaves(row.response, "", row)


def _named_leaves(value: Json, name: str, row: EvidenceRow) -> Iterator[_Leaf]:
    match value:
        case dict():
            for key, part in value.items():
                yield from _named_leaves(part, key.strip(), row)
        case list():
            for part in value:
                yield from _named_leaves(part, name, row)
        case None | bool():
            pass
        case _:
            yield _Leaf(name, value, row)


def _requested_values(evidence: RunEvidence) -> Values:
    requested = Values()
    for text in (evidence.user_instruction, *evidence.later_user_turns):
        requested.read_prose(text)
    requested.read(evidence.task_input)
    return requested


def _is_in_request(value: Value, asked: Values) -> bool:
    if value.id:
        return value.id in asked.ids
    if value.day is not None:
        return any(day.agrees_with(other) for day in value.day.days for other in asked.days)
    # `one of our`, `two ways`: too common in any text to be facts.
    is_common = value.number is not None and all(each <= ALWAYS_KNOWN for each in value.number.values)
    return is_common or (value.number is not None and not value.number.values.isdisjoint(asked.numbers))


class _Index:
    """The first leaf that has a value, by what is asked for."""

    def __init__(self, leaves: Iterable[_Leaf]) -> None:
        self.ids: dict[str, _Leaf] = {}
        self.days: dict[Day, _Leaf] = {}
        self.numbers: dict[Decimal, _Leaf] = {}
        for leaf in leaves:
            if (day := _day_of(leaf.value)) is not None:
                self.days.setdefault(day, leaf)
            elif (number := _number_of(leaf.value)) is not None:
                self.numbers.setdefault(number, leaf)
            if len(text := str(leaf.value)) <= LONGEST_WORDS:
                self.ids.setdefault(normalize_id(text), leaf)

    def leaf_of(self, value: Value) -> _Leaf | None:
        if value.id:
            return self.ids.get(value.id)
        if value.day is not None:
            day_number = value.day.days
            day = next((day for day in self.days if any(each.agrees_with(day) for each in day_number)), None)
            return self.days[day] if day is not None else None
        spelled = value.number.values if value.number is not None else ()
        return next((self.numbers[each] for each in spelled if each in self.numbers), None)


def _day_of(leaf: Json) -> Day | None:
    match = _DAY.fullmatch(leaf) if isinstance(leaf, str) else None
    return Day(int(match[2]), int(match[3]), int(match[1])) if match is not None else None


def _number_of(leaf: Json) -> Decimal | None:
    if isinstance(leaf, str):
        return Decimal(leaf) if _NUMBER.fullmatch(leaf) else None
    return Decimal(repr(leaf)) if isinstance(leaf, int | float) and leaf >= 0 else None


def _as_expected(value: Value, leaf: Json) -> Json:
    if value.day is not None:
        return {"$date": str(leaf)[:10]}
    number = _number_of(leaf)
    if value.number is None or number is None or not isinstance(leaf, str):
        return leaf
    return int(number) if number == number.to_integral_value() else float(number)


# Words


def _reported_words(evidence: RunEvidence, leaves: list[_Leaf]) -> Iterator[ReportedValue]:
    response, request = _with_spaces(evidence.final_response), _with_spaces(evidence.user_instruction)
    reply_words = frozenset(response.split())
    seen: set[str] = set()
    for leaf in leaves:
        if not isinstance(leaf.value, str) or len(leaf.value) > LONGEST_WORDS or leaf.value in seen:
            continue
        seen.add(leaf.value)
        words = _with_spaces(leaf.value)
        is_plain = len(words) > 4 and not any(map(str.isdigit, words))  # more than two letters
        if is_plain and reply_words.issuperset(words.split()) and words in response and words not in request:
            yield ReportedValue(leaf.name, words.strip(), leaf.row)


def _with_spaces(text: str) -> str:
    """Its words in small letters between spaces, so that one text is looked for in another word by word."""
    return f" {' '.join(_PART.findall(text.lower()))} "


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(text.lower()))
