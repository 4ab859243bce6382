"""Evidence: trace rows as the API tells them, who is to blame for a failed call, and what a run changed."""

import pytest

from pipelines.core.ledger.ledger import Update
from pipelines.core.tasks.seed import parse_seed
from pipelines.core.verdict.changes import changes
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from support.verdict_cases import (
    STATE,
    add,
    call,
    flag,
    get_order,
    injected,
    refund,
    refused,
    remove,
    run,
    update,
)

ROW = {
    "sequence": 3,
    "kind": "tool_call",
    "tool_name": "refund_order",
    "arguments": {"order_id": "4521"},
    "response": {"status": "refunded"},
    "source": "odyssey",
    "http_status": 200,
    "error_code": None,
    "matched_rule_index": None,
    "latency_ms": 0.4,
    "updates": [
        {"op": "update", "entity_type": "order", "id": "4521", "set": {"status": "refunded"}, "unset": []}
    ],
    "validation": {"ok": True},
    "payload": None,
    "actor_id": "billing",
    "idempotency_key": None,
    "occurred_at": "2026-05-01T12:00:00Z",
}


def test_a_row_of_the_trace_is_read_as_the_api_tells_it():
    row = EvidenceRow.from_json(ROW)
    assert (row.sequence, row.tool, row.actor_id) == (3, "refund_order", "billing")
    assert row.updates == (Update(entity_type="order", id="4521", set={"status": "refunded"}),)


def failed(source, status=None, code=None):
    return call(1, "get_order", source=source, status=status, error_code=code)


BLAME = {
    "the backend answered": (get_order(1), {"succeeded"}),
    "the backend's rules": (refused(1, "refund_order", "no", "No."), {"is_refused_by_backend"}),
    "a failure rule": (injected(1), {"is_injected_failure"}),
    "an injected success": (failed("injected", 200), {"succeeded"}),
    "the simulator": (failed("error", code="simulation_failed"), {"is_our_fault"}),
    "a live hop": (failed("transport_error", 502), {"is_our_fault"}),
    "wrong arguments": (failed("error", code="invalid_arguments"), {"is_agents_mistake"}),
    "an unknown tool": (failed("error", code="tool_not_declared"), {"is_agents_mistake"}),
    "no call at all": (call(1, "x", kind="thinking", source=None, status=None), set()),
}


@pytest.mark.parametrize(("row", "holds"), BLAME.values(), ids=BLAME)
def test_every_call_has_one_explanation(row, holds):
    names = ("succeeded", "is_refused_by_backend", "is_injected_failure", "is_our_fault", "is_agents_mistake")
    assert {name for name in names if getattr(row, name)} == holds


def test_a_seed_becomes_evidence_with_its_own_world():
    seed = parse_seed(
        {
            "user_instruction": "Refund it.",
            "initial_state": STATE,
            "expected_outcome": "refusal",
            "expected_state": {"unchanged": True},
            "scripted_user_turns": ["Please."],
        }
    )
    evidence = RunEvidence.from_seed(seed, responses=("No.", "Still no."))
    assert evidence.world.entities["order"] == STATE["order"]
    assert (evidence.expected_outcome, evidence.final_response) == ("refusal", "Still no.")
    assert evidence.later_user_turns == ("Please.",)


def told(*updates, tool="x", **more):
    return [change.describe() for change in changes(run(call(1, tool, updates=updates, **more)))]


CHANGES = {
    "a value": ([update("4521", amount=5)], "order.4521.amount changed from 79.5 to 5 in call 1 (x)"),
    "a new attribute": ([update("4521", note="hi")], "order.4521.note was added in call 1 (x)"),
    "an attribute gone": (
        [Update(entity_type="order", id="4521", unset=("amount",))],
        "order.4521.amount was removed in call 1 (x)",
    ),
    "an entity": ([add("refund", "r-1", amount=5)], "refund.r-1 was added in call 1 (x)"),
    "an entity gone": ([remove("order", "7003")], "order.7003 was removed in call 1 (x)"),
    "inside an object": (
        [update("a.b@example.com", "user", address={"city": "Bonn", "zip": "10115"})],
        'user["a.b@example.com"].address.city changed from "Berlin" to "Bonn" in call 1 (x)',
    ),
}


@pytest.mark.parametrize(("updates", "says"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_told_by_its_path(updates, says):
    assert told(*updates) == [says]


NO_CHANGES = {
    "a flag": ([flag("outage")], {}),
    "back again": ([update("4521", amount=5), update("4521", amount=79.50)], {}),
    "added and removed": ([add("refund", "1"), remove("refund", "1")], {}),
    "the same value": ([update("4521", amount=79.5)], {}),
    "a live read": ([add("order", "1")], {"tool": "get_order", "source": "passthrough"}),
}


@pytest.mark.parametrize(("updates", "more"), NO_CHANGES.values(), ids=NO_CHANGES)
def test_what_is_no_change_of_the_world(updates, more):
    assert told(*updates, **more) == []


def test_a_live_write_is_a_change():
    assert told(update("4521", status="refunded"), tool="refund_order", source="passthrough")
    assert run(refund(1), get_order(2)).writes == (refund(1),)
