"""At most N calls in any sixty seconds: exact, and as cheap as the last N times; or in their turn."""

import math
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

WINDOW_S = 60.0


def wait_before(recent: deque[float], now: float, limit: int) -> int:
    """0 when the call may go ahead (and is counted), else the whole seconds to wait."""
    if limit == 0:
        return 0
    if len(recent) >= limit:
        free_at = recent[0] + WINDOW_S
        if now < free_at:
            return max(1, math.ceil(free_at - now))
        recent.popleft()
    recent.append(now)
    return 0


class Bound(NamedTuple):
    """So many at once, and in the long run as many in each window."""

    most: int
    window_s: float = WINDOW_S


class Pace:
    """For callers who wait instead of being refused: each is let through when every bound allows it."""

    def __init__(self, *bounds: Bound, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._clock = clock
        # Of each bound, when the next one would be due, had all come evenly.
        self._due = [clock() - bound.window_s for bound in bounds]

    def wait_s(self) -> float:
        """How long this one has to wait; it is counted."""
        now = self._clock()
        for place, (most, window_s) in enumerate(self._bounds):
            due = min(max(self._due[place], now - window_s), now + window_s)
            self._due[place] = due + window_s / most
        return max(0.0, *(due - now for due in self._due), 0.0)
