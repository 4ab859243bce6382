"""A fault of the wire instead of a reply: held and closed, or reset, on the lean way and through ASGI."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from pipelines.core.calls.tool_call import Reply, ToolCall
from pipelines.core.tools.failure_rules import WireFault
from pipelines.engine.calls.answer_tool_call import ToolCallAnswerer
from pipelines.engine.live.live_runs import LiveRun
from pipelines.server.proxy.proxy import Proxy
from support.desk import Org, Row
from support.proxy_twins import (
    PATIENCE_S,
    HeldAnswers,
    Served,
    Twins,
    call_of,
    read_all,
    read_response,
    twins,
)
from support.server_process import eventually

pytestmark = pytest.mark.fault

LONG_MS = 600_000  # nobody waits for it
WAYS = ["lean", "asgi"]


class Faulty:
    """The real answers, and after them the fault in place of the reply to one tool."""

    def __init__(self, answerer: ToolCallAnswerer, fault: WireFault) -> None:
        self._answerer = answerer
        self._fault = fault

    def answer(self, live: LiveRun, call: ToolCall, answered: Callable[[Reply | Exception], None]) -> None:
        def with_fault(outcome: Reply | Exception) -> None:
            is_struck = isinstance(outcome, Reply) and call.tool_name == "cancel_order"
            answered(outcome._replace(fault=self._fault) if is_struck else outcome)  # type: ignore[union-attr]

        self._answerer.answer(live, call, with_fault)

    async def answer_later(self, live: LiveRun, call: ToolCall) -> Reply:
        reply = await self._answerer.answer_later(live, call)
        return reply._replace(fault=self._fault) if call.tool_name == "cancel_order" else reply


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    with twins(tmp_path_factory.mktemp("faults"), runs=30) as opened:
        yield opened


@pytest.fixture(autouse=True)
def nothing_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.fixture(params=WAYS)
def served(request: pytest.FixtureRequest, pair: Twins) -> Iterator[Served]:
    served = pair.served(request.param)
    answerer = served.app.proxy.answerer
    yield served
    served.app.proxy.answerer = answerer


def strike(proxy: Proxy, fault: WireFault) -> None:
    proxy.answerer = Faulty(proxy.answerer, fault)  # type: ignore[assignment]


def test_a_timeout_is_a_silent_connection_that_is_closed(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    strike(served.app.proxy, WireFault(kind="timeout", after_ms=300))
    with served.connect() as connection:
        connection.sendall(call_of(run, "get_order"))
        assert read_response(connection).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        connection.sendall(call_of(run, "cancel_order"))
        assert connection.recv(1) == b""
        assert 0.29 < time.monotonic() - began < PATIENCE_S
    assert [row["tool_name"] for row in served.rows(run.id)] == ["get_order", "cancel_order"]


def test_a_reset_is_a_reset(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    strike(served.app.proxy, WireFault(kind="reset", after_ms=0))
    with served.connect() as connection:
        connection.sendall(call_of(run, "get_order"))
        assert read_response(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(call_of(run, "cancel_order"))
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    assert [row["tool_name"] for row in served.rows(run.id)] == ["get_order", "cancel_order"]
    with served.connect() as connection:  # it was this connection alone
        connection.sendall(call_of(run, "get_order"))
        assert read_response(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("kind", ["timeout", "reset"])
def test_what_is_sent_after_a_call_that_fails_is_never_asked(pair: Twins, served: Served, kind: str) -> None:
    run = pair.fresh_run()
    strike(served.app.proxy, WireFault(kind=kind, after_ms=100))  # type: ignore[arg-type]
    with served.connect() as connection:
        connection.sendall(
            b"".join(call_of(run, name) for name in ("cancel_order", "get_order", "get_order"))
        )
        assert read_all(connection) == b""
    assert [row["tool_name"] for row in served.rows(run.id)] == ["cancel_order"]


def test_what_was_answered_before_a_timeout_is_sent(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    strike(served.app.proxy, WireFault(kind="timeout", after_ms=100))
    with served.connect() as connection:
        connection.sendall(
            b"".join(call_of(run, name) for name in ("get_order", "cancel_order", "get_order"))
        )
        assert read_all(connection).count(b"HTTP/1.1 200 OK") == 1


def test_a_caller_that_hangs_up_is_not_held(pair: Twins, served: Served) -> None:
    run = pair.fresh_run()
    strike(served.app.proxy, WireFault(kind="timeout", after_ms=LONG_MS))
    with served.connect() as connection:
        connection.sendall(call_of(run, "cancel_order"))
        eventually(lambda: served.rows(run.id), "the call is stored")
        assert served.connections == 1
    eventually(lambda: served.connections == 0 and served.tasks == 0, "the connection is let go")


@pytest.mark.parametrize("kind", ["timeout", "reset"])
def test_a_fault_of_a_call_whose_caller_is_gone_harms_nobody(pair: Twins, served: Served, kind: str) -> None:
    run = pair.fresh_run()
    strike(served.app.proxy, WireFault(kind=kind, after_ms=LONG_MS))  # type: ignore[arg-type]
    held = HeldAnswers(served)
    with served.connect() as connection:
        connection.sendall(call_of(run, "cancel_order"))
        held.wait()
    eventually(lambda: served.connections == 0, "the server notices")
    held.release()
    eventually(lambda: served.tasks == 0, "nothing is left to wait for")
    assert len(served.rows(run.id)) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_stops_holds_nobody(tmp_path_factory: pytest.TempPathFactory, way: str) -> None:
    with twins(tmp_path_factory.mktemp("stopping"), runs=1) as pair:
        run, served = pair.fresh_run(), pair.served(way)
        strike(served.app.proxy, WireFault(kind="timeout", after_ms=LONG_MS))
        with served.connect() as connection:
            connection.sendall(call_of(run, "cancel_order"))
            eventually(lambda: served.rows(run.id), "the call is stored")
            began = time.monotonic()
            served.stop()
            assert connection.recv(1) == b""
            assert time.monotonic() - began < 4  # uvicorn would wait longer for what is under way


def rule(kind: str, **more: int) -> Row:
    error = {"kind": kind, **more}
    return {"trigger": "after_n_calls", "tool": "cancel_order", "n": 1, "error": error}


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "status"), [("timeout", 504), ("reset", 502)])
async def test_without_a_connection_to_fail_it_is_told(org: Org, kind: str, status: int) -> None:
    run = await org.run(failure_rules=[rule(kind)])
    reply = await run.call("cancel_order", {"order_id": "7001"})
    assert reply.status_code == status
    assert reply.json()["tool_name"] == "cancel_order"
    assert reply.headers["x-pipelines-source"] == "injected"
    (row,) = await run.trace()
    assert (row["source"], row["http_status"], row["matched_rule_index"]) == ("injected", status, 0)


def test_a_unix_socket_is_closed_instead_of_reset(pair: Twins, served: Served) -> None:
    """As the one is over which sandboxed code calls its tools."""
    ours, theirs = socket.socketpair()
    run = pair.fresh_run()
    strike(served.app.proxy, WireFault(kind="reset", after_ms=0))
    protocol_of = served.config.http_protocol_class

    async def accepted() -> None:
        loop = asyncio.get_running_loop()
        state = served.server.server_state
        await loop.connect_accepted_socket(lambda: protocol_of(served.config, state, {}, loop), theirs)  # type: ignore[call-arg]

    served.loop.run(accepted())
    with ours:
        ours.settimeout(PATIENCE_S)
        ours.sendall(call_of(run, "cancel_order"))
        assert read_all(ours) == b""
