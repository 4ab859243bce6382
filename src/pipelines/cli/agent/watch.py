"""Which files of a folder changed, by their times and sizes: works on any file system."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

WATCHED = frozenset({".py", ".json", ".csv", ".txt", ".yaml", ".yml", ".toml", ".md", ".env"})
IGNORED_FOLDERS = frozenset({"__pycache__", "node_modules", "venv", "site-packages", "build", "dist"})
LOOK_EVERY_S = 0.25
QUIET_S = 0.3  # an editor writes in several steps: a change counts when nothing has moved for this long

Snapshot = dict[str, tuple[int, int]]


class FolderWatch:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known = self._scan()

    def changed(self) -> list[str]:
        """Files that were added, removed or changed since the last call, once no more changes arrive."""
        seen = self._scan()
        if seen == self._known:
            return []
        while True:
            time.sleep(QUIET_S)
            later = self._scan()
            if later == seen:
                break
            seen = later
        before, self._known = self._known, seen
        return sorted(path for path in before.keys() | seen.keys() if before.get(path) != seen.get(path))

    def wait(self) -> list[str]:
        while not (found := self.changed()):
            time.sleep(LOOK_EVERY_S)
        return found

    def _scan(self) -> Snapshot:
        found: Snapshot = {}
        for path in _files(self._directory):
            try:
                stat = path.stat()
            except OSError:
                continue  # gone in between
            found[str(path.relative_to(self._directory))] = (stat.st_mtime_ns, stat.st_size)
        return found


def _files(directory: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(directory):
        inner[:] = [name for name in inner if name not in IGNORED_FOLDERS and not name.startswith(".")]
        for name in names:
            if name == ".env" or Path(name).suffix in WATCHED:
                yield Path(folder, name)
