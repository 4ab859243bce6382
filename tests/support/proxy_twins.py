"""Two servers in this process on equal state: one answers tool calls leanly, the other through ASGI alone.

They run on a loop in a thread of its own, and tests speak to them over real sockets.
"""

import asyncio
import itertools
import re
import shutil
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import uvicorn
import uvloop

from pipelines.cli.host.up import server_config
from pipelines.core.calls.tool_call import ToolCall
from pipelines.engine.calls.answer_tool_call import ToolCallAnswerer
from pipelines.engine.live.live_runs import LiveRun
from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
from pipelines.server.http.http_protocol import OneWriteProtocol
from pipelines.server.proxy.fast_proxy import LeanProxyProtocol
from pipelines.storage.database.trace_rows import log_of_run
from support.desk import ORDER_ID, STATE, TASK, TOOLS, Row, open_house, outage, tool

T = TypeVar("T")
PATIENCE_S = 20
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_DATE = re.compile(rb"\r\ndate: [^\r]*")
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)")
_LATENCY = re.compile(rb'"latency_ms":[0-9.e-]+')
RULED = TASK | {"failure_rules": [outage("search_inventory", n=1), outage("get_order", n=4, code=503)]}

RULE = "Only pending orders are closed."
RULED_TOOL = tool(
    "close_order",
    "Close an order.",
    ORDER_ID,
    ["order_id"],
    simulation=[
        {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
        {"require": "order.status == 'pending'", "else": {"status": 409, "error": "no"}, "rule": RULE},
        {"return": {"order_id": "args.order_id"}, "rule": RULE},
    ],
)


class TwinRun(NamedTuple):
    id: int
    token: str
    jti: str


class Served:
    """An application on a port."""

    def __init__(self, app: App, protocol: type[OneWriteProtocol], loop: "LoopThread") -> None:
        self.app = app
        self.loop = loop
        self.config = server_config(app, protocol)
        self.config.lifespan = "on"
        self.server = uvicorn.Server(self.config)
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = listener.getsockname()
        self.serving = loop.begin(self.server.serve(sockets=[listener]))
        try:
            self._answers()
        except BaseException:
            self.stop()  # a loop that something still runs on would never be closed
            raise

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _answers(self) -> None:
        with self.connect() as connection:  # taken once it has started
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert read_response(connection).startswith(b"HTTP/1.1 200")

    def connect(self) -> socket.socket:
        connection = socket.create_connection(self.address, timeout=PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def rows(self, run_id: int) -> list[Row]:
        """The log of a run but for when things happened; what is under way is stored first."""
        database = self.app.api.state.platform.database

        async def read() -> list[Row]:
            await database.write(lambda connection: None)
            stored = await database.read(lambda connection: list(log_of_run(connection, run_id)))
            return [row._asdict() | {"latency_ms": 0, "occurred_at": ""} for row in stored]

        return self.loop.run(read())

    def do(self, act: Callable[[], T]) -> T:
        """On the server's own loop."""

        async def acted() -> T:
            return act()

        return self.loop.run(acted())

    @property
    def tasks(self) -> int:
        return len(self.server.server_state.tasks)

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)

    def stop(self) -> None:
        self.server.should_exit = True
        self.serving.result(PATIENCE_S)


class HeldAnswers:
    """Answers tool calls when it is told to: what is under way until then can be looked at."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._answerer = served.app.proxy.answerer
        self._calls: list[tuple[LiveRun, ToolCall, Any]] = []
        self._arrived = threading.Semaphore(0)
        served.app.proxy.answerer = self  # type: ignore[assignment]

    def answer(self, live: LiveRun, call: ToolCall, answered: Any) -> None:
        self._calls.append((live, call, answered))
        self._arrived.release()

    answer_later = ToolCallAnswerer.answer_later

    @property
    def lives(self) -> list[LiveRun]:
        return [live for live, _, _ in self._calls]

    def wait(self) -> None:
        assert self._arrived.acquire(timeout=PATIENCE_S), "no call came in"

    def release(self) -> None:
        """Those that came in, and from now on all."""
        self._served.app.proxy.answerer = self._answerer
        calls, self._calls = self._calls, []
        self._served.do(lambda: [self._answerer.answer(*call) for call in calls])


class LoopThread:
    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, T]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        done: T = self.begin(work).result(PATIENCE_S * 3)
        return done

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        self._loop.close()


class Twins(NamedTuple):
    lean: Served
    asgi: Served
    runs: Iterator[TwinRun]
    key: str

    def served(self, way: str) -> Served:
        return self.lean if way == "lean" else self.asgi

    def fresh_run(self, *, is_warm: bool = True) -> TwinRun:
        """A run that nobody has called; a warm one is in memory on both sides."""
        run = next(self.runs)
        if is_warm:
            for served in (self.lean, self.asgi):
                converse(served, [f"GET /api/odyssey-proxy/tools HTTP/1.1\r\n{auth(run)}\r\n".encode()])
        return run


def auth(run: TwinRun) -> str:
    return f"Host: x\r\nAuthorization: Bearer {run.token}\r\n"


def call_of(run: TwinRun, tool: str, body: bytes = b'{"order_id":"4521"}') -> bytes:
    head = f"POST /api/odyssey-proxy/tools/{tool} HTTP/1.1\r\n{auth(run)}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@contextmanager
def twins(directory: Path, *, runs: int, **settings: Any) -> Iterator[Twins]:
    loop = LoopThread()
    try:
        first, second = directory / "lean", directory / "asgi"
        opened, key = loop.run(_prepared(first, runs))
        shutil.copytree(first, second)
        options = {"proxy_rate_limit": 0} | settings
        apps = [App(load_settings({}, data_dir=place, **options)) for place in (first, second)]
        with ExitStack() as started:
            lean, asgi = (
                started.enter_context(Served(app, protocol, loop))
                for app, protocol in zip(apps, (LeanProxyProtocol, OneWriteProtocol), strict=True)
            )
            yield Twins(lean, asgi, itertools.cycle(opened), key)
    finally:
        loop.close()


async def _prepared(directory: Path, runs: int) -> tuple[list[TwinRun], str]:
    async with open_house(directory) as house:
        agent = await house.owner.agent(tools_schema=[*TOOLS, RULED_TOOL])
        dataset = await house.owner.dataset(RULED | {"state": STATE}, agent_id=agent["id"])
        made = [await house.owner.open_run(agent["id"], dataset["task_ids"][0]) for _ in range(runs)]
        return [TwinRun(run.id, run.token, run.jti) for run in made], house.owner.key


def blanked(stream: bytes) -> bytes:
    """Responses without what differs between any two of them: the date, and the time that a call took."""
    done = b""
    while stream:
        head, gap, rest = stream.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        size = int(length[1]) if length and not rest.startswith(b"HTTP/1.1 ") else 0  # HEAD has no body
        body, stream = rest[:size], rest[size:]
        whole = len(body) == size
        body = _LATENCY.sub(b'"latency_ms":0', body)
        if whole and size:  # what is cut short keeps the length that it promised
            head = _LENGTH.sub(b"\r\ncontent-length: %d" % len(body), head)
        done += _DATE.sub(b"", head) + gap + body
    return done


def converse(served: Served, requests: list[bytes]) -> list[bytes]:
    """Each request once the one before it was answered; after a hang-up on a new connection."""
    answers = []
    connection = served.connect()
    for request in requests:
        connection.sendall(request)
        answer = read_response(connection)
        answers.append(answer)
        if not answer or b"\r\nconnection: close\r\n" in answer:
            connection.close()
            connection = served.connect()
    connection.close()
    return answers


def read_response(connection: socket.socket) -> bytes:
    """One response with its length in its head, or what came before the end."""
    before = data = b""
    while b"\r\n\r\n" not in data:
        part = _received(connection)
        if not part:
            return before + data
        data += part
        if data.startswith(CONTINUE):
            before, data = CONTINUE, data[len(CONTINUE) :]
    head, _, body = data.partition(b"\r\n\r\n")
    found = _LENGTH.search(head)
    missing = int(found[1]) - len(body) if found else 0
    while missing > 0 and (part := _received(connection)):
        data += part
        missing -= len(part)
    return before + data


def read_all(connection: socket.socket) -> bytes:
    data = b""
    while part := _received(connection):
        data += part
    return data


def _received(connection: socket.socket) -> bytes:
    with suppress(ConnectionResetError):
        return connection.recv(65536)
    return b""
