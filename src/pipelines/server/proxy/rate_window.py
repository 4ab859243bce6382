"""Rate limits: at most N calls in any sixty seconds, exactly; and pacing for callers that wait."""

import math
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

WINDOW_S = 60.0


def wait_before(recent: deque[float], now: float, limit: int) -> int:
    """0 if the call may proceed (and is counted), else the seconds to wait."""
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
    """A burst size that is refilled in each window."""

    most: int
    window_s: float = WINDOW_S


class Pace:
    """Paces callers that wait instead of being refused: each proceeds when every bound allows it."""

    def __init__(self, *bounds: Bound, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._clock = clock
        # For each bound, when the next caller would be due at an even pace.
        self._due = [clock() - bound.window_s for bound in bounds]

    def wait_s(self) -> float:
        """The seconds that this caller must wait. Counts the caller."""
        now = self._clock()
        for place, (most, window_s) in enumerate(self._bounds):
            due = min(max(self._due[place], now - window_s), now + window_s)
            self._due[place] = due + window_s / most
        return max(0.0, *(due - now for due in self._due), 0.0)
