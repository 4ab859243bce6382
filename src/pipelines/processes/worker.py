"""A helper process: one job after the other from its socket, within limits it sets itself before the first.

It has nothing of the server: no environment, no files but its socket, no secrets but those that it is given
to hide in a text. Whatever a hostile text does to a parser, it does here.
"""

import os
import resource
import signal
import socket
import sys
import traceback
from typing import Any

from pipelines.core.text.json_text import InvalidJson, dumps, loads_own
from pipelines.core.text.problems import Refused
from pipelines.processes import frames
from pipelines.processes.jobs import JOBS

LEAVES_AT_KIB = 300 * 1024  # of memory once used: Python rarely gives it back
NICER = 5  # what others wait for on the event loop comes first


def main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    memory_bytes = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICER)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the server, which then ends us
    is_leaving = False
    while not is_leaving:
        try:
            job, data = _received(connection, memory_bytes)
        except (EOFError, ConnectionError):  # the server is gone
            return
        # By processor time, so that a busy machine refuses nothing; the signal ends the process.
        signal.setitimer(signal.ITIMER_PROF, job["limit_s"])
        _answer(connection, job, data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        del data
        is_leaving = _most_used_kib() > LEAVES_AT_KIB
        frames.send(connection, frames.END, dumps({"is_leaving": is_leaving}))


def _most_used_kib() -> int:
    """By this program: what `getrusage` tells begins with what the server used when it started us."""
    try:
        with open("/proc/self/status") as status:
            (line,) = (line for line in status if line.startswith("VmHWM:"))
    except (OSError, ValueError):  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(line.split()[1])


def _received(connection: socket.socket, memory_bytes: int) -> tuple[dict, bytes]:  # type: ignore[type-arg]
    marker, files, _, _ = socket.recv_fds(connection, 1, 1)
    if not marker:
        raise EOFError
    job: Any = loads_own(frames.receive(connection).body)
    resource.setrlimit(resource.RLIMIT_AS, (job["memory_bytes"], memory_bytes))
    data = frames.receive(connection).body
    if files:
        with os.fdopen(files[0], "rb") as file:
            file.seek(0)
            data = file.read()
    return job, data


def _answer(connection: socket.socket, asked: dict, data: bytes) -> None:  # type: ignore[type-arg]
    try:
        for part in JOBS[asked["job"]](data, **asked["arguments"]):
            frames.send(connection, frames.PART, part)
    except Refused as refused:
        problems = [problem.as_json() for problem in refused.problems]
        body = {"problems": problems, "what": refused.what, "total": refused.total}
        frames.send(connection, frames.REFUSED, dumps(body))
    except InvalidJson as error:
        frames.send(connection, frames.UNREADABLE, str(error).encode("utf-8", "replace"))
    except (MemoryError, RecursionError):
        frames.send(connection, frames.OUT_OF_MEMORY)
    except ConnectionError:
        raise SystemExit(1) from None
    except Exception as error:  # noqa: BLE001 - the server logs it and answers 500
        # Compiled code that runs out of memory half-way raises this over the MemoryError.
        if isinstance(error, SystemError) and isinstance(error.__cause__, MemoryError):
            frames.send(connection, frames.OUT_OF_MEMORY)
            return
        frames.send(connection, frames.FAILED, traceback.format_exc().encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
