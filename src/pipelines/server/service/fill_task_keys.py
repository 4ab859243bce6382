"""After a start, adds keys to tasks stored by an older release, in the background."""

import asyncio
import logging
from contextlib import suppress

from pipelines.engine.platform import Platform
from pipelines.engine.tasks.fill_task_keys import name_every_task

AGAIN_S = 60.0
_log = logging.getLogger(__name__)


class TaskNaming:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._task = asyncio.create_task(self._name_all())

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _name_all(self) -> None:
        while True:
            try:
                if named := await name_every_task(self._platform):
                    _log.info("added keys to the tasks of %d datasets of an older release", named)
                return
            except Exception:  # noqa: BLE001 - a database that is away: no reason to give up for good
                _log.warning("could not add keys to tasks; trying again", exc_info=True)
            await asyncio.sleep(AGAIN_S)
