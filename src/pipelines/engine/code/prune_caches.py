"""What nobody needs any more is removed: packages and unpacked code of this node, parts of lost uploads."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.sandbox.prune_folders import DAY_S, Removed, Rules, prune_folders
from pipelines.storage.agents import code
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheLimits:
    days: int  # 0: never by age
    limit_mb: int  # 0: never by size

    def rules(self, *, is_dry: bool = False, clock: Callable[[], float] = time.time) -> Rules:
        return Rules(
            unused_s=self.days * DAY_S if self.days else None,
            limit_bytes=self.limit_mb * MEBIBYTE if self.limit_mb else None,
            now=clock(),
            is_dry=is_dry,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruned:
    folders: Sequence[Removed] = ()
    orphans: Sequence[code.Orphan] = field(default=())


async def prune(database: Database, directories: Sequence[Path], limits: CacheLimits) -> Pruned:
    """Beside everything else: looking at files on a thread, parts one by one through the writer."""
    folders = await asyncio.to_thread(prune_folders, directories, limits.rules())
    orphans = await database.read(code.orphaned_archives)
    for orphan in orphans:

        def remove(connection: Connection, archive_hash: str = orphan.archive_hash) -> bool:
            return code.remove_orphaned_part(connection, archive_hash)

        while await database.write(remove):
            pass
    return Pruned(folders=folders, orphans=orphans)
