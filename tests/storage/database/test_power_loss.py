"""synchronous=full: what anyone was told is on the disk, whatever the disk kept of what was not synced."""

import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database import sqlite_commits
from pipelines.storage.database.database import Database
from pipelines.storage.database.sqlite_store import SqliteStore
from support.stored_rows import row, sequences

pytestmark = [pytest.mark.anyio, pytest.mark.fault]
SECTOR = 512
LOG_HEADER = 32
SMALL_LOG = 150_000

#: Appends rows and says which are stored; the n-th sync fails, as on a disk that goes away.
FAILING = """
import asyncio, errno, os, sys
from pathlib import Path
from pipelines.storage.database import sqlite_commits
from pipelines.storage.database.database import Database
from pipelines.storage.database.sqlite_store import SqliteStore
from pipelines.storage.database.trace_rows import TraceRow

async def main(path, fails_at):
    syncs = 0

    def sync(file):
        nonlocal syncs
        syncs += 1
        if syncs == fails_at:
            raise OSError(errno.EIO, "the disk went away")
        os.fdatasync(file)

    sqlite_commits.sync_file = sync
    database = Database(SqliteStore(path))
    blank = TraceRow(**dict.fromkeys(TraceRow._fields))

    async def append(run_id):
        for sequence in range(1, 1000):
            await database.append(blank._replace(
                run_id=run_id, sequence=sequence, kind="tool_call", occurred_at=""))
            os.write(1, f"{run_id} {sequence}\\n".encode())

    await asyncio.gather(*(append(run_id) for run_id in range(5)))

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


@pytest.mark.parametrize("fails_at", [1, 2, 40])
def test_a_sync_that_fails_ends_the_process_and_costs_nothing_that_was_told(
    tmp_path: Path, fails_at: int
) -> None:
    path = tmp_path / "odyssey.db"
    ended = subprocess.run(
        [sys.executable, "-c", FAILING, str(path), str(fails_at)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == sqlite_commits.EXIT_CODE, ended.stderr
    assert "could not be synced" in ended.stderr
    assert "the disk went away" in ended.stderr
    told: dict[int, list[int]] = {}
    for line in ended.stdout.splitlines():
        run_id, sequence = map(int, line.split())
        told.setdefault(run_id, []).append(sequence)
    assert bool(told) == (fails_at > 1)
    for run_id, heard in told.items():
        assert sequences(path, run_id)[: len(heard)] == heard == list(range(1, len(heard) + 1))


class Disk:
    """What a power cut leaves: everything that was synced, and of the rest whatever chance picks."""

    def __init__(self, path: Path, scratch: Path, chance: random.Random) -> None:
        self.path, self.scratch, self.chance = path, scratch, chance
        self.log = Path(f"{path}-wal")
        self.synced_log = b""
        self.cuts = 0
        self.checkpoints = 0
        self.checkpointing = threading.Lock()
        self.keep_file()

    def keep_file(self) -> None:
        """Copied by a process of its own: closing the file in this one would drop SQLite's locks on it."""
        subprocess.run(["cp", str(self.path), str(self.scratch / "synced.db")], check=True)

    def sync(self, file: int) -> None:
        self.synced_log = self.log.read_bytes()

    def watch(self, commits: sqlite_commits.SqliteCommits) -> None:
        """A checkpoint that has moved the whole log syncs the file. One that has not, syncs nothing of it."""

        def watched(checkpoint: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                with self.checkpointing:
                    checkpoint()
                    _, frames, moved = commits._beside.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                    if frames == moved:
                        self.keep_file()
                        self.checkpoints += 1

            return run

        commits.checkpoint = watched(commits.checkpoint)  # type: ignore[method-assign]
        commits.restart_log = watched(commits.restart_log)  # type: ignore[method-assign]

    def cut(self) -> Path:
        """The files as a restart would find them. A log's header is synced as soon as it is written."""
        self.cuts += 1
        found = self.scratch / f"cut-{self.cuts}.db"
        with self.checkpointing:
            written = self.log.read_bytes()
            kept = bytearray(self.synced_log.ljust(len(written), b"\0"))
            shutil.copy(self.scratch / "synced.db", found)
        for start in range(0, len(written), SECTOR):
            if self.chance.random() < 0.5:
                kept[start : start + SECTOR] = written[start : start + SECTOR]
        kept[:LOG_HEADER] = written[:LOG_HEADER]
        Path(f"{found}-wal").write_bytes(kept)
        return found


class Told:
    def __init__(self) -> None:
        self.rows: dict[int, int] = {}  # run -> its last sequence that was told
        self.orgs = 0

    def check(self, found: Path) -> None:
        with closing(sqlite3.connect(found)) as connection:
            for run_id, last in self.rows.items():
                asked = "SELECT sequence FROM trace_rows WHERE run_id = ? ORDER BY sequence"
                stored = [sequence for (sequence,) in connection.execute(asked, (run_id,))]
                assert stored[:last] == list(range(1, last + 1))
                assert stored == list(range(1, len(stored) + 1)), "a gap in a run's log"
            assert connection.execute("SELECT COUNT(*) FROM orgs").fetchone()[0] >= self.orgs
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


async def play(database: Database, disk: Disk, told: Told) -> None:
    """Rows of eight runs and changes between them; now and then a look at what a cut would leave just now."""

    async def append(run_id: int) -> None:
        sequence = 0
        while sequence < 150 or disk.checkpoints < 3:
            sequence += 1
            await database.append(row(run_id, sequence, response="x" * 300 * run_id))
            told.rows[run_id] = sequence
            if disk.chance.random() < 0.03:
                told.check(disk.cut())

    async def change() -> None:
        for _ in range(40):
            await database.write(lambda connection: add_org(connection, "o", "now"))
            told.orgs += 1
            if disk.chance.random() < 0.1:
                told.check(disk.cut())

    async with asyncio.timeout(60):
        await asyncio.gather(change(), *(append(run_id) for run_id in range(8)))


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_told_survives_a_power_cut_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(sqlite_commits, "LOG_BYTES", SMALL_LOG)
    (tmp_path / "scratch").mkdir()
    path, told = tmp_path / "odyssey.db", Told()
    await Database(SqliteStore(path)).close()  # the schema is in the file, the log is gone
    disk = Disk(path, tmp_path / "scratch", random.Random(seed))
    monkeypatch.setattr(sqlite_commits, "sync_file", disk.sync)
    database = Database(SqliteStore(path))
    assert isinstance(database._commits, sqlite_commits.SqliteCommits)
    disk.watch(database._commits)
    try:
        await play(database, disk, told)
    finally:
        await database.close()
    assert disk.cuts >= 10


async def test_the_log_is_one_file_for_as_long_as_the_database_is_open(tmp_path: Path) -> None:
    """Others come and go and checkpoint: the file that is synced stays the one that is written."""
    path = tmp_path / "odyssey.db"
    database = Database(SqliteStore(path))
    first = os.stat(f"{path}-wal").st_ino
    checkpoint = (
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA wal_checkpoint(TRUNCATE)')"
    )
    for sequence in range(1, 6):
        await database.append(row(1, sequence))
        other = await asyncio.create_subprocess_exec(sys.executable, "-c", checkpoint, str(path))
        assert await other.wait() == 0
        await database.write(lambda connection: add_org(connection, "o", "now"))
    assert os.stat(f"{path}-wal").st_ino == first
    await database.close()
    assert sequences(path, 1) == list(range(1, 6))


async def test_the_log_is_found_where_a_link_leads(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link.db"
    os.mkdir(real)
    os.symlink(real / "odyssey.db", link)
    database = Database(SqliteStore(link))
    await database.append(row(1, 1))
    await database.close()
    assert sequences(real / "odyssey.db", 1) == [1]
