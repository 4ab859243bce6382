"""What plans look back at: which calls count, that the log gives them back, what happens past the limit."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.cli.agent.conformance_world import SimulatedTask
from pipelines.core.calls.called_run import CalledRun, KeptReply
from pipelines.core.calls.tool_call import Decision, ReceivedCall, ToolCall, decide, receive, row_of, settle
from pipelines.core.simulation import call_history
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.call_history import CallHistory
from pipelines.core.simulation.fidelity.fidelity import replay
from pipelines.core.simulation.fidelity.recording import read_recording
from pipelines.core.simulation.language import parse_plan
from pipelines.core.task_files.read_tasks import parse_tasks
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.tools.trace_row import ERROR_NOTE, TOOL_CALL, TraceRow
from pipelines.core.worlds.ground import Ground, called
from pipelines.core.worlds.shapes import Toolset
from pipelines.odyssey import ToolFailed, proxy_call
from pipelines.odyssey.testing import odyssey_run

NOW = "2026-05-01T12:00:00Z"
MANY = {"status": 409, "error": "limit_reached"}
REFUND = [
    {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
    {"require": "len(calls('refund_order')) < 2", "else": MANY},
    {"set": {"order.refunded": "default(order.refunded, 0) + default(args.amount, 1)"}},
    {"return": {"order_id": "args.order_id", "before": "calls('refund_order')"}},
]
SCHEMA = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}},
    "required": ["order_id"],
}
TOOLS: list[JsonObject] = [
    {"name": "refund_order", "description": "Refund.", "input_schema": SCHEMA, "simulation": REFUND},
    {"name": "note", "description": "Note.", "input_schema": SCHEMA, "simulation": [{"return": "null"}]},
    {
        "name": "close",
        "description": "Close.",
        "input_schema": SCHEMA,
        "simulation": {"latency_ms": 5, "steps": [{"return": "[c.order_id for c in calls('refund_order')]"}]},
    },
]
STATE: JsonObject = {"order": {"1": {"total": 5}, "2": {"total": 7}}}
DOWN = {"trigger": "after_n_calls", "tool": "refund_order", "n": 2, "error": {"code": 503, "message": "down"}}
STALE = DOWN | {"n": 3, "error": {"code": 200, "response": {"stale": True}}}
TASK = {"user": "Refund.", "state": STATE}


def ground(**changes: Any) -> Ground:
    tools = parse_tools_schema([tool | changes.get(str(tool["name"]), {}) for tool in TOOLS])
    return Ground(Toolset(tools=tools), STATE)


def opened(*rules: JsonObject) -> CalledRun:
    [seed] = parse_tasks([TASK | {"failure_rules": list(rules)}])
    return ground().opened(now=NOW, rules=seed.failure_rules)


def history(run: CalledRun) -> dict[str, list[JsonObject]]:
    assert run.history is not None
    return run.history.calls


def made(run: CalledRun, tool: str, key: str | None, **arguments: Any) -> TraceRow | None:
    """The row of one call, folded in; None where it repeats one."""
    call = ToolCall(tool, json.dumps(arguments).encode(), None, key, 0.0)
    text, received = receive(run, call)
    if isinstance(received, KeptReply):
        return None
    arrival = received.arrival if isinstance(received, ReceivedCall) else None
    outcome = decide(run, received) if isinstance(received, ReceivedCall) else received
    while not isinstance(outcome, Decision):
        outcome = settle(run, outcome, None)
    row = row_of(1, run.sequence + 1, call, text, outcome, arrival, 0.0, "")
    run.fold(row, arrival, outcome.updates)
    return row


CALLS = st.tuples(
    st.sampled_from(["refund_order", "refund_order", "note", "close", "nothing"]),
    st.sampled_from([None, None, "k1", "k2"]),
    st.sampled_from(["1", "2", "9"]),
    st.sampled_from([None, 3, 2.5, "much"]),
)


@settings(max_examples=60)
@given(st.lists(CALLS, max_size=12), st.sampled_from([(), (DOWN,), (DOWN, STALE)]))
def test_a_run_read_from_its_log_looks_back_at_the_same_calls(calls, rules):
    run, read = opened(*rules), opened(*rules)
    for tool, key, order_id, amount in calls:
        row = made(run, tool, key, order_id=order_id, **({} if amount is None else {"amount": amount}))
        if row is not None:
            read.fold(row)
    assert (read.history, read.weight) == (run.history, run.weight)
    again = [made(one, "close", None, order_id="1") for one in (run, read)]
    assert again[0] == again[1]


def test_only_calls_that_succeeded_count():
    run = opened(DOWN, STALE)
    replies = [
        called(run, "refund_order", {"order_id": "1", "amount": 2}).status,
        called(run, "refund_order", {"order_id": "1"}).status,  # the first failure rule
        called(run, "refund_order", {"order_id": "1"}).status,  # the second one answers 200
        called(run, "refund_order", {"order_id": "9"}).status,  # there is no such order
        called(run, "refund_order", {"order_id": 1}).status,  # no text
        called(run, "refund_order", {"order_id": "2"}).status,
        called(run, "refund_order", {"order_id": "2"}).status,  # the plan refuses it
    ]
    assert replies == [200, 503, 200, 404, None, 200, 409]
    assert history(run) == {"refund_order": [{"order_id": "1", "amount": 2}, {"order_id": "2"}]}


def test_a_call_sees_those_before_it_and_not_itself():
    run = opened()
    assert called(run, "refund_order", {"order_id": "1"}).response == {"order_id": "1", "before": []}
    again = called(run, "refund_order", {"order_id": "2"})
    assert again.response == {"order_id": "2", "before": [{"order_id": "1"}]}


def row(**changes: Any) -> TraceRow:
    blank: dict[str, Any] = dict.fromkeys(TraceRow._fields)
    usual = {
        "run_id": 1,
        "sequence": 1,
        "kind": TOOL_CALL,
        "tool_name": "refund_order",
        "source": "passthrough",
        "http_status": 200,
        "arguments": '{"order_id":"1"}',
        "occurred_at": "",
    }
    return TraceRow(**(blank | usual | changes))


OUTCOMES = {
    "a live endpoint": ({}, 1),
    "a live endpoint that refuses": ({"http_status": 404}, 0),
    "a live endpoint that marks its answer": ({"validation": json.dumps({"notes": [ERROR_NOTE]})}, 0),
    "a hop that failed": ({"source": "transport_error", "http_status": None}, 0),
    "an outcome that is not known": ({"source": "error", "http_status": None}, 0),
    "an injected success": ({"source": "injected"}, 0),
    "another tool": ({"tool_name": "note"}, 0),
}


@pytest.mark.parametrize(("changes", "counted"), OUTCOMES.values(), ids=OUTCOMES)
def test_which_rows_count(changes, counted):
    kept = CallHistory.of({"refund_order"})
    assert kept is not None
    kept.take(row(**changes))
    assert len(kept.calls["refund_order"]) == counted


def test_past_its_limit_a_run_says_so_and_forgets_nothing_in_silence(monkeypatch):
    run = opened()
    light = run.weight
    monkeypatch.setattr(call_history, "MAX_CHARACTERS", 250)
    assert called(run, "refund_order", {"order_id": "1"}).status == 200
    assert run.weight > light + 400
    assert called(run, "refund_order", {"order_id": "2"}).status == 200
    assert history(run) == {"refund_order": [{"order_id": "1"}, {"order_id": "2"}]}
    run.fold(row(sequence=9, call_number=9))
    answer: Any = called(run, "refund_order", {"order_id": "2"})
    assert (answer.source, answer.error) == ("error", "simulation_failed")
    assert answer.response["error"]["details"] == {"reason": "plan_history"}


def test_a_run_remembers_nothing_that_no_plan_looks_back_at():
    plain = {"simulation": [{"return": "null"}]}
    assert ground(refund_order=plain, close=plain).opened(now=NOW).history is None
    assert [*history(opened())] == ["refund_order"]


def test_which_tools_a_plan_looks_back_at_is_known_wherever_it_says_so():
    plan = parse_plan(
        [
            {"find": {"as": "o", "in": "order", "where": "o.id in [c.id for c in calls('one')]"}},
            {
                "if": "len(calls('two')) > 1",
                "then": [{"fail": {"error": "no", "message": "{calls('three')}"}}],
            },
            {"set": {"o.items[len(calls('four'))]": "1"}},
            {"for": "c", "in": "calls('five')", "do": [{"let": {"x": {"y": ["calls('six')"]}}}]},
            {"return": "[entities('seven'), 'calls(eight)']"},
        ],
        origin="authored",
    )
    assert sorted(plan.remembered_tools) == ["five", "four", "one", "six", "three", "two"]


def test_a_plan_that_names_no_tool_of_the_agent_is_refused_when_it_is_saved():
    with pytest.raises(Refused) as refused:
        parse_plan([{"return": "calls('refund')"}], origin="authored", tool_names=["refund_order"])
    [problem] = refused.value.problems
    assert (problem.path, problem.message) == ("/simulation/0/return", "there is no tool 'refund'")


# -- wherever calls are answered in memory


def test_a_run_inside_a_test_looks_back() -> None:
    with odyssey_run(tools_schema=TOOLS, **TASK) as run:
        for _ in range(2):
            proxy_call("refund_order", {"order_id": "1"})
        with pytest.raises(ToolFailed):
            proxy_call("refund_order", {"order_id": "1"})
    assert [row["http_status"] for row in run.calls] == [200, 200, 409]


def test_a_conformance_world_looks_back() -> None:
    [seed] = parse_tasks([TASK])
    world = SimulatedTask(parse_tools_schema(TOOLS), None, seed)()
    assert [world.answer("refund_order", {"order_id": "1"}).status for _ in range(3)] == [200, 200, 409]


def test_fidelity_looks_back_at_the_real_calls_and_at_its_own() -> None:
    ok = {"tool": "note", "args": {"order_id": "1"}, "status": "ok", "response": None}
    refund = {"tool": "refund_order", "args": {"order_id": "1"}, "status": "error", "response": "Error: no"}
    closed = ok | {"tool": "close", "response": []}
    recording = read_recording(STATE, [{"calls": [refund, closed, ok]}])
    tools = parse_tools_schema(TOOLS)
    report = replay(recording, lambda world: build_simulator(tools, world=world), clock=lambda: 0.0)
    refunded, close, _ = report.outcomes
    assert not refunded.fm_free
    # The real backend refused the refund; the simulated one made it.
    assert (close.fm_forced, close.fm_free) == (True, False)
