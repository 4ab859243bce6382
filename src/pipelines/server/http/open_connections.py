"""Tracks open connections and closes one to make room for another: the one whose client keeps us waiting
most.

No client is refused while another keeps the server waiting. A request that is being answered is never
dropped.
"""

import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_network
from typing import Protocol

from pipelines.server.http.fair_starts import FairStarts

MOST_OPEN_FILES = 65_536  # asked for at start, where the system lets us: a child inherits it
MOST_CONNECTIONS = 10_000  # some 20 kB each, so 200 MB; more clients than one process can answer
LEAST_KEPT_FILES = 256  # for the database, calls to agents, sandboxes and git; a quarter, if that is more
MOST_KEPT_FILES = 4_096
#: A connection just made is not yet slow: a thousand clients that start together are all unfinished.
SETTLING_S = 1.0
IDLE_SHARE = 64  # when idle connections make room, one in so many goes at once: looking for them takes time
MAX_UNREAD_BYTES = 256 * 1024 * 1024  # replies that clients have not taken yet, of all connections
MAX_UNFED_BYTES = 64 * 1024 * 1024  # requests sent ahead of their turn
MAX_BODY_BYTES_HELD = 512 * 1024 * 1024  # bodies of which the end has not come


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionLimits:
    head_s: float = 10.0  # from the first byte of a request to the end of its head
    fresh_s: float = 10.0  # from the connection to its first byte
    #: In so many seconds a body brings, and a reply is read by, at least a kilobyte for each of them.
    stall_s: float = 30.0
    most: int = MOST_CONNECTIONS
    most_unfinished: int = 1_000  # of one address


class OpenConnection(Protocol):
    """The interface of a connection for this module."""

    @property
    def address(self) -> str: ...
    @property
    def is_idle(self) -> bool:
        """Whether no request is pending."""

    def give_up(self) -> None:
        """Closes the connection without sending anything more."""


class OpenConnections:
    def __init__(
        self, limits: ConnectionLimits | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits = limits or ConnectionLimits()
        self._clock = clock
        self._open: dict[OpenConnection, None] = {}  # oldest first, like all of these
        self._unfinished: dict[
            str, dict[OpenConnection, float]
        ] = {}  # by address: since when the client owes us something
        self._unread: dict[OpenConnection, int] = {}
        self._unread_bytes = 0
        self.unfed_bytes = 0
        self.body_bytes = 0
        self.given_up = 0  # to make room, since the start
        self.starts = FairStarts()  # of what is asked on them

    def __len__(self) -> int:
        return len(self._open)

    @property
    def unfinished(self) -> int:
        return sum(map(len, self._unfinished.values()))

    @property
    def has_too_much_unfed(self) -> bool:
        return self.unfed_bytes > MAX_UNFED_BYTES

    def came(self, connection: OpenConnection) -> bool:
        """Adds a connection, making room if needed; False if there is no room."""
        if len(self._open) >= self.limits.most and not self._made_room():
            return False
        self._open[connection] = None
        self.begins(connection)
        return True

    def gone(self, connection: OpenConnection) -> None:
        self._open.pop(connection, None)
        self.finishes(connection)
        self.drains(connection)

    def begins(self, connection: OpenConnection) -> None:
        """The client has begun to send something (first request, head or body) and still owes the rest."""
        now = self._clock()
        theirs = self._unfinished.setdefault(connection.address, {})
        theirs[connection] = now
        while len(theirs) > self.limits.most_unfinished:
            oldest, since = next(iter(theirs.items()))
            if now - since < SETTLING_S:
                break
            self._give_up(oldest)
        while self.body_bytes > MAX_BODY_BYTES_HELD and self._give_up_unfinished():
            pass

    def finishes(self, connection: OpenConnection) -> None:
        theirs = self._unfinished.get(connection.address)
        if theirs is not None:
            theirs.pop(connection, None)
            if not theirs:
                del self._unfinished[connection.address]

    def stalls(self, connection: OpenConnection, unsent: int) -> None:
        """The client does not read its response."""
        self.drains(connection)
        self._unread[connection] = unsent
        self._unread_bytes += unsent
        while self._unread_bytes > MAX_UNREAD_BYTES and len(self._unread) > 1:
            self._give_up(next(iter(self._unread)))

    def drains(self, connection: OpenConnection) -> None:
        self._unread_bytes -= self._unread.pop(connection, 0)

    def _made_room(self) -> bool:
        if self._give_up_unfinished():
            return True
        if self._unread:
            self._give_up(next(iter(self._unread)))
            return True
        idle = [connection for connection in self._open if connection.is_idle]
        for connection in idle[: 1 + self.limits.most // IDLE_SHARE]:
            self._give_up(connection)
        return bool(idle)

    def _give_up_unfinished(self) -> bool:
        """Gives up the oldest unfinished connection of the address with the most of them."""
        if not self._unfinished:
            return False
        theirs = max(self._unfinished.values(), key=len)
        self._give_up(next(iter(theirs)))
        return True

    def _give_up(self, connection: OpenConnection) -> None:
        self.given_up += 1
        self.gone(connection)
        connection.give_up()


def source_of(host: str) -> str:
    """The address of a client for fair limits: an IPv4 address, or a network of IPv6 addresses.

    >>> source_of("2001:db8::7:1")
    '2001:db8::/64'
    """
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ip_network((int(address) >> 64 << 64, 64)))


def open_files() -> int:
    """How many files this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_OPEN_FILES if soft == resource.RLIM_INFINITY else soft


def raise_open_files() -> None:
    """Raises the limit of open files to what the system allows, because the usual one is too low for a
    server."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # macOS says unlimited and means less
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def most_connections(files: int, wanted: int) -> int:
    """The limit of connections: `wanted` (0: a sensible default), but fewer than the limit of open files.

    >>> [most_connections(limit, 0) for limit in (256, 1024, 20_000)]
    [64, 768, 10000]
    """
    kept = min(max(LEAST_KEPT_FILES, files // 4), MOST_KEPT_FILES)
    return min(wanted or MOST_CONNECTIONS, max(files - kept, files // 4))
