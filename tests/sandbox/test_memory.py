"""What the kernel holds for the code: sockets are counted, their buffers stay small, the run ends."""

import os
from pathlib import Path

import pytest
from boxes import Answerer, Boxes

from pipelines.sandbox.job import MEBIBYTE, CodeErrorKind
from pipelines.sandbox.memory import _files_bytes

#: Fills what it is told to until something stops it; 1 GiB at most.
FILLS = """
import os, signal, socket
MOST = 1 << 30
def fill(socket_of, share):
    held, sent = [], 0
    while sent < share:
        try: near, far = socket_of()
        except OSError: break
        held += [near, far]
        near.setblocking(False)
        try:
            while sent < share: sent += near.send(bytes(32_768))
        except OSError: pass
    return held
def unix():
    return socket.socketpair()
def large():
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
    return near, far
def backlog():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"/tmp/{os.getpid()}")
    listener.listen(4096)
    sent = 0
    while sent < MOST // 16:
        with socket.socket(socket.AF_UNIX) as near:  # closed, and its data stays until somebody accepts
            near.setblocking(False)
            try:
                near.connect(listener.getsockname())
                while True: sent += near.send(bytes(32_768))
            except OSError: pass
    return listener
def run(task_input, **_):
    for _ in range(16):
        if os.fork() == 0:
            kind = task_input["kind"]
            held = backlog() if kind == "backlog" else fill({"unix": unix, "large": large}[kind], MOST // 16)
            while True: signal.pause()
    while True: signal.pause()
"""


@pytest.mark.parametrize("kind", ["unix", "large", "backlog"])
def test_full_socket_buffers_end_the_run(boxes: Boxes, kind: str) -> None:
    error = boxes.error(FILLS, CodeErrorKind.OUT_OF_MEMORY, task_input={"kind": kind})
    assert "256 sockets" in error.message
    assert error.hint is not None


def test_queues_of_tcp_count_as_memory(boxes: Boxes) -> None:
    code = """
    import signal, socket
    def run(task_input, **_):
        held = []
        for _ in range(40):
            listener = socket.create_server(("127.0.0.1", 0))
            near = socket.create_connection(listener.getsockname())
            far, _ = listener.accept()
            listener.close()
            near.setblocking(False)
            held += [near, far]
            try:
                while True: near.send(bytes(65_536))
            except BlockingIOError: pass
        while True: signal.pause()
    """
    boxes.error(code, CodeErrorKind.OUT_OF_MEMORY, memory_bytes=32 * MEBIBYTE)


def test_a_socket_and_a_pipe_keep_their_usual_size(boxes: Boxes) -> None:
    code = """
    import fcntl, os, socket
    def run(task_input, **_):
        near, far = socket.socketpair()
        usual = near.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            near.setsockopt(socket.SOL_SOCKET, option, 4 << 20)  # taken without a word, as the kernel does
        grown = near.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > usual
        near.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        reading, writing = os.pipe()
        try: fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
        except PermissionError: return {"grown": grown, "pipe": "refused", "alive": near.getsockopt(1, 9)}
    """
    assert boxes.value(code) == {"grown": False, "pipe": "refused", "alive": 1}


def test_as_many_sockets_as_an_agent_needs_are_fine(boxes: Boxes) -> None:
    code = """
    import asyncio, socket, urllib.request
    def run(task_input, *, proxy_url, run_token):
        held = [socket.socketpair() for _ in range(40)]
        async def call(number):
            return await asyncio.to_thread(urllib.request.urlopen, f"{proxy_url}/{number}")
        async def calls():
            return [reply.status for reply in await asyncio.gather(*map(call, range(20)))]
        return {"seen": asyncio.run(calls())}
    """
    assert boxes.value(code, serve=Answerer()) == {"seen": [200] * 20}


def test_files_on_the_disk_of_the_server_are_no_memory_of_the_code(tmp_path: Path) -> None:
    """In folders that a sandbox shares with the host these are all files of the machine."""
    assert os.statvfs(tmp_path).f_files > os.statvfs(tmp_path).f_ffree
    assert _files_bytes(os.getpid(), str(tmp_path)) == 0
