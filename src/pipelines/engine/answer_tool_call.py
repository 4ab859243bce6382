"""One tool call: refused, injected or simulated, then stored, then answered.

Everything up to the store is synchronous, so the calls of a run are decided one at a time in the order they
arrived. The reply waits for its row to be durable; a row that is lost takes the run's memory with it.

answer -> _repeated (a retry gets the first reply) -> _decide: _injected | _simulated, or a refusal
"""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

import orjson

from pipelines.core.json_text import InvalidJson, JsonObject, dumps, loads
from pipelines.core.ledger import Ledger, LedgerUpdate, SetFlag
from pipelines.core.ledger_schema import update_problems
from pipelines.core.problems import Problem
from pipelines.core.simulation.reply_check import contradictions
from pipelines.core.simulation.simulator import SimulatedReply, SimulationFailed
from pipelines.core.tools_schema import Tool, nearest_names
from pipelines.engine.live_runs import TOOL_CALL, LiveRun, StoredReply
from pipelines.storage.trace_rows import TraceRow
from pipelines.wire.actor import is_actor_id
from pipelines.wire.errors import (
    ActorIdInvalid,
    BodyTooLarge,
    IdempotencyKeyReused,
    InvalidArguments,
    InvalidJsonBody,
    OdysseyError,
    ReplyTooLarge,
    RunNotActive,
    SimulationError,
    ToolNotDeclared,
)
from pipelines.wire.names import MAX_BODY_BYTES, Source


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


class _Decision(NamedTuple):
    """What the world answers, before it is stored."""

    source: Source
    http_status: int | None
    response: str  # JSON text: encoded once for the row and the reply
    updates: tuple[LedgerUpdate, ...] = ()
    matched_rule_index: int | None = None
    validation: str | None = None
    error: OdysseyError | None = None


_ALL_WELL = '{"ok":true,"attempts":1,"errors":[],"engine":"embedded"}'
#: What the agent gets of it: which engine answered and what it did not enforce is for the trace.
_ALL_WELL_SHOWN = b'{"ok":true,"attempts":1,"errors":[]}'
_SHOWN = ("ok", "attempts", "errors")
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


def _decide_or_refuse(live: LiveRun, call: ToolCall, now: str) -> tuple[str | None, _Decision | StoredReply]:
    arguments_text: str | None = None
    try:
        tool = _check_moment(live, call, now)
        arguments = _arguments(call)
        arguments_text = _text(arguments)
        before = _repeated(live, call, arguments_text)
        if before is not None:
            return arguments_text, before
        _check_arguments(tool, arguments)
    except OdysseyError as error:
        return arguments_text, _refusal(error)
    return arguments_text, _decide(live, tool, arguments)


def _check_moment(live: LiveRun, call: ToolCall, now: str) -> Tool:
    if call.actor_id is not None and not is_actor_id(call.actor_id):
        raise ActorIdInvalid
    if not live.is_active or now >= live.expires_at:
        raise RunNotActive
    tool = live.toolbox.tools.get(call.tool_name)
    if tool is None:
        near = nearest_names(call.tool_name, live.toolbox.tools)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ToolNotDeclared(
            f"The agent's tools_schema has no tool named {call.tool_name[:128]!r}.{hint}",
            details={"nearest": near},
        )
    return tool


def _arguments(call: ToolCall) -> JsonObject:
    if call.body is None:
        raise BodyTooLarge("The arguments are over 1 MiB.")
    try:
        arguments = loads(call.body) if call.body else {}
    except InvalidJson as error:
        raise InvalidJsonBody(f"The arguments are {error}.") from None
    if not isinstance(arguments, dict):
        raise InvalidArguments(
            "The body must be a JSON object: the tool's arguments by name.",
            details=[Problem(path="", message="not an object").as_json()],
        )
    return arguments


def _check_arguments(tool: Tool, arguments: JsonObject) -> None:
    if not tool.accepts(arguments):
        problems = tool.argument_problems(arguments)
        raise InvalidArguments(
            f"The arguments do not fit the input_schema of {tool.name}.",
            details=[problem.as_json() for problem in problems],
        )


def _repeated(live: LiveRun, call: ToolCall, arguments_text: str) -> StoredReply | None:
    if call.idempotency_key is None:
        return None
    before = live.replies.get(call.idempotency_key)
    if before is not None and (before.tool_name, before.arguments) != (call.tool_name, arguments_text):
        raise IdempotencyKeyReused
    return before


def _decide(live: LiveRun, tool: Tool, arguments: JsonObject) -> _Decision:
    live.calls += 1
    matched = live.progress.next_match(tool.name)
    if matched is not None:
        decision = _Decision(
            Source.INJECTED, matched.status, _text(matched.response), matched_rule_index=matched.index
        )
    else:
        decision = _simulated(live, tool, arguments)
    return _refusal(ReplyTooLarge()) if _is_too_large(decision.response) else decision


def _simulated(live: LiveRun, tool: Tool, arguments: JsonObject) -> _Decision:
    try:
        simulated = live.simulator.answer(tool.name, arguments, live.ledger, live.moment())
    except SimulationFailed as error:
        if error.code == "plan_too_large":
            return _refusal(ReplyTooLarge(str(error)))
        return _refusal(SimulationError(str(error), details={"reason": error.code}))
    return _checked(live, tool, simulated)


def _is_too_large(text: str) -> bool:
    # A character is at most four bytes: only what might be too large is measured.
    return len(text) > MAX_BODY_BYTES // 4 and len(text.encode()) > MAX_BODY_BYTES


def _checked(live: LiveRun, tool: Tool, simulated: SimulatedReply) -> _Decision:
    """A reply that breaks a declared schema is not sent, and what it changed is not done.

    One that contradicts the ledger is sent, since a plan may mean it; its validation says so.
    """
    if simulated.status >= 400:  # errors have a shape of their own, and change nothing
        validation = _validation(simulated, [])
        return _Decision(Source.ODYSSEY, simulated.status, _text(simulated.response), validation=validation)
    broken = _broken(live, tool, simulated)
    if broken:
        error = SimulationError(
            f"The simulated reply of {tool.name} failed its check, so nothing was changed.",
            details=[problem.as_json() for problem in broken],
        )
        return _refusal(error)._replace(validation=_validation(simulated, broken))
    validation = _validation(simulated, _contradictions(live, simulated))
    return _Decision(
        Source.ODYSSEY, simulated.status, _text(simulated.response), simulated.updates, validation=validation
    )


def _broken(live: LiveRun, tool: Tool, simulated: SimulatedReply) -> list[Problem]:
    schema = live.toolbox.ledger_schema
    problems = tool.response_problems(simulated.response)
    if schema is not None:
        problems += [found for update in simulated.updates for found in update_problems(schema, update)]
    return problems


def _contradictions(live: LiveRun, simulated: SimulatedReply) -> list[Problem]:
    after: Ledger = live.ledger
    if simulated.updates:
        after = live.ledger.draft()
        after.apply(simulated.updates)
    return contradictions(simulated.response, after, simulated.computed)


def _validation(simulated: SimulatedReply, problems: list[Problem]) -> str:
    if not problems and not simulated.notes and simulated.engine == "embedded":
        return _ALL_WELL
    checked: JsonObject = {
        "ok": not problems,
        "attempts": 1,
        "errors": [problem.as_json() for problem in problems],
        "engine": simulated.engine,
    }
    return _text(checked | ({"notes": list(simulated.notes)} if simulated.notes else {}))


def _refusal(error: OdysseyError) -> _Decision:
    return _Decision(Source.ERROR, None, _text({"error": error.as_json()}), error=error)


def _text(value: object) -> str:
    return dumps(value).decode()


def _row(
    live: LiveRun, call: ToolCall, arguments_text: str | None, decision: _Decision, occurred_at: str
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
        _text([update.as_json() for update in decision.updates]) if decision.updates else None,
        decision.validation,
        None,
    )


def _take_in(
    live: LiveRun, call: ToolCall, row: TraceRow, decision: _Decision, stored: "asyncio.Future[None]"
) -> None:
    """Later calls see this one at once; should its row be lost, the run is forgotten and read anew."""
    live.sequence = row.sequence
    live.last_occurred_at = row.occurred_at
    live.ledger.apply(decision.updates)
    for update in decision.updates:
        if isinstance(update, SetFlag):
            live.progress.flag_changed(update.flag, update.value)
    if row.idempotency_key is not None:
        live.replies[row.idempotency_key] = StoredReply(call.tool_name, row.arguments, row, stored)
    live.unstored += 1


def reply_of(row: TraceRow) -> Reply:
    """The reply to a call again, from its stored row."""
    validation = row.validation if row.source == Source.ODYSSEY else None
    return Reply(row.http_status, _envelope(row, validation), row.source or "", None)


def _reply(row: TraceRow, decision: _Decision) -> Reply:
    validation = row.validation if decision.source is Source.ODYSSEY else None
    return Reply(
        decision.http_status,
        _envelope(row, validation, decision.error),
        decision.source.value,
        decision.error,
    )


def _envelope(row: TraceRow, validation: str | None, error: OdysseyError | None = None) -> bytes:
    envelope: dict[str, object] = {
        "tool_name": row.tool_name,
        "response": orjson.Fragment(row.response or "null"),
        "source": row.source,
        "latency_ms": row.latency_ms,
        "matched_rule_index": row.matched_rule_index,
    }
    if validation is not None:
        envelope["validation"] = _shown(validation)
    if error is not None:
        envelope["error"] = error.as_json()
    return orjson.dumps(envelope)


def _shown(validation: str) -> object:
    if validation == _ALL_WELL:
        return orjson.Fragment(_ALL_WELL_SHOWN)
    whole = orjson.loads(validation)
    return {part: whole[part] for part in _SHOWN}
