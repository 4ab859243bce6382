"""One request to a model over one fresh connection, its answer handed on as it comes.

As in `post_once`: nothing is kept, retried or followed, and the connection is made by the address guard.
Here the answer is not gathered: whoever asked reads it part by part, and decides how much of it to take.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpcore2
import httptools
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

from pipelines.outbound.address_guard import AddressRefused
from pipelines.outbound.post_once import CONNECT_TIMEOUT_S, DEFAULT_PORTS
from pipelines.outbound.read_answer import MAX_FRAMING_BYTES, MAX_HEAD_BYTES, MAX_HEADERS, READ_BYTES
from pipelines.outbound.system_tls import system_tls


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRequest:
    method: str
    base_url: str  # checked when it was listed
    target: str  # what comes behind it: a path, perhaps a query, both checked
    headers: tuple[tuple[str, str], ...] = field(repr=False)  # with a key among them
    body: bytes = field(repr=False)


class UpstreamFailed(Exception):
    """There is no answer, or no whole one. The message says why, without host, key or content."""


class StreamedAnswer:
    """An answer whose head is here."""

    def __init__(self, stream: AsyncNetworkStream) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []  # lower-case names
        self._stream = stream
        self._fields: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self._around = 0  # bytes that were no content
        self._is_head = True
        self._is_whole = False
        self._parser = httptools.HttpResponseParser(self)

    async def read_head(self) -> None:
        while self._is_head:
            await self._read_more()

    async def parts(self) -> AsyncGenerator[bytes]:
        """The body, as it comes."""
        while True:
            parts, self._parts = self._parts, []
            if parts:
                yield parts[0] if len(parts) == 1 else b"".join(parts)
            if self._is_whole:
                return
            await self._read_more()

    def header(self, name: str) -> str:
        return next((value for known, value in self.headers if known == name), "")

    async def _read_more(self) -> None:
        data = await self._stream.read(READ_BYTES)
        if not data:
            self._end()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self._is_whole:  # what comes behind an answer is nobody's
                raise UpstreamFailed("what came back is not HTTP") from None
        self._around += len(data) - sum(map(len, self._parts))
        if self._around > (MAX_HEAD_BYTES if self._is_head else MAX_FRAMING_BYTES):
            raise UpstreamFailed("the answer has more framing than content")

    def _end(self) -> None:
        framed = {"content-length", "transfer-encoding"} & {name for name, _ in self.headers}
        if self._is_head:
            raise UpstreamFailed("the connection was closed before there was an answer")
        if framed:
            raise UpstreamFailed("the connection broke while the answer was read")
        self._is_whole = True

    # What the parser finds

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._fields) < MAX_HEADERS:  # those of trailers, too
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or not self._is_head:  # a hint; the answer is still to come
            return
        self.status = status
        self.headers = [(n.decode("latin-1").lower(), v.decode("latin-1")) for n, v in self._fields]
        self._is_head = False

    def on_body(self, body: bytes) -> None:
        if not self._is_head and not self._is_whole:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        if self._is_head:
            self._fields.clear()
        else:
            self._is_whole = True


class ModelClient:
    """Holds no connections and nothing of any call."""

    def __init__(self, network: AsyncNetworkBackend, tls: ssl.SSLContext | None = None) -> None:
        self._network = network
        self._tls = system_tls() if tls is None else tls
        self._tls.set_alpn_protocols(["http/1.1"])

    @asynccontextmanager
    async def open_answer(self, request: ModelRequest) -> AsyncIterator[StreamedAnswer]:
        """The answer, open while this is held. UpstreamFailed for all that the other side does."""
        try:
            plain = await self._connected(request)
        except AddressRefused as refused:
            raise UpstreamFailed("its address is refused by this server") from refused
        except (httpcore2.NetworkError, httpcore2.TimeoutException, OSError) as error:
            raise UpstreamFailed(_why(error)) from error
        try:
            answer = StreamedAnswer(plain)
            await plain.write(_head(request))
            with suppress(httpcore2.WriteError):  # it may have answered before it had read everything
                await plain.write(request.body)
            await answer.read_head()
            yield answer
        except (httpcore2.NetworkError, httpcore2.TimeoutException, OSError) as error:
            raise UpstreamFailed("the connection broke") from error
        finally:
            with suppress(httpcore2.NetworkError, OSError):
                await plain.aclose()

    async def _connected(self, request: ModelRequest) -> AsyncNetworkStream:
        parts = urlsplit(request.base_url)
        host = parts.hostname or ""
        port = parts.port or DEFAULT_PORTS[parts.scheme]
        plain = await self._network.connect_tcp(host, port, timeout=CONNECT_TIMEOUT_S)
        if parts.scheme == "http":
            return plain
        try:
            return await plain.start_tls(self._tls, server_hostname=host, timeout=CONNECT_TIMEOUT_S)
        except BaseException:
            with suppress(httpcore2.NetworkError, OSError):
                await asyncio.shield(plain.aclose())
            raise


def _head(request: ModelRequest) -> bytes:
    parts = urlsplit(request.base_url)
    lines = [f"{request.method} {parts.path}{request.target} HTTP/1.1", f"Host: {parts.netloc}"]
    lines += [f"{name}: {value}" for name, value in request.headers]
    lines += [f"Content-Length: {len(request.body)}"] if request.body or request.method == "POST" else []
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("ascii")


def _why(error: BaseException) -> str:
    if isinstance(error, httpcore2.TimeoutException):
        return f"no connection within {CONNECT_TIMEOUT_S:g} s"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "its certificate is not valid"
        cause = cause.__cause__
    return "no connection to it can be made"
