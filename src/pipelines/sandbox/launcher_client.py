"""The server's end of the launcher: asks it for processes, hears when they end."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.sandbox import launcher as launcher_script
from pipelines.sandbox.memory import NICE
from pipelines.sandbox.seccomp import UnknownMachine, seccomp_program

ENDS_WITHIN_S = 10.0


class LauncherGone(Exception):
    """The process that starts sandboxes has ended; everything it started ended with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A process to start. It gets the handles of `Launcher.launch` as its control, output and status."""

    argv: Sequence[str]
    #: More for bubblewrap, in a file: argument lists can be read, from inside too, and these name folders.
    arguments: Sequence[str] = ()
    #: Folders to show under the launcher's STAGE; only as root. Empty: nothing is staged.
    stage: Mapping[str, str] = field(default_factory=dict)
    #: A folder that is seen as the sandbox's own under STAGE, what is written in it apart: `below`, `bytes`.
    #: Without `below` it is empty at first.
    layered: Mapping[str, str | int] = field(default_factory=dict)
    uid: int | None = None  # drop to this user and group first
    hidden: Sequence[str] = ()  # folders to cover where folders are staged; bubblewrap does it elsewhere
    cgroups: Sequence[str] = ()  # join these first
    nice: int = NICE
    dies_with_us: bool = False  # bubblewrap sees to that itself


class Launcher:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._last = 0

    @property
    def is_alive(self) -> bool:
        return self._socket is not None

    async def start(self) -> None:
        """Also after it was lost: then what is left of the old one is waited for."""
        if self._process is not None:
            await asyncio.to_thread(self._process.wait, ENDS_WITHIN_S)
        try:
            program = seccomp_program()
        except UnknownMachine:
            program = b""  # then nothing is isolated, which the probe tells
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-I", "-S", launcher_script.__file__, str(theirs.fileno()), program.hex()]
        with theirs:
            self._process = await asyncio.to_thread(
                subprocess.Popen,
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={"LANG": "C.UTF-8"},
                cwd="/",
            )
        ours.setblocking(False)
        self._socket = ours
        asyncio.get_running_loop().add_reader(ours.fileno(), self._read_replies)

    def launch(self, request: Request, handles: Sequence[int]) -> tuple[int, "asyncio.Future[int]"]:
        """A name for `kill`, and the exit code to come. The handles stay the caller's to close."""
        if self._socket is None:
            raise LauncherGone
        self._last += 1
        message = {
            "id": self._last,
            "argv": list(request.argv),
            "arguments": list(request.arguments),
            "stage": dict(request.stage),
            "layered": dict(request.layered),
            "uid": request.uid,
            "hidden": list(request.hidden),
            "cgroups": list(request.cgroups),
            "nice": request.nice,
            "dies_with_us": request.dies_with_us,
        }
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._exits[self._last] = exited
        self._send(json.dumps(message).encode(), handles)
        return self._last, exited

    def kill(self, name: int) -> None:
        """The whole tree, as far as it can be seen from outside; nothing if it has ended."""
        if name in self._exits:
            self._send(json.dumps({"kill": name}).encode(), ())

    async def close(self) -> None:
        """Ends the launcher and everything it started."""
        process, self._process = self._process, None
        self._forget()
        if process is not None:
            await asyncio.to_thread(process.wait, ENDS_WITHIN_S)

    def _send(self, data: bytes, handles: Sequence[int]) -> None:
        if self._socket is None:
            raise LauncherGone
        try:
            socket.send_fds(self._socket, [data], handles)
        except (BlockingIOError, ConnectionError):
            self._forget()
            raise LauncherGone from None

    def _read_replies(self) -> None:
        assert self._socket is not None
        try:
            data = self._socket.recv(4096)
        except (BlockingIOError, InterruptedError):
            return
        except ConnectionError:
            data = b""
        if not data:
            self._forget()
            return
        news = json.loads(data)
        exited = self._exits.pop(news["id"], None)
        if exited is not None and not exited.done():
            exited.set_result(news["code"])

    def _forget(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None
        exits, self._exits = self._exits, {}
        for exited in exits.values():
            if not exited.done():
                exited.set_exception(LauncherGone())
                exited.exception()  # heard: nobody may be waiting for it
