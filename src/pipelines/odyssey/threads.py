"""Threads: async code run from sync code inside a running loop, and pools that are made when first used."""

import os
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")


class LazyThreadPool:
    """A fork takes the pool along, but not its threads: the child makes its own."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._made: list[ThreadPoolExecutor] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._made.clear)

    def executor(self) -> "ThreadPoolExecutor":
        if not self._made:
            from concurrent.futures import ThreadPoolExecutor

            self._made.append(ThreadPoolExecutor(self._most, thread_name_prefix=self._name))
        return self._made[0]


def run_async_in_thread(coro_factory: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end on a fresh thread and return its result, or raise what it raised.

    For sync code that may be called while a loop runs, where `asyncio.run` refuses to. The thread sees the
    caller's context, the current envelope included:

        result = run_async_in_thread(lambda: Runner.run(agent, envelope.user_instruction))

    It takes a function that makes the coroutine, so that the coroutine is born on the thread that runs it.
    """
    import asyncio

    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(asyncio.run(coro_factory()))
        except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=[work], name="odyssey-async")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
