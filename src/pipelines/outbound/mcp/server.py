"""Calling tools of an MCP server: one session for all calls, opened when needed and again when it was lost.

A call is made again, once, only if it surely was not acted upon: no byte of it had gone out, or the server
did not know its session any more. Of any other that failed nobody knows, and the agent is told so.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from pipelines.core.code.held_commands import OpenPipes, Use
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.live_tools import (
    LONGEST_HOP_S,
    MAY_BE_DONE,
    DiscoveredTool,
    Discovery,
    LiveCallFailed,
    LiveReply,
)
from pipelines.core.tools.mcp_answers import MAX_RESPONSE_BYTES, UnusableResult, discovery_of, reply_of
from pipelines.outbound.address_guard import AddressPolicy, Resolver, system_resolver
from pipelines.outbound.mcp.exchange import Exchange, aside
from pipelines.outbound.mcp.pool import PooledSession
from pipelines.outbound.mcp.secrets import Masking
from pipelines.outbound.mcp.target import McpTarget, command_of, urls_of

if TYPE_CHECKING:
    from pipelines.outbound.mcp.session import McpSession

IDLE_S = 30.0  # without an answer or a word of progress
MOST_PAGES = 200
MOST_TOOLS = 2_000
#: Servers send a structured result once more as text.
MOST_ANSWER_BYTES = 2 * MAX_RESPONSE_BYTES + 64 * 1024
MOST_LISTED_BYTES = 8 * 1024 * 1024
#: After a server said that its tools are others they are listed again: soon, then no more often than so.
RELISTED_AFTER_S, RELISTED_EVERY_S = 0.5, 10.0
CHANGED_NOTE = "the MCP server describes this tool differently than when it was discovered: discover again"
GONE_NOTE = "the MCP server does not list this tool any more: discover again"

_Ask: TypeAlias = "Callable[[McpSession, Exchange], Awaitable[JsonObject]]"


def mcp_server_endpoint(
    *,
    config: JsonObject,
    auth_headers: Mapping[str, str],
    policy: AddressPolicy,
    variables: Mapping[str, str] | None = None,
    credentials: Mapping[str, str] | None = None,
    open_pipes: OpenPipes | None = None,
    org_id: int = 0,
    resolver: Resolver = system_resolver,
    tls: ssl.SSLContext | None = None,
    longest_s: float = LONGEST_HOP_S,
    idle_s: float = IDLE_S,
    tools_changed: Callable[[], None] | None = None,
) -> "McpServerEndpoint":
    """`variables` are the values of a command's `env_vars`; `credentials`, by their names, are hidden in what
    the server says; `open_pipes` starts a command for `org_id` (None: not allowed here); `tools_changed` is
    called when the server says that its list of tools is another."""
    url = config.get("url")
    target = McpTarget(
        urls=urls_of(url) if isinstance(url, str) else (),
        headers=auth_headers,
        command=None if isinstance(url, str) else command_of(config, variables or {}, org_id),
        policy=policy,
        resolver=resolver,
        tls=tls,
        open_pipes=open_pipes,
    )
    return McpServerEndpoint(
        target,
        masking=Masking(credentials or {}),
        longest_s=longest_s,
        idle_s=idle_s,
        tools_changed=tools_changed,
    )


class McpServerEndpoint:
    """A LiveEndpoint."""

    def __init__(
        self,
        target: McpTarget,
        *,
        masking: Masking,
        longest_s: float = LONGEST_HOP_S,
        idle_s: float = IDLE_S,
        tools_changed: Callable[[], None] | None = None,
    ) -> None:
        self._masking = masking
        self._use = target.command.use if target.command else Use()
        self._pool = PooledSession(target, self._on_tools_changed)
        self._longest_s = longest_s
        self._idle_s = idle_s
        self._tools_changed = tools_changed
        self._is_stale = False  # the server said that its tools are others than those it listed last
        self._fingerprints: dict[str, str] | None = None  # their fingerprints
        self._relisting: asyncio.Task[None] | None = None

    async def discover(self) -> Discovery:
        try:
            with self._use.lasting():
                async with asyncio.timeout(self._longest_s):
                    listed, notes = await self._list_tools()
                    session = await self._pool.session()
        except TimeoutError:
            raise LiveCallFailed(
                f"the MCP server did not list its tools within {self._longest_s:g} s"
            ) from None
        # On a thread: schemas may have megabytes.
        read = partial(discovery_of, listed, notes, session.complaint_of_schema)
        found = await asyncio.to_thread(lambda: self._masking.discovery(read()))
        self._fingerprints = await asyncio.to_thread(
            lambda: {tool.name: tool.fingerprint for tool in found.tools}
        )
        return found

    async def call(self, tool: DiscoveredTool, arguments: JsonObject) -> LiveReply:
        name = tool.call.get("name", tool.name)
        clock = asyncio.get_running_loop()
        ends = clock.time() + self._longest_s
        exchange = self._exchange()

        def on_progress() -> None:
            if not exchange.is_over:
                limit.reschedule(min(clock.time() + self._idle_s, ends))

        async def ask(session: "McpSession", sent: Exchange) -> JsonObject:
            nonlocal exchange
            exchange = sent
            on_progress()
            return await session.call_tool(str(name), arguments, tool.input_schema, sent, on_progress)

        try:
            with self._use.lasting():
                async with asyncio.timeout_at(ends) as limit:
                    result = await self._ask(ask, tool)
        except TimeoutError:
            raise self._timeout_failure(exchange, is_all=limit.when() == ends) from None
        return await self._reply(result, exchange.took or MOST_ANSWER_BYTES, tool)  # 0: it came over pipes

    async def close(self) -> None:
        if self._relisting is not None:
            self._relisting.cancel()
        await self._pool.close()

    def _exchange(self) -> Exchange:
        return Exchange(most_bytes=MOST_ANSWER_BYTES, read_s=self._longest_s)

    def _timeout_failure(self, exchange: Exchange, *, is_all: bool) -> LiveCallFailed:
        if not exchange.is_sent:
            return LiveCallFailed(f"the MCP server could not be reached within {self._longest_s:g} s")
        waited = (
            f"within {self._longest_s:g} s" if is_all else f"for {self._idle_s:g} s, nor told of progress"
        )
        return LiveCallFailed(f"the MCP server did not answer {waited}; {MAY_BE_DONE}")

    async def _reply(self, result: JsonObject, size: int, tool: DiscoveredTool) -> LiveReply:
        if result.get("resultType") == "input_required":
            raise LiveCallFailed(
                "the MCP server asks for input of a person or a model, which a call cannot give"
            )
        try:
            reply = await aside(size, reply_of, result, self._drift(tool))
        except UnusableResult as error:
            raise self._masking.failed(f"the MCP server {error}") from None
        return await self._masking.reply(reply, size)

    async def _ask(self, ask: _Ask, tool: DiscoveredTool | None = None) -> JsonObject:
        for is_last in (False, True):
            try:
                session = await self._pool.session()
            except LiveCallFailed as failed:  # in words of the server's
                raise self._masking.failed(str(failed), failed.notes) from None
            exchange = self._exchange()
            answer = await self._pool.ask(session, exchange, ask)
            if answer.result is not None:
                return answer.result
            if is_last or not answer.is_surely_unsent:
                break
        maybe = f"; {MAY_BE_DONE}" if answer.is_unknown and tool is not None else ""
        raise self._masking.failed(f"the MCP server {answer.reason}{maybe}", self._drift(tool))

    def _drift(self, tool: DiscoveredTool | None) -> list[str]:
        """For the trace: whether the server lists the tool otherwise now, as far as that is known."""
        if tool is None or self._fingerprints is None:
            return []
        now = self._fingerprints.get(tool.name)
        if now == tool.fingerprint:
            return []
        return [GONE_NOTE if now is None else CHANGED_NOTE]

    # Discovery

    async def _list_tools(self) -> tuple[list[Json], list[str]]:
        """The tools of all pages, and why there are no more."""
        tools: list[Json] = []
        notes: list[str] = []
        seen: set[str] = set()
        cursor: str | None = None
        size = 0
        self._is_stale = False
        for _ in range(MOST_PAGES):
            page, took = await self._page(cursor)
            size += took
            found = page.get("tools")
            tools += found if isinstance(found, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or not following:
                return tools, notes
            if following in seen:
                return tools, [*notes, "the server's pages of tools repeat: each was read once"]
            if len(tools) > MOST_TOOLS or size > MOST_LISTED_BYTES:
                return tools[:MOST_TOOLS], [*notes, f"the server lists more tools: {MOST_TOOLS:,} are read"]
            seen.add(following)
            cursor = following
        return tools, [*notes, f"the server's pages of tools do not end: {MOST_PAGES} are read"]

    async def _page(self, cursor: str | None) -> tuple[JsonObject, int]:
        took = 0

        async def ask(session: "McpSession", sent: Exchange) -> JsonObject:
            nonlocal took
            page = await session.list_tools(cursor, sent)
            took = sent.took
            return page

        return await self._ask(ask), took

    def _on_tools_changed(self) -> None:
        self._is_stale = True
        if self._tools_changed is not None:
            self._tools_changed()
        if self._relisting is None:
            self._relisting = asyncio.create_task(self._relist())

    async def _relist(self) -> None:
        pause_s = RELISTED_AFTER_S  # more words of the same change may come
        while self._is_stale:
            await asyncio.sleep(pause_s)
            with suppress(LiveCallFailed):
                await self.discover()
            pause_s = RELISTED_EVERY_S
        self._relisting = None
