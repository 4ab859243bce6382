"""The way out of a sandbox for the functions of a code endpoint: a small HTTP proxy on the connections that
they open, to the hosts of `allow_hosts` and nowhere else.

A name is compared with the list, resolved once, its addresses judged, and the connection made to a judged one
(`address_guard`). `CONNECT` is a tunnel; a plain `http://` request is sent on with its head written anew, one
for each connection, so that nothing behind it can be taken for a second request with another host.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from httpcore2 import AsyncNetworkStream, ConnectError, ConnectTimeout, NetworkError, TimeoutException

from pipelines.core.code.allowed_hosts import AllowedHost, is_allowed, normalize_host
from pipelines.outbound.address_guard import AddressRefused, GuardedBackend

LARGEST_HEAD = 32 * 1024
HEAD_WITHIN_S = 10.0
CONNECTS_WITHIN_S = 10.0
IDLE_S = 30.0  # a tunnel that carries nothing for so long is closed; a call ends sooner as a rule
MOST_BYTES = 64 * 1024 * 1024  # both ways together, of one call: what fits in its memory eight times
MOST_CONNECTIONS = 256  # of one call, one after the other; how many at a time is the door's to bound
MOST_NOTES = 10
_PIECE = 64 * 1024

_LINE = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]{1,8192}) HTTP/1\.[01]")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}):[ \t]*([\x20-\x7e\x80-\xff\t]*)")
_ABSOLUTE = re.compile(rb"http://([^/?#\s]{1,300})(/[^\s#]*|\?[^\s#]*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"([A-Za-z0-9_.-]{1,254})(?::([0-9]{1,5}))?", re.ASCII)
_LENGTH = re.compile(rb"[0-9]{1,12}")
#: Between two neighbours only (RFC 9110, 7.6.1), and what is for us.
_HOP_HEADERS = frozenset(
    b"connection proxy-connection keep-alive te trailer upgrade proxy-authorization proxy-authenticate"
    b" host".split()
)


@dataclass(kw_only=True, slots=True)
class Allowance:
    """What one call may still carry, and what it was refused: for the trace."""

    bytes_left: int = MOST_BYTES
    connections_left: int = MOST_CONNECTIONS
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        if text not in self.notes and len(self.notes) < MOST_NOTES:
            self.notes.append(text)

    def spend(self, size: int) -> None:
        self.bytes_left -= size
        if self.bytes_left < 0:
            self.note(f"a connection was closed: the call carried over {MOST_BYTES // 1024 // 1024} MiB")
            raise _AllowanceSpent


class _AllowanceSpent(Exception):
    """The call has carried all it may."""


class _Refused(Exception):
    """What is answered instead of a connection."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class _ProxyRequest(NamedTuple):
    """One request's head: where to connect, and what to send there first (nothing for a tunnel)."""

    host: str
    port: int
    head: bytes
    body_bytes: int
    is_tunnel: bool


class EgressProxy:
    """For one endpoint; `serve` of each call speaks on its connections."""

    def __init__(self, hosts: Sequence[AllowedHost], backend: GuardedBackend) -> None:
        self._hosts = tuple(hosts)
        self._backend = backend

    def for_call(self, allowance: Allowance) -> Callable[[socket.socket], Awaitable[None]]:
        return lambda connection: self._serve(connection, allowance)

    async def _serve(self, connection: socket.socket, allowance: Allowance) -> None:
        try:
            request, rest = await self._read_request(connection)
            upstream = await self._connect(request, allowance)
        except _Refused as refused:
            if refused.status == 403:
                allowance.note(f"refused: {refused.reason}")
            await _answer(connection, refused)
            return
        except (_ClientGone, OSError):
            return
        try:
            with suppress(_AllowanceSpent, OSError, NetworkError, TimeoutException):
                await _relay(connection, upstream, request, rest, allowance)
        finally:
            await upstream.aclose()

    async def _read_request(self, connection: socket.socket) -> tuple[_ProxyRequest, bytes]:
        try:
            async with asyncio.timeout(HEAD_WITHIN_S):
                head, rest = await _receive_head(connection)
        except TimeoutError:
            raise _Refused(408, "no request came") from None
        return _parse_head(head), rest

    async def _connect(self, asked: _ProxyRequest, allowance: Allowance) -> AsyncNetworkStream:
        host = normalize_host(asked.host)
        if host is None or not is_allowed(self._hosts, host, asked.port):
            raise _Refused(403, f"{asked.host[:200]}:{asked.port} is not in allow_hosts")
        allowance.connections_left -= 1
        if allowance.connections_left < 0:
            raise _Refused(403, f"the call opened more than {MOST_CONNECTIONS} connections")
        try:
            return await self._backend.connect_tcp(host, asked.port, timeout=CONNECTS_WITHIN_S)
        except AddressRefused as error:
            raise _Refused(403, str(error)) from None
        except (ConnectError, ConnectTimeout, OSError) as error:
            allowance.note(f"no connection to {host}:{asked.port}: {error}")
            raise _Refused(502, f"no connection to {host}:{asked.port}") from None


class _ClientGone(Exception):
    """The other end closed before it had asked."""


async def _receive_head(connection: socket.socket) -> tuple[bytes, bytes]:
    loop = asyncio.get_running_loop()
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        if len(data) > LARGEST_HEAD:
            raise _Refused(431, f"the head of the request is over {LARGEST_HEAD // 1024} KiB")
        part = await loop.sock_recv(connection, _PIECE)
        if not part:
            raise _ClientGone
        data += part
    return bytes(data[:end]), bytes(data[end + 4 :])


def _parse_head(head: bytes) -> _ProxyRequest:
    """Strictly: what two programs could read in two ways is refused."""
    first, *lines = head.split(b"\r\n")
    line = _LINE.fullmatch(first)
    headers = [_HEADER.fullmatch(each) for each in lines]
    if line is None or not all(headers):
        raise _Refused(400, "the request cannot be read")
    fields = [(match[1].lower(), match[2].strip()) for match in headers if match is not None]
    if line[1] == b"CONNECT":
        host, port = _authority(line[2], None)
        return _ProxyRequest(host, port, b"", 0, is_tunnel=True)
    absolute = _ABSOLUTE.fullmatch(line[2])
    if absolute is None:
        raise _Refused(400, "only CONNECT and http:// URLs are forwarded")
    host, port = _authority(absolute[1], 80)
    path = absolute[2] or b"/"
    path = b"/" + path if path.startswith(b"?") else path
    sent = [b"%s %s HTTP/1.1" % (line[1], path), b"Host: " + absolute[1], b"Connection: close"]
    dropped = _dropped_headers(fields)
    sent += [name + b": " + value for name, value in fields if name not in dropped]
    return _ProxyRequest(host, port, b"\r\n".join(sent) + b"\r\n\r\n", _body_bytes(fields), is_tunnel=False)


def _authority(raw: bytes, usual_port: int | None) -> tuple[str, int]:
    text = raw.decode("latin-1")
    match = _AUTHORITY.fullmatch(text)
    if match is None:  # an address of IPv6, a user name
        raise _Refused(403, f"{text[:200]} is not in allow_hosts")
    port = int(match[2]) if match[2] else usual_port
    if port is None or not 0 < port < 65_536:
        raise _Refused(400, "the request names no port")
    return match[1], port


def _dropped_headers(fields: Sequence[tuple[bytes, bytes]]) -> frozenset[bytes]:
    named = b",".join(value for name, value in fields if name == b"connection")
    return _HOP_HEADERS | {name.strip().lower() for name in named.split(b",")} - {b"content-length"}


def _body_bytes(fields: Sequence[tuple[bytes, bytes]]) -> int:
    lengths = [value for name, value in fields if name == b"content-length"]
    if any(name == b"transfer-encoding" for name, _ in fields):
        raise _Refused(411, "send http:// requests with Content-Length, not in chunks")
    if len(lengths) > 1 or any(_LENGTH.fullmatch(length) is None for length in lengths):
        raise _Refused(400, "the request must have exactly one Content-Length")
    return int(lengths[0]) if lengths else 0


async def _answer(connection: socket.socket, refused: _Refused) -> None:
    body = f"{refused.reason}\n".encode("ascii", "replace")
    reason = re.sub(rb"[^\x20-\x7e]", b"?", refused.reason.encode("ascii", "replace"))
    head = b"HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    with suppress(OSError):
        await asyncio.get_running_loop().sock_sendall(
            connection, head % (refused.status, reason, len(body)) + body
        )


async def _relay(
    connection: socket.socket,
    upstream: AsyncNetworkStream,
    asked: _ProxyRequest,
    rest: bytes,
    allowance: Allowance,
) -> None:
    """Both ways until one is over. What the sandbox sends behind a plain request's body is dropped."""
    loop = asyncio.get_running_loop()
    if asked.is_tunnel:
        await loop.sock_sendall(connection, b"HTTP/1.1 200 Connection established\r\n\r\n")
    first = rest if asked.is_tunnel else asked.head + rest[: asked.body_bytes]
    if first:
        allowance.spend(len(first))
        await upstream.write(first, timeout=IDLE_S)
    more = None if asked.is_tunnel else asked.body_bytes - len(rest)
    activity = _Activity()
    ways = [
        asyncio.ensure_future(_send_upstream(connection, upstream, more, allowance, activity)),
        asyncio.ensure_future(_send_back(connection, upstream, allowance, activity)),
        asyncio.ensure_future(activity.stopped()),
    ]
    try:
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in done:
            way.result()
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


class _Activity:
    """Whether anything was carried lately, either way: one may be silent for as long as the other is not."""

    def __init__(self) -> None:
        self._count = 0

    def note_traffic(self) -> None:
        self._count += 1

    async def stopped(self) -> None:
        seen = -1
        while seen != self._count:
            seen = self._count
            await asyncio.sleep(IDLE_S)


async def _send_upstream(
    connection: socket.socket,
    upstream: AsyncNetworkStream,
    more: int | None,
    allowance: Allowance,
    activity: _Activity,
) -> None:
    """`more` bytes, or all that come. Having sent a plain request it waits for the answer to end this."""
    loop = asyncio.get_running_loop()
    while more is None or more > 0:
        data = await loop.sock_recv(connection, _PIECE if more is None else min(_PIECE, more))
        if not data:
            return
        allowance.spend(len(data))
        await upstream.write(data, timeout=IDLE_S)
        activity.note_traffic()
        more = None if more is None else more - len(data)
    while await loop.sock_recv(connection, _PIECE):
        pass  # dropped: it would be a second request


async def _send_back(
    connection: socket.socket, upstream: AsyncNetworkStream, allowance: Allowance, activity: _Activity
) -> None:
    loop = asyncio.get_running_loop()
    while data := await upstream.read(_PIECE):
        allowance.spend(len(data))
        await loop.sock_sendall(connection, data)
        activity.note_traffic()
