"""Calls that are passed on to live endpoints, or answered from a cassette.

An endpoint that was asked stays open for the calls after it: connections, sessions and warm sandboxes are its
own. It is known by its version and its secrets, so that whatever changes either is asked anew.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from pipelines.core.json_text import JsonObject, dumps, loads_own
from pipelines.core.live_tools import (
    RECORD,
    REPLAY,
    REPLAY_OR_LIVE,
    Discovery,
    FoundTool,
    HopFailed,
    LiveCall,
    LiveEndpoint,
    LiveReply,
)
from pipelines.core.redaction import Redaction
from pipelines.engine.cassettes import Cassettes
from pipelines.engine.manage_credentials import CredentialMissing, open_credentials
from pipelines.engine.platform import Platform
from pipelines.storage.connection import Connection
from pipelines.storage.tool_endpoints import ToolEndpoint, endpoint_by_id, found_tool

KNOWN_S = 1.0  # so long an endpoint is taken to be as it was last read
IDLE_S = 300.0  # an endpoint that nobody asks is closed
MOST_OPEN = 200  # endpoints; the one longest not asked is closed for another
#: Makes what an endpoint of one type is asked by. The secrets are by the names of the org's credentials.
Maker: TypeAlias = Callable[[ToolEndpoint, Mapping[str, str]], LiveEndpoint]


class _Key(NamedTuple):
    endpoint_id: str
    version: int
    secrets: int  # a hash: another value is another endpoint


@dataclass(slots=True, kw_only=True)
class _Open:
    endpoint: LiveEndpoint
    redaction: Redaction
    last_used: float
    users: int = 0


@dataclass(slots=True, kw_only=True)
class _Known:
    """An endpoint as it was read a moment ago."""

    stored: ToolEndpoint
    secrets: dict[str, str]
    until: float
    tools: dict[str, FoundTool] = field(default_factory=dict)


class LiveHops:
    """Every endpoint that this process has open."""

    def __init__(
        self,
        platform: Platform,
        *,
        makers: Mapping[str, Maker],
        cassettes: Cassettes,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._platform = platform
        self._makers = makers
        self._cassettes = cassettes
        self._steady = steady
        self._open: dict[_Key, _Open] = {}
        self._known: dict[tuple[int, str], _Known] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._sweep: asyncio.TimerHandle | None = None

    async def carry(self, call: LiveCall) -> LiveReply:
        """The reply to a run's call. Raises HopFailed, or CassetteMiss."""
        if call.mode in (REPLAY, REPLAY_OR_LIVE):
            replayed = await self._cassettes.replay(call)
            if replayed is not None:
                return replayed
        return await self.ask(call)

    async def ask(self, call: LiveCall) -> LiveReply:
        """The live endpoint's reply, recorded where the call says so."""
        known = await self._read(call.org_id, call.endpoint_id)
        secrets = tuple(known.secrets.values())
        try:
            tool = await self._tool(known, call.tool_name)
            reply = await self.call(known.stored, known.secrets, tool, call.arguments)
        except HopFailed as failed:
            if call.mode == RECORD:
                await self._cassettes.record(call, failed, secrets)
            raise
        if call.mode in (RECORD, REPLAY_OR_LIVE):
            await self._cassettes.record(call, reply, secrets)
        return reply

    async def call(
        self, stored: ToolEndpoint, secrets: Mapping[str, str], tool: FoundTool, arguments: JsonObject
    ) -> LiveReply:
        """One call of one tool, with nothing secret in what comes back."""
        opened = self._opened(stored, secrets)
        opened.users += 1
        try:
            reply = await opened.endpoint.call(tool, arguments)
        except HopFailed as failed:
            raise _hidden_failure(failed, opened.redaction) from None
        finally:
            self._let_go(opened)
        return _hidden(reply, opened.redaction)

    async def discover(self, stored: ToolEndpoint, secrets: Mapping[str, str]) -> Discovery:
        opened = self._opened(stored, secrets)
        opened.users += 1
        try:
            return await opened.endpoint.discover()
        except HopFailed as failed:
            raise _hidden_failure(failed, opened.redaction) from None
        finally:
            self._let_go(opened)

    async def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        opened, self._open = list(self._open.values()), {}
        await asyncio.gather(
            *(one.endpoint.close() for one in opened), *self._closing, return_exceptions=True
        )

    # -- what is stored of an endpoint

    async def _read(self, org_id: int, endpoint_id: str) -> _Known:
        known = self._known.get((org_id, endpoint_id))
        if known is not None and self._steady() < known.until:
            return known

        def read(connection: Connection) -> ToolEndpoint | None:
            return endpoint_by_id(connection, org_id, endpoint_id)

        stored = await self._platform.database.read(read)
        if stored is None:
            self._known.pop((org_id, endpoint_id), None)
            raise HopFailed("The endpoint that this tool is bound to is gone.")
        try:
            secrets = await open_credentials(self._platform, org_id, stored.credential_names)
        except CredentialMissing as missing:
            raise HopFailed(f"The endpoint {stored.name} cannot be asked: {missing}") from None
        tools = known.tools if known is not None and known.stored.version == stored.version else {}
        known = _Known(stored=stored, secrets=secrets, until=self._steady() + KNOWN_S, tools=tools)
        if len(self._known) >= 5 * MOST_OPEN:
            self._known.clear()
        self._known[(org_id, endpoint_id)] = known
        return known

    async def _tool(self, known: _Known, name: str) -> FoundTool:
        tool = known.tools.get(name)
        if tool is None:
            endpoint_id = known.stored.id
            tool = await self._platform.database.read(
                lambda connection: found_tool(connection, endpoint_id, name)
            )
            if tool is None:
                raise HopFailed(f"The endpoint {known.stored.name} has no tool {name}.")
            known.tools[name] = tool
        return tool

    # -- what is open

    def _opened(self, stored: ToolEndpoint, secrets: Mapping[str, str]) -> _Open:
        key = _Key(stored.id, stored.version, hash(tuple(sorted(secrets.items()))))
        opened = self._open.get(key)
        if opened is None:
            maker = self._makers.get(stored.type)
            if maker is None:
                raise HopFailed(f"This server cannot ask endpoints of type {stored.type}.")
            opened = _Open(
                endpoint=maker(stored, secrets), redaction=Redaction(dict(secrets)), last_used=self._steady()
            )
            self._make_room(stored.id)
            self._open[key] = opened
        opened.last_used = self._steady()
        return opened

    def _make_room(self, endpoint_id: str | None = None) -> None:
        """Close what nobody asks: for long, while too many are open, or an older one of the same endpoint."""
        now = self._steady()
        idle = sorted((one.last_used, key) for key, one in self._open.items() if not one.users)
        for last_used, key in idle:
            if key.endpoint_id == endpoint_id or now - last_used > IDLE_S or len(self._open) >= MOST_OPEN:
                self._close(self._open.pop(key))

    def _let_go(self, opened: _Open) -> None:
        opened.users -= 1
        opened.last_used = self._steady()
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(IDLE_S, self._swept)

    def _swept(self) -> None:
        self._make_room()
        again = asyncio.get_running_loop().call_later
        self._sweep = again(IDLE_S, self._swept) if self._open else None

    def _close(self, opened: _Open) -> None:
        task = asyncio.ensure_future(opened.endpoint.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _hidden(reply: LiveReply, redaction: Redaction) -> LiveReply:
    if not redaction:
        return reply
    raw = dumps(reply.response)
    hidden = redaction.json_bytes(raw)
    return LiveReply(
        reply.status,
        reply.response if hidden is raw else loads_own(hidden),
        _hidden_notes(reply.notes, redaction),
        reply.is_replayed,
    )


def _hidden_failure(failed: HopFailed, redaction: Redaction) -> HopFailed:
    return HopFailed(redaction.text(failed.message), notes=_hidden_notes(failed.notes, redaction))


def _hidden_notes(notes: Sequence[str], redaction: Redaction) -> tuple[str, ...]:
    return tuple(redaction.text(note) for note in notes)
