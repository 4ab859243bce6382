"""A service with tools on a socket of its own, and the endpoint that asks it: for tests of what is around it.

Its protocol is of the tests' own, and as small as it can be: `GET /tools` lists tools, `POST /tools/NAME`
calls one. Tools may be changed while it runs.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import httpx2

from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.live_tools import (
    DiscoveredTool,
    Discovery,
    EndpointValues,
    LiveCallFailed,
    LiveReply,
)

Row = dict[str, Any]


def listed(name: str, description: str = "", **properties: str) -> Row:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"name": name, "description": description, "input_schema": schema}


class Service:
    def __init__(self) -> None:
        self.tools: list[Row] = [
            listed("get_order", "An order by its id.", order_id="string"),
            listed("ping", "Whether it is there."),
        ]
        self.notes: list[str] = []
        self.is_down = False
        self.headers: list[dict[str, str]] = []  # of every request
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        if self.is_down:
            return 599, "secret words"
        if path == "/tools":
            return 200, {"tools": self.tools, "notes": self.notes}
        name = path.rpartition("/")[2]
        if name == "get_order" and body.get("order_id") == "404":
            return 404, {"error": "no such order"}
        return 200, {"tool": name, "arguments": body, "sent": self.headers[-1].get("authorization")}


@contextmanager
def served() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.headers.append({key.lower(): value for key, value in self.headers.items()})
            size = int(self.headers.get("content-length", 0))
            status, answer = service.answer(self.path, json.loads(self.rfile.read(size) or b"null"))
            raw = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class ServiceEndpoint:
    """A LiveEndpoint over the protocol above."""

    opened: ClassVar[list["ServiceEndpoint"]] = []

    def __init__(self, values: EndpointValues) -> None:
        self.values = values
        base = str(values.config.get("base_url") or values.config.get("url"))
        self._client = httpx2.AsyncClient(base_url=base, headers=dict(values.auth_headers))
        self.is_closed = False
        ServiceEndpoint.opened.append(self)

    async def discover(self) -> Discovery:
        body = (await self._asked("GET", "/tools")).json()
        tools = tuple(
            DiscoveredTool(call={"path": f"/tools/{each['name']}"}, **each) for each in body["tools"]
        )
        return Discovery(tools=tools, notes=tuple(body["notes"]))

    async def call(self, tool: DiscoveredTool, arguments: JsonObject) -> LiveReply:
        response = await self._asked("POST", str(tool.call["path"]), arguments)
        return LiveReply(response.status_code, response.json(), ("asked once",))

    async def close(self) -> None:
        self.is_closed = True
        await self._client.aclose()

    async def _asked(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        sent = self.values.auth_headers.get("Authorization", "nothing")
        try:
            response = await self._client.request(method, path, json=body)
        except httpx2.HTTPError as error:
            raise LiveCallFailed(f"The service cannot be reached: {type(error).__name__}.") from error
        if response.status_code == 599:
            raise LiveCallFailed(f"The service is down; it was sent {sent}.", notes=(f"sent {sent}",))
        return response
