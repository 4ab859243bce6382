"""A proxy played by the test behind a real socket: it answers as told, one reply after the other, and keeps
what it was sent."""

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from pipelines.odyssey import Envelope

TOKEN = "the-run-token"


class Reply(NamedTuple):
    status: int
    body: Any
    headers: tuple[tuple[str, str], ...] = ()


class Dropped(NamedTuple):
    """The connection breaks after the request was read."""


class Silence(NamedTuple):
    """No answer until the caller hangs up."""


class Asked(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Any
    connection: int  # which of the connections it came by


def tool_reply(response: Any, *, status: int = 200, source: str = "odyssey", **more: Any) -> Reply:
    body = {
        "tool_name": "get_order",
        "response": response,
        "source": source,
        "latency_ms": 1.0,
        "matched_rule_index": 0 if source == "injected" else None,
    }
    return Reply(status, body | more)


def injected(status: int) -> Reply:
    error = {"error": {"code": status, "message": "Payment processor unavailable"}}
    return tool_reply(error, status=status, source="injected")


def platform_error(status: int, code: str, *, retry_after_s: int | None = None) -> Reply:
    error = {"code": code, "message": f"what {code} means"}
    more = {} if retry_after_s is None else {"retryable": True}
    headers = () if retry_after_s is None else (("Retry-After", str(retry_after_s)),)
    return Reply(status, {"error": error | more} | more, headers)


RATE_LIMITED = platform_error(429, "rate_limited", retry_after_s=0)
STORAGE_AWAY = platform_error(503, "storage_unavailable", retry_after_s=0)
DONE = tool_reply({"status": "shipped"})
ACCEPTED = Reply(200, {"accepted": True, "sequence": 3, "event_type": "thinking"})


class ScriptedProxy:
    def __init__(self, *script: Reply | Dropped | Silence) -> None:
        self.script = list(script)
        self.asked: list[Asked] = []
        self.connections = 0
        self._lock = threading.Lock()
        self._server = _Listening(("127.0.0.1", 0), _handler_of(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def envelope(self) -> Envelope:
        return envelope_of(f"{self.url}/api/odyssey-proxy/runs/abc")

    @property
    def keys(self) -> list[str]:
        return [asked.headers["idempotency-key"] for asked in self.asked]

    def opened(self) -> int:
        with self._lock:
            self.connections += 1
            return self.connections

    def next_reply(self, asked: Asked) -> Reply | Dropped | Silence:
        with self._lock:
            self.asked.append(asked)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]


def envelope_of(url: str, **more: Any) -> Envelope:
    whole = {"run_id": 17, "task_id": 42, "agent_id": 8, "user_instruction": "Refund order 4521."} | more
    return Envelope(odyssey_proxy_url=url, run_token=TOKEN, run_token_jti="abc", **whole)


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # broken connections are what some of these tests are about


def _handler_of(proxy: ScriptedProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            self.number = proxy.opened()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = proxy.next_reply(Asked(self.path, headers, body, self.number))
            if isinstance(reply, Reply):
                self.answer(reply)
            elif isinstance(reply, Dropped):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
            else:
                self.connection.recv(1)
                self.close_connection = True

        def answer(self, reply: Reply) -> None:
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in (("Content-Length", str(len(content))), *reply.headers):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
            if ("Connection", "close") in reply.headers:
                self.close_connection = True

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler


@contextmanager
def scripted(*script: Reply | Dropped | Silence) -> Iterator[ScriptedProxy]:
    """The last reply of the script is given again to whoever asks once more."""
    proxy = ScriptedProxy(*script)
    thread = threading.Thread(target=proxy._server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy._server.shutdown()
        proxy._server.server_close()
        thread.join()
