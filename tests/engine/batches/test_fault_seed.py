"""Other weather on purpose: what random failure rules draw in a batch."""

from typing import Any

import pytest

from support.desk import Org, answered, refused

pytestmark = pytest.mark.anyio
RULE = {
    "trigger": "random",
    "tool": "*",
    "probability": 0.5,
    "error": {"code": 500, "message": "bad luck"},
}
CALLS = 24


async def opened(org: Org) -> tuple[int, int]:
    agent = await org.agent()
    dataset = await org.dataset(
        {"user": "u", "failure_rules": [RULE]}, {"user": "v", "failure_rules": [RULE]}
    )
    return agent["id"], dataset["id"]


async def fault_seeds(org: Org, **asked: Any) -> list[tuple[int, int]]:
    agent_id, dataset_id = await opened(org)
    body = {"agent_id": agent_id, "dataset_id": dataset_id, **asked}
    batch = answered(await org.client.post("/api/runs", json=body))
    shown = answered(await org.client.get(f"/api/batches/{batch['batch_id']}"))
    assert shown["fault_seed"] == asked.get("fault_seed", 0)
    runs = answered(await org.client.get("/api/runs", params={"batch_id": batch["batch_id"]}))["items"]
    return sorted((run["repeat_number"], run["fault_seed"]) for run in runs)


async def test_every_run_of_a_batch_draws_under_its_number(org: Org) -> None:
    assert await fault_seeds(org) == [(1, 0), (1, 0)]
    assert await fault_seeds(org, fault_seed=7, repeats=2) == [(1, 7), (1, 7), (2, 7), (2, 7)]


async def test_repeat_gives_each_repeat_draws_of_its_own(org: Org) -> None:
    assert await fault_seeds(org, fault_seed="repeat", repeats=2) == [(1, 1), (1, 1), (2, 2), (2, 2)]


@pytest.mark.parametrize("wrong", [-1, 1.5, "often", True, 2**53 + 1, []])
async def test_anything_else_is_refused(org: Org, wrong: Any) -> None:
    agent_id, dataset_id = await opened(org)
    body = {"agent_id": agent_id, "dataset_id": dataset_id, "fault_seed": wrong}
    error = refused(await org.client.post("/api/runs", json=body), 422, "invalid_request")
    assert [problem["path"] for problem in error["details"]] == ["/fault_seed"]


async def test_the_same_number_the_same_weather_and_another_another(org: Org) -> None:
    agent = await org.agent()
    dataset = await org.dataset({"user": "u", "failure_rules": [RULE]})

    async def weather(fault_seed: int) -> list[int | None]:
        run = await org.open_run(agent["id"], dataset["task_ids"][0], fault_seed=fault_seed)
        for _ in range(CALLS):
            await run.call("get_order", {"order_id": "4521"})
        return [row["matched_rule_index"] for row in await run.trace()]

    first, again, other = await weather(1), await weather(1), await weather(2)
    assert first == again
    assert first != other
