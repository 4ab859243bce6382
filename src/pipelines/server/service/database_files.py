"""Notices that the files of a SQLite database were deleted or replaced while the server runs.

SQLite goes on with files that have no name any more: it confirms writes that nobody can read later. So
nothing is read or written until the files are back under their names.
"""

import asyncio
import logging
import os
from pathlib import Path

from pipelines.storage.database.database import Database

log = logging.getLogger(__name__)
LOOK_S = 0.5
_Identity = tuple[int, int]


class DatabaseFiles:
    """Looks at the files of a database for as long as it is open."""

    def __init__(self, database: Database, file: Path) -> None:
        real = file.resolve()  # where the path is a link, the log lies beside what it leads to
        self._database = database
        self._files = {path: _identity(path) for path in (real, real.with_name(f"{real.name}-wal"))}
        self._looking = asyncio.create_task(self._look_on())

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()

    def look(self) -> None:
        changed = [path for path, identity in self._files.items() if _identity(path) != identity]
        refusal = _refusal(changed[0]) if changed else ""
        if refusal and not self._database.refusal:
            log.critical("%s Restore the files, or stop the server and restore a backup.", refusal)
        elif self._database.refusal and not refusal:
            log.warning("The files of the database are back.")
        self._database.refusal = refusal

    async def close(self) -> None:
        self._looking.cancel()
        await asyncio.gather(self._looking, return_exceptions=True)


def _refusal(path: Path) -> str:
    return f"The database file {path.name} was deleted or replaced while the server runs."


def _identity(path: Path) -> _Identity | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return (seen.st_dev, seen.st_ino)
