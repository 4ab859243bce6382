"""SQLite: one file, write-ahead log, nothing to set up."""

import sqlite3
import time
from pathlib import Path
from typing import Literal, TypeAlias

from pipelines.storage.database.connection import Connection, transaction
from pipelines.storage.database.migrations import MIGRATIONS, refuse_newer, statements, text_hash
from pipelines.storage.database.sqlite_brief_reads import SqliteBriefReads
from pipelines.storage.database.sqlite_commits import BUSY_TIMEOUT_S, SqliteCommits
from pipelines.storage.database.store import StoreConnection

Synchronous: TypeAlias = Literal["full", "normal"]


class SqliteStore:
    def __init__(self, path: Path, *, synchronous: Synchronous = "full") -> None:
        self._path = path
        self._synchronous = synchronous

    def connect(self, *, read_only: bool) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            self._path,
            isolation_level=None,
            check_same_thread=False,
            timeout=BUSY_TIMEOUT_S,
            cached_statements=512,
        )
        _write_ahead(connection)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")
        connection.row_factory = sqlite3.Row
        return connection

    def migrate(self, connection: Connection) -> list[str]:
        """Bring the schema up to date, all steps or none; the names of those run."""
        assert isinstance(connection, sqlite3.Connection)
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)")
        connection.create_function("text_hash", 1, text_hash, deterministic=True)
        # Some builds write zeros over all that a step frees: gigabytes, where it moves what rows held apart.
        (before,) = connection.execute("PRAGMA secure_delete").fetchone()
        connection.execute("PRAGMA secure_delete = FAST")
        ran = []
        with transaction(connection):
            done = {row[0] for row in connection.execute("SELECT name FROM migrations")}
            refuse_newer(done, [name for name, _ in MIGRATIONS])
            for name, script in MIGRATIONS:
                if name not in done:
                    for statement in statements(script):
                        connection.execute(statement)
                    connection.execute("INSERT INTO migrations (name) VALUES (?)", (name,))
                    ran.append(name)
        connection.execute(f"PRAGMA secure_delete = {('OFF', 'ON', 'FAST')[before]}")
        return ran

    def loop_commits(self, connection: StoreConnection) -> SqliteCommits:
        assert isinstance(connection, sqlite3.Connection)
        return SqliteCommits(self._path, connection, must_sync=self._synchronous == "full")

    def brief_reads(self) -> SqliteBriefReads:
        return SqliteBriefReads(self.connect(read_only=True))

    def take_turns(self, connection: Connection) -> None:
        """Nothing to do: a transaction that writes is alone from its first statement on."""

    def time(self, connection: Connection, own: str) -> str:
        return own

    def hold_run(self, connection: Connection, run_id: int) -> None:
        """Nothing to do: see `take_turns`."""

    def is_taken(self, error: Exception) -> bool:
        """Whether a row was refused because its place in the log is taken."""
        return isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in str(error)

    def is_unavailable(self, error: Exception) -> bool:
        # The bare class is a file that is damaged, or no database at all.
        return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


def _write_ahead(connection: sqlite3.Connection) -> None:
    """SQLite does not wait by itself where two connections switch a fresh file at the same moment."""
    gives_up = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > gives_up:
                raise
            time.sleep(0.01)
