"""The way out of a sandbox: to allowed hosts at judged addresses, and nowhere else, however it is asked."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.code.allowed_hosts import read_allow_hosts
from pipelines.outbound import egress_proxy
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend
from pipelines.outbound.egress_proxy import Allowance, EgressProxy

pytestmark = pytest.mark.anyio
PRIVATE_TOO = AddressPolicy(allow_private=True)


class Names:
    """A resolver that remembers what it was asked, and may answer otherwise each time."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class Upstream:
    """Answers each connection with what it was sent until its head was whole, and keeps that."""

    def __init__(self, reply: bytes = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello") -> None:
        self.heads: list[bytes] = []
        self.rest: list[bytes] = []
        self.reply = reply
        self.is_over = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(self.reply)
            writer.write_eof()
            await writer.drain()
            self.rest.append(await reader.read())
        writer.close()
        self.is_over.set()


@asynccontextmanager
async def listening(upstream: Upstream) -> AsyncIterator[int]:
    server = await asyncio.start_server(upstream, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def asked(
    proxy: EgressProxy, sent: bytes, allowance: Allowance | None = None, *, then: bytes = b""
) -> bytes:
    """All that comes back for what a sandbox sends on one connection."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    serving = asyncio.ensure_future(proxy.for_call(allowance or Allowance())(theirs))
    reader, writer = await asyncio.open_connection(sock=ours)
    try:
        writer.write(sent)
        got = b""
        if then:
            got += await reader.readuntil(b"\r\n\r\n")
            writer.write(then)
        serving.add_done_callback(lambda _: theirs.close())
        return got + await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def proxy_to(*hosts: str, names: Names, policy: AddressPolicy = PRIVATE_TOO) -> EgressProxy:
    problems: list[object] = []
    allowed = read_allow_hosts(hosts, "", problems)  # type: ignore[arg-type]
    assert problems == []
    return EgressProxy(allowed, GuardedBackend(policy, names))


LOCAL = ("127.0.0.1",)


async def test_a_tunnel_carries_both_ways_to_the_address_that_was_judged() -> None:
    names = Names(LOCAL)
    upstream = Upstream()
    async with listening(upstream) as port:
        proxy = proxy_to(f"api.example.com:{port}", names=names)
        got = await asked(
            proxy,
            b"CONNECT api.example.com:%d HTTP/1.1\r\nHost: x\r\n\r\n" % port,
            then=b"GET / HTTP/1.1\r\n\r\n",
        )
    assert got == b"HTTP/1.1 200 Connection established\r\n\r\n" + upstream.reply
    assert upstream.heads == [b"GET / HTTP/1.1\r\n\r\n"]
    assert names.asked == ["api.example.com"]


async def test_a_plain_request_goes_on_with_its_head_written_anew() -> None:
    upstream = Upstream()
    async with listening(upstream) as port:
        proxy = proxy_to(f"api.example.com:{port}", names=Names(LOCAL))
        head = (
            b"POST http://API.example.com:%d/a?b=c HTTP/1.1\r\nHost: evil.example\r\nAccept: x\r\n"
            b"Proxy-Authorization: Basic abc\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
            b"Content-Length: 4\r\n\r\n"
        )
        got = await asked(proxy, head % port + b"bodyGET http://evil.example/ HTTP/1.1\r\nHost: evil\r\n\r\n")
        assert got == upstream.reply
        assert upstream.heads == [
            b"POST /a?b=c HTTP/1.1\r\nHost: API.example.com:%d\r\nConnection: close\r\n"
            b"accept: x\r\ncontent-length: 4\r\n\r\n" % port
        ]
        await asyncio.wait_for(upstream.is_over.wait(), 20)
    assert upstream.rest == [b"body"], "what came behind the body is no second request"


REFUSED = {
    "another host": (b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n", 403),
    "another port": (b"CONNECT api.example.com:22 HTTP/1.1\r\n\r\n", 403),
    "no port": (b"CONNECT api.example.com HTTP/1.1\r\n\r\n", 400),
    "an address": (b"CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n", 403),
    "an address of IPv6": (b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n", 403),
    "an address as a number": (b"CONNECT 2130706433:443 HTTP/1.1\r\n\r\n", 403),
    "the metadata address": (b"CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n", 403),
    "the metadata address, plainly": (b"GET http://169.254.169.254/latest/ HTTP/1.1\r\n\r\n", 403),
    "a user before the host": (b"CONNECT api.example.com@evil.example:443 HTTP/1.1\r\n\r\n", 403),
    "a user in a URL": (b"GET http://api.example.com@evil.example/ HTTP/1.1\r\n\r\n", 403),
    "a plain request elsewhere": (b"GET http://evil.example/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n", 403),
    "a path alone": (b"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", 400),
    "https as a URL": (b"GET https://api.example.com/ HTTP/1.1\r\n\r\n", 400),
    "two lengths": (
        b"POST http://api.example.com/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 9\r\n\r\nx",
        400,
    ),
    "a length and chunks": (
        b"POST http://api.example.com/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        411,
    ),
    "a length with a sign": (b"POST http://api.example.com/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400),
    "a folded header": (b"GET http://api.example.com/ HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n", 400),
    "a space before the colon": (b"GET http://api.example.com/ HTTP/1.1\r\nHost : x\r\n\r\n", 400),
    "a bare newline": (b"GET http://api.example.com/ HTTP/1.1\nX: y\r\n\r\n", 400),
    "a carriage return in a value": (b"GET http://api.example.com/ HTTP/1.1\r\nX: a\rHost: b\r\n\r\n", 400),
    "TLS at once": (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
    "a head without end": (b"GET http://api.example.com/ HTTP/1.1\r\nX: " + b"y" * 40_000, 431),
}


@pytest.mark.parametrize(("sent", "status"), REFUSED.values(), ids=REFUSED)
async def test_nothing_is_connected_to_for(sent: bytes, status: int) -> None:
    names = Names(LOCAL)
    proxy = proxy_to("api.example.com", names=names)
    got = await asked(proxy, sent)
    assert got.startswith(b"HTTP/1.1 %d " % status)
    assert names.asked == [], "no name is looked up for what is refused"


HEADS = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.sampled_from(
            [b"GET ", b"CONNECT ", b"http://a.example", b":80", b"/", b" HTTP/1.1", b"\r\n", b"\n"]
        )
        | st.sampled_from(
            [b"Host: b", b"Content-Length: 3", b"Connection: x, host", b"X:", b"\r", b" ", b"?q", b"@"]
        ),
        max_size=14,
    ).map(b"".join),
)


@given(HEADS)
def test_whatever_is_asked_is_read_in_one_way_or_refused(head: bytes) -> None:
    try:
        asked = egress_proxy._parse_head(head)
    except egress_proxy._Refused as refused:
        assert refused.status in (400, 403, 411)  # noqa: PT017 - one of two outcomes
        return
    assert 0 < asked.port < 65_536
    if not asked.is_tunnel:
        lines = asked.head.split(b"\r\n")
        assert lines[-2:] == [b"", b""]
        assert b"" not in lines[:-2]
        assert not any(b"\r" in line or b"\n" in line for line in lines)
        hosts = [line for line in lines if line.lower().startswith(b"host:")]
        assert len(hosts) == 1
        assert asked.host.encode() in hosts[0]


async def test_a_host_that_is_not_allowed_is_noted_once() -> None:
    allowance = Allowance()
    proxy = proxy_to(names=Names(LOCAL))
    for _ in range(3):
        await asked(proxy, b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n", allowance)
    assert allowance.notes == ["refused: evil.example:443 is not in allow_hosts"]


LEADING_INSIDE = {
    "loopback": ("127.0.0.1",),
    "private": ("10.0.0.7",),
    "metadata": ("169.254.169.254",),
    "one of several": ("93.184.215.14", "10.0.0.7"),
    "mapped": ("::ffff:169.254.169.254",),
}


@pytest.mark.parametrize("addresses", LEADING_INSIDE.values(), ids=LEADING_INSIDE)
async def test_an_allowed_name_that_leads_inside_is_refused(addresses: Sequence[str]) -> None:
    proxy = proxy_to("api.example.com", names=Names(addresses), policy=AddressPolicy())
    got = await asked(proxy, b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 403 api.example.com is ")


async def test_metadata_is_refused_also_where_private_addresses_are_allowed() -> None:
    proxy = proxy_to("api.example.com", names=Names(["169.254.169.254"]))
    assert (await asked(proxy, b"CONNECT api.example.com:80 HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 403 ")


async def test_a_name_that_changes_is_looked_up_once_for_each_connection() -> None:
    """Rebinding: what is judged is what is connected to."""
    names = Names(LOCAL, ["169.254.169.254"])
    async with listening(Upstream()) as port:
        proxy = proxy_to(f"api.example.com:{port}", names=names)
        sent = b"GET http://api.example.com:%d/ HTTP/1.1\r\n\r\n" % port
        assert (await asked(proxy, sent)).endswith(b"hello")
        assert (await asked(proxy, sent)).startswith(b"HTTP/1.1 403 ")
    assert len(names.asked) == 2


async def test_a_call_carries_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    allowance = Allowance(bytes_left=50_000)
    upstream = Upstream(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 500_000)
    async with listening(upstream) as port:
        proxy = proxy_to(f"api.example.com:{port}", names=Names(LOCAL))
        got = await asked(proxy, b"GET http://api.example.com:%d/ HTTP/1.1\r\n\r\n" % port, allowance)
    assert len(got) < 150_000
    assert allowance.notes == ["a connection was closed: the call carried over 64 MiB"]


async def test_a_call_opens_so_many_connections_and_no_more() -> None:
    allowance = Allowance(connections_left=2)
    async with listening(Upstream()) as port:
        proxy = proxy_to(f"api.example.com:{port}", names=Names(LOCAL))
        sent = b"GET http://api.example.com:%d/ HTTP/1.1\r\n\r\n" % port
        replies = [await asked(proxy, sent, allowance) for _ in range(3)]
    assert [reply[:12] for reply in replies] == [b"HTTP/1.1 200", b"HTTP/1.1 200", b"HTTP/1.1 403"]


async def test_a_tunnel_that_carries_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_proxy, "IDLE_S", 0.05)
    async with listening(Upstream()) as port:
        proxy = proxy_to(f"api.example.com:{port}", names=Names(LOCAL))
        got = await asked(proxy, b"CONNECT api.example.com:%d HTTP/1.1\r\n\r\n" % port)
    assert got == b"HTTP/1.1 200 Connection established\r\n\r\n"


async def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_proxy, "HEAD_WITHIN_S", 0.05)
    got = await asked(proxy_to(names=Names(LOCAL)), b"CONNECT api.exam")
    assert got.startswith(b"HTTP/1.1 408 ")


async def test_a_host_that_is_away_is_told_and_noted() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        port = taken.getsockname()[1]
        allowance = Allowance()
        proxy = proxy_to(f"api.example.com:{port}", names=Names(LOCAL))
        got = await asked(proxy, b"CONNECT api.example.com:%d HTTP/1.1\r\n\r\n" % port, allowance)
    assert got.startswith(b"HTTP/1.1 502 no connection to api.example.com:%d\r\n" % port)
    assert len(allowance.notes) == 1
