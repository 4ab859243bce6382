"""Agents played by the test, each a thread behind a real socket that keeps what it was sent.

What an agent does is one function of the dispatch; it may answer, call tools, hold the dispatch open until
the test lets go, or misbehave on the wire.
"""

import http.client
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

PATIENCE_S = 60.0  # a held dispatch gives up after this: a test that failed must not leave threads behind


class ToolAnswer(NamedTuple):
    status: int
    body: Any


class Dispatch:
    """One POST that reached the agent."""

    def __init__(self, agent: "PlayedAgent", handler: BaseHTTPRequestHandler, body: Any) -> None:
        self.agent = agent
        self.handler = handler
        self.body = body
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.run_id: int = body["run_id"]
        self.task_id: int = body["task_id"]
        self.said: str = body["input"]["user_instruction"]
        self.proxy_url: str = body["odyssey_proxy_url"]
        self.token = self.headers["x-pipelines-run-token"]

    def answer(self, final_response: str = "Done.", **more: Any) -> None:
        self.answer_with(200, json.dumps({"final_response": final_response} | more).encode())

    def answer_with(
        self, status: int, body: bytes, content_type: str = "application/json", **headers: str
    ) -> None:
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", content_type)
        self.handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def call(self, tool: str, arguments: Any, base: str | None = None) -> ToolAnswer:
        """One tool call through the run's proxy, or through another node's."""
        return call_tool(base or self.proxy_url, self.token, tool, arguments)

    def reset(self) -> None:
        """Break the connection without a goodbye."""
        linger = struct.pack("ii", 1, 0)
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.handler.connection.close()

    def until_let_go(self) -> None:
        assert self.agent.may_answer.wait(PATIENCE_S), "the test never let go of the dispatch"

    def until_it_hangs_up(self) -> None:
        self.handler.connection.settimeout(PATIENCE_S)
        with suppress(ConnectionError):
            while self.handler.connection.recv(65_536):
                pass
        self.agent.hung_up.append(self.run_id)


Behaviour = Callable[[Dispatch], None]


class PlayedAgent:
    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.dispatches: list[Dispatch] = []
        self.hung_up: list[int] = []
        self.most_at_once = 0
        self.may_answer = threading.Event()
        self._at_once = 0
        self._lock = threading.Lock()
        self._server = _Listening(("127.0.0.1", 0), _handler_of(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/dispatch"

    @property
    def runs_seen(self) -> Counter[int]:
        """How often each run was dispatched to it."""
        return Counter(dispatch.run_id for dispatch in list(self.dispatches))

    @property
    def at_once(self) -> int:
        return self._at_once

    def of_run(self, run_id: int) -> list[Dispatch]:
        return [dispatch for dispatch in list(self.dispatches) if dispatch.run_id == run_id]

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield
        finally:
            with self._lock:
                self._at_once -= 1

    def take(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        if body == {"ping": True}:
            _send(handler, 200, b'{"ok":true}')
            return
        with self._counted(), suppress(ConnectionError):
            dispatch = Dispatch(self, handler, body)
            self.dispatches.append(dispatch)
            self.behave(dispatch)


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a platform that hung up is what half of these tests are about


def _handler_of(agent: PlayedAgent) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            agent.take(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def played(behave: Behaviour) -> Iterator[PlayedAgent]:
    agent = PlayedAgent(behave)
    thread = threading.Thread(target=agent._server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield agent
    finally:
        agent.may_answer.set()
        agent._server.shutdown()
        agent._server.server_close()
        thread.join()


def call_tool(base: str, token: str, tool: str, arguments: Any) -> ToolAnswer:
    parts = urlsplit(base)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE_S)
    try:
        connection.request(
            "POST",
            f"{parts.path}/tools/{tool}",
            json.dumps(arguments),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        response = connection.getresponse()
        return ToolAnswer(response.status, json.loads(response.read()))
    finally:
        connection.close()


# -- what most agents do


def refunds(dispatch: Dispatch) -> None:
    """Do what the task asks: three calls, then the truth."""
    dispatch.call("get_order", {"order_id": "4521"})
    dispatch.call("refund_order", {"order_id": "4521"})
    dispatch.call("get_order", {"order_id": "4521"})
    dispatch.answer("I have refunded order 4521.")


def does_nothing(dispatch: Dispatch) -> None:
    dispatch.answer("I have looked into it.")


def holds(dispatch: Dispatch) -> None:
    """Keep the dispatch open until the test lets go, then do what was asked."""
    dispatch.until_let_go()
    refunds(dispatch)


def waits_for_the_end(dispatch: Dispatch) -> None:
    """Never answer; note when the platform hangs up."""
    dispatch.until_it_hangs_up()
