"""Whether work can be sent here: the database is read and written within a stated time."""

import asyncio
from contextlib import suppress

from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.patient_writer import unavailable
from pipelines.wire.errors import StorageUnavailable

READY_S = 3.0  # a database that takes longer than this to store one row is of no use to an agent that waits
#: Changes nothing, and yet is written, to the disk like any other row: a full one shows here.
_TOUCH = "UPDATE migrations SET name = name WHERE name = (SELECT MIN(name) FROM migrations)"


class Readiness:
    """However many ask at the same time, the database is asked once: the question needs no key."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._asked: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """StorageUnavailable says why no work should be sent here."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.create_task(self._ask())
            self._asked.add_done_callback(_seen)
        try:
            await asyncio.wait_for(asyncio.shield(self._asked), READY_S)
        except TimeoutError:
            raise StorageUnavailable(f"The database was not read and written within {READY_S:g} s.") from None

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
    """Those who gave up waiting will not look at what became of it."""
    if not asked.cancelled():
        asked.exception()
