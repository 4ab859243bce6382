"""Events that an agent reports about itself: which there are, and how one is read."""

from datetime import UTC, datetime

from pipelines.core.text.json_text import InvalidJson, JsonObject, loads
from pipelines.core.text.problems import Problem
from pipelines.wire.errors import BodyTooLarge, InvalidJsonBody, InvalidRequest, TraceEventTypeInvalid
from pipelines.wire.names import TraceEventType

EVENT_TYPES = tuple(kind.value for kind in TraceEventType)


def check_event_type(event_type: str) -> None:
    if event_type not in EVENT_TYPES:
        known = ", ".join(EVENT_TYPES)
        raise TraceEventTypeInvalid(f"No trace event type {event_type[:64]!r}; there are {known}.")


def read_event(body: bytes | None) -> JsonObject:
    """The payload, of a body that is None when it was too large to be read."""
    if body is None:
        raise BodyTooLarge("The event is over 1 MiB.")
    try:
        payload = loads(body)
    except InvalidJson as error:
        raise InvalidJsonBody(f"The event cannot be read: {error}.") from None
    if not isinstance(payload, dict):
        problem = Problem(path="", message="a trace event is a JSON object")
        raise InvalidRequest(problem.message, details=[problem.as_json()])
    return payload


def event_time(payload: JsonObject) -> datetime | None:
    """The agent's own time for it in UTC, where it gave one that can be read; without a zone it is UTC."""
    given = payload.get("__occurred_at")
    if not isinstance(given, str):
        return None
    try:
        moment = datetime.fromisoformat(given)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
