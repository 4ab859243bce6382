"""Restricts the data directory and the database to the server's user at every start."""

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from pipelines.core.text.problems import Problem, Refused

_log = logging.getLogger(__name__)
_OTHERS = 0o077
#: SQLite creates its log and index files with the mode of the database.
_BESIDE = ("", "-wal", "-shm", "-journal")


def close_folder(folder: Path) -> None:
    """Creates the folder or sets its mode to 0700; raises Refused if it cannot."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_mode & _OTHERS:
        _tighten(folder, 0o700)


def close_database(file: Path) -> None:
    """Restricts the database file, which may be in a shared folder."""
    for suffix in _BESIDE:
        path = file.with_name(file.name + suffix)
        with suppress(FileNotFoundError):
            if path.stat().st_mode & _OTHERS:
                _tighten(path, 0o600)


def _tighten(path: Path, mode: int) -> None:
    found = path.stat()
    was = stat.S_IMODE(found.st_mode)
    with suppress(PermissionError):
        path.chmod(mode)
    if path.stat().st_mode & _OTHERS:  # also where a file system takes the change and does not keep it
        owner = (
            ""
            if found.st_uid == os.geteuid()
            else f" and belongs to user id {found.st_uid}, not to the server's user"
        )
        message = f"can be read by other users (mode {was:04o}){owner}, and its mode cannot be changed"
        hint = f"make it the server's own: chown it, then chmod {mode:o}; or choose another --data-dir"
        raise Refused([Problem(path=str(path), message=message, hint=hint)], "the data directory")
    # A new database is open by the usual mask; a folder that is was somebody's doing.
    level = logging.WARNING if stat.S_ISDIR(found.st_mode) else logging.DEBUG
    _log.log(level, "%s was readable by other users (mode %04o); now only this user can read it", path, was)
