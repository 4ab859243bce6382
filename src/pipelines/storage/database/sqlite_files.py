"""SQLite's files as they are found at a start: which of them are broken, and moving those out of the way.

SQLite itself takes a log that it cannot read for an empty one, without a word: what was stored in it alone
is gone then. So that is looked at here, before the database is opened.
"""

import shutil
import sqlite3
import struct
from contextlib import closing
from itertools import count
from pathlib import Path

_LOG_HEADER = struct.Struct(">8I")  # magic, version, page size, checkpoint, two salts, two checksums
_LOG_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}  # -> byte order of its checksums
BESIDE = ("-wal", "-shm", "-journal")


def damage_of(file: Path) -> str | None:
    """What is wrong with a database, in SQLite's words. Reads all of it: for small ones."""
    try:
        with closing(sqlite3.connect(file)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == "ok" else str(found)


def set_aside(file: Path) -> Path:
    """Move a database, and what lies beside it, to a name nobody has; the new name."""
    free = _free_name(file)
    for ending in ("", *BESIDE):
        part = file.with_name(file.name + ending)
        if part.exists():
            part.rename(free.with_name(free.name + ending))
    return free


def has_unreadable_log(file: Path) -> bool:
    """Whether the log beside a database is none of SQLite's. One that a kill left behind can be read."""
    log = _log_of(file)
    if not log.exists() or log.stat().st_size == 0:
        return False
    with log.open("rb") as opened:
        header = opened.read(_LOG_HEADER.size)
    return len(header) < _LOG_HEADER.size or not _is_log_header(header)


def copy_log_aside(file: Path) -> Path:
    """Keep the log as it is now: SQLite will overwrite it."""
    log = _log_of(file)
    free = _free_name(log)
    shutil.copyfile(log, free)
    return free


def _log_of(file: Path) -> Path:
    real = file.resolve()  # where the path is a link, the log lies beside what it leads to
    return real.with_name(f"{real.name}-wal")


def _free_name(file: Path) -> Path:
    names = (file.with_name(f"{file.name}.broken-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def _is_log_header(header: bytes) -> bool:
    magic, *_, first, second = _LOG_HEADER.unpack(header)
    order = _LOG_MAGIC.get(magic)
    return order is not None and _checksum(header[:24], order) == (first, second)


def _checksum(content: bytes, order: str) -> tuple[int, int]:
    """As the file format defines it, over pairs of 32-bit words."""
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    first = second = 0
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
