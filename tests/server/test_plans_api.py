"""Checking plans over HTTP: nothing is saved, every problem has its place."""

import pytest

from desk import Org, answered

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
