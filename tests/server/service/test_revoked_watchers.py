"""Progress over the API is told for as long as the key that asked for it holds."""

import asyncio
from typing import Any

import httpx2
import pytest

from pipelines.server.service import batch_watches
from pipelines.storage.runs.batches import add_batch, finish_batch
from pipelines.wire.names import Role
from support.desk import House, Org, answered

pytestmark = pytest.mark.anyio


class Watching:
    """A request whose answer goes on, and what has come of it."""

    def __init__(self, house: House, path: str, key: str) -> None:
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        headers = [(b"host", b"testserver"), (b"x-api-key", key.encode())]
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "headers": headers}
        more = {"query_string": b"", "http_version": "1.1", "scheme": "http", "server": ("testserver", 80)}
        asked = {"type": "http.request", "body": b"", "more_body": False}
        self._asked = iter([asked])
        self.task = asyncio.ensure_future(house.app(scope | more, self._receive, self._send))  # type: ignore[arg-type]

    async def _receive(self) -> Any:
        for message in self._asked:
            return message
        return await asyncio.get_running_loop().create_future()  # it does not hang up

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            self._parts.put_nowait(message.get("body") if message.get("more_body") else None)

    async def next(self) -> bytes | None:
        """None: the answer has ended."""
        async with asyncio.timeout(20):
            return await self._parts.get()


@pytest.fixture
async def batch_id(house: House, org: Org) -> int:
    """One that runs, by its row alone."""
    agent = await org.agent()
    dataset = await org.dataset(agent_id=agent["id"])
    batch = {"agent_id": agent["id"], "agent_version": 1, "dataset_id": dataset["id"]}
    more = {"org_id": org.id, "repeats": 1, "concurrency": 1, "now": house.platform.now()}
    return await house.platform.database.write(lambda connection: add_batch(connection, **batch, **more))


async def finish(house: House, batch_id: int) -> None:
    now = house.platform.now()
    await house.platform.database.write(
        lambda connection: finish_batch(connection, batch_id=batch_id, now=now)
    )


async def revoke(org: Org, viewer: Org) -> None:
    listed = answered(await org.client.get("/api/keys"))["items"]
    (key_id,) = [key["id"] for key in listed if key["role"] == Role.VIEWER.value]
    deleted: httpx2.Response = await org.client.delete(f"/api/keys/{key_id}")
    assert deleted.status_code < 300
    assert (await viewer.client.get("/api/batches")).status_code == 401


async def test_a_revoked_key_is_told_nothing_more(
    house: House, org: Org, batch_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_watches, "ASKED_EVERY_S", 0.0)
    viewer = await org.key_of(Role.VIEWER)
    path = f"/api/batches/{batch_id}/events"
    theirs, ours = Watching(house, path, viewer.key), Watching(house, path, org.key)
    for watching in (theirs, ours):
        told = await watching.next()
        assert told is not None
        assert told.startswith(b"event: progress")
    await revoke(org, viewer)
    await finish(house, batch_id)
    assert await theirs.next() is None
    told = await ours.next()
    assert told is not None
    assert told.startswith(b"event: end")
    await asyncio.gather(theirs.task, ours.task)
