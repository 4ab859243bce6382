"""Readiness: whether the database can be read and written within a time limit."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.patient_writer import unavailable
from pipelines.wire.errors import StorageUnavailable
from pipelines.wire.records import Record

READY_S = 3.0  # a database that takes longer than this to store one row is of no use to an agent that waits
#: Changes nothing but is written to disk like any row, so it fails on a full disk.
_TOUCH = "UPDATE migrations SET name = name WHERE name = (SELECT MIN(name) FROM migrations)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Health(Record):
    """The server's sign of life."""

    status: str
    version: str


class Readiness:
    """Checks the database once for all concurrent requests, because the endpoint needs no key."""

    def __init__(self, database: Database) -> None:
        self._database = database
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
        except StorageUnavailable:
            raise
        except Exception as error:  # whatever it is, nothing can be stored
            raise unavailable("The database could not be read and written.", error) from error


def _look(connection: Connection) -> None:
    connection.execute("SELECT name FROM migrations LIMIT 1").fetchone()


def _touch(connection: Connection) -> None:
    connection.execute(_TOUCH)


def _seen(asked: "asyncio.Task[None]") -> None:
    """Consumes the result, for requests that stopped waiting."""
    if not asked.cancelled():
        asked.exception()
