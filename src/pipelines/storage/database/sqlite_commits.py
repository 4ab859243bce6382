"""SQLite's commits, without what makes them slow: waiting for a lock, syncing, and checkpoints happen apart.

A commit with synchronous=NORMAL writes to the log and syncs nothing. Where it must survive a power cut, the
log is synced before anyone is told: that is all that FULL does more.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pipelines.storage.database.trace_rows import TraceRow, insert_rows

log = logging.getLogger(__name__)

BUSY_TIMEOUT_S = 10.0  # another process (a backup, a shell) may hold the file for a moment
BUSY_WAIT_S = 0.005
#: Checkpoints copy each page once however often it was written since the last: seldom is cheaper. This much
#: log is some 4,000 calls that come one by one, or 15,000 that come 28 at a time.
LOG_BYTES = 32 * 1024 * 1024
READS_END_S = 0.05  # how long rows are held back for reads to end, before the log is left to grow
EXIT_CODE = 74  # of sysexits.h: an error of input or output
sync_file: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)  # not every system has the shorter one


class SqliteCommits:
    """The writer's connection. The loop may only `insert`; everything else is for threads, and waits."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, must_sync: bool) -> None:
        self.must_sync = must_sync
        self._connection = connection
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        # A log that has started again is cut to this size: what is beyond it was written since.
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        self._inserting = connection.cursor()
        self._checkpoints_at = LOG_BYTES
        self._beside = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._beside.execute("PRAGMA synchronous = NORMAL")
        # SQLite removes a log only with the last connection to its file, and ours stay open.
        file = path.resolve()  # where the path is a link, the log lies beside what it leads to
        self._log_file = os.open(f"{file}-wal", os.O_RDWR)
        _sync_folder(file.parent)

    def insert(self, rows: Sequence[TraceRow]) -> None:
        insert_rows(self._inserting, rows)

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> sqlite3.Cursor:
        if self._connection.in_transaction:  # it has the lock
            return self._connection.execute(statement, parameters)
        return _patiently(lambda: self._connection.execute(statement, parameters))

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]], /) -> sqlite3.Cursor:
        return self._connection.executemany(statement, parameters)

    def sync(self) -> None:
        try:
            sync_file(self._log_file)
        except OSError as error:
            _end_process(error)

    def wants_checkpoint(self) -> bool:
        return self._log_size() > self._checkpoints_at

    def checkpoint(self) -> None:
        self._beside.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def restart_log(self) -> None:
        """Moves what came in during `checkpoint`, then writes, which starts the log again from its beginning.

        The first write there syncs, which the loop must not wait for. Reads that began before may forbid it.
        """
        gives_up = time.monotonic() + READS_END_S
        try:
            while self._is_read() and time.monotonic() < gives_up:
                time.sleep(0.001)
            self.execute("PRAGMA user_version = 0")
        finally:
            self._checkpoints_at = max(LOG_BYTES, self._log_size() + LOG_BYTES // 4)

    def _log_size(self) -> int:
        return os.lseek(self._log_file, 0, os.SEEK_END)  # asked at every commit: a third of what fstat costs

    def _is_read(self) -> bool:
        is_read, _, _ = self._connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        return bool(is_read)

    def close(self) -> None:
        os.close(self._log_file)
        self._beside.close()
        self._connection.close()


def _patiently(attempt: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
    gives_up = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > gives_up:
                raise
            time.sleep(BUSY_WAIT_S)


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # the low byte is the kind, the rest details


def _end_process(error: OSError) -> NoReturn:
    """Nobody knows what the system kept and what it dropped, and a second sync would say that all is well.

    What was told to anyone is in the file; what was not may be there or not. Reading it anew decides.
    """
    log.critical("The database's log could not be synced, so this process ends: %s", error)
    os._exit(EXIT_CODE)


def _sync_folder(folder: Path) -> None:
    """The log may be new: without its name in the folder, its content would not be found."""
    if os.name == "nt":  # has no such thing
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
