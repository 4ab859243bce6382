"""How much memory a sandbox uses as a whole, which no rlimit bounds: looked at by a thread for each run.

A cgroup, where the operator gave us one, keeps the same limits in the kernel, exactly (`cgroups`).
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

#: What there was too much of.
Over: TypeAlias = Literal["memory", "sockets"]

#: A core fills a hundred sockets in this time, and looking is one short file.
SOCKETS_EVERY_S = 0.02
WATCH_EVERY_S = 0.1
MOST_OF_THE_TIME = 4  # looking may take a fifth of it, however many processes there are to look at
INODE_BYTES = 1024  # about what the kernel keeps for an empty file of a tmpfs
NICE = 5  # a third of the weight of the server's own threads: more, and a busy server would starve all code
# Not the loop's, which may be busy: as many as there are runs, each mostly asleep.
_watching = ThreadPoolExecutor(1024, thread_name_prefix="sandbox-watch")
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
    files += queued_bytes(pid) if folders else 0
    rough = files + sum(_status_bytes(one, _RESIDENT) for one in pids)
    return rough if rough <= limit else files + sum(_proportional(one) for one in pids)


def _files_bytes(pid: int, folder: str) -> int:
    """What the mere number of files in a folder in memory costs. A folder of the server's own disk costs
    none: its file system counts the files of the whole machine."""
    inside = f"/proc/{pid}/root{folder}"
    try:
        if os.stat(inside).st_dev in _host_devices():
            return 0
        found = os.statvfs(inside)
    except OSError:
        return 0
    return (found.f_files - found.f_ffree) * INODE_BYTES


def _host_devices() -> set[int]:
    """Of all file systems that the server sees. Those of a sandbox are in namespaces of its own."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    numbers = (line.split(maxsplit=3)[2].split(":") for line in lines)
    return {os.makedev(int(major), int(minor)) for major, minor in numbers}


#: Page tables too, which a process can make large while it has next to nothing resident.
_RESIDENT, _TABLES = ("VmRSS:", "VmPTE:"), ("VmPTE:",)


def _status_bytes(pid: int, lines: tuple[str, ...]) -> int:
    try:
        status_lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in status_lines if line.startswith(lines))
    except (OSError, IndexError, ValueError):
        return 0  # it has ended


def _proportional(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return _status_bytes(pid, _RESIDENT)
    sizes = (line.split()[1] for line in text.splitlines() if line.startswith("Pss:"))
    return sum(map(int, sizes)) * 1024 + _status_bytes(pid, _TABLES)


def sockets(pid: int) -> int:
    """All that the process's network namespace holds, also those that no handle leads to any more: closed
    with data under way, sent inside a message, waiting to be accepted. Each can hold a full buffer."""
    try:
        first = Path(f"/proc/{pid}/net/sockstat").read_text().split(maxsplit=3)
        return int(first[2])  # "sockets: used 16"
    except (OSError, IndexError, ValueError):
        return 0  # it has ended


def queued_bytes(pid: int) -> int:
    """What lies in the queues of TCP and UDP, whose buffers grow; those of other sockets do not."""
    found = 0
    for name in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError, IndexError, ValueError):
            for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
                found += sum(int(size, 16) for size in line.split()[4].split(":"))
    return found


def step_back(pids: Sequence[int]) -> None:
    """Where sessions share the CPU by themselves (autogroup), nice counts only within one of them: then the
    session is told, and told again, since code can open new ones."""
    for pid in pids:
        with suppress(OSError):
            handle = os.open(f"/proc/{pid}/autogroup", os.O_WRONLY)
            try:
                os.write(handle, str(NICE).encode())
            finally:
                os.close(handle)


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """A sandbox, what it may use, and how it is ended. Called on a thread."""

    pid: int
    memory_bytes: int
    #: None: not counted, where a cgroup counts their memory or they are the host's.
    sockets: int | None
    folders: Sequence[str] = WRITABLE
    was_exhausted: Callable[[], bool] | None = None  # asks the cgroup
    kill: Callable[[Over], None]
    first_look_s: float = 0.0  # not before: most calls of a function are over sooner, and looking takes time


def _limit_exceeded(watched: Watched, stopped: threading.Event) -> Over | None:
    whole_at = time.perf_counter() + watched.first_look_s
    while not stopped.wait(SOCKETS_EVERY_S):
        if watched.sockets is not None and sockets(watched.pid) > watched.sockets:
            return "sockets"
        began = time.perf_counter()
        if began < whole_at:
            continue
        step_back(tree(watched.pid))
        if watched.was_exhausted is not None and watched.was_exhausted():
            return "memory"
        if used_bytes(watched.pid, watched.memory_bytes, watched.folders) > watched.memory_bytes:
            return "memory"
        ended = time.perf_counter()
        whole_at = ended + max(WATCH_EVERY_S, MOST_OF_THE_TIME * (ended - began))
    return None


def _watch(watched: Watched, stopped: threading.Event) -> None:
    over = _limit_exceeded(watched, stopped)
    if over is not None:
        watched.kill(over)  # here: the event loop may be busy


async def watch(watched: Watched) -> None:
    """Returns when the sandbox was over a limit, and was ended for it."""
    stopped = threading.Event()
    try:
        await asyncio.get_running_loop().run_in_executor(_watching, _watch, watched, stopped)
    finally:
        stopped.set()
