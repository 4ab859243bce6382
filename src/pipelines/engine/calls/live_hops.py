"""Calls of runs that are passed on to live endpoints, or answered from a cassette.

An endpoint that was asked stays open for the calls after it: connections, sessions and warm sandboxes are its
own. It is known by its version and when its credentials were set, so that a change of either opens another.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.core.code.redaction import Redaction
from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.core.tools.live_tools import (
    LONGEST_HOP_S,
    MAY_BE_DONE,
    RECORD,
    REPLAY,
    REPLAY_OR_LIVE,
    DiscoveredTool,
    LiveCall,
    LiveCallFailed,
    LiveEndpoint,
    LiveReply,
)
from pipelines.engine.endpoints.build_endpoint import make_endpoint, open_endpoint
from pipelines.engine.platform import Platform
from pipelines.processes.aside import aside
from pipelines.storage.accounts.credentials import credentials_by_name
from pipelines.storage.agents.tool_endpoints import ToolEndpoint, endpoint_by_id, found_tool
from pipelines.storage.database.connection import Connection

KNOWN_S = 1.0  # so long an endpoint is taken to be as it was last read
IDLE_S = 300.0  # an endpoint that nobody asks is closed
MOST_OPEN = 200  # endpoints; the one longest not asked is closed for another
MOST_KNOWN = 5 * MOST_OPEN
CALL_TIMEOUT_S = LONGEST_HOP_S + 5.0  # an endpoint ends a call by itself before, and knows more of it
LARGE_REPLY = 64 * 1024  # bytes; hiding secrets in more is done on a thread


class _Key(NamedTuple):
    endpoint_id: str
    version: int
    credentials_set: tuple[str, ...]  # when, those that it is given


@dataclass(slots=True, kw_only=True)
class _KnownEndpoint:
    """An endpoint as it was read a moment ago."""

    stored: ToolEndpoint
    key: _Key
    until: float
    tools: dict[str, DiscoveredTool] = field(default_factory=dict)
    secrets: tuple[str, ...] | None = None  # once they were needed


@dataclass(slots=True, kw_only=True)
class _OpenEndpoint:
    endpoint: LiveEndpoint
    redaction: Redaction
    last_used: float
    users: int = 0


class LiveHops:
    """Every endpoint that this process has open."""

    def __init__(self, platform: Platform, *, steady: Callable[[], float] = time.monotonic) -> None:
        self._platform = platform
        self._cassettes = platform.cassettes
        self._steady = steady
        self._known: dict[str, _KnownEndpoint] = {}
        self._open: dict[_Key, _OpenEndpoint] = {}
        self._opening: dict[_Key, asyncio.Future[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def answer(self, call: LiveCall) -> LiveReply:
        """The reply to a run's call. Raises AskFailed."""
        if call.mode in (REPLAY, REPLAY_OR_LIVE):
            replayed = await self._cassettes.replay(call, await self._load_secrets(call))
            if replayed is not None:
                return replayed
        return await self.ask(call)

    async def ask(self, call: LiveCall) -> LiveReply:
        """The live endpoint's reply, recorded where the call says so."""
        secrets: tuple[str, ...] = ()
        name = ""
        try:
            known = await self._load_endpoint(call.org_id, call.endpoint_id)
            name, tool = known.stored.name, await self._load_tool(known, call.tool_name)
            opened = await self._acquire(known)
            try:
                secrets = tuple(opened.redaction.secrets.values())
                reply = await _call_endpoint(opened, tool, call.arguments, call.org_id)
            finally:
                self._release(opened)
        except LiveCallFailed as failed:
            if call.mode == RECORD:
                await self._cassettes.record(call, failed, secrets, name)
            raise
        if call.mode == RECORD:
            await self._cassettes.record(call, reply, secrets, name)
        return reply

    async def close(self) -> None:
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for opening in self._opening.values():
            opening.cancel()
        opened, self._open = list(self._open.values()), {}
        closing = [one.endpoint.close() for one in opened]
        await asyncio.gather(*self._opening.values(), *closing, *self._closing, return_exceptions=True)

    # -- what is stored of an endpoint

    async def _load_endpoint(self, org_id: int, endpoint_id: str) -> _KnownEndpoint:
        known = self._known.get(endpoint_id)
        if known is not None and known.stored.org_id == org_id and self._steady() < known.until:
            return known

        def read(connection: Connection) -> tuple[ToolEndpoint | None, tuple[str, ...]]:
            found = endpoint_by_id(connection, org_id, endpoint_id)
            names = _credential_names(found) if found is not None else set()
            credentials = credentials_by_name(connection, org_id) if names else {}
            named = sorted(names & credentials.keys())
            return found, tuple(f"{name} {credentials[name].updated_at}" for name in named)

        stored, credentials_set = await self._platform.database.read(read)
        if stored is None:
            self._known.pop(endpoint_id, None)
            raise LiveCallFailed("The tool endpoint that this tool is bound to no longer exists.")
        key, until = _Key(stored.id, stored.version, credentials_set), self._steady() + KNOWN_S
        if known is not None and known.key == key:
            known.stored, known.until = stored, until
            return known
        known = _KnownEndpoint(stored=stored, key=key, until=until)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[endpoint_id] = known
        return known

    async def _load_tool(self, known: _KnownEndpoint, name: str) -> DiscoveredTool:
        tool = known.tools.get(name)
        if tool is None:
            endpoint_id = known.stored.id
            tool = await self._platform.database.read(
                lambda connection: found_tool(connection, endpoint_id, name)
            )
            if tool is None:
                raise LiveCallFailed(f"Tool endpoint `{known.stored.name}` has no tool `{name}`.")
            known.tools[name] = tool
        return tool

    async def _load_secrets(self, call: LiveCall) -> tuple[str, ...]:
        """What was masked when the call was recorded. A cassette also answers where the endpoint is gone."""
        try:
            known = await self._load_endpoint(call.org_id, call.endpoint_id)
            if known.secrets is None:
                opened = await open_endpoint(self._platform, known.stored)
                known.secrets = tuple(opened.redaction.secrets.values())
        except LiveCallFailed:
            return ()
        return known.secrets

    # -- what is open

    async def _acquire(self, known: _KnownEndpoint) -> _OpenEndpoint:
        """For the caller, who lets it go: nothing that somebody uses is closed."""
        while (opened := self._open.get(known.key)) is None:
            opening = self._opening.get(known.key)
            if opening is None:
                opening = self._opening[known.key] = asyncio.ensure_future(self._open_new(known))
                opening.add_done_callback(lambda done: self._on_opened(known.key, done))
            await asyncio.shield(opening)  # it may be closed again before we go on: then it is opened anew
        opened.users += 1
        return opened

    async def _open_new(self, known: _KnownEndpoint) -> None:
        values, redaction = await open_endpoint(self._platform, known.stored)
        if self._is_closed:
            raise LiveCallFailed("The server is stopping.")
        endpoint = make_endpoint(self._platform, known.stored.type, values)
        self._make_room(known.key.endpoint_id)
        self._open[known.key] = _OpenEndpoint(
            endpoint=endpoint, redaction=redaction, last_used=self._steady()
        )

    def _on_opened(self, key: _Key, done: "asyncio.Future[None]") -> None:
        del self._opening[key]
        if not done.cancelled():
            done.exception()  # is seen, also where all who asked have given up meanwhile

    def _make_room(self, endpoint_id: str | None = None) -> None:
        """Close what nobody asks: for long, while too many are open, or an older one of the same endpoint."""
        now = self._steady()
        idle = sorted((one.last_used, key) for key, one in self._open.items() if not one.users)
        for last_used, key in idle:
            if key.endpoint_id == endpoint_id or now - last_used > IDLE_S or len(self._open) >= MOST_OPEN:
                self._close(self._open.pop(key))

    def _release(self, opened: _OpenEndpoint) -> None:
        opened.users -= 1
        opened.last_used = self._steady()
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(IDLE_S, self._close_idle)

    def _close_idle(self) -> None:
        self._make_room()
        again = asyncio.get_running_loop().call_later
        self._sweep = again(IDLE_S, self._close_idle) if self._open else None

    def _close(self, opened: _OpenEndpoint) -> None:
        task = asyncio.ensure_future(opened.endpoint.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _credential_names(endpoint: ToolEndpoint) -> set[str]:
    """Those that it was given; another of the org changes nothing for it."""
    variables = endpoint.config.get("env_vars")
    named = variables.values() if isinstance(variables, dict) else ()
    auth = endpoint.auth.get("credential") if endpoint.auth is not None else None
    return {str(name) for name in (*named, auth) if name is not None}


async def _call_endpoint(
    opened: _OpenEndpoint, tool: DiscoveredTool, arguments: JsonObject, org_id: int
) -> LiveReply:
    try:
        async with asyncio.timeout(CALL_TIMEOUT_S):
            reply = await opened.endpoint.call(tool, arguments)
    except TimeoutError:  # it did not keep its own time
        raise LiveCallFailed(f"No answer came within {CALL_TIMEOUT_S:g} s.", notes=(MAY_BE_DONE,)) from None
    except LiveCallFailed as failed:
        raise _hide_secrets_in_failure(failed, opened.redaction) from None
    return await _hide_secrets(reply, opened.redaction, org_id)


async def _hide_secrets(reply: LiveReply, redaction: Redaction, org_id: int) -> LiveReply:
    """With nothing secret in it: an endpoint may well repeat what it was sent."""
    if not redaction:
        return reply
    raw = dumps(reply.response)
    hide = redaction.json_bytes
    hidden = hide(raw) if len(raw) < LARGE_REPLY else await aside(org_id, hide, raw)
    return reply._replace(
        response=reply.response if hidden == raw else loads_own(hidden),
        notes=tuple(map(redaction.text, reply.notes)),
    )


def _hide_secrets_in_failure(failed: LiveCallFailed, redaction: Redaction) -> LiveCallFailed:
    return LiveCallFailed(redaction.text(failed.message), notes=tuple(map(redaction.text, failed.notes)))
