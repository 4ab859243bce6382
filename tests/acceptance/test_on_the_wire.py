"""HTTP as it arrives on a socket: what no in-process client can send."""

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from served import KEY, Server, running

from support.desk import AGENT, MEBIBYTE, TASK

PROXY = "/api/odyssey-proxy"


class Wire(NamedTuple):
    server: Server
    token: str
    run_id: int

    def connect(self) -> socket.socket:
        host, port = self.server.url.removeprefix("http://").split(":")
        connection = socket.create_connection((host, int(port)), timeout=20)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def trace_length(self) -> int:
        headers = {"Authorization": f"Bearer {KEY}"}
        reply = httpx2.get(f"{self.server.url}/api/runs/{self.run_id}/trace?limit=500", headers=headers)
        return len(reply.json()["items"])


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with running(tmp_path_factory.mktemp("wire") / "data") as server:
        headers = {"Authorization": f"Bearer {KEY}"}
        with httpx2.Client(base_url=server.url, headers=headers) as client:
            agent = client.post("/api/agents", json=AGENT).json()
            dataset = client.post("/api/datasets", json={"name": "x", "rows": [TASK]}).json()
            body = {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"]}
            run = client.post("/api/runs", json=body).json()
        yield Wire(server, run["run_token"], run["id"])
        assert server.stop() == 0
        assert "Traceback" not in server.errors.read_text()


def request(method: bytes, path: bytes, token: str, body: bytes = b"", *headers: bytes) -> bytes:
    head = [
        method + b" " + path + b" HTTP/1.1",
        b"Host: testserver",
        b"Authorization: Bearer " + token.encode(),
        b"Content-Length: " + str(len(body)).encode(),
        *headers,
    ]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def read_reply(connection: socket.socket) -> tuple[int, bytes]:
    """One whole reply, by its content-length."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        assert part, f"hung up after {data!r}"
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length:"))
    while len(body) < length:
        part = connection.recv(65536)
        assert part, "hung up in the middle of the body"
        body += part
    return int(lines[0].split()[1]), body


CALL = b'{"order_id":"4521"}'


def test_calls_sent_in_one_piece_are_answered_in_their_order(wire: Wire) -> None:
    before = wire.trace_length()
    path = f"{PROXY}/tools/add_note".encode()
    notes = [json.dumps({"order_id": "7001", "text": f"pipelined {n}"}).encode() for n in range(20)]
    with wire.connect() as connection:
        connection.sendall(b"".join(request(b"POST", path, wire.token, note) for note in notes))
        data = b""
        while data.count(b'"tool_name"') < 20:
            part = connection.recv(65536)
            assert part
            data += part
    seen = [data.index(f'"pipelined {n}"]'.encode()) for n in range(20)]
    assert seen == sorted(seen)
    assert wire.trace_length() == before + 20


def test_a_call_that_drips_in_is_one_call(wire: Wire) -> None:
    before = wire.trace_length()
    with wire.connect() as connection:
        for byte in request(b"POST", f"{PROXY}/tools/get_order".encode(), wire.token, CALL):
            connection.sendall(bytes([byte]))
        status, _ = read_reply(connection)
    assert status == 200
    assert wire.trace_length() == before + 1


def test_a_chunked_body_is_read(wire: Wire) -> None:
    head = b"POST %s/tools/get_order HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n" % (
        PROXY.encode(),
        wire.token.encode(),
    )
    chunks = b"".join(b"%x\r\n%s\r\n" % (1, CALL[at : at + 1]) for at in range(len(CALL)))
    with wire.connect() as connection:
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
        assert read_reply(connection)[0] == 200


def test_a_caller_that_hangs_up_before_its_call_is_whole_asked_nothing(wire: Wire) -> None:
    before = wire.trace_length()
    whole = request(b"POST", f"{PROXY}/tools/get_order".encode(), wire.token, CALL)
    for cut in (10, len(whole) - len(CALL), len(whole) - 1):
        with wire.connect() as connection:
            connection.sendall(whole[:cut])
    with wire.connect() as connection:
        connection.sendall(whole)
        assert read_reply(connection)[0] == 200
    assert wire.trace_length() == before + 1


def test_a_head_that_never_ends_is_cut_off_and_the_server_goes_on(wire: Wire) -> None:
    endless = b"POST / HTTP/1.1\r\nHost: x\r\n" + b"x: y\r\n" * 10_000_000
    with wire.connect() as connection, pytest.raises(OSError, match=r"reset|Broken pipe"):
        connection.sendall(endless)
    with wire.connect() as connection:
        connection.sendall(request(b"POST", f"{PROXY}/tools/get_order".encode(), wire.token, CALL))
        assert read_reply(connection)[0] == 200


@pytest.mark.parametrize("path", [f"{PROXY}/tools/get_order", "/api/runs"])
@pytest.mark.parametrize("size", [MEBIBYTE + 1, 8 * MEBIBYTE])
def test_a_body_that_is_too_large_is_answered_and_the_server_goes_on(
    wire: Wire, path: str, size: int
) -> None:
    token = wire.token if path.startswith(PROXY) else KEY
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with httpx2.Client(base_url=wire.server.url, headers=headers, timeout=20) as client:
        reply = client.post(path, content=b" " * size)
        assert reply.status_code == 413
        assert reply.json()["error"]["code"] == "body_too_large"
        assert client.get("/health").status_code == 200


def test_a_large_body_with_a_bad_token_is_refused(wire: Wire) -> None:
    headers = {"Authorization": "Bearer fake-token"}
    url = f"{wire.server.url}{PROXY}/tools/get_order"
    reply = httpx2.post(url, content=b" " * (4 * MEBIBYTE), headers=headers, timeout=20)
    assert reply.status_code == 401


BROKEN: dict[str, bytes] = {
    "no HTTP at all": b"hello there\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
    "two lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a length that is none": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
    "a negative length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "NUL in a header": b"GET / HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n",
    "a space in a header's name": b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "a bad chunk": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_not_http_is_refused_and_hurts_nobody(wire: Wire, case: str) -> None:
    with wire.connect() as connection:
        connection.sendall(BROKEN[case])
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer == b"" or answer.split()[1].startswith(b"4"), answer
    assert httpx2.get(f"{wire.server.url}/health").status_code == 200


HOSTILE_PATHS = [
    b"/../../../etc/passwd",
    b"/%2e%2e/%2e%2e/etc/passwd",
    b"//evil.example.com/x",
    b"http://evil.example.com/x",
    b"/\xff\xfe",
    b"/" + b"x" * 60_000,
    PROXY.encode() + b"/tools/../../../agents",
    PROXY.encode() + b"/tools/%00",
    PROXY.encode() + b"/tools/%0d%0aX-Evil:%201",
    PROXY.encode() + b"/tools/%ed%a0%80",
    PROXY.encode() + b"/tools/" + b"x" * 10_000,
    PROXY.encode() + b"x/tools/get_order",
]


@pytest.mark.parametrize("path", HOSTILE_PATHS, ids=lambda path: path[:40].decode("latin-1"))
def test_a_hostile_path_reaches_nothing(wire: Wire, path: bytes) -> None:
    with wire.connect() as connection:
        connection.sendall(request(b"POST", path, wire.token, b"{}", b"Connection: close"))
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.split()[1].startswith(b"4"), answer[:300]
    assert b"X-Evil" not in answer.partition(b"\r\n\r\n")[0]
    assert b"root:" not in answer


def test_a_connection_is_kept_for_the_next_call_after_a_refusal(wire: Wire) -> None:
    path = f"{PROXY}/tools/get_order".encode()
    with wire.connect() as connection:
        for body, status in ((b"{", 400), (b"{}", 422), (CALL, 200), (b"[]", 422), (CALL, 200)):
            connection.sendall(request(b"POST", path, wire.token, body))
            assert read_reply(connection)[0] == status


def test_many_connections_at_once_are_served(wire: Wire) -> None:
    async def call_all() -> list[int]:
        limits = httpx2.Limits(max_connections=150)
        headers = {"Authorization": f"Bearer {wire.token}"}
        async with httpx2.AsyncClient(
            base_url=wire.server.url, headers=headers, limits=limits, timeout=30
        ) as client:
            calls = (client.post(f"{PROXY}/tools/get_order", content=CALL) for _ in range(300))
            return [reply.status_code for reply in await asyncio.gather(*calls)]

    assert set(asyncio.run(call_all())) == {200}


def test_nothing_of_the_server_is_told_in_its_headers(wire: Wire) -> None:
    reply = httpx2.get(f"{wire.server.url}/health")
    assert "server" not in reply.headers
    assert "x-powered-by" not in reply.headers


def test_the_data_directory_belongs_to_its_user_alone(wire: Wire) -> None:
    directory: Path = wire.server.directory
    assert directory.stat().st_mode & 0o077 == 0
