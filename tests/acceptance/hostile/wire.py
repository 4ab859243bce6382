"""H9: connections that are begun and not ended, and answers that nobody reads."""

import socket
import time
from contextlib import suppress

from hostile.kind import kind
from hostile.tenant import PROXY, Tenant, tool

HELD_S = 0.5  # how long everything is held open before the attack ends


@kind("H9-heads", seconds=0.8)
def unfinished_heads(tenant: Tenant) -> None:
    """More than a thousand request heads of which the last line never comes, then a byte now and then."""
    _hold_open(tenant, tenant.size(1_100, 4_000), b"POST /api/datasets HTTP/1.1\r\nHost: x\r\nX-A: ")


@kind("H9-silent", seconds=0.8)
def silent_connections(tenant: Tenant) -> None:
    """Connections on which nothing is ever sent."""
    _hold_open(tenant, tenant.size(1_500, 4_000), b"")


@kind("H9-bodies", seconds=0.8)
def slow_bodies(tenant: Tenant) -> None:
    """Heads that promise sixty megabytes, and bodies that drip."""
    promised = tenant.head("POST", "/api/datasets", 60_000_000, Content_Type="application/json")
    _hold_open(tenant, tenant.size(500, 2_000), promised + b'{"rows": [')


@kind("H9-bodies-of-strangers", seconds=0.8)
def slow_bodies_of_strangers(tenant: Tenant) -> None:
    """The same without a key: nobody should keep such a body."""
    head = b"POST /api/datasets HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n"
    _hold_open(tenant, tenant.size(200, 500), head + b"x" * 200_000)


def _hold_open(tenant: Tenant, count: int, first: bytes) -> None:
    held: list[socket.socket] = []
    started = time.monotonic()
    try:
        for _ in range(count):
            with suppress(OSError):
                connection = tenant.connect(timeout_s=2)
                held.append(connection)
                connection.setblocking(False)
                if first:
                    connection.send(first)
            if time.monotonic() > tenant.until + 5:
                break
        tenant.tell(f"{len(held)} connections held", started, 0)
        ends = max(tenant.until, time.monotonic() + HELD_S)
        while time.monotonic() < ends:
            for connection in held[::10]:
                with suppress(OSError):
                    connection.send(b"x" if first else b"")
            time.sleep(0.1)
        tenant.tell(f"{len(held)} connections dripped on", started, 0)
    finally:
        for connection in held:
            connection.close()


class Unread:
    """A connection on which whole requests are sent and nothing is read."""

    def __init__(self, tenant: Tenant, requests: bytes) -> None:
        self.requests = self.left = requests
        self.connection = tenant.connect(timeout_s=2)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.connection.setblocking(False)

    def push(self) -> None:
        with suppress(OSError):
            self.left = self.left[self.connection.send(self.left) :] or self.requests


@kind("H9-unread", seconds=1.5)
def unread_replies(tenant: Tenant) -> None:
    """Pipelined calls with answers of up to a megabyte on connections that are never read."""
    plans = {"long": "pad('x', 4000)", "large": "[pad('x', 90000) for i in range(10)]"}
    run = tenant.run_of(
        [tool(name, {}, simulation=[{"return": {"x": plan}}]) for name, plan in plans.items()]
    )
    calls = [
        tenant.head("POST", f"{run.base}/tools/{name}", 2, run.token, Content_Type="application/json") + b"{}"
        for name in plans
    ]
    _push_unread(tenant, [calls[0] * 500, calls[1] * 100], "unread pipelined calls")


@kind("H9-unread-lists", seconds=1.5)
def unread_lists(tenant: Tenant) -> None:
    """Pipelined requests for an agent of a megabyte, never read."""
    agent_id = tenant.agent([tool("t", {"x": {"type": "string", "description": "d" * 900_000}})])
    one = tenant.head("GET", f"/api/agents/{agent_id}")
    _push_unread(tenant, [one * 200], "unread pipelined requests")


def _push_unread(tenant: Tenant, requests: list[bytes], what: str) -> None:
    started = time.monotonic()
    held = [Unread(tenant, each) for each in requests for _ in range(tenant.size(4, 16))]
    while tenant.has_time:
        for each in held:
            each.push()
        time.sleep(0.005)
    tenant.tell(what, started, 0)
    for each in held:
        each.connection.close()


@kind("H9-garbage")
def garbage(tenant: Tenant) -> None:
    """Bytes that are no HTTP, heads of every wrong shape, tokens that are none."""
    shapes: dict[str, bytes] = {
        "random bytes": tenant.chance.randbytes(60_000),
        "a long line": b"GET /" + b"a" * 400_000,
        "many headers": b"GET /health HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
        "a long header": b"GET /health HTTP/1.1\r\nHost: x\r\nCookie: " + b"a" * 400_000 + b"\r\n\r\n",
        "tiny chunks": b"POST /api/agents HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"1\r\nx\r\n" * 60_000,
        "many slashes": b"GET " + b"/%2e%2e" * 8_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        "a long query": b"GET /api/runs?" + b"limit=1&" * 7_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        "no keys": tenant.head("GET", "/api/runs", token="pk_live_" + "0" * 40) * 300,
        "no tokens": tenant.head("POST", f"{PROXY}/tools/x", 2, "no", Content_Type="application/json") * 300,
        "preludes": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" * 2_000,
    }

    def send(item: tuple[str, bytes]) -> None:
        name, data = item
        started = time.monotonic()
        with suppress(OSError), tenant.connect(timeout_s=5) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
        tenant.tell(name, started, 0)

    while True:
        tenant.together(send, list(tenant.shuffled(shapes)), at_once=6)
        if not tenant.has_time:
            return
