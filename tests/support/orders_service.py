"""A small shop's HTTP service with its OpenAPI document, on a socket of its own: what tools are passed to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ORDER_ID = {"name": "order_id", "in": "path", "required": True, "schema": {"type": "string"}}
SPEC: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Orders", "version": "1"},
    "paths": {
        "/orders/{order_id}": {
            "get": {
                "operationId": "get_order",
                "summary": "An order by its id.",
                "parameters": [ORDER_ID],
                "responses": {"200": {"description": "It."}},
            }
        },
        "/orders/{order_id}/refund": {
            "post": {
                "operationId": "refund_order",
                "parameters": [ORDER_ID],
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {"type": "object", "properties": {"amount": {"type": "number"}}}
                        }
                    }
                },
                "responses": {"200": {"description": "Done."}},
            }
        },
        "/slow": {"get": {"operationId": "slow", "responses": {"200": {"description": "Late."}}}},
        "/broken": {"get": {"operationId": "broken", "responses": {"200": {"description": "Never."}}}},
        "/page": {"get": {"operationId": "page", "responses": {"200": {"description": "A page."}}}},
    },
}


class OrdersService:
    def __init__(self) -> None:
        self.orders: dict[str, dict[str, Any]] = {
            "1": {"order_id": "1", "status": "shipped", "amount": 12.5},
            "2": {"order_id": "2", "status": "paid", "amount": 80},
        }
        self.asked: list[str] = []  # method and path of every request
        self.entered = threading.Event()  # somebody waits for /slow
        self.open = threading.Event()  # and gets its answer
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spec(self) -> str:
        return json.dumps(SPEC)

    def answer(self, path: str, body: Any, headers: Any) -> tuple[int, str, Any]:
        if path == "/slow":
            self.entered.set()
            self.open.wait(30)
            return 200, "application/json", {"late": True}
        if path == "/broken":
            return 302, "text/plain", "elsewhere"
        if path == "/page":
            return 200, "text/html", f"<p>hello {headers.get('authorization', 'nobody')}</p>"
        _, _, order_id, *refund = path.split("/")
        order = self.orders.get(order_id)
        if order is None:
            return 404, "application/json", {"error": "no such order"}
        if refund:
            order |= {"status": "refunded", "refund": (body or {}).get("amount")}
        return 200, "application/json", order


@contextmanager
def orders_service() -> Iterator[OrdersService]:
    service = OrdersService()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            service.asked.append(f"{self.command} {self.path}")
            size = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(size) or b"null")
            status, kind, answer = service.answer(self.path, body, self.headers)
            raw = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.open.set()
        server.shutdown()
        server.server_close()
        thread.join()
