"""How long the disk stood still, by syncing a small file of our own beside the server's.

A tool call that changes the world is answered once it is on the disk. Where a sync of four kilobytes by a
stranger takes as long, and the server itself has hardly written anything, the disk is to blame (other people
write to it), and not the input. What the server writes much of for somebody's input is never an excuse.
"""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from starvation import Starved, tree

PERIOD_S = 0.1
SLOW_S = 0.1
OWN_BYTES = 16_000_000  # written by the server in RECENT_S: more may have kept the disk busy
RECENT_S = 5.0
sync_file = getattr(os, "fdatasync", os.fsync)


class Disk:
    """Looks at the disk of a server from its start to its stop."""

    def __init__(self, directory: Path, pid: int) -> None:
        self.spans: list[Starved] = []
        self._pid = pid
        self._written: list[tuple[float, int]] = []
        self._file = os.open(directory / "heartbeat-disk", os.O_RDWR | os.O_CREAT, 0o600)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()
        os.close(self._file)

    def _look(self) -> None:
        while not self._is_over.wait(PERIOD_S):
            start = time.monotonic()
            os.pwrite(self._file, os.urandom(4_096), 0)
            sync_file(self._file)
            end = time.monotonic()
            own = self._recently_written(end)
            if end - start >= SLOW_S and own < OWN_BYTES:
                self.spans.append(Starved(start, end, end - start))

    def _recently_written(self, now: float) -> int:
        """By the server, in the last seconds. Asked at each sync, so that there is something to compare."""
        self._written = [each for each in self._written if now - each[0] <= RECENT_S]
        self._written.append((now, tree_written(self._pid)))
        return self._written[-1][1] - self._written[0][1]


def tree_written(pid: int) -> int:
    """Bytes that a process and everything below it have had written to disk so far."""
    total = 0
    for each in tree(pid):
        with suppress(OSError):
            for line in Path(f"/proc/{each}/io").read_text().splitlines():
                if line.startswith("write_bytes:"):
                    total += int(line.split()[1])
    return total
