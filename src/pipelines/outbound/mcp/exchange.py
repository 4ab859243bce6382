"""One request to an MCP server over HTTP: how far it came, and reading its answer within bounds."""

import asyncio
import codecs
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

import httpcore2
import httpx2

from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, dumps, loads
from pipelines.core.tools.mcp_answers import quote
from pipelines.outbound.mcp.large_results import LARGE_BYTES, EventCutter, lighten, lighten_event
from pipelines.processes.aside import aside as one_at_a_time

MOST_MESSAGES = 5_000  # in one stream: each costs a fraction of a millisecond of the event loop

#: What goes wrong between the two sides; OSError: TLS breaks raw.
NETWORK_ERRORS = (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, OSError)
ENDS_WITHIN_S, MOST_REST_BYTES = 0.05, 64 * 1024  # a stream whose answer has come
READ_ASIDE_BYTES = 64 * 1024
_ANY_ORG = 0  # a session does not know whose it is
_FAILED = -32603  # JSON-RPC's internal error
P = ParamSpec("P")
T = TypeVar("T")


async def aside(size: int, read: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What is large and hard to read is read beside the loop: others are served meanwhile."""
    if size <= READ_ASIDE_BYTES:
        return read(*given, **named)
    return await in_thread(read, *given, **named)


async def in_thread(read: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    return await one_at_a_time(_ANY_ORG, read, *given, **named)


class Exchange:
    """One request of ours, or the opening of a session: how far it came, and why it got no usable answer."""

    __slots__ = (
        "__weakref__",
        "fault",
        "headers",
        "is_over",
        "is_sent",
        "light_from",
        "most_bytes",
        "read_s",
        "result",
        "status",
        "streams",
        "took",
    )

    def __init__(
        self,
        *,
        most_bytes: int,
        read_s: float | None,
        headers: Mapping[str, str] | None = None,
        light_from: int = LARGE_BYTES,
    ) -> None:
        self.most_bytes = most_bytes
        self.light_from = light_from  # a message of more bytes reaches the package without its result
        self.read_s = read_s  # the longest silence; None: as long as the session lives
        self.headers = dict(headers or {})  # more of them for this one
        self.is_sent = False  # whether a byte of the request has gone out
        self.fault: str | None = (
            None  # why there is no usable answer, as the rest of a sentence about the server
        )
        self.status: int | None = None  # the last that came
        self.took = 0  # bytes of the answer
        self.result: JsonObject | None = None  # taken out of a large answer (see `mcp_large`)
        self.is_over = False  # nobody waits for it any more
        self.streams: deque[float] = deque()  # when it opened one

    async def trace(self, event: str, _info: Mapping[str, Any]) -> None:
        if event.endswith("send_request_headers.started"):
            self.is_sent = True


#: Whose request it is: the package hands the context of the caller on to where it is sent.
EXCHANGE: ContextVar[Exchange] = ContextVar("EXCHANGE")


class Unusable(Exception):
    """What came is no answer; the message is the rest of a sentence about the server."""


class Events(httpx2.AsyncByteStream):
    """A stream of events that ends, whatever happens to it, and never raises. `asker`: whose answer may come
    in it."""

    def __init__(self, answer: httpcore2.Response, exchange: Exchange, asker: Exchange) -> None:
        self._answer = answer
        self._pieces = _pieces(answer)
        self._exchange = exchange
        self._asker = asker
        self._messages = 0
        self._utf8 = codecs.getincrementaldecoder("utf-8")()  # the package would replace what it cannot read

    async def __aiter__(self) -> AsyncIterator[bytes]:
        exchange, cutter = self._exchange, EventCutter(self._exchange.light_from)
        try:
            async for piece in self._pieces:
                exchange.took += len(piece)
                exchange.fault = self._complaint(piece)
                if exchange.fault is not None or exchange.is_over:
                    return
                for events, is_large in cutter.add(piece):
                    yield await self._light(events) if is_large else events
            yield cutter.rest()
        except NETWORK_ERRORS:
            exchange.fault = "broke the connection while it answered"

    async def _light(self, event: bytes) -> bytes:
        light, result = await in_thread(lighten_event, event)
        self._asker.result = self._asker.result if result is None else result
        return light

    def _complaint(self, piece: bytes) -> str | None:
        self._messages += piece.count(b"data:")
        if self._exchange.took > self._exchange.most_bytes:
            return _too_large(self._exchange)
        if self._messages > MOST_MESSAGES:
            return f"sent over {MOST_MESSAGES:,} messages in place of an answer"
        try:
            self._utf8.decode(piece)
        except UnicodeDecodeError:
            return "answered with bytes that are not UTF-8 text"
        return None

    async def aclose(self) -> None:
        """Behind an answer the stream mostly ends at once; if its end is read, the connection can be kept."""
        try:
            if self._exchange.fault is None:
                with suppress(TimeoutError, *NETWORK_ERRORS):
                    async with asyncio.timeout(ENDS_WITHIN_S):
                        await self._rest()
        finally:
            with suppress(*NETWORK_ERRORS):
                await self._pieces.aclose()
                await self._answer.aclose()

    async def _rest(self) -> None:
        room_left = MOST_REST_BYTES
        async for piece in self._pieces:
            room_left -= len(piece)
            if room_left < 0:
                return


async def _pieces(answer: httpcore2.Response) -> AsyncGenerator[bytes, None]:
    async for piece in answer.aiter_stream():
        yield piece


async def read_whole(answer: httpcore2.Response, exchange: Exchange) -> bytes:
    found = bytearray()
    try:
        async with aclosing(_pieces(answer)) as pieces:
            async for piece in pieces:
                found += piece
                exchange.took += len(piece)
                if exchange.took > exchange.most_bytes:
                    raise Unusable(_too_large(exchange))
    finally:
        await answer.aclose()
    return bytes(found)


async def read_usable(answer: httpcore2.Response, exchange: Exchange, request_id: Json) -> httpx2.Response:
    """The answer to a request as the package may have it; raises Unusable."""
    headers = headers_of(answer)
    kind = kind_of(headers)
    complaint = _complaint(answer.status, kind, headers)
    if complaint is not None:
        await answer.aclose()
        raise Unusable(complaint)
    if answer.status < 300 and kind == "text/event-stream":
        return httpx2.Response(
            answer.status, headers=forwarded_headers(headers), stream=Events(answer, exchange, exchange)
        )
    body = await read_whole(answer, exchange)
    if answer.status < 300:
        body, exchange.result = await aside(len(body), _check_message, body, request_id, exchange.light_from)
    elif not _is_rpc_error(body):
        raise Unusable(f"answered with status {answer.status}{_hint(answer.status)}")
    return httpx2.Response(answer.status, headers=forwarded_headers(headers), content=body)


def _complaint(status: int, kind: str, headers: Mapping[str, str]) -> str | None:
    if 300 <= status < 400:
        return f"answered with a redirect (status {status}), which is not followed"
    if headers.get("content-encoding", "identity") != "identity":
        return "answered with compressed content, though none was asked for"
    if status == 202:
        return "answered with status 202 instead of an answer"
    if status < 300 and kind not in ("application/json", "text/event-stream"):
        return f"answered with {quote(kind, 60) or 'no content type'} instead of JSON or a stream of events"
    return None


def _check_message(body: bytes, request_id: Json, light_from: int) -> tuple[bytes, JsonObject | None]:
    """The answer, and what was taken out of a large one. The package would wait on for an answer where one
    has come under another id."""
    try:
        message = loads(body)
    except InvalidJson as error:
        raise Unusable(f"answered with a body that {error.predicate}") from None
    if not isinstance(message, dict) or not {"result", "error"} & message.keys():
        raise Unusable("answered with JSON that is not a JSON-RPC answer")
    found = message.get("id")
    if found is None and "error" in message:  # it could not read the request, and so no id
        message["id"] = request_id
        body = dumps(message)
    elif found != request_id and str(found) != str(request_id):
        raise Unusable("answered with another id than the request's")
    if len(body) <= light_from:
        return body, None
    light = lighten(message)
    return dumps(light.message), light.result


def _is_rpc_error(body: bytes) -> bool:
    try:
        message = loads(body)
    except InvalidJson:
        return False
    return isinstance(message, dict) and isinstance(message.get("error"), dict)


def _hint(status: int) -> str:
    if status in (401, 403):
        return ": it refuses the endpoint's credential"
    if status in (404, 405):
        return ": there seems to be no MCP server at this path"
    return ""


def _too_large(exchange: Exchange) -> str:
    return f"answered with more than {exchange.most_bytes:,} bytes"


def error_answer(request_id: Json, fault: str | None) -> httpx2.Response:
    error: JsonObject = {"code": _FAILED, "message": fault or "no answer"}
    body = dumps({"jsonrpc": "2.0", "id": request_id, "error": error})
    return httpx2.Response(200, headers={"content-type": "application/json"}, content=body)


def headers_of(answer: httpcore2.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}


def forwarded_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """What of an answer's headers the package reads."""
    kept = {name: headers[name] for name in ("mcp-session-id",) if name in headers}
    return kept | {"content-type": kind_of(headers)}


def kind_of(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()
