"""Seed sessions as a client of the API asks for them."""

import json
from typing import Any

from support.desk import Org, answered, every_item

Row = dict[str, Any]

SESSIONS = "/api/seed-sessions"

NOON = "2026-05-01T12:00:00Z"

BUCKETS = [{"name": "requests", "rows": 4}, {"name": "backend trouble", "rows": 2}]


async def opened(org: Org, **changes: Any) -> Row:
    agent_id = changes.pop("agent_id", None) or (await org.agent())["id"]
    body = {"agent_id": agent_id, "name": "orders", "size": "compact", "rng_seed": 7, "now": NOON}
    made: Row = answered(await org.client.post(SESSIONS, json=body | {"buckets": BUCKETS} | changes), 201)
    return made


async def world_of(org: Org, session: Row) -> Row:
    world: Row = answered(await org.client.get(f"{SESSIONS}/{session['id']}/world"))
    return world


async def until_made(org: Org, session: Row) -> Row:
    """The session once no rows are made any more, as its events tell."""
    last: Row = {}
    async with org.client.stream("GET", f"{SESSIONS}/{session['id']}/events") as events:
        async for line in events.aiter_lines():
            if line.startswith("data: "):
                last = json.loads(line.removeprefix("data: "))
    return last


async def with_rows(org: Org, **changes: Any) -> Row:
    session = await opened(org, **changes)
    answered(await org.client.post(f"{SESSIONS}/{session['id']}/continue"), 202)
    return await until_made(org, session)


async def rows_of(org: Org, session: Row, **query: Any) -> list[Row]:
    return await every_item(org.client, f"{SESSIONS}/{session['id']}/rows", **query)
