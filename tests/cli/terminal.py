"""A command in a process of its own, read as a person reads it: until something stands there."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.server_process import PATIENCE_S, clean_environment

PATIENT_S = PATIENCE_S * 2  # a server and a framework have to be imported first


class Terminal:
    def __init__(self, *arguments: str, cwd: Path, **env: str) -> None:
        plain = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pipelines", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=clean_environment() | plain | env,
            cwd=cwd,
        )
        self.said = ""
        self._read_to = 0

    def until(self, words: str) -> str:
        """What is said up to these words, from where the last look ended."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + PATIENT_S
        while (found := self.said.find(words, self._read_to)) < 0:
            left = deadline - time.monotonic()
            readable = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            part = os.read(self.process.stdout.fileno(), 65_536).decode() if readable else ""
            assert part, f"never said {words!r}:\n{self.said}"
            self.said += part
        before, self._read_to = self._read_to, found + len(words)
        return self.said[before : self._read_to]

    def children(self) -> list[int]:
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        self.said += self.process.communicate(timeout=PATIENT_S)[0].decode()
        return self.process.returncode


@contextmanager
def typed(*arguments: str, cwd: Path, **env: str) -> Iterator[Terminal]:
    terminal = Terminal(*arguments, cwd=cwd, **env)
    try:
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.communicate()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
