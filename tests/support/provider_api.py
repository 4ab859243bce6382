"""A provider's API on loopback whose answers are written down, byte for byte where a test wants that."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose

USED = (120, 18)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


class Got(NamedTuple):
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Reply(NamedTuple):
    status: int = 200
    body: Any = None  # bytes go out as they are, anything else as JSON
    headers: tuple[tuple[str, str], ...] = ()
    cut_at: int | None = None  # so many bytes of the body, and then nothing
    delay_s: float = 0.0
    hangs: bool = False


class PlayedProvider:
    def __init__(self, replies: Sequence[Reply | Callable[[Got], Reply]]) -> None:
        self._replies = [*replies]
        self.got: list[Got] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                got = await _read(reader)
                self.got.append(got)
                reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
                reply = reply(got) if callable(reply) else reply
                if not await _send(writer, reader, reply):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Got:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Got(head[0].split(" ")[1], headers, json.loads(body or b"{}"))


async def _send(writer: asyncio.StreamWriter, reader: asyncio.StreamReader, reply: Reply) -> bool:
    if reply.hangs:
        await reader.read(1)  # until the other side gives up
        return False
    await asyncio.sleep(reply.delay_s)
    body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    lines = [f"HTTP/1.1 {reply.status} Played", f"Content-Length: {len(body)}"]
    if not any(name == "Content-Type" for name, _ in reply.headers):
        lines.append("Content-Type: application/json")
    lines += [f"{name}: {value}" for name, value in reply.headers]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body[: reply.cut_at])
    await writer.drain()
    return reply.cut_at is None


@asynccontextmanager
async def played(*replies: Reply | Callable[[Got], Reply]) -> AsyncIterator[PlayedProvider]:
    provider = PlayedProvider(replies)
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield provider
    finally:
        server.close()


def chat(text: str | None, *, finish: str = "stop", refusal: str | None = None, usage: bool = True) -> Reply:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body: dict[str, Any] = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "local",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }
    counts = {"prompt_tokens": USED[0], "completion_tokens": USED[1], "total_tokens": sum(USED)}
    return Reply(body=body | ({"usage": counts} if usage else {}))


def responses(text: str) -> Reply:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "m", "status": "completed", "role": "assistant", "content": [part]}
    return Reply(
        body={
            "id": "r1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "gpt-5-mini",
            "output": [message],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": USED[0],
                "output_tokens": USED[1],
                "total_tokens": sum(USED),
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }
    )


def messages(text: str, *, stop: str = "end_turn") -> Reply:
    return Reply(
        body={
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": stop,
            "usage": {"input_tokens": USED[0], "output_tokens": USED[1]},
        }
    )


def refused(status: int, message: str = "no", **headers: str) -> Reply:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Reply(status=status, body={"error": {"message": message, "type": "x"}}, headers=named)


def question(text: str = "How many orders?", schema: dict[str, Any] | None = None) -> ModelQuestion:
    return ModelQuestion(
        purpose=Purpose.JUDGE,
        prompt_version="test/1",
        system="Count.",
        messages=(ModelMessage(role="user", content=text),),
        schema=SCHEMA if schema is None else schema,
    )
