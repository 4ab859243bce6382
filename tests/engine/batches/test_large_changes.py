"""What one org may store at once is a lot: it is stored in slices, and in between everyone else is served.

What is counted is what a single change of the database carries, not how long it takes: that says the same on
any machine.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pipelines.engine.batches import change_batch, open_batch
from pipelines.engine.tasks import upload_tasks
from pipelines.storage.database import database as database_module
from pipelines.storage.database.connection import Connection, Cursor
from pipelines.storage.tasks.texts import SLICE_CHARACTERS, SLICE_ROWS
from pipelines.wire.errors import StorageUnavailable
from support.desk import House, Org, answered, refused

pytestmark = pytest.mark.anyio
LONG = 300_000  # characters of a long input
MOST_ROWS = 5_000  # tasks of one upload, which is there at once: rows of a few names


@dataclass(kw_only=True)
class Change:
    """What one transaction carried."""

    characters: int = 0
    rows: int = 0


class Counted:
    """The writer's connection, while it makes one change."""

    def __init__(self, connection: Connection, change: Change) -> None:
        self._connection = connection
        self._change = change

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> Cursor:
        self._count(parameters)
        return self._connection.execute(statement, parameters)

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]], /) -> object:
        for some in parameters:
            self._count(some)
        return self._connection.executemany(statement, parameters)

    def _count(self, parameters: Sequence[Any]) -> None:
        self._change.characters += sum(len(value) for value in parameters if isinstance(value, str))


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[Change]:
    """All that were made, in their order."""
    made: list[Change] = []
    make_change = database_module.make_change

    def counting(store: Any, connection: Connection, change: Callable[[Connection], Any]) -> Any:
        counted = Change()
        made.append(counted)

        def inside(connection: Connection) -> Any:
            (before,) = connection.execute("SELECT total_changes()").fetchone()
            try:
                return change(Counted(connection, counted))
            finally:
                counted.rows = connection.execute("SELECT total_changes()").fetchone()[0] - before

        return make_change(store, connection, inside)

    monkeypatch.setattr(database_module, "make_change", counting)
    return made


@pytest.fixture
def nothing_is_sent(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def enqueue(batch: object) -> None: ...

    monkeypatch.setattr(house.app.api.state.runner, "enqueue", enqueue)


def long_rows(count: int) -> list[dict[str, Any]]:
    return [
        {"user": f"{number}", "task_input": {"text": f"{number} " + "x" * LONG}} for number in range(count)
    ]


def large_world(number: int) -> dict[str, Any]:
    return {"user": "Hi", "state": {"order": {"1": {"note": f"{number}" + "x" * 6 * LONG}}}}


async def batch_of(org: Org, dataset: Any, **asked: Any) -> int:
    agent = await org.agent()
    body = {"agent_id": agent["id"], "dataset_id": dataset["id"]} | asked
    return int(answered(await org.client.post("/api/runs", json=body), 202)["id"])


def file_bytes(house: House) -> int:
    with sqlite3.connect(house.settings.database_path) as aside:
        (pages,) = aside.execute("PRAGMA page_count").fetchone()
        (size,) = aside.execute("PRAGMA page_size").fetchone()
    aside.close()
    return int(pages * size)


@pytest.mark.usefixtures("nothing_is_sent")
async def test_a_database_grows_with_the_tasks_not_with_the_runs(house: House, org: Org) -> None:
    dataset = await org.dataset(*long_rows(4))
    before = file_bytes(house)
    batch_id = await batch_of(org, dataset, repeats=20)
    assert answered(await org.client.get(f"/api/batches/{batch_id}"))["counts"]["total"] == 80
    assert file_bytes(house) - before < LONG
    await org.dataset(*long_rows(4))  # the same again
    assert file_bytes(house) - before < LONG
    run = answered(await org.client.get("/api/runs"))["items"][0]
    seed = answered(await org.client.get(f"/api/runs/{run['id']}"))["odyssey_seed"]
    assert seed["task_input"] == long_rows(4)[3]["task_input"]


async def test_an_upload_is_stored_in_slices(org: Org, changes: list[Change]) -> None:
    state = {"order": {str(number): {"note": "y" * 90} for number in range(10_000)}}
    large = {"text": "é" * LONG}
    rows = [*long_rows(8), {"user": "Hi", "task_input": large, "state": state}]
    dataset = await org.dataset(*rows)
    assert max(change.characters for change in changes) <= 2 * SLICE_CHARACTERS
    assert sum(change.characters for change in changes) > 8 * LONG
    task = answered(await org.client.get(f"/api/tasks/{dataset['task_ids'][-1]}"))
    assert task["odyssey_seed"] == {"user_instruction": "Hi", "task_input": large, "initial_state": state}
    changes.clear()
    await org.dataset(*[{"user": f"task {number}"} for number in range(MOST_ROWS)])
    assert max(change.rows for change in changes) <= MOST_ROWS + 3
    assert sorted(change.rows for change in changes)[-2] <= 2 * SLICE_ROWS
    assert max(change.characters for change in changes) < 1000 * 1000


@pytest.mark.usefixtures("nothing_is_sent")
async def test_the_runs_of_a_batch_are_stored_cancelled_and_resumed_in_slices(
    house: House, org: Org, changes: list[Change]
) -> None:
    dataset = await org.dataset(*long_rows(2), *[{"user": f"task {number}"} for number in range(48)])
    changes.clear()
    batch_id = await batch_of(org, dataset, repeats=40)

    async def by_status() -> Any:
        return answered(await org.client.get(f"/api/batches/{batch_id}"))["counts"]["by_status"]

    assert await by_status() == {"pending": 2000}
    answered(await org.client.post(f"/api/batches/{batch_id}/cancel"))
    assert await by_status() == {"cancelled": 2000}
    with sqlite3.connect(house.settings.database_path) as aside:
        aside.execute("UPDATE runs SET dispatched_at = 'then' WHERE id % 2 = 0")
    aside.close()
    resumed = answered(await org.client.post(f"/api/batches/{batch_id}/resume"), 202)
    assert resumed["status"] == "running"
    assert await by_status() == {"pending": 2000}  # and a thousand that another stands for
    assert max(change.rows for change in changes) <= 2 * SLICE_ROWS + 1
    assert max(change.characters for change in changes) <= SLICE_ROWS * 1000


@pytest.mark.usefixtures("nothing_is_sent")
async def test_others_wait_for_one_slice_however_many_are_at_it(
    house: House, org: Org, changes: list[Change]
) -> None:
    """Six uploads and a batch at once, and a call of another org's run: it waits for one or two slices."""
    other = await house.another_org()
    run = await other.run()
    dataset = await org.dataset(*[{"user": f"task {number}"} for number in range(20)])
    large = [
        asyncio.ensure_future(
            upload_tasks.create_dataset(
                house.platform, org.id, name="large", agent_id=None, rows=[large_world(n)]
            )
        )
        for n in range(6)
    ]
    large.append(asyncio.ensure_future(batch_of(org, dataset, repeats=100)))
    waited: list[int] = []
    while not all(each.done() for each in large):
        before = len(changes)
        reply = await run.call("get_order", {"order_id": "4521"})
        waited.append(len(changes) - before)
        assert reply.status_code == 200
    await asyncio.gather(*large)
    assert len(waited) >= 6
    assert max(waited) <= 4  # those of other kinds among them


async def test_a_batch_is_out_of_sight_until_it_is_stored_whole(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = await org.dataset(*[{"user": f"task {number}"} for number in range(50)])
    write_part = house.platform.database.write_part
    seen: list[tuple[int, ...]] = []

    async def looking(change: Any) -> Any:
        made = await write_part(change)
        lists = [answered(await org.client.get(path))["items"] for path in ("/api/batches", "/api/runs")]
        one = await org.client.get("/api/batches/1")
        run = await org.client.get("/api/runs/1")
        seen.append((*map(len, lists), one.status_code, run.status_code))
        return made

    monkeypatch.setattr(house.platform.database, "write_part", looking)
    agent = await org.agent()
    tasks = await open_batch._tasks_of_dataset(house.platform, org.id, dataset["id"])
    new = change_batch.NewBatch(
        org_id=org.id,
        agent=await open_batch.find_agent(house.platform, org.id, agent["id"]),
        dataset_id=dataset["id"],
        tasks=tasks,
        planned_runs=change_batch.every_repeat(len(tasks), 20),
        repeats=20,
        concurrency=1,
        fault_seed=0,
    )
    await change_batch.store_batch(house.platform, new)
    slices = 50 * 20 // SLICE_ROWS
    assert seen == [(0, 0, 404, 404)] * (slices - 1) + [(1, 50, 200, 200)]


@pytest.mark.usefixtures("nothing_is_sent")
async def test_a_batch_that_cannot_be_stored_whole_leaves_nothing(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = await org.dataset(*[{"user": f"task {number}"} for number in range(50)])
    agent = await org.agent()

    def full(*_: object, **__: object) -> None:
        raise StorageUnavailable("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(change_batch.batches, "go_on_opening", full)
        body = {"agent_id": agent["id"], "dataset_id": dataset["id"], "repeats": 20}
        refused(await org.client.post("/api/runs", json=body), 503, "storage_unavailable")
    with sqlite3.connect(house.settings.database_path) as aside:
        left = [aside.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in ("batches", "runs")]
    aside.close()
    assert left == [0, 0]
    assert await batch_of(org, dataset, repeats=20) == 1


async def test_nothing_is_loose_once_an_upload_is_answered(house: House, org: Org) -> None:
    await org.dataset(*long_rows(3))
    await org.dataset(*long_rows(4))
    with sqlite3.connect(house.settings.database_path) as aside:
        assert aside.execute("SELECT COUNT(*) FROM loose_texts").fetchone() == (0,)
        assert aside.execute("SELECT COUNT(DISTINCT hash) FROM texts").fetchone() == (4,)
    aside.close()


async def test_an_export_of_large_tasks_is_whole(org: Org) -> None:
    rows = [{"user": f"task {number}"} for number in range(120)]
    dataset = await org.dataset(*rows)
    exported = answered(
        await org.client.get(f"/api/datasets/{dataset['id']}/export", params={"format": "json"})
    )
    assert exported["rows"] == rows
