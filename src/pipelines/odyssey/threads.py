"""Runs async code from sync code inside a running loop: on a new thread, with the current envelope."""

import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


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
