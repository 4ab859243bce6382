"""Asking helper processes: started when first needed, replaced when they end, bounded in time and memory.

A result comes back in parts, as bytes: nothing is unpickled here, since making a large value holds the
interpreter as parsing it would have.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Literal, NamedTuple, TypeAlias, TypeVar

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, dumps, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.processes import frames
from pipelines.processes.parts_in_file import PartsInFile

MEBIBYTE = 1024 * 1024
MEMORY_BYTES = 1024 * MEBIBYTE  # of address space: a text of 8 MiB takes up to 700 MiB to read
PATIENCE = (
    6  # times the processor time a job may take is waited for it, on a machine that is busy with others
)
PROCESSES = 2  # as many as the machine's cores would leave time for beside the server

#: What is read: bytes, or a file with a descriptor, which is not copied through this process.
Input: TypeAlias = bytes | IO[bytes]
Parts = TypeVar("Parts", list[bytes], PartsInFile)


class TookTooMuch(Exception):
    """A job took more time or memory than it may; `what` says which, or that its process ended over it."""

    def __init__(self, what: Literal["time", "memory", "crash"], limit: str) -> None:
        super().__init__(f"reading it takes more than {limit}")
        self.what = what


class JobFailed(Exception):
    """A job broke in a way nobody foresaw; the message is its traceback."""


class Job(NamedTuple):
    name: str  # one of processes.jobs.JOBS
    arguments: JsonObject
    limit_s: float  # of processor time
    most_bytes: int  # of the whole result
    memory_bytes: int | None = None  # of address space, where it is less than what the processes may have


class HelperProcesses:
    """Holds no process until the first job; `close` ends them."""

    def __init__(self, *, processes: int = PROCESSES, memory_bytes: int = MEMORY_BYTES) -> None:
        self._turns = FairSlots.all_but_one_each(processes)
        self._idle = [_Helper(memory_bytes) for _ in range(processes)]
        self._all = tuple(self._idle)
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="helper")
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self, job: Job, data: Input, *, owner: int) -> list[bytes]:
        """The parts of the result. Refused and InvalidJson as the job raises them; TookTooMuch; JobFailed."""
        return await self.run_into([], job, data, owner=owner)

    async def run_into(self, parts: Parts, job: Job, data: Input, *, owner: int) -> Parts:
        """As `run`, with a place for the parts that may be a file."""
        task = asyncio.ensure_future(self._run(parts, job, data, owner))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        # Whoever asked may hang up; the process is busy all the same until it is done.
        await asyncio.shield(task)
        return parts

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # is seen, also where whoever asked has hung up

    async def _run(self, parts: list[bytes] | PartsInFile, job: Job, data: Input, owner: int) -> None:
        async with self._turns.slot(SlotHolder(owner)):
            helper = self._idle.pop()
            try:
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._threads, helper.work, parts, job, data)
            finally:
                self._idle.append(helper)

    async def close(self) -> None:
        """What is under way is cut off."""
        for helper in self._all:
            helper.kill()
        if self._under_way:
            await asyncio.wait(self._under_way)
        self._threads.shutdown()
        self.end()

    def end(self) -> None:
        """While nothing is under way."""
        for helper in self._all:
            helper.end()


class _Helper:
    """One process at a time, used by one thread at a time."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._ended_by: int | None = None  # the exit code of the last

    def work(self, parts: list[bytes] | PartsInFile, job: Job, data: Input) -> None:
        was_idle = self._process is not None
        try:
            return self._work(parts, job, data)
        except (EOFError, ConnectionError):
            self.end()
            if not was_idle or self._ended_by == -signal.SIGPROF:
                raise self._end_reason(job) from None
        try:  # it may have been ended while it was idle: once more, by a new one
            return self._work(parts, job, data)
        except (EOFError, ConnectionError):
            self.end()
            raise self._end_reason(job) from None

    def _end_reason(self, job: Job) -> TookTooMuch:
        if self._ended_by == -signal.SIGPROF:
            return TookTooMuch("time", f"{job.limit_s:g} s")
        return TookTooMuch("crash", f"{_size(self._memory_of(job))} of memory")

    def _memory_of(self, job: Job) -> int:
        return min(job.memory_bytes or self._memory_bytes, self._memory_bytes)

    def _work(self, parts: list[bytes] | PartsInFile, job: Job, data: Input) -> None:
        connection = self._connection or self._start()
        until = time.monotonic() + PATIENCE * job.limit_s
        try:
            _ask(connection, job, data, self._memory_of(job))
            parts.clear()
            self._result(parts, connection, job, until)
        except (TimeoutError, OverflowError):
            self.end()
            raise TookTooMuch("time", f"{job.limit_s:g} s") from None

    def _result(
        self, parts: list[bytes] | PartsInFile, connection: socket.socket, job: Job, until: float
    ) -> None:
        bytes_left = job.most_bytes
        problem: Exception | None = None
        while True:
            connection.settimeout(max(until - time.monotonic(), 0.001))
            kind, body = frames.receive(connection, bytes_left)
            bytes_left -= len(body)
            if kind == frames.PART:
                parts.append(body)
            elif kind == frames.END:
                break
            else:
                problem = self._problem(kind, body, job)
        if loads_own(body) == {"is_leaving": True}:
            self.end()
        if problem is not None:
            raise problem

    def _problem(self, kind: bytes, body: bytes, job: Job) -> Exception:
        if kind == frames.REFUSED:
            return _refusal(loads_own(body))
        if kind == frames.UNREADABLE:
            return InvalidJson(body.decode())
        if kind == frames.OUT_OF_MEMORY:
            return TookTooMuch("memory", f"{_size(self._memory_of(job))} of memory")
        return JobFailed(body.decode())

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "pipelines.processes.worker",
                    str(theirs.fileno()),
                    str(self._memory_bytes),
                ],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": os.defpath},
            )
        self._connection = ours
        return ours

    def kill(self) -> None:
        """From another thread: whoever waits for it hears that it is gone."""
        process = self._process
        if process is not None:
            process.kill()

    def end(self) -> None:
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if connection is not None:
            connection.close()
        if process is not None:
            if process.poll() is None:
                time.sleep(0.01)  # where its socket is closed it ends this moment, by a signal worth knowing
            if process.poll() is None:
                process.kill()
            self._ended_by = process.wait()


def _ask(connection: socket.socket, job: Job, data: Input, memory_bytes: int) -> None:
    # A process that takes nothing off its socket is no better than one that does not answer.
    connection.settimeout(PATIENCE * job.limit_s)
    head: dict[str, Json] = {
        "job": job.name,
        "arguments": job.arguments,
        "limit_s": job.limit_s,
        "memory_bytes": memory_bytes,
    }
    if isinstance(data, bytes):
        connection.sendall(b"J")
    else:
        data.flush()
        socket.send_fds(connection, [b"J"], [data.fileno()])
    frames.send(connection, frames.ASKED, dumps(head))
    frames.send(connection, frames.INPUT, data if isinstance(data, bytes) else b"")


def _refusal(told: Json) -> Refused:
    assert isinstance(told, dict)
    problems = [Problem(**problem) for problem in told["problems"]]  # type: ignore[union-attr, arg-type]
    return Refused(problems, str(told["what"]), total=int(str(told["total"])))


def _size(memory_bytes: int) -> str:
    return f"{memory_bytes // MEBIBYTE:,} MiB"
