"""Patience with a model: what is tried again, when, and what is not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pipelines.core.models.model_question import Failure, ModelAnswer, ModelCallFailed, ModelQuestion
from pipelines.models.retrying import Patience, RetryingModel
from support.provider_api import question

pytestmark = pytest.mark.anyio
ANSWER = ModelAnswer(text="{}", data={})


class Faulty:
    """Fails so often, then answers."""

    def __init__(self, *faults: ModelCallFailed) -> None:
        self.faults = [*faults]
        self.asked = 0

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        self.asked += 1
        if self.faults:
            raise self.faults.pop(0)
        return ANSWER

    def cost_nanousd(self, input_tokens: int, output_tokens: int) -> int | None:
        return None


class Turns:
    def __init__(self) -> None:
        self.held = 0
        self.slept: list[float] = []

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1

    async def sleep(self, seconds: float) -> None:
        assert self.held == 0, "who waits holds no place"
        self.slept.append(seconds)

    def model(self, inner: Faulty, *, draw: float = 0.0) -> RetryingModel:
        patience = Patience(timeout_s=5.0)
        return RetryingModel(inner, patience, self.turn, sleep=self.sleep, draw=lambda: draw)


def busy(after: float | None = None) -> ModelCallFailed:
    return ModelCallFailed(Failure.RATE_LIMITED, "busy", tokens=0, is_worth_retry=True, retry_after_s=after)


async def test_what_passes_is_tried_again_with_growing_pauses_and_counted() -> None:
    turns, inner = Turns(), Faulty(busy(), busy(), busy())
    answer = await turns.model(inner).ask(question())
    assert answer.requests == 4
    assert turns.slept == [0.25, 0.5, 1.0]


async def test_what_broke_off_may_have_been_paid_for_and_is_told() -> None:
    broken = ModelCallFailed(Failure.UNAVAILABLE, "the connection broke", is_worth_retry=True)
    answer = await Turns().model(Faulty(broken, busy())).ask(question())
    assert (answer.requests, answer.perhaps_paid) == (3, 1)
    given_up = ModelCallFailed(Failure.REFUSED, "declined", tokens=0)
    broken = ModelCallFailed(Failure.UNAVAILABLE, "the connection broke", is_worth_retry=True)
    with pytest.raises(ModelCallFailed) as nothing:
        await Turns().model(Faulty(broken, given_up)).ask(question())
    assert (nothing.value.requests, nothing.value.perhaps_paid) == (2, 1)


async def test_pauses_are_spread_so_that_not_all_come_back_at_once() -> None:
    turns = Turns()
    await turns.model(Faulty(busy()), draw=0.5).ask(question())
    assert turns.slept == [0.375]


async def test_after_four_requests_it_is_over() -> None:
    turns, inner = Turns(), Faulty(*[busy() for _ in range(9)])
    with pytest.raises(ModelCallFailed) as raised:
        await turns.model(inner).ask(question())
    assert (inner.asked, raised.value.requests, raised.value.failure) == (4, 4, Failure.RATE_LIMITED)


async def test_what_the_provider_asks_to_wait_is_kept_to_within_bounds() -> None:
    turns = Turns()
    await turns.model(Faulty(busy(7.0))).ask(question())
    assert turns.slept == [7.0]
    with pytest.raises(ModelCallFailed):
        await turns.model(Faulty(busy(61.0))).ask(question())
    assert turns.slept == [7.0], "nobody waits for an hour"


async def test_what_does_not_pass_is_asked_once() -> None:
    turns, inner = Turns(), Faulty(ModelCallFailed(Failure.AUTH, "wrong key", tokens=0))
    with pytest.raises(ModelCallFailed):
        await turns.model(inner).ask(question())
    assert (inner.asked, turns.slept) == (1, [])


async def test_a_silent_model_is_a_timeout_and_gives_its_place_back() -> None:
    class Silent(Faulty):
        async def ask(self, question: ModelQuestion) -> ModelAnswer:
            self.asked += 1
            await asyncio.Event().wait()
            raise AssertionError

    turns, silent = Turns(), Silent()
    model = RetryingModel(silent, Patience(timeout_s=0.01), turns.turn, sleep=turns.sleep)
    with pytest.raises(ModelCallFailed, match="no answer within") as raised:
        await model.ask(question())
    assert (raised.value.failure, raised.value.tokens, silent.asked) == (Failure.TIMEOUT, None, 1)
