"""Discovery: asking an endpoint for its tools, and storing what is new, changed or gone."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated
from weakref import WeakValueDictionary

from pipelines.core.endpoints.endpoint_drift import (
    Differences,
    DiscoveryOutcome,
    Drift,
    StoredTool,
    compare_tools,
)
from pipelines.core.endpoints.redact_discovery import redact_discovery
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.text.json_text import dumps
from pipelines.core.tools.live_tools import Discovery, LiveCallFailed
from pipelines.engine.endpoints.build_endpoint import open_once
from pipelines.engine.platform import Platform
from pipelines.storage.agents import tool_endpoints
from pipelines.storage.agents.tool_endpoints import ToolEndpoint
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks.texts import SLICE_CHARACTERS, SLICE_ROWS
from pipelines.wire.errors import Conflict
from pipelines.wire.records import Record

DISCOVERY_S = 180.0  # an environment for the requirements of code may have to be installed
MOST_TOOLS = 10_000
MOST_LISTED = 100  # of the tools that differ
MOST_NOTES = 200
LONGEST_ERROR = 2_000
#: By endpoint, for as long as somebody stores what was found on it: one after the other.
_storing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftedTool(Record, component=""):
    """A tool that differs."""

    name: str
    drift: Drift
    differences: Differences


@dataclass(frozen=True, kw_only=True, slots=True)
class Discovered(Record, component=""):
    added: Annotated[int, "new tools"]
    removed: Annotated[int, "tools that are gone, and were accepted as gone"]
    #: The list of tools has all of it.
    drift: Annotated[tuple[DriftedTool, ...], "what is not as it was accepted, at most 100 of it"]


async def discover(platform: Platform, endpoint: ToolEndpoint, *, accept: bool) -> Discovered:
    """Raises HopFailed, with the reason kept at the endpoint; its tools are then as they were. Raises
    Conflict where the endpoint was changed, or other tools of it accepted, since it was read."""
    found = await _discover_or_store_error(platform, endpoint)
    async with _storing.setdefault(endpoint.id, asyncio.Lock()):
        known = await platform.database.read(lambda connection: _all_tools(connection, endpoint.id))
        outcome = await asyncio.to_thread(
            compare_tools, known, found.tools, accept=accept
        )  # hashes all of them
        await _store(platform, endpoint, outcome, found.notes)
    drifted = (
        DriftedTool(name=tool.accepted.name, drift=tool.drift, differences=tool.differences())
        for tool in outcome.drifted[:MOST_LISTED]
    )
    return Discovered(added=len(outcome.added), removed=len(outcome.removed), drift=tuple(drifted))


async def _discover_or_store_error(platform: Platform, endpoint: ToolEndpoint) -> Discovery:
    try:
        return await _discover_tools(platform, endpoint)
    except LiveCallFailed as failed:
        error = failed.message.replace("\0", "\N{REPLACEMENT CHARACTER}")  # Postgres takes none
        await platform.database.write(
            partial(tool_endpoints.fail_discovery, endpoint_id=endpoint.id, error=error[:LONGEST_ERROR])
        )
        raise


async def _discover_tools(platform: Platform, endpoint: ToolEndpoint) -> Discovery:
    async with platform.probing.slot(SlotHolder(endpoint.org_id)):
        try:
            async with asyncio.timeout(DISCOVERY_S), open_once(platform, endpoint) as session:
                found = await session.live.discover()
                found = await asyncio.to_thread(redact_discovery, found, session.redaction)
        except TimeoutError:
            raise LiveCallFailed(f"The tools were not found within {DISCOVERY_S:.0f} s.") from None
    if len(found.tools) > MOST_TOOLS:
        raise LiveCallFailed(f"The endpoint has {len(found.tools):,} tools; at most {MOST_TOOLS:,} are kept.")
    return found


def _all_tools(connection: Connection, endpoint_id: str) -> dict[str, StoredTool]:
    found: dict[str, StoredTool] = {}
    after_id: int | None = None
    while True:
        page = tool_endpoints.tools_of_endpoint(connection, endpoint_id, limit=SLICE_ROWS, after_id=after_id)
        found |= {tool.accepted.name: tool for tool in page.items}
        after_id = page.last_id
        if after_id is None:
            return found


async def _store(
    platform: Platform, endpoint: ToolEndpoint, outcome: DiscoveryOutcome, notes: Sequence[str]
) -> None:
    """In slices: everybody waits for the one writer. The endpoint is the last, and says that all is there."""
    parts: list[Callable[[Connection], None]] = [
        partial(tool_endpoints.store_tools, endpoint_id=endpoint.id, tools=tools)
        for tools in await asyncio.to_thread(lambda: [*_slices(outcome.stored)])  # sized by their text
    ]
    for start in range(0, len(outcome.removed), SLICE_ROWS):
        names = outcome.removed[start : start + SLICE_ROWS]
        parts.append(partial(tool_endpoints.remove_tools, endpoint_id=endpoint.id, names=names))
    for part in parts:
        await platform.database.write_part(partial(_write_if_unchanged, endpoint=endpoint, write=part))
    end = partial(
        tool_endpoints.end_discovery,
        endpoint_id=endpoint.id,
        notes=[*notes[:MOST_NOTES]],
        is_changed=outcome.is_changed,
        now=platform.now(),
    )
    await platform.database.write(partial(_write_if_unchanged, endpoint=endpoint, write=end))


def _write_if_unchanged(
    connection: Connection, endpoint: ToolEndpoint, write: Callable[[Connection], None]
) -> None:
    """What was found on an endpoint that is another by now says nothing about that; and what was found before
    somebody accepted its tools would take that back."""
    if not tool_endpoints.hold_endpoint(connection, endpoint.org_id, endpoint.id, version=endpoint.version):
        raise Conflict(f"Tool endpoint `{endpoint.name}` was changed meanwhile; discover its tools again.")
    write(connection)


def _slices(tools: Sequence[StoredTool]) -> Iterator[list[StoredTool]]:
    slice: list[StoredTool] = []
    room = SLICE_CHARACTERS
    for tool in tools:
        size = len(dumps([part.as_json() for part in (tool.accepted, tool.found) if part is not None]))
        if slice and (size > room or len(slice) == SLICE_ROWS):
            yield slice
            slice, room = [], SLICE_CHARACTERS
        slice.append(tool)
        room -= size
    if slice:
        yield slice
