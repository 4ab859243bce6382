"""uvicorn's HTTP protocol with limits on how long a client may take and how much is buffered for it.

Heads and bodies must arrive in time, responses must be read, and pipelined requests wait unread. A slow
client gets 408 if HTTP allows it, and its connection is closed. A timer checks what is due when it fires, so
that a request in one piece needs no timer.
"""

import asyncio
from typing import Any, Literal

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from pipelines.server.http.head_rules import MAX_HEAD_BYTES, TOO_LARGE, HeadProblem, head_problem
from pipelines.server.http.open_connections import ConnectionLimits, OpenConnections, source_of

MAX_AHEAD = 4  # requests that were read before the ones in front of them were answered
#: Data is parsed in pieces, each to the first end of a head behind so many bytes: a piece has few requests.
PIECE_BYTES = 512
LEAST_BYTES_PER_S = 1024
_HEAD_END = b"\r\n\r\n"
_NO_ROOM = HeadProblem(503, "All connections are in use. Try again later.")
_INVALID = HeadProblem(400, "Invalid HTTP request received.")  # uvicorn's words
_LATE_HEAD = HeadProblem(408, "The head of the request did not arrive in time.")
_LATE_BODY = HeadProblem(408, "The body of the request did not arrive in time.")

Owed = Literal["", "first byte", "head", "body"]


class Flow(FlowControl):
    """Flow control that can also hold reading for reasons of its own."""

    is_held = False

    def hold(self) -> None:
        self.is_held = True
        self.pause_reading()

    def release(self) -> None:
        self.is_held = False
        self.resume_reading()

    def resume_reading(self) -> None:
        if not self.is_held:
            super().resume_reading()


class BoundedProtocol(HttpToolsProtocol):
    flow: Flow
    _owed: Owed = ""  # by the client
    _owed_since = 0.0
    _is_unfinished = False  # so counted, since what is owed did not come in one piece
    _body_bytes = 0  # of the request being read
    _seen_bytes = 0  # of these, when the timer last looked
    _head_bytes = 0  # received since the last part of a body, or the last end of a head or message
    _unfed = b""  # sent ahead, not parsed yet
    _is_feeding = False
    _problem: HeadProblem | None = None  # told once all that was asked before is answered
    _looking: asyncio.TimerHandle | None = None
    _draining: asyncio.TimerHandle | None = None
    _unsent = 0

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._open: OpenConnections = config.app.open_connections  # type: ignore[union-attr]
        self._limits: ConnectionLimits = self._open.limits
        self.address = ""

    # Coming and going

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = Flow(transport)
        self.address = source_of(self.client[0]) if self.client else ""
        if not self._open.came(self):
            self._tell(_NO_ROOM)
            return
        self._is_unfinished = True
        self._owe("first byte")

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.gone(self)
        self._open.unfed_bytes -= len(self._unfed)
        self._unfed = b""
        self._body_ends()
        for timer in (self._looking, self._draining):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        return not self._owed and self._is_all_answered() and not self._unfed

    def give_up(self) -> None:
        self.transport.abort()

    def _is_all_answered(self) -> bool:
        return not self.pipeline and (self.cycle is None or self.cycle.response_complete)

    # Data, in pieces

    def data_received(self, data: bytes) -> None:
        if self._problem is not None:
            return
        if self._unfed or self._is_ahead():  # it was on its way as reading was held
            self._keep(data)
        else:
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        """Parses as much as may be read now, and buffers the rest."""
        self._is_feeding = True
        try:
            rest = self._fed(data)
        finally:
            self._is_feeding = False
        if self._problem is not None or self.transport.is_closing():
            return
        if rest:
            self._keep(rest)
        elif self._is_ahead():
            self.flow.hold()
        if self._owed:
            if not self._is_unfinished:
                self._is_unfinished = True
                self._open.begins(self)
        elif self._is_unfinished:
            self._is_unfinished = False
            self._open.finishes(self)

    def _fed(self, data: bytes) -> bytes:
        start, size = 0, len(data)
        while start < size:
            end = size
            if size - start > PIECE_BYTES:
                found = data.find(_HEAD_END, start + PIECE_BYTES - len(_HEAD_END))
                end = found + len(_HEAD_END) if found >= 0 else size
            if not self._is_parsed(data if end - start == size else data[start:end]):
                return b""
            start = end
            if start < size and self._is_ahead():
                return data[start:]
        return b""

    def _is_parsed(self, piece: bytes) -> bool:
        self._head_bytes += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserError:
            if self._problem is None:
                self.logger.warning(_INVALID.message)
            self._refuse(self._problem or _INVALID)
            return False
        except httptools.HttpParserUpgrade:
            self._unsupported_upgrade_warning()
            return False
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(TOO_LARGE)
        return self._problem is None and not self.transport.is_closing()

    def _is_ahead(self) -> bool:
        """Whether too many requests are unanswered, or too many responses unread."""
        ahead = len(self.pipeline)
        if self.flow.write_paused or ahead >= MAX_AHEAD:
            return True
        return ahead > 0 and len(self.cycle.body) > HIGH_WATER_LIMIT

    def _keep(self, data: bytes) -> None:
        self.flow.hold()
        self._unfed += data
        self._open.unfed_bytes += len(data)
        if self._open.has_too_much_unfed:
            self.give_up()

    def _go_on(self) -> None:
        """Continues parsing after a response was sent or read."""
        if self._is_feeding or self._problem is not None or self.transport.is_closing():
            return
        while self._unfed and not self._is_ahead():
            data, self._unfed = self._unfed, b""
            self._open.unfed_bytes -= len(data)
            self._feed(data)
        if self.flow.is_held and not self._unfed and not self._is_ahead() and self._problem is None:
            self.flow.release()

    # What the parser finds

    def on_message_begin(self) -> None:
        self._begin_head()
        self._begin_request()

    def _begin_head(self) -> None:
        self._unset_keepalive_if_required()  # now, not at any byte: line breaks between requests say nothing
        self._owe("head")

    def _begin_request(self) -> None:
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._check_head()
        self._start_request()

    def _start_request(self) -> None:
        super().on_headers_complete()
        self.headers = []  # trailers end up here, and nowhere else

    def _check_head(self) -> None:
        problem = head_problem(self.url, self.headers, self.parser.get_http_version())
        if problem is not None:
            self._problem = problem
            raise ValueError(problem.message)  # what stops the parser; `_is_parsed` tells it
        self._head_bytes = 0
        self._owe("body")

    def on_body(self, body: bytes) -> None:
        self._body_comes(len(body))
        super().on_body(body)

    def _body_comes(self, size: int) -> None:
        self._head_bytes = 0
        self._body_bytes += size
        self._open.body_bytes += size

    def _body_ends(self) -> None:
        self._open.body_bytes -= self._body_bytes
        self._body_bytes = self._seen_bytes = 0

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        self._owed = ""
        self._body_ends()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._owed == "body":  # the rest of a request that was answered before its end
            self._owed_since = self.loop.time()
        if self._problem is not None and self._is_all_answered():
            self._tell(self._problem)
        else:
            self._go_on()

    def timeout_keep_alive_handler(self) -> None:
        if self._owed != "body":  # of a request that was answered before its end: that has its own time
            super().timeout_keep_alive_handler()

    # What takes too long

    def _owe(self, owed: Owed) -> None:
        self._owed = owed
        self._owed_since = self.loop.time()
        if self._looking is None:
            self._looking = self.loop.call_later(self._time_for(owed), self._look)

    def _time_for(self, owed: Owed) -> float:
        if owed == "body":
            return self._limits.stall_s
        return self._limits.head_s if owed == "head" else self._limits.fresh_s

    def _look(self) -> None:
        self._looking = None
        if not self._owed or self._problem is not None:
            return
        if self._waits_for_us():
            self._owed_since = self.loop.time()
        left_s = self._owed_since + self._time_for(self._owed) - self.loop.time()
        if left_s <= 0 and self._owed == "body" and self._is_coming():
            self._owed_since, self._seen_bytes = self.loop.time(), self._body_bytes
            left_s = self._limits.stall_s
        if left_s > 0:
            self._looking = self.loop.call_later(left_s, self._look)
        else:
            self._is_too_late()

    def _waits_for_us(self) -> bool:
        cycle: Any = self.cycle
        return self.flow.read_paused or (
            self._owed == "body" and getattr(cycle, "waiting_for_100_continue", False)
        )

    def _is_coming(self) -> bool:
        """Whether the rest of an answered request is still arriving; it gets its timeout once."""
        is_wanted = not self._is_all_answered()
        return is_wanted and self._body_bytes - self._seen_bytes >= self._limits.stall_s * LEAST_BYTES_PER_S

    def _is_too_late(self) -> None:
        if self._owed == "head":
            self._refuse(_LATE_HEAD)
        elif self._owed == "body" and self._can_send_error():
            self._hang_up_on_application()
            self._tell(_LATE_BODY)
        else:
            self.transport.close()

    def _can_send_error(self) -> bool:
        """Whether an error response can be sent: no response has begun, and none is pending."""
        cycle: Any = self.cycle
        return (
            not self.pipeline
            and not cycle.response_complete
            and not getattr(cycle, "response_started", False)
        )

    def _hang_up_on_application(self) -> None:
        self.cycle.disconnected = True
        self.cycle.message_event.set()

    # What is not read

    def pause_writing(self) -> None:
        super().pause_writing()
        self.flow.hold()
        self._unsent = self.transport.get_write_buffer_size()
        self._open.stalls(self, self._unsent)
        self.watch_draining()

    def watch_draining(self) -> None:
        """Watches that the client reads the pending output in time, also after a close; else drops it."""
        if self._draining is None:
            self._draining = self.loop.call_later(self._limits.stall_s, self._look_at_draining)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._open.drains(self)
        if self._draining is not None:
            self._draining.cancel()
            self._draining = None
        self._go_on()

    def _look_at_draining(self) -> None:
        self._draining = None
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if before - self._unsent < self._limits.stall_s * LEAST_BYTES_PER_S:
            self.give_up()
        else:
            self.watch_draining()

    # What is said to what is no request of ours

    def _refuse(self, problem: HeadProblem) -> None:
        """Refuses the request in its turn, and reads nothing after it."""
        self._problem = problem
        self.flow.hold()
        if self._is_all_answered():
            self._tell(problem)

    def _tell(self, problem: HeadProblem) -> None:
        self._problem = problem
        body = problem.message.encode("ascii")
        headers = [
            *self.server_state.default_headers,
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
        self.transport.write(STATUS_LINE[problem.status] + lines + b"\r\n" + body)
        self.transport.close()
