"""What in a sentence can be looked up as it stands: days, times and numbers, read once for all who ask."""

from functools import lru_cache
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Timed, dates, times
from pipelines.core.english.numbers import Quantity, quantities

MOST_KEPT = 512  # sentences; an answer has fewer, and is read by several questions in turn


class Mentions(NamedTuple):
    """Of one sentence, in order; none overlaps another. What is a day is no number."""

    days: tuple[Dated, ...]
    times: tuple[Timed, ...]
    numbers: tuple[Quantity, ...]


@lru_cache(maxsize=MOST_KEPT)
def mentions(sentence: str) -> Mentions:
    covered = bytearray(len(sentence))
    days = [one for one in dates(sentence) if _take(covered, one.start, one.end)]
    hours = [one for one in times(sentence) if _take(covered, one.start, one.end)]
    numbers = [one for one in quantities(sentence) if _take(covered, one.start, one.end)]
    return Mentions(tuple(days), tuple(hours), tuple(numbers))


def _take(taken: bytearray, start: int, end: int) -> bool:
    """Whether no other mention stands there yet."""
    if any(taken[start:end]):
        return False
    taken[start:end] = b"\1" * (end - start)
    return True
