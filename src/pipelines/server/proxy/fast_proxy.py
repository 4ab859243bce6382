"""The fast path of `POST {base}/tools/{tool}`: the connection itself answers, without ASGI scope and task.

It takes only ordinary requests: HTTP/1.1 with keep-alive, a plain path, a small body of known length, a run
in memory, and no earlier request still pending. All others go to ASGI, where `proxy` uses the same functions.
"""

import asyncio
import time
from typing import Any, NamedTuple

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE
from uvicorn.server import ServerState

from pipelines.core.calls.tool_call import Reply, ToolCall
from pipelines.engine.live.live_runs import LiveRun
from pipelines.server.http import access_log
from pipelines.server.http.http_protocol import OneWriteProtocol
from pipelines.server.proxy.fast_request import HeadReader, KnownHeads, LeanRequest
from pipelines.server.proxy.proxy import Proxy
from pipelines.server.proxy.proxy_messages import check_target, source_header, status_of_reply
from pipelines.wire.errors import OdysseyError
from pipelines.wire.names import Source

_SOURCES = {source.value: b"%b: %b\r\n" % source_header(source.value) for source in Source}
_CLOSE = b"connection: close\r\n"


class _HeldHead(NamedTuple):
    """A known head that waits for its body."""

    head: bytes
    request: LeanRequest
    key: str | None
    started: float


class _NoEvent:
    def set(self) -> None:
        """uvicorn wakes the application of a cycle with it. Here, nothing waits for it."""


class _LeanCycle:
    """The tool call of a connection, with the interface that uvicorn expects of its latest request."""

    __slots__ = ("disconnected", "keep_alive", "message_event", "response_complete")

    def __init__(self) -> None:
        self.response_complete = True
        self.disconnected = False
        self.keep_alive = True
        self.message_event = _NoEvent()


class LeanProxyProtocol(OneWriteProtocol):
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._proxy: Proxy = config.app.proxy  # type: ignore[union-attr]
        self._logs_requests: bool = config.app.logs_requests  # type: ignore[union-attr]
        # What these ask for is done by ASGI's side of uvicorn alone.
        self._is_lean = not self.root_path and self.limit_concurrency is None
        self._lean = _LeanCycle()
        self._request: LeanRequest  # the one being read or answered
        self._key: str | None = None
        self._live: LiveRun
        self._started = 0.0
        self._parts: list[bytes] = []
        self._is_reading = False  # its body
        self._is_waiting = False  # for its answer
        self._unheard: asyncio.Future[None] | None = None
        self._reader = HeadReader()
        self._known = KnownHeads()
        self._held: _HeldHead | None = None
        self._is_between = self._is_lean  # the parser stands before a message, and the last one was lean
        self._data: bytes | None = None  # what is being parsed, where it begins with a message
        self._beginnings: dict[int, bytes] = {}  # of responses, by status
        self._default_headers: list[tuple[bytes, bytes]] | None = None
        self._idle_since: float | None = None
        self._idle_timer: asyncio.TimerHandle | None = None

    # From the transport

    def data_received(self, data: bytes) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._owed = ""
            if self._is_answered_again(held.request, data, held.key, held.started):
                return
            data = held.head + data
        elif self._is_between and self._is_known(data):
            return
        if self._is_between:
            self._data = data
        super().data_received(data)
        self._data = None

    def _is_known(self, data: bytes) -> bool:
        """Whether this head was parsed before, so that it need not be parsed again."""
        end = data.find(b"\r\n\r\n") + 4
        known = self._known.find(data[:end])
        if known is None:
            return False
        request, key = known
        if end == len(data) and request.body_size:
            return self._is_held(_HeldHead(data, request, key, time.perf_counter()))
        return self._is_answered_again(request, data[end:], key, time.perf_counter())

    def _is_held(self, held: _HeldHead) -> bool:
        """Keeps a known head whose body arrives separately; False if this path cannot take it."""
        live = self._proxy.live_runs.get(held.request.token_hash)
        if live is None or self._proxy.may_have_to_wait(live) or not self._is_free():
            return False
        self._unset_keepalive_if_required()
        self._held = held
        self._idle_since = None
        if self._looking is None:
            self._looking = self.loop.call_later(self._limits.stall_s, self._look)
        return True

    def _is_answered_again(self, request: LeanRequest, body: bytes, key: str | None, started: float) -> bool:
        """Answers a known request again. A token belongs to one run for ever, so its checked target is still
        right."""
        if len(body) != request.body_size or not self._is_free():
            return False
        live = self._proxy.live_runs.get(request.token_hash)
        if live is None or self._proxy.wait_before_call(live, started):
            return False
        self._unset_keepalive_if_required()
        self._take(request, key, live, started)
        self._ask(body)
        return True

    def shutdown(self) -> None:
        if self._held is not None:  # a request that has begun is answered before the end
            held, self._held = self._held, None
            super().data_received(held.head)
        super().shutdown()

    @property
    def is_idle(self) -> bool:
        return self._held is None and super().is_idle

    def _keep(self, data: bytes) -> None:
        self._is_between = False  # what comes next is not what is parsed next
        super()._keep(data)

    # A body that does not come

    def _look(self) -> None:
        if self._held is not None and not self._owed:
            self._owed = "body"
            self._owed_since = self.loop.time() - (time.perf_counter() - self._held.started)
        super()._look()

    def _can_send_error(self) -> bool:
        return self._held is not None or super()._can_send_error()

    def _hang_up_on_application(self) -> None:
        self._is_reading = False
        if self._held is not None:
            self._held = None
        else:
            super()._hang_up_on_application()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._is_between = self._is_reading = False
        self._lean.disconnected = True
        if self._is_waiting:  # the server still waits for what it does, as it does for a task
            self._unheard = self.loop.create_future()
            self.tasks.add(self._unheard)  # type: ignore[arg-type]
        super().connection_lost(exc)

    # From the parser

    def on_message_begin(self) -> None:
        self._begin_head()
        self._idle_since = None
        self.url = b""
        self.headers = []
        self._is_between = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        started = time.perf_counter()
        self._check_head()
        data, self._data = self._data, None  # only the first head of what came in one piece begins it
        is_ours = self._is_lean and self._is_free()
        request = self._reader.read(self.parser, self.url, self.headers) if is_ours else None
        live = self._run_of(request) if request is not None else None
        if request is None or live is None or self._proxy.wait_before_call(live, started):
            self._hand_over()
            return
        self._is_reading = True
        if data is not None:
            self._known.add(data, request)
        self._take(request, request.idempotency_key, live, started)

    def _hand_over(self) -> None:
        """Hands the request to ASGI, as if uvicorn's own parser had produced it."""
        url, headers = self.url, self.headers
        self._begin_request()
        super().on_url(url)
        for name, value in headers:
            super().on_header(name, value)
        self._start_request()

    def on_body(self, body: bytes) -> None:
        if self._is_reading:
            self._body_comes(len(body))
            self._parts.append(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._is_reading:
            super().on_message_complete()
            return
        self._head_bytes = 0
        self._owed = ""
        self._body_ends()
        self._is_reading = False
        self._is_between = True
        parts, self._parts = self._parts, []
        self._ask(parts[0] if len(parts) == 1 else b"".join(parts))

    # Is it ours?

    def _is_free(self) -> bool:
        """Whether no earlier request is being answered, and the client reads its responses."""
        cycle: Any = self.cycle
        is_answered = cycle is None or cycle.response_complete
        return is_answered and not self.flow.write_paused and not self.transport.is_closing()

    def _run_of(self, request: LeanRequest) -> LiveRun | None:
        """The run of the request; None if it is not in memory or the call is refused, so that ASGI handles
        it."""
        live = self._proxy.live_runs.get(request.token_hash)
        if live is None:
            return None
        try:
            check_target(request.target, live, method="POST", path=request.path)
        except OdysseyError:
            return None
        return live

    # The call

    def _take(self, request: LeanRequest, key: str | None, live: LiveRun, started: float) -> None:
        self._request, self._key, self._live, self._started = request, key, live, started
        lean = self._lean
        lean.response_complete = False
        lean.keep_alive = True
        self._idle_since = None
        self.cycle = lean  # type: ignore[assignment]

    def _ask(self, body: bytes) -> None:
        request = self._request
        call = ToolCall(request.tool_name, body, request.actor_id, self._key, self._started)
        self._is_waiting = True
        if self._live.is_forgotten:  # while its body was read
            task = self.loop.create_task(self._ask_when_loaded(call))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        else:
            self._answer(call)

    async def _ask_when_loaded(self, call: ToolCall) -> None:
        try:
            self._live = await self._proxy.loaded(self._request.token_hash)
        except Exception as error:  # noqa: BLE001 - told as those of ASGI are
            self._answered(error)
        else:
            self._answer(call)

    def _answer(self, call: ToolCall) -> None:
        try:
            self._proxy.answerer.answer(self._live, call, self._answered)
        except Exception as error:
            if not self._is_waiting:  # it was answered, and that is where it failed
                raise
            self._answered(error)

    def _answered(self, outcome: Reply | Exception) -> None:
        self._is_waiting = False
        if self._unheard is not None:
            self.tasks.discard(self._unheard)
        if isinstance(outcome, Exception):
            refusal = self._proxy.refusal(outcome, self._live, self._request.path)
            more = b"".join(b"%b: %b\r\n" % pair for pair in refusal.more)
            self._respond(refusal.status, refusal.body, refusal.source or "", more)
            return
        self._proxy.tally.answered(outcome.source, self._started)
        if outcome.fault is None:
            self._respond(status_of_reply(outcome), outcome.body, outcome.source)
            return
        if self._logs_requests:
            self._log_request(None)
        if outcome.fault.kind == "reset":
            self.reset()
        else:
            self.close_silently_after(outcome.fault.after_ms / 1000)

    def _respond(self, status: int, body: bytes, source: str, more: bytes = b"") -> None:
        lean = self._lean
        if self._logs_requests:
            self._log_request(status)
        if lean.disconnected:
            return
        lean.response_complete = True
        end = more if lean.keep_alive else more + _CLOSE
        head = b"%b%d\r\n%b%b\r\n" % (self._beginning(status), len(body), _SOURCES[source], end)
        if not self.transport.is_closing():
            self.transport.write_now(head + body)
        if self.access_log:
            self._log(status)
        if not lean.keep_alive:
            self.transport.close()
        if self.pipeline or self.flow.read_paused:
            self.on_response_complete()
        else:
            self.server_state.total_requests += 1
            self._be_idle()

    def _log_request(self, status: int | None) -> None:
        access_log.request("POST", self._request.path, status, self._started, self._live.id)

    def _log(self, status: int) -> None:
        client = "{}:{}".format(*self.client) if self.client else ""
        self.access_logger.info('%s - "%s %s HTTP/%s" %d', client, "POST", self._request.path, "1.1", status)

    def _beginning(self, status: int) -> bytes:
        """The beginning of a response, up to its length. It changes every second with uvicorn's `date`
        header."""
        default_headers = self.server_state.default_headers
        if default_headers is not self._default_headers:
            self._default_headers = default_headers
            self._beginnings.clear()
        beginning = self._beginnings.get(status)
        if beginning is None:
            lines = b"".join(b"%b: %b\r\n" % pair for pair in default_headers)
            beginning = STATUS_LINE[status] + lines + b"content-type: application/json\r\ncontent-length: "
            self._beginnings[status] = beginning
        return beginning

    # Between calls: one timer that looks when it fires, instead of one for each call that is cancelled again

    def _be_idle(self) -> None:
        self._idle_since = self.loop.time()
        if self._idle_timer is None:
            self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def _close_if_idle(self) -> None:
        self._idle_timer = None
        if self._idle_since is None:
            return
        left_s = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left_s > 0:
            self._idle_timer = self.loop.call_later(left_s, self._close_if_idle)
        else:
            self.timeout_keep_alive_handler()
