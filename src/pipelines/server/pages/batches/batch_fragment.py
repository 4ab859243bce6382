"""The progress part of a batch's page: in the page itself, and as the event that replaces it."""

import asyncio
from collections.abc import Callable
from typing import Any

from pipelines.core.text.json_text import JsonObject
from pipelines.engine.reports.summarize_batch import took_ms
from pipelines.web.render import render

TEMPLATE = "batch_progress.html"
LOOKED_EVERY_S = 1.0  # nobody reads numbers faster, and 200 people may watch


class BatchFragment:
    """Renders the fragment. All viewers get the same one, so it contains nothing about one visitor."""

    def __init__(self, now: Callable[[], str]) -> None:
        self._now = now

    async def __call__(self, batch: JsonObject) -> str:
        return await asyncio.to_thread(render, TEMPLATE, {"batch": shown_figures(batch, self._now())})


def shown_figures(batch: JsonObject, now: str) -> dict[str, Any]:
    """The batch with derived figures: finished runs, time taken, and estimated time left."""
    counts: Any = batch["counts"]
    by_status: dict[str, int] = counts["by_status"]
    waiting, running = by_status.get("pending", 0), by_status.get("running", 0)
    ended = counts["total"] - waiting - running
    is_running = batch["status"] == "running"
    since_ms = max(0.0, took_ms(str(batch["created_at"]), str(batch["ended_at"] or now)))
    left_ms = since_ms / ended * (waiting + running) if is_running and ended else None
    return {
        **batch,
        "is_running": is_running,
        "ended": ended,
        "waiting": waiting,
        "cancelled": by_status.get("cancelled", 0),
        "running": running,
        "took_ms": None if is_running else since_ms,
        "left_ms": left_ms,
        "can_resume": not is_running and bool(_cut_off(batch, by_status)),
        "parts": _parts(counts, ended),
    }


def _cut_off(batch: JsonObject, by_status: dict[str, int]) -> int:
    errors: Any = batch["error_classes"]
    return by_status.get("cancelled", 0) + by_status.get("pending", 0) + errors.get("interrupted", 0)  # type: ignore[no-any-return]


def _parts(counts: Any, ended: int) -> list[tuple[str, int]]:
    """The parts of the bar: runs by verdict, then runs without one, then runs that have not finished."""
    verdicts = counts["by_verdict"]
    parts = [("pass", verdicts.get("PASS", 0)), ("fail", verdicts.get("FAIL", 0))]
    parts += [("pending", verdicts.get("PENDING", 0))]
    return [*parts, ("none", ended - sum(number for _, number in parts)), ("rest", counts["total"] - ended)]
