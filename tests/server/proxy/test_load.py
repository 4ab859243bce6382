"""Many runs, many calls at once: order within a run, failures on just their calls, twice the same."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.tools.failure_rules import chance_of, draw
from pipelines.storage.accounts.keys import hash_of
from support.desk import STATE, DrivenRun, House, Row, answered, open_house, outage

pytestmark = pytest.mark.anyio
RUNS = 200
CALLS = 20
LUCK = 0.2
RULES = [
    outage("add_note", n=3, duration=2, code=503),
    {
        "trigger": "after_state_change",
        "tool": "get_order",
        "condition": "warehouse_outage",
        "duration": 2,
        "error": {"code": 200, "response": {"stale": True}},
    },
    {
        "trigger": "random",
        "tool": "refund_order",
        "probability": LUCK,
        "error": {"code": 500, "message": "bad luck"},
    },
]
#: What each run's agent does, all of it at once.
PLAN: list[tuple[str, Row]] = [
    *[("add_note", {"order_id": "7001", "text": f"note {number}"}) for number in range(8)],
    ("raise_flag", {"flag": "warehouse_outage"}),
    *[("get_order", {"order_id": "4521"}) for _ in range(4)],
    *[("refund_order", {"order_id": "4521"}) for _ in range(6)],
    ("get_order", {"order_id": "4521"}),
]


def what_happened(rows: list[Row]) -> list[Row]:
    return [row | {"latency_ms": None, "occurred_at": None} for row in rows]


async def drive(house: House, runs: list[DrivenRun]) -> list[list[Any]]:
    """Every call of every run under way at the same time."""
    calls = [[run.call(tool, arguments) for tool, arguments in PLAN] for run in runs]
    flat = await asyncio.gather(*(call for of_run in calls for call in of_run))
    return [list(flat[start : start + CALLS]) for start in range(0, len(flat), CALLS)]


async def one_pass(house: House, agent_id: int, task_id: int, count: int) -> list[list[Row]]:
    runs = [await house.owner.open_run(agent_id, task_id) for _ in range(count)]
    replies = await drive(house, runs)
    traces = []
    for run, of_run in zip(runs, replies, strict=True):
        rows = await run.trace(limit=500)
        check_order(rows, of_run)
        live = house.platform.live_runs.get(hash_of(run.token))
        assert live is not None
        check_failures(rows, chance_of(live.seed, 0))
        await check_ledger(run, rows)
        traces.append(what_happened(rows))
    return traces


def check_order(rows: list[Row], replies: list[Any]) -> None:
    assert [row["sequence"] for row in rows] == list(range(1, CALLS + 1))
    assert [(row["tool_name"], row["arguments"]) for row in rows] == PLAN
    for row, reply in zip(rows, replies, strict=True):
        body = reply.json()
        assert (row["response"], row["source"], row["http_status"], row["matched_rule_index"]) == (
            body["response"],
            body["source"],
            reply.status_code,
            body["matched_rule_index"],
        )


def check_failures(rows: list[Row], chance: str) -> None:
    by_tool: dict[str, list[int | None]] = {}
    for row in rows:
        by_tool.setdefault(row["tool_name"], []).append(row["matched_rule_index"])
    assert by_tool["add_note"] == [None, None, 0, 0, None, None, None, None]
    assert by_tool["get_order"] == [1, 1, None, None, None]
    assert by_tool["raise_flag"] == [None]
    assert by_tool["refund_order"] == [
        2 if draw(chance, 2, number) < LUCK else None for number in range(1, 7)
    ]
    assert None in by_tool["refund_order"]


async def check_ledger(run: DrivenRun, rows: list[Row]) -> None:
    notes = [row["arguments"]["text"] for row in rows if row["tool_name"] == "add_note"]
    ledger = await run.ledger()
    assert ledger["state"]["order"]["7001"]["notes"] == notes[:2] + notes[4:]
    assert ledger["state"]["order"]["4521"] == STATE["order"]["4521"] | {"status": "refunded"}
    assert ledger["flags"] == ["warehouse_outage"]


@pytest.mark.slow
async def test_two_hundred_runs_of_twenty_parallel_calls_go_alike_twice(tmp_path: Path) -> None:
    async with open_house(tmp_path, synchronous="normal") as house:
        agent = await house.owner.agent()
        dataset = await house.owner.dataset({"user": "u", "state": STATE, "failure_rules": RULES})
        first = await one_pass(house, agent["id"], dataset["task_ids"][0], RUNS)
        assert all(trace == first[0] for trace in first)
    async with open_house(tmp_path, synchronous="normal") as house:
        again = await one_pass(house, agent["id"], dataset["task_ids"][0], RUNS)
    assert again == first


async def test_the_same_task_uploaded_again_goes_alike(house: House) -> None:
    agent = await house.owner.agent()
    row = {"user": "u", "state": STATE, "failure_rules": RULES}
    traces = []
    for _ in range(2):
        dataset = await house.owner.dataset(row)
        # Times come from the task: the same time makes them the same task.
        task_id = dataset["task_ids"][0]
        run = await house.owner.open_run(agent["id"], task_id, now="2026-05-01T12:00:00Z")
        for tool, arguments in PLAN:
            await run.call(tool, arguments)
        traces.append(what_happened(await run.trace()))
    assert traces[0] == traces[1]


async def test_calls_of_one_run_in_another_order_move_no_other_rule(house: House) -> None:
    """A rule counts its own calls: how those of other tools fall between them changes nothing."""
    agent = await house.owner.agent()
    dataset = await house.owner.dataset({"user": "u", "state": STATE, "failure_rules": RULES})
    seen: set[tuple[int | None, ...]] = set()
    for order in (PLAN, PLAN[::-1], sorted(PLAN, key=str)):
        run = await house.owner.open_run(agent["id"], dataset["task_ids"][0])
        for tool, arguments in order:
            await run.call(tool, arguments)
        rows = [row for row in await run.trace() if row["tool_name"] == "refund_order"]
        seen.add(tuple(row["matched_rule_index"] for row in rows))
    assert len(seen) == 1


async def test_management_goes_on_beside_the_calls(house: House) -> None:
    owner = house.owner
    agent = await owner.agent()
    dataset = await owner.dataset({"user": "u", "state": STATE, "failure_rules": RULES})
    runs = [await owner.open_run(agent["id"], dataset["task_ids"][0]) for _ in range(10)]
    reads = [owner.client.get("/api/runs", params={"limit": 5}) for _ in range(50)]
    writes = [owner.client.put(f"/api/agents/{agent['id']}", json={"description": f"{n}"}) for n in range(20)]
    others = asyncio.gather(*reads, *writes)
    await drive(house, runs)
    assert {reply.status_code for reply in await others} == {200}
    assert answered(await owner.client.get(f"/api/agents/{agent['id']}"))["version"] == 21
