"""A closed-loop HTTP load generator: N connections, each sending its next request when the last was answered.

Bare sockets under epoll, because a client library, or asyncio's own protocols, would cost more than the
servers measured here. Every response is checked: whole, status 200, and as long as the first one suggests.
"""

import http.client
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

PATIENCE_S = 30  # without any answer for so long, the server is taken for dead
CHUNK = 65_536


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What one measurement gave."""

    connections: int
    calls_per_s: float
    p50_ms: float
    p99_ms: float
    own_cpu: float  #: share of its core the load itself used: near 1 it measures itself

    def as_json(self) -> dict[str, float | int]:
        return {
            "connections": self.connections,
            "calls_per_s": round(self.calls_per_s, 1),
            "p50_ms": round(self.p50_ms, 3),
            "p99_ms": round(self.p99_ms, 3),
            "own_cpu": round(self.own_cpu, 3),
        }


class WrongAnswer(Exception):
    """A server answered something else than what is measured: its figures would mean nothing."""


class _Connection:
    __slots__ = ("buffer", "request", "sent", "socket")

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)  # with a timeout every recv and send would poll first
        self.request = request
        self.buffer = b""
        self.sent = 0.0

    def send(self) -> None:
        self.sent = time.perf_counter()
        if self.socket.send(self.request) != len(self.request):
            raise OSError("a request did not fit an empty socket")


def request(path: str, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answer(port: int, request: bytes) -> tuple[int, bytes]:
    """Status and body of one request, read by the standard library: what all others are held to."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        response = http.client.HTTPResponse(connection, method="POST")
        response.begin()
        return response.status, response.read()


def is_whole(data: bytes, lengths: range) -> bool:
    """Whether a response has come to its end; raises where it is not a 200 of a plausible length."""
    if not data.startswith(b"HTTP/1.1 200 "[: len(data)]):
        raise WrongAnswer(repr(data[:200]))
    head = data.find(b"\r\n\r\n")
    if head < 0:
        return False
    lowered = data[:head].lower()
    place = lowered.find(b"\r\ncontent-length:")
    if place < 0:  # chunked: the marks of the chunks count as body, the range of lengths has room for them
        if not data.endswith(b"\r\n0\r\n\r\n"):
            return False
        length = len(data) - head - 4
    else:
        end = lowered.find(b"\r", place + 17)
        length = int(lowered[place + 17 : end if end > 0 else head])
        if len(data) < head + 4 + length:
            return False
        if len(data) > head + 4 + length:
            raise WrongAnswer(f"more than one answer to one request: {data[-200:]!r}")
    if length not in lengths:
        raise WrongAnswer(f"a body of {length} bytes, not {lengths.start} to {lengths.stop - 1}")
    return True


def measure(port: int, requests: Sequence[bytes], *, connections: int, seconds: float) -> Load:
    """Send for a bounded time; connection k repeats request k (round robin)."""
    lengths = _plausible(port, requests[0])
    opened = [_Connection(port, requests[index % len(requests)]) for index in range(connections)]
    try:
        used = time.process_time()
        began = time.perf_counter()
        times = _exchange(opened, began + seconds, lengths)
        took = time.perf_counter() - began
        used = time.process_time() - used
    finally:
        for connection in opened:
            connection.socket.close()
    times.sort()
    return Load(
        connections=connections,
        calls_per_s=len(times) / took,
        p50_ms=times[len(times) // 2] * 1000,
        p99_ms=times[int(len(times) * 0.99)] * 1000,
        own_cpu=used / took,
    )


def _plausible(port: int, request: bytes) -> range:
    """Half to twice the first answer: counters and timings in it may grow, an error page will not fit."""
    status, body = answer(port, request)
    if status != http.client.OK or not body:
        raise WrongAnswer(f"{status} {body[:200]!r}")
    return range(len(body) // 2, len(body) * 2 + 1)


def _exchange(opened: list[_Connection], until: float, lengths: range) -> list[float]:
    """The time of each call, in the order of the answers."""
    times: list[float] = []
    clock, note = time.perf_counter, times.append
    waiting = {connection.socket.fileno(): connection for connection in opened}
    with select.epoll() as poller:
        for number, connection in waiting.items():
            poller.register(number, select.EPOLLIN)
            connection.send()
        while waiting:
            ready = poller.poll(PATIENCE_S)
            if not ready:
                raise TimeoutError(f"no answer for {PATIENCE_S} s")
            for number, _ in ready:
                connection = waiting[number]
                data = connection.socket.recv(CHUNK)
                now = clock()
                if not data:
                    raise WrongAnswer("the server closed a connection")
                if connection.buffer:
                    data = connection.buffer + data
                if not is_whole(data, lengths):
                    connection.buffer = data
                    continue
                connection.buffer = b""
                note(now - connection.sent)
                if now < until:
                    connection.send()
                else:
                    poller.unregister(number)
                    del waiting[number]
    return times
