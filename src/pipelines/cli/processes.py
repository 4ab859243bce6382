"""Child processes of a command, ended by their own id when the command is done with them."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

IMPORT_PATIENCE_S = 60.0  # frameworks are slow to import, and the first time compiles them
STDERR = 2  # the descriptor: sys.stderr may be something that is no file
STOP_PATIENCE_S = 8.0  # more than a child's own grace


class AppFailed(Exception):
    """The app could not be served: its error, and the line of the user's code if it is known."""

    def __init__(
        self, error: str, *, file: str | None = None, line: int | None = None, code: str = ""
    ) -> None:
        super().__init__(error)
        self.error = error
        self.place = f"{file}:{line}" if file is not None else None
        self.code = code or None


class ServedApp(NamedTuple):
    url: str
    post_paths: list[str]
    process: subprocess.Popen[bytes]


@contextmanager
def child_process(
    *arguments: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdout: IO[Any] | int | None = None,
    report: int | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `cli.child` as a process, with this environment or only with `env`.

    It has its own session: Ctrl-C reaches only the parent, which ends its children in order.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli.child", *arguments],
        stdin=subprocess.PIPE,
        stdout=stdout,
        # Compiled files are matched by whole seconds and size: an edit within one second would go unseen.
        env={**(os.environ if env is None else env), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=cwd,
        pass_fds=() if report is None else (report,),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        end_process(process)


def end_process(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=STOP_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


@contextmanager
def served_app(
    app: str, directory: Path, *, port: int = 0, env: Mapping[str, str] | None = None
) -> Iterator[ServedApp]:
    """Serve the user's app on a socket. Raises AppFailed. The app's output goes to stderr."""
    reading, writing = os.pipe()
    arguments = ("serve", app, str(port), str(writing))
    with (
        os.fdopen(reading, "rb", buffering=0) as report,
        child_process(
            *arguments, env={**os.environ, **(env or {})}, cwd=directory, stdout=STDERR, report=writing
        ) as process,
    ):
        os.close(writing)  # the child's copy is then the only one, so that its end is seen
        ready = _wait_until_ready(report, process)
        yield ServedApp(f"http://127.0.0.1:{ready['port']}", ready["post_paths"], process)


def _wait_until_ready(report: IO[bytes], process: subprocess.Popen[bytes]) -> Any:
    deadline = time.monotonic() + IMPORT_PATIENCE_S
    received = b""
    while not received.endswith(b"\n"):
        seconds_left = deadline - time.monotonic()
        if seconds_left <= 0 or not select.select([report], [], [], seconds_left)[0]:
            hint = "does it start a server or wait for something outside of `if __name__ == '__main__'`?"
            raise AppFailed(f"not imported after {IMPORT_PATIENCE_S:.0f} s: {hint}")
        part = report.read(65_536)
        if not part:
            raise AppFailed(f"the process ended with code {process.wait()} before the app was there")
        received += part
    record = json.loads(received)
    if "failed" in record:
        raise AppFailed(**record["failed"])
    return record["ready"]
