"""An org whose calls take long has its turns, and others are served in between."""

import asyncio

import pytest

from pipelines.engine.live.call_turns import LONG_S, CallTurns

pytestmark = pytest.mark.anyio
ONE, OTHER = 1, 2


class Work:
    """Works that take as long as they say, by a clock of their own."""

    def __init__(self):
        self.now = 0.0
        self.done = []
        self.turns = CallTurns(clock=lambda: self.now)

    def take(self, name, seconds=0.0, org=ONE):
        def work():
            self.now += seconds
            self.done.append(name)

        self.turns.take(org, work)


async def all_done(turns):
    while not turns.is_free(ONE):
        await turns.wait(ONE)


async def test_quick_works_are_done_at_once():
    work = Work()
    for name in "abc":
        work.take(name)
    assert work.done == ["a", "b", "c"]
    assert work.turns.is_free(ONE)


async def test_after_a_long_one_an_org_waits_and_others_do_not():
    work = Work()
    for name in "abc":
        work.take(name, seconds=2 * LONG_S)
    work.take("quick")
    work.take("other's", org=OTHER)
    assert work.done == ["a", "other's"]
    began, served = asyncio.get_running_loop().time(), 0
    while len(work.done) < 5:
        work.take("other's", org=OTHER)
        assert work.done.pop() == "other's"
        served += 1
        await asyncio.sleep(0)
    assert work.done == ["a", "other's", "b", "c", "quick"], "in the order in which they came"
    assert asyncio.get_running_loop().time() - began > 4 * LONG_S, "as long as the works before took"
    assert served > 3
    await all_done(work.turns)


async def test_what_waits_for_its_turn_goes_on_in_order():
    work = Work()

    async def event():
        await work.turns.wait(ONE)
        work.done.append("event")

    await event()
    work.take("a", seconds=LONG_S)
    work.take("b")
    waiting, given_up = asyncio.create_task(event()), asyncio.create_task(event())
    await asyncio.sleep(0)
    work.take("c")
    given_up.cancel()
    await waiting
    await all_done(work.turns)
    assert work.done == ["event", "a", "b", "event", "c"]


async def test_a_work_taken_by_another_comes_after_it():
    work = Work()
    work.turns.take(ONE, lambda: (work.take("inner"), work.done.append("outer")))
    assert work.done == ["outer"]
    await all_done(work.turns)
    assert work.done == ["outer", "inner"]


async def test_one_that_fails_does_not_keep_the_next():
    work = Work()

    def fails():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        work.turns.take(ONE, fails)
    work.take("a")
    assert work.done == ["a"]


async def test_what_is_done_for_its_result_is_counted_like_a_call():
    work = Work()

    def long_one():
        work.now += 2 * LONG_S
        return "read"

    assert await work.turns.do(ONE, long_one) == "read"
    work.take("a")
    work.take("other's", org=OTHER)
    assert work.done == ["other's"], "the org rests as long as the reading took"
    await all_done(work.turns)
    assert work.done == ["other's", "a"]


async def test_what_is_done_for_its_result_raises_to_whoever_asked():
    work = Work()

    def fails():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await work.turns.do(ONE, fails)
    assert work.turns.is_free(ONE)
