"""Handles files that are broken at start: logs the problem, keeps the file under another name, goes on if
safe."""

import logging
from pathlib import Path

from pipelines.storage.database import sqlite_files

log = logging.getLogger(__name__)


def is_queue_new(file: Path) -> bool:
    """Whether the queue of batches starts empty: it did not exist, was deleted, or is broken.

    The queue only says which worker runs which shard. The database has the state of each run, so continuing
    with an empty queue repeats nothing.
    """
    if not file.exists():
        return True
    damage = sqlite_files.damage_of(file)
    if damage is None:
        return False
    kept = sqlite_files.set_aside(file)
    log.warning(
        "The queue of batches is broken (%s: %s). It is kept as %s, which you can delete. A new queue is"
        " created, and unfinished batches are queued again. To repeat interrupted runs, use"
        " `pipelines run --resume`.",
        file, damage, kept,
    )  # fmt: skip
    return True


def tell_of_log(file: Path) -> None:
    """Logs an unreadable database log before SQLite opens the database, ignores the log and overwrites it."""
    if not sqlite_files.has_unreadable_log(file):
        return
    kept = sqlite_files.copy_log_aside(file)
    log.warning(
        "The log of the database (%s-wal) is not readable, so the changes since its last checkpoint are lost."
        " The log is kept as %s. If you need these changes, stop this server and restore the database from"
        " a backup.",
        file, kept,
    )  # fmt: skip
