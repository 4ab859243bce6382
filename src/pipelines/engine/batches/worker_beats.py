"""Workers on one database say that they are there, and find out who is gone.

Nobody compares times. A worker renews its row at each beat; another is gone when its row stayed the same over
`BEATS` beats in a row of the one who looks, each of which got through in time. So a database that is blocked
for everybody, or a process that slept itself, makes nobody gone; and no worker ever judges itself.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from pipelines.engine.platform import Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs import workers

log = logging.getLogger(__name__)
BEATS = 5  # a worker that misses this many heartbeats is taken to be gone
LATE_BEATS = 2.0  # a beat that got through so many intervals after the one before says: it was me


class GoneWorker(NamedTuple):
    worker: str
    sign: str  # what its row said all the time


class SilenceWatch:
    """What one worker knows of the others, a look at each of its own beats."""

    def __init__(self, own: str) -> None:
        self._own = own
        self._looks: dict[str, tuple[str, int]] = {}  # worker -> its sign, and how often it was the same

    def look(self, signs: Mapping[str, str], *, was_well: bool) -> list[GoneWorker]:
        """Who is gone. `was_well`: this beat got through in time after the one before."""
        before, self._looks = self._looks, {}
        for worker, sign in signs.items():
            if worker != self._own:
                last, looks = before.get(worker, ("", 0))
                self._looks[worker] = (sign, looks + 1 if was_well and sign == last else 0)
        return [
            GoneWorker(worker, sign)
            for worker, (sign, looks) in self._looks.items()
            if looks >= BEATS or sign == workers.LEFT
        ]


class WorkerBeats:
    """The heartbeat of this process. `take_over` starts the shards of a worker that is gone.

    `on_declared_gone` is awaited when other workers have declared this one gone, before it is listed again:
    until then it claims nothing.
    """

    def __init__(
        self,
        platform: Platform,
        *,
        worker: str,
        beat_s: float,
        take_over: Callable[[str], Awaitable[None]],
        on_declared_gone: Callable[[], Awaitable[None]],
    ) -> None:
        self._platform = platform
        self._steady = platform.live_runs.steady
        self._worker = worker
        self._beat_s = beat_s
        self._take_over = take_over
        self._on_declared_gone = on_declared_gone
        self._watch = SilenceWatch(worker)
        self._last_heard = 0.0  # when a beat of ours was last known to be stored
        self._beating: asyncio.Task[None] | None = None
        self._takeovers: set[asyncio.Task[None]] = set()  # taking over: a beat must not wait for it

    async def start(self) -> None:
        await self._enlist()
        self._beating = asyncio.create_task(self._keep_beating())

    async def stop(self) -> None:
        tasks = [*self._takeovers, *([self._beating] if self._beating is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(self._beat_s)
            try:
                for lost_node in await self._beat():
                    await self._take_over_worker(lost_node)
            except Exception:  # whatever it was, a heart that stops for it would be worse
                log.exception("worker %s missed a beat", self._worker)

    async def _enlist(self) -> None:
        now = self._platform.now()
        await self._platform.database.write_apart(
            lambda connection: workers.enlist(connection, worker=self._worker, now=now)
        )
        self._last_heard = self._steady()

    async def _beat(self) -> list[GoneWorker]:
        """Over a connection of its own: behind a large change it would be heard too late."""
        sent = self._platform.now()

        def beat(connection: Connection) -> dict[str, str] | None:
            is_listed = workers.beat(connection, worker=self._worker, now=sent)
            return workers.signs_of_workers(connection) if is_listed else None

        signs = await self._platform.database.write_apart(beat)
        if signs is None:
            await self._on_declared_gone()
            await self._enlist()
            return []
        now = self._steady()
        was_well = now - self._last_heard < LATE_BEATS * self._beat_s
        self._last_heard = now
        return self._watch.look(signs, was_well=was_well)

    async def _take_over_worker(self, gone: GoneWorker) -> None:
        """Its runs end as interrupted, its shards start here; unless it was heard of, or another was faster.
        Should this one go, too, before it is done, another will."""
        now = self._platform.now()
        mark = f"{workers.TAKEN} by {self._worker} {now}"
        if await self._platform.database.write_apart(
            lambda connection: workers.take_worker(
                connection, worker=gone.worker, sign=gone.sign, mark=mark, now=now
            )
        ):
            task = asyncio.create_task(self._finish_take_over(gone.worker, mark))
            self._takeovers.add(task)
            task.add_done_callback(self._takeovers.discard)

    async def _finish_take_over(self, worker: str, mark: str) -> None:
        log.warning("worker %s is gone; this worker continues its shards", worker)
        try:
            await self._take_over(worker)
            await self._platform.database.write_apart(
                lambda connection: workers.forget_worker(connection, worker=worker, sign=mark)
            )
        except Exception:  # its row stays as it is: whoever finds it unchanged takes it once more
            log.exception("worker %s could not take over from worker %s", self._worker, worker)
