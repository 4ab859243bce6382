"""Which rule of a plan answered: on the trace row, for people and for the judge, never for the agent."""

import json
import re

import httpx2
import pytest
from test_mcp import Client

from support.desk import ORDER_ID, TOOLS, DrivenRun, House, Org, answered, outage, tool

pytestmark = pytest.mark.anyio
KNOWN = "Canary rule: only orders that there are can be closed."
SHIPPED = "Canary rule: shipped orders stay open."
CLOSED = "Canary rule: pending orders are closed at once."
CLOSE = tool(
    "close_order",
    "Close an order.",
    ORDER_ID,
    ["order_id"],
    simulation=[
        {"find": {"as": "order", "in": "order", "id": "args.order_id"}, "rule": KNOWN},
        {
            "require": "order.status != 'shipped'",
            "else": {"status": 409, "error": "shipped"},
            "rule": SHIPPED,
        },
        {"set": {"order.status": "'closed'"}},
        {"return": {"order_id": "args.order_id"}, "rule": CLOSED},
    ],
)
CALLS = {"0": KNOWN, "4521": SHIPPED, "7001": CLOSED}


@pytest.fixture
async def run(org: Org) -> DrivenRun:
    return await org.run(await org.agent(tools_schema=[*TOOLS, CLOSE]))


async def call_all(run: DrivenRun) -> list[httpx2.Response]:
    made = [await run.call("close_order", {"order_id": order_id}) for order_id in CALLS]
    assert [reply.status_code for reply in made] == [404, 409, 200]
    return made


async def test_the_trace_row_has_the_rule_that_answered(run: DrivenRun) -> None:
    await call_all(run)
    await run.call("get_order", {"order_id": "7001"})
    assert [row["matched_rule"] for row in await run.trace()] == [*CALLS.values(), None]


async def test_a_retry_a_failure_rule_and_a_refused_call_have_no_rule_of_their_own(org: Org) -> None:
    agent = await org.agent(tools_schema=[*TOOLS, CLOSE])
    run = await org.run(agent, failure_rules=[outage("close_order", n=1)])
    for arguments in ({"order_id": "0"}, {}, {"order_id": "0"}, {"order_id": "0"}):
        await run.call("close_order", arguments, idempotency_key=f"k{arguments}")
    rows = [(row["source"], row["matched_rule"]) for row in await run.trace()]
    assert rows == [("injected", None), ("error", None)]
    await run.call("close_order", {"order_id": "0"})
    assert (await run.trace())[-1]["matched_rule"] == KNOWN


async def test_the_agent_is_not_told_the_rule(house: House, run: DrivenRun) -> None:
    seen = [(reply.text + str(reply.headers)) for reply in await call_all(run)]
    retried = [await run.call("close_order", {"order_id": "0"}, idempotency_key="k") for _ in range(2)]
    seen += [reply.text for reply in retried]
    client = Client(house, run)
    seen += [json.dumps(await client.call("close_order", {"order_id": order_id})) for order_id in CALLS]
    seen += [json.dumps(await client.ask("tools/list")), (await run.raw("tools", b"", "GET")).text]
    assert [text for text in seen if "canary" in text.lower() or 'matched_rule"' in text] == []
    assert (await run.trace())[-1]["matched_rule"] == CLOSED


async def test_the_rule_is_kept_where_a_run_is_exported_and_imported(run: DrivenRun) -> None:
    await call_all(run)
    answered(await run.finish())
    whole = answered(await run.client.get(f"/api/runs/{run.id}/export"))
    told = answered(
        await run.client.post("/api/runs/import", json={"agent_id": whole["agent_id"], "runs": [whole]}), 201
    )
    again = answered(await run.client.get(f"/api/runs/{told['runs'][0]['run_id']}/trace"))
    assert [row["matched_rule"] for row in again["items"]] == [*CALLS.values()]
    atif = answered(await run.client.get(f"/api/runs/{run.id}/export", params={"format": "atif"}))
    rules = [step["extra"]["matched_rule"] for step in atif["steps"] if "tool_calls" in step]
    assert rules == [*CALLS.values()]


async def test_the_step_of_a_run_page_says_which_rule_answered(
    house: House, org: Org, run: DrivenRun
) -> None:
    await call_all(run)
    browser = httpx2.AsyncClient(transport=house.transport, base_url="http://127.0.0.1")
    assert (await browser.post("/sign-in", data={"key": org.key})).status_code == 303
    shown = [(await browser.get(f"/runs/{run.id}/steps/{number}")).text for number in (1, 2, 3)]
    words = [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", text)) for text in shown]
    assert f"Refused by the rule: {KNOWN}" in words[0]
    assert f"Refused by the rule: {SHIPPED}" in words[1]
    assert f"Answered by the rule: {CLOSED}" in words[2]
