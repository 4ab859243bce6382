"""Over the proxy: a plan that counts the calls before this one, also after a restart and under retries."""

from pathlib import Path
from typing import Any

import pytest

from support.desk import AGENT, ORDER_ID, TOOLS, DrivenRun, Org, open_house, outage, refused, tool

pytestmark = pytest.mark.anyio
ORDER = {"order_id": "4521"}
TWICE = {
    "require": "len(calls('refund_order')) < 2",
    "else": {"status": 409, "error": "limit_reached", "message": "At most two refunds."},
}
LIMITED = tool(
    "refund_order",
    "Refund an order.",
    ORDER_ID,
    ["order_id"],
    simulation=[
        {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
        TWICE,
        {"set": {"order.status": "'refunded'"}},
        {"return": {"order_id": "args.order_id"}},
    ],
)
LIMITED_TOOLS = [LIMITED if each["name"] == "refund_order" else each for each in TOOLS]


async def limited_run(org: Org, **task: Any) -> DrivenRun:
    return await org.run(await org.agent(tools_schema=LIMITED_TOOLS), **task)


async def refund(run: DrivenRun, **headers: str) -> int:
    return (await run.call("refund_order", ORDER, **headers)).status_code


async def test_the_third_call_of_a_tool_is_refused(org: Org) -> None:
    run = await limited_run(org)
    assert [await refund(run) for _ in range(4)] == [200, 200, 409, 409]
    reply = await run.call("refund_order", ORDER)
    assert reply.json()["response"] == {"error": {"code": "limit_reached", "message": "At most two refunds."}}


async def test_the_third_call_of_a_tool_is_refused_after_a_restart(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        run = await limited_run(house.owner)
        assert [await refund(run) for _ in range(2)] == [200, 200]
    async with open_house(tmp_path) as house:
        run.client = house.owner.client
        assert await refund(run) == 409


async def test_a_call_that_repeats_its_key_counts_once(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        run = await limited_run(house.owner)
        assert [await refund(run, idempotency_key="k1") for _ in range(3)] == [200, 200, 200]
    async with open_house(tmp_path) as house:
        run.client = house.owner.client
        assert await refund(run, idempotency_key="k1") == 200
        assert [await refund(run) for _ in range(2)] == [200, 409]
        assert len(await run.trace()) == 3


async def test_a_call_that_a_failure_rule_answers_does_not_count(org: Org) -> None:
    run = await limited_run(org, failure_rules=[outage("refund_order", n=1)])
    assert [await refund(run) for _ in range(4)] == [502, 200, 200, 409]


async def test_a_plan_that_counts_calls_of_a_tool_the_agent_does_not_have_is_not_saved(org: Org) -> None:
    wrong = LIMITED | {"simulation": [{"return": "calls('refund_ordre')"}]}
    reply = await org.client.post("/api/agents", json=AGENT | {"tools_schema": [wrong]})
    error = refused(reply, 422, "invalid_request")
    told = [(each["path"], each["message"]) for each in error["details"]]
    assert told == [("/tools_schema/0/simulation/0/return", "there is no tool 'refund_ordre'")]
