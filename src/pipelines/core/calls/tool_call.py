"""What a run answers to a tool call: refused, injected, simulated or passed on. Decided without I/O.

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
from pipelines.core.tools.live_tools import HopFailed, LiveCall
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

#: What an engine may be asked for one call: its first answer and one more, told what was wrong with it.
MAX_QUESTIONS = 2
_IF_MEANT = "a plan that means it says so: `asserted: true`"
_WORLD_FULL = "This run has changed 64 MiB of its world, and no run may change more: nothing was changed."


class ToolCall(NamedTuple):
    """A call as it arrived. `body` is None when it was too large to be read."""

    tool_name: str
    body: bytes | None
    actor_id: str | None
    idempotency_key: str | None
    started: float  # time.perf_counter() when the request came in
    client: str | None = None  # what the program calls itself that asked, where the protocol tells


class Received(NamedTuple):
    """A call that may be answered, and which of the run's calls it is."""

    tool: Tool
    arguments: JsonObject
    arrival: Arrival


class Decision(NamedTuple):
    """What the world answers, before it is stored."""

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
    """The call cannot be answered before its question is."""

    received: Received
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
Reception: TypeAlias = tuple[str | None, "Decision | KeptReply | OldKey | Received"]

_ALL_WELL = '{"ok":true,"attempts":1,"errors":[],"engine":"embedded"}'
#: What the agent gets of it: which engine answered and what it did not enforce is for the trace.
_ALL_WELL_SHOWN = '{"ok":true,"attempts":1,"errors":[]}'
_SHOWN = ("ok", "attempts", "errors")
_ODYSSEY = Source.ODYSSEY.value
_NO_UPDATES: tuple[LedgerUpdate, ...] = ()
#: Records that every call makes are made so: a named tuple's own constructor takes three times as long.
_new = tuple.__new__


# -- receiving a call ------------------------------------------------------------------------------------


def receive(run: CalledRun, call: ToolCall, *, is_active: bool = True) -> Reception:
    """Everything that can be said of a call before its turn; one that is taken is counted."""
    text: str | None = None
    try:
        if call.actor_id is not None and not is_actor_id(call.actor_id):
            raise ActorIdInvalid
        if not is_active:
            raise RunNotActive
        tool = run.toolbox.tools.get(call.tool_name) or _not_declared(run.toolbox.tools, call.tool_name)
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
    return text, _new(Received, (tool, arguments, run.arrive(tool.name)))


def _not_declared(tools: Mapping[str, Tool], name: str) -> Tool:
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
        f"The arguments do not fit the input_schema of {tool.name}.",
        details=[problem.as_json() for problem in problems],
    )


# -- deciding it -----------------------------------------------------------------------------------------


def waits_its_turn(run: CalledRun, received: Received) -> bool:
    """Whether what is decided or asked first depends on the calls before it, which are not settled yet."""
    name = received.tool.name
    if run.progress.depends_on_flags(name):
        return True
    matched = run.progress.match(name, received.arrival.counts)
    if matched is not None and (matched.error is not None or matched.latency_ms):
        return False
    return name not in run.simulator.latencies_ms and run.simulator.reads_world(name)


def decide(run: CalledRun, received: Received) -> Decision | Ask:
    """What it changes is for `CalledRun.fold`, once it is stored."""
    counts = received.arrival.counts
    matched = run.progress.match(received.tool.name, counts) if counts else None
    latency_ms = matched.latency_ms if matched is not None else 0
    if run.simulator.latencies_ms and (matched is None or matched.error is None):
        latency_ms += run.simulator.latencies_ms.get(received.tool.name, 0)
    if latency_ms:
        return Ask(received=received, question=Wait(latency_ms), reads_world=False, matched=matched)
    return _answered(run, received, matched)


def settle(run: CalledRun, ask: Ask, reply: object) -> Decision | Ask:
    """Go on with what came back for an Ask. AskFailed is a reply, too: nothing usable came."""
    if isinstance(ask.question, Wait):
        return _answered(run, ask.received, ask.matched)
    if isinstance(reply, AskFailed):
        if isinstance(ask.question, ModelCall):  # nothing was passed on: a model is no backend
            return refusal(SimulationError(str(reply), details={"reason": "model_failed"}))
        return _not_passed_on(reply, ask)
    moment = run.moment(ask.received.arrival.number)
    try:
        simulated = run.simulator.settle(ask.question, reply, run.ledger, moment)
    except SimulationFailed as error:
        return _failed(error)
    return _checked_or_asked(run, ask.received, simulated, ask.matched, ask.asked)


def _answered(run: CalledRun, received: Received, matched: MatchedRule | None) -> Decision | Ask:
    if matched is not None and matched.error is not None:
        return _forced(matched.index, matched.error)
    tool, arguments, arrival = received
    try:
        simulated = run.simulator.answer(tool.name, arguments, run.ledger, run.moment(arrival.number))
    except SimulationFailed as error:
        return _failed(error)
    if matched is None and isinstance(simulated, SimulatedReply):  # as nearly always
        checked = _checked(run, tool, simulated)
        if isinstance(checked, Decision):
            return checked
    return _checked_or_asked(run, received, simulated, matched, 0)


def _checked_or_asked(
    run: CalledRun,
    received: Received,
    simulated: SimulatedReply | Question,
    matched: MatchedRule | None,
    asked: int,
) -> Decision | Ask:
    if not isinstance(simulated, SimulatedReply):
        return _asked(run, received, simulated, matched, asked)
    checked = _checked(run, received.tool, simulated)
    decision = (
        checked if isinstance(checked, Decision) else _again(run, received.tool, simulated, checked, asked)
    )
    if not isinstance(decision, Decision):
        return _checked_or_asked(run, received, decision, matched, asked)
    return decision._replace(matched_rule_index=matched.index) if matched is not None else decision


def _again(
    run: CalledRun, tool: Tool, simulated: SimulatedReply, problems: list[Problem], asked: int
) -> SimulatedReply | Question | Decision:
    """One more answer in place of one that contradicts the ledger, or the refusal once there is none."""
    try:
        if max(simulated.attempts, asked) >= MAX_QUESTIONS:
            raise SimulationFailed("contradiction", "so did the answer before it")
        again = run.simulator.again(tool.name, run.ledger, simulated, problems)
    except SimulationFailed as error:
        hinted = [replace(problem, hint=_IF_MEANT) for problem in problems]
        return _broken(tool, simulated, hinted, f"contradicts the ledger ({error})")
    return again._replace(attempts=simulated.attempts + 1) if isinstance(again, SimulatedReply) else again


def _asked(
    run: CalledRun, received: Received, question: Question, matched: MatchedRule | None, asked: int
) -> Decision | Ask:
    if asked >= MAX_QUESTIONS:
        message = f"No usable answer came for {received.tool.name}, though it was asked for {asked} times."
        return refusal(SimulationError(message))
    if isinstance(question, LiveCall):
        question = replace(question, asked_before=run.count_asked(question.declared_name, question.arguments))
    reads_world = asked > 0 or run.simulator.reads_world(received.tool.name)
    return Ask(
        received=received, question=question, reads_world=reads_world, matched=matched, asked=asked + 1
    )


def _forced(index: int, error: Effect) -> Decision:
    decision = Decision(
        Source.INJECTED,
        error.code,
        text_of(error.body()),
        matched_rule_index=index,
        fault=error if isinstance(error, WireFault) else None,
    )
    return refusal(ReplyTooLarge()) if _is_too_large(decision.response) else decision


def _failed(error: SimulationFailed) -> Decision:
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


def _not_passed_on(failed: AskFailed, ask: Ask) -> Decision:
    checked: JsonObject | None = None
    if isinstance(failed, HopFailed) and (failed.notes or failed.is_replayed):
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


def _checked(run: CalledRun, tool: Tool, simulated: SimulatedReply) -> Decision | list[Problem]:
    """A reply that breaks a declared schema is not sent, and what it changed is not done.

    Where it contradicts the ledger, how: that is for another answer.
    """
    if simulated.source is Source.PASSTHROUGH:
        return _passed_on(run, tool, simulated)
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
            return _broken(tool, simulated, broken)
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


def _passed_on(run: CalledRun, tool: Tool, simulated: SimulatedReply) -> Decision:
    """What a live endpoint gave is the truth: sent as it came, with what is wrong with it in the trace. What
    its adapter made of it enters the world whole or, where that would break it, not at all."""
    text = dumps(simulated.response).decode()
    if _is_too_large(text):
        return _not_passed_on_size(tool)
    problems: list[Problem] = []
    if simulated.status < 400:
        problems = tool.response_problems(simulated.response) + _contradictions(run, simulated)
    if simulated.updates:
        broken = update_check(simulated.updates, run.toolbox.ledger_schema)
        why = [f"{each.path} {each.message}" for each in broken] if run.may_change() else [_WORLD_FULL]
        if why:
            told = tuple(f"the ledger_adapter changed nothing: {one}" for one in why)
            simulated = simulated._replace(updates=_NO_UPDATES, notes=(*simulated.notes, *told))
    return Decision(
        simulated.source,
        simulated.status,
        text,
        simulated.updates,
        validation=_validation(simulated, problems),
        is_valid=0 if problems else 1,
    )


def _not_passed_on_size(tool: Tool) -> Decision:
    failed = AskFailed(f"The live reply of {tool.name} is over 1 MiB.")
    return refusal(failed)._replace(source=Source.TRANSPORT_ERROR)


def _broken(
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
        return _ALL_WELL
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
    """What is stored of a call: `TraceRow`, by position."""
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


def asked(until: str, by: str) -> Decision:
    """What is stored of a call before its question is put: should no more be heard of it, this stands.

    Whoever finds it may take it for given up once `until` has passed, or when it is `by` that asks."""
    return refusal(OutcomeUnknown(details={"until": until, "by": by}))


def is_repeated(row: TraceRow, call: ToolCall, arguments: str | None) -> bool:
    """Whether the row that an OldKey leads to is that of the same call."""
    same = (row.idempotency_key, row.tool_name, row.arguments)
    return same == (call.idempotency_key, call.tool_name, arguments)


def reply_of(row: TraceRow, error: OdysseyError | None = None, fault: WireFault | None = None) -> Reply:
    """The reply to a call from its row, the first time and whenever it is asked for again."""
    if error is None and row.error_code is not None:  # only calls that were passed on are kept with an error
        error = _kept_error(row)
        if row.error_code == OUTCOME_UNKNOWN:  # its row also says who asked: that is for other processes
            row = row._replace(response=text_of({"error": error.as_json()}))
    is_error = row.source == Source.PASSTHROUGH and row.is_marked_as_error
    return _new(Reply, (row.http_status, _envelope(row, error), row.source or "", error, fault, is_error))


def _kept_error(row: TraceRow) -> AskFailed:
    if row.error_code == OUTCOME_UNKNOWN:
        return OutcomeUnknown()
    told = orjson.loads(row.response or "{}")["error"]
    if row.error_code == CassetteMiss.code:
        return CassetteMiss(told["message"], details=told.get("details"))
    return AskFailed(told["message"], details=told.get("details"))


def _envelope(row: TraceRow, error: OdysseyError | None) -> bytes:
    if row.validation == _ALL_WELL and row.matched_rule_index is None and row.source == _ODYSSEY:
        # Nearly every reply, put together from text at hand. A declared tool's name needs no escaping.
        return (
            f'{{"tool_name":"{row.tool_name}","response":{row.response},"source":"odyssey","latency_ms":'
            f'{round(row.latency_ms or 0)},"matched_rule_index":null,"validation":{_ALL_WELL_SHOWN}}}'
        ).encode()
    envelope: dict[str, object] = {
        "tool_name": row.tool_name,
        "response": orjson.Fragment(row.response or "null"),
        "source": row.source,
        "latency_ms": round(row.latency_ms or 0),
        "matched_rule_index": row.matched_rule_index,
    }
    if row.validation is not None and row.source == Source.ODYSSEY:
        envelope["validation"] = _shown(row.validation)
    if error is not None:
        envelope["error"] = error.as_json()
    return orjson.dumps(envelope)


def _shown(validation: str) -> object:
    if validation == _ALL_WELL:
        return orjson.Fragment(_ALL_WELL_SHOWN)
    whole = orjson.loads(validation)
    return {part: whole[part] for part in _SHOWN}


def text_of(value: object) -> str:
    return dumps(value).decode()
