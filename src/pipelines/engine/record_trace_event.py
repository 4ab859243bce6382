"""What an agent reports about itself beside its tool calls, stored in the run's log."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from pipelines.core.json_text import InvalidJson, JsonObject, dumps, loads
from pipelines.core.problems import Problem
from pipelines.engine.live_runs import LiveRun
from pipelines.engine.platform import timestamp
from pipelines.storage.trace_rows import TraceRow
from pipelines.wire.actor import is_actor_id
from pipelines.wire.errors import (
    ActorIdInvalid,
    BodyTooLarge,
    InvalidJsonBody,
    InvalidRequest,
    RunNotActive,
    TraceEventTypeInvalid,
)
from pipelines.wire.names import TraceEventType

EVENT_TYPES = tuple(kind.value for kind in TraceEventType)


async def record_trace_event(
    live: LiveRun,
    event_type: str,
    body: bytes | None,
    *,
    actor_id: str | None,
    append: Callable[[TraceRow], "asyncio.Future[None]"],
    now: str,
) -> JsonObject:
    """Store the event and say where it stands: `{accepted, sequence, event_type}`."""
    payload = _payload(live, event_type, body, actor_id, now)
    arrived = max(now, live.last_occurred_at)
    row = TraceRow(
        run_id=live.id,
        sequence=live.sequence + 1,
        kind=event_type,
        tool_name=None,
        source=None,
        http_status=None,
        error_code=None,
        matched_rule_index=None,
        latency_ms=None,
        actor_id=actor_id,
        idempotency_key=None,
        occurred_at=_occurred_at(payload) or arrived,
        arguments=None,
        response=None,
        updates=None,
        validation=None,
        payload=dumps(payload).decode(),
    )
    live.sequence = row.sequence
    live.unstored += 1
    try:
        await append(row)
    finally:
        live.unstored -= 1
    return {"accepted": True, "sequence": row.sequence, "event_type": event_type}


def _payload(
    live: LiveRun, event_type: str, body: bytes | None, actor_id: str | None, now: str
) -> JsonObject:
    if event_type not in EVENT_TYPES:
        known = ", ".join(EVENT_TYPES)
        raise TraceEventTypeInvalid(f"No trace event type {event_type[:64]!r}; there are {known}.")
    if actor_id is not None and not is_actor_id(actor_id):
        raise ActorIdInvalid
    if not live.is_active or now >= live.expires_at:
        raise RunNotActive
    if body is None:
        raise BodyTooLarge("The event is over 1 MiB.")
    try:
        payload = loads(body)
    except InvalidJson as error:
        raise InvalidJsonBody(f"The event is {error}.") from None
    if not isinstance(payload, dict):
        problem = Problem(path="", message="a trace event is a JSON object")
        raise InvalidRequest(problem.message, details=[problem.as_json()])
    return payload


def _occurred_at(payload: JsonObject) -> str | None:
    """The agent's own time for it, where it gave one that can be read; without a zone it is UTC."""
    given = payload.get("__occurred_at")
    if not isinstance(given, str):
        return None
    try:
        moment = datetime.fromisoformat(given)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return timestamp(aware.astimezone(UTC))
    except (ValueError, OverflowError):
        return None
