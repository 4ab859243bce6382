"""Threads that read plans and behaviour text, apart from those that read the database for everybody.

Orgs take turns, and none has all threads: what one writes to be hard to read delays only itself.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder

T = TypeVar("T")
READERS = 2  # pure Python: more of them would only take turns with the event loop


class PlanReaders:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="plans")
        self._turns = FairSlots.all_but_one_each(READERS)

    async def run(self, work: Callable[[], T], *, owner: int) -> T:
        async with self._turns.slot(SlotHolder(owner)):
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
