"""Measures the delay of the event loop: the first figure to check when everything is slow."""

import asyncio
from collections import deque

EVERY_S = 1.0
KEPT = 60  # longer than most wait between two scrapes, so that no stall goes unseen


class LoopLag:
    """Measures the lag of the running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._late_s: deque[float] = deque([0.0], maxlen=KEPT)
        self._due = self._loop.time() + EVERY_S
        self._timer = self._loop.call_at(self._due, self._look)

    @property
    def worst_s(self) -> float:
        """The largest lag of the last minute."""
        return max(self._late_s)

    def _look(self) -> None:
        now = self._loop.time()
        self._late_s.append(max(now - self._due, 0.0))
        self._due = now + EVERY_S
        self._timer = self._loop.call_at(self._due, self._look)

    def close(self) -> None:
        self._timer.cancel()
