"""How much memory a sandbox uses as a whole, which no rlimit bounds: a cgroup where the operator gave us one,
and a watchdog that looks ten times a second."""

import asyncio
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

WATCH_EVERY_S = 0.1
MOST_OF_THE_TIME = 4  # looking may take a fifth of it, however many processes there are to look at
INODE_BYTES = 1024  # about what the kernel keeps for an empty file of a tmpfs
_watching = ThreadPoolExecutor(2, thread_name_prefix="sandbox-watch")  # not the loop's: those may be busy
WRITABLE = ("/tmp", "/dev/shm", "/job")  # folders in memory, whose size counts bytes but not files


def tree(pid: int) -> list[int]:
    """A process and everything below it. The first of a pid namespace is the parent of its orphans too."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        try:
            threads = os.listdir(f"/proc/{one}/task")
        except OSError:
            continue
        for thread in threads:  # children belong to the thread that forked them
            with suppress(OSError):
                waiting += map(int, Path(f"/proc/{one}/task/{thread}/children").read_text().split())
    return found


def used_bytes(pid: int, limit: int, folders: Sequence[str] = ()) -> int:
    """Of the whole tree. Resident sizes count pages that processes share once for each, so where their sum is
    over the limit the exact, slower figure is asked for."""
    pids = tree(pid)
    files = sum(_files_bytes(pid, folder) for folder in folders)
    rough = files + sum(_status_bytes(one, _RESIDENT) for one in pids)
    return rough if rough <= limit else files + sum(_proportional(one) for one in pids)


def _files_bytes(pid: int, folder: str) -> int:
    """What the mere number of files in a folder of its own costs."""
    try:
        found = os.statvfs(f"/proc/{pid}/root{folder}")
    except OSError:
        return 0
    return (found.f_files - found.f_ffree) * INODE_BYTES


#: Page tables too, which a process can make large while it has next to nothing resident.
_RESIDENT, _TABLES = ("VmRSS:", "VmPTE:"), ("VmPTE:",)


def _status_bytes(pid: int, lines: tuple[str, ...]) -> int:
    try:
        told = Path(f"/proc/{pid}/status").read_text().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in told if line.startswith(lines))
    except (OSError, IndexError, ValueError):
        return 0  # it has ended


def _proportional(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return _status_bytes(pid, _RESIDENT)
    sizes = (line.split()[1] for line in text.splitlines() if line.startswith("Pss:"))
    return sum(map(int, sizes)) * 1024 + _status_bytes(pid, _TABLES)


async def watch(pid: int, limit: int, *, folders: Sequence[str] = WRITABLE) -> None:
    """Returns when the tree under `pid` is over its limit. On a thread: a large one takes long to look at."""
    loop = asyncio.get_running_loop()
    while True:
        began = time.perf_counter()
        if await loop.run_in_executor(_watching, used_bytes, pid, limit, folders) > limit:
            return
        await asyncio.sleep(max(WATCH_EVERY_S, MOST_OF_THE_TIME * (time.perf_counter() - began)))


class Cgroup:
    """A group of one sandbox, below the folder that the operator gave us: version 2, or 1's memory."""

    def __init__(self, parent: Path, name: str, memory_bytes: int) -> None:
        self.folder = parent / name
        self.folder.mkdir()
        if (self.folder / "memory.max").exists():
            self._write("memory.max", memory_bytes)
            with suppress(OSError):
                self._write("memory.swap.max", 0)
                self._write("memory.oom.group", 1)
        else:
            self._write("memory.limit_in_bytes", memory_bytes)
            with suppress(OSError):
                self._write("memory.memsw.limit_in_bytes", memory_bytes)

    def was_exhausted(self) -> bool:
        for name in ("memory.events", "memory.oom_control"):
            with suppress(OSError):
                lines = (self.folder / name).read_text().splitlines()
                return any(int(line.split()[1]) > 0 for line in lines if line.startswith("oom_kill "))
        return False

    def remove(self) -> None:
        with suppress(OSError):
            self.folder.rmdir()

    def _write(self, name: str, value: int) -> None:
        (self.folder / name).write_text(str(value))
