"""The proxy for a sandbox: HTTP on a connection that belongs to one run.

The connection identifies the run. Only the token of this run and the paths of the proxy work; all other
tokens and paths are answered as if they did not exist.
"""

import asyncio
import hashlib
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from pipelines.core.code.redaction import Redaction
from pipelines.engine.access.hide_secrets import without_secrets
from pipelines.engine.code.run_code import Visitor
from pipelines.processes.pool import HelperProcesses
from pipelines.server.errors import reply_to
from pipelines.server.http.http_protocol import OneWriteProtocol
from pipelines.server.http.open_connections import ConnectionLimits, OpenConnections
from pipelines.server.proxy.proxy import Proxy, Receive, Scope, Send
from pipelines.server.proxy.rate_window import Pace
from pipelines.server.proxy.sandbox_models import ModelDoor
from pipelines.wire.errors import InvalidRunToken, NotFound, OdysseyError
from pipelines.wire.names import HEADER_RUN_TOKEN, MAX_BODY_BYTES, MODELS_BASE, PROXY_BASE

IDLE_S = 3_600  # a connection lives as long as its run at most; until then the agent may think
_MODEL_PATHS = f"{MODELS_BASE}/".encode()
_TOKEN_HEADERS = (b"authorization", HEADER_RUN_TOKEN.lower().encode())


class RunDoor:
    def __init__(self, proxy: Proxy, models: ModelDoor, helpers: HelperProcesses) -> None:
        self._proxy = proxy
        self._models = models
        self._helpers = helpers
        self._state = ServerState()
        self._config = uvicorn.Config(
            _Nothing(),
            http=OneWriteProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_S,
        )
        self._config.load()

    def __call__(self, visitor: Visitor) -> Callable[[socket.socket], Awaitable[None]]:
        """The handler of one run's connections, which share one pace."""
        one_run = _OneRun(self._proxy, self._models, self._helpers, visitor)
        connections = self._proxy.pace()

        async def serve(connection: socket.socket) -> None:
            await _in_turn(connections)
            await self._serve(connection, one_run)

        return serve

    async def _serve(self, connection: socket.socket, app: "_OneRun") -> None:
        """Serves the connection until one side closes it or the run ends."""
        loop = asyncio.get_running_loop()
        protocol = _Protocol(self._config, self._state, {}, loop)
        protocol.gone = loop.create_future()
        protocol.app = app
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
        except BaseException:
            connection.close()
            raise
        try:
            await protocol.gone
        finally:
            transport.abort()


class _Protocol(OneWriteProtocol):
    gone: asyncio.Future[None]

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self.gone.done():
            self.gone.set_result(None)


class _OneRun:
    """The part of the proxy that one run may use."""

    def __init__(self, proxy: Proxy, models: ModelDoor, helpers: HelperProcesses, visitor: Visitor) -> None:
        self._proxy = proxy
        self._models = models
        self._helpers = helpers
        self._visitor = visitor
        self._requests = proxy.pace()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        await _in_turn(self._requests)
        if scope["raw_path"].startswith(_MODEL_PATHS):
            await self._models(scope, receive, send, self._visitor.models)
        elif not scope["path"].startswith(f"{PROXY_BASE}/"):
            await _refuse(send, NotFound(f"From a sandbox, only {PROXY_BASE} is reachable."))
        elif not self._is_its_own(scope["headers"]):
            await _refuse(send, InvalidRunToken())
        elif self._visitor.redaction:
            hidden = self._visitor.redaction
            await self._proxy(_redacted(scope, hidden), self._redacting(receive), send)
        else:
            await self._proxy(scope, receive, send)

    def _redacting(self, receive: Receive) -> Receive:
        """Redacts the body as one piece, because a secret may span two chunks. Refuses bodies over the
        limit."""
        visitor = self._visitor

        async def received() -> Any:
            parts: list[bytes] = []
            size = 0
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return message
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                more = message.get("more_body", False)
                if size > MAX_BODY_BYTES:  # nothing of it is read but that
                    return {"type": "http.request", "body": bytes(size), "more_body": more}
                if not more:
                    body = await without_secrets(
                        b"".join(parts), visitor.redaction, helpers=self._helpers, owner=visitor.org_id
                    )
                    return {"type": "http.request", "body": body, "more_body": False}

        return received

    def _is_its_own(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether every token of the request belongs to this run, not only the one that the proxy would
        use."""
        sent = [value.strip() for name, value in headers if name in _TOKEN_HEADERS]
        bare = [value[7:].strip() if value[:7].lower() == b"bearer " else value for value in sent]
        digests = {hashlib.sha256(token).hexdigest() for token in bare}
        return digests == {self._visitor.token_hash}


async def _in_turn(pace: Pace) -> None:
    """Slows down a program that keeps sending requests beyond its rate limit, because each refused request
    still costs time of the event loop."""
    wait_s = pace.wait_s()
    if wait_s:
        await asyncio.sleep(wait_s)


def _redacted(scope: Scope, hidden: Redaction) -> Scope:
    """Redacts the names of tools and actors too, because they appear in the trace."""
    headers = [
        (name, value if name in _TOKEN_HEADERS else hidden.bytes(value)) for name, value in scope["headers"]
    ]
    return {**scope, "path": hidden.text(scope["path"]), "headers": headers}


async def _refuse(send: Send, error: OdysseyError) -> None:
    reply = reply_to(error)
    headers = [(name.encode(), value.encode()) for name, value in reply.headers.items()]
    length = (b"content-length", str(len(reply.body)).encode())
    await send({"type": "http.response.start", "status": reply.status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": reply.body})


class _Nothing:
    """A placeholder: uvicorn needs an application at setup, but each connection gets its own."""

    def __init__(self) -> None:
        # The sandbox itself limits the number of its connections.
        self.open_connections = OpenConnections(ConnectionLimits(fresh_s=IDLE_S))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Never called."""
