"""What happens around a call, the same on the lean way and through ASGI: hang-ups, stops, waits, limits."""

import json
import logging
import re
import socket
import time
from collections.abc import Iterator
from logging.handlers import QueueHandler
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from support.proxy_twins import (
    PATIENCE_S,
    HeldAnswers,
    Served,
    TwinRun,
    Twins,
    blanked,
    call_of,
    converse,
    read_all,
    read_response,
    twins,
)
from support.server_process import eventually

WAYS = ["lean", "asgi"]
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    with twins(tmp_path_factory.mktemp("connections"), runs=60) as opened:
        yield opened


@pytest.fixture(autouse=True)
def nothing_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.fixture(params=WAYS)
def served(request: pytest.FixtureRequest, pair: Twins) -> Served:
    return pair.served(request.param)


def test_a_call_whose_caller_hangs_up_is_stored(pair: Twins, served: Served) -> None:
    run, held = pair.fresh_run(), HeldAnswers(served)
    with served.connect() as connection:
        connection.sendall(call_of(run, "get_order"))
        held.wait()
    eventually(lambda: served.connections == 0, "the server notices")
    assert served.tasks == 1  # a server that stops now waits for it
    held.release()
    eventually(lambda: served.tasks == 0, "the call ends")
    assert len(served.rows(run.id)) == 1


def test_a_server_that_stops_answers_the_call_under_way_and_closes(tmp_path: Path) -> None:
    answers = []
    with twins(tmp_path, runs=1) as pair:
        run = pair.fresh_run()
        for served in (pair.lean, pair.asgi):
            held = HeldAnswers(served)
            with served.connect() as busy, served.connect() as idle:
                idle.sendall(call_of(run, "get_order"))
                held.wait()
                held.release()
                assert read_response(idle)
                held = HeldAnswers(served)
                busy.sendall(call_of(run, "get_order"))
                held.wait()
                served.server.should_exit = True
                assert read_all(idle) == b""  # it had nothing to wait for
                held.release()
                answers.append(blanked(read_all(busy)))
                served.serving.result(PATIENCE_S)
    assert answers[0] == answers[1]
    assert b"\r\nconnection: close\r\n" in answers[0]


def test_a_call_whose_head_came_before_the_stop_is_answered(tmp_path: Path) -> None:
    answers = []
    with twins(tmp_path, runs=1) as pair:
        run = pair.fresh_run()
        whole = call_of(run, "get_order")
        for served in (pair.lean, pair.asgi):
            with served.connect() as connection:
                connection.sendall(whole + whole[:-5])
                assert read_response(connection).startswith(b"HTTP/1.1 200")
                connections = list(served.server.server_state.connections)
                eventually(lambda them=connections: them[0].cycle.response_complete is False, "it is read")  # type: ignore[misc]
                served.server.should_exit = True
                eventually(lambda server=served.server: not server.servers[0].is_serving(), "it stops")  # type: ignore[misc]
                connection.sendall(whole[-5:])
                answers.append(blanked(read_all(connection)))
                served.serving.result(PATIENCE_S)
    assert answers[0] == answers[1]
    assert answers[0].startswith(b"HTTP/1.1 200")


def test_a_call_of_which_the_head_alone_came_before_the_stop_is_answered(tmp_path: Path) -> None:
    answers = []
    with twins(tmp_path, runs=1) as pair:
        run = pair.fresh_run()
        head, gap, body = call_of(run, "get_order").partition(b"\r\n\r\n")
        for served in (pair.lean, pair.asgi):
            with served.connect() as connection:
                connection.sendall(head + gap + body)
                assert read_response(connection).startswith(b"HTTP/1.1 200")
                connection.sendall(head + gap)
                (protocol,) = served.server.server_state.connections
                eventually(lambda it=protocol: is_under_way(it), "the head is read")  # type: ignore[misc]
                served.server.should_exit = True
                eventually(lambda server=served.server: not server.servers[0].is_serving(), "it stops")  # type: ignore[misc]
                connection.sendall(body)
                answers.append(blanked(read_all(connection)))
                served.serving.result(PATIENCE_S)
    assert answers[0] == answers[1]
    assert answers[0].startswith(b"HTTP/1.1 200")
    assert b"\r\nconnection: close\r\n" in answers[0]


def is_under_way(protocol: Any) -> bool:
    return not protocol.cycle.response_complete or getattr(protocol, "_held", None) is not None


@pytest.mark.slow
def test_a_connection_is_closed_when_nothing_was_asked_for_long_enough(tmp_path: Path) -> None:
    """Only the lean way: the other is uvicorn's own."""
    with twins(tmp_path, runs=1) as pair:
        run, served = pair.fresh_run(), pair.lean
        served.config.timeout_keep_alive = 2
        with served.connect() as connection:
            for _ in range(3):  # each call begins the wait anew
                connection.sendall(call_of(run, "get_order"))
                assert read_response(connection).startswith(b"HTTP/1.1 200")
                time.sleep(0.8)  # an agent that thinks
            held = HeldAnswers(served)
            connection.sendall(call_of(run, "get_order"))
            held.wait()
            time.sleep(2.2)  # longer than the wait: but it is the server's turn
            held.release()
            assert read_response(connection).startswith(b"HTTP/1.1")
            answered = time.monotonic()
            assert connection.recv(1) == b""
            assert 1.9 < time.monotonic() - answered < PATIENCE_S
            eventually(lambda: served.connections == 0, "it is gone")


def test_a_run_that_is_forgotten_between_head_and_body_is_read_anew(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    live_runs = served.app.proxy.live_runs
    whole = call_of(run, "get_order")
    with served.connect() as connection:
        connection.sendall(whole)
        read_response(connection)
        connection.sendall(whole[:-5])
        (protocol,) = served.server.server_state.connections
        eventually(lambda: protocol.cycle.response_complete is False, "its head is read")  # type: ignore[union-attr]
        served.do(lambda: live_runs.forget({run.id}))
        held = HeldAnswers(served)
        connection.sendall(whole[-5:])
        held.wait()
        assert [live.is_forgotten for live in held.lives] == [False]
        held.release()
        assert read_response(connection).startswith(b"HTTP/1.1 200")
        served.do(lambda: live_runs.forget({run.id}))
        connection.sendall(whole)
        assert read_response(connection).startswith(b"HTTP/1.1 200")
    assert [row["sequence"] for row in served.rows(run.id)] == [1, 2, 3]


def test_the_end_of_a_run_is_seen_by_the_same_call_on_the_same_connection(pair: Twins) -> None:
    run = pair.fresh_run()
    body = b'{"final_response":"Done."}'
    head = f"POST /api/runs/{run.id}/finish HTTP/1.1\r\nHost: x\r\nX-API-Key: {pair.key}\r\n"
    finish = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    call = call_of(run, "get_order")
    for served in (pair.lean, pair.asgi):
        with served.connect() as connection:
            connection.sendall(call + call)
            assert read_all_of(connection, 2) == [b"200", b"200"]
            connection.sendall(call + finish + call)
            assert read_all_of(connection, 3) == [b"200", b"200", b"409"]
            connection.sendall(call)
            assert read_response(connection)[9:12] == b"409"
    assert pair.lean.rows(run.id) == pair.asgi.rows(run.id)


def read_all_of(connection: socket.socket, count: int) -> list[bytes]:
    """The statuses of so many responses, however they come in."""
    data = b""
    while len(found := re.findall(rb"HTTP/1.1 (\d+) [^\r]*\r\n(?=[^{]*{)", data)) < count:
        data += connection.recv(65536)
    return found


def test_another_token_on_the_same_connection_is_another_run(pair: Twins, served: Served) -> None:
    one, two = pair.fresh_run(), pair.fresh_run()
    stranger = TwinRun(0, "nobody" + one.token[6:], "")
    order = [one, two, one, stranger, two, stranger, one]
    answers = converse(served, [call_of(run, "get_order") for run in order])
    assert [answer[9:12] for answer in answers] == [b"200", b"200", b"200", b"401", b"200", b"401", b"200"]
    assert (len(served.rows(one.id)), len(served.rows(two.id))) == (3, 2)


def test_a_caller_that_does_not_read_is_not_answered_for_ever(pair: Twins, served: Served) -> None:
    """What is answered would fill the memory otherwise."""
    run = pair.fresh_run()
    note = json.dumps({"order_id": "7001", "text": "x" * 60_000}).encode()
    converse(served, [call_of(run, "add_note", note)])
    call = call_of(run, "get_order", b'{"order_id":"7001"}')
    count = 600  # replies of 36 MB: more than lies on the way between two sockets
    with served.connect() as connection:
        for _ in range(count):
            connection.sendall(call)
        before, rows = -1, 0
        while rows != before:
            before, rows = rows, len(served.rows(run.id))
            time.sleep(0.5)  # only how long nothing happens tells that nothing will
        assert 10 < rows < count
        (protocol,) = served.server.server_state.connections
        assert protocol.transport.get_write_buffer_size() < 256 * 1024
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        parts = []
        while part := connection.recv(1 << 20):
            parts.append(part)
        assert b"".join(parts).count(b"HTTP/1.1 ") == count + 1
    assert len(served.rows(run.id)) == count + 1


def test_the_rate_is_the_same_and_counts_alike(tmp_path: Path) -> None:
    with twins(tmp_path, runs=2, proxy_rate_limit=3) as pair:
        run = pair.fresh_run()
        calls = [call_of(run, "get_order"), call_of(run, "get_order", b"{"), *[call_of(run, "get_order")] * 4]
        told = [converse(served, [*calls, HEALTH, calls[0]]) for served in (pair.lean, pair.asgi)]
        lean, asgi = (
            [re.sub(rb"retry-after: \d+", b"", blanked(one)) for one in answers] for answers in told
        )
        assert lean == asgi
        assert [answer[9:12] for answer in lean[:6]] == [b"200", b"400", b"200", b"429", b"429", b"429"]
        assert pair.lean.rows(run.id) == pair.asgi.rows(run.id)


def test_the_access_log_has_the_same_lines(pair: Twins) -> None:
    run = pair.fresh_run()
    requests = [
        call_of(run, "get_order"),
        call_of(run, "nothing.at-all_"),
        HEALTH,
        call_of(run, "get_order", b"{"),
    ]
    lines = []
    access = logging.getLogger("uvicorn.access")
    logged: SimpleQueue[logging.LogRecord] = SimpleQueue()
    handler, level = QueueHandler(logged), access.level
    access.addHandler(handler)
    access.setLevel(logging.INFO)
    try:
        for served in (pair.lean, pair.asgi):
            converse(served, requests)
            # The server's thread writes a line after it has answered, so the last may come later.
            said = [logged.get(timeout=PATIENCE_S).getMessage() for _ in requests]
            assert len(set(said)) == 4
            lines.append([re.sub(r"^127.0.0.1:\d+ - ", "", line) for line in said])
    finally:
        access.removeHandler(handler)
        access.setLevel(level)
    assert logged.empty()
    assert lines[0] == lines[1]
    assert lines[0][0] == '"POST /api/odyssey-proxy/tools/get_order HTTP/1.1" 200'


def test_a_fault_of_ours_is_told_alike_and_forgets_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def answer(self, *_: object) -> None:
            raise ZeroDivisionError("secret detail")

    answers = []
    with twins(tmp_path, runs=1) as pair:
        run = pair.fresh_run()
        for served in (pair.lean, pair.asgi):
            converse(served, [call_of(run, "get_order")])
            (live,) = served.app.proxy.live_runs._by_token.values()
            live.simulator = Broken()  # type: ignore[assignment]
            answers.append([blanked(one) for one in converse(served, [call_of(run, "get_order")] * 2)])
        assert pair.lean.rows(run.id) == pair.asgi.rows(run.id)
    assert answers[0] == answers[1]
    assert [answer[9:12] for answer in answers[0]] == [b"500", b"200"]
    logged = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert logged == ["proxy call failed: /api/odyssey-proxy/tools/get_order"] * 2
    caplog.clear()


def test_requests_of_every_kind_in_one_piece_come_back_in_order(pair: Twins) -> None:
    run = pair.fresh_run()
    note = json.dumps({"order_id": "7001", "text": "in between"}).encode()
    kinds = [
        call_of(run, "get_order"),
        HEALTH,
        call_of(run, "add_note", note),
        HEALTH,
        call_of(run, "get_order"),
    ]
    last = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    streams = []
    for served in (pair.lean, pair.asgi):
        with served.connect() as connection:
            connection.sendall(b"".join(kinds * 10) + last)
            streams.append(blanked(read_all(connection)))
    assert streams[0] == streams[1]
    assert pair.lean.rows(run.id) == pair.asgi.rows(run.id)
    assert len(pair.lean.rows(run.id)) == 30


def test_what_comes_in_one_piece_with_the_next_head_is_not_taken_for_its_body(
    pair: Twins, served: Served
) -> None:
    """A retry is answered at once, so the head behind it in the same piece is read while nothing is under
    way; the same piece again must still begin with the retry."""
    one, two = pair.fresh_run(), pair.fresh_run()
    retried = call_of(one, "get_order").replace(b"Content-Length", b"Idempotency-Key: k1\r\nContent-Length")
    first_body = retried.partition(b"\r\n\r\n")[2]
    note = json.dumps({"order_id": "7001", "text": "x" * 900}).encode()
    second = call_of(two, "add_note", note)
    second_head = second[: -len(note)]
    sent = (
        len(note) - len(first_body) - len(second_head)
    )  # then all behind the first head is as long as the note
    piece, rest = retried + second[: len(second_head) + sent], note[sent:]
    with served.connect() as connection:
        connection.sendall(retried)
        read_response(connection)
        for _ in range(3):
            connection.sendall(piece)
            assert b'"tool_name":"get_order"' in read_response(connection)
            connection.sendall(rest)
            assert b'"tool_name":"add_note"' in read_response(connection)
    assert len(served.rows(one.id)) == 1
    assert len(served.rows(two.id)) == 3
