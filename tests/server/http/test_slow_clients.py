"""Clients that take their time, or take nothing: none of them keeps others out, or the server's memory."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from pipelines.server.http.bounded_protocol import MAX_AHEAD, PIECE_BYTES
from support.proxy_twins import (
    PATIENCE_S,
    Served,
    Twins,
    auth,
    blanked,
    call_of,
    read_all,
    read_response,
    twins,
)
from support.server_process import eventually

WAYS = ["lean", "asgi"]
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
UNFINISHED = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "
TIMEOUT_S = 1
MOST = 100


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    times = {"head_timeout_s": TIMEOUT_S, "stall_timeout_s": TIMEOUT_S}
    with twins(
        tmp_path_factory.mktemp("slow"), runs=40, max_connections=MOST, max_unfinished=MOST // 2, **times
    ) as opened:
        yield opened


@pytest.fixture(params=WAYS)
def served(request: pytest.FixtureRequest, pair: Twins) -> Served:
    one = pair.served(request.param)
    eventually(lambda: one.connections == 0, "those of the test before are gone")
    return one


def said_to(served: Served, *parts: bytes) -> tuple[bytes, float]:
    """What is heard once these were sent and no more comes, and how long that took."""
    with served.connect() as connection:
        for part in parts:
            connection.sendall(part)
            served.do(lambda: None)
        began = time.monotonic()
        return blanked(read_all(connection)), time.monotonic() - began


def test_a_head_that_does_not_end_is_answered_and_closed(served: Served) -> None:
    heard, took_s = said_to(served, UNFINISHED)
    assert heard.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"\r\nconnection: close\r\n" in heard
    assert TIMEOUT_S * 0.9 < took_s < TIMEOUT_S * 5


def test_a_head_that_drips_has_no_more_time_than_one_that_stands_still(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(UNFINISHED)
        began = time.monotonic()
        connection.settimeout(0.05)
        heard = b""
        while not heard and time.monotonic() - began < PATIENCE_S:
            connection.sendall(b"x")
            try:
                heard = connection.recv(65536)
            except TimeoutError:
                continue
        assert heard.startswith(b"HTTP/1.1 408")
        assert time.monotonic() - began < TIMEOUT_S * 5


def test_a_connection_that_asks_nothing_is_closed_without_a_word(served: Served) -> None:
    heard, took_s = said_to(served)
    assert heard == b""
    assert took_s < TIMEOUT_S * 5


def test_the_second_head_has_its_time_too(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(HEALTH)
        assert read_response(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(UNFINISHED)
        assert read_all(connection).startswith(b"HTTP/1.1 408")


def test_line_breaks_between_requests_do_not_keep_a_connection(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    served.config.timeout_keep_alive, before = TIMEOUT_S, served.config.timeout_keep_alive
    try:
        for request in (HEALTH, call_of(run, "get_order")):
            with served.connect() as connection:
                connection.sendall(request)
                assert read_response(connection).startswith(b"HTTP/1.1 200")
                connection.sendall(b"\r\n")
                began = time.monotonic()
                assert read_all(connection) == b""
                assert time.monotonic() - began < TIMEOUT_S * 5
    finally:
        served.config.timeout_keep_alive = before


@pytest.mark.slow
def test_a_body_that_does_not_come_is_answered_and_closed_alike(pair: Twins) -> None:
    run = pair.fresh_run()
    whole = call_of(run, "get_order")
    head, gap, body = whole.partition(b"\r\n\r\n")
    upload = f"POST /api/datasets HTTP/1.1\r\nHost: x\r\nX-API-Key: {pair.key}\r\n".encode()
    upload += b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    tails = {
        "the head alone": [head + gap],
        "half of its body": [head + gap + body[:5]],
        "a head that is known": [whole, head + gap],
        "a body that begins behind a head that is known": [whole, head + gap, body[:5]],
        "an upload": [upload],
    }
    for name, parts in tails.items():
        heard = [said_to(served, *parts)[0] for served in (pair.lean, pair.asgi)]
        assert heard[0] == heard[1], name
        assert heard[0].count(b"HTTP/1.1 408") == 1, name
        assert heard[0].count(b"HTTP/1.1 200") == len(parts) - 1 - (name.startswith("a body that")), name
    assert pair.lean.rows(run.id) == pair.asgi.rows(run.id)
    assert len(pair.lean.rows(run.id)) == 2


def test_a_body_that_keeps_coming_is_waited_for(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    body = b'{"order_id":"4521"' + b" " * 20_000 + b"}"
    whole = call_of(run, "get_order", body)
    with served.connect() as connection:
        began = time.monotonic()
        for start in range(0, len(whole), 2048):
            connection.sendall(whole[start : start + 2048])
            time.sleep(0.3)  # a slow line
        assert read_response(connection).startswith(b"HTTP/1.1 200")
        assert time.monotonic() - began > TIMEOUT_S * 2


def test_what_was_asked_before_an_unfinished_head_is_answered(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    heard, _ = said_to(served, call_of(run, "get_order") + HEALTH + UNFINISHED)
    assert [heard.count(b"HTTP/1.1 %d" % status) for status in (200, 408)] == [2, 1]


def test_a_newcomer_is_served_while_others_hold_every_connection(served: Served) -> None:
    """A thousand heads that do not end, on a server that has room for a tenth of them."""
    with ExitStack() as held:
        for _ in range(1_000):
            connection = held.enter_context(served.connect())
            connection.sendall(UNFINISHED)
        waited_s = []
        for _ in range(5):
            began = time.monotonic()
            with served.connect() as newcomer:
                newcomer.sendall(HEALTH)
                assert read_response(newcomer).startswith(b"HTTP/1.1 200")
            waited_s.append(time.monotonic() - began)
        assert sorted(waited_s)[2] < 0.25  # the first waits until all before it were let in
        assert len(served.app.open_connections) <= MOST
    eventually(lambda: served.connections == 0, "all are gone")
    assert served.app.open_connections.unfinished == 0


def test_idle_connections_make_room_and_busy_ones_do_not(pair: Twins, served: Served) -> None:
    with ExitStack() as held:
        for _ in range(MOST * 2):
            connection = held.enter_context(served.connect())
            connection.sendall(HEALTH)
            assert read_response(connection).startswith(b"HTTP/1.1 200")
        assert len(served.app.open_connections) <= MOST


def endless(served: Served, request: bytes, bytes_sent: int) -> socket.socket:
    """A client that asks and asks, and reads nothing; until nothing more is taken from it."""
    connection = socket.create_connection(served.address, timeout=0.3)
    data = request * (bytes_sent // len(request))
    with suppress(TimeoutError, ConnectionError):
        connection.sendall(data)
    connection.settimeout(PATIENCE_S)
    return connection


@pytest.mark.parametrize("path", ["/health", "/openapi.json"])
@pytest.mark.slow
def test_replies_that_are_not_read_are_not_made(served: Served, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with endless(served, request, 8_000_000):
        (protocol,) = list(served.server.server_state.connections)
        held: Any = protocol
        assert len(held.pipeline) <= MAX_AHEAD + PIECE_BYTES // len(request) + 1
        assert len(held._unfed) <= 512 * 1024
        assert held.transport.get_write_buffer_size() < 1024 * 1024
        if path != "/health":  # of those, many lie on the way between two sockets
            eventually(lambda: served.connections == 0, "it is given up")
    eventually(lambda: served.connections == 0, "it is gone")
    kept = served.app.open_connections
    assert served.do(lambda: (kept.unfed_bytes, kept._unread_bytes, kept.body_bytes)) == (0, 0, 0)


def test_whoever_asks_ahead_and_reads_is_answered_in_full(served: Served) -> None:
    count = 1_000
    with served.connect() as connection:
        connection.sendall(HEALTH * 300)
        connection.sendall(HEALTH * (count - 300) + LAST)
        assert read_all(connection).count(b"HTTP/1.1 200") == count + 1


def test_a_reply_that_is_cut_short_by_its_reader_does_not_stay_behind(pair: Twins, served: Served) -> None:
    """Closed by the server after its reply, which nobody reads."""
    request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n"
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(served.address)
    with connection:
        connection.sendall(
            request + b"\r\n" + request.replace(b"Host", b"Connection: close\r\nHost") + b"\r\n"
        )
        eventually(lambda: served.connections == 0, "it is given up")


# Heads that are refused, alike on both ways

TOKEN = "Authorization: Bearer {token}"
HEADS: dict[str, tuple[int, list[str]]] = {
    "no host": (400, ["POST {path} HTTP/1.1"]),
    "two hosts": (400, ["POST {path} HTTP/1.1", "Host: x", "Host: evil.example"]),
    "the same host twice": (400, ["POST {path} HTTP/1.1", "Host: x", "host: x"]),
    "an empty host": (400, ["POST {path} HTTP/1.1", "Host:"]),
    "a host with a path": (400, ["POST {path} HTTP/1.1", "Host: x/../evil"]),
    "a host with a user": (400, ["POST {path} HTTP/1.1", "Host: x@evil.example"]),
    "a host with a space": (400, ["POST {path} HTTP/1.1", "Host: x evil.example"]),
    "a host with a query": (400, ["POST {path} HTTP/1.1", "Host: evil.example?x"]),
    "a host with a percent sign": (400, ["POST {path} HTTP/1.1", "Host: evil%2eexample"]),
    "a host that is not ASCII": (400, ["POST {path} HTTP/1.1", "Host: \xe9vil.example"]),
    "a host with a name for a port": (400, ["POST {path} HTTP/1.1", "Host: x:http"]),
    "two hosts in HTTP/1.0": (400, ["POST {path} HTTP/1.0", "Host: x", "Host: y"]),
    "no host in HTTP/1.0": (200, ["POST {path} HTTP/1.0"]),
    "a host and a port": (200, ["POST {path} HTTP/1.1", "Host: odyssey.example.com:8420"]),
    "an IPv6 address": (200, ["POST {path} HTTP/1.1", "Host: [::1]:8420"]),
    "a hundred fields": (200, ["POST {path} HTTP/1.1", "Host: x", *["X: y"] * 97]),
    "one field more": (431, ["POST {path} HTTP/1.1", "Host: x", *["X: y"] * 98]),
    "large fields": (431, ["POST {path} HTTP/1.1", "Host: x", *[f"X: {'y' * 30_000}"] * 3]),
    "a long URL": (414, ["POST {path}?" + "x" * 20_000 + " HTTP/1.1", "Host: x"]),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_taken_or_refused_alike(pair: Twins, name: str) -> None:
    status, lines = HEADS[name]
    run = pair.fresh_run()
    head = "\r\n".join([*lines, TOKEN, "Content-Length: 19"])
    head = head.replace("{path}", "/api/odyssey-proxy/tools/get_order").replace("{token}", run.token)
    whole = head.encode("latin-1") + b'\r\n\r\n{"order_id":"4521"}'
    heard = []
    for served in (pair.lean, pair.asgi):
        for before in (b"", call_of(run, "get_order")):
            with served.connect() as connection:
                connection.sendall(before)
                first = read_response(connection) if before else b""
                connection.sendall(whole)
                heard.append(blanked(read_response(connection)))
                assert not before or first.startswith(b"HTTP/1.1 200")
    assert heard[:2] == heard[2:]
    assert [answer[9:12] for answer in heard] == [str(status).encode()] * 4
    assert pair.lean.rows(run.id) == pair.asgi.rows(run.id)


def test_a_head_without_an_end_is_refused_at_its_limit(served: Served) -> None:
    with served.connect() as connection:
        try:
            for _ in range(100):
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 10_000)
        except OSError:
            return  # it was closed meanwhile
        heard = read_all(connection)
    assert heard.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400")) or not heard


# Trailers are no headers

CHUNK = b'13\r\n{"order_id":"4521"}\r\n0\r\n'
CHUNKED = b"POST /api/odyssey-proxy/tools/get_order HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"


def test_a_token_in_a_trailer_opens_nothing(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    trailer = f"Authorization: Bearer {run.token}\r\n\r\n".encode()
    for head in (b"Host: x\r\n", b"Host: x\r\nAuthorization: Bearer nobody\r\n"):
        with served.connect() as connection:
            connection.sendall(CHUNKED + head + b"\r\n" + CHUNK + trailer)
            assert read_response(connection).startswith(b"HTTP/1.1 401")


def test_a_key_and_an_actor_in_a_trailer_are_nobodys(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    trailer = b"Idempotency-Key: late\r\nX-Pipelines-Actor-Id: late\r\nHost: late\r\n\r\n"
    with served.connect() as connection:
        for _ in range(2):
            connection.sendall(CHUNKED + auth(run).encode() + b"\r\n" + CHUNK + trailer)
            assert read_response(connection).startswith(b"HTTP/1.1 200")
    rows = served.rows(run.id)
    assert [(row["idempotency_key"], row["actor_id"]) for row in rows[-2:]] == [(None, None)] * 2


def test_an_api_key_in_a_trailer_opens_nothing(pair: Twins, served: Served) -> None:
    head = b"POST /api/datasets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with served.connect() as connection:
        connection.sendall(head + b"2\r\n{}\r\n0\r\nX-API-Key: " + pair.key.encode() + b"\r\n\r\n")
        assert read_response(connection).startswith(b"HTTP/1.1 401")


def test_where_a_run_is_opened_is_what_the_one_host_says(pair: Twins, tmp_path: Path) -> None:
    """Where no public URL is set, a run's own base URL is made from Host."""
    request = f"GET /api/runs HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\nX-API-Key: {pair.key}\r\n\r\n"
    with pair.lean.connect() as connection:
        connection.sendall(request.encode())
        heard = read_response(connection)
    assert heard.startswith(b"HTTP/1.1 400")
    assert b"b.example" not in heard
