"""Slots that many orgs want at once: who waits is served by turns, one org after the other.

Nothing is taken away from anybody. A slot that is free goes to the org that holds the fewest, among equals to
the one served longest ago; within an org its batches take turns, and within a batch runs keep their order. So
slots are never idle while someone waits, and an org that asks for one waits for one to be given back at most.
Not even that while a guest slot is free: past `slots`, `guests` more are for orgs that hold less than an
equal share. So nobody has all there is, and an org that is alone loses nothing by it.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeAlias


class SlotHolder(NamedTuple):
    """For whom a slot is wanted."""

    org_id: int
    batch_id: int | None = None


_Waiting: TypeAlias = "asyncio.Future[None]"


class FairSlots:
    """Used on one event loop."""

    def __init__(self, slots: int, *, guests: int = 0) -> None:
        self._slots = slots
        self._guests = guests
        self._held: Counter[int] = Counter()  # by org
        # Of each org its batches, in the order in which they are served next.
        self._waiting: dict[int, OrderedDict[int | None, deque[_Waiting]]] = {}
        self._served: dict[int, int] = {}  # by org, while it holds or waits: which turn was its latest
        self._turns = 0

    @classmethod
    def all_but_one_each(cls, places: int) -> "FairSlots":
        """No org has all of the places, even where it is alone: one is left for whoever comes."""
        return cls(max(places - 1, 1), guests=min(places - 1, 1))

    @property
    def held(self) -> int:
        return self._held.total()

    @property
    def waiting(self) -> int:
        return sum(len(queue) for batches in self._waiting.values() for queue in batches.values())

    @asynccontextmanager
    async def slot(self, place: SlotHolder) -> AsyncIterator[None]:
        await self._take(place)
        try:
            yield
        finally:
            self._give_back(place)

    async def _take(self, place: SlotHolder) -> None:
        mine: _Waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(place.org_id, OrderedDict()).setdefault(place.batch_id, deque()).append(mine)
        self._serve()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # it was given one in the very moment
                self._give_back(place)
            else:
                self._leave(place, mine)
            raise

    def _give_back(self, place: SlotHolder) -> None:
        self._held[place.org_id] -= 1
        if not self._held[place.org_id]:
            del self._held[place.org_id]
        self._serve()
        self._forget_turns(place.org_id)

    def _serve(self) -> None:
        while (org_id := self._next_org()) is not None:
            first = self._first_of(org_id)
            if first.done():  # cancelled, and has not heard of it yet
                continue
            self._held[org_id] += 1
            self._turns += 1
            self._served[org_id] = self._turns
            first.set_result(None)

    def _next_org(self) -> int | None:
        """The one that holds the fewest; among equals the one that was served longest ago."""
        held = self._held.total()
        if not self._waiting or held >= self._slots + self._guests:
            return None
        org_id = min(self._waiting, key=lambda org_id: (self._held[org_id], self._served.get(org_id, 0)))
        if held < self._slots:
            return org_id
        share = max(1, self._slots // len(self._held.keys() | self._waiting.keys()))
        return org_id if self._held[org_id] < share else None

    def _first_of(self, org_id: int) -> _Waiting:
        """Whoever of the org is next. Its batch goes to the end of the line."""
        batches = self._waiting[org_id]
        batch_id, queue = next(iter(batches.items()))
        first = queue.popleft()
        batches.move_to_end(batch_id)
        self._tidy(SlotHolder(org_id, batch_id))
        return first

    def _leave(self, place: SlotHolder, waiting: _Waiting) -> None:
        batches = self._waiting.get(place.org_id)
        queue = batches.get(place.batch_id) if batches is not None else None
        if queue is not None and waiting in queue:  # else it was passed over meanwhile
            queue.remove(waiting)
            self._tidy(place)

    def _tidy(self, place: SlotHolder) -> None:
        batches = self._waiting[place.org_id]
        if not batches[place.batch_id]:
            del batches[place.batch_id]
        if not batches:
            del self._waiting[place.org_id]
            self._forget_turns(place.org_id)

    def _forget_turns(self, org_id: int) -> None:
        if org_id not in self._held and org_id not in self._waiting:
            self._served.pop(org_id, None)
