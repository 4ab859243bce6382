"""Counts and latencies of the proxy's tool calls, cheap enough for every call."""

import time
from collections import Counter

from pipelines.wire.names import Source

#: Latencies are counted by powers of two of a microsecond, so that no search is needed.
PLACES = 64
_MICROSECONDS = 1e6


class Latencies:
    """Counts of calls that took less than 2**place microseconds, but not less than half of that."""

    __slots__ = ("by_place", "seconds")

    def __init__(self) -> None:
        self.by_place = [0] * PLACES
        self.seconds = 0.0  # of all together


class Tally:
    def __init__(self) -> None:
        self.by_source = {source.value: Latencies() for source in Source}
        self.refusals: Counter[str] = Counter()  # by error code; these are no calls of a run

    def answered(self, source: str, started: float) -> None:
        """Counts a call that is stored and about to be answered."""
        seconds = time.perf_counter() - started
        latencies = self.by_source[source]
        latencies.by_place[int(seconds * _MICROSECONDS).bit_length()] += 1
        latencies.seconds += seconds
