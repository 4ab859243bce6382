"""MCP servers over real sockets: one made with the `mcp` package itself, and one by hand to misbehave."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from raw_agents import Caller, Request

OBJECT = {"type": "object", "properties": {"text": {"type": "string"}}}


@dataclass
class Desk:
    """What the package's server does, and what it saw."""

    tools: list[types.Tool]
    page: int = 100  # tools on one
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    headers: list[dict[str, str]] = field(default_factory=list)
    ports: set[int] = field(default_factory=set)  # from which it was called
    port: int = 0
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        start = int(params.cursor) if params is not None and params.cursor else 0
        end = start + self.page
        following = str(end) if end < len(self.tools) else None
        return types.ListToolsResult(tools=self.tools[start:end], next_cursor=following)

    async def call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        self.calls.append((params.name, arguments))
        self.headers.append(dict(ctx.request.headers))
        self.ports.add(ctx.request.client.port)
        handler = getattr(self, f"do_{params.name}", None)
        if handler is None:
            return text("unknown tool", is_error=True)
        result: types.CallToolResult = await handler(ctx, arguments)
        return result

    async def do_echo(self, ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
        return text(arguments.get("text", ""))

    async def do_structured(self, ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
        return types.CallToolResult(
            content=[types.TextContent(type="text", text="as text")], structured_content={"given": arguments}
        )

    async def do_fails(self, ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
        return text('{"reason": "no such order"}', is_error=True)

    async def do_raises(self, ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
        raise types_error("sold out")

    async def do_waits(self, ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
        self.started.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return text("went on")

    async def do_progresses(self, ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
        for step in range(int(arguments["steps"])):
            await asyncio.sleep(float(arguments["each_s"]))
            await ctx.session.report_progress(step + 1)
        return text("done")


def types_error(message: str) -> Exception:
    from mcp.shared.exceptions import MCPError

    return MCPError(code=types.INVALID_PARAMS, message=message)


def text(words: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)], is_error=is_error)


def tool(name: str, **more: Any) -> types.Tool:
    return types.Tool(name=name, description=f"does {name}", input_schema=more.pop("schema", OBJECT), **more)


def made_desk(*names: str) -> Desk:
    given = names or ("echo", "structured", "fails", "raises", "waits", "progresses")
    return Desk(tools=[tool(name) for name in given])


@asynccontextmanager
async def package_server(desk: Desk, *, port: int = 0, json_response: bool = False) -> AsyncIterator[Desk]:
    server: Server[Any] = Server(
        "desk",
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_subscriptions_listen=ListenHandler(desk.bus),
    )
    app = server.streamable_http_app(json_response=json_response)
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    started = asyncio.Event()
    start_up = running.startup

    async def startup(*given: Any, **more: Any) -> None:
        await start_up(*given, **more)
        started.set()

    running.startup = startup  # type: ignore[method-assign]
    serving = asyncio.create_task(running.serve())
    await started.wait()
    desk.port = running.servers[0].sockets[0].getsockname()[1]
    try:
        yield desk
    finally:
        desk.go_on.set()
        running.should_exit = True
        await serving


# Hand-written: the earlier protocol, a request a connection


Step = Callable[[Caller, Request, dict[str, Any]], Awaitable[None]]
INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "raw", "version": "1"},
}


@dataclass
class RawMcp:
    """Answers as it should, but for the methods that are given."""

    steps: dict[str, Step] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=lambda: [{"name": "echo", "inputSchema": OBJECT}])
    sessions: int = 0  # opened
    came: asyncio.Event = field(default_factory=asyncio.Event)  # a tool was called
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)  # a session

    async def serve(self, caller: Caller, request: Request) -> None:
        if request.line.startswith("GET"):
            await self.steps.get("GET", self.no_stream)(caller, request, {})
            return
        if request.line.startswith("DELETE"):
            self.closed.set()
            await caller.answer(200, b"")
            return
        message = request.json()
        self.messages.append(message)
        if message["method"] == "tools/call":
            self.came.set()
        default = getattr(self, "on_" + message["method"].replace("/", "_"), self.unknown)
        await self.steps.get(message["method"], default)(caller, request, message)

    async def no_stream(self, caller: Caller, request: Request, message: dict[str, Any]) -> None:
        await caller.answer(405, b"")

    async def unknown(self, caller: Caller, request: Request, message: dict[str, Any]) -> None:
        if "id" not in message:
            await caller.answer(202, b"")
            return
        error = {"code": -32601, "message": "no such method"}
        await caller.answer_json({"jsonrpc": "2.0", "id": message["id"], "error": error}, 400)

    async def on_initialize(self, caller: Caller, request: Request, message: dict[str, Any]) -> None:
        self.sessions += 1
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": INITIALIZED}).encode()
        session = f"Mcp-Session-Id: session-{self.sessions}"
        await caller.answer(200, body, "Content-Type: application/json", session)

    async def on_notifications_cancelled(
        self, caller: Caller, request: Request, message: dict[str, Any]
    ) -> None:
        self.cancelled.set()
        await caller.answer(202, b"")

    async def on_tools_list(self, caller: Caller, request: Request, message: dict[str, Any]) -> None:
        await answer(caller, message, {"tools": self.tools})

    async def on_tools_call(self, caller: Caller, request: Request, message: dict[str, Any]) -> None:
        await answer(caller, message, text_result(message["params"]["arguments"].get("text", "")))

    @property
    def calls(self) -> int:
        return sum(message["method"] == "tools/call" for message in self.messages)


def text_result(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


async def answer(caller: Caller, message: dict[str, Any], result: Any) -> None:
    await caller.answer_json({"jsonrpc": "2.0", "id": message["id"], "result": result})


def event(message: dict[str, Any]) -> bytes:
    return b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"


async def begin_events(caller: Caller) -> None:
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    await caller.send(head.encode())
