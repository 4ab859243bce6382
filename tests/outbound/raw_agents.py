"""Agents of a few lines over real sockets: each takes one request and then goes wrong in its own way."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

REPLY = {"final_response": "Refunded."}


@dataclass(frozen=True, kw_only=True)
class Request:
    line: str
    headers: dict[str, str]  # lower-case names
    raw_head: str
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Caller:
    """The platform's side of one connection, as the agent sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, status: int, body: bytes, *headers: str) -> None:
        length = f"Content-Length: {len(body)}"
        head = [f"HTTP/1.1 {status} Whatever", length, "Connection: close", *headers]
        await self.send("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    async def answer_json(self, value: Any, status: int = 200) -> None:
        await self.answer(status, json.dumps(value).encode(), "Content-Type: application/json")

    async def until_it_hangs_up(self) -> None:
        while await self.reader.read(65_536):
            pass

    def reset(self) -> None:
        """Break the connection without a goodbye."""
        self.writer.transport.abort()


Script = Callable[[Caller, Request], Awaitable[None]]


@dataclass
class RawAgent:
    port: int
    scheme: str
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)  # a caller has hung up

    def url(self, host: str = "127.0.0.1", path: str = "/dispatch") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"


async def read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *rest = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in rest)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(line=line, headers=headers, raw_head=head, body=body)


@asynccontextmanager
async def raw_agent(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawAgent]:
    handlers: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        agent.connections += 1
        try:
            request = await read_request(reader)
            agent.requests.append(request)
            agent.asked.set()
            await script(Caller(reader, writer), request)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the platform hung up first
        finally:
            agent.left.set()
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        handlers.add(task)
        task.add_done_callback(handlers.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    agent = RawAgent(port=server.sockets[0].getsockname()[1], scheme="http" if tls is None else "https")
    try:
        yield agent
    finally:
        server.close()
        for task in list(handlers):
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)


async def replies(caller: Caller, request: Request) -> None:
    await caller.answer_json(REPLY)


def answers(status: int, body: bytes, *headers: str) -> Script:
    async def script(caller: Caller, request: Request) -> None:
        await caller.answer(status, body, *headers)

    return script


def sends(data: bytes) -> Script:
    """Raw bytes, then the connection is closed."""

    async def script(caller: Caller, request: Request) -> None:
        await caller.send(data)

    return script


async def hangs(caller: Caller, request: Request) -> None:
    await caller.until_it_hangs_up()


async def answers_too_late(caller: Caller, request: Request) -> None:
    await caller.until_it_hangs_up()
    await caller.answer_json(REPLY)


async def resets_at_once(caller: Caller, request: Request) -> None:
    caller.reset()


async def resets_in_the_middle(caller: Caller, request: Request) -> None:
    await caller.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"final_')
    caller.reset()


async def closes_in_the_middle(caller: Caller, request: Request) -> None:
    await caller.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"final_')


async def trickles(caller: Caller, request: Request) -> None:
    """A byte now and then, for ever: each read is quick, the whole never ends."""
    await caller.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not caller.writer.is_closing():
        await caller.send(b"1\r\n \r\n")
        await asyncio.sleep(0.01)


async def fails_and_never_ends(caller: Caller, request: Request) -> None:
    await caller.send(b"HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\nTraceback")
    await caller.until_it_hangs_up()


async def sends_for_ever(caller: Caller, request: Request) -> None:
    await caller.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        await caller.send(b" " * 1_000_000)
