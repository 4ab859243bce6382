"""The one session of an MCP endpoint: shared, opened when it is needed, replaced when it was lost."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.live_tools import LiveCallFailed
from pipelines.core.tools.mcp_answers import quote
from pipelines.outbound.mcp.exchange import Exchange
from pipelines.outbound.mcp.target import McpTarget

if TYPE_CHECKING:
    from pipelines.outbound.mcp.session import McpSession, Negotiated
    from pipelines.outbound.mcp.transports import Way

MISSING = "MCP servers are called with the package mcp: pip install 'pipelines-odyssey[mcp]'"

CHANGED = "the endpoint was changed or removed while it was called; call again"


class McpOutcome(NamedTuple):
    """What came of one request: a result, or a reason."""

    result: JsonObject | None = None
    reason: str = ""  # the rest of a sentence about the server
    is_surely_unsent: bool = False  # it was not acted upon, so it may be sent again
    is_unknown: bool = False  # it may have been acted upon


class PooledSession:
    def __init__(self, target: McpTarget, tools_changed: Callable[[], None]) -> None:
        self._target = target
        self._tools_changed = tools_changed
        self._held: McpSession | None = None
        self._opening: asyncio.Task[McpSession] | None = None
        self._way: Way | None = None  # that led there, and what was agreed on then
        self._negotiated: Negotiated | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def session(self) -> "McpSession":
        """Raises HopFailed. Who comes while one is opened waits for that one."""
        if self._is_closed:
            raise LiveCallFailed(CHANGED)
        if self._held is not None and self._held.is_alive:
            return self._held
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(self._on_opened)
        opening = self._opening
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            if opening.cancelled():  # by `close`, not whoever waits
                raise LiveCallFailed(CHANGED) from None
            raise

    async def ask(
        self,
        session: "McpSession",
        exchange: Exchange,
        request: "Callable[[McpSession, Exchange], Awaitable[JsonObject]]",
    ) -> McpOutcome:
        from pipelines.outbound.mcp.session import Refused, SessionGone

        try:
            return McpOutcome(result=await request(session, exchange))
        except SessionGone:
            answer = _session_gone(exchange, await self._end_reason())
            self._drop_session(session)
            return answer
        except Refused as error:
            answer = _request_refused(exchange, str(error))
        if answer.is_surely_unsent or not session.is_alive:
            self._drop_session(session)
        return answer

    async def _end_reason(self) -> str:
        return "" if self._way is None else await self._way.why()

    async def close(self) -> None:
        self._is_closed = True
        if self._opening is not None:
            self._opening.cancel()
            with suppress(asyncio.CancelledError, LiveCallFailed):
                await self._opening
        if self._held is not None:
            self._drop_session(self._held)
        await asyncio.gather(*self._leaving, return_exceptions=True)

    def _on_opened(self, opening: "asyncio.Task[McpSession]") -> None:
        self._opening = None
        if not opening.cancelled() and opening.exception() is None:
            self._held = opening.result()

    def _drop_session(self, session: "McpSession") -> None:
        """Of others too, once they are done with it."""
        if self._held is session:
            self._held = None
        leaving = asyncio.create_task(session.close())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def _open(self) -> "McpSession":
        self._target.check()
        try:
            ways = await asyncio.to_thread(_ways, self._target)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            raise LiveCallFailed(MISSING) from None
        if self._way is not None:
            ways = [self._way, *(way for way in ways if way.name != self._way.name)]
        reasons: list[str] = []
        for way in ways:
            session = await self._open_way(way, reasons)
            if session is not None:
                return session
        self._way = self._negotiated = None
        words = await ways[0].why()
        raise LiveCallFailed(f"the MCP server {_joined(reasons)}", notes=(words,) if words else ())

    async def _open_way(self, way: "Way", reasons: list[str]) -> "McpSession | None":
        from pipelines.outbound.mcp.session import McpSession, NotOpened

        befores = [self._negotiated, None] if self._way is way and self._negotiated else [None]
        reason = ""
        for before in befores:
            session = McpSession(way.transport(), before, self._tools_changed, way.opens_within_s)
            try:
                self._negotiated = await session.open()
            except NotOpened as error:
                words = await way.why()
                reason = f"did not begin: {quote(words)}" if words else str(error)
                continue
            self._way = way
            return session
        reasons.append(reason if way.is_only else f"{reason} (at {way.name})")
        return None


def _ways(target: McpTarget) -> "list[Way]":
    """On a thread: the first time, this loads the package."""
    from pipelines.outbound.mcp import session, transports  # noqa: F401 - loaded here for all

    return transports.ways_to(target)


def _session_gone(exchange: Exchange, words: str) -> McpOutcome:
    reason = exchange.fault or "ended the session before there was an answer"
    reason = f"{reason}: {quote(words)}" if words else reason
    return McpOutcome(reason=reason, is_surely_unsent=not exchange.is_sent, is_unknown=exchange.is_sent)


def _request_refused(exchange: Exchange, words: str) -> McpOutcome:
    """A status of 404 says that the session is not known (400, with some servers), so nothing was called."""
    is_lost = exchange.status == 404 or (exchange.status == 400 and "session" in words.lower())
    if exchange.fault is None:
        return McpOutcome(reason=f"refused the call: {words}", is_surely_unsent=is_lost)
    is_answered = exchange.status is not None and exchange.status >= 300
    is_unknown = exchange.is_sent and not is_answered
    return McpOutcome(
        reason=exchange.fault, is_surely_unsent=is_lost or not exchange.is_sent, is_unknown=is_unknown
    )


def _joined(reasons: list[str]) -> str:
    return "; it ".join(dict.fromkeys(reasons))
