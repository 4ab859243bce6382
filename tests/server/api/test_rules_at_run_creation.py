"""A rule that names what the agent does not declare is refused when a run is asked for, by row."""

import pytest

from support.desk import STATE, Org, Row

pytestmark = pytest.mark.anyio

OUTAGE = {"code": 503, "message": "down"}


def row(tool: str) -> Row:
    rule = {"trigger": "after_n_calls", "tool": tool, "n": 1, "duration": 1, "error": OUTAGE}
    return {
        "user": "Refund order #4521.",
        "state": STATE,
        "failure_rules": [rule],
        "expected_state": {"order.4521.status": "refunded"},
    }


async def test_a_batch_over_a_dataset_without_an_agent_is_refused_with_the_row(org: Org):
    agent_id = (await org.agent())["id"]
    dataset = await org.dataset(row("refund_order"), row("refund_ordr"))
    sent = await org.client.post("/api/runs", json={"agent_id": agent_id, "dataset_id": dataset["id"]})
    assert sent.status_code == 422
    [problem] = sent.json()["error"]["details"]
    assert (problem["row"], problem["column"]) == (2, "failure_rules")
    assert problem["message"] == "the agent declares no tool `refund_ordr`"
    assert problem["hint"] == "did you mean `refund_order`?"


async def test_a_run_by_hand_is_refused_with_the_task(org: Org):
    agent_id = (await org.agent())["id"]
    task_id = (await org.dataset(row("refund_ordr")))["task_ids"][0]
    body = {"agent_id": agent_id, "task_id": task_id, "mode": "manual"}
    sent = await org.client.post("/api/runs", json=body)
    assert sent.status_code == 422
    assert sent.json()["error"]["details"][0]["path"].startswith(f"task {task_id}")


async def test_what_is_declared_runs(org: Org):
    agent_id = (await org.agent())["id"]
    task_id = (await org.dataset(row("refund_order")))["task_ids"][0]
    body = {"agent_id": agent_id, "task_id": task_id, "mode": "manual"}
    assert (await org.client.post("/api/runs", json=body)).status_code == 201


async def test_typed_rules_are_checked_likewise(org: Org):
    agent_id = (await org.agent())["id"]
    rules = [{"off": "x"}, {"form": "take", "tools": ["search_inventry"], "count": 1}]
    dataset = await org.dataset({"user": "Hi."}, {"user": "Hi.", "rules": rules})
    sent = await org.client.post("/api/runs", json={"agent_id": agent_id, "dataset_id": dataset["id"]})
    assert sent.status_code == 422
    [problem] = sent.json()["error"]["details"]
    assert (problem["row"], problem["column"]) == (2, "rules")
    assert problem["path"] == "row 2, column rules, at /1/tools"
    assert problem["hint"] == "did you mean `search_inventory`?"
