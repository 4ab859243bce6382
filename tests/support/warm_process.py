"""Processes of `pipelines` without the second and a half that importing the server takes.

One process beside the tests has imported it, and forks for each that is asked for. What a test gets is a
process of its own, with its own environment, folder, streams, signals and end; only `/proc` tells it from one
that was started afresh. Where that is looked at, and where the start itself is tested, use `subprocess`.
"""

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any

#: Not the commands themselves: their consoles take width and colour from the environment they are made in.
IMPORTED = ["pipelines.server.app", "uvicorn", "uvloop", "typer", "rich.console", "rich.live", "rich.table"]
TESTS = str(Path(__file__).parents[1])


class _Handed:
    """A file descriptor that goes along to the new process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self.number),)  # only while a process is being started


def _received(handed: Any) -> int:
    number: int = handed.detach()
    return number


def _main(arguments: list[str], env: dict[str, str], cwd: str, out: int, err: int) -> None:
    """In the new process: everything as a fresh one finds it, and then what `python -m pipelines` does."""
    for given, number in ((out, 1), (err, 2)):
        os.dup2(given, number)
    for given in {out, err}:
        os.close(given)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    tempfile.tempdir = None
    os.chdir(cwd)
    by_line = 1 if env.get("PYTHONUNBUFFERED") else -1
    sys.stdout = os.fdopen(1, "w", by_line, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", closefd=False)
    sys.argv[:] = ["pipelines", *arguments]
    sys.path[:] = [cwd, *(path for path in sys.path if not path.startswith(TESTS))]
    from pipelines.cli.main import run

    try:
        run()
    finally:
        atexit._run_exitfuncs()


class WarmProcess:
    """`python -m pipelines …`, with what tests use of `subprocess.Popen`."""

    def __init__(
        self,
        *arguments: str,
        env: Mapping[str, str],
        cwd: Path | None = None,
        stderr: int | IO[bytes] = subprocess.PIPE,
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(IMPORTED)
        self.stdout, out = _pipe()
        self.stderr: IO[str] | None = None
        if stderr == subprocess.PIPE:
            self.stderr, err = _pipe()
        else:
            err = os.dup(out if isinstance(stderr, int) else stderr.fileno())
        given = (arguments, dict(env), str(cwd or Path.cwd()), _Handed(out), _Handed(err))
        # A daemon: one that a test leaves behind ends with the tests.
        self._process = context.Process(target=_main, args=given, daemon=True)
        self._process.start()
        os.close(out)
        os.close(err)
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("pipelines", timeout or 0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        streams = [stream for stream in (self.stdout, self.stderr) if stream is not None]
        with ThreadPoolExecutor(len(streams)) as pool:
            reading = [pool.submit(_rest, stream) for stream in streams]
            try:
                said = [each.result(timeout) for each in reading]
                self.wait(timeout)
            except TimeoutError as error:
                self.kill()  # or the threads read on
                raise subprocess.TimeoutExpired("pipelines", timeout or 0.0) from error
        return said[0], said[1] if len(said) > 1 else ""


def finished(
    *arguments: str, env: Mapping[str, str], cwd: Path | None = None, timeout: float
) -> subprocess.CompletedProcess[str]:
    process = WarmProcess(*arguments, env=env, cwd=cwd)
    out, err = process.communicate(timeout)
    return subprocess.CompletedProcess(arguments, process.wait(), out, err)


def _pipe() -> tuple[IO[str], int]:
    reading, writing = os.pipe()
    return os.fdopen(reading, encoding="utf-8", errors="replace"), writing


def _rest(stream: IO[str]) -> str:
    if stream.closed:
        return ""
    with stream:
        return stream.read()
