"""The services of bench/passthrough.py, each in a process of its own: prints its port, and serves.

python bench/live_things.py http SECONDS_OF_LATE | mcp
"""

import asyncio
import socket
import sys
from typing import Any

ANSWER = b'{"id":"1","status":"there"}'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER)


async def serve_http(late_s: float) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if b" /late/" in head:
                    await asyncio.sleep(late_s)
                writer.write(HEAD + ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def serve_mcp() -> None:
    import mcp_types as types
    import uvicorn
    from mcp.server import Server

    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    text = types.TextContent(type="text", text=ANSWER.decode())

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="thing", input_schema=schema)])

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[text])

    server: Any = Server("things", on_list_tools=list_tools, on_call_tool=call_tool)
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    app = server.streamable_http_app(json_response=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    if sys.argv[1] == "http":
        asyncio.run(serve_http(float(sys.argv[2])))
    else:
        serve_mcp()
