"""Looks, for as long as the server runs, for matrices that have ended and what people have to see of them."""

import asyncio
import logging
from contextlib import suppress

from pipelines.engine.flag_reviews import flag_ended_matrices
from pipelines.engine.platform import Platform
from pipelines.engine.queue_asked_runs import queue_asked_runs
from pipelines.engine.run_batch import BatchRunner
from pipelines.wire.errors import StorageUnavailable

EVERY_S = 2.0  # one question that an index answers; whoever reads the queue asks it too
log = logging.getLogger(__name__)


class ReviewWatch:
    def __init__(self, platform: Platform, runner: BatchRunner) -> None:
        self._platform = platform
        self._runner = runner
        self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _watch(self) -> None:
        """What a server before this one was killed over is taken up at once."""
        is_first = True
        while True:
            try:
                if is_first:
                    await queue_asked_runs(self._platform, self._runner)
                    is_first = False
                await flag_ended_matrices(self._platform)
            except StorageUnavailable as error:
                log.info("the database is away; matrices are looked through later: %s", error)
            except Exception:  # whatever it was, the next round may have more luck
                log.exception("a matrix could not be looked through for what people have to see")
            await asyncio.sleep(EVERY_S)
