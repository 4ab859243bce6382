"""What an agent reports about itself beside its tool calls: messages, thoughts, handoffs to sub-agents."""

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ..wire.envelope import Envelope
from ..wire.names import TraceEventType
from .calls import (
    Outcome,
    async_run_flow,
    decode_json,
    encode_json,
    proxy_request,
    require_reply,
    retry_flow,
    run_flow,
    unexpected_reply,
)
from .context import current
from .transport import HttpRequest

log = logging.getLogger(__name__)
TIMEOUT_S = 30.0
BEST_EFFORT_TIMEOUT_S = 5.0  # reporting must not hold the agent up


def post_trace_event(
    event_type: str, payload: Mapping[str, Any] | None = None, *, envelope: Envelope | None = None
) -> dict[str, Any]:
    """Report something about the current run: it stands in the trace among the tool calls.

        post_trace_event("thinking", {"text": "The order shipped 40 days ago, so a refund is due."})

    Types: assistant_message, thinking, system_prompt, custom, handoff, subagent_message, subagent_final. The
    payload is any JSON object; `__occurred_at` (ISO-8601) in it says when it happened, if not now. Returns
    `{"accepted": True, "sequence": …, "event_type": …}`. Retried as tool calls are; raises ProxyRefused for
    what the proxy does not take, ProxyUnavailable when it cannot be reached. An event whose answer was
    lost may be recorded twice.
    """
    return _check_accepted(
        event_type, run_flow(retry_flow(_request(event_type, payload, envelope, TIMEOUT_S)))
    )


async def async_post_trace_event(
    event_type: str, payload: Mapping[str, Any] | None = None, *, envelope: Envelope | None = None
) -> dict[str, Any]:
    """`post_trace_event` for async code."""
    request = _request(event_type, payload, envelope, TIMEOUT_S)
    return _check_accepted(event_type, await async_run_flow(retry_flow(request)))


def try_post_trace_event(
    event_type: str, payload: Mapping[str, Any] | None = None, *, envelope: Envelope | None = None
) -> bool:
    """Report if it can be done; whether it was. Never raises: an agent should not fail over a report.

        try_post_trace_event("assistant_message", {"text": "Looking the order up."})

    One try, and at most five seconds for an answer.
    """
    try:
        request = _request(event_type, payload, envelope, BEST_EFFORT_TIMEOUT_S)
        _check_accepted(event_type, run_flow(retry_flow(request, most=1)))
    except Exception as error:  # noqa: BLE001  # whatever it is, it is not worth a run
        log.debug("trace event %s was not recorded: %s", event_type, error)
        return False
    return True


async def async_try_post_trace_event(
    event_type: str, payload: Mapping[str, Any] | None = None, *, envelope: Envelope | None = None
) -> bool:
    """`try_post_trace_event` for async code."""
    try:
        request = _request(event_type, payload, envelope, BEST_EFFORT_TIMEOUT_S)
        _check_accepted(event_type, await async_run_flow(retry_flow(request, most=1)))
    except Exception as error:  # noqa: BLE001  # as above; a cancelled task still is cancelled
        log.debug("trace event %s was not recorded: %s", event_type, error)
        return False
    return True


def post_handoff(
    to_actor: str, *, reason: str | None = None, envelope: Envelope | None = None, **more: Any
) -> dict[str, Any]:
    """Record that control goes to another sub-agent.

        post_handoff("refunds", reason="The user wants money back.")

    `from_actor` is the actor of the envelope (`envelope.for_actor("supervisor")`), None for the agent itself.
    Further keywords go into the event as they are.
    """
    payload = _handoff(to_actor, reason, envelope or current(), more)
    return post_trace_event(TraceEventType.HANDOFF, payload, envelope=envelope)


async def async_post_handoff(
    to_actor: str, *, reason: str | None = None, envelope: Envelope | None = None, **more: Any
) -> dict[str, Any]:
    """`post_handoff` for async code."""
    payload = _handoff(to_actor, reason, envelope or current(), more)
    return await async_post_trace_event(TraceEventType.HANDOFF, payload, envelope=envelope)


def _handoff(to_actor: str, reason: str | None, envelope: Envelope, more: dict[str, Any]) -> dict[str, Any]:
    text = {} if reason is None else {"reason": reason}
    return {"from_actor": envelope.actor_id, "to_actor": to_actor} | text | more


def _request(
    event_type: str, payload: Mapping[str, Any] | None, envelope: Envelope | None, timeout_s: float
) -> HttpRequest:
    body = encode_json(dict(payload or {}), f"the {event_type} event")
    return proxy_request(envelope or current(), f"traces/{quote(event_type, safe='')}", body, timeout_s)


def _check_accepted(event_type: str, outcome: Outcome) -> dict[str, Any]:
    what = f"the {event_type} event was not recorded"
    reply = require_reply(outcome, what)
    body = decode_json(reply)
    if reply.status >= 400 or not isinstance(body, dict) or body.get("accepted") is not True:
        raise unexpected_reply(what, reply)
    return body
