"""Running a command inside a sandbox, in a time of its own, what it prints cut short, nothing of it left.

The process that runs this is not the command's: it outlives it, kills what it leaves and reads its results.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pipelines.sandbox.inside import driver

    Message = dict[str, Any]
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import driver

    del sys.path[0], sys.modules["driver"]

_FIRST_PIDS = 10  # inside a pid namespace we are among its first
_LARGEST_REPORT = 4 << 20  # bytes that one test session may tell
_MOST_SESSIONS = 64
_LEAVE_WITHIN_MS = 300


def kill_all() -> None:
    """But for this process and the namespace's first, which signals from inside do not reach."""
    if os.getpid() >= _FIRST_PIDS:
        raise RuntimeError("this is not a sandbox: nothing is killed")
    for _ in range(1_000):  # a process that forks while the signal goes round may be missed
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            break
        reap()
        if not others():
            break
        time.sleep(0.001)


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def others() -> list[str]:
    """Names of the processes that are neither this one nor the namespace's first."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and name not in ("1", str(os.getpid())):
            try:
                with open(f"/proc/{name}/stat") as file:
                    pids = file.read()
            except OSError:
                continue
            if pids.rpartition(")")[2].split()[0] not in ("Z", "X"):
                found.append(pids.partition("(")[2].rpartition(")")[0])
    return found


class CutOutput:
    """The beginning and the end of what is printed."""

    def __init__(self, limit: int) -> None:
        self.half = limit // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = max(0, self.half - len(self.head))
        self.head += data[:room]
        self.tail += data[room:]
        if len(self.tail) > self.half:
            del self.tail[: len(self.tail) - self.half]

    def text(self) -> str:
        dropped = self.total - len(self.head) - len(self.tail)
        note = b"\n[... %d bytes dropped ...]\n" % dropped if dropped else b""
        return (bytes(self.head) + note + bytes(self.tail)).decode("utf-8", "replace").replace("\0", "\ufffd")


class Sessions:
    """Test sessions that were seen: pytest, wherever a command starts it, tells us (see `pytest_guard`)."""

    def __init__(self) -> None:
        self.name = f"\0guard-{os.urandom(16).hex()}"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.name)
        self.listener.listen(_MOST_SESSIONS)
        self.listener.setblocking(False)
        self.told: dict[socket.socket, bytearray] = {}
        self.ended: list[bytearray] = []

    def accept(self) -> socket.socket | None:
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return None
        if len(self.told) + len(self.ended) >= _MOST_SESSIONS:
            connection.close()
            return None
        connection.setblocking(False)
        self.told[connection] = bytearray()
        return connection

    def read(self, connection: socket.socket) -> bool:
        """False once it has ended."""
        try:
            data = connection.recv(1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        received = self.told[connection]
        if data and len(received) < _LARGEST_REPORT:
            received += data
            return True
        self.ended.append(self.told.pop(connection))
        connection.close()
        return False

    def close(self) -> list[Message]:
        """What each session said of itself: that it began, how its tests went, that it came to its end."""
        while self.accept() is not None:
            pass
        for connection in list(self.told):
            while connection in self.told and self._has_more(connection):
                self.read(connection)
            if connection in self.told:
                self.ended.append(self.told.pop(connection))
                connection.close()
        self.listener.close()
        return [_session(bytes(received)) for received in self.ended]

    @staticmethod
    def _has_more(connection: socket.socket) -> bool:
        return bool(select.select([connection], [], [], 0)[0])


def _session(heard: bytes) -> Message:
    found: Message = {}
    for line in heard.split(b"\n"):
        try:
            session = json.loads(line)
        except ValueError:
            continue
        if isinstance(session, dict):
            found |= session
    return found


def run(message: Message) -> Message:
    """One command to its end or its time, then everything that it started is killed."""
    sessions = Sessions()
    env = {**message["env"], "PIPELINES_GUARD": sessions.name[1:]}

    def confined() -> None:
        driver.set_dumpable(1)
        driver.confine(message["limits"])

    process = subprocess.Popen(
        message["argv"],
        cwd=message["cwd"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=confined,
    )
    kept = CutOutput(message["output_bytes"])
    timed_out = _watched(process, sessions, kept, time.monotonic() + message["timeout_s"])
    code = process.poll()
    remaining = [] if timed_out else _remaining_processes()
    kill_all()
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    _drain(process, kept)
    process.stdout.close()
    return {
        "code": code,
        "timed_out": timed_out,
        "left": remaining[:20],
        "output": kept.text(),
        "sessions": sessions.close(),
    }


def _remaining_processes() -> list[str]:
    """Who stays, and is not just about to leave: helpers of a process end a moment after it."""
    for _ in range(_LEAVE_WITHIN_MS // 10):
        if not others():
            return []
        time.sleep(0.01)
    return others()


def _watched(process: subprocess.Popen[bytes], sessions: Sessions, kept: CutOutput, until: float) -> bool:
    """Whether its time was over first."""
    assert process.stdout is not None
    output = process.stdout.fileno()
    ended = os.pidfd_open(process.pid)
    poll = select.poll()
    for handle in (output, ended, sessions.listener.fileno()):
        poll.register(handle, select.POLLIN)
    connections: dict[int, socket.socket] = {}
    try:
        while True:
            left_s = until - time.monotonic()
            if left_s <= 0:
                return True
            for handle, _ in poll.poll(min(left_s, 60) * 1000):
                if handle == ended:
                    process.wait()
                    return False
                if handle == output:
                    data = os.read(output, 1 << 16)
                    kept.add(data)
                    if not data:
                        poll.unregister(output)
                elif handle == sessions.listener.fileno():
                    connection = sessions.accept()
                    if connection is not None:
                        connections[connection.fileno()] = connection
                        poll.register(connection, select.POLLIN)
                elif handle in connections and not sessions.read(connections[handle]):
                    poll.unregister(handle)
                    del connections[handle]
    finally:
        os.close(ended)


def _drain(process: subprocess.Popen[bytes], kept: CutOutput) -> None:
    assert process.stdout is not None
    for _ in range(64):
        try:
            data = os.read(process.stdout.fileno(), 1 << 16)
        except BlockingIOError:
            return
        if not data:
            return
        kept.add(data)
