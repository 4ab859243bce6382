"""One tool call: decided (core.tool_call), stored, then answered.

Everything up to the store is synchronous, so the calls of a run are decided one at a time in the order they
arrived. The reply waits for its row to be durable; a row that is lost takes the run's memory with it.

answer -> _repeated (a retry gets the first reply) -> decide, or a refusal -> stored -> the reply
"""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from pipelines.core.tool_call import (
    Decision,
    check_arguments,
    decide,
    declared_tool,
    read_arguments,
    refusal,
    reply_body,
    take_in,
    text_of,
)
from pipelines.core.tools_schema import Tool
from pipelines.engine.live_runs import TOOL_CALL, LiveRun, StoredReply
from pipelines.storage.trace_rows import TraceRow
from pipelines.wire.actor import is_actor_id
from pipelines.wire.errors import ActorIdInvalid, IdempotencyKeyReused, OdysseyError, RunNotActive
from pipelines.wire.names import Source


class ToolCall(NamedTuple):
    """A call as it arrived. `body` is None when it was too large to be read."""

    tool_name: str
    body: bytes | None
    actor_id: str | None
    idempotency_key: str | None
    started: float  # time.perf_counter() when the request came in


class Reply(NamedTuple):
    http_status: int | None  # the backend's; None when the platform refused or could not answer
    body: bytes
    source: str
    error: OdysseyError | None  # what it refused with


Append = Callable[[TraceRow], "asyncio.Future[None]"]


async def answer_tool_call(live: LiveRun, call: ToolCall, *, append: Append, now: str) -> Reply:
    """Decide, store and answer. Raises StorageUnavailable when the call could not be stored."""
    arguments_text, decision = _decide_or_refuse(live, call, now)
    if isinstance(decision, StoredReply):
        if decision.stored is not None:
            await asyncio.shield(decision.stored)
        return reply_of(decision.row)
    row = _row(live, call, arguments_text, decision, now)
    stored = append(row)
    _take_in(live, call, row, decision, stored)
    try:
        await stored
    finally:
        live.unstored -= 1
    return _reply(row, decision)


def _decide_or_refuse(live: LiveRun, call: ToolCall, now: str) -> tuple[str | None, Decision | StoredReply]:
    arguments_text: str | None = None
    try:
        tool = _check_moment(live, call, now)
        arguments = read_arguments(call.body)
        arguments_text = text_of(arguments)
        before = _repeated(live, call, arguments_text)
        if before is not None:
            return arguments_text, before
        check_arguments(tool, arguments)
    except OdysseyError as error:
        return arguments_text, refusal(error)
    return arguments_text, decide(live, tool, arguments)


def _check_moment(live: LiveRun, call: ToolCall, now: str) -> Tool:
    if call.actor_id is not None and not is_actor_id(call.actor_id):
        raise ActorIdInvalid
    if not live.is_active or now >= live.expires_at:
        raise RunNotActive
    return declared_tool(live.toolbox.tools, call.tool_name)


def _repeated(live: LiveRun, call: ToolCall, arguments_text: str) -> StoredReply | None:
    if call.idempotency_key is None:
        return None
    before = live.replies.get(call.idempotency_key)
    if before is not None and (before.tool_name, before.arguments) != (call.tool_name, arguments_text):
        raise IdempotencyKeyReused
    return before


def _row(
    live: LiveRun, call: ToolCall, arguments_text: str | None, decision: Decision, occurred_at: str
) -> TraceRow:
    error = decision.error
    return TraceRow(  # by position: seventeen keywords cost more than the rest of this function
        live.id,
        live.sequence + 1,
        TOOL_CALL,
        call.tool_name,
        decision.source.value,
        decision.http_status,
        error.code if error is not None else None,
        decision.matched_rule_index,
        round((time.perf_counter() - call.started) * 1000, 3),
        call.actor_id,
        call.idempotency_key if error is None else None,
        max(occurred_at, live.last_occurred_at),
        arguments_text,
        decision.response,
        text_of([update.as_json() for update in decision.updates]) if decision.updates else None,
        decision.validation,
        None,
    )


def _take_in(
    live: LiveRun, call: ToolCall, row: TraceRow, decision: Decision, stored: "asyncio.Future[None]"
) -> None:
    """Later calls see this one at once; should its row be lost, the run is forgotten and read anew."""
    live.sequence = row.sequence
    live.last_occurred_at = row.occurred_at
    take_in(live, decision)
    if row.idempotency_key is not None:
        live.replies[row.idempotency_key] = StoredReply(call.tool_name, row.arguments, row, stored)
    live.unstored += 1


def reply_of(row: TraceRow) -> Reply:
    """The reply to a call again, from its stored row."""
    validation = row.validation if row.source == Source.ODYSSEY else None
    return Reply(row.http_status, _envelope(row, validation), row.source or "", None)


def _reply(row: TraceRow, decision: Decision) -> Reply:
    validation = row.validation if decision.source is Source.ODYSSEY else None
    return Reply(
        decision.http_status,
        _envelope(row, validation, decision.error),
        decision.source.value,
        decision.error,
    )


def _envelope(row: TraceRow, validation: str | None, error: OdysseyError | None = None) -> bytes:
    return reply_body(
        row.tool_name, row.response, row.source, row.latency_ms, row.matched_rule_index, validation, error
    )
