"""One sandbox: started, given one job, killed. Everything that comes out of it is untrusted."""

import asyncio
import json
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pipelines.sandbox.cgroups import Group
from pipelines.sandbox.code_errors import (
    out_of_memory,
    read_frame,
    sandbox_lost,
    timed_out,
    too_large,
    too_many_sockets,
    without_frame,
)
from pipelines.sandbox.host_listener import HostListener, Serve
from pipelines.sandbox.job import CodeError, Limits
from pipelines.sandbox.launcher_client import Launcher, LauncherGone, Request
from pipelines.sandbox.memory import WATCH_EVERY_S, WRITABLE, Over, Watched, step_back, tree, watch
from pipelines.sandbox.output import Output

STARTS_WITHIN_S = 30.0  # a cold start takes a tenth of a second; a machine may be busy
ENDS_WITHIN_S = 10.0
_FRAME_SLACK = (
    128 * 1024
)  # a traceback, the frame's own words; a result within them is quoted: twice its size
_SMALL_FRAME = 16 * 1024  # read in less time than a thread takes
_FIRST_OUTPUT_LIMIT = 16 * 1024  # until there is a job, only reasons for not starting are printed


#: What a frame says: a value or an error. It may be called on a thread.
Read = Callable[[bytes, Limits], tuple[Any, CodeError | None]]


class StartFailed(Exception):
    """The sandbox did not come up; the message is what it said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobEnded:
    """How a job ended: with a value or an error."""

    value: Any
    error: CodeError | None
    duration_ms: float


class Sandbox:
    """Use `start`; then `execute` once, or not at all; then `close`."""

    def __init__(
        self,
        launcher: Launcher,
        *,
        is_isolated: bool,
        group: Group | None = None,
        writable: Sequence[str] = WRITABLE,
    ) -> None:
        """`group` is the caller's to make and to remove; `writable` are its folders in memory."""
        self._writable = writable
        self._launcher = launcher
        self._is_isolated = is_isolated
        self._group = group
        self._over: Over | None = None  # what it was ended for
        self._loop = asyncio.get_running_loop()
        self._first_pid: int | None = None
        self._pidfd = -1
        self._listener: socket.socket | None = None
        self._name, self._status = 0, -1  # no sandbox has the name 0
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._exited.set_result(0)  # nothing has been started yet
        self.port = 0

    @property
    def is_alive(self) -> bool:
        return not self._exited.done()

    async def start(self, request: Request) -> None:
        """Raises StartFailed; then, too, `close` must be called."""
        self._control, control = socket.socketpair()
        self._control.setblocking(False)
        out, stdout = os.pipe()
        err, stderr = os.pipe()
        self._status, status = os.pipe()
        self.stdout = Output(out, _FIRST_OUTPUT_LIMIT)
        self.stderr = Output(err, _FIRST_OUTPUT_LIMIT)
        try:
            handles = [control.fileno(), stdout, stderr, status]
            self._name, self._exited = self._launcher.launch(request, handles)
        except LauncherGone:
            raise StartFailed("the process that starts sandboxes has ended") from None
        finally:
            control.close()
            for handle in (stdout, stderr, status):
                os.close(handle)
        try:
            async with asyncio.timeout(STARTS_WITHIN_S):
                await self._read_greeting()
        except TimeoutError:
            raise StartFailed(f"it was not ready within {STARTS_WITHIN_S:.0f} s") from None

    async def _read_greeting(self) -> None:
        await _wait_readable(self._loop, self._control.fileno())
        try:
            data, handles, _, _ = socket.recv_fds(self._control, 4096, 1)
        except ConnectionError:
            data, handles = b"", []
        if handles:
            self._listener = socket.socket(fileno=handles[0])
        if not data or not handles:
            await self._wait_until_ended()
            raise StartFailed(self.stderr.text().strip()[-2_000:] or "it ended and printed nothing")
        greeting = json.loads(data[4:])
        self.port = greeting["port"]
        if self._is_isolated:
            _check_confinement(greeting)
            self._first_pid = await self._pid_outside()
        else:
            self._first_pid = greeting["pid"]
        with suppress(OSError):
            self._pidfd = os.pidfd_open(self._first_pid)
        step_back(tree(self._first_pid))

    async def _pid_outside(self) -> int:
        """Of the sandbox's first process: killing it kills everything inside."""
        line = b""
        while b"\n" not in line:
            await _wait_readable(self._loop, self._status)
            piece = os.read(self._status, 4096)
            if not piece:
                raise StartFailed("bubblewrap did not report the sandbox's process id")
            line += piece
        pid: int = json.loads(line.splitlines()[0])["child-pid"]
        return pid

    async def execute(self, job: dict[str, Any], limits: Limits, serve: Serve) -> JobEnded:
        """Hands the job over, answers its calls, and returns when it has ended, one way or another. Then the
        sandbox is killed."""
        return await self.ask(job, limits, serve, read=read_frame, is_last=True)

    async def ask(
        self, message: dict[str, Any], limits: Limits, serve: Serve, *, read: Read, is_last: bool = False
    ) -> JobEnded:
        """One message, and what `read` makes of the frame that comes for it. A sandbox without an answer, or
        that was over a limit, is of no more use: the caller closes it."""
        assert self._listener is not None
        assert self._first_pid is not None
        self.stdout.limit = self.stderr.limit = limits.output_bytes
        began = time.perf_counter()
        host = HostListener(self._listener.dup(), serve, limits.connections)
        full = asyncio.ensure_future(watch(self._watch_settings(self._first_pid, limits, is_last=is_last)))
        answered = asyncio.ensure_future(self._exchange(message, limits, read))
        try:
            await asyncio.wait({full, answered}, timeout=limits.wall_s, return_when=asyncio.FIRST_COMPLETED)
            duration_ms = (time.perf_counter() - began) * 1000
            value: Any
            error: CodeError | None
            if self._over is not None:  # first: what it has killed ends in some way, too
                value, error = None, _limit_error(self._over, limits)
            elif answered.done():
                value, error = await answered
            else:
                value, error = None, timed_out(limits)
            return JobEnded(value=value, error=error, duration_ms=duration_ms)
        finally:
            for task in (full, answered):
                task.cancel()
            await asyncio.gather(full, answered, return_exceptions=True)
            if is_last:
                self.kill()
            await host.close()

    def _watch_settings(self, pid: int, limits: Limits, *, is_last: bool) -> Watched:
        counts = self._is_isolated and self._group is None
        return Watched(
            pid=pid,
            memory_bytes=limits.memory_bytes,
            sockets=limits.sockets if counts else None,
            folders=self._writable if self._is_isolated else (),  # without isolation they are the host's
            was_exhausted=self._group.was_exhausted if self._group is not None else None,
            kill=self._kill_for,
            first_look_s=0.0 if is_last else WATCH_EVERY_S,
        )

    def _kill_for(self, over: Over) -> None:
        """On the thread that watches."""
        self._over = over
        self._kill_first()

    def _kill_first(self) -> None:
        """From any thread; what else there is to kill, the loop does."""
        if self._is_isolated and self._pidfd >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def _exchange(
        self, message: dict[str, Any], limits: Limits, read: Read
    ) -> tuple[Any, CodeError | None]:
        data = json.dumps(message).encode()
        with suppress(ConnectionError):  # then there is an exit to report
            await self._loop.sock_sendall(self._control, struct.pack(">I", len(data)) + data)
        try:
            frame = await self._receive(2 * limits.result_bytes + _FRAME_SLACK)
        except _TooLarge as error:
            return None, too_large(error.size, limits)
        if frame is not None:
            if len(frame) <= _SMALL_FRAME:
                return read(frame, limits)
            return await asyncio.to_thread(read, frame, limits)  # it may be megabytes
        try:
            return None, without_frame(await self._exited, limits)
        except LauncherGone:
            return None, sandbox_lost()

    async def read_notice(self) -> dict[str, Any] | None:
        """A short frame that comes unasked; None where none comes. Never raises but for cancellation."""
        try:
            frame = await self._receive(_SMALL_FRAME)
            notice = json.loads(frame) if frame is not None else None
        except (_TooLarge, ValueError, RecursionError):
            return None
        return notice if isinstance(notice, dict) else None

    async def piece(self, largest: int) -> bytes | None:
        """One more frame of an answer that comes in several; None when no more comes."""
        try:
            return await self._receive(largest)
        except _TooLarge:
            return None

    async def order(self, message: dict[str, Any]) -> None:
        """A message whose answer is read piece by piece."""
        data = json.dumps(message).encode()
        await self._loop.sock_sendall(self._control, struct.pack(">I", len(data)) + data)

    async def _receive(self, largest: int) -> bytes | None:
        """One frame, or None when the other end closed first. Handles sent along are dropped by `recv`."""
        head = await self._receive_exactly(4)
        if head is None:
            return None
        (size,) = struct.unpack(">I", head)
        if size > largest:
            raise _TooLarge(size)
        return await self._receive_exactly(size)

    async def _receive_exactly(self, count: int) -> bytes | None:
        data = bytearray()
        while len(data) < count:
            try:
                part = await self._loop.sock_recv(self._control, min(count - len(data), 1 << 20))
            except ConnectionError:
                return None
            if not part:
                return None
            data += part
        return bytes(data)

    def kill(self) -> None:
        if self._is_isolated and self._pidfd >= 0:
            self._kill_first()
        else:
            with suppress(LauncherGone):
                self._launcher.kill(self._name)

    async def close(self) -> None:
        """Returns when no process of it is left and its output is read."""
        self.kill()
        await self._wait_until_ended()
        for handle in (self._pidfd, self._status):
            if handle >= 0:
                os.close(handle)
        self._pidfd = self._status = -1
        self._control.close()
        if self._listener is not None:
            self._listener.close()
        self.stdout.close()
        self.stderr.close()

    async def _wait_until_ended(self) -> None:
        """bubblewrap ends with the code's first process, others of the sandbox a moment later."""
        parts = [asyncio.shield(part) for part in (self._exited, self.stdout.ended, self.stderr.ended)]
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_WITHIN_S):
                await asyncio.gather(*parts, return_exceptions=True)
                if self._pidfd >= 0:
                    await _wait_readable(self._loop, self._pidfd)


class _TooLarge(Exception):
    def __init__(self, size: int) -> None:
        self.size = size


def _limit_error(over: Over, limits: Limits) -> CodeError:
    return too_many_sockets(limits) if over == "sockets" else out_of_memory(limits)


async def _wait_readable(loop: asyncio.AbstractEventLoop, handle: int) -> None:
    ready: asyncio.Future[None] = loop.create_future()

    def is_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(handle, is_ready)
    try:
        await ready
    finally:
        loop.remove_reader(handle)


def _check_confinement(greeting: dict[str, Any]) -> None:
    """The kernel's own words, told by our driver before any other code ran inside."""
    if (
        int(greeting.get("CapEff", "1"), 16)
        or greeting.get("NoNewPrivs") != "1"
        or greeting.get("Seccomp") != "2"
    ):
        raise StartFailed("the process inside has rights that it should not have, so nothing is run in it")
