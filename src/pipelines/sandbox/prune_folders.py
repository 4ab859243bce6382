"""Which of the folders that can be made again are removed: those long unused, then the longest unused ones
until the rest is small enough. Never one that is in use, whichever process uses it.
"""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipelines.sandbox.held_folders import alone, last_use

DAY_S = 86_400.0
#: Sandboxes that wait for a next run have its folders open for some minutes after the last.
JUST_USED_S = 3_600.0
#: What a crash has left: no unpacking or installing takes so long.
LEFT_BEHIND_S = DAY_S
_UNFINISHED = ("new-", ".making-", ".gone-")
_NOT_FOLDERS_OF_RUNS = ("asked",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    unused_s: float | None  # None: never by age
    limit_bytes: int | None  # of all together; None: never by size
    now: float
    is_dry: bool = False  # only say what would go


@dataclass(frozen=True, kw_only=True, slots=True)
class Removed:
    path: Path
    bytes: int
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    directory: Path
    name: str
    used_at: float
    bytes: int

    @property
    def path(self) -> Path:
        return self.directory / self.name


def prune_folders(directories: Sequence[Path], rules: Rules) -> list[Removed]:
    """Blocks for as long as looking at all files takes."""
    removed = list(_prune_leftovers(directories, rules))
    seen: set[tuple[int, int]] = set()
    found = sorted(_found(directories, seen), key=lambda one: one.used_at)
    total = sum(one.bytes for one in found)
    for one in found:
        reason = _reason(one, total, rules)
        if reason is not None and _is_removed(one, rules):
            removed.append(Removed(path=one.path, bytes=one.bytes, reason=reason))
            total -= one.bytes
    if not rules.is_dry:
        for directory in directories:
            _forget_answers(directory)
    return removed


def _reason(one: _Found, total: int, rules: Rules) -> str | None:
    unused_s = rules.now - one.used_at
    if unused_s < JUST_USED_S:
        return None
    if rules.unused_s is not None and unused_s > rules.unused_s:
        return f"not used for {unused_s / DAY_S:.0f} days"
    if rules.limit_bytes is not None and total > rules.limit_bytes:
        return "the cache is over its limit, and this was unused longest"
    return None


def _found(directories: Iterable[Path], seen: set[tuple[int, int]]) -> Iterator[_Found]:
    for directory in directories:
        for path in _folders(directory):
            if not path.name.startswith((".", *_UNFINISHED)) and path.name not in _NOT_FOLDERS_OF_RUNS:
                with suppress(OSError):  # another process removes it just now
                    used_at = last_use(directory, path.name)
                    size = _size(path, seen)
                    yield _Found(directory=directory, name=path.name, used_at=used_at, bytes=size)


def _prune_leftovers(directories: Iterable[Path], rules: Rules) -> Iterator[Removed]:
    for directory in directories:
        for path in _folders(directory):
            with suppress(OSError):
                age_s = rules.now - path.stat().st_mtime
                if path.name.startswith(_UNFINISHED) and age_s > LEFT_BEHIND_S:
                    size = _size(path, set())
                    if not rules.is_dry:
                        shutil.rmtree(path)
                    yield Removed(path=path, bytes=size, reason="left by work that was interrupted")


def _is_removed(one: _Found, rules: Rules) -> bool:
    """Moved away while nobody can begin to use it; deleting takes longer."""
    with alone(one.directory, one.name) as is_alone:
        if not is_alone or last_use(one.directory, one.name) > one.used_at:
            return False
        if rules.is_dry:
            return True
        renamed = one.directory / f".gone-{secrets.token_hex(8)}"
        try:
            one.path.rename(renamed)
        except FileNotFoundError:
            return False  # another process was faster
    shutil.rmtree(renamed, ignore_errors=True)
    return True


def _folders(directory: Path) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []


def _size(folder: Path, seen: set[tuple[int, int]]) -> int:
    """On disk. A file under several names counts once: packages are linked from the installer's cache."""
    total = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                found = os.lstat(os.path.join(parent, name))
                if (found.st_dev, found.st_ino) not in seen:
                    seen.add((found.st_dev, found.st_ino))
                    total += found.st_blocks * 512
    return total


def _forget_answers(directory: Path) -> None:
    """Which environment a requirements text had, where that is gone."""
    answers = directory / "asked"
    with suppress(FileNotFoundError):
        for answer in answers.iterdir():
            with suppress(OSError, UnicodeDecodeError):
                if not (directory / answer.read_text()).is_dir():
                    answer.unlink()
