"""Judge models that are being asked in this process, each beside the run that waits for it.

A run has ended, and its place is free, when its judge is asked: however slow the model is, no other run waits
for it. What is promised stands in the database: a task that is cut off is taken up by the next process.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)

RunJudgement = Callable[[int], Awaitable[None]]
ClaimJudgements = Callable[[str | None], Awaitable[list[tuple[int, int]]]]
CLAIM_EVERY_S = 60.0  # for what a worker left that nobody knew of


async def _no_judge(judgement_id: int) -> None:
    log.warning("judgement %s waits: this process has no judge", judgement_id)


async def _no_claims(gone: str | None) -> list[tuple[int, int]]:
    return []


class JudgeTasks:
    def __init__(self) -> None:
        self.worker = "local"
        self._judge: RunJudgement = _no_judge
        self._take: ClaimJudgements = _no_claims
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._of_run: dict[int, int] = {}
        self._looking: asyncio.Task[None] | None = None

    async def open(self, *, worker: str, judge: RunJudgement, take: ClaimJudgements) -> None:
        """Go on with what this worker had promised before it was cut off."""
        self.worker, self._judge, self._take = worker, judge, take
        await self.take_up()
        self._looking = asyncio.create_task(self._claim_periodically())

    async def close(self) -> None:
        """What is under way is cut off; its promise stays."""
        tasks = [*self._tasks.values(), *([self._looking] if self._looking is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def start(self, judgement_id: int, run_id: int) -> None:
        if judgement_id in self._tasks:
            return
        task = asyncio.ensure_future(self._judge(judgement_id))
        self._tasks[judgement_id] = task
        self._of_run[run_id] = judgement_id
        task.add_done_callback(lambda _: self._done(judgement_id, run_id))

    async def wait(self, run_id: int, timeout_s: float) -> None:
        """Until the run's judge has answered, or so long."""
        task = self._tasks.get(self._of_run.get(run_id, 0))
        if task is not None:
            await asyncio.wait([task], timeout=timeout_s)

    async def take_up(self, gone: str | None = None) -> None:
        for judgement_id, run_id in await self._take(gone):
            self.start(judgement_id, run_id)

    def _done(self, judgement_id: int, run_id: int) -> None:
        self._tasks.pop(judgement_id, None)
        self._of_run.pop(run_id, None)

    async def _claim_periodically(self) -> None:
        while True:
            await asyncio.sleep(CLAIM_EVERY_S)
            try:
                await self.take_up()
            except Exception:  # whatever it was, the next round may have more luck
                log.exception("waiting judgements could not be claimed")
