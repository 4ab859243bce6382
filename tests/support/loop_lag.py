"""How late the event loop comes while something happens: the best of some tries, since machines are shared.

Time in which the loop's thread could run but no core was free does not count, where the kernel tells it. What
holds the loop for seconds does so at every try; a busy neighbour does not.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
MOST_LAG_S = 0.25
TRIES = 3
EVERY_S = 0.01
#: Nanoseconds on a core, nanoseconds of waiting for one, and turns.
_SCHEDULED = Path("/proc/thread-self/schedstat")


async def least_lag(work: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    """What the last try gave, and how late the loop came at most in the best one."""
    lags = []
    while True:
        result, lag_s = await _lag(work)
        lags.append(lag_s)
        if lag_s < MOST_LAG_S or len(lags) == TRIES:
            return result, min(lags)


async def _lag(work: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    loop = asyncio.get_running_loop()
    worst_s = 0.0

    async def look() -> None:
        nonlocal worst_s
        while True:
            due, waited_s = loop.time() + EVERY_S, _core_wait_s()
            await asyncio.sleep(EVERY_S)
            worst_s = max(worst_s, loop.time() - due - (_core_wait_s() - waited_s))

    watching = asyncio.ensure_future(look())
    await asyncio.sleep(2 * EVERY_S)
    try:
        result = await work()
        await asyncio.sleep(2 * EVERY_S)
    finally:
        watching.cancel()
    return result, worst_s


def _core_wait_s() -> float:
    """How long this thread has waited for a free core since it began."""
    try:
        return int(_SCHEDULED.read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
