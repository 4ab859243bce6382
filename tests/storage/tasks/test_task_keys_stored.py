"""Keys of tasks on both stores: given once, unique in a dataset, worked out for what was there before."""

from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipelines.core.task_files.read_tasks import parse_tasks
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import dumps
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.fill_task_keys import READ_HERE, name_every_task
from pipelines.processes.pool import HelperProcesses
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database, Store
from pipelines.storage.tasks import datasets, task_keys, texts

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
LARGE = {"order": {str(n): {"note": "x" * 100} for n in range(READ_HERE // 100)}}
ROWS: list[Any] = [
    {"user": "Refund 1.", "state": {"order": {"1": {"status": "shipped"}}}, "tags": "a, b"},
    {"user": "Refund 1.", "state": {"order": {"1": {"status": "shipped"}}}, "expected_outcome": "refusal"},
    {"user": "Hello."},
    {"user": "Refund 9.", "state": LARGE},
]


@pytest.fixture
def older(store_before: Callable[[str, Callable[[Connection], None]], Store]) -> Store:
    """A database of the release before, with a dataset in it, and one of a matrix."""
    return store_before("0009", fill_both)


def fill_both(connection: Connection) -> None:
    connection.execute("INSERT INTO orgs (id, name, created_at) VALUES (1, 'org', ?)", (NOW,))
    for dataset_id, kind in ((1, "tasks"), (2, "eval")):
        connection.execute(
            "INSERT INTO datasets (org_id, name, created_at, kind) VALUES (1, 'd', ?, ?)", (NOW, kind)
        )
        fill(connection, dataset_id)


def fill(connection: Connection, dataset_id: int) -> None:
    for number, seed in enumerate(parse_tasks(ROWS), 1):
        written = datasets.as_texts(seed)
        for slice in texts.slices_of(written.texts):
            texts.add_parts(connection, slice, now=NOW)
        connection.execute(
            "INSERT INTO tasks (org_id, dataset_id, row_number, seed_hash, world_hash, created_at)"
            " VALUES (1, ?, ?, ?, ?, ?)",
            (dataset_id, number, written.task.seed_hash, written.task.world_hash, NOW),
        )


@pytest.fixture
async def database(older: Store, anyio_backend: str) -> AsyncIterator[Database]:
    database = Database(older)
    yield database
    await database.close()


async def named(database: Database) -> int:
    helpers = HelperProcesses()
    try:
        platform = cast(Platform, SimpleNamespace(database=database, upload_helpers=helpers))
        return await name_every_task(platform)
    finally:
        await helpers.close()


def add(connection: Connection, dataset_id: int, seeds: list[Seed]) -> list[int]:
    tasks = [datasets.as_texts(seed).task for seed in seeds]
    return datasets.add_tasks(connection, org_id=1, dataset_id=dataset_id, tasks=tasks, now=NOW)


def new_dataset(connection: Connection, rows: list[Any]) -> int:
    dataset_id = datasets.add_dataset(connection, org_id=1, name="d", agent_id=None, now=NOW)
    for seed in parse_tasks(rows):
        for slice in texts.slices_of(datasets.as_texts(seed).texts):
            texts.add_parts(connection, slice, now=NOW)
    add(connection, dataset_id, parse_tasks(rows))
    return dataset_id


def facts(connection: Connection, dataset_id: int) -> list[tuple[Any, ...]]:
    rows = connection.execute(
        "SELECT task_key, content_hash, oracle_hash, tags FROM tasks WHERE dataset_id = ?"
        " ORDER BY row_number",
        (dataset_id,),
    )
    return [tuple(row) for row in rows.fetchall()]


async def test_tasks_of_an_older_release_get_the_keys_that_the_same_rows_get_today(database: Database):
    assert await named(database) == 1
    fresh = await database.write(lambda connection: new_dataset(connection, ROWS))
    old, new, hidden = await database.read(
        lambda connection: (facts(connection, 1), facts(connection, fresh), facts(connection, 2))
    )
    assert old == new
    keys = [fact[0] for fact in old]
    assert keys[1] == f"{keys[0]}-2"  # the same task under another oracle
    assert len(set(keys)) == 4
    assert [fact[3] for fact in old] == ['["a","b"]', "[]", "[]", "[]"]
    assert hidden == [(None, None, None, None)] * 4  # of a matrix: it has its own way to pair
    contents = await database.read(
        lambda connection: [
            each.content_hash
            for each in datasets.datasets_of_org(connection, 1, agent_id=None, limit=9, before_id=None).items
        ]
    )
    assert contents[0] == contents[1]
    assert contents[0] is not None
    assert await named(database) == 0


async def test_rows_that_are_appended_go_on_with_the_numbers_and_the_content(database: Database):
    await named(database)
    await database.write(lambda connection: add(connection, 1, parse_tasks([ROWS[0], ROWS[2] | {"id": "x"}])))
    whole = await database.write(
        lambda connection: new_dataset(connection, [*ROWS, ROWS[0], ROWS[2] | {"id": "x"}])
    )
    old, new = await database.read(lambda connection: (facts(connection, 1), facts(connection, whole)))
    assert old == new
    assert old[4][0] == f"{old[0][0]}-3"
    assert old[5][0] == "x"
    found = await database.read(
        lambda connection: (
            datasets.dataset_by_id(connection, org_id=1, dataset_id=1),
            datasets.dataset_by_id(connection, org_id=1, dataset_id=whole),
        )
    )
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].content_hash == found[1].content_hash


async def test_a_dataset_is_found_again_by_content_name_agent_and_org(database: Database):
    made = await database.write(lambda connection: new_dataset(connection, ROWS[:1]))

    def looks(connection: Connection) -> list[int | None]:
        dataset = datasets.dataset_by_id(connection, org_id=1, dataset_id=made)
        assert dataset is not None
        same: dict[str, Any] = {
            "org_id": 1,
            "name": "d",
            "agent_id": None,
            "content_hash": dataset.content_hash,
        }
        others = ({}, {"org_id": 2}, {"name": "e"}, {"agent_id": 1}, {"content_hash": "0" * 64})
        return [task_keys.same_dataset(connection, **(same | other)) for other in others]

    assert await database.read(looks) == [made, None, None, None, None]


def test_rows_are_as_long_as_meant():
    assert len(dumps(LARGE)) > READ_HERE  # read by a helper process
