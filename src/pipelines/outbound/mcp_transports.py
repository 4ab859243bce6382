"""The ways to an MCP server, as the `mcp` package wants them: streams of messages over HTTP or pipes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

import httpx2
from mcp.client._transport import Transport, TransportStreams
from mcp.client.streamable_http import streamable_http_client

from pipelines.outbound.mcp_http import GuardedTransport
from pipelines.outbound.mcp_target import McpTarget


class Way(NamedTuple):
    name: str  # what can be told of it: a path, or "its command"
    is_only: bool
    transport: Callable[[], Transport]  # a new one each time


def ways_to(target: McpTarget) -> list[Way]:
    return [
        Way(httpx2.URL(url).path, len(target.urls) == 1, partial(_over_http, url, target))
        for url in target.urls
    ]


@asynccontextmanager
async def _over_http(url: str, target: McpTarget) -> AsyncIterator[TransportStreams]:
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
