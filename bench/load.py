"""A closed-loop HTTP load generator: N connections, each sending its next request when the last was answered.

Bare asyncio protocols, because a client library would cost more than the servers measured here.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Load:
    """What one measurement gave."""

    connections: int
    calls_per_s: float
    p50_ms: float
    p99_ms: float

    def as_json(self) -> dict[str, float | int]:
        return {
            "connections": self.connections,
            "calls_per_s": round(self.calls_per_s, 1),
            "p50_ms": round(self.p50_ms, 3),
            "p99_ms": round(self.p99_ms, 3),
        }


class _Caller(asyncio.Protocol):
    def __init__(self, request: bytes, until: float, times: list[float], done: asyncio.Future[int]) -> None:
        self._request = request
        self._until = until
        self._times = times
        self._done = done
        self._buffer = b""
        self._sent = 0.0
        self._errors = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0 or not self._is_whole(head):
            return
        now = time.perf_counter()
        self._times.append(now - self._sent)
        self._errors += self._buffer[9:10] != b"2"
        self._buffer = b""
        if now < self._until:
            self._send()
        else:
            self._finish()

    def _is_whole(self, head: int) -> bool:
        lowered = self._buffer[:head].lower()
        place = lowered.find(b"content-length:")
        if place < 0:  # chunked
            return self._buffer.endswith(b"0\r\n\r\n")
        length = int(lowered[place + 15 : (lowered + b"\r").find(b"\r", place)])
        return len(self._buffer) >= head + 4 + length

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._errors += 1
            self._finish()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self._request)

    def _finish(self) -> None:
        if not self._done.done():
            self._done.set_result(self._errors)
        self._transport.close()


def request(path: str, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def measure(port: int, requests: Sequence[bytes], *, connections: int, seconds: float) -> Load:
    """Send for a bounded time; connection k repeats request k (round robin)."""
    loop = asyncio.get_running_loop()
    times: list[float] = []
    done = [loop.create_future() for _ in range(connections)]
    started = time.perf_counter()
    for index in range(connections):
        await loop.create_connection(
            lambda index=index: _Caller(  # type: ignore[misc]
                requests[index % len(requests)], started + seconds, times, done[index]
            ),
            "127.0.0.1",
            port,
        )
    async with asyncio.timeout(seconds + 30):
        errors = sum(await asyncio.gather(*done))
    took = time.perf_counter() - started
    if errors:
        raise RuntimeError(f"{errors} of {len(times)} calls to port {port} did not answer 2xx")
    ordered = sorted(times)
    return Load(
        connections=connections,
        calls_per_s=len(times) / took,
        p50_ms=ordered[len(ordered) // 2] * 1000,
        p99_ms=ordered[int(len(ordered) * 0.99)] * 1000,
    )
