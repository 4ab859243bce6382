"""Versions of oracles in storage, on SQLite and on Postgres alike."""

import pytest

from pipelines.core.tasks.seed import Seed
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.lists.summaries import instructions_of_tasks
from pipelines.storage.tasks import datasets, oracles, texts

pytestmark = pytest.mark.anyio
UPLOADED, BEFORE, CORRECTED, AFTER = (f"2026-05-01T12:0{n}:00.000000Z" for n in range(4))


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(lambda connection: add_org(connection, "org", UPLOADED))
    return database


def _task(connection: Connection) -> datasets.Task:
    written = datasets.as_texts(Seed(user_instruction="Refund it."))
    for part in texts.slices_of(written.texts):
        texts.add_parts(connection, part, now=UPLOADED)
    dataset_id = datasets.add_dataset(connection, org_id=1, name="t", agent_id=None, now=UPLOADED)
    (task_id,) = datasets.add_tasks(
        connection, org_id=1, dataset_id=dataset_id, tasks=[written.task], now=UPLOADED
    )
    task = datasets.task_by_id(connection, org_id=1, task_id=task_id)
    assert task is not None
    return task


def _correct(connection: Connection, task_id: int, before: str, after: str, now: str) -> int | None:
    return oracles.add_version(
        connection,
        task_id=task_id,
        before=before,
        after=after,
        oracle_hash=f"oracle of {after}",
        note="why",
        by="ann",
        now=now,
    )


async def test_versions_are_counted_and_the_first_is_remembered(database: Database):
    task = await database.write(_task)
    first = task.seed_hash
    assert await database.read(lambda c: oracles.present_version(c, task.id)) == 1
    assert [v.version for v in await database.read(lambda c: oracles.versions_of_task(c, task.id))] == [1]
    assert await database.write(lambda c: _correct(c, task.id, first, "b", CORRECTED)) == 2
    assert await database.write(lambda c: _correct(c, task.id, first, "c", CORRECTED)) is None  # too late
    assert await database.write(lambda c: _correct(c, task.id, "b", first, AFTER)) == 3
    versions = await database.read(lambda c: oracles.versions_of_task(c, task.id))
    assert [(v.version, v.seed_hash, v.changed_by) for v in versions] == [
        (3, first, "ann"),
        (2, "b", "ann"),
        (1, first, None),
    ]


async def test_a_run_finds_the_version_that_it_was_opened_with(database: Database):
    task = await database.write(_task)
    first = task.seed_hash
    await database.write(lambda c: _correct(c, task.id, first, "b", CORRECTED))
    await database.write(lambda c: _correct(c, task.id, "b", first, AFTER))
    cases = {(first, BEFORE): 1, (first, AFTER): 3, ("b", CORRECTED): 2, ("b", BEFORE): 2, ("?", AFTER): 1}
    for (seed_hash, created_at), version in cases.items():
        found = await database.read(
            lambda c, s=seed_hash, at=created_at: oracles.version_of_run(
                c, task_id=task.id, seed_hash=s, created_at=at
            )
        )
        assert found == version, (seed_hash, created_at)


async def test_a_task_says_what_it_asks_and_one_that_is_gone_says_nothing(database: Database):
    task = await database.write(_task)
    found = await database.read(lambda c: instructions_of_tasks(c, [task.id, 999, task.id]))
    told = found[task.id].as_json()
    assert (told["row_number"], told["user_instruction"]) == (1, "Refund it.")
    assert told["task_key"]
    assert set(found[999].as_json().values()) == {None}
