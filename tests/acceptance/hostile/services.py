"""Services of the tenant's own, behind a real socket."""

import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Service(BaseHTTPRequestHandler):
    """Answers whatever it is asked with what stands at its path."""

    protocol_version = "HTTP/1.1"
    answers: dict[str, bytes]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(self.answers.get(self.path.partition("?")[0].strip("/").partition("/")[0], b"{}"))

    do_POST = do_PUT = do_GET

    def answer(self, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class _McpServer(_Service):
    """An MCP server whose tools are its shapes; what each gives is the result of a call, as JSON."""

    tools: list[Any]
    results: dict[str, bytes]
    as_events: bool

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if "id" not in message:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        result = self._result(message["method"], message.get("params") or {})
        raw = b'{"jsonrpc":"2.0","id":%d,"result":' % message["id"] + result + b"}"
        if self.as_events:
            self.answer(b"event: message\ndata: " + raw + b"\n\n", "text/event-stream")
        else:
            self.answer(raw)

    def _result(self, method: str, params: Any) -> bytes:
        if method == "tools/list":
            return json.dumps({"tools": self.tools}).encode()
        if method == "tools/call":
            return self.results[params["name"]]
        version = params.get("protocolVersion", "2025-06-18")
        told = {"protocolVersion": version, "capabilities": {"tools": {}}}
        return json.dumps(told | {"serverInfo": {"name": "n", "version": "1"}}).encode()

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever hangs up may."""


def service(answers: dict[str, bytes]) -> AbstractContextManager[str]:
    return _served(_Service, answers=answers)


def mcp_server(
    tools: list[Any], results: dict[str, bytes], *, as_events: bool
) -> AbstractContextManager[str]:
    return _served(_McpServer, tools=tools, results=results, as_events=as_events)


@contextmanager
def _served(kind: type[_Service], **more: Any) -> Iterator[str]:
    server = _Server(("127.0.0.1", 0), type("Served", (kind,), more))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
