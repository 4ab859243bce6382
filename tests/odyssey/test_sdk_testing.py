"""The in-process Odyssey: what a user's unit test sees, and that it answers as the server does."""

import asyncio
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.odyssey import (
    Envelope,
    ProxyRefused,
    ProxyUnavailable,
    ToolFailed,
    async_proxy_call,
    current_or_none,
    post_handoff,
    post_trace_event,
    proxy_call,
    proxy_call_with,
    set_current,
    testing,
)
from pipelines.odyssey.calls import proxy_request
from pipelines.odyssey.testing import _STATUS, BadTask, InProcessRun, odyssey_run
from pipelines.odyssey.transport import HttpReply, HttpRequest, answerers, exchange
from pipelines.server.errors import status_of
from support.desk import STATE, TOOLS, outage, tool
from support.server_process import Api, house_in

ORDER = {"order_id": "4521"}
PASSES = {"expected_state": {"order.4521.status": "refunded"}}


def refunds(envelope: Envelope) -> str:
    proxy_call("get_order", ORDER)
    proxy_call("refund_order", ORDER)
    return "I have refunded order 4521."


def test_a_run_is_played_judged_and_read() -> None:
    with odyssey_run(tools_schema=TOOLS, user="Refund order #4521.", state=STATE, **PASSES) as run:
        assert proxy_call("get_order", ORDER)["status"] == "shipped"
        answer = run.dispatch(refunds)
        assert answer == {"final_response": "I have refunded order 4521."}
    assert current_or_none() is None
    assert run.verdict(answer).verdict == "PASS"
    assert run.ledger["order"]["4521"]["status"] == "refunded"
    assert [(row["sequence"], row["tool_name"], row["source"]) for row in run.calls] == [
        (1, "get_order", "odyssey"),
        (2, "get_order", "odyssey"),
        (3, "refund_order", "odyssey"),
    ]
    assert run.trace[2]["updates"]


def test_what_an_agent_returns_as_data_is_judged() -> None:
    with odyssey_run(tools_schema=TOOLS, state=STATE, expected_answer={"amount": 79.5, "late": True}) as run:
        proxy_call("get_order", ORDER)
    answer = {"final_response": "It cost $79.50.", "metadata": {"answer": {"late": True}}}
    assert run.verdict(answer).verdict == "PASS"
    assert run.verdict("It cost $79.50.").failure_mode == "incomplete"


def test_the_judge_is_told_which_sentences_nobody_enforces(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[RunEvidence] = []
    monkeypatch.setattr(testing, "judge", lambda evidence: seen.append(evidence) or judge(evidence))
    behavior = "Pending orders cannot be refunded. Colourless green ideas sleep furiously."
    with odyssey_run(tools_schema=TOOLS, state=STATE, behavior=behavior) as run:
        pass
    run.verdict("Done.")
    run.verdict("Done.", strict_honesty=True)
    assert [evidence.unenforced for evidence in seen] == [("Colourless green ideas sleep furiously.",)] * 2
    assert [evidence.is_strict for evidence in seen] == [False, True]


def test_a_run_needs_no_socket_and_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_here(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("a unit test has neither")

    monkeypatch.setattr(socket, "socket", none_here)
    monkeypatch.setattr(sqlite3, "connect", none_here)
    with odyssey_run(tools_schema=TOOLS, user="Refund order #4521.", state=STATE, **PASSES) as run:
        answer = run.dispatch(refunds)
    assert run.verdict(answer).verdict == "PASS"
    assert [row["tool_name"] for row in run.calls] == ["get_order", "refund_order"]


def test_a_conversation_is_judged_by_what_was_said_in_each_turn() -> None:
    said = ["Shall I refund order 4521?", "I have refunded order 4521."]
    check = {"id": "asks", "description": "names the order", "check": {"responses": {"$contains": "4521"}}}
    script = {"turn_mode": "model_as_user", "simulator_mode": "scripted", "scripted_user_turns": ["Yes."]}
    task = PASSES | script | {"tracked_constraints": [check]}
    with odyssey_run(tools_schema=TOOLS, user="Refund order #4521.", state=STATE, **task) as run:
        proxy_call("refund_order", ORDER)
    assert run.verdict(said).verdict == "PASS"
    assert run.verdict(["Shall I?", said[1]]).failure_mode == "constraint_violated"
    assert run.verdict([]).verdict == "NOT_APPLICABLE"


def test_an_agent_that_did_nothing_fails() -> None:
    with odyssey_run(tools_schema=TOOLS, user="Refund order #4521.", state=STATE, **PASSES) as run:
        pass
    assert run.verdict("I have refunded order 4521.").verdict == "FAIL"
    assert run.verdict({"final_response": ""}).verdict == "NOT_APPLICABLE"  # no answer, nothing to judge


def test_failures_are_injected() -> None:
    rules = [outage("refund_order", 1, code=503)]
    with odyssey_run(tools_schema=TOOLS, state=STATE, failure_rules=rules) as run:
        with pytest.raises(ToolFailed) as raised:
            proxy_call("refund_order", ORDER)
        proxy_call("refund_order", ORDER)
    assert (raised.value.status, raised.value.source) == (503, "injected")
    assert [row["matched_rule_index"] for row in run.calls] == [0, None]


FAULTS = {
    "timeout": ({"kind": "timeout", "after_ms": 300_000}, 504, "timeout"),
    "reset": ({"kind": "reset"}, 502, "connection_reset"),
}


@pytest.mark.parametrize(("error", "status", "code"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_the_wire_is_the_reply_that_stands_for_it(
    error: dict[str, Any], status: int, code: str
) -> None:
    rule = {"trigger": "after_n_calls", "tool": "refund_order", "n": 1, "error": error}
    with odyssey_run(tools_schema=TOOLS, state=STATE, failure_rules=[rule]) as run:
        with pytest.raises(ToolFailed) as raised:
            proxy_call("refund_order", ORDER)
        assert run.ledger["order"]["4521"]["status"] == "shipped"
        proxy_call("refund_order", ORDER)
    assert (raised.value.status, raised.value.source) == (status, "injected")
    assert raised.value.response["error"]["code"] == code
    assert [(row["http_status"], row["matched_rule_index"]) for row in run.calls] == [
        (status, 0),
        (200, None),
    ]


def test_nobody_waits_for_a_late_reply() -> None:
    """Five minutes each: the time stands in the row and is not spent."""
    late = {"trigger": "after_n_calls", "tool": "*", "n": 1, "duration": 2, "latency_ms": 300_000}
    slow = TOOLS[0] | {"simulation": {"latency_ms": 60_000, "steps": [{"return": {"slow": True}}]}}
    rules = [late, outage("get_order", 3) | {"latency_ms": 7_000}]
    began = time.monotonic()
    with odyssey_run(tools_schema=[slow, *TOOLS[1:]], state=STATE, failure_rules=rules) as run:
        assert proxy_call("get_order", ORDER) == {"slow": True}
        proxy_call("add_note", {"order_id": "4521", "text": "x"})
        proxy_call("get_order", ORDER)
        with pytest.raises(ToolFailed):
            proxy_call("get_order", ORDER)
        proxy_call("add_note", {"order_id": "4521", "text": "y"})
    assert time.monotonic() - began < 30
    assert [row["matched_rule_index"] for row in run.calls] == [0, 0, None, 1, None]
    # A rule's latency and the plan's add up, unless an error takes the plan's place.
    seconds = [row["latency_ms"] // 1000 for row in run.calls]
    assert seconds == [360, 300, 60, 7, 0]


def test_a_call_that_comes_twice_after_a_fault_is_told_what_was_injected() -> None:
    rule = {"trigger": "after_n_calls", "tool": "add_note", "n": 1, "error": {"kind": "reset"}}
    with odyssey_run(tools_schema=TOOLS, state=STATE, failure_rules=[rule]) as run:
        request = proxy_request(run.envelope, "tools/add_note", b'{"order_id": "4521", "text": "once"}', 1)
        first, again = exchange(request), exchange(request)
        assert (first.status, first) == (502, again)
    assert len(run.calls) == 1


def test_a_random_rule_fires_on_the_first_call_of_as_many_tasks_as_it_says() -> None:
    """It used to draw alike in every task, so that a rule of 0.9 never fired on a first call."""
    rule = {"trigger": "random", "tool": "*", "probability": 0.3, "error": {"code": 500, "message": "Luck"}}
    tools = [TOOLS[-1]]

    def fires(number: int) -> bool:
        task = {"user": f"Task {number}.", "failure_rules": [rule]}
        with odyssey_run(tools_schema=tools, **task) as run, suppress(ToolFailed):
            proxy_call("raise_flag", {"flag": "x"})
        return run.calls[0]["matched_rule_index"] == 0

    fired = [fires(number) for number in range(300)]
    # 90 of 300, with a standard deviation of 8; the draws are fixed, so this cannot flicker.
    assert 66 < sum(fired) < 114
    assert [fires(number) for number in range(0, 300, 30)] == fired[::30]


def test_behaviour_is_enforced_and_what_is_not_understood_is_told() -> None:
    behavior = "Pending orders cannot be refunded. Colourless green ideas sleep furiously."
    with odyssey_run(tools_schema=TOOLS, state=STATE, behavior=behavior) as run:
        with pytest.raises(ToolFailed) as raised:
            proxy_call("refund_order", {"order_id": "7001"})
        proxy_call("refund_order", ORDER)
    assert 400 <= raised.value.status < 500
    (told,) = run.not_understood
    assert told.startswith("Colourless green ideas sleep furiously. (")


def test_async_calls_keep_their_order() -> None:
    async def many() -> list[Any]:
        notes = ({"order_id": "4521", "text": str(n)} for n in range(20))
        return await asyncio.gather(*(async_proxy_call("add_note", note) for note in notes))

    with odyssey_run(tools_schema=TOOLS, state=STATE) as run:
        name, threads = run.envelope.odyssey_proxy_url.removeprefix("inprocess://"), set()
        answer = answerers[name]

        def noted(request: HttpRequest) -> HttpReply:
            threads.add(threading.current_thread())
            return answer(request)

        answerers[name] = noted
        asyncio.run(many())
    assert threads == {threading.current_thread()}  # in others the order would be a matter of luck
    assert run.ledger["order"]["4521"]["notes"] == [str(n) for n in range(20)]


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns as often as they can, so that what is not guarded breaks."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_threads_call_one_at_a_time() -> None:
    with odyssey_run(tools_schema=TOOLS, state=STATE) as run:

        def work(name: str) -> None:
            for _ in range(25):
                proxy_call_with(run.envelope, "add_note", {"order_id": "4521", "text": name})

        threads = [threading.Thread(target=work, args=[name]) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(run.ledger["order"]["4521"]["notes"]) == sorted("abcd" * 25)
    assert [row["sequence"] for row in run.calls] == list(range(1, 101))


def test_events_and_actors_stand_in_the_trace() -> None:
    with odyssey_run(tools_schema=TOOLS, state=STATE) as run:
        with set_current(run.envelope.for_actor("supervisor")):
            proxy_call("get_order", ORDER)
            post_handoff("refunds", reason="Money.")
        accepted = post_trace_event("thinking", {"text": "Earlier.", "__occurred_at": "2020-01-01T00:00:00"})
        with pytest.raises(ProxyRefused, match="No trace event type 'dreaming'"):
            post_trace_event("dreaming")
    assert accepted == {"accepted": True, "sequence": 3, "event_type": "thinking"}
    assert [(row["kind"], row["actor_id"]) for row in run.trace] == [
        ("thinking", None),  # by its own time
        ("tool_call", "supervisor"),
        ("handoff", "supervisor"),
    ]
    assert run.trace[2]["payload"]["to_actor"] == "refunds"


def test_runs_beside_each_other_do_not_mix() -> None:
    with (
        odyssey_run(tools_schema=TOOLS, state=STATE) as outer,
        odyssey_run(tools_schema=TOOLS, state=STATE) as inner,
    ):
        proxy_call("refund_order", ORDER)
        proxy_call_with(outer.envelope, "cancel_order", ORDER)
    assert inner.ledger["order"]["4521"]["status"] == "refunded"
    assert outer.ledger["order"]["4521"]["status"] == "cancelled"


def test_a_run_that_has_ended_answers_no_more() -> None:
    with odyssey_run(tools_schema=TOOLS, state=STATE) as run:
        pass
    with pytest.raises(ProxyUnavailable, match="this in-process run has ended"):
        proxy_call_with(run.envelope, "get_order", ORDER)


def test_a_handler_that_fails_is_told() -> None:
    def breaks(envelope: Envelope) -> str:
        raise ValueError("no idea")

    with (
        odyssey_run(tools_schema=TOOLS, state=STATE) as run,
        pytest.raises(RuntimeError, match="ValueError: no idea"),
    ):
        run.dispatch(breaks)


BAD = {
    "a column that is none": ({"stat": {}}, "stat"),
    "a rule for no tool": ({"failure_rules": [outage("refund", 1)]}, "refund"),
    "a state of no shape": ({"state": {"order": []}}, "order"),
    "an oracle that cannot be read": ({"expected_state": {"order.4521": {"$nonsense": 1}}}, "nonsense"),
    "a tool of no shape": ({"tools_schema": [{"name": "1"}]}, "/tools_schema/0"),
    "a plan of no shape": ({"tools_schema": [TOOLS[0] | {"simulation": [{"jump": 1}]}]}, "/simulation"),
}


@pytest.mark.parametrize(("given", "words"), BAD.values(), ids=BAD)
def test_a_task_that_an_upload_would_refuse_is_told(given: dict[str, Any], words: str) -> None:
    whole: dict[str, Any] = {"tools_schema": TOOLS, "state": STATE} | given
    with pytest.raises(BadTask, match=words), odyssey_run(**whole):
        pass


def test_refusals_have_the_servers_statuses() -> None:
    assert {kind: status_of(kind) for kind in _STATUS} == _STATUS


# -- the same as the server


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("twin"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


MAKES_IDS = tool(
    "create_order",
    "Create an order.",
    {"amount": {"type": "number"}},
    ["amount"],
    output_schema={
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    },
)
DRAWS = tool(
    "draw_ticket",
    "Draw a ticket.",
    {},
    [],
    simulation=[{"return": {"ticket": "uuid()", "number": "random_int(1, 1000000)"}}],
)
ALL_TOOLS = [*TOOLS, MAKES_IDS, DRAWS]
CALLS: list[tuple[str, Any]] = [
    ("get_order", ORDER),
    ("get_order", {"order_id": "none"}),
    ("get_order", {"order": "4521"}),
    ("get_orders", ORDER),
    ("create_order", {"amount": 12.5}),
    ("draw_ticket", {}),
    ("raise_flag", {"flag": "maintenance"}),
    ("refund_order", ORDER),
    ("refund_order", {"order_id": "7001"}),
    ("search_inventory", {"query": "mug"}),
    ("create_order", {"amount": 7}),
    ("refund_order", ORDER),
    ("cancel_order", {"order_id": "7001"}),
    ("draw_ticket", {}),
    ("add_note", {"order_id": "4521", "text": "ünïcode", "actor_id": "an argument"}),
    ("get_order", ORDER),
]
LATE_MS = 30
TASKS: dict[str, dict[str, Any]] = {
    "plain": {"expected_state": {"order.4521.status": "refunded"}},
    "no world": {"state": {}},
    "behaviour": {"behavior": "Pending orders cannot be refunded.", "expected_outcome": "refusal"},
    "failures": {
        "failure_rules": [
            outage("refund_order", 1, 2),
            {
                "trigger": "random",
                "tool": "*",
                "probability": 0.4,
                "error": {"code": 500, "message": "Now and then"},
            },
            {
                "trigger": "after_state_change",
                "tool": "get_order",
                "condition": "maintenance",
                "duration": 2,
                "error": {"code": 200, "response": {"half": True}},
            },
        ],
        "expected_calls": [{"tool": "cancel_order"}],
    },
    "late replies": {
        "failure_rules": [
            {"trigger": "after_n_calls", "tool": "get_order", "n": 1, "duration": 2, "latency_ms": LATE_MS},
            outage("refund_order", 1) | {"latency_ms": LATE_MS},
            {
                "trigger": "after_state_change",
                "tool": "*",
                "condition": "maintenance",
                "duration": 4,
                "latency_ms": LATE_MS,
            },
            {"trigger": "random", "tool": "draw_ticket", "probability": 0.5, "latency_ms": LATE_MS},
        ],
    },
    "faults of the wire": {
        "failure_rules": [
            {
                "trigger": "after_n_calls",
                "tool": "refund_order",
                "n": 2,
                "error": {"kind": "timeout", "after_ms": LATE_MS},
            },
            {"trigger": "after_n_calls", "tool": "create_order", "n": 1, "error": {"kind": "reset"}},
            {
                "trigger": "after_state_change",
                "tool": "cancel_order",
                "condition": "maintenance",
                "error": {"kind": "reset"},
                "latency_ms": LATE_MS,
            },
        ],
    },
}
COMPARED = (
    "sequence",
    "kind",
    "tool_name",
    "arguments",
    "response",
    "source",
    "http_status",
    "error_code",
    "matched_rule_index",
    "updates",
    "validation",
    "payload",
    "actor_id",
)


def played(envelope: Envelope) -> list[Any]:
    """What the agent sees of every call: the result, or the failure."""
    seen: list[Any] = []
    with set_current(envelope.for_actor("supervisor")):
        for name, arguments in CALLS:
            try:
                seen.append(proxy_call(name, arguments))
            except ToolFailed as failed:
                seen.append((failed.tool, failed.status, failed.source, failed.response))
        post_trace_event("custom", {"text": "done"})
    return seen


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in COMPARED} for row in rows]


@pytest.mark.parametrize("name", TASKS)
def test_the_same_calls_are_answered_and_judged_as_on_the_server(name: str, api: Api) -> None:
    task = {"user": "Refund order #4521.", "state": STATE} | TASKS[name]
    now, said = "2026-03-01T23:59:57Z", "I have refunded order 4521."
    agent_id = api.agent("http://127.0.0.1:9/dispatch", tools_schema=ALL_TOOLS)["id"]
    (task_id,) = api.dataset(task, agent_id=agent_id)["task_ids"]
    opened = api.post(
        "/api/runs", {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id], "now": now}, 201
    )
    with odyssey_run(tools_schema=ALL_TOOLS, now=now, **task) as run:
        here = played(run.envelope)
    there = played(
        replace(run.envelope, odyssey_proxy_url=opened["odyssey_proxy_url"], run_token=opened["run_token"])
    )
    assert here == there
    traced = api.trace(opened["id"])
    assert compared(run.trace) == compared(traced)
    for ours, theirs in zip(run.trace, traced, strict=True):
        if ours["matched_rule_index"] is not None and name == "late replies":
            assert min(ours["latency_ms"], theirs["latency_ms"]) >= LATE_MS
    assert run.ledger == api.get(f"/api/runs/{opened['id']}/ledger")["state"]
    api.post(f"/api/runs/{opened['id']}/finish", {"final_response": said})
    judged = api.get(f"/api/runs/{opened['id']}")
    verdict = run.verdict(said)
    assert (verdict.verdict, verdict.failure_mode) == (judged["verdict"], judged["failure_mode"])
    assert verdict.as_json() | {"oracle": {"version": 1}} == judged["judgement"]


def test_a_call_that_comes_twice_is_done_once() -> None:
    with odyssey_run(tools_schema=TOOLS, state=STATE) as run:
        request = proxy_request(run.envelope, "tools/add_note", b'{"order_id": "4521", "text": "once"}', 1)
        assert exchange(request) == exchange(request)
        other = exchange(request._replace(body=b'{"order_id": "4521", "text": "twice"}'))
        assert (other.status, b"idempotency_key_reused" in other.body) == (409, True)
    assert run.ledger["order"]["4521"]["notes"] == ["once"]


def test_a_run_can_be_read_while_it_goes_on() -> None:
    with odyssey_run(tools_schema=TOOLS, state=STATE) as run:
        assert isinstance(run, InProcessRun)
        proxy_call("raise_flag", {"flag": "vip"})
        assert run.flags == ["vip"]


def test_a_run_that_is_right_says_what_its_task_should_expect() -> None:
    with odyssey_run(tools_schema=TOOLS, user="Refund order 4521.", state=STATE) as run:
        proxy_call("refund_order", ORDER)
    answer = "Order 4521 is refunded."
    assert run.verdict(answer).verdict == "PENDING"
    found = run.proposed_oracle({"final_response": answer})
    assert (found.axes["expected_state"], found.is_vacuous) == (PASSES["expected_state"], False)
    columns = {axis: value for axis, value in found.axes.items() if value is not None}
    with odyssey_run(tools_schema=TOOLS, user="Refund order 4521.", state=STATE, **columns) as again:
        proxy_call("refund_order", ORDER)
    assert again.verdict(answer).verdict == "PASS"
    with odyssey_run(tools_schema=TOOLS, user="Refund order 4521.", state=STATE, **columns) as idle:
        pass
    assert idle.verdict("I looked into it.").verdict == "FAIL"


def test_rules_of_the_task_are_in_force_and_bad_ones_are_told_with_their_place() -> None:
    rule = {
        "name": "shipped",
        "form": "require",
        "tools": ["refund_order"],
        "expression": "order.status == 'shipped'",
    }
    with odyssey_run(tools_schema=TOOLS, rules=[rule]) as run:
        assert [one.name for one in run._live.simulator.typed_rules] == ["shipped"]  # type: ignore[attr-defined]
    bad = odyssey_run(tools_schema=TOOLS, rules=[rule | {"form": "requires"}])
    with pytest.raises(BadTask, match="rules/0/form"), bad:
        pass
