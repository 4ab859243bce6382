"""Readiness: whether what work needs can be read and written within a time limit: the database, the disk of
the data directory, the queue of batches."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.patient_writer import unavailable
from pipelines.wire.errors import StorageUnavailable
from pipelines.wire.records import Record

READY_S = 3.0  # a database that takes longer than this to store one row is of no use to an agent that waits
#: Changes nothing but is written to disk like any row, so it fails on a full disk.
#: Free disk without which the server is not ready. A database file can take a few more rows on a full disk,
#: because it has free pages; the next larger change, or a new batch, then fails.
ROOM_BYTES = 1 << 20
_TOUCH = "UPDATE migrations SET name = name WHERE name = (SELECT MIN(name) FROM migrations)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Health(Record):
    """The server's sign of life."""

    status: str
    version: str


class Readiness:
    """Checks the database once for all concurrent requests, because the endpoint needs no key."""

    def __init__(
        self,
        database: Database,
        *,
        folders: Sequence[Path] = (),
        problem: Callable[[], str] = lambda: "",
    ) -> None:
        """`folders` need room on their disk; `problem` says what else keeps work waiting, or is empty."""
        self._database = database
        self._folders = folders
        self._problem = problem
        self._asked: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Raises StorageUnavailable with the reason if the server is not ready."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.create_task(self._ask())
            self._asked.add_done_callback(_seen)
        try:
            await asyncio.wait_for(asyncio.shield(self._asked), READY_S)
        except TimeoutError:
            raise StorageUnavailable(
                f"The database could not be read and written within {READY_S:g} s."
            ) from None

    async def close(self) -> None:
        if self._asked is not None:
            self._asked.cancel()
            with suppress(asyncio.CancelledError, StorageUnavailable):
                await self._asked

    async def _ask(self) -> None:
        try:
            await self._database.read(_look)
            await self._database.write(_touch)
            for folder in self._folders:
                await asyncio.to_thread(_reserve, folder)
        except StorageUnavailable:
            raise
        except Exception as error:  # whatever it is, nothing can be stored
            raise unavailable("The database could not be read and written.", error) from error
        if problem := self._problem():
            raise StorageUnavailable(problem)


def _reserve(folder: Path) -> None:
    """Asks the file system for room, and gives it back. The file has no name, so a kill leaves nothing."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, ROOM_BYTES)
            else:
                file.write(b"\0" * ROOM_BYTES)
                file.flush()
    except OSError as error:
        message = f"The disk of the data directory has less than {ROOM_BYTES >> 20} MiB of free space."
        raise unavailable(message, error) from error


def _look(connection: Connection) -> None:
    connection.execute("SELECT name FROM migrations LIMIT 1").fetchone()


def _touch(connection: Connection) -> None:
    connection.execute(_TOUCH)


def _seen(asked: "asyncio.Task[None]") -> None:
    """Consumes the result, for requests that stopped waiting."""
    if not asked.cancelled():
        asked.exception()
