"""Code endpoints on a loop of the kind that the server uses, in a thread of its own."""

import asyncio
import textwrap
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.live_tools import DiscoveredTool, Discovery, LiveCallFailed, LiveReply
from pipelines.engine.code.code_endpoint import CodeEndpoint, code_endpoint
from pipelines.engine.workspaces.code_mode import CodeMode
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.sandbox.environments import Environments
from pipelines.sandbox.pool import SandboxPool

T = TypeVar("T")


async def local_names(host: str, port: int) -> Sequence[str]:
    """Every name leads to this machine."""
    return ["127.0.0.1"]


class Desk:
    def __init__(self, folder: Path, make_pool: Callable[[], SandboxPool] = SandboxPool) -> None:
        self.folder = folder
        self._make_pool = make_pool
        self.loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.mode: CodeMode = self.do(self._made())
        self._opened: list[CodeEndpoint] = []
        self._kept: list[CodeEndpoint] = []
        self._tools: dict[int, dict[str, DiscoveredTool]] = {}

    async def _made(self) -> CodeMode:
        return CodeMode(
            self._make_pool,
            lambda pool: Environments(self.folder / "environments", python=pool.python.executable),
            folder=self.folder / "code",
        )

    def do(self, work: Coroutine[Any, Any, T], within_s: float = 120) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(within_s)

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def endpoint(
        self,
        source: str | Mapping[str, str],
        *,
        secrets: Mapping[str, str] | None = None,
        org_id: int = 1,
        longest_s: float = 20.0,
        policy: AddressPolicy | None = None,
        is_kept: bool = False,
        **config: Any,
    ) -> CodeEndpoint:
        code: JsonObject = (
            {"source": textwrap.dedent(source)} if isinstance(source, str) else {"files": dict(source)}
        )
        if secrets:
            config.setdefault("env_vars", sorted(secrets))

        async def made() -> CodeEndpoint:
            return code_endpoint(
                config=code | config,
                secrets=secrets or {},
                org_id=org_id,
                code_mode=self.mode,
                policy=policy or AddressPolicy(allow_private=True),
                resolver=local_names,
                longest_s=longest_s,
            )

        endpoint = self.do(made())
        (self._kept if is_kept else self._opened).append(endpoint)
        return endpoint

    def discovered(self, endpoint: CodeEndpoint) -> Discovery:
        return self.do(endpoint.discover())

    def tool(self, endpoint: CodeEndpoint, name: str) -> DiscoveredTool:
        if id(endpoint) not in self._tools:
            self._tools[id(endpoint)] = {tool.name: tool for tool in self.discovered(endpoint).tools}
        return self._tools[id(endpoint)][name]

    def call(self, endpoint: CodeEndpoint, name: str, /, **arguments: Any) -> LiveReply:
        return self.do(endpoint.call(self.tool(endpoint, name), arguments))

    def response(self, endpoint: CodeEndpoint, name: str, /, **arguments: Any) -> Any:
        return self.call(endpoint, name, **arguments).response

    def failure(self, endpoint: CodeEndpoint, name: str, /, **arguments: Any) -> LiveCallFailed:
        try:
            reply = self.call(endpoint, name, **arguments)
        except LiveCallFailed as failed:
            return failed
        raise AssertionError(f"it answered {reply}")

    def close_endpoints(self) -> None:
        for endpoint in self._opened:
            self.do(endpoint.close())
            self._tools.pop(id(endpoint), None)
        self._opened.clear()

    def stop(self) -> None:
        self._opened += self._kept
        self.close_endpoints()
        self.do(self.mode.close())
        self.do(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"{self.headers['Host']} {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def local_server() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
