"""Decides the reply to a tool call without I/O: refused, injected, simulated or passed through.

    receive -> decide -> a Decision
                      -> an Ask: the caller carries out its question and hands the reply to
               settle -> a Decision, or one more Ask

A failure rule comes first, then the simulator; what it answers is checked against the schemas and the ledger.
The caller has found the run, keeps the order of its calls, stores what was decided and folds it in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import orjson

from pipelines.core.calls.called_run import MAX_KEYS, Arrival, CalledRun, KeptReply, OldKey, fingerprint
from pipelines.core.ledger.ledger import Ledger, LedgerUpdate
from pipelines.core.simulation.by_model.model_call import ModelCall
from pipelines.core.simulation.reply_check import contradictions, may_contradict, update_check
from pipelines.core.simulation.simulator import Question, SimulatedReply, SimulationFailed, Wait
from pipelines.core.text.json_text import InvalidJson, JsonObject, dumps, loads_and_text
from pipelines.core.text.problems import Problem
from pipelines.core.tools.failure_rules import Effect, MatchedRule, WireFault
from pipelines.core.tools.live_tools import LiveCall, LiveCallFailed
from pipelines.core.tools.tools_schema import Tool, nearest_names
from pipelines.core.tools.trace_row import (
    CASSETTE,
    LIVE_ENGINE,
    ON_SECOND_TRY,
    OUTCOME_UNKNOWN,
    TOOL_CALL,
    TraceRow,
)
from pipelines.wire.actor import is_actor_id
from pipelines.wire.errors import (
    ActorIdInvalid,
    AskFailed,
    BodyTooLarge,
    CassetteMiss,
    IdempotencyKeyReused,
    IdempotencyKeysFull,
    InvalidArguments,
    InvalidJsonBody,
    OdysseyError,
    OutcomeUnknown,
    ReplyTooLarge,
    RunNotActive,
    SimulationError,
    ToolNotDeclared,
)
from pipelines.wire.names import MAX_BODY_BYTES, Source

#: How often an engine may be asked for one call: once, and once more with the problems of its first answer.
MAX_QUESTIONS = 2
_ASSERTED_HINT = "if the plan intends this, add `asserted: true`"
_WORLD_FULL = "This run has changed 64 MiB of its world, which is the limit. This call changed nothing."


class ToolCall(NamedTuple):
    """A call as it arrived. `body` is None when it was too large to be read."""

    tool_name: str
    body: bytes | None
    actor_id: str | None
    idempotency_key: str | None
    started: float  # time.perf_counter() when the request came in
    client: str | None = None  # the calling program's own name, where the protocol gives it


class ReceivedCall(NamedTuple):
    """A call that was accepted, and its number in the run."""

    tool: Tool
    arguments: JsonObject
    arrival: Arrival


class Decision(NamedTuple):
    """The reply to a call, before it is stored."""

    source: Source
    http_status: int | None  # the backend's; None when the platform refused or could not answer
    response: str  # JSON text: encoded once for the row and the reply
    updates: tuple[LedgerUpdate, ...] = ()
    matched_rule_index: int | None = None
    validation: str | None = None
    error: OdysseyError | None = None
    is_valid: int | None = None
    fault: WireFault | None = None  # the reply is not sent; this happens to the connection instead
    matched_rule: str | None = None  # of the plan, in words


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """A question that must be answered before the call can be."""

    received: ReceivedCall
    question: Question
    #: Built from the world as the calls before leave it; if not, it may be asked while those are out.
    reads_world: bool
    matched: MatchedRule | None = None  # a rule that only makes the reply late
    asked: int = 0  # questions to an engine so far, this one included; waiting is none


class Reply(NamedTuple):
    http_status: int | None  # the backend's; None when the platform refused or could not answer
    body: bytes
    source: str
    error: OdysseyError | None  # what it refused with
    fault: WireFault | None = None
    is_error: bool = False  # the backend said so itself, where its status cannot


#: A call's arguments as text, if they could be read, and what becomes of it: refused, asked before, or taken.
Reception: TypeAlias = tuple[str | None, "Decision | KeptReply | OldKey | ReceivedCall"]

_VALID = '{"ok":true,"attempts":1,"errors":[],"engine":"embedded"}'
#: What the agent gets of it: which engine answered and what it did not enforce is for the trace.
_VALID_FOR_AGENT = '{"ok":true,"attempts":1,"errors":[]}'
_AGENT_FIELDS = ("ok", "attempts", "errors")
_ODYSSEY = Source.ODYSSEY.value
_NO_UPDATES: tuple[LedgerUpdate, ...] = ()
#: Records that every call makes are made so: a named tuple's own constructor takes three times as long.
_new = tuple.__new__


# -- receiving a call ------------------------------------------------------------------------------------


def receive(run: CalledRun, call: ToolCall, *, is_active: bool = True) -> Reception:
    """Check a call before its turn. An accepted call is counted."""
    text: str | None = None
    try:
        if call.actor_id is not None and not is_actor_id(call.actor_id):
            raise ActorIdInvalid
        if not is_active:
            raise RunNotActive
        tool = run.toolbox.tools.get(call.tool_name) or _undeclared_tool(run.toolbox.tools, call.tool_name)
        arguments, text = _read_arguments(call.body)
        if call.idempotency_key is not None:
            before = run.replies.get(call.idempotency_key)
            if before is not None:
                if before.tool_name != call.tool_name or before.arguments != fingerprint(text):
                    raise IdempotencyKeyReused
                return text, before
            if run.older:
                sequence = run.older.get(hash(call.idempotency_key))
                if sequence is not None:
                    return text, OldKey(sequence)
                if len(run.older) >= MAX_KEYS:
                    raise IdempotencyKeysFull
        if not tool.accepts(arguments):
            _refuse_arguments(tool, arguments)
    except OdysseyError as error:
        return text, refusal(error)
    return text, _new(ReceivedCall, (tool, arguments, run.arrive(tool.name)))


def _undeclared_tool(tools: Mapping[str, Tool], name: str) -> Tool:
    near = nearest_names(name, tools)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise ToolNotDeclared(
        f"The agent's tools_schema has no tool named {name[:128]!r}.{hint}", details={"nearest": near}
    )


def _read_arguments(body: bytes | None) -> tuple[JsonObject, str]:
    if body is None:
        raise BodyTooLarge("The arguments are over 1 MiB.")
    if not body:
        return {}, "{}"
    try:
        arguments, text = loads_and_text(body)
    except InvalidJson as error:
        raise InvalidJsonBody(f"The arguments cannot be read: {error}.") from None
    if not isinstance(arguments, dict):
        raise InvalidArguments(
            "The body must be a JSON object: the tool's arguments by name.",
            details=[Problem(path="", message="not an object").as_json()],
        )
    return arguments, text.decode()


def _refuse_arguments(tool: Tool, arguments: JsonObject) -> None:
    problems = tool.argument_problems(arguments)
    raise InvalidArguments(
        f"The arguments do not match the input_schema of {tool.name}.",
        details=[problem.as_json() for problem in problems],
    )


# -- deciding it -----------------------------------------------------------------------------------------


def waits_its_turn(run: CalledRun, received: ReceivedCall) -> bool:
    """Whether the decision depends on earlier calls that are not settled yet."""
    name = received.tool.name
    if run.progress.depends_on_flags(name):
        return True
    matched = run.progress.match(name, received.arrival.counts)
    if matched is not None and (matched.error is not None or matched.latency_ms):
        return False
    return name not in run.simulator.latencies_ms and run.simulator.reads_world(name)


def decide(run: CalledRun, received: ReceivedCall) -> Decision | Ask:
    """Decide the reply. `CalledRun.fold` applies the changes once it is stored."""
    counts = received.arrival.counts
    matched = run.progress.match(received.tool.name, counts) if counts else None
    latency_ms = matched.latency_ms if matched is not None else 0
    if run.simulator.latencies_ms and (matched is None or matched.error is None):
        latency_ms += run.simulator.latencies_ms.get(received.tool.name, 0)
    if latency_ms:
        return Ask(received=received, question=Wait(latency_ms), reads_world=False, matched=matched)
    return _simulate(run, received, matched)


def settle(run: CalledRun, ask: Ask, reply: object) -> Decision | Ask:
    """Continue with the reply to an Ask. The reply may be AskFailed: no usable answer came."""
    if isinstance(ask.question, Wait):
        return _simulate(run, ask.received, ask.matched)
    if isinstance(reply, AskFailed):
        if isinstance(ask.question, ModelCall):  # nothing was passed on: a model is no backend
            return refusal(SimulationError(str(reply), details={"reason": "model_failed"}))
        return _failed_hop_decision(reply, ask)
    moment = run.moment(ask.received.arrival.number)
    try:
        simulated = run.simulator.settle(ask.question, reply, run.ledger, moment)
    except SimulationFailed as error:
        return _failed_decision(error)
    return _check_or_ask(run, ask.received, simulated, ask.matched, ask.asked)


def decide_without_asking(run: CalledRun, received: ReceivedCall, why: str) -> tuple[Decision, int]:
    """The decision, and how many milliseconds it would have been held back: nobody waits for them, and what
    would be asked outside fails, as `why` says."""
    outcome, held_ms = decide(run, received), 0
    while isinstance(outcome, Ask):
        is_wait = isinstance(outcome.question, Wait)
        held_ms += outcome.question.latency_ms if isinstance(outcome.question, Wait) else 0
        outcome = settle(run, outcome, None if is_wait else AskFailed(why))
    return outcome, held_ms


def _simulate(run: CalledRun, received: ReceivedCall, matched: MatchedRule | None) -> Decision | Ask:
    if matched is not None and matched.error is not None:
        return _forced_decision(matched.index, matched.error)
    tool, arguments, arrival = received
    try:
        simulated = run.simulator.answer(tool.name, arguments, run.ledger, run.moment(arrival.number))
    except SimulationFailed as error:
        return _failed_decision(error)
    if matched is None and isinstance(simulated, SimulatedReply):  # as nearly always
        checked = _check_reply(run, tool, simulated)
        if isinstance(checked, Decision):
            return checked
    return _check_or_ask(run, received, simulated, matched, 0)


def _check_or_ask(
    run: CalledRun,
    received: ReceivedCall,
    simulated: SimulatedReply | Question,
    matched: MatchedRule | None,
    asked: int,
) -> Decision | Ask:
    if not isinstance(simulated, SimulatedReply):
        return _ask_engine(run, received, simulated, matched, asked)
    checked = _check_reply(run, received.tool, simulated)
    decision = (
        checked
        if isinstance(checked, Decision)
        else _retry_answer(run, received.tool, simulated, checked, asked)
    )
    if not isinstance(decision, Decision):
        return _check_or_ask(run, received, decision, matched, asked)
    return decision._replace(matched_rule_index=matched.index) if matched is not None else decision


def _retry_answer(
    run: CalledRun, tool: Tool, simulated: SimulatedReply, problems: list[Problem], asked: int
) -> SimulatedReply | Question | Decision:
    """Ask again after an answer that contradicts the ledger, or refuse after the last attempt."""
    try:
        if max(simulated.attempts, asked) >= MAX_QUESTIONS:
            raise SimulationFailed("contradiction", "so did the answer before it")
        again = run.simulator.again(tool.name, run.ledger, simulated, problems)
    except SimulationFailed as error:
        hinted = [replace(problem, hint=_ASSERTED_HINT) for problem in problems]
        return _invalid_decision(tool, simulated, hinted, f"contradicts the ledger ({error})")
    return again._replace(attempts=simulated.attempts + 1) if isinstance(again, SimulatedReply) else again


def _ask_engine(
    run: CalledRun,
    received: ReceivedCall,
    question: Question,
    matched: MatchedRule | None,
    asked: int,
) -> Decision | Ask:
    if asked >= MAX_QUESTIONS:
        message = f"No usable answer came for {received.tool.name}, though it was asked for {asked} times."
        return refusal(SimulationError(message))
    if isinstance(question, LiveCall):
        question = replace(question, asked_before=run.count_asked(question.declared_name, question.arguments))
    reads_world = asked > 0 or run.simulator.reads_world(received.tool.name)
    return Ask(
        received=received,
        question=question,
        reads_world=reads_world,
        matched=matched,
        asked=asked + 1,
    )


def _forced_decision(index: int, error: Effect) -> Decision:
    decision = Decision(
        Source.INJECTED,
        error.code,
        text_of(error.body()),
        matched_rule_index=index,
        fault=error if isinstance(error, WireFault) else None,
    )
    return refusal(ReplyTooLarge()) if _is_too_large(decision.response) else decision


def _failed_decision(error: SimulationFailed) -> Decision:
    if error.code == "plan_too_large":
        return refusal(ReplyTooLarge(str(error)))
    refused = refusal(SimulationError(str(error), details={"reason": error.code}))
    if error.engine is None:
        return refused
    checked: JsonObject = {
        "ok": False,
        "attempts": MAX_QUESTIONS if error.problems else 1,
        "errors": [problem.as_json() for problem in error.problems],
        "engine": error.engine,
        "notes": list(error.notes),
    }
    return refused._replace(validation=text_of(checked), is_valid=0 if error.problems else None)


def _failed_hop_decision(failed: AskFailed, ask: Ask) -> Decision:
    checked: JsonObject | None = None
    if isinstance(failed, LiveCallFailed) and (failed.notes or failed.is_replayed):
        engine = CASSETTE if failed.is_replayed else LIVE_ENGINE
        checked = {"ok": False, "attempts": 1, "errors": [], "engine": engine, "notes": list(failed.notes)}
    return refusal(failed)._replace(
        source=Source.TRANSPORT_ERROR,
        validation=text_of(checked) if checked is not None else None,
        matched_rule_index=ask.matched.index if ask.matched is not None else None,
    )


def refusal(error: OdysseyError) -> Decision:
    return Decision(Source.ERROR, None, text_of({"error": error.as_json()}), error=error)


def _is_too_large(text: str) -> bool:
    # A character is at most four bytes: only what might be too large is measured.
    return len(text) > MAX_BODY_BYTES // 4 and len(text.encode()) > MAX_BODY_BYTES


# -- checking what a simulator answered ------------------------------------------------------------------


def _check_reply(run: CalledRun, tool: Tool, simulated: SimulatedReply) -> Decision | list[Problem]:
    """Reject a reply that breaks a declared schema, with its changes. If it contradicts the ledger, return

    the problems, for another attempt.
    """
    if simulated.source is Source.PASSTHROUGH:
        return _live_decision(run, tool, simulated)
    status, response, updates = simulated.status, simulated.response, simulated.updates
    if status >= 400:  # errors have a shape of their own, and change nothing
        updates = _NO_UPDATES
    else:
        broken = tool.response_problems(response)
        if updates:
            if not run.may_change():
                return refusal(SimulationError(_WORLD_FULL, details={"reason": "world_too_large"}))
            broken = broken + update_check(updates, run.toolbox.ledger_schema)
        if broken:
            return _invalid_decision(tool, simulated, broken)
        problems = _contradictions(run, simulated)
        if problems:
            return problems
    text = dumps(response).decode()
    if _is_too_large(text):
        return refusal(ReplyTooLarge())
    validation = _validation(simulated, [])
    is_valid = 1 if simulated.attempts == 1 else ON_SECOND_TRY
    rule = simulated.rule
    return _new(
        Decision, (simulated.source, status, text, updates, None, validation, None, is_valid, None, rule)
    )


def _live_decision(run: CalledRun, tool: Tool, simulated: SimulatedReply) -> Decision:
    """Send a live reply as it came, and note its problems in the trace. The adapter's updates are applied
    all together, or not at all if they would break the world."""
    text = dumps(simulated.response).decode()
    if _is_too_large(text):
        return _too_large_decision(tool)
    problems: list[Problem] = []
    if simulated.status < 400:
        problems = tool.response_problems(simulated.response) + _contradictions(run, simulated)
    if simulated.updates:
        broken = update_check(simulated.updates, run.toolbox.ledger_schema)
        why = [f"{each.path} {each.message}" for each in broken] if run.may_change() else [_WORLD_FULL]
        if why:
            notes = tuple(f"the ledger_adapter changed nothing: {one}" for one in why)
            simulated = simulated._replace(updates=_NO_UPDATES, notes=(*simulated.notes, *notes))
    return Decision(
        simulated.source,
        simulated.status,
        text,
        simulated.updates,
        validation=_validation(simulated, problems),
        is_valid=0 if problems else 1,
    )


def _too_large_decision(tool: Tool) -> Decision:
    failed = AskFailed(f"The live reply of {tool.name} is over 1 MiB.")
    return refusal(failed)._replace(source=Source.TRANSPORT_ERROR)


def _invalid_decision(
    tool: Tool, simulated: SimulatedReply, broken: list[Problem], how: str = "failed its check"
) -> Decision:
    error = SimulationError(
        f"The simulated reply of {tool.name} {how}, so nothing was changed.",
        details=[problem.as_json() for problem in broken],
    )
    return refusal(error)._replace(validation=_validation(simulated, broken), is_valid=0)


def _contradictions(run: CalledRun, simulated: SimulatedReply) -> list[Problem]:
    after: Ledger = run.ledger
    if not may_contradict(simulated.response, after, simulated.updates):
        return []
    if simulated.updates:
        after = run.ledger.draft()
        after.apply(simulated.updates)
    return contradictions(simulated.response, after, simulated.computed, simulated.updates)


def _validation(simulated: SimulatedReply, problems: list[Problem]) -> str:
    if not problems and not simulated.notes and simulated.engine == "embedded" and simulated.attempts == 1:
        return _VALID
    checked: JsonObject = {
        "ok": not problems,
        "attempts": simulated.attempts,
        "errors": [problem.as_json() for problem in problems],
        "engine": simulated.engine,
    }
    return text_of(checked | ({"notes": list(simulated.notes)} if simulated.notes else {}))


# -- what is stored and what is sent -----------------------------------------------------------------------


def row_of(
    run_id: int,
    sequence: int,
    call: ToolCall,
    arguments: str | None,
    decision: Decision,
    arrival: Arrival | None,
    latency_ms: float,
    occurred_at: str,
) -> TraceRow:
    """The trace row of a call."""
    source, http_status, response, updates, matched_rule_index, validation, error, is_valid, _, rule = (
        decision
    )
    return _new(
        TraceRow,
        (
            run_id,
            sequence,
            TOOL_CALL,
            call.tool_name,
            source.value,
            http_status,
            error.code if error is not None else None,
            matched_rule_index,
            latency_ms,
            call.actor_id,
            call.idempotency_key if error is None or isinstance(error, AskFailed) else None,
            occurred_at,
            arguments,
            response,
            text_of([update.as_json() for update in updates]) if updates else None,
            validation,
            None,
            arrival.number if arrival is not None else None,
            is_valid,
            call.client,
            rule,
        ),
    )


def pending_decision(until: str, by: str) -> Decision:
    """What is stored for a call while its question is out. If no answer comes, this remains.

    The call counts as given up once `until` has passed, or when process `by` itself asks again."""
    return refusal(OutcomeUnknown(details={"until": until, "by": by}))


def is_same_call(row: TraceRow, call: ToolCall, arguments: str | None) -> bool:
    """Whether a stored row belongs to the same call."""
    same = (row.idempotency_key, row.tool_name, row.arguments)
    return same == (call.idempotency_key, call.tool_name, arguments)


def reply_of(row: TraceRow, error: OdysseyError | None = None, fault: WireFault | None = None) -> Reply:
    """The reply to a call, made from its row. A repeated call gets the same reply."""
    if error is None and row.error_code is not None:  # only calls that were passed on are kept with an error
        error = _stored_error(row)
        if row.error_code == OUTCOME_UNKNOWN:  # its row also says who asked: that is for other processes
            row = row._replace(response=text_of({"error": error.as_json()}))
    is_error = row.source == Source.PASSTHROUGH and row.is_marked_as_error
    return _new(Reply, (row.http_status, _envelope(row, error), row.source or "", error, fault, is_error))


def _stored_error(row: TraceRow) -> AskFailed:
    if row.error_code == OUTCOME_UNKNOWN:
        return OutcomeUnknown()
    error = orjson.loads(row.response or "{}")["error"]
    if row.error_code == CassetteMiss.code:
        return CassetteMiss(error["message"], details=error.get("details"))
    return AskFailed(error["message"], details=error.get("details"))


def _envelope(row: TraceRow, error: OdysseyError | None) -> bytes:
    if row.validation == _VALID and row.matched_rule_index is None and row.source == _ODYSSEY:
        # Nearly every reply, put together from text at hand. A declared tool's name needs no escaping.
        return (
            f'{{"tool_name":"{row.tool_name}","response":{row.response},"source":"odyssey","latency_ms":'
            f'{round(row.latency_ms or 0)},"matched_rule_index":null,"validation":{_VALID_FOR_AGENT}}}'
        ).encode()
    envelope: dict[str, object] = {
        "tool_name": row.tool_name,
        "response": orjson.Fragment(row.response or "null"),
        "source": row.source,
        "latency_ms": round(row.latency_ms or 0),
        "matched_rule_index": row.matched_rule_index,
    }
    if row.validation is not None and row.source == Source.ODYSSEY:
        envelope["validation"] = _agent_validation(row.validation)
    if error is not None:
        envelope["error"] = error.as_json()
    return orjson.dumps(envelope)


def _agent_validation(validation: str) -> object:
    if validation == _VALID:
        return orjson.Fragment(_VALID_FOR_AGENT)
    whole = orjson.loads(validation)
    return {part: whole[part] for part in _AGENT_FIELDS}


def text_of(value: object) -> str:
    return dumps(value).decode()
