"""A log of the release before rules had names: it is read, folded and gone on with, on both stores."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from test_migrated_verdicts import NOW, fill

from pipelines.core.tools.trace_row import TraceRow
from pipelines.storage.database import postgres_store, sqlite_store
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database, Store
from pipelines.storage.database.migrations import MIGRATIONS
from pipelines.storage.database.postgres_store import PostgresStore
from pipelines.storage.database.sqlite_store import SqliteStore
from pipelines.storage.database.trace_rows import insert_rows, log_of_run

pytestmark = pytest.mark.anyio
BEFORE = tuple(step for step in MIGRATIONS if step[0] < "0026")
RULE = "At most two refunds."


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    made: Store
    if request.param == "sqlite":
        made = SqliteStore(tmp_path / "odyssey.db")
    else:
        made = PostgresStore(request.getfixturevalue("postgres").new_database(is_empty=True))
    with monkeypatch.context() as release:
        for module in (sqlite_store, postgres_store):
            release.setattr(module, "MIGRATIONS", BEFORE)
        with closing(made.connect(read_only=False)) as connection:
            made.migrate(connection)
            fill(connection)
            connection.execute("UPDATE runs SET status = 'running'")
            connection.execute(
                "INSERT INTO trace_rows (run_id, sequence, kind, tool_name, source, occurred_at)"
                " VALUES (1, 1, 'tool_call', 'refund_order', 'odyssey', ?)",
                (NOW,),
            )
    return made


@pytest.fixture
async def database(store: Store, anyio_backend: str) -> AsyncIterator[Database]:
    database = Database(store)
    yield database
    await database.close()


async def test_a_log_from_before_is_read_and_gone_on_with(database: Database) -> None:
    def go_on(connection: Connection) -> None:
        [before] = log_of_run(connection, 1)
        insert_rows(connection, [before._replace(sequence=2, matched_rule=RULE)])

    await database.write(go_on)
    rows: list[TraceRow] = await database.read(lambda connection: log_of_run(connection, 1))
    assert [(row.sequence, row.tool_name, row.matched_rule) for row in rows] == [
        (1, "refund_order", None),
        (2, "refund_order", RULE),
    ]
