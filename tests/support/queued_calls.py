"""Runs whose calls wait for a question, and what their traces say."""

import sqlite3
from typing import Any

from asking import Caller

from support.desk import House, Row

ORDER = {"order_id": "4521"}

MUGS = {"query": "mug"}

#: How long a late reply is late. The tests answer the waits themselves, so nobody waits.
LONG_MS = 60_000


def late(tool: str, n: int, duration: int = 1, ms: int = LONG_MS, **error: Any) -> Row:
    rule = {"trigger": "after_n_calls", "tool": tool, "n": n, "duration": duration, "latency_ms": ms}
    return rule | ({"error": error} if error else {})


def note(text: str) -> Row:
    return {"order_id": "7001", "text": text}


async def caller_of(house: House, **task: Any) -> Caller:
    caller = Caller(house, await house.owner.run(**task))
    await caller.load()
    return caller


async def live_caller(house: House, task: Row | None = None, **simulator: Any) -> Caller:
    """A run whose search_inventory is a live tool, unless said otherwise."""
    caller = Caller(house, await house.owner.run(**(task or {})))
    await caller.load(**({"live": ("search_inventory",)} | simulator))
    return caller


def stored(house: House, run_id: int) -> list[Row]:
    """The rows as another connection reads them."""
    connection = sqlite3.connect(house.settings.database_path)
    connection.row_factory = sqlite3.Row
    try:
        rows = connection.execute("SELECT * FROM trace_rows WHERE run_id = ? ORDER BY sequence", (run_id,))
        return [dict(row) for row in rows]
    finally:
        connection.close()


# -- flags and counters


def storm(tool: str, duration: int = 1, **more: Any) -> Row:
    rule = {"trigger": "after_state_change", "tool": tool, "condition": "storm", "duration": duration}
    return rule | ({"error": {"code": 503, "message": "Storm"}} | more)
