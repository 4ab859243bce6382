"""A real server: `pipelines up` in a process of its own, on a free port."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2

from support.desk import Org
from support.warm_process import WarmProcess, finished

KEY = "pk_live_" + "a1" * 20
STOP_S = 30


class Server:
    """Started and waiting for requests: the first line it prints is its address."""

    def __init__(self, directory: Path, *flags: str, is_fresh: bool = False, **variables: str) -> None:
        """`is_fresh`: where somebody looks at the process itself (see `warm_process`)."""
        self.directory = directory
        self.errors = directory.parent / f"{directory.name}.stderr"
        settings = {"PIPELINES_API_KEY": KEY, "PIPELINES_PROXY_RATE_LIMIT": "0"} | variables
        arguments = ("up", "--port", "0", "--data-dir", str(directory), *flags)
        env = clean_environment() | settings
        with self.errors.open("ab") as errors:
            self.process: subprocess.Popen[str] | WarmProcess = (
                subprocess.Popen(
                    command(*arguments), env=env, stdout=subprocess.PIPE, stderr=errors, text=True
                )
                if is_fresh
                else WarmProcess(*arguments, env=env, stderr=errors)
            )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        assert "http://" in self.first_line, self.errors.read_text()
        self.url = next(word for word in self.first_line.split() if word.startswith("http://"))

    def kill(self) -> None:
        """No warning, no chance to tidy up."""
        self.process.kill()
        self.wait()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.wait()

    def wait(self) -> int:
        try:
            return self.process.wait(timeout=STOP_S)
        finally:
            self.process.kill()
            assert self.process.stdout is not None
            self.process.stdout.close()

    def owner(self, *, limits: httpx2.Limits | None = None) -> Org:
        client = httpx2.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {KEY}"},
            limits=limits or httpx2.Limits(),
            timeout=30,
        )
        return Org(client, KEY)


@contextmanager
def running(directory: Path, *flags: str, **variables: str) -> Iterator[Server]:
    server = Server(directory, *flags, **variables)
    try:
        yield server
    finally:
        server.stop(signal.SIGKILL)


@asynccontextmanager
async def visiting(server: Server) -> AsyncIterator[Org]:
    org = server.owner()
    async with org.client:
        yield org


def command(*arguments: str) -> Sequence[str]:
    return [sys.executable, "-m", "pipelines", *arguments]


def clean_environment() -> dict[str, str]:
    """Ours, without settings that whoever runs the tests may have."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIPELINES_")}
    return kept | {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "COLUMNS": "200"}


def run_command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return finished(*arguments, env=clean_environment() | variables, timeout=60)
