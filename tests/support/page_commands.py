"""Commands of a page of the documentation, entered as they stand there."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from served import clean_environment

PATIENCE_S = 120.0
ENVIRONMENT = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "80"}


def enter(block: str, folder: Path, **more: str) -> str:
    """What the commands print. The test fails with their output if one fails."""
    done = subprocess.run(
        ["bash", "-e", "-c", block],
        cwd=folder,
        env=clean_environment() | ENVIRONMENT | more,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def running_service(command: Sequence[str], folder: Path, port: int) -> Iterator[None]:
    """Started, and answering on its port."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env=clean_environment(), stdout=quiet, stderr=quiet)
    try:
        until = time.monotonic() + PATIENCE_S
        while not _answers(port):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with closing(socket.socket()) as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0
