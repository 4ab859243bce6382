"""Runs async code of sync handlers on one event loop for the process, on its own thread.

A loop for each run would be simpler, but clients of model providers keep connections that belong to the loop
on which they were opened; the next run would get a connection of a closed loop.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .threads import run_async_in_thread

T = TypeVar("T")


class _SharedLoop:
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


_SHARED_LOOP = _SharedLoop()


def run_on_shared_loop(coro_factory: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end in the caller's context; its result, or what it raised.

    A caller that itself works on that loop (a tool that runs another agent) gets a thread instead: the loop
    cannot wait for itself.
    """
    loop = _SHARED_LOOP.get()
    if asyncio._get_running_loop() is loop:
        return run_async_in_thread(coro_factory)
    waiting = asyncio.run_coroutine_threadsafe(_await_result(coro_factory), loop)
    try:
        return waiting.result()
    finally:
        waiting.cancel()  # for a caller that was interrupted; one that is done cannot be cancelled


async def _await_result(coro_factory: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await coro_factory()
