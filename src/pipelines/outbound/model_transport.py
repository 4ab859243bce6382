"""HTTP to the models that the platform asks: each connection through the address guard, each answer bounded.

What goes wrong down here is said as what it means for the question (`ModelGaveNothing`), whatever package
sent it: that goes through a provider's client as the cause of its own error. Redirects, compression and the
proxies of the environment are not used.
"""

import asyncio
import re
import ssl
from itertools import islice

import httpcore2
import httpx2

from pipelines.core.models.model_question import Failure, ModelCallFailed
from pipelines.outbound.address_guard import (
    AddressPolicy,
    AddressRefused,
    GuardedBackend,
    Resolver,
    system_resolver,
)
from pipelines.outbound.post_once import reason_of
from pipelines.outbound.system_tls import system_tls

MOST_BYTES = 1024 * 1024  # of an answer, everything around its text included
MOST_PARTS = 4_000  # strings, brackets and commas outside of them; answers have some hundred
#: A string that is not closed ends with the body, so that none is looked through twice.
_PARTS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)
CONNECT_S = 10.0
MOST_CONNECTIONS = 1_000
MOST_KEPT = 64
IDLE_S = 4.0  # servers hang up after five
_CLOSED = ("content-encoding", "content-length", "transfer-encoding", "connection")


class ModelTransport(httpx2.AsyncBaseTransport):
    """One for all models of a kind: connections are shared, and belong to nobody."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        resolver: Resolver = system_resolver,
        tls: ssl.SSLContext | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._network = GuardedBackend(policy, resolver)
        self._tls = tls
        self._most_bytes = most_bytes
        self._opened: httpcore2.AsyncConnectionPool | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            answer = await self._send(request)
        except AddressRefused as refused:
            raise ModelCallFailed(Failure.UNAVAILABLE, f"{refused}; {refused.hint}", tokens=0) from refused
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout) as error:
            message = f"it cannot be reached: {reason_of(error)}"
            raise ModelCallFailed(Failure.UNAVAILABLE, message, tokens=0, is_worth_retry=True) from error
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.TimeoutException,
            OSError,
        ) as error:
            raise _broken_connection() from error
        try:
            body = await self._read_whole(answer)
        finally:
            await asyncio.shield(answer.aclose())
        headers = [(name, value) for name, value in answer.headers if name.decode().lower() not in _CLOSED]
        return httpx2.Response(answer.status, headers=headers, content=body)

    async def aclose(self) -> None:
        if self._opened is not None:
            await self._opened.aclose()

    @property
    def _pool(self) -> httpcore2.AsyncConnectionPool:
        if self._opened is None:
            self._opened = httpcore2.AsyncConnectionPool(
                ssl_context=self._tls or system_tls(),
                max_connections=MOST_CONNECTIONS,
                max_keepalive_connections=MOST_KEPT,
                keepalive_expiry=IDLE_S,
                network_backend=self._network,
            )
        return self._opened

    async def _send(self, request: httpx2.Request) -> httpcore2.Response:
        request.headers["accept-encoding"] = "identity"
        url = request.url
        return await self._pool.handle_async_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=await request.aread(),
                extensions={"timeout": {"connect": CONNECT_S, "pool": CONNECT_S}},
            )
        )

    async def _read_whole(self, answer: httpcore2.Response) -> bytes:
        """Reading stops at the limit, before anything is made of it."""
        if 300 <= answer.status < 400:
            message = f"it answered with a redirect (status {answer.status}), which is not followed"
            raise ModelCallFailed(Failure.UNAVAILABLE, message, tokens=0)
        coded = [value for name, value in answer.headers if name.lower() == b"content-encoding"]
        if coded and coded != [b"identity"]:
            message = "it answered with compressed content, though none was asked for"
            raise ModelCallFailed(Failure.UNAVAILABLE, message)
        found = bytearray()
        try:
            async for part in answer.aiter_stream():
                found += part
                if len(found) > self._most_bytes:
                    message = f"its answer is over {self._most_bytes >> 10:,} KiB"
                    raise ModelCallFailed(Failure.TOO_LARGE, message)
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.TimeoutException,
            OSError,
        ) as error:
            raise _broken_connection() from error
        _check_parts(found)
        return bytes(found)


def _check_parts(body: bytearray) -> None:
    """A provider's package makes objects of all that an answer has, on the event loop, and complains of each
    that is wrong: 340,000 empty ones took it 6 s. What a model says is one text, however long."""
    parts = islice(_PARTS.finditer(body), MOST_PARTS + 1)
    if sum(1 for _ in parts) > MOST_PARTS:
        message = f"its answer has over {MOST_PARTS:,} parts around its text"
        raise ModelCallFailed(Failure.TOO_LARGE, message)


def _broken_connection() -> ModelCallFailed:
    """Whether it was answered, and billed, nobody knows."""
    message = "the connection broke before there was a whole answer"
    return ModelCallFailed(Failure.UNAVAILABLE, message, is_worth_retry=True)
