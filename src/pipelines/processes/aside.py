"""Large values read and written beside the event loop, one at a time.

A mebibyte of JSON that is made to be hard holds the interpreter for some 50 ms in one piece. Threads that do
so at the same time hand it to one another, and the loop waits for all of them; one after the other they take
no longer. Orgs take turns. What takes seconds belongs in a helper process (`pool`), what is slow without
holding the interpreter on a thread of its own.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder

P = ParamSpec("P")
T = TypeVar("T")
_thread = ThreadPoolExecutor(1, thread_name_prefix="aside")
#: Of each event loop; a server has one.
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, FairSlots] = WeakKeyDictionary()


async def aside(owner: int, read: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What `read` returns or raises; `owner` is the org for which it is done."""
    loop = asyncio.get_running_loop()
    async with _turns.setdefault(loop, FairSlots(1)).slot(SlotHolder(owner)):
        return await loop.run_in_executor(_thread, partial(read, *given, **named))
