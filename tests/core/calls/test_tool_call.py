"""Deciding a call: what is answered at once, what is asked first, and what comes of the answer."""

import json
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.calls.called_run import CalledRun, KeptReply
from pipelines.core.calls.tool_call import (
    Ask,
    Decision,
    ReceivedCall,
    ToolCall,
    decide,
    pending_decision,
    receive,
    reply_of,
    row_of,
    settle,
    waits_its_turn,
)
from pipelines.core.ledger.ledger import Ledger, SetFlag, Update, World
from pipelines.core.simulation.reply_check import ANY_FIELD
from pipelines.core.simulation.simulator import SimulatedReply, SimulationFailed, Wait
from pipelines.core.tools.failure_rules import RuleProgress, parse_failure_rules
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.tools.trace_row import ON_SECOND_TRY
from pipelines.wire.errors import AskFailed, CassetteMiss, OutcomeUnknown
from pipelines.wire.names import MAX_BODY_BYTES, Source

CONTRADICTING = ("corrected", "wrong_twice", "stubborn")
ANYTHING = {"type": "object", "properties": {"n": {"type": "integer"}}}
TOOLS = parse_tools_schema(
    [
        {"name": name, "description": "Does it.", "input_schema": ANYTHING}
        for name in (
            *("read", "write", "flag", "ask", "ask_world", "slow"),
            *("corrected", "wrong_twice", "stubborn", "meant"),
        )
    ],
    ledger_schema=None,
)


class Toolbox(NamedTuple):
    tools: Any
    ledger_schema: None


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    text: str
    longest_s: float = 5


@dataclass(kw_only=True)
class Backend:
    """`read` and `write` answer at once; `ask` and `ask_world` ask, `slow` answers late."""

    latencies_ms: dict[str, int] = field(default_factory=lambda: {"slow": 40})
    answers: int = 0
    told: list[list[str]] = field(default_factory=list)  # what contradicted the ledger, answer by answer
    remembered_tools: frozenset[str] = frozenset()

    def reads_world(self, tool: str) -> bool:
        return tool != "ask"

    def answer(self, tool: str, arguments: Any, ledger: Any, moment: Any) -> Any:
        self.answers += 1
        count = ledger.as_state()["counter"]["one"]["count"]
        if tool in ("ask", "ask_world"):
            return Question(text=tool if tool == "ask" else f"{tool} at {count}")
        if tool == "write":
            change = Update(entity_type="counter", id="one", set={"count": count + 1})
            return SimulatedReply(200, {"count": count + 1, "at": moment.now}, (change,))
        if tool == "flag":
            return SimulatedReply(200, {"flag": "storm"}, (SetFlag(flag="storm"),))
        if tool in CONTRADICTING:
            change = Update(entity_type="counter", id="one", set={"seen": True})
            return SimulatedReply(200, {"counter_id": "one", "count": 7}, (change,))
        if tool == "meant":
            return SimulatedReply(200, {"counter_id": "one", "count": 7}, computed=ANY_FIELD)
        return SimulatedReply(200, {"count": count})

    def again(self, tool: str, ledger: Any, refused: Any, problems: Any) -> Any:
        self.told.append([problem.path for problem in problems])
        if tool == "stubborn":
            raise SimulationFailed("contradiction", "it has no other")
        if tool == "ask":
            return Question(text="ask, told what was wrong")
        return refused._replace(response={"counter_id": "one", "count": 0 if tool == "corrected" else 8})

    def settle(self, question: Any, reply: Any, ledger: Any, moment: Any) -> Any:
        if reply == "bad":
            return replace(question, text=question.text + ", once more")
        if reply == "hopeless":
            raise SimulationFailed("no_sense", "It makes no sense.")
        if reply == "huge":
            return SimulatedReply(200, {"text": "x" * MAX_BODY_BYTES})
        if reply == "lie":
            return SimulatedReply(200, {"counter_id": "one", "count": 7}, engine="model")
        if reply == "live lie":
            return SimulatedReply(200, {"counter_id": "one", "count": 7}, source=Source.PASSTHROUGH)
        return SimulatedReply(200, {"heard": reply}, engine="live", source=Source.PASSTHROUGH)


def run_of(*rules: Any, **backend: Any) -> CalledRun:
    ledger = Ledger(World.from_initial_state({"counter": {"one": {"count": 0}}}))
    return CalledRun(
        toolbox=Toolbox({tool.name: tool for tool in TOOLS}, None),
        simulator=Backend(**backend),
        ledger=ledger,
        progress=RuleProgress(parse_failure_rules(list(rules), tools=None), ledger.is_flagged),
        seed="a task",
        began=("2026-01-01", 0),
    )


def arrived(run: CalledRun, tool: str, key: str | None = None) -> tuple[ToolCall, str | None, Any]:
    call = ToolCall(tool, b"{}", None, key, 0.0)
    return call, *receive(run, call)


def received(run: CalledRun, tool: str) -> ReceivedCall:
    found = arrived(run, tool)[2]
    assert isinstance(found, ReceivedCall)
    return found


def rule(tool: str, n: int = 1, **effect: Any) -> dict[str, Any]:
    return {"trigger": "after_n_calls", "tool": tool, "n": n, **effect}


def storm(tool: str, **effect: Any) -> dict[str, Any]:
    return {"trigger": "after_state_change", "tool": tool, "condition": "storm", **effect}


DOWN = {"error": {"code": 503, "message": "Down"}}
RESET = {"error": {"kind": "reset"}}
LATE = {"latency_ms": 25}

FIRST = {
    "plain": ("read", [], "odyssey"),
    "forced": ("read", [rule("read", **DOWN)], "injected"),
    "a fault": ("read", [rule("read", **RESET)], "injected"),
    "a rule of another tool": ("read", [rule("write", **LATE)], "odyssey"),
    "late": ("read", [rule("read", **LATE)], Wait(25)),
    "late and forced": ("read", [rule("read", **LATE, **DOWN)], Wait(25)),
    "a slow tool": ("slow", [], Wait(40)),
    "a slow tool that is late": ("slow", [rule("slow", **LATE)], Wait(65)),
    "a slow tool that is forced": ("slow", [rule("slow", **DOWN)], "injected"),
    "a slow tool that is late and forced": ("slow", [rule("slow", **LATE, **DOWN)], Wait(25)),
    "a question": ("ask", [], Question(text="ask")),
    "a question of the world": ("ask_world", [], Question(text="ask_world at 0")),
    "a late question": ("ask", [rule("ask", **LATE)], Wait(25)),
    "a forced question": ("ask", [rule("ask", **DOWN)], "injected"),
}


@pytest.mark.parametrize(("tool", "rules", "first"), FIRST.values(), ids=FIRST)
def test_what_a_call_gets_or_asks_first(tool: str, rules: list[Any], first: Any) -> None:
    run = run_of(*rules)
    outcome = decide(run, received(run, tool))
    assert (outcome.question if isinstance(outcome, Ask) else outcome.source) == first


TURNS = {
    "a read": ("read", [], True),
    "a forced read": ("read", [rule("read", **DOWN)], False),
    "a late read": ("read", [rule("read", **LATE)], False),
    "a read that may be in a window": ("read", [storm("read", **DOWN)], True),
    "a late read that may be in a window": ("read", [storm("*", **DOWN), rule("read", **LATE)], True),
    "a window of another tool": ("read", [storm("write", **DOWN), rule("read", **LATE)], False),
    "a slow tool": ("slow", [], False),
    "a question": ("ask", [], False),
    "a question of the world": ("ask_world", [], True),
    "a late question of the world": ("ask_world", [rule("*", **LATE)], False),
}


@pytest.mark.parametrize(("tool", "rules", "waits"), TURNS.values(), ids=TURNS)
def test_who_waits_for_the_calls_before(tool: str, rules: list[Any], waits: bool) -> None:
    run = run_of(*rules)
    assert waits_its_turn(run, received(run, tool)) is waits


def test_waiting_is_not_asking_and_what_comes_after_reads_the_world_as_it_is_then() -> None:
    run = run_of(rule("ask_world", **LATE))
    ask = decide(run, received(run, "ask_world"))
    assert isinstance(ask, Ask)
    assert (ask.asked, ask.reads_world) == (0, False)
    run.ledger.apply((Update(entity_type="counter", id="one", set={"count": 7}),))
    ask = settle(run, ask, None)
    assert isinstance(ask, Ask)
    assert (ask.question, ask.asked, ask.reads_world) == (Question(text="ask_world at 7"), 1, True)
    decision = settle(run, ask, "hello")
    assert isinstance(decision, Decision)
    assert (decision.source, decision.matched_rule_index) == (Source.PASSTHROUGH, 0)


ANSWERS = {
    "an answer": (["hello"], Source.PASSTHROUGH, None),
    "a better answer": (["bad", "hello"], Source.PASSTHROUGH, None),
    "no better answer": (["bad", "bad"], Source.ERROR, "simulation_failed"),
    "no sense": (["hopeless"], Source.ERROR, "simulation_failed"),
    "too large": (["huge"], Source.ERROR, "reply_too_large"),
    "against the ledger, then not": (["lie", "hello"], Source.PASSTHROUGH, None),
    "against the ledger twice": (["lie", "lie"], Source.ERROR, "simulation_failed"),
    "against the ledger and live": (["live lie"], Source.PASSTHROUGH, None),
    "nobody there": ([AskFailed("Nobody is there.")], Source.TRANSPORT_ERROR, "transport_error"),
    "nobody there any more": (["bad", AskFailed()], Source.TRANSPORT_ERROR, "transport_error"),
}


@pytest.mark.parametrize(("replies", "source", "code"), ANSWERS.values(), ids=ANSWERS)
def test_what_comes_of_the_answers(replies: list[Any], source: Source, code: str | None) -> None:
    run = run_of()
    outcome = decide(run, received(run, "ask"))
    for reply in replies:
        assert isinstance(outcome, Ask)
        outcome = settle(run, outcome, reply)
    assert isinstance(outcome, Decision)
    assert outcome.source is source
    assert (outcome.error.code if outcome.error is not None else None) == code
    assert outcome.updates == ()


class Fate(NamedTuple):
    source: Source
    response: Any  # of an error, only its code
    validation: tuple[bool, int] | None  # ok, attempts
    is_valid: int
    told: int  # how often the simulator was told what is wrong
    is_changed: bool


FATES = {
    "read": Fate(Source.ODYSSEY, {"count": 0}, (True, 1), 1, 0, False),
    "corrected": Fate(Source.ODYSSEY, {"counter_id": "one", "count": 0}, (True, 2), ON_SECOND_TRY, 1, True),
    "wrong_twice": Fate(Source.ERROR, "simulation_failed", (False, 2), 0, 1, False),
    "stubborn": Fate(Source.ERROR, "simulation_failed", (False, 1), 0, 1, False),
    "meant": Fate(Source.ODYSSEY, {"counter_id": "one", "count": 7}, (True, 1), 1, 0, False),
}


@pytest.mark.parametrize(("tool", "fate"), FATES.items(), ids=FATES)
def test_what_contradicts_the_ledger_is_made_anew_once_and_then_an_error(tool: str, fate: Fate) -> None:
    run = run_of()
    decision = decide(run, received(run, tool))
    assert isinstance(decision, Decision)
    response = json.loads(decision.response)
    validation = json.loads(decision.validation or "{}")
    told = run.simulator.told  # type: ignore[attr-defined]  # it is the Backend above
    assert fate == Fate(
        decision.source,
        response["error"]["code"] if decision.error else response,
        (validation["ok"], validation["attempts"]),
        decision.is_valid,
        len(told),
        bool(decision.updates),
    )
    assert all(paths == ["/count"] for paths in told)


def test_a_late_reply_that_contradicts_the_ledger_is_made_anew_too() -> None:
    run = run_of(rule("corrected", **LATE))
    late = decide(run, received(run, "corrected"))
    assert isinstance(late, Ask)
    decision = settle(run, late, None)
    assert isinstance(decision, Decision)
    assert (decision.is_valid, decision.matched_rule_index) == (ON_SECOND_TRY, 0)


KEPT = {"an answer": True, "nobody there": True, "no sense": False, "too large": False}


@pytest.mark.parametrize(("name", "is_kept"), KEPT.items(), ids=KEPT)
def test_a_key_is_kept_where_something_may_have_happened(name: str, is_kept: bool) -> None:
    run = run_of()
    call, text, got = arrived(run, "ask", "k")
    outcome = decide(run, got)
    assert isinstance(outcome, Ask)
    decision = settle(run, outcome, ANSWERS[name][0][0])
    assert isinstance(decision, Decision)
    row = row_of(1, 1, call, text, decision, got.arrival, 1.0, "2026-01-01T00:00:00Z")
    run.fold(row, got.arrival, decision.updates)
    again = arrived(run, "ask", "k")[2]
    assert isinstance(again, KeptReply) is is_kept
    if is_kept:
        assert reply_of(again.row).body == reply_of(row, decision.error).body


def test_a_missed_recording_is_missed_again_when_it_is_asked_for_again() -> None:
    run = run_of()
    call, text, got = arrived(run, "ask", "k")
    outcome = decide(run, got)
    assert isinstance(outcome, Ask)
    decision = settle(run, outcome, CassetteMiss("Not on cassette staging."))
    assert isinstance(decision, Decision)
    row = row_of(1, 1, call, text, decision, got.arrival, 1.0, "2026-01-01T00:00:00Z")
    assert (row.error_code, row.source) == ("cassette_miss", "transport_error")
    assert reply_of(row).body == reply_of(row, decision.error).body


def test_a_row_of_a_call_that_is_out_names_who_asked_and_its_reply_does_not() -> None:
    run = run_of()
    call, text, got = arrived(run, "ask", "k")
    row = row_of(
        1, 1, call, text, pending_decision("2026-01-01T00:01:00Z", "node 7"), got.arrival, 1.0, "2026-01-01"
    )
    assert json.loads(row.response or "")["error"]["details"] == {
        "until": "2026-01-01T00:01:00Z",
        "by": "node 7",
    }
    reply = reply_of(row)
    assert isinstance(reply.error, OutcomeUnknown)
    assert b"node 7" not in reply.body
    assert json.loads(reply.body)["response"]["error"]["code"] == "outcome_unknown"


steps = st.lists(st.sampled_from(["read", "write", "flag", "slow", "ask", "ask_world"]), max_size=14)
RULES = [
    rule("read", 2, **LATE),
    storm("write", duration=2, **DOWN),
    rule("*", 4, duration=3, **LATE),
    {"trigger": "random", "tool": "*", "probability": 0.3, **LATE, **DOWN},
]


def at_once(names: list[str]) -> tuple[Any, ...]:
    """Each call answered before the next arrives."""
    run, rows = run_of(*RULES), []
    for number, name in enumerate(names, start=1):
        call, text, got = arrived(run, name)
        outcome = decide(run, got)
        while isinstance(outcome, Ask):
            outcome = settle(
                run, outcome, outcome.question if not isinstance(outcome.question, Wait) else None
            )
        row = row_of(1, number, call, text, outcome, got.arrival, 0.0, "2026-01-01T00:00:00Z")
        run.fold(row, got.arrival, outcome.updates)
        rows.append(row)
    return rows, state_of(run)


def state_of(run: CalledRun) -> tuple[Any, ...]:
    return run.ledger.as_state(), run.calls, run.sequence, run.progress.counts(), run.progress._open_until


@given(steps, st.data())
def test_calls_that_arrive_while_others_are_out_are_answered_as_one_by_one(
    names: list[str], data: Any
) -> None:
    """The queue without an engine: who may is decided on arrival, everybody is settled in order."""
    run, rows, out = run_of(*RULES), [], []

    def go_on() -> None:
        number, call, text, got, outcome = out.pop(0)
        outcome = outcome if outcome is not None else decide(run, got)
        while isinstance(outcome, Ask):
            outcome = settle(
                run, outcome, outcome.question if not isinstance(outcome.question, Wait) else None
            )
        row = row_of(1, number, call, text, outcome, got.arrival, 0.0, "2026-01-01T00:00:00Z")
        run.fold(row, got.arrival, outcome.updates)
        rows.append(row)

    for number, name in enumerate(names, start=1):
        call, text, got = arrived(run, name)
        outcome = None if waits_its_turn(run, got) else decide(run, got)
        out.append((number, call, text, got, outcome))
        for _ in range(data.draw(st.integers(0, len(out)))):
            go_on()
    while out:
        go_on()
    assert (rows, state_of(run)) == at_once(names)


@given(steps)
def test_the_log_read_back_is_the_run_that_wrote_it(names: list[str]) -> None:
    rows, state = at_once(names)
    again = run_of(*RULES)
    for row in rows:
        again.fold(row)
    assert state_of(again) == state
