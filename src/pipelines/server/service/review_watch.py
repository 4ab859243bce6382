"""Watches for finished matrices while the server runs, and adds review items for them."""

import asyncio
import logging
from contextlib import suppress

from pipelines.engine.batches.run_batch import BatchRunner
from pipelines.engine.evals.queue_requested_runs import queue_unqueued_runs
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.flag_reviews import flag_ended_matrices
from pipelines.wire.errors import StorageUnavailable

EVERY_S = 2.0  # one question that an index answers
#: Whoever reads the queue waits this long for what has just ended; the report of a huge matrix takes longer.
PATIENCE_S = 3.0
log = logging.getLogger(__name__)


class ReviewWatch:
    def __init__(self, platform: Platform, runner: BatchRunner) -> None:
        self._platform = platform
        self._runner = runner
        self._turn = asyncio.Lock()
        self._looks: set[asyncio.Task[None]] = set()
        self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        for task in (self._task, *self._looks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def look(self) -> None:
        """Adds items for finished matrices now, within a time limit."""
        task = asyncio.create_task(self._flag())
        self._looks.add(task)
        task.add_done_callback(self._looks.discard)
        await asyncio.wait([task], timeout=PATIENCE_S)

    async def _flag(self) -> None:
        try:
            async with self._turn:
                await flag_ended_matrices(self._platform)
        except StorageUnavailable as error:
            log.info("the database is unavailable; finished matrices are checked later: %s", error)

    async def _watch(self) -> None:
        """Checks at once at start, for matrices that finished before a crash."""
        is_start = True
        while True:
            try:
                await self._flag()
                await queue_unqueued_runs(self._platform, self._runner, at_start=is_start)
                is_start = False
            except StorageUnavailable as error:
                log.info("the database is unavailable; requested runs are queued later: %s", error)
            except Exception:  # whatever it was, the next round may have more luck
                log.exception("updating the review queue failed")
            await asyncio.sleep(EVERY_S)
