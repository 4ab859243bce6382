"""Calls that are passed on: what is asked of an endpoint, and what its answer changes and tells."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from pipelines.core.calls.called_run import CalledRun
from pipelines.core.calls.tool_call import (
    Ask,
    Decision,
    ReceivedCall,
    ToolCall,
    decide,
    receive,
    reply_of,
    row_of,
    settle,
)
from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import LedgerSchema, parse_ledger_schema
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.live_simulator import PassthroughRun, with_live_tools
from pipelines.core.tools.failure_rules import RuleProgress, parse_failure_rules
from pipelines.core.tools.live_tools import ERROR_NOTE, REPLAY, LiveCall, LiveCallFailed, LiveReply
from pipelines.core.tools.tools_schema import EndpointFacts, Tool, parse_tools_schema
from pipelines.core.tools.trace_row import TraceRow
from pipelines.wire.errors import AskFailed
from pipelines.wire.names import MAX_BODY_BYTES, Source

ENDPOINT = "7f0c1f6e-5f43-4b39-9d1c-0f6f0a3b2c11"
ORDER_ID = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
FACTS = {
    ENDPOINT: EndpointFacts(
        id=ENDPOINT, name="orders-api", type="http_openapi", tools=frozenset({"getOrder", "ping"})
    )
}
SCHEMA = parse_ledger_schema(
    {
        "entities": [
            {
                "type": "order",
                "id_field": "order_id",
                "fields": [{"name": "status", "type": "string"}, {"name": "total", "type": "number"}],
            }
        ]
    }
)
ADAPTER = {
    "op": "update",
    "entity_type": "order",
    "id_from": "$.order_id",
    "field_map": {"status": "$.status", "total": "$.amount"},
    "flags": ["fetched_order:{order_id}"],
}


def passed_through(name: str, tool_name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "input_schema": ORDER_ID,
        "default_execution_mode": "passthrough",
        "passthrough_binding": {"endpoint_name": "orders-api", "tool_name": tool_name},
        **more,
    }


TOOLS = parse_tools_schema(
    [
        passed_through("get_order", "getOrder", ledger_write_policy="adapter", ledger_adapter=ADAPTER),
        passed_through(
            "look_up",
            "getOrder",
            output_schema={"type": "object", "required": ["status"]},
        ),
        passed_through("ping", "ping", ledger_write_policy="none"),
        {"name": "list_orders", "description": "Lists all orders.", "input_schema": {"type": "object"}},
    ],
    ledger_schema=SCHEMA,
    endpoints=FACTS,
)


class Toolbox(NamedTuple):
    tools: dict[str, Tool]
    ledger_schema: LedgerSchema | None


def run_of(*rules: Any, mode: str = "live") -> CalledRun:
    world = World.from_initial_state({"order": {"1": {"status": "new", "total": 5}}})
    tools = {tool.name: tool for tool in TOOLS}
    passing = PassthroughRun(
        org_id=3,
        run_id=8,
        endpoint_ids={tool.name: ENDPOINT for tool in TOOLS if tool.is_passthrough},
        mode=mode,
        cassette="spring" if mode != "live" else None,
    )
    planned = build_simulator(TOOLS, ledger_schema=SCHEMA, world=world)
    ledger = Ledger(world)
    return CalledRun(
        toolbox=Toolbox(tools, SCHEMA),
        simulator=with_live_tools(planned, tools, SCHEMA, passing),
        ledger=ledger,
        progress=RuleProgress(parse_failure_rules(list(rules), tools=None), ledger.is_flagged),
        seed="a task",
        began=("2026-01-01", 0),
    )


def received(run: CalledRun, tool: str, **arguments: Any) -> tuple[ToolCall, str | None, ReceivedCall]:
    call = ToolCall(tool, json.dumps(arguments).encode(), None, None, 0.0)
    text, got = receive(run, call)
    assert isinstance(got, ReceivedCall)
    return call, text, got


def asked(run: CalledRun, tool: str, **arguments: Any) -> Ask:
    ask = decide(run, received(run, tool, **arguments)[2])
    assert isinstance(ask, Ask)
    return ask


def answered(run: CalledRun, reply: Any, tool: str = "get_order", **arguments: Any) -> TraceRow:
    """The row of one call, folded in."""
    call, text, got = received(run, tool, **(arguments or {"order_id": "1"}))
    ask = decide(run, got)
    assert isinstance(ask, Ask)
    decision = settle(run, ask, reply)
    assert isinstance(decision, Decision)
    row = row_of(8, run.sequence + 1, call, text, decision, got.arrival, 0.0, "2026-01-01T00:00:00Z")
    run.fold(row, got.arrival, decision.updates)
    return row


def notes_of(row: TraceRow) -> list[str]:
    return json.loads(row.validation or "{}").get("notes", [])  # type: ignore[no-any-return]


def test_a_passthrough_tool_asks_its_endpoint_under_the_name_it_has_there() -> None:
    ask = asked(run_of(mode=REPLAY), "get_order", order_id="1")
    assert ask.question == LiveCall(
        org_id=3,
        run_id=8,
        endpoint_id=ENDPOINT,
        tool_name="getOrder",
        declared_name="get_order",
        arguments={"order_id": "1"},
        mode=REPLAY,
        cassette="spring",
    )
    assert not ask.reads_world


def test_a_sandbox_tool_beside_it_is_simulated() -> None:
    run = run_of()
    decision = decide(run, received(run, "list_orders")[2])
    assert isinstance(decision, Decision)
    assert decision.source is Source.ODYSSEY


def test_a_failure_rule_comes_before_the_endpoint() -> None:
    down = {"error": {"code": 503, "message": "Down"}}
    run = run_of({"trigger": "after_n_calls", "tool": "get_order", "n": 1, **down})
    decision = decide(run, received(run, "get_order", order_id="1")[2])
    assert isinstance(decision, Decision)
    assert (decision.source, decision.http_status) == (Source.INJECTED, 503)


def test_a_late_passthrough_call_keeps_the_rule_that_made_it_late() -> None:
    run = run_of({"trigger": "after_n_calls", "tool": "get_order", "n": 1, "latency_ms": 25})
    late = asked(run, "get_order", order_id="1")
    ask = settle(run, late, None)
    assert isinstance(ask, Ask)
    for reply in (LiveReply(200, {"order_id": "1"}), LiveCallFailed("Nobody is there.")):
        decision = settle(run, ask, reply)
        assert isinstance(decision, Decision)
        assert decision.matched_rule_index == 0


def test_a_live_answer_is_sent_as_it_came_and_its_adapter_changes_the_world() -> None:
    run = run_of()
    row = answered(run, LiveReply(200, {"order_id": "1", "status": "shipped", "amount": 12.5}))
    assert (row.source, row.http_status, row.is_valid) == ("passthrough", 200, 1)
    assert json.loads(row.response or "") == {"order_id": "1", "status": "shipped", "amount": 12.5}
    assert run.ledger.as_state()["order"]["1"] == {"status": "shipped", "total": 12.5}
    assert run.ledger.is_flagged("fetched_order:1")
    listed = decide(run, received(run, "list_orders")[2])
    assert isinstance(listed, Decision)
    assert "shipped" in listed.response


POLICIES = {"get_order": "adapter", "look_up": "record_only", "ping": "none"}


@pytest.mark.parametrize(("tool", "policy"), POLICIES.items())
def test_the_trace_says_which_policy_a_live_result_came_under(tool: str, policy: str) -> None:
    run = run_of()
    row = answered(run, LiveReply(200, {"order_id": "1", "status": "new"}), tool)
    assert f"ledger_write_policy: {policy}" in notes_of(row)
    assert bool(row.updates) is (policy == "adapter")


@pytest.mark.parametrize(("status", "notes"), [(404, ()), (500, ()), (200, (ERROR_NOTE,))])
def test_an_error_of_the_endpoint_is_an_answer_and_changes_nothing(
    status: int, notes: tuple[str, ...]
) -> None:
    run = run_of()
    row = answered(run, LiveReply(status, {"order_id": "1", "status": "lost"}, notes))
    assert (row.source, row.http_status, row.updates) == ("passthrough", status, None)
    assert run.ledger.as_state()["order"]["1"]["status"] == "new"


def test_what_breaks_the_output_schema_is_sent_and_said_in_the_trace() -> None:
    row = answered(run_of(), LiveReply(200, {"order_id": "1"}), "look_up")
    assert (row.source, row.http_status, row.is_valid) == ("passthrough", 200, 0)
    assert json.loads(row.response or "") == {"order_id": "1"}
    assert json.loads(row.validation or "")["errors"]


def test_text_stays_text() -> None:
    row = answered(run_of(), LiveReply(200, "<p>hello</p>"), "ping")
    assert json.loads(row.response or "") == "<p>hello</p>"


FAILURES = {
    "no answer": (LiveCallFailed("Nobody is there.", notes=("connection refused",)), ["connection refused"]),
    "an older kind": (AskFailed("Nobody is there."), []),
}


@pytest.mark.parametrize(("failed", "notes"), FAILURES.values(), ids=FAILURES)
def test_a_hop_that_failed_is_a_transport_error_whose_details_only_the_trace_has(
    failed: AskFailed, notes: list[str]
) -> None:
    row = answered(run_of(), failed)
    assert (row.source, row.error_code, row.http_status) == ("transport_error", "transport_error", None)
    assert notes_of(row) == notes
    assert "refused" not in (row.response or "")


def test_an_answer_over_the_limit_is_a_transport_error() -> None:
    row = answered(run_of(), LiveReply(200, "x" * MAX_BODY_BYTES))
    assert (row.source, row.error_code, row.updates) == ("transport_error", "transport_error", None)


def test_a_replayed_answer_says_so_in_its_row_whatever_its_text() -> None:
    run = run_of(mode=REPLAY)
    assert answered(run, LiveReply(200, "hello", is_replayed=True), "ping").as_json()["replayed"] is True
    told = LiveReply(200, '"engine":"cassette"', notes=('"engine":"cassette"',))
    assert answered(run, told, "ping").as_json()["replayed"] is False


def test_a_replayed_failure_says_so_too() -> None:
    run = run_of(mode=REPLAY)
    assert answered(run, LiveCallFailed("Nobody is there.", is_replayed=True)).as_json()["replayed"] is True
    assert answered(run, LiveCallFailed("Nobody is there.", notes=("x",))).as_json()["replayed"] is False


def test_an_answer_that_its_endpoint_marked_as_an_error_is_one_for_who_asked() -> None:
    run = run_of()
    marked = answered(run, LiveReply(200, {"order_id": "1", "status": "lost"}, (ERROR_NOTE,)))
    assert (reply_of(marked).is_error, marked.updates) == (True, None)
    told = LiveReply(200, f'"{ERROR_NOTE}"', (f'it said "{ERROR_NOTE}"',))
    assert not reply_of(answered(run, told, "ping")).is_error


ASKED: list[tuple[str, dict[str, Any], int]] = [
    ("get_order", {"order_id": "1"}, 0),
    ("get_order", {"order_id": "1"}, 1),
    ("look_up", {"order_id": "1"}, 0),  # another tool, though on the endpoint it is the same
    ("get_order", {"order_id": "2"}, 0),
    ("get_order", {"order_id": "1", "n": 1}, 0),
    ("get_order", {"n": 1.0, "order_id": "1"}, 1),
    ("get_order", {"order_id": "1"}, 2),
]


def all_asked(run: CalledRun) -> Iterator[tuple[int, TraceRow]]:
    for name, arguments, _ in ASKED:
        call, text, got = received(run, name, **arguments)
        ask = decide(run, got)
        assert isinstance(ask, Ask)
        assert isinstance(ask.question, LiveCall)
        decision = settle(run, ask, LiveReply(200, {}))
        assert isinstance(decision, Decision)
        row = row_of(8, run.sequence + 1, call, text, decision, got.arrival, 0.0, "2026-01-01T00:00:00Z")
        run.fold(row, got.arrival, decision.updates)
        yield ask.question.asked_before, row


def test_the_same_question_is_counted_by_tool_and_value() -> None:
    assert [before for before, _ in all_asked(run_of())] == [before for _, _, before in ASKED]


def test_a_run_read_back_goes_on_counting_and_injected_calls_do_not_count() -> None:
    rows = [row for _, row in all_asked(run_of())]
    again = run_of()
    for row in rows:
        again.fold(row)
    again.fold(rows[0]._replace(sequence=8, source="injected"))
    ask = asked(again, "get_order", order_id="1")
    assert isinstance(ask.question, LiveCall)
    assert ask.question.asked_before == 3
