"""A wrapper that keeps every rule, in parts that a test replaces by broken ones.

The agent behind it looks up the order that the prompt names, and tells its status.
"""

import hmac
import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

TOKEN = "agent-token-1"
Json = Any


class Refusal(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Dispatch(NamedTuple):
    body: dict[str, Json]
    headers: dict[str, str]
    prompt: str
    proxy_url: str
    token: str


class ToolReply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Json


class GoodWrapper:
    tool_timeout_s = 60.0
    tries = 4
    serves_at_once = True

    def handle(self, raw: bytes, headers: dict[str, str]) -> tuple[int, Json]:
        self.authenticate(headers)
        body = self.parse(raw)
        if body == {"ping": True}:
            return 200, self.pong()
        return 200, self.answer(self.read(body, headers))

    def authenticate(self, headers: dict[str, str]) -> None:
        given = headers.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(given, f"Bearer {TOKEN}".encode()):
            raise Refusal(401, "who are you?")

    def parse(self, raw: bytes) -> Json:
        try:
            body = json.loads(raw.decode())
        except ValueError:
            raise Refusal(400, "no JSON") from None
        if not isinstance(body, dict):
            raise Refusal(400, "no object")
        return body

    def pong(self) -> Json:
        return {"ok": True}

    def read(self, body: dict[str, Json], headers: dict[str, str]) -> Dispatch:
        payload = body.get("input")
        proxy_url = self.proxy_url(body, headers)
        token = headers.get("x-pipelines-run-token")
        if not proxy_url or not token:
            raise Refusal(400, "no proxy URL or token")
        return Dispatch(body, headers, self.prompt(body, payload), proxy_url.rstrip("/"), token)

    def proxy_url(self, body: dict[str, Json], headers: dict[str, str]) -> str | None:
        return body.get("odyssey_proxy_url") or headers.get("x-pipelines-odyssey-proxy-url")

    def prompt(self, body: dict[str, Json], payload: Json) -> str:
        return str(payload.get("user_instruction", "")) if isinstance(payload, dict) else ""

    def answer(self, dispatch: Dispatch) -> Json:
        messages: list[Json] = [{"role": "user", "content": dispatch.prompt}]
        final = "Which order?"
        if order := re.search(r"\d{3,}", dispatch.prompt):
            arguments = {"order_id": order[0]}
            result = self.call(dispatch, "get_order", arguments)
            call = {"id": "c1", "name": "get_order", "arguments": arguments}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": "c1", "content": json.dumps(result)})
            final = f"Order {order[0]}: {result.get('status', 'unknown') if isinstance(result, dict) else ''}"
        return self.envelope(final, [*messages, {"role": "assistant", "content": final}])

    def envelope(self, final: str, messages: list[Json]) -> Json:
        return {"final_response": final, "messages": messages, "metadata": {"model": "rules"}}

    def call(self, dispatch: Dispatch, tool: str, arguments: dict[str, Json]) -> Json:
        for attempt in range(self.tries):
            reply = self.post(dispatch, tool, arguments)
            if attempt + 1 == self.tries or not self.is_retried(reply):
                break
            time.sleep(float(reply.headers.get("retry-after", "0")))
        return self.unwrap(reply)

    def is_retried(self, reply: ToolReply) -> bool:
        return bool(reply.body.get("retryable"))

    def unwrap(self, reply: ToolReply) -> Json:
        return reply.body.get("response", reply.body)

    def post(self, dispatch: Dispatch, tool: str, arguments: dict[str, Json]) -> ToolReply:
        parts = urlsplit(self.url_of(dispatch, tool))
        connection = http.client.HTTPConnection(parts.netloc, timeout=self.tool_timeout_s)
        try:
            body, headers = self.request(dispatch, tool, arguments)
            connection.request("POST", parts.path, body, headers)
            response = connection.getresponse()
            sent = {name.lower(): value for name, value in response.getheaders()}
            return ToolReply(response.status, sent, json.loads(response.read()))
        finally:
            connection.close()

    def url_of(self, dispatch: Dispatch, tool: str) -> str:
        return f"{dispatch.proxy_url}/tools/{tool}"

    def request(self, dispatch: Dispatch, tool: str, arguments: Json) -> tuple[str, dict[str, str]]:
        return json.dumps(arguments), {"Authorization": f"Bearer {dispatch.token}"}


class _Threads(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


class _OneAtATime(HTTPServer):
    request_queue_size = 64


@contextmanager
def serving(wrapper: GoodWrapper) -> Iterator[str]:
    """The wrapper behind a real socket; a fault in it is a 500, as frameworks have it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                status, body = wrapper.handle(raw, headers)
            except Refusal as refusal:
                status, body = refusal.status, {"detail": str(refusal)}
            except Exception as error:  # noqa: BLE001 - what a framework does
                status, body = 500, {"detail": type(error).__name__}
            sent = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = (_Threads if wrapper.serves_at_once else _OneAtATime)(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/dispatch"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
