"""The ways to an MCP server, as the `mcp` package wants them: streams of messages over HTTP or pipes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from pipelines.outbound.mcp.http import GuardedTransport
from pipelines.outbound.mcp.pipes import PipeWay
from pipelines.outbound.mcp.target import McpTarget

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams  # only for reading: no name that stays

OPENS_WITHIN_S = 20.0
STARTS_WITHIN_S = 60.0  # a program, with everything that it loads


class Way(NamedTuple):
    name: str  # what can be told of it: the end of a path (the rest may hold a token)
    is_only: bool
    transport: Callable[[], Transport]  # a new one each time
    why: Callable[[], Awaitable[str]]  # how the program ended, where there is one
    opens_within_s: float


def ways_to(target: McpTarget) -> list[Way]:
    if target.command is not None and target.open_pipes is not None:
        program = PipeWay(target.command, target.open_pipes)
        return [Way("its program", True, program.transport, program.why, STARTS_WITHIN_S)]
    return [
        Way(
            "/" + httpx2.URL(url).path.rpartition("/")[2],
            len(target.urls) == 1,
            partial(_over_http, url, target),
            _no_reason,
            OPENS_WITHIN_S,
        )
        for url in target.urls
    ]


async def _no_reason() -> str:
    return ""


@asynccontextmanager
async def _over_http(url: str, target: McpTarget) -> AsyncIterator["TransportStreams"]:
    guarded = GuardedTransport(target.policy, resolver=target.resolver, tls=target.tls)
    client = httpx2.AsyncClient(
        transport=guarded,
        headers={"User-Agent": "pipelines-odyssey", **target.headers},
        timeout=None,  # each exchange has its own
        follow_redirects=False,
        trust_env=False,
    )
    async with client, streamable_http_client(url, http_client=client) as streams:
        yield streams
