"""Whether a number that an answer gives is one that was told, or follows from some that were.

What may follow depends on how it is said: `15 more` is a difference, `three times` a ratio, `two weeks` the
time between two days, `4 repeats` the number of a field or the length of a list.
"""

import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from itertools import combinations, permutations

from pipelines.core.english.mentions import MARK
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.simulation.reading.words import word_set
from pipelines.core.verdict.known import LARGEST_COUNT, MOST_COMPARED, Known
from pipelines.core.verdict.speech import content_stems

_PERIODS = {"day": 1, "night": 1, "week": 7}
_LONGER_OR_SHORTER = frozenset(map(stem, ("minute", "hour", "month", "year")))
COMPARED = word_set("more less extra fewer cheaper dearer additional difference higher lower")
_MORE_OF = re.compile(r"\bmore\s+(?P<what>days?|nights?|weeks?)\b")
#: `went from 2 to 5, so I added three`: what is added or saved is what lies between the two.
_CHANGED_BY = re.compile(rf"\b(?:added|removed|saved?|gained|lost|by)\s+{MARK}")
_BEFORE = re.compile(r"\b(?:before|already|been)\b")  # "renewed two times before" counts
_SHARES = frozenset(stem(word) for word in word_set("percent percentage rate discount interest share"))


def is_told(
    number: Quantity,
    clause: str,
    known: Known,
    *,
    said: Collection[Quantity] = (),
    rules: Known | None = None,
    is_exact: bool = False,
) -> bool:
    """`said` are the numbers of the whole sentence: two of them may be compared in it. A number that is given
    to the cent is no count."""
    wanted = {abs(value) for value in number.values}
    further = _MORE_OF.search(clause) if number.unit == "more" else None  # "three more weeks"
    unit = stem(further["what"] if further is not None else number.unit) if number.unit else ""
    together = [value for other in said if other is not number for value in other.values & known.numbers][
        :MOST_COMPARED
    ]
    words = set(clause.split())
    if number.unit == "times" or "times as" in clause:
        is_ratio = bool(wanted & (_ratios(together) | known.ratios))
        return is_ratio or (
            _BEFORE.search(clause) is not None and _is_counted(number, wanted, clause, known, rules)
        )
    if number.unit in ("%", "percent"):
        told = {value for word in _SHARES | {"%"} for value in known.fields.get(word, ())}
        told |= rules.fields.get("%", set()) if rules is not None else set()
        return bool(wanted & (told | _shares(together)))
    if (number.unit in COMPARED and further is None) or (
        not number.unit and words & {"extra", "difference", "more"}
    ):
        return bool(wanted & (_differences(together) | known.differences))
    if _CHANGED_BY.search(clause) and len(together) == 2 and not number.unit:
        return bool(wanted & _differences(together))
    if unit in _PERIODS:
        told = known.fields.get(unit, set()) | (rules.fields.get(unit, set()) if rules is not None else set())
        return bool(wanted & told) or known.has_period(wanted, _PERIODS[unit])
    if unit in _LONGER_OR_SHORTER:
        told = known.fields.get(unit, set()) | (rules.fields.get(unit, set()) if rules is not None else set())
        return bool(wanted & told) or bool(unit == stem("minute") and wanted & known.spans)
    if not number.currency and not is_exact and _is_small(wanted):
        return _is_counted(number, wanted, clause, known, rules)
    if wanted & (known.money if number.currency or is_exact else known.numbers):
        return True
    in_cents = {value * 100 for value in wanted} if number.currency or is_exact else set()
    if in_cents & known.money or wanted & _sums(together):
        return True
    return _is_worked_out(wanted, clause, known, said)


def _is_worked_out(wanted: set[Decimal], clause: str, known: Known, said: Collection[Quantity]) -> bool:
    """Only as it is said: a sum where something is added up, a difference where something is taken off."""
    is_summed = _ADDED.search(clause) is not None or len(said) > MOST_PLAIN
    is_apart = _TAKEN_OFF.search(clause) is not None or len(said) > MOST_PLAIN
    return bool(
        wanted - {Decimal()}
        and (
            (is_summed and wanted & (known.sums | known.products | known.column_sums))
            or (is_apart and wanted & (known.apart | known.portions))
        )
    )


MOST_PLAIN = 2  # numbers of a sentence; one with more shows how it comes to its sum
_ADDED = re.compile(
    r"\b(?:total\w*|together|altogether|sum|combined|both|come[s]?|came|plus|make[s]?|each|per|at|for|times|overall|cost[s]?)\b|[×+*=]"
)
_TAKEN_OFF = re.compile(
    r"\b(?:left|leav\w+|remain\w*|rest|still|open|outstanding|off|less|down|sav\w+|short|minus|over|back|differ\w+|discount\w*|instead"
    r"|now|new|missing|reduc\w+|drop\w*|lower\w*|free|available|unused|after|balance|credit\w*|half)\b|[-−→=]"
)


def is_miscounted(number: Quantity, known: Known, said: Collection[Quantity]) -> bool:
    """`39.99 instead of 24.99, 10 more`: both numbers are told, and their difference is another."""
    together = [value for other in said if other is not number for value in other.values & known.numbers][
        :MOST_COMPARED
    ]
    is_compared = number.unit in COMPARED or number.unit in ("%", "percent", "times")
    return is_compared and len(together) == 2


def could_follow(number: Quantity, known: Known) -> bool:
    """Whether the number may come of what was told in some way that is not followed here."""
    wanted = {abs(value) for value in number.values}
    if not number.currency and any(value <= LARGEST_COUNT and value % 1 == 0 for value in wanted):
        return True
    if wanted & (known.conceivable | set(map(Decimal, known.periods)) | set(map(Decimal, known.years))):
        return True
    scaled = {value * factor for value in wanted for factor in _FACTORS}
    scaled |= {value / factor for value in wanted for factor in _FACTORS}
    return bool(scaled & known.numbers) or any(round(each) in wanted for each in known.numbers)


_FACTORS = (7, 12, 24, 60, 100, 1000, 1024)


def _is_counted(
    number: Quantity, wanted: set[Decimal], clause: str, known: Known, rules: Known | None
) -> bool:
    """A small number is in every log: it is told where its field is named, or it was written or counted."""
    listed = [count for things in known.lists for count in _counted(things, content_stems(clause))]
    if any(wanted == {Decimal(count)} for count in listed):
        return True
    if wanted & known.written or (rules is not None and wanted & rules.numbers):
        return True
    unit = stem(number.unit) if number.unit else ""
    named = {other for word in {*content_stems(clause), unit} for other in related(word)}
    sources = [known.fields] + ([rules.fields] if rules is not None else [])
    return any(wanted & fields.get(word, set()) for fields in sources for word in named)


def _counted(things: list[frozenset[str]], words: frozenset[str]) -> set[int]:
    """How many of a list there are; of which the words name some, only those."""
    some = {word for word in words if 0 < sum(word in thing for thing in things) < len(things)}
    return {sum(some <= thing for thing in things)} if some else {len(things)}


def _is_small(values: set[Decimal]) -> bool:
    return all(value <= LARGEST_COUNT and value % 1 == 0 for value in values)


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
