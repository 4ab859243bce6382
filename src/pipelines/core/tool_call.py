"""What a run answers to a tool call: refused, injected or simulated. The decision alone, with nothing stored.

The caller has found the run, knows that its tools may be called, and keeps what was decided.

decide -> a failure rule fires, or _simulated -> _checked against the schemas and the ledger
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import orjson

from pipelines.core.failure_rules import RuleProgress
from pipelines.core.json_text import InvalidJson, JsonObject, dumps, loads
from pipelines.core.ledger import Ledger, LedgerUpdate, SetFlag
from pipelines.core.ledger_schema import LedgerSchema
from pipelines.core.problems import Problem
from pipelines.core.simulation.reply_check import contradictions, update_check
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed, Simulator
from pipelines.core.tools_schema import Tool, nearest_names
from pipelines.wire.errors import (
    BodyTooLarge,
    InvalidArguments,
    InvalidJsonBody,
    OdysseyError,
    ReplyTooLarge,
    SimulationError,
    ToolNotDeclared,
)
from pipelines.wire.names import MAX_BODY_BYTES, Source


class Toolbox(Protocol):
    """What the agent declares."""

    @property
    def tools(self) -> Mapping[str, Tool]: ...
    @property
    def ledger_schema(self) -> LedgerSchema | None: ...


class CalledRun(Protocol):
    """As much of a run as its tool calls are decided on."""

    calls: int  # that reached the failure rules

    @property
    def toolbox(self) -> Toolbox: ...
    @property
    def simulator(self) -> Simulator: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def progress(self) -> RuleProgress: ...
    def moment(self) -> Moment:
        """Of the call just counted."""


class Decision(NamedTuple):
    """What the world answers, before it is stored."""

    source: Source
    http_status: int | None  # the backend's; None when the platform refused or could not answer
    response: str  # JSON text: encoded once for the row and the reply
    updates: tuple[LedgerUpdate, ...] = ()
    matched_rule_index: int | None = None
    validation: str | None = None
    error: OdysseyError | None = None


_ALL_WELL = '{"ok":true,"attempts":1,"errors":[],"engine":"embedded"}'
#: What the agent gets of it: which engine answered and what it did not enforce is for the trace.
_ALL_WELL_SHOWN = b'{"ok":true,"attempts":1,"errors":[]}'
_SHOWN = ("ok", "attempts", "errors")


def declared_tool(tools: Mapping[str, Tool], name: str) -> Tool:
    tool = tools.get(name)
    if tool is None:
        near = nearest_names(name, tools)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ToolNotDeclared(
            f"The agent's tools_schema has no tool named {name[:128]!r}.{hint}", details={"nearest": near}
        )
    return tool


def read_arguments(body: bytes | None) -> JsonObject:
    """Of a call's body, which is None when it was too large to be read."""
    if body is None:
        raise BodyTooLarge("The arguments are over 1 MiB.")
    try:
        arguments = loads(body) if body else {}
    except InvalidJson as error:
        raise InvalidJsonBody(f"The arguments are {error}.") from None
    if not isinstance(arguments, dict):
        raise InvalidArguments(
            "The body must be a JSON object: the tool's arguments by name.",
            details=[Problem(path="", message="not an object").as_json()],
        )
    return arguments


def check_arguments(tool: Tool, arguments: JsonObject) -> None:
    if not tool.accepts(arguments):
        problems = tool.argument_problems(arguments)
        raise InvalidArguments(
            f"The arguments do not fit the input_schema of {tool.name}.",
            details=[problem.as_json() for problem in problems],
        )


def decide(run: CalledRun, tool: Tool, arguments: JsonObject) -> Decision:
    """Counts the call; what it changes is for `take_in`, once it is to be kept."""
    run.calls += 1
    matched = run.progress.next_match(tool.name)
    if matched is not None:
        decision = Decision(
            Source.INJECTED, matched.status, text_of(matched.response), matched_rule_index=matched.index
        )
    else:
        decision = _simulated(run, tool, arguments)
    return refusal(ReplyTooLarge()) if _is_too_large(decision.response) else decision


def take_in(run: CalledRun, decision: Decision) -> None:
    """Later calls see what this one changed."""
    run.ledger.apply(decision.updates)
    for update in decision.updates:
        if isinstance(update, SetFlag):
            run.progress.flag_changed(update.flag, update.value)


def refusal(error: OdysseyError) -> Decision:
    return Decision(Source.ERROR, None, text_of({"error": error.as_json()}), error=error)


def text_of(value: object) -> str:
    return dumps(value).decode()


def reply_body(
    tool_name: str | None,
    response: str | None,
    source: str | None,
    latency_ms: float | None,
    matched_rule_index: int | None,
    validation: str | None,
    error: OdysseyError | None,
) -> bytes:
    """What the caller gets. By position, as it is made on every call."""
    envelope: dict[str, object] = {
        "tool_name": tool_name,
        "response": orjson.Fragment(response or "null"),
        "source": source,
        "latency_ms": latency_ms,
        "matched_rule_index": matched_rule_index,
    }
    if validation is not None:
        envelope["validation"] = _shown(validation)
    if error is not None:
        envelope["error"] = error.as_json()
    return orjson.dumps(envelope)


def _simulated(run: CalledRun, tool: Tool, arguments: JsonObject) -> Decision:
    try:
        simulated = run.simulator.answer(tool.name, arguments, run.ledger, run.moment())
    except SimulationFailed as error:
        if error.code == "plan_too_large":
            return refusal(ReplyTooLarge(str(error)))
        return refusal(SimulationError(str(error), details={"reason": error.code}))
    return _checked(run, tool, simulated)


def _is_too_large(text: str) -> bool:
    # A character is at most four bytes: only what might be too large is measured.
    return len(text) > MAX_BODY_BYTES // 4 and len(text.encode()) > MAX_BODY_BYTES


def _checked(run: CalledRun, tool: Tool, simulated: SimulatedReply) -> Decision:
    """A reply that breaks a declared schema is not sent, and what it changed is not done.

    One that contradicts the ledger is sent, since a plan may mean it; its validation says so.
    """
    if simulated.status >= 400:  # errors have a shape of their own, and change nothing
        validation = _validation(simulated, [])
        return Decision(Source.ODYSSEY, simulated.status, text_of(simulated.response), validation=validation)
    broken = _broken(run, tool, simulated)
    if broken:
        error = SimulationError(
            f"The simulated reply of {tool.name} failed its check, so nothing was changed.",
            details=[problem.as_json() for problem in broken],
        )
        return refusal(error)._replace(validation=_validation(simulated, broken))
    validation = _validation(simulated, _contradictions(run, simulated))
    return Decision(
        Source.ODYSSEY,
        simulated.status,
        text_of(simulated.response),
        simulated.updates,
        validation=validation,
    )


def _broken(run: CalledRun, tool: Tool, simulated: SimulatedReply) -> list[Problem]:
    broken = update_check(simulated.updates, run.toolbox.ledger_schema)
    return tool.response_problems(simulated.response) + broken


def _contradictions(run: CalledRun, simulated: SimulatedReply) -> list[Problem]:
    after: Ledger = run.ledger
    if simulated.updates:
        after = run.ledger.draft()
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
    return text_of(checked | ({"notes": list(simulated.notes)} if simulated.notes else {}))


def _shown(validation: str) -> object:
    if validation == _ALL_WELL:
        return orjson.Fragment(_ALL_WELL_SHOWN)
    whole = orjson.loads(validation)
    return {part: whole[part] for part in _SHOWN}
