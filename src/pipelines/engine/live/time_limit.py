"""How long a thread may work at one thing, by its processor time: a busy machine changes no result."""

import threading
import time
from collections.abc import Callable


def has_time(most_s: float) -> Callable[[], bool]:
    """Says no once this thread has worked so long since now. Each thread has a clock of its own: another one
    that asks would be told anything, and is refused."""
    until, made_by = time.thread_time() + most_s, threading.get_ident()

    def is_left() -> bool:
        if threading.get_ident() != made_by:
            raise RuntimeError("a limit of processor time was made by another thread than asks for it")
        return time.thread_time() < until

    return is_left
