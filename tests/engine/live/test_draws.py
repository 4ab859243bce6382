"""What a random failure rule draws is the task's own: whenever, wherever and beside whatever it runs."""

import asyncio
from typing import Any

import pytest
from test_live_runs import read_anew

from support.desk import STATE, DrivenRun, House, Org, Row

pytestmark = pytest.mark.anyio
LUCK = {"trigger": "random", "tool": "get_order", "probability": 0.5, "error": {"code": 500, "message": "x"}}
SLOW = {"trigger": "random", "tool": "*", "probability": 0.3, "latency_ms": 1}
TASK: Row = {"user": "Refund order #4521.", "state": STATE, "failure_rules": [LUCK, SLOW]}
CALLS = 12


async def read(run: DrivenRun) -> int | None:
    reply = await run.call("get_order", {"order_id": "4521"})
    index: int | None = reply.json()["matched_rule_index"]
    return index


async def drawn(run: DrivenRun) -> list[int | None]:
    return [await read(run) for _ in range(CALLS)]


async def opened(org: Org, agent: Row, **task: Any) -> DrivenRun:
    dataset = await org.dataset(TASK | task, agent_id=agent["id"])
    return await org.open_run(agent["id"], dataset["task_ids"][0])


async def test_a_task_draws_alike_uploaded_again_run_again_and_read_from_its_log(
    house: House, org: Org
) -> None:
    agent = await org.agent()
    dataset = await org.dataset(TASK, agent_id=agent["id"])
    first, second = [await org.open_run(agent["id"], dataset["task_ids"][0]) for _ in range(2)]
    draws = await drawn(first)
    assert {0, 1, None} == set(draws)
    assert await drawn(second) == draws
    assert await drawn(await opened(org, agent)) == draws
    other = await house.another_org()
    assert await drawn(await opened(other, await other.agent())) == draws
    crashed = await opened(org, agent)
    seen = []
    for _ in range(CALLS):
        seen.append(await read(crashed))
        await read_anew(house, crashed)
    assert seen == draws


async def test_runs_at_the_same_time_do_not_draw_from_each_other(house: House, org: Org) -> None:
    agent = await org.agent()
    alone = await drawn(await opened(org, agent))
    runs = [await opened(org, agent) for _ in range(4)]
    assert await asyncio.gather(*(drawn(run) for run in runs)) == [alone] * 4


async def test_calls_of_one_run_at_the_same_time_draw_in_their_order(org: Org) -> None:
    agent = await org.agent()
    alone = await drawn(await opened(org, agent))
    crowded = await opened(org, agent)
    await asyncio.gather(*(read(crowded) for _ in range(CALLS)))
    assert [row["matched_rule_index"] for row in await crowded.trace()] == alone


async def test_tasks_that_differ_in_anything_draw_apart(org: Org) -> None:
    agent = await org.agent()
    changes: list[Row] = [{}, {"user": "Refund it."}, {"state": {}}, {"task_input": {"a": 1}}]
    draws = [await drawn(await opened(org, agent, **change)) for change in changes]
    assert len({tuple(map(str, of_task)) for of_task in draws}) == len(changes)
