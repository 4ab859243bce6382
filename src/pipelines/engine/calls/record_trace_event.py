"""What an agent reports about itself beside its tool calls, stored in the run's log."""

import asyncio
from collections.abc import Callable

from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.tools.trace_event import check_event_type, event_time, read_event
from pipelines.core.tools.trace_row import TraceRow
from pipelines.engine.live.live_runs import LiveRun
from pipelines.engine.platform import timestamp
from pipelines.wire.actor import is_actor_id
from pipelines.wire.errors import ActorIdInvalid, RunNotActive


async def record_trace_event(
    live: LiveRun,
    event_type: str,
    body: bytes | None,
    *,
    actor_id: str | None,
    append: Callable[[TraceRow], "asyncio.Future[None]"],
    now: str,
    steady: float,
) -> JsonObject:
    """Store the event and say where it stands: `{accepted, sequence, event_type}`."""
    payload = _payload(live, event_type, body, actor_id, steady)
    arrived = max(now, live.last_occurred_at)
    event_at = event_time(payload)
    row = TraceRow(
        run_id=live.id,
        sequence=live.sequence + 1,
        kind=event_type,
        actor_id=actor_id,
        occurred_at=timestamp(event_at) if event_at is not None else arrived,
        payload=dumps(payload).decode(),
    )
    live.fold(row)
    live.unstored += 1
    try:
        await append(row)
    finally:
        live.unstored -= 1
    return {"accepted": True, "sequence": row.sequence, "event_type": event_type}


def _payload(
    live: LiveRun, event_type: str, body: bytes | None, actor_id: str | None, steady: float
) -> JsonObject:
    check_event_type(event_type)
    if actor_id is not None and not is_actor_id(actor_id):
        raise ActorIdInvalid
    if not live.is_active or steady >= live.ends_at:
        raise RunNotActive
    return read_event(body)
