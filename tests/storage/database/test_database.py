"""One writer at a time: what is durable when, what is lost together, what is not."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import READERS, WORKS_FOR, Database, SequenceTaken
from pipelines.storage.database.migrations import MIGRATIONS
from pipelines.storage.database.sqlite_store import SqliteStore, Synchronous
from pipelines.storage.database.trace_rows import log_of_run
from pipelines.wire.errors import StorageUnavailable
from support.stored_rows import aside, refuse_rows, row, sequences

pytestmark = pytest.mark.anyio
MANY = 300  # more rows than one statement takes
PATIENCE_S = 60.0  # only a test that fails waits so long


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "odyssey.db"


@pytest.fixture(params=["full", "normal"])
async def database(path: Path, anyio_backend: str, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    database = Database(SqliteStore(path, synchronous=request.param))
    yield database
    await database.close()


@pytest.mark.parametrize("count", [1, 2, 64, 65, MANY])
async def test_a_row_can_be_read_by_others_once_its_future_is_done(
    database: Database, path: Path, count: int
) -> None:
    await asyncio.gather(*(database.append(row(1, number)) for number in range(1, count + 1)))
    assert sequences(path, 1) == list(range(1, count + 1))


async def test_the_log_gives_back_what_was_appended(database: Database) -> None:
    full = row(
        7,
        1,
        tool_name="get_order\0\r\n",
        source="odyssey",
        http_status=200,
        latency_ms=0.25,
        actor_id="a/b",
        arguments='{"order_id":"ä\\u0000"}',
        response='{"x":[1,2.5,null,true]}',
        updates="[]",
    )
    await database.append(full)
    assert await database.read(lambda connection: log_of_run(connection, 7)) == [full]


async def test_a_row_that_is_already_there_is_refused_and_voids_the_rows_after_it(
    database: Database, path: Path
) -> None:
    await database.append(row(1, 1))
    with aside(path) as connection:
        connection.execute(
            "INSERT INTO trace_rows (run_id, sequence, kind, occurred_at) VALUES (1, 2, 'custom', '')"
        )
    lost: list[set[int]] = []
    database.on_lost = lost.append
    waiting = [database.append(row(1, 2)), database.append(row(2, 1)), database.append(row(1, 3))]
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [SequenceTaken, type(None), SequenceTaken]
    assert lost == [{1}]
    assert sequences(path, 1) == [1, 2]
    assert sequences(path, 2) == [1]


@pytest.mark.parametrize("count", [3, MANY], ids=["one statement", "several statements"])
async def test_a_failing_row_takes_only_the_later_rows_of_its_own_run(
    database: Database, path: Path, count: int
) -> None:
    refuse_rows(path, "NEW.run_id = 1 AND NEW.sequence = 2")
    futures = {
        (run_id, sequence): database.append(row(run_id, sequence))
        for sequence in range(1, count + 1)
        for run_id in (1, 2)
    }
    await asyncio.gather(*futures.values(), return_exceptions=True)
    failed = {place for place, future in futures.items() if future.exception() is not None}
    assert failed == {(1, sequence) for sequence in range(2, count + 1)}
    assert sequences(path, 1) == [1]
    assert sequences(path, 2) == list(range(1, count + 1))


async def test_rows_that_wait_behind_a_lost_one_are_lost_before_anyone_hears_of_it(
    database: Database, path: Path
) -> None:
    """The later row is appended while the first is under way: it must not reach the file."""
    refuse_rows(path, "NEW.sequence = 1")
    with aside(path) as holding:
        holding.execute("BEGIN IMMEDIATE")  # the writer waits for the file
        first = database.append(row(1, 1))
        for _ in range(100):
            await asyncio.sleep(0)
        assert database._busy
        second = database.append(row(1, 2))
        holding.execute("COMMIT")
    outcomes = await asyncio.gather(first, second, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StorageUnavailable] * 2
    assert sequences(path, 1) == []


async def test_the_log_goes_on_without_a_gap_after_a_lost_row(database: Database, path: Path) -> None:
    refuse_rows(path, "NEW.sequence = 2")
    await database.append(row(1, 1))
    with pytest.raises(StorageUnavailable):
        await database.append(row(1, 2))
    with aside(path) as connection:
        connection.execute("DROP TRIGGER full")
    await database.append(row(1, 2))
    assert sequences(path, 1) == [1, 2]


@pytest.mark.parametrize(
    "unstorable",
    [{"tool_name": "\ud800"}, {"http_status": 2**70}, {"arguments": object()}],
    ids=["text that is not Unicode", "a number that is too large", "no value at all"],
)
async def test_a_row_that_sqlite_cannot_take_does_not_stop_the_writer(
    database: Database, path: Path, unstorable: dict[str, object]
) -> None:
    async with asyncio.timeout(5):
        outcomes = await asyncio.gather(
            database.append(row(1, 1, **unstorable)), database.append(row(2, 1)), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [StorageUnavailable, type(None)]
        await database.append(row(1, 1))
    assert sequences(path, 1) == [1]


async def test_a_change_that_fails_leaves_nothing_behind(database: Database) -> None:
    def half(connection: Connection) -> None:
        add_org(connection, "half", "now")
        raise LookupError("and then it broke")

    with pytest.raises(LookupError, match="and then it broke"):
        await database.write(half)
    orgs = await database.read(
        lambda connection: connection.execute("SELECT COUNT(*) FROM orgs").fetchone()[0]
    )
    assert orgs == 0


async def test_changes_run_in_their_order_and_give_their_own_results(database: Database) -> None:
    made = await asyncio.gather(
        *(database.write(lambda connection, n=n: add_org(connection, f"org {n}", "now")) for n in range(20))  # type: ignore[misc]
    )
    assert made == list(range(1, 21))


async def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(StorageUnavailable) as refused:
        await database.read(lambda connection: add_org(connection, "sneaky", "now"))
    assert "readonly" in str(refused.value.__cause__)
    assert "readonly" not in refused.value.message  # the database's own words are for the log


async def test_a_full_file_is_worth_a_retry_and_half_a_change_is_none(database: Database) -> None:
    def fill(connection: Connection) -> None:
        add_org(connection, "x" * 1_000_000, "now")

    pages = await database.write(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
    database._writing.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageUnavailable):
        await database.write(fill)
    with pytest.raises(StorageUnavailable):
        await database.append(row(1, 1, response="x" * 1_000_000))
    database._writing.execute("PRAGMA max_page_count = 1000000")
    assert await database.write(lambda connection: add_org(connection, "small", "now")) == 1
    await database.append(row(1, 1))


@pytest.mark.parametrize("synchronous", ["full", "normal"])
async def test_closing_waits_for_what_is_under_way(path: Path, synchronous: Synchronous) -> None:
    database = Database(SqliteStore(path, synchronous=synchronous))
    futures = [database.append(row(1, number)) for number in range(1, MANY + 1)]
    await database.close()
    assert all(future.done() and future.exception() is None for future in futures)
    assert sequences(path, 1) == list(range(1, MANY + 1))


async def test_a_waiter_that_gives_up_does_not_disturb_the_others(database: Database, path: Path) -> None:
    given_up, kept = database.append(row(1, 1)), database.append(row(2, 1))
    given_up.cancel()
    await kept
    assert sequences(path, 1) == [1]  # it was asked for, so it is in the log


async def test_whoever_has_many_slow_questions_leaves_a_reader_to_others(database: Database) -> None:
    may_end = threading.Event()

    async def ask(org_id: int, question: Callable[[Connection], Any]) -> Any:
        WORKS_FOR.set(org_id)
        return await database.read(question)

    slow = [asyncio.create_task(ask(1, lambda _: may_end.wait(PATIENCE_S))) for _ in range(2 * READERS)]
    try:
        quick = asyncio.create_task(ask(2, lambda connection: connection.execute("SELECT 7").fetchone()[0]))
        assert await asyncio.wait_for(quick, PATIENCE_S / 2) == 7
        assert not any(each.done() for each in slow)
    finally:
        may_end.set()
    assert all(await asyncio.gather(*slow))


@pytest.mark.parametrize(("asked", "level"), [("full", 2), ("normal", 1)])
def test_a_connection_of_its_own_is_as_durable_as_asked(path: Path, asked: Synchronous, level: int) -> None:
    with closing(SqliteStore(path, synchronous=asked).connect(read_only=False)) as connection:
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    assert (journal, synchronous) == ("wal", level)


def test_migrations_run_once_and_are_recorded(path: Path) -> None:
    store = SqliteStore(path)
    with closing(store.connect(read_only=False)) as connection:
        assert store.migrate(connection) == [name for name, _ in MIGRATIONS]
        assert store.migrate(connection) == []
        recorded = [name for (name,) in connection.execute("SELECT name FROM migrations ORDER BY name")]
    assert recorded == sorted(name for name, _ in MIGRATIONS)


def test_a_migration_that_breaks_is_not_recorded_and_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(path)
    broken = ("9999_broken", "CREATE TABLE half (id INTEGER); CREATE TABLE orgs (id INTEGER)")
    with closing(store.connect(read_only=False)) as connection:
        store.migrate(connection)
        monkeypatch.setattr("pipelines.storage.database.sqlite_store.MIGRATIONS", (*MIGRATIONS, broken))
        with pytest.raises(sqlite3.OperationalError):
            store.migrate(connection)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        recorded = [name for (name,) in connection.execute("SELECT name FROM migrations")]
        assert not connection.in_transaction
    assert "half" not in tables
    assert recorded == [name for name, _ in MIGRATIONS]


def test_processes_may_start_on_a_fresh_file_at_the_same_moment(path: Path) -> None:
    barrier = threading.Barrier(4)

    def start() -> list[str]:
        store = SqliteStore(path)
        barrier.wait()
        with closing(store.connect(read_only=False)) as connection:
            return store.migrate(connection)

    with ThreadPoolExecutor(4) as pool:
        ran = [name for started in [pool.submit(start) for _ in range(4)] for name in started.result()]
    assert ran == [name for name, _ in MIGRATIONS]
