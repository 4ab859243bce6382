"""A model's API on loopback, played: what it answers is chosen by the model that is asked for."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

Row = dict[str, Any]
METADATA_ADDRESS = "http://169.254.169.254/latest/meta-data"
USAGE: Row = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


class Question(NamedTuple):
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name), None)

    @property
    def json(self) -> Row:
        found: Row = json.loads(self.body)
        return found


class PlayedModel:
    """Asked over real sockets. `asked` has what came; `open` counts connections."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.open = 0
        self.most_open = 0
        self.url = ""
        self._go = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            question = await _question(reader)
            self.asked.append(question)
            await self._answer(question, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _answer(
        self, question: Question, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if question.method == "GET":
            self._go.set()
            await _reply(writer, 200, {"object": "list", "data": []})
            return
        name = str(question.json.get("model", "")).replace("-", "_")
        play: Callable[..., Awaitable[None]] = getattr(self, f"play_{name}", self.play_chat)
        await play(question, reader, writer)

    async def play_chat(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        """Says what it was told; refunds an order by a tool call, where it is given tools."""
        if question.json.get("stream"):
            await self._stream(writer, question.json)
            return
        if question.target.endswith("/messages"):
            content = [{"type": "text", "text": "hello"}]
            usage = {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 3}
            await _reply(writer, 200, {"model": "claude-x", "content": content, "usage": usage})
            return
        message = _next_message(question.json)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
        await _reply(writer, 200, {**_chat(question.json), "choices": [choice], "usage": USAGE})

    async def _stream(self, writer: asyncio.StreamWriter, body: Row) -> None:
        """The first word at once; the rest when somebody has asked for the list of models."""
        self._go.clear()
        await _begin_events(writer)
        await _event(writer, {**_chat(body), "usage": None, "choices": [_delta("first")]})
        await self._go.wait()
        await _event(writer, {**_chat(body), "usage": None, "choices": [_delta(" then")]})
        await _event(writer, {**_chat(body), "usage": USAGE, "choices": []})
        await _chunk(writer, b"data: [DONE]\n\n")
        await _chunk(writer, b"")

    async def play_quick_stream(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        await _begin_events(writer)
        await _event(writer, {**_chat(question.json), "usage": USAGE, "choices": [_delta("hi")]})
        await _chunk(writer, b"")

    async def play_echo(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        """All that it was sent, as a careless upstream shows it in its errors."""
        told = {"headers": question.headers, "target": question.target, "body": question.body.decode()}
        more = f"x-request-id: {question.header('authorization')}\r\nset-cookie: a=b\r\nx-other: 1\r\n"
        await _reply(writer, 400, told, more)

    async def play_slow_echo(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        """Its key letter by letter, each in a piece of its own."""
        await _begin_events(writer)
        for letter in f"data: {question.header('authorization')} end\n\n":
            await _chunk(writer, letter.encode())
            await asyncio.sleep(0)
        await _chunk(writer, b"")

    async def play_silent(self, question: Question, reader: asyncio.StreamReader, writer: Any) -> None:
        await reader.read(1)  # until whoever asked is gone

    async def play_endless(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        await _begin_events(writer)
        while True:
            await _chunk(writer, b"data: {}\n\n" * 100)

    async def play_trickle(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        await _begin_events(writer)
        while True:
            await _chunk(writer, b":")
            await asyncio.sleep(0.01)

    async def play_redirect(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        await _reply(writer, 307, {}, f"location: {METADATA_ADDRESS}\r\n")

    async def play_limited(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        error = {"error": {"message": "Slow down.", "type": "rate_limit_error"}}
        await _reply(writer, 429, error, "retry-after: 7\r\nx-ratelimit-remaining-requests: 0\r\n")

    async def play_down(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        await _reply(writer, 529, {"error": {"message": "Overloaded."}})

    async def play_large(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n")
        await writer.drain()
        await reader.read(1)

    async def play_zipped(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        await _reply(writer, 200, {}, "content-encoding: gzip\r\n")

    async def play_broken(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
        await writer.drain()

    async def play_odd(self, question: Question, reader: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-nothing\r\n")
        await writer.drain()


def _chat(body: Row) -> Row:
    return {"id": "c-1", "object": "chat.completion", "created": 1, "model": body.get("model")}


def _delta(text: str) -> Row:
    return {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}


def _next_message(body: Row) -> Row:
    """A refund of order 4521 by the tool of that name, then a word about it; else an echo."""
    messages = body.get("messages") or [{"content": ""}]
    names = [tool["function"]["name"] for tool in body.get("tools") or ()]
    if "refund_order" not in names:
        return {"content": f"you said: {messages[-1]['content']}"}
    is_done = messages[-1]["role"] == "tool" or "Observation" in str(messages[-1]["content"])
    if is_done and "final_answer" not in names:
        return {"content": "I have refunded order 4521."}
    function = {"name": "refund_order", "arguments": '{"order_id": "4521"}'}
    if is_done:  # smolagents end by a tool of their own
        function = {"name": "final_answer", "arguments": '{"answer": "I have refunded order 4521."}'}
    return {"content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": function}]}


async def _question(reader: asyncio.StreamReader) -> Question:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Question(method, target, headers, await reader.readexactly(length))


async def _reply(writer: asyncio.StreamWriter, status: int, body: Row, more: str = "") -> None:
    raw = json.dumps(body).encode()
    head = (
        f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n{more}\r\n"
    )
    writer.write(head.encode() + raw)
    await writer.drain()


async def _begin_events(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    await writer.drain()


async def _event(writer: asyncio.StreamWriter, body: Row) -> None:
    await _chunk(writer, b"data: " + json.dumps(body).encode() + b"\n\n")


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))
    await writer.drain()


@asynccontextmanager
async def played_model() -> AsyncIterator[PlayedModel]:
    """In the loop of the test."""
    model = PlayedModel()
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        server.close()


@contextmanager
def model_beside() -> Iterator[PlayedModel]:
    """In a thread of its own."""
    ready = threading.Event()
    found: list[PlayedModel] = []
    loop = asyncio.new_event_loop()
    end = asyncio.Event()

    async def serve() -> None:
        async with played_model() as model:
            found.append(model)
            ready.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
