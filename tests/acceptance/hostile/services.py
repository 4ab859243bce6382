"""A service of the tenant's own, behind a real socket."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Service(BaseHTTPRequestHandler):
    """Answers whatever it is asked with what stands at its path."""

    protocol_version = "HTTP/1.1"
    answers: dict[str, bytes]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = self.answers.get(self.path.partition("?")[0].strip("/").partition("/")[0], b"{}")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def service(answers: dict[str, bytes]) -> Iterator[str]:
    handler = type("Service", (_Service,), {"answers": answers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
