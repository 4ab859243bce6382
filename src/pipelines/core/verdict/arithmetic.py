"""Whether a number that an answer gives is one that was told, or follows from some that were.

What may follow depends on how it is said: `15 more` is a difference, `three times` a ratio, `two weeks` a time
between two days, `4 repeats` the number of a field or the length of a list.
"""

from collections.abc import Collection, Iterable
from decimal import Decimal
from itertools import combinations, permutations

from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.simulation.reading.words import word_set
from pipelines.core.verdict.known import LARGEST_COUNT, Known
from pipelines.core.verdict.speech import content_stems

_PERIODS = {"day": 1, "night": 1, "week": 7}
_COMPARED = word_set("more less extra fewer cheaper dearer additional difference higher lower")
_SHARES = frozenset(stem(word) for word in word_set("percent percentage rate discount interest share"))


def is_told(
    number: Quantity,
    clause: str,
    known: Known,
    *,
    said: Collection[Quantity] = (),
    rules: Known | None = None,
) -> bool:
    """`said` are the numbers of the whole sentence: two of them may be compared in it."""
    wanted = {abs(value) for value in number.values}
    together = [value for other in said if other is not number for value in other.values & known.numbers]
    words = set(clause.split())
    if number.unit == "times" or "times as" in clause:
        return bool(wanted & (_ratios(together) | known.ratios))
    if number.unit in ("%", "percent"):
        told = {value for word in _SHARES | {"%"} for value in known.fields.get(word, ())}
        told |= rules.fields.get("%", set()) if rules is not None else set()
        return bool(wanted & (told | _shares(together)))
    if number.unit in _COMPARED or (not number.unit and words & {"extra", "difference", "more"}):
        return bool(wanted & (_differences(together) | known.differences | known.written))
    unit = stem(number.unit) if number.unit else ""
    if unit in _PERIODS:
        told = known.fields.get(unit, set()) | (rules.fields.get(unit, set()) if rules is not None else set())
        return bool(wanted & told) or known.has_period(wanted, _PERIODS[unit])
    if not number.currency and all(value <= LARGEST_COUNT and value % 1 == 0 for value in wanted):
        return _is_counted(number, wanted, clause, known, rules)
    if wanted & known.numbers:
        return True
    scaled = {each for value in wanted for each in (value * 100, value / 100)} if number.currency else set()
    return bool(scaled & known.numbers or wanted & (known.worked_out | _sums(together)))


def could_follow(number: Quantity, known: Known) -> bool:
    """Whether the number may come of what was told in some way that is not followed here."""
    wanted = {abs(value) for value in number.values}
    if not number.currency and any(value <= LARGEST_COUNT and value % 1 == 0 for value in wanted):
        return True
    return bool(
        wanted & (known.numbers | known.conceivable | known.ratios | set(map(Decimal, known.periods)))
    )


def _is_counted(
    number: Quantity, wanted: set[Decimal], clause: str, known: Known, rules: Known | None
) -> bool:
    """A small number stands in every log. It is told where its field is named, or what was written or counted."""
    if wanted & (known.written | known.counts):
        return True
    unit = stem(number.unit) if number.unit else ""
    named = {other for word in {*content_stems(clause), unit} for other in related(word)}
    sources = [known.fields] + ([rules.fields] if rules is not None else [])
    return any(wanted & fields.get(word, set()) for fields in sources for word in named)


def _differences(numbers: Iterable[Decimal]) -> set[Decimal]:
    return {abs(a - b).normalize() for a, b in combinations(numbers, 2)}


def _sums(numbers: list[Decimal]) -> set[Decimal]:
    few = numbers[:12]
    return {sum(few, Decimal()).normalize(), *((a + b).normalize() for a, b in combinations(few, 2))}


def _ratios(numbers: Iterable[Decimal]) -> set[Decimal]:
    return {(a / b).normalize() for a, b in permutations(numbers, 2) if b}


def _shares(numbers: Iterable[Decimal]) -> set[Decimal]:
    """By how many percent two numbers differ, or one is part of the other."""
    pairs = [(a, b) for a, b in permutations(numbers, 2) if b]
    return {(abs(a - b) * 100 / b).normalize() for a, b in pairs} | {
        (a * 100 / b).normalize() for a, b in pairs
    }
