"""Checking plans over HTTP: nothing is saved, every problem has its place."""

import pytest

from support.desk import ORDER_ID, Org, answered, tool

pytestmark = pytest.mark.anyio
GOOD = [{"find": {"as": "order", "in": "order", "id": "args.order_id"}}, {"return": "order"}]


async def check(org: Org, **body: object) -> dict[str, object]:
    agent = await org.agent()
    checked = answered(await org.client.post(f"/api/agents/{agent['id']}/plans/check", json=body), 200)
    assert answered(await org.client.get(f"/api/agents/{agent['id']}"))["version"] == 1
    return checked


async def test_a_plan_that_could_be_saved_is_ok(org: Org) -> None:
    assert await check(org, plans={"get_order": GOOD}) == {"ok": True, "problems": []}


async def test_every_problem_is_named_with_its_place(org: Org) -> None:
    bad = await check(org, plans={"get_order": [{"fnd": "order"}, {"return": "order +"}], "no_tool": GOOD})
    assert bad["ok"] is False
    places = [problem["path"] for problem in bad["problems"]]
    assert any(place.startswith("/plans/get_order/0") for place in places)
    assert any(place.startswith("/plans/get_order/1") for place in places)
    assert any(place.startswith("/plans/no_tool") for place in places)


async def test_the_plans_of_an_agent_name_each_guess_and_what_would_settle_it(org: Org) -> None:
    unclear = tool("run_close", "Runs it.", ORDER_ID, ["order_id"])
    clear = tool("get_order", "Get an order by its id.", ORDER_ID, ["order_id"])
    agent = await org.agent(tools_schema=[unclear, clear])
    shown = answered(await org.client.get(f"/api/agents/{agent['id']}/plans"))["items"]
    first, second = sorted(shown, key=lambda one: one["tool"] != "run_close")
    assert (first["tool"], first["is_guess"]) == ("run_close", True)
    assert "a recording" in first["settled_by"]
    assert any("is not clear" in note for note in first["notes"])
    assert second["settled_by"] is None or second["is_guess"]
