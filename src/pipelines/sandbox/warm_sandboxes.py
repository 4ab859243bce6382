"""Sandboxes that wait for work: which are kept, for how long, and what each one takes from the machine."""

import asyncio
import logging
import shutil
import tempfile
from collections import OrderedDict, deque
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

from pipelines.sandbox.cgroups import Group, Groups
from pipelines.sandbox.job import Limits
from pipelines.sandbox.launcher_client import Launcher, Request
from pipelines.sandbox.memory import WRITABLE
from pipelines.sandbox.recipe import JOB_FOLDER, Interpreter, Layout, isolated, unisolated
from pipelines.sandbox.sandbox import Sandbox, StartFailed

#: So long one is kept for whom it was begun: collecting and storing a change come between.
EXPECTED_S = 30.0
# With bubblewrap's own and the driver: the code's limit is an rlimit below it, this one nothing gets around.
MOST_PROCESSES = Limits().processes + 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxSetup:
    """How sandboxes are made on this machine."""

    python: Interpreter
    bwrap: str | None  # None: without isolation
    groups: Groups | None = None  # None: no cgroup
    hidden: tuple[Path, ...] = ()  # folders of the server that no code may see


@dataclass(kw_only=True, slots=True)
class HeldSandbox:
    """A started sandbox, and what goes back when it is closed."""

    layout: Layout
    slot: int
    sandbox: Sandbox
    group: Group | None = None
    folder: Path | None = None  # without isolation: the run's working folder
    ran_out_of_memory: bool = False  # known once it is closed
    expiry: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        if self.expiry is not None:
            self.expiry.cancel()
        await self.sandbox.close()
        if self.group is not None:
            self.ran_out_of_memory = self.group.was_exhausted()
            if not await asyncio.to_thread(self.group.remove):
                _log.warning("a cgroup cannot be removed: %s", self.group.folders[0])
        if self.folder is not None:
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


class WarmSandboxes:
    """Up to `warm` waiting sandboxes for each layout used lately, `most_warm` in all, `idle_s` long."""

    def __init__(
        self, launcher: Launcher, setup: SandboxSetup, *, warm: int, most_warm: int, idle_s: float
    ) -> None:
        self._launcher = launcher
        self._setup = setup
        self._warm = warm
        self._most_warm = most_warm
        self._idle_s = idle_s
        self._waiting: OrderedDict[Layout, deque[HeldSandbox]] = OrderedDict()  # the layout used last is last
        self._starting: dict[Layout, int] = {}
        self._expected: dict[Layout, deque[asyncio.Task[HeldSandbox]]] = {}
        self._free_slots: list[int] = []
        self._slots = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._relaunching = asyncio.Lock()
        self._is_closed = False

    def take(self, layout: Layout) -> HeldSandbox | None:
        """One that waits, if there is one. It is the caller's to give to `discard`."""
        waiting = self._waiting.get(layout)
        while waiting:
            held = waiting.popleft()
            if held.sandbox.is_alive:
                return held
            self._in_background(self.discard(held))
        return None

    def expect(self, layout: Layout) -> None:
        """One will be asked for in a moment: it is begun now, unless one waits."""
        if self._waiting.get(layout) or self._is_closed:
            return
        starting = asyncio.get_running_loop().create_task(self.start(layout))
        starting.add_done_callback(_ignore_failure)
        self._expected.setdefault(layout, deque()).append(starting)
        asyncio.get_running_loop().call_later(EXPECTED_S, self._no_longer_expect, layout, starting)

    async def taken(self, layout: Layout) -> HeldSandbox:
        """One that waits, or was begun for whom it expected, or a new one. Raises StartFailed."""
        if (held := self.take(layout)) is not None:
            return held
        if expected := self._expected.get(layout):
            starting = expected.popleft()
            if not expected:
                del self._expected[layout]
            try:
                return await asyncio.shield(starting)
            except asyncio.CancelledError:  # of who asks: what was begun is nobody's now
                self._in_background(self._drop(starting))
                raise
        return await self.start(layout)

    def _no_longer_expect(self, layout: Layout, starting: "asyncio.Task[HeldSandbox]") -> None:
        expected = self._expected.get(layout, deque())
        if starting in expected:
            expected.remove(starting)
            if not expected:
                del self._expected[layout]
            self._in_background(self._drop(starting))

    async def _drop(self, starting: "asyncio.Task[HeldSandbox]") -> None:
        with suppress(StartFailed):
            await self.discard(await starting)

    async def start(self, layout: Layout) -> HeldSandbox:
        """A new one; raises StartFailed."""
        async with self._relaunching:
            if not self._launcher.is_alive and not self._is_closed:
                await self._launcher.start()
        try:
            held = self._prepare(layout)
        except OSError as error:  # the cgroup's folder is not ours, the disk is full
            raise StartFailed(str(error)) from None
        try:
            await held.sandbox.start(self._request(held))
        except BaseException:
            await asyncio.shield(self.discard(held))
            raise
        return held

    async def discard(self, held: HeldSandbox) -> None:
        await held.close()
        heappush(self._free_slots, held.slot)

    def refill(self, layout: Layout) -> None:
        """Called when a layout is used: what is used again should find a sandbox waiting."""
        self._waiting.setdefault(layout, deque())
        self._waiting.move_to_end(layout)
        missing = self._warm - len(self._waiting[layout]) - self._starting.get(layout, 0)
        for _ in range(missing):
            self._starting[layout] = self._starting.get(layout, 0) + 1
            self._in_background(self._add(layout))

    async def close(self) -> None:
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        expected = [starting for queue in self._expected.values() for starting in queue]
        self._expected.clear()
        await asyncio.gather(*map(self._drop, expected))
        waiting = [held for queue in self._waiting.values() for held in queue]
        self._waiting.clear()
        await asyncio.gather(*(self.discard(held) for held in waiting))

    async def _add(self, layout: Layout) -> None:
        try:
            held = await self.start(layout)
        except StartFailed as error:
            _log.info("a sandbox could not be started ahead: %s", error)  # whoever needs one will hear why
            return
        finally:
            self._starting[layout] -= 1
            if not self._starting[layout]:
                del self._starting[layout]
        held.expiry = asyncio.get_running_loop().call_later(self._idle_s, self._expire, held)
        self._waiting.setdefault(layout, deque()).append(held)
        self._drop_the_oldest()

    def _drop_the_oldest(self) -> None:
        surplus = sum(map(len, self._waiting.values())) - self._most_warm
        for layout in list(self._waiting):
            queue = self._waiting[layout]
            while queue and surplus > 0:
                self._in_background(self.discard(queue.popleft()))
                surplus -= 1
            if not queue:
                del self._waiting[layout]

    def _expire(self, held: HeldSandbox) -> None:
        queue = self._waiting.get(held.layout, deque())
        if held in queue:
            queue.remove(held)
            self._in_background(self.discard(held))

    def _prepare(self, layout: Layout) -> HeldSandbox:
        group = self._group_for(layout)
        if self._free_slots:
            slot = heappop(self._free_slots)
        else:
            slot, self._slots = self._slots, self._slots + 1
        writable = WRITABLE if layout.workspace is None else (*WRITABLE, f"{JOB_FOLDER}/workspace")
        is_isolated = self._setup.bwrap is not None
        sandbox = Sandbox(self._launcher, is_isolated=is_isolated, group=group, writable=writable)
        held = HeldSandbox(layout=layout, slot=slot, sandbox=sandbox, group=group)
        if self._setup.bwrap is None:
            held.folder = Path(tempfile.mkdtemp(prefix="odyssey-run-"))
            (held.folder / "agent").symlink_to(layout.source_dir.resolve())
            (held.folder / "workspace").mkdir()
        return held

    def _group_for(self, layout: Layout) -> Group | None:
        if self._setup.groups is None:
            return None
        return self._setup.groups.make(memory_bytes=layout.memory_bytes, processes=MOST_PROCESSES)

    def _request(self, held: HeldSandbox) -> Request:
        if self._setup.bwrap is None:
            return unisolated(held.layout, self._setup.python, group=held.group)
        return isolated(
            held.layout,
            self._setup.python,
            bwrap=self._setup.bwrap,
            slot=held.slot,
            group=held.group,
            hidden=self._setup.hidden,
        )

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _ignore_failure(starting: "asyncio.Task[HeldSandbox]") -> None:
    """Whoever takes it hears of its failure; that nobody takes it is none."""
    if not starting.cancelled():
        starting.exception()
