"""The per-run proxy as plain ASGI, and the reference for the path that `fast_proxy` shortens.

    POST {base}/tools/{tool}         one tool call
    GET  {base}/tools                the run's tools
    POST {base}/traces/{event_type}  what the agent reports about itself
    POST {base}/mcp                  the same tools for MCP clients (see `mcp`)

`base` is /api/odyssey-proxy, or /api/odyssey-proxy/runs/{jti} as handed out with a run.
"""

import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple, TypeAlias

from pipelines.core.calls.tool_call import Reply, ToolCall
from pipelines.core.text.json_text import dumps
from pipelines.core.tools.failure_rules import WireFault
from pipelines.core.tools.mcp_messages import McpError, header_values
from pipelines.engine.calls.answer_tool_call import MAX_REDOS, ToolCallAnswerer
from pipelines.engine.calls.record_trace_event import record_trace_event
from pipelines.engine.live.live_runs import LiveRun
from pipelines.engine.platform import Platform
from pipelines.server.http.access_log import RUN
from pipelines.server.http.http_protocol import CONNECTION, OneWriteProtocol
from pipelines.server.proxy.mcp import Faulted, McpEndpoint, told_error
from pipelines.server.proxy.proxy_messages import (
    SentHeaders,
    Target,
    WireReply,
    check_target,
    hash_of,
    refuse_with,
    reply_with,
    sent_headers,
    source_header,
    target_of,
)
from pipelines.server.proxy.rate_window import WINDOW_S, Bound, Pace, wait_before
from pipelines.server.proxy.tally import Tally
from pipelines.storage.database.database import SequenceTaken
from pipelines.wire.errors import (
    InternalError,
    InvalidRunToken,
    OdysseyError,
    RateLimited,
    RunNotActive,
    StorageUnavailable,
)
from pipelines.wire.names import MAX_BODY_BYTES

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

log = logging.getLogger(__name__)
QUICK_PER_S = (
    50  # requests of one sandbox, after a burst: some milliseconds of the loop's time in each second
)
EVENTS_PER_CALL = 10  # an agent may report several events per call

_NO_TOKEN = hash_of(b"")
_JSON = (b"content-type", b"application/json")


class _Gone(Exception):
    """The caller disconnected before the request was complete, so nothing happens."""


class _ProxyRequest(NamedTuple):
    """A request with a valid token and target."""

    scope: Scope
    receive: Receive
    send: Send
    headers: SentHeaders
    token_hash: str
    target: Target
    started: float


class Proxy:
    def __init__(self, platform: Platform, answerer: ToolCallAnswerer, *, rate_limit: int) -> None:
        self.live_runs = platform.live_runs
        self.answerer = answerer
        self._append = platform.database.append
        self._now = platform.now
        self._rate_limit = rate_limit
        self.tally = Tally()
        self._mcp = McpEndpoint(
            self._answered,
            wait_before_call=lambda live: self.wait_before_call(live, time.perf_counter()),
            is_active=self._is_active,
            turns=self.live_runs.turns,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        live: LiveRun | None = None
        try:
            headers = sent_headers(scope["headers"])
            token_hash = hash_of(headers.token)
            target = target_of(scope["path"])
            # Check the token first, so that an unknown caller learns nothing about paths, tools or methods.
            live = self.live_runs.get(token_hash) or await self.loaded(token_hash)
            scope[RUN] = live.id
            check_target(target, live, method=scope["method"], path=scope["path"])
            request = _ProxyRequest(scope, receive, send, headers, token_hash, target, started)
            if target.section == "mcp":
                await self._mcp_message(live, request)
            elif target.name is None:
                if not self._is_active(live):
                    raise RunNotActive
                await _send(send, _tools_of(live))
            elif target.section == "tools":
                await self._tool_call(live, request)
            else:
                await self._trace_event(live, request)
        except _Gone:
            return
        except Exception as error:  # noqa: BLE001 - the last handler
            await _send(send, self.refusal(error, live, scope["path"]))

    async def loaded(self, token_hash: str) -> LiveRun:
        """Loads the run of a token into memory; tries again until it is loaded or does not exist."""
        live = await self.live_runs.loaded(token_hash) if token_hash != _NO_TOKEN else None
        if live is None:
            raise InvalidRunToken
        return live

    def give_up_asking(self) -> None:
        """Answers calls that wait for an external reply with an unknown outcome."""
        self.live_runs.abandon_all()

    def wait_before_call(self, live: LiveRun, now: float) -> int:
        """0 if the call may proceed (and is counted), else the seconds to wait."""
        return wait_before(live.recent_calls, now, self._rate_limit) if self._rate_limit else 0

    def pace(self) -> Pace:
        """The pace of one caller: as many requests per minute as its calls and events may be, refused ones
        included, with a limited burst."""
        a_minute, at_once = self._rate_limit * (1 + EVENTS_PER_CALL), self._rate_limit * 2
        if not self._rate_limit:
            return Pace()
        return Pace(Bound(a_minute), Bound(at_once, at_once / max(QUICK_PER_S, a_minute / WINDOW_S)))

    def may_have_to_wait(self, live: LiveRun) -> bool:
        """Whether the rate limit might refuse the next call. Counts nothing."""
        return self._rate_limit != 0 and len(live.recent_calls) >= self._rate_limit

    def refusal(self, error: Exception, live: LiveRun | None, path: str) -> WireReply:
        """The reply to an exception. An internal error is logged here, without details in the reply."""
        self.tally.refusals[error.code if isinstance(error, OdysseyError) else InternalError.code] += 1
        if isinstance(error, OdysseyError):
            return refuse_with(error)
        log.error("proxy call failed: %s", path, exc_info=error)
        if live is not None:  # the in-memory changes of the call are not in the log
            self.live_runs.forget({live.id})
        return refuse_with(InternalError())

    async def _tool_call(self, live: LiveRun, asked: _ProxyRequest) -> None:
        wait_s = self.wait_before_call(live, asked.started)
        if wait_s:
            self.tally.refusals[RateLimited.code] += 1
            self.live_runs.rate_limited.count_call(live.id)
            await _send(asked.send, refuse_with(RateLimited(), wait_s))
            return
        body = await _read_body(asked.receive)
        if live.is_forgotten:  # while its body was read
            live = await self.loaded(asked.token_hash)
        actor_id, key = asked.headers.actor_id, asked.headers.idempotency_key
        assert asked.target.name is not None
        call = ToolCall(asked.target.name, body, actor_id, key, asked.started)
        reply = await self._answered(live, call)
        if reply.fault is not None:
            await _fail(asked, reply.fault, reply)
        else:
            await _send(asked.send, reply_with(reply))

    def _is_active(self, live: LiveRun) -> bool:
        return live.is_active and self.live_runs.steady() < live.ends_at

    async def _answered(self, live: LiveRun, call: ToolCall) -> Reply:
        reply = await self.answerer.answer_later(live, call)
        self.tally.answered(reply.source, call.started)
        return reply

    async def _mcp_message(self, live: LiveRun, asked: _ProxyRequest) -> None:
        body = await _read_body(asked.receive)
        sent = header_values(asked.scope["headers"])
        try:
            message = await self._mcp.read(live, body)
            if live.is_forgotten:  # while its body was read
                live = await self.loaded(asked.token_hash)
            await _send(asked.send, await self._mcp.answer(live, message, sent, asked.headers, asked.started))
        except McpError as error:
            await _send(asked.send, told_error(error))
        except Faulted as faulted:
            await _fail(asked, faulted.fault, faulted.reply)

    async def _trace_event(self, live: LiveRun, asked: _ProxyRequest) -> None:
        wait_s = wait_before(live.recent_events, asked.started, self._rate_limit * EVENTS_PER_CALL)
        if wait_s:
            self.tally.refusals[RateLimited.code] += 1
            self.live_runs.rate_limited.count_event(live.id)
            error = RateLimited("Too many trace events. Wait and try again.")
            await _send(asked.send, refuse_with(error, wait_s))
            return
        body = await _read_body(asked.receive)
        await self.live_runs.turns.wait(live.org_id)
        if live.is_forgotten:
            live = await self.loaded(asked.token_hash)
        actor_id = asked.headers.actor_id
        assert asked.target.name is not None
        for _ in range(MAX_REDOS):
            try:
                accepted = await record_trace_event(
                    live,
                    asked.target.name,
                    body,
                    actor_id=actor_id,
                    append=self._append,
                    now=self._now(),
                    steady=self.live_runs.steady(),
                )
            except SequenceTaken:
                live = await self.loaded(asked.token_hash)
            else:
                await _send(asked.send, WireReply(200, dumps(accepted), None))
                return
        raise StorageUnavailable


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body; None if it exceeds the limit."""
    parts: list[bytes] = []
    size, more = 0, True
    while more and size <= MAX_BODY_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        part: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        if not more and not parts:
            return part if len(part) <= MAX_BODY_BYTES else None
        parts.append(part)
        size += len(part)
    return b"".join(parts) if size <= MAX_BODY_BYTES else None


def _tools_of(live: LiveRun) -> WireReply:
    """The tools as the agent may see them: without their simulation."""
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        | ({"output_schema": tool.output_schema} if tool.output_schema is not None else {})
        for tool in live.toolbox.tools.values()
    ]
    return WireReply(200, dumps({"items": tools, "next_cursor": None}), None)


async def _fail(asked: _ProxyRequest, fault: WireFault, reply: Reply) -> None:
    """Makes the connection fail; if the server does not support this, replies that it would have failed."""
    connection: OneWriteProtocol | None = asked.scope.get(CONNECTION)
    if connection is None:
        await _send(asked.send, reply_with(reply))
    elif fault.kind == "reset":
        connection.reset()
        await connection.lost()
    else:
        connection.close_silently_after(fault.after_ms / 1000)
        await connection.lost()


async def _send(send: Send, reply: WireReply) -> None:
    length = (b"content-length", str(len(reply.body)).encode())
    source = (source_header(reply.source),) if reply.source is not None else ()
    headers = [_JSON, length, *source, *reply.more]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
