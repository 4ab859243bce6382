"""Turns at the loop: an org whose call took long waits as long again before its next one is decided.

Calls are decided on the loop, each within limits; but many long ones that arrive at once would keep others
waiting for all of them. So an org has at most half of the loop's time, and others are served in between.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeVar

LONG_S = 0.02  # a call that takes less is nobody's trouble; ordinary ones take a thousandth of that

T = TypeVar("T")
Work = Callable[[], None]


class CallTurns:
    """Works of one org are done in the order in which they came; those of different orgs are independent."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._waiting: dict[int, deque[Work]] = {}  # of orgs that are at work, or rest after a long one

    def take(self, org_id: int, work: Work) -> None:
        """Done now, or when the org's turn has come: then it may not raise."""
        waiting = self._waiting.get(org_id)
        if waiting is not None:
            waiting.append(work)
            return
        self._waiting[org_id] = deque()
        began = self._clock()
        try:
            work()
        finally:
            self._finish(org_id, self._clock() - began)

    async def do(self, org_id: int, work: Callable[[], T]) -> T:
        """What it gives, or raises; what it takes is counted as a call's time is."""
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.take(org_id, partial(_settle, result, work))
        return await result

    async def wait(self, org_id: int) -> None:
        """Until the org's turn has come, for what has to keep the order of its calls."""
        waiting = self._waiting.get(org_id)
        if waiting is not None:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting.append(lambda: None if turn.done() else turn.set_result(None))
            await turn

    def is_free(self, org_id: int) -> bool:
        """Whether what it takes now is done at once."""
        return org_id not in self._waiting

    def is_long(self, began: float) -> bool:
        """Whether what began then should let others have their turn, and take another for the rest."""
        return self._clock() - began >= LONG_S

    def now(self) -> float:
        return self._clock()

    def _do_next(self, org_id: int) -> None:
        """One at a time: whoever only waits for its turn goes on before the next is done."""
        waiting, began = self._waiting[org_id], self._clock()
        try:
            if waiting:
                waiting.popleft()()
        finally:
            self._finish(org_id, self._clock() - began)

    def _finish(self, org_id: int, took: float) -> None:
        if took >= LONG_S:
            asyncio.get_running_loop().call_later(took, self._do_next, org_id)
        elif self._waiting[org_id]:
            asyncio.get_running_loop().call_soon(self._do_next, org_id)
        else:  # as nearly always
            del self._waiting[org_id]


def _settle(result: "asyncio.Future[T]", work: Callable[[], T]) -> None:
    if result.done():  # whoever asked has hung up
        return
    try:
        result.set_result(work())
    except Exception as error:  # noqa: BLE001 - raised to whoever asked
        result.set_exception(error)
