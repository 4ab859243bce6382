"""A plan whose reply contradicts the ledger: not sent unless its author means it, and told on the run."""

from typing import Any

import pytest

from support.desk import ORDER_ID, Org, answered, tool

pytestmark = pytest.mark.anyio

STATUS = {"status": {"type": "string"}}
STEPS = [
    {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
    {"set": {"order.seen": True}},
    {"return": {"order_id": "order.id", "status": "args.status"}},
]
PAID = {"order_id": "4521", "status": "paid"}  # it is shipped


def saying(**head: Any) -> list[Any]:
    plan = {"steps": STEPS, **head}
    return [tool("say_order", "Says what it is told.", ORDER_ID | STATUS, [*PAID], simulation=plan)]


async def test_a_reply_that_contradicts_the_ledger_is_an_error_and_changes_nothing(org: Org) -> None:
    run = await org.run(await org.agent(tools_schema=saying()))
    reply = answered(await run.call("say_order", PAID), 502)
    assert (reply["source"], reply["error"]["code"]) == ("error", "simulation_failed")
    (problem,) = reply["error"]["details"]
    assert (problem["path"], problem["message"]) == ("/status", "is 'paid', but order 4521 has 'shipped'")
    assert "asserted: true" in problem["hint"]
    (row,) = await run.trace()
    assert (row["source"], row["validation"]["ok"], row["updates"]) == ("error", False, [])
    assert "seen" not in (await run.ledger())["state"]["order"]["4521"]


async def test_it_is_counted_on_the_run_and_told_once_for_each_tool(org: Org) -> None:
    run = await org.run(await org.agent(tools_schema=saying()))
    for _ in range(3):
        answered(await run.call("say_order", PAID), 502)
    answered(await run.call("say_order", PAID | {"status": "shipped"}), 200)
    read = answered(await org.client.get(f"/api/runs/{run.id}"))
    assert read["counts"] == {
        "tool_calls": 4,
        "by_source": {"error": 3, "odyssey": 1},
        "validation_failures": 3,
        "regenerated": 0,
    }
    (warning,) = answered(await run.finish())["soft_warnings"]
    assert warning.startswith(
        "say_order: 3 simulated replies failed the check, so the agent got an error instead"
        " (trace rows 1, 2, 3). /status is 'paid', but order 4521 has 'shipped'"
    )
    assert "asserted: true" in warning


async def test_an_author_may_mean_it(org: Org) -> None:
    run = await org.run(await org.agent(tools_schema=saying(asserted=True)))
    reply = answered(await run.call("say_order", PAID), 200)
    assert (reply["source"], reply["response"]) == ("odyssey", PAID)
    assert reply["validation"] == {"ok": True, "attempts": 1, "errors": []}
    assert answered(await run.finish())["soft_warnings"] == []
