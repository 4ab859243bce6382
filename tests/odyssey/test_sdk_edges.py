"""Where processes, loops and edges of the network do what is allowed and seldom seen."""

import asyncio
import os
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from scripted_proxy import DONE, envelope_of, scripted

from pipelines.odyssey import Envelope, async_proxy_call_with, proxy_call_with
from pipelines.odyssey.handler import Answer, Dispatcher
from pipelines.odyssey.transport import ExchangeFailed, HttpRequest, exchange

TOOL_REPLY = b'{"tool_name": "get_order", "response": {"status": "shipped"}, "source": "odyssey"}'


@contextmanager
def edge(reply: bytes) -> Iterator[str]:
    """Answers every request with these bytes, and ends the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    connection.sendall(reply)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1"])
def test_a_reply_that_ends_with_its_connection_is_whole(version: bytes) -> None:
    with edge(version + b" 200 OK\r\nConnection: close\r\n\r\n" + TOOL_REPLY) as url:
        assert proxy_call_with(envelope_of(url), "get_order", {}) == {"status": "shipped"}


def test_a_reply_that_breaks_off_is_told_so() -> None:
    with edge(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + TOOL_REPLY) as url:
        request = HttpRequest("POST", f"{url}/tools/get_order", {}, b"{}", 5.0)
        with pytest.raises(ExchangeFailed, match="broke"):
            exchange(request)


def forked(work: object) -> bytes:
    """What `work` returns in a child of this process."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons dislike a fork beside threads
        child = os.fork()
    if child == 0:
        try:
            os.write(write, work())  # type: ignore[operator]
        finally:
            os._exit(0)
    os.close(write)
    said = os.read(read, 100)
    os.close(read)
    os.waitpid(child, 0)
    return said


def test_async_calls_and_sync_handlers_work_in_a_forked_process() -> None:
    desk = Dispatcher(handler=lambda envelope: "done", token=None)
    with scripted(DONE) as proxy:

        def both() -> bytes:
            called = asyncio.run(asyncio.wait_for(async_proxy_call_with(proxy.envelope, "get_order", {}), 10))
            handled = asyncio.run(asyncio.wait_for(desk.async_handle(proxy.envelope), 10))
            return f"{called['status']} {handled.status}".encode()

        assert both() == b"shipped 200"  # threads of this process exist from here on
        assert forked(both) == b"shipped 200"


def test_an_async_agent_of_a_sync_server_keeps_its_loop() -> None:
    """Clients of model providers keep connections that belong to the loop they were opened on."""
    loops: list[asyncio.AbstractEventLoop] = []

    async def agent(envelope: Envelope) -> str:
        loops.append(asyncio.get_running_loop())
        return "done"

    desk = Dispatcher(handler=agent, token=None)
    answers = [desk.handle(envelope_of("http://127.0.0.1:9")) for _ in range(2)]
    assert [answer.status for answer in answers if isinstance(answer, Answer)] == [200, 200]
    assert loops[0] is loops[1]
    assert not loops[0].is_closed()
