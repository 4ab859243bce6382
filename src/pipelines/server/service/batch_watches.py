"""Viewers of a batch's progress: it is read and rendered once, and sent to a few viewers at a time."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import NamedTuple

from pipelines.core.text.json_text import JsonObject, dumps

POLL_S = 0.3  # how often progress is looked at while someone watches: any node may be working
UNHURRIED = 10  # batches of an org that are watched at this pace; of more, each is looked at less often
ASKED_EVERY_S = 20.0  # whether somebody who watches still may
TOLD_AT_ONCE = 10  # watchers in a turn of the loop: each takes a tenth of a millisecond to a whole one

ReadBatch = Callable[[int, int], Awaitable[JsonObject]]
WriteBatch = Callable[[JsonObject], Awaitable[str]]


class _Seen(NamedTuple):
    number: int
    event: bytes
    is_last: bool


class BatchWatches:
    """Used on one event loop; `read_batch` gets an org and a batch. What was read is told as JSON, or as
    `write` writes it, once for each change."""

    def __init__(
        self,
        read_batch: ReadBatch,
        poll_s: float = POLL_S,
        write: WriteBatch | None = None,
        *,
        goes_on: str = "running",
    ) -> None:
        """`goes_on`: the status of an unfinished batch."""
        self._read_batch = read_batch
        self._poll_s = poll_s
        self._write = write
        self._goes_on = goes_on
        self._watches: dict[tuple[int, int], _Watch] = {}
        self._of_org: Counter[int] = Counter()

    async def events(self, org_id: int, batch_id: int) -> AsyncGenerator[bytes, None]:
        """Server-sent events: `progress` at each change, and the last one is `end`."""
        watch = self._watches.get((org_id, batch_id)) or self._begin(org_id, batch_id)
        watch.watchers += 1
        number = 0
        try:
            while True:
                seen = await watch.later_than(number)
                number = seen.number
                yield seen.event
                if seen.is_last:
                    return
        finally:
            watch.watchers -= 1
            if not watch.watchers:
                self._forget(org_id, batch_id, watch)  # now: whoever comes next needs one that goes on
                watch.stop()

    def _begin(self, org_id: int, batch_id: int) -> "_Watch":
        watch = self._watches[org_id, batch_id] = _Watch(
            lambda: self._read_batch(org_id, batch_id),
            lambda: self._poll_s * max(1.0, self._of_org[org_id] / UNHURRIED),
            self._write,
            self._goes_on,
        )
        self._of_org[org_id] += 1
        watch.task.add_done_callback(lambda _: self._forget(org_id, batch_id, watch))
        return watch

    def _forget(self, org_id: int, batch_id: int, watch: "_Watch") -> None:
        if self._watches.get((org_id, batch_id)) is watch:
            del self._watches[org_id, batch_id]
            self._of_org[org_id] -= 1
            if not self._of_org[org_id]:
                del self._of_org[org_id]


async def while_welcome(
    events: AsyncGenerator[bytes, None],
    is_welcome: Callable[[], Awaitable[bool]],
) -> AsyncIterator[bytes]:
    """Ends the events when the sign-in of the viewer ends or the key is revoked; a batch can run for days."""
    asked_at = time.monotonic()
    async with aclosing(events):
        async for event in events:
            if time.monotonic() - asked_at >= ASKED_EVERY_S:
                if not await is_welcome():
                    return
                asked_at = time.monotonic()
            yield event


class _Watch:
    """The watch of one batch, from its first viewer to its last."""

    def __init__(
        self,
        read: Callable[[], Awaitable[JsonObject]],
        pause_s: Callable[[], float],
        write: WriteBatch | None,
        goes_on: str,
    ) -> None:
        self.watchers = 0
        self._write = write
        self._goes_on = goes_on
        self._read = read
        self._pause_s = pause_s
        self._seen = _Seen(0, b"", is_last=False)
        self._waiting: list[asyncio.Future[None]] = []
        self.task = asyncio.ensure_future(self._look())

    def stop(self) -> None:
        self.task.cancel()

    async def later_than(self, number: int) -> _Seen:
        while self._seen.number <= number:
            if self.task.done():  # the batch could not be read: those who watch hear why
                self.task.result()
            change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(change)
            await change
        return self._seen

    async def _look(self) -> None:
        try:
            last = b""
            while not self._seen.is_last:
                batch = await self._read()
                now = dumps(batch)
                is_last = batch["status"] != self._goes_on
                if is_last or now != last:
                    event = _event("end" if is_last else "progress", await self._written(batch, now))
                    self._seen, last = _Seen(self._seen.number + 1, event, is_last), now
                    await self._tell()
                if not is_last:
                    await asyncio.sleep(self._pause_s())
        finally:
            asyncio.get_running_loop().call_soon(self._tell_all)  # once the task is done

    async def _written(self, batch: JsonObject, as_json: bytes) -> bytes:
        return as_json if self._write is None else (await self._write(batch)).encode()

    async def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for at, listener in enumerate(waiting, 1):
            if not listener.done():
                listener.set_result(None)
            if at % TOLD_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _tell_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for listener in waiting:
            if not listener.done():
                listener.set_result(None)


def _event(kind: str, data: bytes) -> bytes:
    """One event, with a `data:` line for each line of the text, because an empty line would end it."""
    lines = b"".join(b"data: " + line + b"\n" for line in data.splitlines())
    return b"event: " + kind.encode() + b"\n" + lines + b"\n"
