"""Sandboxes that wait with an endpoint's modules imported: which are kept, and for how long."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any
from weakref import WeakSet

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder
from pipelines.core.text.json_text import JsonObject
from pipelines.sandbox.function_box import FunctionAnswer, FunctionBox, LoadFailed, Program, layout_of
from pipelines.sandbox.host_listener import Serve
from pipelines.sandbox.job import CodeError, CodeErrorKind
from pipelines.sandbox.pool import SandboxPool
from pipelines.sandbox.sandbox import StartFailed

MOST_IDLE = 8  # in all: 10 to 40 MiB each, with what they have imported
MOST_IDLE_OF_ONE = 4
IDLE_S = 300.0

_log = logging.getLogger(__name__)


class FunctionBoxes:
    """One per server process. Calls have slots of their own: a code agent that holds a sandbox may wait for
    a call, which must never wait for that sandbox."""

    def __init__(self, pool: SandboxPool, *, idle_s: float = IDLE_S) -> None:
        self._pool = pool
        self._slots = FairSlots(pool.at_once, guests=-(-pool.at_once // 4))
        self._idle_s = idle_s
        self._idle: list[FunctionBox] = []  # the one used last is last
        self._gone: WeakSet[Program] = WeakSet()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        #: Calls that are at their sandbox now.
        self.busy = 0

    async def ask(
        self, program: Program, message: JsonObject, serve: Serve, *, wall_s: float | None = None
    ) -> FunctionAnswer:
        """What came of it. A cancelled one is killed. The time is the call's own, not that of waiting for a
        turn or of importing."""
        async with self._slots.slot(SlotHolder(program.org_id)):
            box = self._take_idle(program)
            try:
                box = box or await self._start_box(program)
            except LoadFailed as error:
                return error.answered
            except StartFailed as error:
                return FunctionAnswer(value=None, error=_not_started(str(error)))
            self.busy += 1
            try:
                return await box.ask(message, serve, wall_s)
            finally:
                self.busy -= 1
                self._give_back(box)

    def forget(self, program: Program) -> None:
        """Nobody will call it any more; what is being called ends, and is not kept."""
        self._gone.add(program)
        for box in [box for box in self._idle if box.program is program]:
            self._idle.remove(box)
            self._in_background(box.close())

    async def close(self) -> None:
        self._is_closed = True
        for box in self._idle:
            self._in_background(box.close())
        self._idle.clear()
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take_idle(self, program: Program) -> FunctionBox | None:
        for box in reversed(self._idle):
            if box.program is program:
                self._idle.remove(box)
                if box.expiry is not None:
                    box.expiry.cancel()
                if box.is_alive:
                    return box
                self._in_background(box.close())
                return self._take_idle(program)
        return None

    async def _start_box(self, program: Program) -> FunctionBox:
        box = FunctionBox(self._pool, await self._pool.open_sandbox(layout_of(program)), program)
        try:
            await box.load()
        except BaseException:
            self._in_background(box.close())
            raise
        return box

    def _give_back(self, box: FunctionBox) -> None:
        is_wanted = not self._is_closed and box.program not in self._gone
        if not (is_wanted and box.is_reusable and box.is_alive):
            self._in_background(box.close())
            if is_wanted and box.forks:
                self._in_background(self._refill(box.program))
            return
        self._keep(box)

    async def _refill(self, program: Program) -> None:
        """One in place of one that a call has used up, so that the next finds one, too."""
        if any(box.program is program for box in self._idle):
            return
        try:
            box = await self._start_box(program)
        except (LoadFailed, StartFailed) as error:
            _log.info("a sandbox could not be started ahead: %s", error)  # whoever needs one will hear why
            return
        if box.forks and not self._is_closed and program not in self._gone:
            self._keep(box)
        else:
            await box.close()

    def _keep(self, box: FunctionBox) -> None:
        self._idle.append(box)
        box.expiry = asyncio.get_running_loop().call_later(self._idle_s, self._expire, box)
        own = [each for each in self._idle if each.program is box.program]
        if len(own) > MOST_IDLE_OF_ONE:
            self._expire(own[0])
        if len(self._idle) > MOST_IDLE:
            self._expire(self._idle[0])

    def _expire(self, box: FunctionBox) -> None:
        if box in self._idle:
            self._idle.remove(box)
            self._in_background(box.close())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _not_started(reason: str) -> CodeError:
    return CodeError(
        kind=CodeErrorKind.SANDBOX_FAILED,
        message=f"no sandbox could be started: {reason}",
        hint="the server's operator can look at this: the function was not called",
    )
