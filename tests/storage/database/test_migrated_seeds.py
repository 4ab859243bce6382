"""A database from before seeds were shared: what it holds is shown and goes on as it was, on both stores."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pipelines.storage.database import sqlite_store
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database, Store
from pipelines.storage.database.migrations import MIGRATIONS
from pipelines.storage.database.paging import Filter
from pipelines.storage.database.sqlite_store import SqliteStore
from pipelines.storage.runs import batches, runs
from pipelines.storage.tasks import datasets
from pipelines.wire.names import RunStatus

pytestmark = pytest.mark.anyio
NOW, LATER = "2026-05-01T12:00:00.000000Z", "2026-05-01T13:00:00.000000Z"
PLAIN = '{"user_instruction":"Refund #4521, ä \\u0000 100%?"}'
CHANGED = '{"user_instruction":"As it was asked then."}'
SCRIPTED = (
    '{"user_instruction":"Hi.","turn_mode":"model_as_user","max_turns":3,"memory_mode":"replay",'
    '"simulator_mode":"scripted","scripted_user_turns":["And?"]}'
)
PERSONA = SCRIPTED.replace('"scripted"', '"persona"')
WORLD = '{"order":{"4521":{"status":"shipped"}}}'


@pytest.fixture
def store(store_before: Callable[[str, Callable[[Connection], None]], Store]) -> Store:
    """One whose schema is of the release before, with what a user had in it."""
    return store_before("0005", fill)


def fill(connection: Connection) -> None:
    """Three tasks; of the first a run that has ended, one of a batch that nobody sent, and one under way."""
    connection.execute("INSERT INTO orgs (id, name, created_at) VALUES (1, 'org', ?)", (NOW,))
    connection.execute(
        "INSERT INTO agents (id, org_id, name, version, status, created_at, updated_at)"
        " VALUES (1, 1, 'a', 1, 'published', ?, ?)",
        (NOW, NOW),
    )
    connection.execute(
        "INSERT INTO datasets (id, org_id, name, agent_id, created_at) VALUES (1, 1, 'd', 1, ?)", (NOW,)
    )
    connection.execute("INSERT INTO worlds (hash, state) VALUES ('w', ?)", (WORLD,))
    for number, seed in enumerate((PLAIN, SCRIPTED, PERSONA), 1):
        connection.execute(
            "INSERT INTO tasks (id, org_id, dataset_id, row_number, seed, world_hash, created_at)"
            " VALUES (?, 1, 1, ?, ?, ?, ?)",
            (number, number, seed, "w" if number == 1 else None, NOW),
        )
    connection.execute(
        "INSERT INTO batches (id, org_id, agent_id, agent_version, dataset_id, repeats, concurrency, status,"
        " created_at) VALUES (1, 1, 1, 1, 1, 1, 1, 'running', ?)",
        (NOW,),
    )
    for number, (batch_id, status, seed) in enumerate(
        [(1, "completed", PLAIN), (1, "pending", PLAIN), (None, "running", PLAIN), (None, "failed", CHANGED)],
        start=1,
    ):
        name = f"t{number}"
        connection.execute(
            "INSERT INTO runs (id, org_id, batch_id, agent_id, agent_version, task_id, dataset_id, mode,"
            " status, jti, token_hash, seed, world_hash, simulated_now, created_at, expires_at)"
            " VALUES (?, 1, ?, 1, 1, 1, 1, 'dispatch', ?, ?, ?, ?, 'w', ?, ?, ?)",
            (number, batch_id, status, name, name, seed, NOW, NOW, LATER),
        )


async def test_every_run_and_task_has_the_seed_and_the_world_it_had(database: Database):
    def look(connection: Connection) -> None:
        found = [runs.run_by_id(connection, org_id=1, run_id=number) for number in (1, 2, 3, 4)]
        assert [run.seed_text for run in found if run is not None] == [PLAIN, PLAIN, PLAIN, CHANGED]
        tasks = datasets.tasks_of_dataset(connection, 1, limit=10, after_id=None).items
        assert [task.seed_text for task in tasks] == [PLAIN, SCRIPTED, PERSONA]
        assert [task.row_number for task in tasks] == [1, 2, 3]
        for each in [*found, tasks[0]]:
            assert each is not None
            assert datasets.world_by_hash(connection, each.world_hash) == {
                "order": {"4521": {"status": "shipped"}}
            }
        assert tasks[1].world_hash is None

    await database.read(look)


async def test_equal_seeds_are_one_text(database: Database):
    bodies = await database.read(
        lambda connection: [row[0] for row in connection.execute("SELECT body FROM texts").fetchall()]
    )
    assert sorted(bodies) == sorted([PLAIN, SCRIPTED, PERSONA, CHANGED, WORLD])


async def test_what_was_unfinished_goes_on(database: Database):
    """The run that was pending is claimed and ends, the one under way is found by its token."""
    live = await database.read(lambda connection: runs.run_by_token_hash(connection, "t3"))
    assert live is not None
    assert (live.status, live.odyssey_seed()["user_instruction"]) == (
        RunStatus.RUNNING,
        "Refund #4521, ä \0 100%?",
    )
    claimed = await database.write(
        lambda connection: runs.claim_run(
            connection,
            run_id=2,
            worker="w",
            jti="new",
            token_hash="new",
            now=NOW,
            simulated_now=NOW,
            expires_at=LATER,
        )
    )
    assert claimed
    ending = runs.Ending(status=RunStatus.COMPLETED, final_response="Done.")
    assert await database.write(
        lambda connection: runs.end_run(connection, run_id=2, ending=ending, now=LATER)
    )
    assert await database.write(lambda connection: batches.finish_batch(connection, batch_id=1, now=LATER))


async def test_whether_a_task_needs_a_model_is_still_known(database: Database):
    page = await database.read(
        lambda connection: datasets.tasks_to_run(connection, 1, limit=10, after_id=None)
    )
    assert [task.needs_model for task in page.items] == [False, False, True]


async def test_lists_are_as_they_were(database: Database):
    page = await database.read(
        lambda connection: runs.runs_of_org(
            connection, filters=[Filter("org_id", 1)], limit=10, before_id=None
        )
    )
    assert [run.id for run in page.items] == [4, 3, 2, 1]


async def test_no_row_holds_a_seed_any_more(database: Database):
    for table in ("runs", "tasks"):
        row = await database.read(
            lambda connection, table=table: connection.execute(f"SELECT * FROM {table}").fetchone()
        )
        assert PLAIN not in tuple(row)


def test_a_file_keeps_its_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Columns with foreign keys are dropped and made anew: those that stay must still hold."""
    store = SqliteStore(tmp_path / "odyssey.db")
    with closing(store.connect(read_only=False)) as connection:
        with monkeypatch.context() as release:
            older = tuple(step for step in MIGRATIONS if step[0] < "0005")
            release.setattr(sqlite_store, "MIGRATIONS", older)
            store.migrate(connection)
        fill(connection)
        assert "0005_texts" in store.migrate(connection)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("DELETE FROM tasks WHERE id = 1")
