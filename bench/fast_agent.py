"""The agent of the run benchmark: three tool calls and an answer, with as little of its own cost as possible.

Run by uvicorn in a process of its own; tool calls go over kept-alive connections and are parsed by hand.
"""

import asyncio
import json
from typing import Any

CALLS = (
    ("get_order", {"order_id": "4521"}),
    ("refund_order", {"order_id": "4521"}),
    ("get_order", {"order_id": "4521"}),
)
_idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    asked = json.loads(body)
    if asked == {"ping": True}:
        reply: dict[str, Any] = {"ok": True}
    else:
        token = dict(scope["headers"])[b"x-pipelines-run-token"]
        for name, arguments in CALLS:
            await call(asked["odyssey_proxy_url"], token, name, arguments)
        reply = {"final_response": "I have refunded order 4521."}
    encoded = json.dumps(reply).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(encoded)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": encoded})


async def call(base: str, token: bytes, name: str, arguments: dict[str, Any]) -> Any:
    host, _, path = base.removeprefix("http://").partition("/")
    address, _, port = host.partition(":")
    while _idle and _idle[-1][0].at_eof():  # the server has closed it while no run was under way
        _idle.pop()
    reader, writer = _idle.pop() if _idle else await asyncio.open_connection(address, int(port))
    body = json.dumps(arguments).encode()
    head = f"POST /{path}/tools/{name} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Authorization: Bearer " + token + b"\r\n\r\n" + body)
    answered = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(answered.split(b"content-length:")[1].split(b"\r\n")[0])
    reply = json.loads(await reader.readexactly(length))
    _idle.append((reader, writer))
    return reply["response"]
