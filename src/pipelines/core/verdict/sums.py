"""Sums that an answer shows over several sentences: a bill with its lines, its total, what is left to pay."""

import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import combinations

from pipelines.core.english.mentions import mentions
from pipelines.core.verdict.speech import sentences

MOST_NUMBERS = 40  # of an answer; with more, the first
MOST_APART = 6  # numbers that somebody compares with each other
_SUMS_UP = re.compile(
    r"\b(?:by|over|above|short|more|less|saved?|amount\s+to|total|subtotal|sum|altogether|together|in\s+all|left|remain\w*|balance|owe[ds]?|outstanding|due|net|difference|open)\b|=",
    re.IGNORECASE,
)


class Sums:
    def __init__(self, texts: Sequence[str], told: Collection[Decimal]) -> None:
        self._texts = texts
        self._told = told

    def show(self, phrase: str, sentence: str) -> bool:
        """Whether a number is what comes of numbers that were told and that the answer gives before it, in a
        sentence that sums up. Then everybody can follow it, and it is right."""
        said = numbers_in(phrase)
        return (
            bool(said)
            and _SUMS_UP.search(sentence) is not None
            and all(value in self._shown for value in said)
        )

    @cached_property
    def _in_order(self) -> list[tuple[Decimal, bool]]:
        """The numbers of the answers, and whether their sentence sums up."""
        found: list[tuple[Decimal, bool]] = []
        for text in self._texts:
            for sentence in sentences(text):
                sums_up = _SUMS_UP.search(sentence) is not None
                found += [(value, sums_up) for value in numbers_in(sentence)]
                if len(found) > MOST_NUMBERS:
                    return found[:MOST_NUMBERS]
        return found

    @cached_property
    def _shown(self) -> set[Decimal]:
        held: list[Decimal] = []
        shown: set[Decimal] = set()
        for value, sums_up in self._in_order:
            if value in self._told:
                held.append(value)
            elif sums_up and value in _results(held):
                held.append(value)
                shown.add(value)
        return shown


def _results(held: Sequence[Decimal]) -> set[Decimal]:
    """Of all that came before, of any run of it up to here; what lies between any two of the last few."""
    sums, total = set(), Decimal()
    for at, value in enumerate(reversed(held)):
        total += value
        if at:
            sums.add(total)
    return sums | {abs(a - b) for a, b in combinations(held[-MOST_APART:], 2)}


def numbers_in(text: str) -> list[Decimal]:
    # `57,200` may be read in two ways; where sums are shown it is thousands.
    return [abs(max(one.values)) for one in mentions(text).numbers if one.values]
