"""At most N calls in any sixty seconds: exact, and as cheap as the last N times."""

import math
from collections import deque

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
