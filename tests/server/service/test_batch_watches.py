"""Watchers of a batch: one reading for all; each hears of every change that lasts, and of the end."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from pipelines.server.service import batch_watches
from pipelines.server.service.batch_watches import BatchWatches

pytestmark = pytest.mark.anyio


class Batches:
    """What is stored, and how often it was read."""

    def __init__(self) -> None:
        self.reads = 0
        self.batch: dict[str, Any] = {"status": "running", "done": 0}
        self.trouble: Exception | None = None
        self.was_read = asyncio.Event()

    async def read(self, org_id: int, batch_id: int) -> dict[str, Any]:
        self.reads += 1
        self.was_read.set()
        await asyncio.sleep(0)
        if self.trouble is not None:
            raise self.trouble
        return dict(self.batch)

    async def read_again(self, times: int = 2) -> None:
        for _ in range(times):
            self.was_read.clear()
            await self.was_read.wait()


async def heard(watches: BatchWatches, batch_id: int = 1, org_id: int = 1) -> list[tuple[str, Any]]:
    events = []
    async for event in watches.events(org_id, batch_id):
        kind, data = event.decode().strip().split("\n")
        events.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return events


async def test_many_watchers_read_a_batch_once_for_all() -> None:
    batches = Batches()
    watches = BatchWatches(batches.read, poll_s=0.02)
    watching = [asyncio.ensure_future(heard(watches)) for _ in range(400)]
    await batches.read_again()
    batches.batch["done"] = 1
    await batches.read_again()
    batches.batch["status"] = "completed"
    told = await asyncio.gather(*watching)
    assert batches.reads < 40
    running, ended = {"status": "running"}, {"status": "completed"}
    assert (
        told
        == [
            [
                ("progress", running | {"done": 0}),
                ("progress", running | {"done": 1}),
                ("end", ended | {"done": 1}),
            ]
        ]
        * 400
    )


async def test_who_comes_later_hears_at_once_where_it_stands() -> None:
    batches = Batches()
    watches = BatchWatches(batches.read, poll_s=30)
    first, second = watches.events(1, 1), watches.events(1, 1)
    assert await anext(first) == await anext(second)
    assert batches.reads == 1
    await first.aclose()
    await second.aclose()


async def test_nobody_reads_a_batch_that_nobody_watches_any_more() -> None:
    batches = Batches()
    watches = BatchWatches(batches.read, poll_s=0.001)
    events = watches.events(1, 1)
    await anext(events)
    await events.aclose()
    reads = batches.reads
    again = watches.events(1, 1)  # in the very moment
    await anext(again)
    await again.aclose()
    for _ in range(20):
        await asyncio.sleep(0)
    assert batches.reads <= reads + 2
    assert not [task for task in asyncio.all_tasks() if "_look" in repr(task.get_coro())]


async def test_a_batch_that_cannot_be_read_ends_every_watch_of_it() -> None:
    batches = Batches()
    watches = BatchWatches(batches.read, poll_s=0.01)
    watching = [asyncio.ensure_future(heard(watches)) for _ in range(3)]
    await batches.read_again()
    batches.trouble = LookupError("gone")
    told = await asyncio.gather(*watching, return_exceptions=True)
    assert [type(each) for each in told] == [LookupError] * 3
    batches.trouble = None
    batches.batch["status"] = "completed"
    assert (await heard(watches))[-1][0] == "end"


async def test_an_org_that_watches_many_batches_has_each_looked_at_less_often() -> None:
    looked: Counter[int] = Counter()
    enough = asyncio.Event()

    async def read(org_id: int, batch_id: int) -> dict[str, Any]:
        looked[org_id] += 1
        if looked[2] == 10:
            enough.set()
        return {"status": "running"}

    watches = BatchWatches(read, poll_s=0.02)
    watching = [asyncio.ensure_future(heard(watches, batch_id)) for batch_id in range(200)]
    watching.append(asyncio.ensure_future(heard(watches, 1, org_id=2)))
    await enough.wait()
    assert looked[1] <= 400  # 2,000 at the pace of the other
    for each in watching:
        each.cancel()
    await asyncio.gather(*watching, return_exceptions=True)


async def test_a_change_is_written_once_for_all_who_watch_and_each_line_is_a_line_of_the_event() -> None:
    batches = Batches()
    written: list[dict[str, Any]] = []

    async def write(batch: dict[str, Any]) -> str:
        written.append(batch)
        return f"<p>\n{batch['done']}\n\n</p>"

    async def told(watches: BatchWatches) -> list[str]:
        return [event.decode() async for event in watches.events(1, 1)]

    watches = BatchWatches(batches.read, poll_s=0.01, write=write)
    watching = [asyncio.ensure_future(told(watches)) for _ in range(50)]
    await batches.read_again(4)
    batches.batch["done"] = 1
    await batches.read_again()
    batches.batch["status"] = "completed"
    heard_by_each = await asyncio.gather(*watching)
    assert [batch["done"] for batch in written] == [0, 1, 1]
    assert heard_by_each == [heard_by_each[0]] * 50
    assert heard_by_each[0][-1] == "event: end\ndata: <p>\ndata: 1\ndata: \ndata: </p>\n\n"


async def test_whoever_is_signed_out_is_told_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_watches, "ASKED_EVERY_S", 0.0)
    closed: list[bool] = []
    asked = iter([True, False])

    async def events() -> AsyncGenerator[bytes, None]:
        try:
            for number in range(9):
                yield b"%d" % number
        finally:
            closed.append(True)

    async def is_welcome() -> bool:
        return next(asked)

    told = [event async for event in batch_watches.while_welcome(events(), is_welcome)]
    assert (told, closed) == ([b"0"], [True])
