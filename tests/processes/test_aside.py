"""Large values are read one at a time beside the loop, and orgs take turns."""

import asyncio
import threading

import pytest

from pipelines.processes.aside import aside

pytestmark = pytest.mark.anyio


async def test_it_is_done_on_another_thread_and_what_it_gives_or_raises_comes_back():
    assert await aside(1, threading.get_ident) != threading.get_ident()
    with pytest.raises(ValueError, match="no"):
        await aside(1, int, "no")


async def test_one_is_done_at_a_time_and_an_org_that_asks_for_many_does_not_keep_another_waiting():
    at_work, done = [], []
    first_may_end = threading.Event()

    def work(name):
        at_work.append(name)
        assert len(at_work) == 1
        if name == "first":
            first_may_end.wait(30)
        at_work.remove(name)
        done.append(name)

    tasks = [asyncio.create_task(aside(1, work, name)) for name in ("first", "second", "third")]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(aside(2, work, "another's")))
    await asyncio.sleep(0)
    first_may_end.set()
    await asyncio.gather(*tasks)
    assert done == ["first", "another's", "second", "third"]
