"""At most N calls in any sixty seconds: exact, and as cheap as the last N times; or in their turn."""

import math
import time
from collections import deque
from collections.abc import Callable

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


class Pace:
    """For callers who wait instead of being refused: `a_minute` of them at once, then one after another."""

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval_s = WINDOW_S / a_minute if a_minute else 0.0
        self._clock = clock
        self._next = clock() - WINDOW_S  # when the next one would be due, had they all come evenly

    def wait_s(self) -> float:
        """How long this one has to wait; it is counted."""
        now = self._clock()
        self._next = min(max(self._next, now - WINDOW_S), now + WINDOW_S) + self._interval_s
        return max(0.0, self._next - now)
