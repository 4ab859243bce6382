"""MCP servers over real sockets: one made with the `mcp` package itself, and hand-written ones that misbehave."""

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
    serving = asyncio.create_task(running.serve())
    while not running.started:
        await asyncio.sleep(0.01)
    desk.port = running.servers[0].sockets[0].getsockname()[1]
    try:
        yield desk
    finally:
        desk.go_on.set()
        running.should_exit = True
        await serving
