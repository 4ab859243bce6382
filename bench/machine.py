"""What the machine does beside a benchmark, read from /proc: time stolen, time of others, threads."""

import gzip
import os
import platform
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from noise import Taken

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Reading(NamedTuple):
    at_s: float
    busy_s: float  # by any process
    stolen_s: float
    ours_s: float


def read(core: int, processes: Iterable[int]) -> Reading:
    """One core now; `processes` are those of ours that are pinned to it."""
    lines = Path("/proc/stat").read_text().splitlines()
    fields = next(line for line in lines if line.startswith(f"cpu{core} ")).split()
    user, nice, system, _, _, irq, softirq, stolen = (int(field) / TICKS_PER_S for field in fields[1:9])
    # Interrupts are mostly our own traffic on loopback: a tenth of the servers' core. Where they are in our
    # processes' times they must be on both sides.
    interrupts = 0.0 if _interrupts_are_apart() else irq + softirq
    ours = sum(_used(pid) for pid in processes)
    return Reading(time.perf_counter(), user + nice + system + interrupts, stolen, ours)


@cache
def _interrupts_are_apart() -> bool:
    """Whether this kernel leaves the time of interrupts out of the times of processes; if not known, no."""
    boot, own = Path(f"/boot/config-{platform.release()}"), Path("/proc/config.gz")
    text = b""
    if own.exists():
        text = gzip.decompress(own.read_bytes())
    elif boot.exists():
        text = boot.read_bytes()
    return b"\nCONFIG_IRQ_TIME_ACCOUNTING=y" in text


def taken(name: str, before: Reading, after: Reading) -> Taken:
    return Taken(
        core=name,
        seconds=after.at_s - before.at_s,
        stolen_s=after.stolen_s - before.stolen_s,
        foreign_s=(after.busy_s - before.busy_s) - (after.ours_s - before.ours_s),
    )


def family(pids: Iterable[int]) -> list[int]:
    """Servers that lead a session each: they, whoever else is in it, and all that descends from them."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    known = {pid: _fields(pid) for pid in numbers}
    leaders = set(pids)
    found = set(leaders)
    while True:
        more = {
            pid
            for pid, fields in known.items()
            if fields and (int(fields[1]) in found or int(fields[3]) in leaders)
        } - found
        if not more:
            return sorted(found)
        found |= more


def threads_on(core: int, leader: int) -> int:
    """How many threads a server has; raises where one may run on another core."""
    threads = [task for pid in family([leader]) for task in Path(f"/proc/{pid}/task").iterdir()]
    for task in threads:
        allowed = (task / "status").read_text().partition("Cpus_allowed_list:")[2].split()[0]
        if allowed != str(core):
            raise RuntimeError(
                f"thread {task.name} of {leader} may run on {allowed}, not only on core {core}"
            )
    return len(threads)


def filesystem(path: str) -> str:
    """The kind of filesystem a path lies on, as in ext4: a commit to memory is no commit to a disk."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    holding = [(place, kind) for place, kind in mounts if Path(path).is_relative_to(place)]
    return max(holding, key=lambda mount: len(mount[0]))[1]


def _used(pid: int) -> float:
    """CPU time of a process and of its children that have ended."""
    fields = _fields(pid)
    return sum(int(field) for field in fields[11:15]) / TICKS_PER_S


def _fields(pid: int) -> list[str]:
    """/proc/PID/stat after the command's name; nothing where the process has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
