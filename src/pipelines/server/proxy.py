"""The per-run proxy: plain ASGI, because every microsecond here is paid on every tool call.

    POST {base}/tools/{tool}         one tool call
    GET  {base}/tools                the run's tools
    POST {base}/traces/{event_type}  what the agent reports about itself

`base` is /api/odyssey-proxy, or /api/odyssey-proxy/runs/{jti} as handed out with a run.
"""

import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple, TypeAlias

from pipelines.core.json_text import dumps
from pipelines.core.tool_call import ToolCall
from pipelines.engine.answer_tool_call import MAX_REDOS, ToolCallAnswerer
from pipelines.engine.live_runs import LiveRun
from pipelines.engine.platform import Platform
from pipelines.engine.record_trace_event import record_trace_event
from pipelines.server.errors import reply_to, status_of
from pipelines.server.rate_window import wait_before
from pipelines.storage.database import SequenceTaken
from pipelines.wire.errors import (
    InternalError,
    InvalidRunToken,
    MethodNotAllowed,
    NotFound,
    OdysseyError,
    RateLimited,
    StorageUnavailable,
)
from pipelines.wire.names import (
    HEADER_ACTOR_ID,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_RUN_TOKEN,
    HEADER_SOURCE,
    MAX_BODY_BYTES,
    PROXY_BASE,
    Source,
)

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

log = logging.getLogger(__name__)
EVENTS_PER_CALL = 10  # an agent may report several things about each call it makes
MAX_IDEMPOTENCY_KEY = 255

_RUN_TOKEN = HEADER_RUN_TOKEN.lower().encode()
_ACTOR = HEADER_ACTOR_ID.lower().encode()
_IDEMPOTENCY = HEADER_IDEMPOTENCY_KEY.lower().encode()
_SOURCES = {source.value: (HEADER_SOURCE.lower().encode(), source.value.encode()) for source in Source}
_NO_TOKEN = hashlib.sha256(b"").hexdigest()
_JSON = (b"content-type", b"application/json")


class _Gone(Exception):
    """The caller hung up before the request was whole: nothing was asked, nothing happens."""


class _Target(NamedTuple):
    jti: str | None
    section: str  # tools, traces
    name: str | None


class _Headers(NamedTuple):
    token_hash: str
    actor_id: str | None
    idempotency_key: str | None


class Proxy:
    def __init__(self, platform: Platform, answerer: ToolCallAnswerer, *, rate_limit: int) -> None:
        self._answerer = answerer
        self._live_runs = platform.live_runs
        self._append = platform.database.append
        self._now = platform.now
        self._rate_limit = rate_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        live: LiveRun | None = None
        try:
            headers = _headers(scope["headers"])
            target = _target(scope["path"])
            # The token comes first: an unknown caller learns nothing about paths, tools or methods.
            live = self._live_runs.get(headers.token_hash) or await self._loaded(headers.token_hash)
            _check(scope, target, live)
            if target.name is None:
                await _send_tools(send, live)
            elif target.section == "tools":
                await self._tool_call(live, headers, target.name, receive, send, started)
            else:
                await self._trace_event(live, headers, target.name, receive, send, started)
        except OdysseyError as error:
            await _send_error(send, error)
        except _Gone:
            return
        except Exception:  # the last handler: logged here, told to nobody
            log.exception("proxy call failed: %s", scope["path"])
            if live is not None:  # what the call did to it in memory is not in its log
                self._live_runs.forget({live.id})
            await _send_error(send, InternalError())

    def give_up_asking(self) -> None:
        """Whoever waits for what a call has asked is told that its outcome is not known."""
        self._live_runs.abandon_all()

    async def _loaded(self, token_hash: str) -> LiveRun:
        """The run of a token that is not in memory; asked again until it is there, or nowhere."""
        live = await self._live_runs.loaded(token_hash) if token_hash != _NO_TOKEN else None
        if live is None:
            raise InvalidRunToken
        return live

    async def _tool_call(
        self, live: LiveRun, headers: _Headers, name: str, receive: Receive, send: Send, started: float
    ) -> None:
        if self._rate_limit:
            wait_s = wait_before(live.recent_calls, started, self._rate_limit)
            if wait_s:
                await _send_error(send, RateLimited(), retry_after_s=wait_s)
                return
        body = await _read_body(receive)
        if live.is_forgotten:  # while its body was read
            live = await self._loaded(headers.token_hash)
        call = ToolCall(name, body, headers.actor_id, headers.idempotency_key, started)
        reply = await self._answerer.answer_later(live, call)
        status = reply.http_status or (status_of(type(reply.error)) if reply.error is not None else 200)
        await _send(send, status, reply.body, _SOURCES[reply.source])

    async def _trace_event(
        self, live: LiveRun, headers: _Headers, event_type: str, receive: Receive, send: Send, started: float
    ) -> None:
        wait_s = wait_before(live.recent_events, started, self._rate_limit * EVENTS_PER_CALL)
        if wait_s:
            await _send_error(send, RateLimited("Too many trace events; wait and try again."), wait_s)
            return
        body = await _read_body(receive)
        if live.is_forgotten:
            live = await self._loaded(headers.token_hash)
        for _ in range(MAX_REDOS):
            try:
                accepted = await record_trace_event(
                    live, event_type, body, actor_id=headers.actor_id, append=self._append, now=self._now()
                )
            except SequenceTaken:
                live = await self._loaded(headers.token_hash)
            else:
                await _send(send, 200, dumps(accepted))
                return
        raise StorageUnavailable


def _check(scope: Scope, target: _Target, live: LiveRun) -> None:
    if target.jti is not None and target.jti != live.jti:
        raise InvalidRunToken("This token belongs to another run than the URL names.")
    if target.section not in ("tools", "traces"):
        raise NotFound("The proxy has tools/{tool_name} and traces/{event_type}.")
    wanted = "GET" if target.name is None and target.section == "tools" else "POST"
    if scope["method"] != wanted or (target.name is None and target.section == "traces"):
        raise MethodNotAllowed(f"{scope['path'][:200]} does not take {scope['method']}.")


def _target(path: str) -> _Target:
    parts = path[len(PROXY_BASE) :].split("/", 4)
    if len(parts) > 3 and parts[1] == "runs":
        return _Target(parts[2], parts[3], parts[4] if len(parts) > 4 else None)
    _, section, *name = parts if len(parts) > 1 else ("", "")
    return _Target(None, section, "/".join(name) if name else None)


def _headers(pairs: list[tuple[bytes, bytes]]) -> _Headers:
    token = bearer = b""
    actor_id = idempotency_key = None
    for name, value in pairs:
        if name == b"authorization":
            if value[:7].lower() == b"bearer ":
                bearer = value[7:].strip()
        elif name == _RUN_TOKEN:
            token = value.strip()
        elif name == _ACTOR:
            actor_id = value.decode("latin-1")
        elif name == _IDEMPOTENCY and value:
            is_long = len(value) > MAX_IDEMPOTENCY_KEY
            idempotency_key = hashlib.sha256(value).hexdigest() if is_long else value.decode("latin-1")
    return _Headers(hashlib.sha256(bearer or token).hexdigest(), actor_id, idempotency_key)


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body, or None once it is past the limit; what is past it is not kept."""
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


async def _send_tools(send: Send, live: LiveRun) -> None:
    """What an agent may know of its tools: not how they are simulated."""
    shown = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        | ({"output_schema": tool.output_schema} if tool.output_schema is not None else {})
        for tool in live.toolbox.tools.values()
    ]
    await _send(send, 200, dumps({"items": shown, "next_cursor": None}))


async def _send_error(send: Send, error: OdysseyError, retry_after_s: int = 1) -> None:
    reply = reply_to(error, retry_after_s=retry_after_s)
    extra = [
        (name.encode(), value.encode()) for name, value in reply.headers.items() if name != "content-type"
    ]
    await _send(send, reply.status, reply.body, _SOURCES[Source.ERROR], *extra)


async def _send(send: Send, status: int, body: bytes, *extra: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, length, *extra]})
    await send({"type": "http.response.body", "body": body})
