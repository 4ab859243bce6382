"""The probing process of the heartbeat suite, a script: one loop over plain sockets, nothing but the library.

`python heartbeat_probe.py probe CONFIG` sends every probe each PERIOD_S and prints a line for each reply:
name, start, duration, status. `python heartbeat_probe.py echo` is the reference: a bare asyncio server that
prints its port.
"""

import asyncio
import json
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from typing import Any

PERIOD_S = 0.02
NO_REPLY_S = 180.0
ECHO = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Probe:
    """One question at a time: on a connection that is kept, or on a new one each time."""

    def __init__(self, told: dict[str, Any], selector: selectors.BaseSelector) -> None:
        self.name: str = told["name"]
        self.address = (told["host"], int(told["port"]))
        self.source = (told["source"], 0)
        self.is_kept: bool = told["is_kept"]
        self.requests: Iterator[bytes] = cycle(text.encode() for text in told["requests"])
        self.selector = selector
        self.socket: socket.socket | None = None
        self.request = b""
        self.reply = b""
        self.started: float | None = None  # of the question under way
        self.is_reused = False
        self.pause_s: float = told["pause_s"]
        self.next_at = 0.0

    def start(self) -> None:
        self.request, self.started = next(self.requests), time.monotonic()
        self.is_reused = self.socket is not None
        self._send()

    def _send(self) -> None:
        self.reply = b""
        try:
            if self.socket is None:
                self.socket = socket.socket()
                self.socket.setblocking(False)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.socket.bind(self.source)
                self.socket.connect_ex(self.address)
                self.selector.register(self.socket, selectors.EVENT_WRITE, self)
            else:
                self.socket.send(self.request)
        except OSError as error:
            self._fail(error)

    def ready(self, events: int) -> None:
        assert self.socket is not None
        try:
            if events & selectors.EVENT_WRITE:
                self.socket.send(self.request)
                self.selector.modify(self.socket, selectors.EVENT_READ, self)
                return
            part = self.socket.recv(1 << 20)
        except OSError as error:
            self._fail(error)
            return
        if not part:
            self._fail(None)
            return
        self.reply += part
        head, found, body = self.reply.partition(b"\r\n\r\n")
        if found and len(body) >= _length(head):
            self._end(int(head.split(b" ", 2)[1]), "")

    def look_at_the_clock(self, now: float) -> None:
        if self.started is not None and now - self.started > NO_REPLY_S:
            self._end(0, f"no reply in {NO_REPLY_S:.0f} s")
            self._drop()

    def _fail(self, error: OSError | None) -> None:
        self._drop()
        if self.started is None:
            return  # a kept connection that the server closed while nobody asked
        if self.is_reused and not self.reply:
            self.is_reused = False  # it may have been closed as we asked: once more, on a new one
            self._send()
        else:
            self._end(0, type(error).__name__ if error else "closed without a reply")

    def _end(self, status: int, why: str) -> None:
        assert self.started is not None
        took = time.monotonic() - self.started
        print(json.dumps([self.name, self.started, took, status, why]), flush=True)
        self.started = None
        self.next_at = time.monotonic() + self.pause_s
        if not self.is_kept:
            self._drop()

    def _drop(self) -> None:
        if self.socket is not None:
            if self.socket in self.selector.get_map():
                self.selector.unregister(self.socket)
            self.socket.close()
            self.socket = None


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def probe(told: list[dict[str, Any]]) -> None:
    selector = selectors.DefaultSelector()
    probes = [Probe(each, selector) for each in told]
    next_at = time.monotonic()
    while True:
        now = time.monotonic()
        if now >= next_at:
            next_at = max(next_at + PERIOD_S, now)
            for each in probes:
                if each.started is None and now >= each.next_at:
                    each.start()
                each.look_at_the_clock(now)
        for key, events in selector.select(max(0.0, next_at - time.monotonic())):
            key.data.ready(events)


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(ECHO)


async def echo() -> None:
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "echo":
        asyncio.run(echo())
    else:
        probe(json.loads(sys.argv[2]))
