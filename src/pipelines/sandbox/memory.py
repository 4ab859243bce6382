"""How much memory a sandbox uses as a whole, which no rlimit bounds: a cgroup where the operator gave us one,
and a watchdog that looks ten times a second."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

WATCH_EVERY_S = 0.1
_PAGE = os.sysconf("SC_PAGE_SIZE")


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


def used_bytes(pid: int, limit: int) -> int:
    """Of the whole tree. Resident sizes count pages that processes share once for each, so where their sum is
    over the limit the exact, slower figure is asked for."""
    pids = tree(pid)
    rough = sum(_resident(one) for one in pids)
    return rough if rough <= limit else sum(_proportional(one) for one in pids)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0  # it has ended


def _proportional(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return _resident(pid)
    sizes = (line.split()[1] for line in text.splitlines() if line.startswith("Pss:"))
    return sum(map(int, sizes)) * 1024


async def watch(pid: int, limit: int) -> None:
    """Returns when the tree under `pid` is over its limit."""
    while used_bytes(pid, limit) <= limit:  # noqa: ASYNC110 - nobody tells us when it grows
        await asyncio.sleep(WATCH_EVERY_S)


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
