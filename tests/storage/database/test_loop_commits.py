"""Commits on the event loop: who is told when, what goes to the thread instead, how the log stays short."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database import database as database_module
from pipelines.storage.database import sqlite_commits
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import (
    LONGEST_REST_S,
    PARTS_IN_LOG,
    READERS,
    Database,
    SequenceTaken,
)
from pipelines.storage.database.sqlite_store import SqliteStore, Synchronous
from pipelines.storage.database.trace_rows import log_of_run
from pipelines.wire.errors import StorageUnavailable
from support.stored_rows import aside, refuse_rows, row, sequences

pytestmark = pytest.mark.anyio
PATIENCE_S = 20
SMALL_LOG = 200_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "odyssey.db"


@pytest.fixture
async def normal(path: Path, anyio_backend: str) -> AsyncIterator[Database]:
    database = Database(SqliteStore(path, synchronous="normal"))
    yield database
    await database.close()


@pytest.fixture
async def full(path: Path, anyio_backend: str) -> AsyncIterator[Database]:
    database = Database(SqliteStore(path, synchronous="full"))
    yield database
    await database.close()


@pytest.fixture(params=["normal", "full"])
def database(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def small_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_commits, "LOG_BYTES", SMALL_LOG)


class Told:
    """What was heard, in the order it was heard."""

    def __init__(self) -> None:
        self.of: list[tuple[object, type | None]] = []
        self.threads: set[int] = set()

    def hears(self, name: object):
        def heard(error: Exception | None) -> None:
            self.of.append((name, None if error is None else type(error)))
            self.threads.add(threading.get_ident())

        return heard


async def until(condition) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 (what is waited for happens on other threads)
            await asyncio.sleep(0.001)


async def test_rows_of_a_turn_are_one_group_and_stored_at_its_end(normal: Database, path: Path) -> None:
    told = Told()
    for number in range(1, 33):
        normal.store(row(1, number), told.hears(number))
    assert told.of == []
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert told.of == [(number, None) for number in range(1, 33)]
    assert not normal._busy
    assert sequences(path, 1) == list(range(1, 33))
    assert (normal.groups_stored, normal.rows_stored) == (1, 32)


async def test_everyone_is_told_once_in_order_and_on_the_loop(database: Database) -> None:
    told = Told()
    for number in range(1, 600):  # more than the loop takes by itself
        database.store(row(number % 7, number), told.hears(number))
        if number % 50 == 0:
            await asyncio.sleep(0)
    await database.write(lambda connection: None)
    assert told.of == [(number, None) for number in range(1, 600)]
    assert told.threads == {threading.get_ident()}


async def test_a_callback_that_fails_keeps_nobody_else_from_hearing(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(error: Exception | None) -> None:
        raise RuntimeError("of its own making")

    told = Told()
    database.store(row(1, 1), told.hears(1))
    database.store(row(1, 2), fails)
    database.store(row(1, 3), told.hears(3))
    async with asyncio.timeout(PATIENCE_S):
        await database.append(row(1, 4))
    assert told.of == [(1, None), (3, None)]
    assert "of its own making" in caplog.text


async def test_a_callback_may_store_the_next_row(database: Database, path: Path) -> None:
    done = asyncio.get_running_loop().create_future()

    def heard(sequence: int) -> None:
        if sequence == 20:
            done.set_result(None)
        else:
            database.store(row(1, sequence + 1), lambda error: heard(sequence + 1))

    heard(0)
    async with asyncio.timeout(PATIENCE_S):
        await done
    assert sequences(path, 1) == list(range(1, 21))


async def test_nobody_is_told_before_the_sync(
    full: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_sync, asked = threading.Event(), threading.Event()

    def slow(file: int) -> None:
        asked.set()
        assert may_sync.wait(PATIENCE_S)
        os.fdatasync(file)

    monkeypatch.setattr(sqlite_commits, "sync_file", slow)
    told = Told()
    full.store(row(1, 1), told.hears("row"))
    await until(asked.is_set)
    changing = asyncio.ensure_future(full.write(lambda connection: add_org(connection, "o", "now")))
    full.store(row(1, 2), told.hears("next"))
    for _ in range(100):
        await asyncio.sleep(0)
    assert sequences(path, 1) == [1]  # committed, and what came meanwhile waits
    assert told.of == []
    assert not changing.done()
    may_sync.set()
    assert await changing == 1
    assert told.of == [("row", None), ("next", None)]


async def test_a_change_is_told_after_its_sync(full: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def sync(file: int) -> None:
        os.fdatasync(file)
        order.append("synced")

    def change(connection: Connection) -> None:
        add_org(connection, "o", "now")
        order.append("changed")

    monkeypatch.setattr(sqlite_commits, "sync_file", sync)
    await full.write(change)
    assert order == ["changed", "synced"]


async def test_rows_keep_their_order_behind_a_change_that_takes_long(database: Database, path: Path) -> None:
    started, may_end = threading.Event(), threading.Event()

    def long(connection: Connection) -> None:
        add_org(connection, "o", "now")
        started.set()
        assert may_end.wait(PATIENCE_S)

    told = Told()
    database.store(row(1, 1), told.hears((1, 1)))
    changing = asyncio.ensure_future(database.write(long))
    await until(started.is_set)
    for sequence in (2, 3):
        for run_id in (1, 2):
            database.store(row(run_id, sequence), told.hears((run_id, sequence)))
        await asyncio.sleep(0.01)  # the loop turns, the change goes on
    assert await database.read(lambda connection: len(log_of_run(connection, 1))) == 1
    may_end.set()
    await changing
    await database.write(lambda connection: None)
    assert told.of == [((1, 1), None), ((1, 2), None), ((2, 2), None), ((1, 3), None), ((2, 3), None)]


async def test_changes_get_their_turn_while_rows_keep_coming(database: Database) -> None:
    is_over = False

    async def append(run_id: int) -> int:
        sequence = 0
        while not is_over:
            sequence += 1
            await database.append(row(run_id, sequence))
        return sequence

    appending = [asyncio.ensure_future(append(run_id)) for run_id in range(16)]
    async with asyncio.timeout(PATIENCE_S):
        for number in range(50):
            assert await database.write(lambda connection: add_org(connection, "o", "now")) == number + 1
    is_over = True
    assert min(await asyncio.gather(*appending)) >= 10


async def test_a_file_held_by_another_process_makes_rows_wait_and_nothing_else(
    database: Database, path: Path
) -> None:
    await database.append(row(1, 1))
    hold = (
        "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN IMMEDIATE'); print('held', flush=True); time.sleep(1); c.execute('COMMIT')"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", hold, str(path), stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert await other.stdout.readline() == b"held\n"
    told, reads, turns = Told(), 0, 0
    began = time.monotonic()
    for sequence in (2, 3, 4):
        database.store(row(1, sequence), told.hears(sequence))
        database.store(row(sequence, 1), told.hears((sequence, 1)))
        await asyncio.sleep(0)
    while len(told.of) < 6 and time.monotonic() < began + PATIENCE_S:
        reads += len(await database.read(lambda connection: log_of_run(connection, 1))) == 1
        turns += 1
        await asyncio.sleep(0.001)
    await other.wait()
    assert [name for name, error in told.of if error is None] == [2, (2, 1), 3, (3, 1), 4, (4, 1)]
    assert time.monotonic() - began > 0.5  # they did wait
    assert min(reads, turns) > 50
    assert sequences(path, 1) == [1, 2, 3, 4]


async def test_a_file_that_stays_held_is_given_up_for_every_row_that_waits(
    database: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_commits, "BUSY_TIMEOUT_S", 0.1)
    lost: list[set[int]] = []
    database.on_lost = lost.append
    with aside(path) as holding:
        holding.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable):
            await database.append(row(1, 1))
        with pytest.raises(StorageUnavailable):
            await database.write(lambda connection: add_org(connection, "o", "now"))
        holding.execute("COMMIT")
    assert lost == [{1}]
    await database.append(row(1, 1))


async def test_a_row_behind_a_lost_one_hears_of_it_after_it(database: Database, path: Path) -> None:
    refuse_rows(path, "NEW.sequence = 1")
    told = Told()
    database.on_lost = lambda run_ids: told.of.append((run_ids, None))
    with aside(path) as holding:
        holding.execute("BEGIN IMMEDIATE")
        database.store(row(1, 1), told.hears(1))
        await until(lambda: database._busy)
        database.store(row(1, 2), told.hears(2))
        database.store(row(2, 2), told.hears("other"))
        database.complete(row(1, 1), 1, told.hears("completed"))
        holding.execute("COMMIT")
    await database.write(lambda connection: None)
    lost = StorageUnavailable
    assert told.of == [({1}, None), (1, lost), (2, lost), ("completed", lost), ("other", None)]
    assert sequences(path, 1) == []


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("synchronous", ["normal", "full"])
async def test_a_full_disk_costs_the_rows_it_could_not_take_and_no_others(
    tiny_disk: Path, synchronous: Synchronous
) -> None:
    path = tiny_disk / "odyssey.db"
    database = Database(SqliteStore(path, synchronous=synchronous))
    lost: list[set[int]] = []
    database.on_lost = lost.append
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(b"x" * 500_000)
    waiting = [database.append(row(1, number, response="x" * 10_000)) for number in range(1, 3)]
    outcomes: list[object] = await asyncio.gather(*waiting)
    while outcomes[-1] is None:
        following = database.append(row(1, len(outcomes) + 1, response="x" * 10_000))
        outcomes += await asyncio.gather(following, return_exceptions=True)
    assert isinstance(outcomes[-1], StorageUnavailable)
    acknowledged = len(outcomes) - 1
    assert lost == [{1}]
    kept = await database.read(lambda connection: len(log_of_run(connection, 1)))
    assert kept == acknowledged
    ballast.unlink()
    await database.append(row(1, acknowledged + 1, response="x" * 10_000))
    await database.close()
    assert sequences(path, 1) == list(range(1, acknowledged + 2))


async def test_a_group_too_large_for_the_loop_goes_to_the_thread(
    normal: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "LOOP_ROWS", 10)
    on_the_loop: list[bool] = []
    is_inserted = normal._is_inserted

    def seen(group: Any) -> bool:
        on_the_loop.append(is_inserted(group))
        return on_the_loop[-1]

    monkeypatch.setattr(normal, "_is_inserted", seen)
    await asyncio.gather(*(normal.append(row(1, number)) for number in range(1, 12)))
    await asyncio.gather(*(normal.append(row(1, number)) for number in range(12, 22)))
    assert on_the_loop == [False, True]
    assert sequences(path, 1) == list(range(1, 22))


async def test_a_few_parts_of_large_changes_at_a_time_are_moved_into_the_file(
    normal: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[bool] = []
    checkpoint = normal._commits.checkpoint

    def seen() -> None:
        moved.append(True)
        checkpoint()

    monkeypatch.setattr(normal._commits, "checkpoint", seen)
    for _ in range(3 * PARTS_IN_LOG - 1):
        await normal.write_part(lambda connection: None)
    await normal._log_at_rest()
    assert len(moved) == 2


async def test_a_part_leaves_others_as_much_time_as_the_one_before_it_took(
    normal: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    rested: list[float] = []
    times = iter([10.0, 10.0, 10.2, 10.3, 10.3, 99.0, 99.0, 99.0, 99.0])

    async def rest(seconds: float) -> None:
        rested.append(round(seconds, 6))

    monkeypatch.setattr(database_module, "rest", rest)
    monkeypatch.setattr(normal, "_time", lambda: next(times))
    for _ in range(3):
        await normal.write_part(lambda connection: None)
    assert rested == [0.1, LONGEST_REST_S]


def restarts_of(path: Path) -> int:
    """How often the log began anew, as its header counts it."""
    return int.from_bytes(Path(f"{path}-wal").read_bytes()[12:16], "big")


def log_size(path: Path) -> int:
    return Path(f"{path}-wal").stat().st_size


@pytest.mark.usefixtures("small_log")
async def test_the_log_begins_anew_under_load_that_never_pauses(database: Database, path: Path) -> None:
    is_over = False

    async def append(run_id: int) -> None:
        sequence = 0
        while not is_over:
            sequence += 1
            await database.append(row(run_id, sequence, response="x" * 2000))

    async def read() -> None:
        while not is_over:
            await database.read(
                lambda connection: connection.execute("SELECT COUNT(*) FROM trace_rows").fetchone()
            )

    working = [asyncio.ensure_future(append(run_id)) for run_id in range(8)]
    working += [asyncio.ensure_future(read()) for _ in range(READERS)]
    try:
        await until(lambda: log_size(path) > 0)
        before = restarts_of(path)
        await until(lambda: restarts_of(path) >= before + 3)
    finally:
        is_over = True
        await asyncio.gather(*working)


@pytest.mark.usefixtures("small_log")
async def test_a_log_that_a_long_read_holds_is_started_again_afterwards(normal: Database, path: Path) -> None:
    sequence = 0

    async def write_twice_the_log() -> None:
        nonlocal sequence
        for _ in range(2 * SMALL_LOG // 5000):
            sequence += 1
            await normal.append(row(1, sequence, response="x" * 5000))

    with aside(path) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT COUNT(*) FROM trace_rows").fetchone()
        for _ in range(4):
            await write_twice_the_log()
        assert log_size(path) > 4 * SMALL_LOG
        reading.execute("COMMIT")
    for _ in range(4):
        await write_twice_the_log()
    await until(lambda: normal._checkpoint is None)
    assert log_size(path) <= 2 * SMALL_LOG
    assert sequences(path, 1) == list(range(1, sequence + 1))


@pytest.mark.usefixtures("small_log")
@pytest.mark.parametrize("synchronous", ["normal", "full"])
async def test_closing_under_load_waits_for_rows_syncs_and_the_checkpoint(
    path: Path, synchronous: Synchronous
) -> None:
    for start in range(3):
        database = Database(SqliteStore(path, synchronous=synchronous))
        told = Told()
        first = start * 300
        for sequence in range(first + 1, first + 301):
            database.store(row(1, sequence, response="x" * 2000), told.hears(sequence))
            if sequence % 20 == 0:
                await asyncio.sleep(0)
        await database.close()
        assert told.of == [(sequence, None) for sequence in range(first + 1, first + 301)]
        assert os.listdir(path.parent) == [path.name]  # the last connection took the log along
    assert sequences(path, 1) == list(range(1, 901))


async def test_a_taken_place_is_found_by_the_loops_commit_too(database: Database, path: Path) -> None:
    await database.append(row(1, 1))
    told, lost = Told(), []
    database.on_lost = lost.append
    database.store(row(2, 1), told.hears("other"))
    database.store(row(1, 1), told.hears("taken"))
    database.store(row(1, 2), told.hears("behind"))
    await database.write(lambda connection: None)
    assert told.of == [("other", None), ("taken", SequenceTaken), ("behind", SequenceTaken)]
    assert lost == [{1}]
    assert sequences(path, 1) == [1]
