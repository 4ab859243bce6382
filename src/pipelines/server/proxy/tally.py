"""What the proxy counts of its tool calls, cheap enough to be done on every one."""

import time
from collections import Counter

from pipelines.wire.names import Source

#: Latencies are counted by powers of two of a microsecond: the place of one is found without a search.
PLACES = 64
_MICROSECONDS = 1e6


class Latencies:
    """How many calls took less than 2**place microseconds and no less than half of it."""

    __slots__ = ("by_place", "seconds")

    def __init__(self) -> None:
        self.by_place = [0] * PLACES
        self.seconds = 0.0  # of all together


class Tally:
    def __init__(self) -> None:
        self.by_source = {source.value: Latencies() for source in Source}
        self.refusals: Counter[str] = Counter()  # by error code; these are no calls of a run

    def answered(self, source: str, started: float) -> None:
        """A call that is stored and about to be told."""
        seconds = time.perf_counter() - started
        latencies = self.by_source[source]
        latencies.by_place[int(seconds * _MICROSECONDS).bit_length()] += 1
        latencies.seconds += seconds
