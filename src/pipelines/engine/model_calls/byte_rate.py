"""How fast bytes go by: at once as long as they are few, and evenly from then on."""

import asyncio
import time
from collections.abc import Callable


class ByteRateLimiter:
    """Shared by all who move bytes for one purpose; whoever moves them too fast waits. A part counts for
    `least` bytes, however small it is: moving one byte takes as long."""

    __slots__ = ("_at_once_s", "_clock", "_due", "_least", "_per_s")

    def __init__(
        self, *, at_once: int, per_s: int, least: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._least = least
        self._per_s = per_s
        self._at_once_s = at_once / per_s
        self._clock = clock
        self._due = clock() - self._at_once_s  # when those so far would have gone by, had all come evenly

    def wait_s(self, size: int) -> float:
        """How long to wait behind so many bytes; they are counted."""
        now = self._clock()
        self._due = max(self._due, now - self._at_once_s) + max(size, self._least) / self._per_s
        return max(0.0, self._due - now)

    async def wait_for_bytes(self, size: int) -> None:
        wait_s = self.wait_s(size)
        if wait_s:
            await asyncio.sleep(wait_s)
