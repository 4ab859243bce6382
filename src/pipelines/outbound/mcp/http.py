"""HTTP below an MCP session: each connection through the address guard, each answer bounded.

The `mcp` package ends a whole session, and with it the calls of others, when one request fails below it. So
nothing is raised here for what a server does: a request that got no usable answer gets an error of JSON-RPC
under its own id, and its `Exchange` keeps the reason. Redirects, compression and proxies are not used.
"""

import asyncio
import ssl
import time
from contextlib import suppress

import httpcore2
import httpx2

from pipelines.core.text.json_text import JsonObject, loads
from pipelines.outbound.address_guard import AddressPolicy, AddressRefused, GuardedBackend, Resolver
from pipelines.outbound.mcp.exchange import (
    EXCHANGE,
    NETWORK_ERRORS,
    Events,
    Exchange,
    Unusable,
    error_answer,
    forwarded_headers,
    headers_of,
    kind_of,
    read_usable,
    read_whole,
)
from pipelines.outbound.post_once import reason_of
from pipelines.outbound.system_tls import system_tls

CONNECT_S = 10.0
NOTIFYING_S = 5.0  # a notification has no answer to wait for
MOST_CONNECTIONS = 256
IDLE_CONNECTION_S = 4.0  # servers hang up after five: what is sent just then may be lost
MOST_ERROR_BYTES = 64 * 1024
#: Streams of a server's own messages: so many may be opened in a minute, so much may come on one.
MOST_STREAMS = 10
MOST_STREAM_BYTES = 1024 * 1024
_MINUTE_S = 60.0


class GuardedTransport(httpx2.AsyncBaseTransport):
    def __init__(
        self, policy: AddressPolicy, *, resolver: Resolver, tls: ssl.SSLContext | None = None
    ) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or system_tls(),
            max_connections=MOST_CONNECTIONS,
            keepalive_expiry=IDLE_CONNECTION_S,
            network_backend=GuardedBackend(policy, resolver),
        )
        self._notifying: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = EXCHANGE.get()
        if request.method == "GET":
            return await self._listen(request, exchange)
        message = _message(await request.aread()) if request.method == "POST" else {}
        if "method" in message and "id" in message:
            return await self._ask(request, exchange, message)
        return await self._notify(request, message)

    async def aclose(self) -> None:
        for task in self._notifying:
            task.cancel()
        await asyncio.gather(*self._notifying, return_exceptions=True)
        await self._pool.aclose()

    # Requests

    async def _ask(self, request: httpx2.Request, exchange: Exchange, message: JsonObject) -> httpx2.Response:
        if exchange.fault is None or exchange.is_sent:  # else the next one will not get through either
            exchange.fault, exchange.took, exchange.status = None, 0, None
            try:
                answer = await self._send(request, exchange)
                exchange.status = answer.status
                return await read_usable(answer, exchange, message["id"])
            except NETWORK_ERRORS as error:
                exchange.fault = _fault_text(exchange, error)
            except Unusable as error:
                exchange.fault = str(error)
        return error_answer(message["id"], exchange.fault)

    async def _send(self, request: httpx2.Request, exchange: Exchange) -> httpcore2.Response:
        request.headers.update(exchange.headers)
        request.headers["accept-encoding"] = "identity"
        timeouts = {
            "connect": CONNECT_S,
            "pool": CONNECT_S,
            "write": exchange.read_s,
            "read": exchange.read_s,
        }
        url = request.url
        return await self._pool.handle_async_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=await request.aread(),
                extensions={"timeout": timeouts, "trace": exchange.trace},
            )
        )

    # What has no answer

    async def _notify(self, request: httpx2.Request, message: JsonObject) -> httpx2.Response:
        """The package sends nothing else meanwhile: only what has an order is waited for, and briefly."""
        sending = asyncio.create_task(self._drop_answer(request))
        self._notifying.add(sending)
        sending.add_done_callback(self._notifying.discard)
        if message.get("method") == "notifications/initialized" or request.method == "DELETE":
            await asyncio.shield(sending)
        return httpx2.Response(202)

    async def _drop_answer(self, request: httpx2.Request) -> None:
        own = Exchange(most_bytes=MOST_ERROR_BYTES, read_s=NOTIFYING_S)
        with suppress(TimeoutError, Unusable, *NETWORK_ERRORS):
            async with asyncio.timeout(NOTIFYING_S):
                answer = await self._send(request, own)
                await read_whole(answer, own)

    # The server's own messages

    async def _listen(self, request: httpx2.Request, exchange: Exchange) -> httpx2.Response:
        now = time.monotonic()
        while exchange.streams and exchange.streams[0] < now - _MINUTE_S:
            exchange.streams.popleft()
        if len(exchange.streams) >= MOST_STREAMS or exchange.is_over:
            return httpx2.Response(405)
        exchange.streams.append(now)
        own = Exchange(most_bytes=MOST_STREAM_BYTES, read_s=None)
        try:
            answer = await self._send(request, own)
        except NETWORK_ERRORS:
            return httpx2.Response(405)
        headers = headers_of(answer)
        if answer.status != 200 or kind_of(headers) != "text/event-stream" or "content-encoding" in headers:
            await answer.aclose()
            return httpx2.Response(405)
        return httpx2.Response(200, headers=forwarded_headers(headers), stream=Events(answer, own, exchange))


def _fault_text(exchange: Exchange, error: Exception) -> str:
    if isinstance(error, AddressRefused):
        return f"cannot be called: {error}"
    if not exchange.is_sent:
        return f"cannot be reached: {reason_of(error)}"
    if isinstance(error, httpcore2.TimeoutException):
        return f"was silent for {exchange.read_s:g} s"
    if exchange.status is not None:
        return "broke the connection while it answered"
    return "closed the connection before there was an answer"


def _message(body: bytes) -> JsonObject:
    message = loads(body)
    return message if isinstance(message, dict) else {}
