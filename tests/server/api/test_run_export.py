"""A run as one file: our own JSON, and a trajectory in ATIF that keeps to what the format publishes."""

from typing import Any

import pytest

from support.atif_fields import check_atif
from support.desk import DrivenRun, House, Org, answered, outage, refused

pytestmark = pytest.mark.anyio


async def told_run(org: Org) -> DrivenRun:
    """One with a thought, a failure, calls that are refused, events of every kind, and numbers."""
    run = await org.run(failure_rules=[outage("refund_order", 1)])
    await run.event("system_prompt", {"text": "You refund orders."})
    await run.event("thinking", {"text": "First the order."})
    await run.call("get_order", {"order_id": "4521"})
    await run.call("refund_order", {"order_id": "4521"})
    await run.raw(f"runs/{run.jti}/tools/get_order", b"[1]")
    await run.event("handoff", {"to": "clerk", "why": "a refund"})
    await run.event("assistant_message", {"text": "Trying again."})
    await run.finish(
        final_response="Done.",
        metadata={
            "model": "m-1",
            "total_input_tokens": 120,
            "total_output_tokens": 7,
            "total_cost_usd": 0.01,
        },
    )
    return run


async def exported(run: DrivenRun, format: str) -> Any:
    return answered(await run.client.get(f"/api/runs/{run.id}/export", params={"format": format}))


async def test_a_run_as_atif_has_only_fields_that_the_format_publishes(org: Org) -> None:
    check_atif(await exported(await told_run(org), "atif"))


async def test_what_happened_stands_in_atif_in_its_order(org: Org) -> None:
    run = await told_run(org)
    whole = await exported(run, "atif")
    assert whole["schema_version"] == "ATIF-v1.7"
    assert whole["agent"]["model_name"] == "m-1"
    assert whole["agent"]["tool_definitions"][0]["function"]["name"] == "get_order"
    said = [(step["source"], step.get("reasoning_content") or step["message"]) for step in whole["steps"]]
    assert said == [
        ("user", "Refund order #4521 if it shipped more than 30 days ago."),
        ("system", "You refund orders."),
        ("agent", "First the order."),
        ("agent", ""),
        ("agent", ""),
        ("agent", ""),
        ("agent", '{"to":"clerk","why":"a refund"}'),
        ("agent", "Trying again."),
        ("agent", "Done."),
    ]
    found, failed, invalid = whole["steps"][3:6]
    assert found["tool_calls"][0]["arguments"] == {"order_id": "4521"}
    assert '"status":"shipped"' in found["observation"]["results"][0]["content"]
    assert failed["extra"]["source"] == "injected"
    assert failed["extra"]["matched_rule_index"] == 0
    assert invalid["tool_calls"][0]["arguments"] == {}
    assert invalid["extra"]["error_code"] == "invalid_arguments"
    assert whole["final_metrics"] == {
        "total_prompt_tokens": 120,
        "total_completion_tokens": 7,
        "total_cost_usd": 0.01,
        "total_steps": 9,
    }


async def test_a_run_that_still_goes_and_knows_no_numbers_is_atif_too(run: DrivenRun) -> None:
    whole = await exported(run, "atif")
    check_atif(whole)
    assert whole["final_metrics"] == {"total_steps": 1}
    assert whole["extra"]["status"] == "running"


async def test_our_own_json_has_the_trace_and_what_was_printed(org: Org) -> None:
    run = await told_run(org)
    whole = await exported(run, "json")
    assert [row["sequence"] for row in whole["trace"]] == list(range(1, 8))
    assert whole["output"]["stdout"] == ""
    assert whole["earlier_verdicts"] == []


async def test_another_orgs_run_is_not_exported(house: House, run: DrivenRun) -> None:
    other = await house.another_org()
    for format in ("json", "atif"):
        path = f"/api/runs/{run.id}/export?format={format}"
        refused(await other.client.get(path), 404, "not_found")
