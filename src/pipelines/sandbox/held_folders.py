"""Folders that can be made again: whoever uses one, in any process, holds a lock that keeps it there."""

import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

USED = ".used"  # of the directory: for each folder an empty file, locked by its users, as old as its last use


class HeldFolders:
    """The folders under `directory` that this process uses."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._held: dict[str, tuple[int, int]] = {}  # name -> how often, the open file

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """While this lasts, the folder stays, or can be made."""
        with self._lock:
            count, file = self._held.get(name) or (0, lock_of(self._directory, name))
            os.utime(file)
            self._held[name] = (count + 1, file)
        try:
            yield
        finally:
            with self._lock:
                count, file = self._held[name]
                os.utime(file)
                if count > 1:
                    self._held[name] = (count - 1, file)
                else:
                    del self._held[name]
                    os.close(file)


def lock_of(directory: Path, name: str) -> int:
    """The open file, locked with other users. Waits for one who removes the folder, which is a moment."""
    file = _file_of(directory, name)
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


@contextmanager
def alone(directory: Path, name: str) -> Iterator[bool]:
    """Whether nobody uses the folder, and nobody begins to while this lasts."""
    is_known = (directory / USED / name).exists()
    file = _file_of(directory, name)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        if not is_known:  # from before uses were kept: it is as old as the folder
            with suppress(OSError):
                os.utime(file, (0, (directory / name).stat().st_mtime))
        yield True
    finally:
        os.close(file)


def _file_of(directory: Path, name: str) -> int:
    used = directory / USED
    used.mkdir(parents=True, exist_ok=True)
    return os.open(used / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def last_use(directory: Path, name: str) -> float:
    """When it was used last, or made where nobody has used it since this is kept."""
    with suppress(OSError):
        return (directory / USED / name).stat().st_mtime
    return (directory / name).stat().st_mtime


@contextmanager
def new_folder(parent: Path) -> Iterator[Path]:
    """An empty folder under a name that nobody has; gone afterwards, unless it was moved."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="new-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
