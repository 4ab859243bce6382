"""Removed tasks and deleted datasets in storage, on SQLite and on Postgres alike."""

import pytest

from pipelines.core.tasks.seed import Seed
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.lists.summaries import instructions_of_tasks, task_summaries
from pipelines.storage.tasks import datasets
from support.both_stores import add_tasks

pytestmark = pytest.mark.anyio
UPLOADED, REMOVED = "2026-05-01T12:00:00.000000Z", "2026-05-01T12:01:00.000000Z"
ONE, TWO = (Seed(id=name, user_instruction=f"Do {name}.") for name in ("one", "two"))


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(lambda connection: add_org(connection, "org", UPLOADED))
    return database


def _dataset(connection: Connection) -> tuple[int, list[int]]:
    dataset_id = datasets.add_dataset(connection, org_id=1, name="t", agent_id=None, now=UPLOADED)
    return dataset_id, add_tasks(connection, 1, dataset_id, [ONE, TWO])


def _remove(connection: Connection, task_id: int) -> bool:
    return datasets.remove_task(connection, org_id=1, task_id=task_id, now=REMOVED)


async def test_a_removed_task_is_read_by_its_runs_alone(database: Database) -> None:
    dataset_id, (first, second) = await database.write(_dataset)
    assert await database.write(lambda connection: _remove(connection, first))
    assert not await database.write(lambda connection: _remove(connection, first))

    def look(connection: Connection) -> None:
        dataset = datasets.dataset_by_id(connection, org_id=1, dataset_id=dataset_id)
        assert dataset is not None
        assert (dataset.task_count, dataset.content_hash) == (1, None)
        assert datasets.task_ids_of(connection, dataset_id) == [second]
        assert [
            task["id"] for task in task_summaries(connection, dataset_id, limit=9, after_id=None).items
        ] == [second]
        ids = [
            task.id for task in datasets.tasks_to_run_by_id(connection, org_id=1, task_ids=[first, second])
        ]
        assert ids == [second]
        task = datasets.task_by_id(connection, org_id=1, task_id=first)
        assert task is not None
        assert task.removed_at == REMOVED
        assert instructions_of_tasks(connection, [first])[first].user_instruction == "Do one."
        assert not datasets.is_changeable(connection, org_id=1, task_id=first)
        assert datasets.is_changeable(connection, org_id=1, task_id=second)

    await database.read(look)


async def test_the_key_of_a_removed_task_is_free(database: Database) -> None:
    dataset_id, (first, _) = await database.write(_dataset)
    await database.write(lambda connection: _remove(connection, first))
    (again,) = await database.write(lambda connection: add_tasks(connection, 1, dataset_id, [ONE]))

    def keys(connection: Connection) -> list[tuple[int, str | None, int]]:
        found = [datasets.task_by_id(connection, org_id=1, task_id=task_id) for task_id in (first, again)]
        return [(task.id, task.task_key, task.row_number) for task in found if task is not None]

    assert await database.read(keys) == [(first, "one", 1), (again, "one", 3)]


async def test_a_deleted_dataset_is_gone_with_its_tasks(database: Database) -> None:
    dataset_id, ids = await database.write(_dataset)
    await database.write(
        lambda connection: datasets.delete_dataset(connection, dataset_id=dataset_id, now=REMOVED)
    )

    def look(connection: Connection) -> None:
        assert datasets.dataset_by_id(connection, org_id=1, dataset_id=dataset_id) is None
        listed = datasets.datasets_of_org(connection, 1, agent_id=None, limit=9, before_id=None)
        assert listed.items == []
        assert datasets.tasks_to_run_by_id(connection, org_id=1, task_ids=ids) == []

    await database.read(look)
