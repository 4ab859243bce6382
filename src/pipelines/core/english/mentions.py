"""What in a sentence can be looked up as it stands: days, times and numbers, read once for all who ask."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Timed, dates, times
from pipelines.core.english.numbers import Quantity, quantities

MARK = "§"  # stands for a mention where the words around it are looked at
MOST_KEPT = 512  # sentences; an answer has fewer, and is read by several questions in turn


class Mentions(NamedTuple):
    """Of one sentence, in order; none overlaps another. What is a day is no number."""

    days: tuple[Dated, ...]
    times: tuple[Timed, ...]
    numbers: tuple[Quantity, ...]

    def spans(self) -> list[tuple[int, int]]:
        found = [(one.start, one.end) for one in self.days]
        found += [(one.start, one.end) for one in self.times]
        return sorted(found + [(one.start, one.end) for one in self.numbers])


@lru_cache(maxsize=MOST_KEPT)
def mentions(sentence: str) -> Mentions:
    taken = bytearray(len(sentence))
    days = [one for one in dates(sentence) if _take(taken, one.start, one.end)]
    hours = [one for one in times(sentence) if _take(taken, one.start, one.end)]
    numbers = [one for one in quantities(sentence) if _take(taken, one.start, one.end)]
    return Mentions(tuple(days), tuple(hours), tuple(numbers))


@lru_cache(maxsize=MOST_KEPT)
def without_mentions(sentence: str) -> str:
    """The sentence with a mark in place of each number, day and time."""
    return "".join(_marked(sentence))


def _marked(sentence: str) -> Iterator[str]:
    at = 0
    for start, end in mentions(sentence).spans():
        yield sentence[at:start]
        yield MARK
        at = end
    yield sentence[at:]


def _take(taken: bytearray, start: int, end: int) -> bool:
    """Whether no other mention stands there yet."""
    if any(taken[start:end]):
        return False
    taken[start:end] = b"\1" * (end - start)
    return True
