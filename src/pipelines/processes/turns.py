"""Whose turn it is at something scarce: owners take turns, so that nobody waits behind another's queue."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class FairTurns:
    """`places` at once, one of them at most for each owner while there are others to leave one for."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._most_each = max(places - 1, 1)
        self._held: Counter[Hashable] = Counter()
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, owner: Hashable) -> AsyncIterator[None]:
        await self._take(owner)
        try:
            yield
        finally:
            self._give_back(owner)

    async def _take(self, owner: Hashable) -> None:
        if self._free and self._held[owner] < self._most_each and owner not in self._waiting:
            self._seat(owner)
            return
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():  # called and gone at the same moment
                self._give_back(owner)
            raise

    def _seat(self, owner: Hashable) -> None:
        self._free -= 1
        self._held[owner] += 1

    def _give_back(self, owner: Hashable) -> None:
        self._free += 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        for next_owner in list(self._waiting):
            if not self._free:
                return
            if self._held[next_owner] < self._most_each:
                self._call(next_owner)

    def _call(self, owner: Hashable) -> None:
        """The first of the owner who still waits; the others queue behind everybody else's."""
        queue = self._waiting.pop(owner)
        while queue:
            called = queue.popleft()
            if not called.done():
                self._seat(owner)
                called.set_result(None)
                break
        if queue:
            self._waiting[owner] = queue
