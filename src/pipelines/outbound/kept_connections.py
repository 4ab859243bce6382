"""Many requests to one place over connections that are kept between them.

A request is sent once. Only where a kept connection turns out to have been closed before any of the answer
came, and asking twice does what asking once does (GET, PUT, …), is it sent again, on a new connection.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpcore2
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream
from httpx2 import URL

from pipelines.outbound.post_once import (
    CONNECT_TIMEOUT_S,
    Answer,
    NoAnswer,
    Progress,
    Trouble,
    answer_of,
    failed,
    is_sendable,
    port_of,
    request_bytes,
    timed_out,
)
from pipelines.outbound.read_answer import BrokenOff, IncomingAnswer, NotHttp, TooMuchAround

KEPT_S = 4.0  # between two requests: common servers (uvicorn, Node) close after five
MOST_KEPT = 32  # without a request; more may be in use at once
WITH_LENGTH = ("POST", "PUT", "PATCH")  # even of no body: some servers answer 411 without (RFC 9110, 8.6)
IDEMPOTENT = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"))  # RFC 9110, 9.2.2


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptRequest:
    method: str
    target: str  # path and query as they are sent
    headers: Mapping[str, str] = field(repr=False)  # with secrets among them
    body: bytes | None = field(default=None, repr=False)
    timeout_s: float  # for all of it
    most_bytes: int  # of the answer; reading stops there


@dataclass(kw_only=True, slots=True)
class _Connection:
    plain: AsyncNetworkStream
    stream: AsyncNetworkStream  # with TLS, where there is
    is_used: bool = False  # it has answered before
    free_since: float = 0.0

    def is_closed(self) -> bool:
        """By the other side, which sends nothing between requests but its goodbye."""
        return bool(self.plain.get_extra_info("is_readable"))


class _ClosedMeanwhile(Exception):
    """A kept connection that ended before any of an answer came."""


class KeptConnections:
    """To one scheme, host and port. `close` ends those that wait; those in use end with their request."""

    def __init__(
        self,
        origin: URL,
        *,
        network: AsyncNetworkBackend,
        tls: ssl.SSLContext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._origin = origin
        self._network = network
        self._tls = tls
        self._clock = clock
        self._free: list[_Connection] = []
        self._is_closed = False

    async def ask(self, asked: KeptRequest) -> Answer | NoAnswer:
        """Never raises for what the other side does; cancelling it closes the connection."""
        headers = asked.headers.items()
        if not asked.target.isascii() or any(not is_sendable(name, value) for name, value in headers):
            # Found here: a library would quote the value, a secret perhaps, in its log.
            detail = "a header cannot be sent: check the auth header's name and value"
            return NoAnswer(trouble=Trouble.UNSENDABLE, detail=detail, reached="no")
        progress = Progress(asked.most_bytes)
        try:
            async with asyncio.timeout(asked.timeout_s):
                await self._exchange(asked, progress)
        except (TimeoutError, httpcore2.TimeoutException):
            progress.answer.close()
            return timed_out(asked.timeout_s, self._origin, progress)
        # OSError: TLS breaks raw.
        except (httpcore2.NetworkError, OSError, NotHttp, BrokenOff, TooMuchAround) as error:
            progress.answer.close()
            return failed(self._origin, progress, error)
        except BaseException:  # also where it is cancelled
            progress.answer.close()
            raise
        return answer_of(progress)

    async def close(self) -> None:
        self._is_closed = True
        while self._free:
            await self._free.pop().plain.aclose()

    async def _exchange(self, asked: KeptRequest, progress: Progress) -> None:
        connection = await self._take_kept()
        if connection is not None:
            try:
                return await self._ask_over(connection, asked, progress)
            except _ClosedMeanwhile as error:
                if asked.method not in IDEMPOTENT:
                    raise BrokenOff from error
                progress.is_sending = False
        return await self._ask_over(await self._connect(asked.timeout_s), asked, progress)

    async def _take_kept(self) -> _Connection | None:
        """The one that was used last; those that have waited too long or were closed are let go."""
        while self._free:
            connection = self._free.pop()
            if self._clock() - connection.free_since < KEPT_S and not connection.is_closed():
                return connection
            await connection.plain.aclose()
        return None

    async def _connect(self, timeout_s: float) -> _Connection:
        host = self._origin.raw_host.decode("ascii")
        timeout_s = min(CONNECT_TIMEOUT_S, timeout_s)
        plain = await self._network.connect_tcp(host, port_of(self._origin), timeout=timeout_s)
        stream = plain
        if self._origin.scheme == "https":
            try:
                stream = await plain.start_tls(self._tls, server_hostname=host, timeout=timeout_s)
            except BaseException:
                await plain.aclose()
                raise
        return _Connection(plain=plain, stream=stream)

    async def _ask_over(self, connection: _Connection, asked: KeptRequest, progress: Progress) -> None:
        is_kept = False
        try:
            is_kept = await self._send_and_read(connection, asked, progress)
        finally:
            if is_kept and not self._is_closed and len(self._free) < MOST_KEPT:
                connection.is_used, connection.free_since = True, self._clock()
                self._free.append(connection)
            else:
                await connection.plain.aclose()

    async def _send_and_read(self, connection: _Connection, asked: KeptRequest, progress: Progress) -> bool:
        """Whether the connection can be used again."""
        progress.answer = answer = IncomingAnswer(
            asked.most_bytes, asked.most_bytes, has_no_body=asked.method == "HEAD", may_go_on=True
        )
        host = self._origin.netloc.decode("ascii")
        body = b"" if asked.body is None and asked.method in WITH_LENGTH else asked.body
        written = request_bytes(asked.method, asked.target, host, asked.headers, body)
        progress.is_sending = True
        is_sent = True
        try:
            await connection.stream.write(written)
        except httpcore2.WriteError:  # it may have answered before it had read everything
            is_sent = False
        try:
            await answer.read(connection.stream)
        except (httpcore2.ReadError, OSError, BrokenOff) as error:
            if connection.is_used and not answer.has_begun:
                raise _ClosedMeanwhile from error
            raise
        return is_sent and answer.lets_go_on
