"""One session with an MCP server, held by the client of the `mcp` package.

Importing this imports that package, which takes a second: `mcp_server` does it late, and on a thread.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, cast

import mcp_types as types
from mcp.client import Client, Transport
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter, ValidationError

from pipelines import __version__
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.mcp_answers import quote
from pipelines.outbound.mcp.check_results import NotAsMcp, check_result, told_of
from pipelines.outbound.mcp.exchange import EXCHANGE, Exchange, in_thread
from pipelines.outbound.mcp.large_results import is_taken

CLOSES_WITHIN_S = 10.0
MOST_OPENING_BYTES = 64 * 1024  # the package reads it on the loop
_LOST = ("Connection closed", "SSE stream ended")  # the package's own words where a connection is lost
_CLIENT = types.Implementation(name="pipelines-odyssey", version=__version__)
_AS_SENT = cast("TypeAdapter[BaseModel]", TypeAdapter(dict[str, Any]))  # checked by the package, not remade

# They log what servers send, with whatever secret is in it.
for _name in ("mcp", "client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Refused(Exception):
    """The server answered a request with an error, or with what is no result; the message is for people."""


class SessionGone(Exception):
    """The session has ended: nothing can be sent on it."""


class NotOpened(Exception):
    """There is no session; the message is the rest of a sentence about the server."""


class Negotiated(NamedTuple):
    """What was agreed on once, so that the next session need not ask again."""

    version: str
    discovered: types.DiscoverResult | None  # None: by the handshake of the earlier versions

    @property
    def mode(self) -> str:
        return "legacy" if self.discovered is None else self.version


def _opening(read_s: float | None) -> Exchange:
    return Exchange(most_bytes=MOST_OPENING_BYTES, read_s=read_s, light_from=MOST_OPENING_BYTES)


class McpSession:
    """Used by many calls at once; `open`, then `close`."""

    def __init__(
        self,
        transport: Transport,
        before: Negotiated | None,
        tools_changed: Callable[[], None],
        opens_within_s: float,
    ) -> None:
        self._client = Client(
            transport,
            mode="auto" if before is None else before.mode,
            prior_discover=None if before is None else before.discovered,
            message_handler=self._on_message,
            client_info=_CLIENT,
            cache=None,
        )
        self._tools_changed = tools_changed
        self._opening = _opening(opens_within_s)
        self._opens_within_s = opens_within_s
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = loop.create_future()
        self._closing = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._users = 0

    async def open(self) -> Negotiated:
        """Raises NotOpened. Cancelled, it leaves nothing behind."""
        self._holder = asyncio.create_task(self._hold())
        try:
            async with asyncio.timeout(self._opens_within_s):
                await asyncio.shield(self._opened)
        except TimeoutError:
            await self._end()
            raise NotOpened(
                self._opening.fault or f"did not begin within {self._opens_within_s:g} s"
            ) from None
        except BaseException:
            await self._end()
            raise
        session = self._client.session
        assert session.protocol_version is not None
        return Negotiated(session.protocol_version, session.discover_result)

    @property
    def is_alive(self) -> bool:
        return self._opened.done() and self._holder is not None and not self._holder.done()

    async def list_tools(self, cursor: str | None, exchange: Exchange) -> JsonObject:
        params = types.PaginatedRequestParams(cursor=cursor)
        return await self._ask(types.ListToolsRequest(params=params), exchange)

    async def call_tool(
        self,
        name: str,
        arguments: JsonObject,
        schema: JsonObject,
        exchange: Exchange,
        on_progress: Callable[[], None],
    ) -> JsonObject:
        async def progress_callback(progress: float, total: float | None, message: str | None) -> None:
            on_progress()

        if self._is_modern and find_invalid_x_mcp_header(schema) is None:
            exchange.headers = mcp_param_headers(x_mcp_header_map(schema), arguments)
        params = types.CallToolRequestParams(name=name, arguments=arguments)
        return await self._ask(types.CallToolRequest(params=params), exchange, progress_callback)

    def complaint_of_schema(self, schema: Json) -> str | None:
        """Why the protocol forbids to call a tool with this schema."""
        return find_invalid_x_mcp_header(schema) if self._is_modern else None

    async def close(self) -> None:
        """When nobody uses it any more."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSES_WITHIN_S):
                await self._idle.wait()
        await self._end()

    @property
    def _is_modern(self) -> bool:
        return self._client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _ask(
        self,
        request: types.ClientRequest,
        exchange: Exchange,
        progress_callback: ProgressFnT | None = None,
    ) -> JsonObject:
        if not self.is_alive:
            raise SessionGone
        EXCHANGE.set(exchange)
        self._users += 1
        self._idle.clear()
        try:
            sent = self._client.session.send_request(request, _AS_SENT, progress_callback=progress_callback)
            return await self._with_taken_result(cast("JsonObject", await sent), request.method, exchange)
        except MCPError as error:
            if _is_lost(error) and exchange.status is None:
                raise SessionGone from None  # else only the answer ended
            exchange.fault = exchange.fault or _own_fault(error, exchange)
            raise Refused(quote(f"{error.message} (code {error.code})")) from None
        except ValidationError as error:
            exchange.fault = told_of(error)
            raise Refused from None
        except NotAsMcp as error:
            exchange.fault = str(error)
            raise Refused from None
        except RuntimeError:  # the session ended while this was about to be sent
            raise SessionGone from None
        finally:
            exchange.is_over = True
            self._users -= 1
            if not self._users:
                self._idle.set()

    async def _with_taken_result(self, result: JsonObject, method: str, exchange: Exchange) -> JsonObject:
        """With what was taken out of it, once that has been checked as the package checks the rest."""
        if not is_taken(result):
            return result
        taken_result, exchange.result = exchange.result, None
        if taken_result is None:
            raise NotAsMcp("answered with the result of another request")
        version = self._client.protocol_version
        await in_thread(check_result, taken_result, method, version)
        return taken_result

    # The task that holds it: what the package opens must be closed by the task that opened it

    async def _hold(self) -> None:
        EXCHANGE.set(self._opening)
        listening: asyncio.Task[None] | None = None
        try:
            async with self._client:
                listening = asyncio.create_task(self._listen())
                self._opened.set_result(None)
                try:
                    await self._closing.wait()
                finally:
                    listening.cancel()
                    await asyncio.gather(listening, return_exceptions=True)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - groups of whatever its parts ran into; told to who opens it
            if not self._opened.done():
                self._opened.set_exception(NotOpened(self._opening.fault or _why(error)))

    async def _listen(self) -> None:
        """In the later protocol a server only tells those who ask."""
        capabilities = self._client.server_capabilities.tools
        if not self._is_modern or capabilities is None or not capabilities.list_changed:
            return
        EXCHANGE.set(_opening(None))
        with suppress(MCPError, SubscriptionLost, RuntimeError, TimeoutError):
            async with self._client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._tools_changed()

    async def _on_message(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._tools_changed()

    async def _end(self) -> None:
        self._closing.set()
        if self._holder is None:
            return
        if not self._opened.done():
            self._holder.cancel()
        done, _ = await asyncio.wait({self._holder}, timeout=CLOSES_WITHIN_S)
        if not done:
            self._holder.cancel()
            await asyncio.wait({self._holder}, timeout=CLOSES_WITHIN_S)
        if self._opened.done() and not self._opened.cancelled():
            self._opened.exception()  # heard, also where nobody waits for it any more


def _is_lost(error: MCPError) -> bool:
    """Whether the package says so. Servers give the same code to errors of their own: it is the first of
    those that JSON-RPC leaves to them."""
    return error.code == types.CONNECTION_CLOSED and error.message.startswith(_LOST)


def _own_fault(error: MCPError, exchange: Exchange) -> str | None:
    """Errors that the package makes up where no answer could be read."""
    if _is_lost(error):
        return "ended its answer before it was whole"
    if error.code == types.PARSE_ERROR and error.message.startswith("Failed to parse"):
        return "answered with a message that is not JSON-RPC"
    return None


def _why(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return f"refused to begin: {quote(error.message)} (code {error.code})"
    if isinstance(error, ValidationError):
        return told_of(error)
    return f"could not be begun with: {quote(str(error)) or type(error).__name__}"
