"""A model asked with patience: a limit of questions at a time, a time limit, and another try where it helps.

Only what the provider calls passing is tried again (429, 5xx, a connection that broke). An answer that cannot
be used is an answer. While it waits for the next try, a question holds no place: others have it.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from pipelines.core.models.model_question import Failure, ModelAnswer, ModelCallFailed, ModelQuestion
from pipelines.models.client import ModelClient

TRIES = 4
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 8.0  # of our own
LONGEST_ASKED_S = 60.0  # a provider that asks for more is not waited for


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    timeout_s: float  # of each request
    tries: int = TRIES
    first_pause_s: float = FIRST_PAUSE_S


class RetryingModel:
    def __init__(
        self,
        model: ModelClient,
        patience: Patience,
        turn: Callable[[], AbstractAsyncContextManager[None]],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._patience = patience
        self._turn = turn
        self._sleep = sleep
        self._draw = draw

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        sent = perhaps_paid = 0
        while True:
            try:
                answer = await self._once(question)
            except ModelCallFailed as nothing:
                sent += nothing.requests
                pause = self._pause_s(nothing, sent)
                if pause is None:
                    nothing.requests, nothing.perhaps_paid = sent, perhaps_paid
                    raise
                perhaps_paid += nothing.tokens is None
                await self._sleep(pause)
            else:
                sent += answer.requests
                return replace(answer, requests=sent, perhaps_paid=answer.perhaps_paid + perhaps_paid)

    def cost_nanousd(self, input_tokens: int, output_tokens: int) -> int | None:
        return self._model.cost_nanousd(input_tokens, output_tokens)

    async def _once(self, question: ModelQuestion) -> ModelAnswer:
        async with self._turn():
            try:
                async with asyncio.timeout(self._patience.timeout_s):
                    return await self._model.ask(question)
            except TimeoutError:
                message = f"there was no answer within {self._patience.timeout_s:g} s"
                raise ModelCallFailed(Failure.TIMEOUT, message) from None

    def _pause_s(self, nothing: ModelCallFailed, sent: int) -> float | None:
        """How long until the next try; None: there is none. Never before the provider said."""
        if not nothing.is_worth_retry or sent >= self._patience.tries:
            return None
        pause = nothing.retry_after_s or 0.0
        if pause > LONGEST_ASKED_S:
            return None
        grown: float = self._patience.first_pause_s * 2 ** (sent - 1)
        own = min(grown, LONGEST_PAUSE_S)
        return max(pause, own / 2) + own / 2 * self._draw()
