"""MCP over the input and output of a program: a JSON message a line."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError

from pipelines.core.code.held_commands import CannotStart, Command, OpenPipes, Pipes
from pipelines.core.text.json_text import InvalidJson, dumps, loads
from pipelines.outbound.mcp.exchange import EXCHANGE, Exchange, in_thread
from pipelines.outbound.mcp.large_results import LARGE_BYTES, lighten

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams  # only for reading: no name that stays

MOST_LINE_BYTES = 2 * 1024 * 1024 + 64 * 1024
MOST_LINES = 2_000  # in a second; also those that are no messages, which some print by mistake


#: By the id of the request, as long as somebody waits for the answer.
_Waiting = WeakValueDictionary[str, Exchange]


class PipeWay:
    """Starts the program for each session; `why` has how the last one ended."""

    def __init__(self, command: Command, open_pipes: OpenPipes) -> None:
        self._command = command
        self._open_pipes = open_pipes
        self._why = ""
        self._lines: _Lines | None = None  # of the last one

    async def why(self) -> str:
        if not self._why and self._lines is not None:
            self._why = await self._lines.why()
        return self._why

    @asynccontextmanager
    async def transport(self) -> AsyncIterator["TransportStreams"]:
        self._why, self._lines = "", None
        try:
            async with self._open_pipes(self._command) as pipes:
                waiting_exchanges: _Waiting = WeakValueDictionary()
                self._lines = lines = _Lines(pipes, waiting_exchanges)
                try:
                    yield lines, _Writer(pipes, waiting_exchanges)
                finally:
                    if lines is self._lines and lines.has_ended:  # while it can still be asked
                        await self.why()
        except CannotStart as error:
            self._why = str(error)
            raise


class _Closing:
    async def aclose(self) -> None:
        """The pipes are closed with the program."""

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return None


class _Lines(_Closing):
    def __init__(self, pipes: Pipes, waiting_exchanges: _Waiting) -> None:
        self._pipes = pipes
        self._exchanges = waiting_exchanges
        self._waiting: list[bytes] = []
        self._begun = b""
        self._second, self._count = 0, 0
        self._complaint = ""
        self.has_ended = False

    async def why(self) -> str:
        return self._complaint or await self._pipes.why()

    async def __aenter__(self) -> "_Lines":
        return self

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            while self._waiting:
                message = await self._message(self._waiting.pop())
                if message is not None:
                    return message
            if self._complaint or not await self._read():
                self.has_ended = True
                raise StopAsyncIteration

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _read(self) -> bool:
        data = await self._pipes.read()
        *whole, self._begun = (self._begun + data).split(b"\n") if b"\n" in data else (self._begun + data,)
        self._waiting = whole[::-1]
        if len(self._begun) > MOST_LINE_BYTES:
            self._complaint = f"it printed a line of more than {MOST_LINE_BYTES:,} bytes"
        second = int(time.monotonic())
        self._count = len(whole) + (self._count if second == self._second else 0)
        self._second = second
        if self._count > MOST_LINES:
            self._complaint = f"it printed more than {MOST_LINES:,} lines in a second"
        return bool(data) and not self._complaint

    async def _message(self, line: bytes) -> SessionMessage | None:
        if len(line) <= LARGE_BYTES:
            return _read_message(line)
        try:
            message = await in_thread(loads, line)
        except InvalidJson:
            return None
        if not isinstance(message, dict):
            return None
        exchange = None if "method" in message else self._exchanges.get(str(message.get("id")))
        if exchange is not None and len(line) <= exchange.light_from:
            return _read_message(line)
        light = lighten(message)
        if exchange is not None:
            exchange.result = light.result
        return None if light.message is None else _read_message(dumps(light.message))


def _read_message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:  # a word for people among the messages
        return None


class _Writer(_Closing):
    def __init__(self, pipes: Pipes, waiting_exchanges: _Waiting) -> None:
        self._pipes = pipes
        self._exchanges = waiting_exchanges

    async def __aenter__(self) -> "_Writer":
        return self

    async def send(self, item: SessionMessage, /) -> None:
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        exchange = EXCHANGE.get()
        exchange.is_sent = True
        if isinstance(item.message, JSONRPCRequest):
            self._exchanges[str(item.message.id)] = exchange
        try:
            await self._pipes.write(line)
        except OSError:
            exchange.is_sent = False  # the line did not get to its end, so nobody has read it
            raise anyio.BrokenResourceError from None
