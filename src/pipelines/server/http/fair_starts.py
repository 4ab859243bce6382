"""Starts requests fairly: one in each turn of the event loop, with addresses taking turns.

Otherwise, 500 requests from one client that arrive together would all start before any other client's.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable

AT_ONCE = 1  # beginning one takes half a millisecond, and whoever connects waits for some of these turns


class FairStarts:
    """Starts requests on one event loop."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._begun = 0  # in this turn of the loop
        self._waiting: OrderedDict[str, deque[Callable[[], None]]] = OrderedDict()  # whose turn it is first
        self._is_turning = False

    def start(self, address: str, begin: Callable[[], None]) -> None:
        """Starts the request now if this turn has room and nobody waits; else in the turn of its address."""
        if self._begun < self._at_once and not self._waiting:
            self._begun += 1
            begin()
        else:
            self._waiting.setdefault(address, deque()).append(begin)
        self._turn_soon()

    def _turn_soon(self) -> None:
        if not self._is_turning:
            self._is_turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._is_turning = False
        self._begun = 0
        if self._waiting:
            self._turn_soon()  # first: one that cannot begin holds up nobody
        while self._waiting and self._begun < self._at_once:
            self._begun += 1
            address, queue = self._waiting.popitem(last=False)
            begin = queue.popleft()
            if queue:
                self._waiting[address] = queue
            begin()
