"""How long a process wanted to run and could not, because others had the processors.

The kernel counts for each thread how long it waited for a processor. Where that was taken by the process's
own children and threads, nobody else is to blame: only the share that went to strangers counts.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PERIOD_S = 0.1
TICKS = os.sysconf("SC_CLK_TCK")


class Starved(NamedTuple):
    start: float
    end: float
    seconds: float

    def within(self, start: float, end: float) -> float:
        """Its part of a span of time."""
        shared = min(end, self.end) - max(start, self.start)
        return self.seconds * shared / (self.end - self.start) if shared > 0 else 0.0


class Starvation:
    """Looks at a process from its start to its stop."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.spans: list[Starved] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        at, waited, own, busy = time.monotonic(), thread_waits(self.pid), tree_cpu_s(self.pid), busy_s()
        while not self._is_over.wait(PERIOD_S):
            start, before, own_before, busy_before = at, waited, own, busy
            at, waited, own, busy = time.monotonic(), thread_waits(self.pid), tree_cpu_s(self.pid), busy_s()
            longest = max((waited[each] - before.get(each, waited[each]) for each in waited), default=0.0)
            strangers = 1 - (own - own_before) / max(busy - busy_before, 1 / TICKS)
            excused = min(longest, at - start) * min(max(strangers, 0.0), 1.0)
            self.spans.append(Starved(start, at, excused))


def thread_waits(pid: int) -> dict[str, float]:
    """For each thread, how long it has waited for a processor so far."""
    found = {}
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, IndexError):
                found[task.name] = int((task / "schedstat").read_text().split()[1]) / 1e9
    return found


def busy_s() -> float:
    """Processor time used on this machine so far, by anybody."""
    first = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, softirq, *_ = map(int, first)
    return (user + nice + system + irq + softirq) / TICKS


def tree(pid: int) -> Iterator[int]:
    """A process and everything below it."""
    left = [pid]
    while left:
        each = left.pop()
        yield each
        with suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                left += map(int, (task / "children").read_text().split())


def tree_cpu_s(pid: int) -> float:
    """Processor time used so far by a process and everything below it."""
    total = 0
    for each in tree(pid):
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS
