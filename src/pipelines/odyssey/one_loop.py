"""Async frameworks from sync handlers: one event loop for the process, on a thread of its own.

A loop for each run would be simpler, but the clients of model providers keep connections that belong to the
loop they were opened on; the next run would be handed one of a loop that is closed.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .threads import run_async_in_thread

T = TypeVar("T")


class _OneLoop:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._process != os.getpid():  # a fork takes the loop but not its thread
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                threading.Thread(target=self._loop.run_forever, name="odyssey-loop", daemon=True).start()
            return self._loop


_ONE_LOOP = _OneLoop()


def run_on_one_loop(coro_factory: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end in the caller's context; its result, or what it raised.

    A caller that itself works on that loop (a tool that runs another agent) gets a thread instead: the loop
    cannot wait for itself.
    """
    loop = _ONE_LOOP.get()
    if asyncio._get_running_loop() is loop:
        return run_async_in_thread(coro_factory)
    waiting = asyncio.run_coroutine_threadsafe(_started(coro_factory), loop)
    try:
        return waiting.result()
    finally:
        waiting.cancel()  # for a caller that was interrupted; one that is done cannot be cancelled


async def _started(coro_factory: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await coro_factory()
