"""When requests begin: few in a turn of the loop, and nobody behind another's hundreds."""

import asyncio
from functools import partial
from itertools import pairwise

import pytest

from pipelines.server.http.fair_starts import FairStarts

pytestmark = pytest.mark.anyio


async def test_what_comes_alone_begins_at_once() -> None:
    begun: list[str] = []
    starts = FairStarts()
    starts.start("a", partial(begun.append, "a"))
    assert begun == ["a"]


async def test_a_few_begin_in_each_turn_and_all_in_their_order() -> None:
    begun: list[int] = []
    starts = FairStarts(at_once=3)
    for at in range(8):
        starts.start("a", partial(begun.append, at))
    seen = [len(begun)]
    while len(begun) < 8:
        await asyncio.sleep(0)
        seen.append(len(begun))
    assert all(later - sooner <= 3 for sooner, later in pairwise(seen))
    assert seen[0] == 3
    assert begun == list(range(8))


async def test_who_comes_last_from_another_address_is_next() -> None:
    begun: list[str] = []
    starts = FairStarts(at_once=2)
    for at in range(100):
        starts.start("many", partial(begun.append, f"many {at}"))
    starts.start("one", partial(begun.append, "one"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert "one" in begun
    assert len(begun) <= 6


async def test_one_that_fails_to_begin_holds_up_nobody() -> None:
    begun: list[int] = []
    starts = FairStarts(at_once=1)
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["exception"]))

    def fails() -> None:
        raise ValueError("no")

    for begin in (partial(begun.append, 1), fails, partial(begun.append, 2)):
        starts.start("a", begin)
    for _ in range(5):
        await asyncio.sleep(0)
    assert begun == [1, 2]
    assert len(problems) == 1
