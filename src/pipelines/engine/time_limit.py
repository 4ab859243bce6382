"""How long a thread may work at one thing, by its processor time: a busy machine changes no result."""

import time
from collections.abc import Callable


def has_time(most_s: float) -> Callable[[], bool]:
    """Says no once the thread that asks has worked so long since now."""
    until = time.thread_time() + most_s
    return lambda: time.thread_time() < until
