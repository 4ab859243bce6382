"""uvicorn's HTTP protocol, with head and body of a response in one write, and with connection faults on
demand.

uvicorn writes head and body separately. For a small reply, the second system call costs about a tenth of a
tool call, measured on loopback with 32 connections.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from pipelines.server.http.bounded_protocol import BoundedProtocol

#: Where an application finds the protocol of its connection in the scope: ASGI has no word for it.
CONNECTION = "pipelines.connection"
_RESET_ON_CLOSE = struct.pack(
    "ii", 1, 0
)  # linger, for no time: what is unsent is dropped, the peer sees a reset


class OneWriteProtocol(BoundedProtocol):
    transport: "GatheringTransport"  # type: ignore[assignment]
    _is_stopping = False
    _silence: asyncio.TimerHandle | None = None  # until a connection is closed without a reply
    _lost: asyncio.Future[None] | None = None
    _answering: Any = None  # the cycle whose application runs; `cycle` is that of the latest request

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        gathering = GatheringTransport(transport, self.loop, self.watch_draining)
        super().connection_made(gathering)  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._silence is not None:
            self._silence.cancel()
            self._give_up()
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(None)

    def _begin_request(self) -> None:
        super()._begin_request()
        self.scope[CONNECTION] = self  # type: ignore[literal-required]

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answering = cycle
        self._open.starts.start(self.address, partial(self._start_unless_gone, cycle, app))

    def _start_unless_gone(self, cycle: Any, app: Any) -> None:
        if not cycle.disconnected:
            super()._start_asgi_task(cycle, app)

    def shutdown(self) -> None:
        self._is_stopping = True
        if self._silence is not None:
            self._close_silently()
        else:
            super().shutdown()

    def on_response_complete(self) -> None:
        self.transport.send_now()
        super().on_response_complete()

    # Faults of the wire: whoever asked is answered by them, so no reply follows

    def close_silently_after(self, delay_s: float) -> None:
        """Holds the connection, then closes it; earlier if the client disconnects or the server stops."""
        if self._is_stopping:
            self._close_silently()
        elif self in self.connections:
            self._silence = self.loop.call_later(delay_s, self._close_silently)

    def reset(self) -> None:
        """Resets the connection, like a crashed host. A Unix socket has no reset, so its peer sees an end."""
        connection = self.transport.get_extra_info("socket") if self in self.connections else None
        if connection is not None and connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._give_up()
        self.transport.abort()

    def lost(self) -> "asyncio.Future[None]":
        """A future that is done when the connection is lost."""
        if self._lost is None:
            self._lost = self.loop.create_future()
            if self not in self.connections:  # it is gone already
                self._lost.set_result(None)
        return self._lost

    def _close_silently(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self._give_up()
        self.transport.close()

    def _give_up(self) -> None:
        """Marks the response as not needed, so that an application that sends none has not failed."""
        if self._answering is not None:
            self._answering.disconnected = True


class GatheringTransport:
    """A transport that sends all writes of one turn of the event loop together."""

    __slots__ = ("_loop", "_on_rest", "_parts", "_transport", "is_closing")

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, on_rest: Callable[[], None]
    ) -> None:
        """Calls `on_rest` when it is closed with pending output."""
        self._transport = transport
        self._loop = loop
        self._on_rest = on_rest
        self._parts: list[bytes] = []
        self.is_closing = transport.is_closing  # asked on every call

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def write_now(self, data: bytes) -> None:
        """Sends a whole response now, after earlier writes."""
        self._flush()
        if not self._transport.is_closing():
            self._transport.write(data)

    def send_now(self) -> None:
        """Flushes: the response is complete, so waiting for more writes gains nothing."""
        self._flush()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():  # nobody is there to read it: uvloop would raise
            self._transport.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        self._flush()
        if not self._transport.is_closing() and self._transport.get_write_buffer_size():
            self._on_rest()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
