"""Carrying out what a tool call asks: each kind of question by the function that knows how.

Whatever goes wrong becomes a reply (AskFailed): a question without an end would hold up the calls behind it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from pipelines.core.simulation.simulator import Question, Wait
from pipelines.wire.errors import AskFailed

log = logging.getLogger(__name__)
#: Gives the reply to a question, or raises AskFailed with what the agent may know.
AnswerQuestion: TypeAlias = Callable[[Any], Awaitable[object]]


async def wait(question: Wait) -> None:
    await asyncio.sleep(question.latency_ms / 1000)


class QuestionRunner:
    """Every question under way in this process."""

    def __init__(self, answerers: Mapping[type, AnswerQuestion] | None = None) -> None:
        self._answerers: dict[type, AnswerQuestion] = {Wait: wait, **(answerers or {})}
        self._under_way: set[asyncio.Task[None]] = set()

    def ask(self, question: Question, on_reply: Callable[[object], None]) -> "asyncio.Task[None]":
        """Put the question; `on_reply` hears what came of it, unless the task is cancelled before."""
        task = asyncio.ensure_future(self._ask(question, on_reply))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def close(self) -> None:
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _ask(self, question: Question, on_reply: Callable[[object], None]) -> None:
        reply: object
        try:
            async with asyncio.timeout(question.longest_s):
                reply = await self._answerers[type(question)](question)
        except AskFailed as failed:
            reply = failed
        except TimeoutError:
            reply = AskFailed(f"No answer came within {question.longest_s:g} s.")
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # nobody waits for it any more; otherwise something inside the carrier was cancelled
            # Our fault: logged, and the call is answered all the same.
            log.exception("a question of a tool call could not be asked: %s", type(question).__name__)
            reply = AskFailed()
        on_reply(reply)
