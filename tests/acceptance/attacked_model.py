"""The operator's model beside a server under attack: whoever asks chooses by the query how it answers."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

KEY = "sk-operators-own-0123456789abcdef"
SIZE = 12 * 1024 * 1024  # of an answer; 16 MiB are passed on
_USAGE = b'"usage":{"prompt_tokens":1,"completion_tokens":1}'
_EVENT = b'data: {"model":"m",' + _USAGE + b"}\n\n"

#: What a model can be brought to say, in pieces.
ANSWERS: dict[str, Callable[[], Iterator[bytes]]] = {
    "text": lambda: _pieces(b'{"model":"m","choices":["' + b"x" * SIZE + b'"]}'),
    "objects": lambda: _pieces(b'{"model":"m","choices":[' + b"{}," * 340_000 + b"1]," + _USAGE + b"}"),
    "usages": lambda: _pieces(b'{"usage":[' + b"{}," * 340_000 + b"1]}"),
    "key": lambda: _pieces((KEY.encode() + b" ") * (SIZE // len(KEY))),
    "events": lambda: _pieces(_EVENT * 60_000),
    "lines": lambda: _pieces(b"\n" * SIZE),
    "long events": lambda: _pieces((b'data: {"usage":{},"message":[' + b"{}," * 80_000 + b"1]}\n\n") * 40),
    "bytes": lambda: (b"x" for _ in range(20_000)),
}


def _pieces(whole: bytes) -> Iterator[bytes]:
    return (whole[at : at + 65_536] for at in range(0, len(whole), 65_536))


class _Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        left = int(self.headers.get("Content-Length", 0))
        while left > 0 and (part := self.rfile.read(min(left, 1 << 20))):
            left -= len(part)
        name = urlsplit(self.path).query.replace("_", " ")
        is_events = name in ("events", "lines", "long events", "bytes")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if is_events else "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in ANSWERS[name]() if name in ANSWERS else [json.dumps({"model": "m"}).encode()]:
            self.wfile.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever hangs up may."""


@contextmanager
def attacked_model() -> Iterator[dict[str, str]]:
    """The server's settings that name it."""
    server = _Server(("127.0.0.1", 0), _Model)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    base_url = f"http://127.0.0.1:{server.server_port}/v1"
    listed = {"local": {"kind": "openai", "base_url": base_url, "key_environment": "LOCAL_MODEL_KEY"}}
    try:
        yield {"PIPELINES_MODEL_GATEWAY": json.dumps(listed), "LOCAL_MODEL_KEY": KEY}
    finally:
        server.shutdown()
        server.server_close()
