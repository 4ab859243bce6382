"""A service that nobody wrote for us: FastAPI's own document, found and called."""

import asyncio
import base64
from typing import Annotated

import pytest
import uvicorn
from fastapi import Cookie, FastAPI, File, Form, Header, Query, Response
from pydantic import BaseModel, Field

from pipelines.core.tools.live_tools import LiveCallFailed
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.http_openapi import http_openapi_endpoint
from pipelines.processes.pool import HelperProcesses

pytestmark = pytest.mark.anyio


class Line(BaseModel):
    sku: str
    count: int = Field(ge=1)


class Order(BaseModel):
    customer: str
    lines: list[Line]
    note: str | None = None


def made_app() -> FastAPI:
    app = FastAPI(title="Orders")
    orders: dict[int, Order] = {}

    @app.post("/orders", status_code=201, operation_id="add_order")
    async def add_order(order: Order) -> dict[str, int]:
        orders[len(orders) + 1] = order
        return {"id": len(orders)}

    @app.get("/orders/{order_id}", operation_id="get_order", responses={404: {"description": "None such"}})
    async def get_order(order_id: int, response: Response) -> Order | dict[str, str]:
        if order_id not in orders:
            response.status_code = 404
            return {"detail": "no such order"}
        return orders[order_id]

    @app.get("/echo/{name}", operation_id="echo")
    async def echo(
        name: str,
        tag: Annotated[list[str], Query()] = [],  # noqa: B006
        x_trace: Annotated[str | None, Header()] = None,
        theme: Annotated[str | None, Cookie()] = None,
    ) -> dict[str, object]:
        return {"name": name, "tag": tag, "trace": x_trace, "theme": theme}

    @app.post("/login", operation_id="log_in")
    async def log_in(
        user: Annotated[str, Form()], remember: Annotated[bool, Form()] = False
    ) -> dict[str, object]:
        return {"user": user, "remember": remember}

    @app.post("/upload", operation_id="upload")
    async def upload(file: Annotated[bytes, File()], title: Annotated[str, Form()]) -> dict[str, object]:
        return {"size": len(file), "title": title}

    @app.get("/page", operation_id="page")
    async def page() -> Response:
        return Response("<h1>Orders</h1>", media_type="text/html")

    return app


@pytest.fixture
async def service():
    server = uvicorn.Server(uvicorn.Config(made_app(), port=0, log_config=None, ws="none"))
    task = asyncio.create_task(server._serve())
    async with asyncio.timeout(20):
        while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@pytest.fixture
async def live(service):
    helpers = HelperProcesses()
    made = http_openapi_endpoint(
        config={"base_url": service, "spec_url": f"{service}/openapi.json"},
        auth_headers={},
        policy=AddressPolicy(allow_private=True),
        helpers=helpers,
    )
    yield made
    await made.close()
    helpers.end()


async def test_a_fastapi_service_is_found_and_called(live):
    discovery = await live.discover()
    tools = {tool.name: tool for tool in discovery.tools}
    assert list(tools) == ["add_order", "get_order", "echo", "log_in", "upload", "page"]
    assert discovery.notes == ()
    assert tools["add_order"].input_schema["required"] == ["customer", "lines"]

    order = {"customer": "Ada", "lines": [{"sku": "tea", "count": 2}], "note": None}

    async def call(tool, /, **arguments):
        reply = await live.call(tools[tool], arguments)
        return reply.status, reply.response

    assert await call("add_order", **order) == (201, {"id": 1})
    assert await call("get_order", order_id=1) == (200, order)
    assert await call("get_order", order_id=2) == (404, {"detail": "no such order"})
    status, refusal = await call("add_order", customer="Ada", lines=[{"sku": "tea", "count": 0}])
    assert (status, refusal["detail"][0]["loc"]) == (422, ["body", "lines", 0, "count"])
    echoed = {"name": "a b?é", "tag": ["x&y", "z"], "trace": "t-1", "theme": "dark"}
    arguments = {"name": "a b?é", "tag": ["x&y", "z"], "x-trace": "t-1", "theme": "dark"}
    assert await call("echo", **arguments) == (200, echoed)
    assert await call("log_in", user="ada & co", remember=True) == (
        200,
        {"user": "ada & co", "remember": True},
    )
    file = base64.b64encode(b"\x00\xff\r\n--x" * 100).decode()
    assert await call("upload", file=file, title="é") == (200, {"size": 700, "title": "é"})
    assert await call("page") == (200, "<h1>Orders</h1>")
    with pytest.raises(LiveCallFailed, match=r"`order_id` is part of the path and must be given"):
        await call("get_order")
