"""A fake proxy over real HTTP: serves many runs, keeps every request, and fails where a check needs it.

It is more lenient than the platform: it also answers a call with a wrong token, so
that one mistake of a wrapper is found once and not in every check.
"""

import json
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from ...wire.names import (
    HEADER_IDEMPOTENCY_KEY,
    HEADER_RUN_TOKEN,
    HEADER_SOURCE,
    MAX_BODY_BYTES,
    PROXY_BASE,
    Source,
)
from .worlds import World, WorldMaker

IDLE_S = 30.0  # a client that connects and sends nothing does not keep a thread for ever


class ProxyReply(NamedTuple):
    status: int
    body: dict[str, Any]
    headers: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenRequest:
    """One request that reached the proxy."""

    method: str
    path: str
    token: str | None
    idempotency_key: str | None
    body: bytes
    arrived: float  # time.monotonic()
    tool: str | None = None  # when it is a tool call
    number: int = 0  # 1 for the run's first tool call

    @property
    def arguments(self) -> Any:
        """None when the body is no JSON."""
        try:
            return json.loads(self.body) if self.body else {}
        except ValueError:
            return None

    @property
    def what(self) -> tuple[str | None, str]:
        """Equal for a call and its repetition."""
        return self.tool, json.dumps(self.arguments, sort_keys=True)


class Peer:
    """The agent's end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def is_gone(self) -> bool:
        with suppress(OSError, ValueError):
            readable = select.select([self._connection], [], [], 0)[0]
            return bool(readable) and self._connection.recv(1, socket.MSG_PEEK) == b""
        return True


@dataclass(kw_only=True, slots=True)
class FakeRun:
    jti: str
    token: str = field(repr=False)
    world: World
    disturb: "Disturbance | None" = None
    is_decoy: bool = False  # its proxy is handed out only to see whether a call comes
    requests: list[SeenRequest] = field(default_factory=list)
    is_answered: threading.Event = field(default_factory=threading.Event)  # its dispatch has ended

    @property
    def calls(self) -> list[SeenRequest]:
        return [request for request in list(self.requests) if request.tool is not None]

    @property
    def others(self) -> list[SeenRequest]:
        """What is neither a tool call nor something else that the proxy takes."""
        return [request for request in list(self.requests) if request.tool is None]


#: What happens to a tool call instead of the world's answer; None lets the world answer. It may take long.
Disturbance = Callable[[FakeRun, SeenRequest, Peer], ProxyReply | None]


class FakeProxy:
    def __init__(
        self, make_world: WorldMaker, *, host: str = "127.0.0.1", port: int = 0, url: str | None = None
    ) -> None:
        self._make_world = make_world
        self._lock = threading.Lock()
        self._runs: dict[str, FakeRun] = {}
        self._by_token: dict[str, FakeRun] = {}
        self.mixed: list[str] = []  # every call that belongs to another run than it says
        #: Too large to be anything else: where it shows up, an envelope was passed on.
        self.canary = 7_000_000_000 + secrets.randbelow(1_000_000_000)
        self._server = _QuietServer((host, port), _make_handler(self))
        self._url = (url or f"http://{host}:{self._server.server_address[1]}").rstrip("/")

    @contextmanager
    def serving(self) -> Iterator["FakeProxy"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def open_run(self, disturb: Disturbance | None = None, *, is_decoy: bool = False) -> FakeRun:
        run = FakeRun(
            jti=secrets.token_hex(16),
            token=f"conformance-{secrets.token_urlsafe(24)}",
            world=self._make_world(),
            disturb=disturb,
            is_decoy=is_decoy,
        )
        with self._lock:
            self._runs[run.jti] = run
            self._by_token[run.token] = run
        return run

    def url_of(self, run: FakeRun) -> str:
        return f"{self._url}{PROXY_BASE}/runs/{run.jti}"

    def take(self, request: SeenRequest, peer: Peer) -> ProxyReply:
        run, rest = self._run_of(request)
        if run is None:
            return _error(404, "not_found", "There is no such run.")
        if request.method == "GET" and rest == "/tools":
            return ProxyReply(200, {"items": run.world.tools()})
        if request.method == "POST" and rest.startswith("/traces/"):
            return ProxyReply(200, {"accepted": True, "sequence": 1, "event_type": rest[8:]})
        is_call = request.method == "POST" and rest.startswith("/tools/") and len(rest) > 7
        request = self._record_request(run, request, unquote(rest[7:]) if is_call else None)
        if request.tool is None:
            return _error(404, "not_found", "The proxy has tools/{tool_name} and traces/{event_type}.")
        reply = run.disturb(run, request, peer) if run.disturb is not None else None
        return reply or self._answered(run, request)

    def _run_of(self, request: SeenRequest) -> tuple[FakeRun | None, str]:
        """The run by its path, as on the platform; else by its token, for a call with a wrong path."""
        start = request.path.find(PROXY_BASE + "/")
        if start < 0:
            return self._by_token.get(request.token or ""), ""
        rest = request.path[start + len(PROXY_BASE) :]
        parts = rest.split("/", 3)
        if len(parts) == 4 and parts[1] == "runs" and parts[2] in self._runs:
            return self._runs[parts[2]], "/" + parts[3]
        return self._by_token.get(request.token or ""), rest

    def _record_request(self, run: FakeRun, request: SeenRequest, tool: str | None) -> SeenRequest:
        with self._lock:
            kept = replace(request, tool=tool, number=len(run.calls) + 1 if tool else 0)
            run.requests.append(kept)
            owner = self._by_token.get(request.token or "")
            if owner is not None and owner is not run and not run.is_decoy:
                self.mixed.append(f"a call of run {run.jti[:8]} came with the token of run {owner.jti[:8]}")
            elif run.is_answered.is_set():
                self.mixed.append(f"a call came to run {run.jti[:8]} after its dispatch had ended")
        return kept

    def _answered(self, run: FakeRun, request: SeenRequest) -> ProxyReply:
        assert request.tool is not None
        arguments = request.arguments
        answered = run.world.answer(request.tool, arguments if isinstance(arguments, dict) else {})
        return self.envelope(request.tool, answered.status, answered.response)

    def envelope(
        self, tool: str, status: int, response: Any, source: Source = Source.ODYSSEY, rule: int | None = None
    ) -> ProxyReply:
        body = {
            "tool_name": tool,
            "response": response,
            "source": source.value,
            "latency_ms": self.canary,
            "matched_rule_index": rule,
        }
        if source is Source.ODYSSEY:
            body["validation"] = {"ok": True, "attempts": 1, "errors": []}
        return ProxyReply(status, body, {HEADER_SOURCE: source.value})


def busy(status: int, code: str, retry_after_s: int) -> ProxyReply:
    """The reply for a temporary condition of the platform, which a wrapper should retry."""
    error = {"code": code, "message": "Wait and try again.", "retryable": True}
    return ProxyReply(status, {"error": error, "retryable": True}, {"Retry-After": str(retry_after_s)})


def _error(status: int, code: str, message: str) -> ProxyReply:
    return ProxyReply(status, {"error": {"code": code, "message": message}})


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent: a check looks for agents that hang up."""


def _make_handler(proxy: FakeProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # head and body in one packet
        timeout = IDLE_S

        def any_method(self) -> None:
            token = self.headers.get("Authorization") or ""
            is_bearer = token[:7].lower() == "bearer "
            request = SeenRequest(
                method=self.command,
                path=self.path.partition("?")[0],
                token=token[7:].strip() if is_bearer else self.headers.get(HEADER_RUN_TOKEN),
                idempotency_key=self.headers.get(HEADER_IDEMPOTENCY_KEY),
                body=_body(self),
                arrived=time.monotonic(),
            )
            self._send(proxy.take(request, Peer(self.connection)))

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = any_method

        def _send(self, reply: ProxyReply) -> None:
            raw = json.dumps(reply.body).encode()
            self.send_response(reply.status)
            headers = {"Content-Type": "application/json", "Content-Length": str(len(raw))}
            # Closed after each reply, so that nothing of a visit outlives it.
            for name, value in (headers | dict(reply.headers) | {"Connection": "close"}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Silent: the report lists the requests."""

    return Handler


def _body(handler: BaseHTTPRequestHandler) -> bytes:
    if "chunked" not in (handler.headers.get("Transfer-Encoding") or "").lower():
        length = handler.headers.get("Content-Length") or "0"
        return handler.rfile.read(min(int(length), MAX_BODY_BYTES)) if length.isdigit() else b""
    parts: list[bytes] = []
    while (size := int(handler.rfile.readline(100).split(b";")[0], 16)) > 0:
        parts.append(handler.rfile.read(min(size, MAX_BODY_BYTES)))
        handler.rfile.readline(100)
    while handler.rfile.readline(1_000).strip():  # trailers
        pass
    return b"".join(parts)
