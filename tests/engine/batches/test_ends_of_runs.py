"""The end of a run: a verdict about all that ever happened in it, and stored even if that takes patience."""

import asyncio
import sqlite3
import sys
import time
import traceback
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.engine.find import find_run
from pipelines.engine.judging.judge_run import judge_and_end
from pipelines.storage.accounts.keys import hash_of
from pipelines.storage.database.trace_rows import TraceRow
from pipelines.storage.runs.runs import Ending
from pipelines.wire.names import RunStatus
from support.desk import House, Org, answered, open_house, refused
from support.played_agents import Dispatch, does_nothing, played
from support.server_process import PATIENCE_S, REFUND_TASK, eventually
from support.server_process import House as ServerHouse

REFUNDED = Ending(status=RunStatus.COMPLETED, final_response="I have refunded order 4521.")


@pytest.mark.anyio
async def test_a_call_that_comes_in_while_the_run_is_judged_is_judged_too(house: House, org: Org):
    """Another node answers it. The clock is asked between reading the log and storing the verdict."""
    model, run = [await org.run(**_columns()) for _ in range(2)]
    await model.call("refund_order", {"order_id": "4521"})

    def another_node_answers() -> None:
        columns = ", ".join(TraceRow._fields[2:])
        with closing(sqlite3.connect(house.settings.database_path)) as aside, aside:
            aside.execute(
                f"INSERT INTO trace_rows (run_id, sequence, {columns})"
                f" SELECT ?, 1, {columns} FROM trace_rows WHERE run_id = ?",
                (run.id, model.id),
            )

    asked: list[str] = []

    def clock() -> str:
        if not asked:
            another_node_answers()
        asked.append("once")
        return house.platform.now()

    stored = await find_run(house.platform, org.id, run.id)
    platform = replace(house.platform, now=clock)
    assert await judge_and_end(platform, stored, REFUNDED, ("I have refunded order 4521.",))
    ended = await find_run(house.platform, org.id, run.id)
    assert (ended.verdict, ended.failure_mode) == ("PASS", None)
    assert len(asked) == 2


@pytest.mark.anyio
async def test_a_run_that_has_ended_is_not_ended_again(house: House, org: Org):
    run = await org.run(**_columns())
    stored = await find_run(house.platform, org.id, run.id)
    assert await judge_and_end(house.platform, stored, REFUNDED, ("Done.",))
    later = replace(REFUNDED, final_response="No, wait.")
    assert not await judge_and_end(house.platform, stored, later, ("No, wait.",))
    assert (await find_run(house.platform, org.id, run.id)).final_response == REFUNDED.final_response


@pytest.mark.anyio
async def test_a_run_that_is_being_loaded_when_it_ends_is_loaded_as_ended(house: House, org: Org):
    """Its row was read while it was still running; until the load is done, the run ends and is let go."""
    run = await org.run()
    live_runs = house.platform.live_runs
    assert await live_runs.load(hash_of(run.token))  # what it shares with others is made
    live_runs.forget({run.id})
    with live_runs._shared._lock:  # the load stops behind the reading of the row
        loading = asyncio.create_task(live_runs.load(hash_of(run.token)))
        while not is_at_work_in("is_ready"):  # noqa: ASYNC110 (a thread's place cannot be awaited)
            await asyncio.sleep(0.001)
        answered(await org.client.post(f"/api/runs/{run.id}/cancel"), 200)
        live_runs.let_go(run.id)
    assert await loading
    refused(await run.call("get_order", {"order_id": "4521"}), 409, "run_not_active")


def is_at_work_in(function: str) -> bool:
    """Whether a thread is inside of this function of ours."""
    return any(
        frame.f_code.co_name == function
        for innermost in sys._current_frames().values()
        for frame, _ in traceback.walk_stack(innermost)
    )


def _columns() -> dict[str, object]:
    return {name: value for name, value in REFUND_TASK.items() if name != "state"}


@pytest.mark.slow
def test_an_end_that_the_database_cannot_take_now_is_stored_later(own_house: ServerHouse):
    """Locked for longer than SQLite waits: the agent's work is not thrown away for it."""
    api = own_house.open()

    def works_then_holds(dispatch: Dispatch) -> None:
        dispatch.call("refund_order", {"order_id": "4521"})
        worked.append(dispatch.run_id)
        dispatch.until_let_go()
        dispatch.answer("I have refunded order 4521.")

    worked: list[int] = []
    with played(works_then_holds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 4, agent={"max_concurrency": 2})
        eventually(lambda: len(worked) == 2, "two agents are about to answer")
        with closing(sqlite3.connect(own_house.directory / "odyssey.db", isolation_level=None)) as aside:
            aside.execute("BEGIN IMMEDIATE")
            agent.may_answer.set()
            unlocked_at = time.monotonic() + 12  # SQLite waits ten seconds
            eventually(lambda: time.monotonic() > unlocked_at, "the writer has given up once")
            aside.execute("ROLLBACK")
        batch = api.ended(batch_id)
        assert set(agent.runs_seen.values()) == {1}
    assert batch["counts"]["by_verdict"] == {"PASS": 4}


@pytest.mark.anyio
async def test_servers_can_come_and_go_within_one_process(tmp_path: Path):
    """The durable engine is one per process: it must be gone when its server is."""
    with played(does_nothing) as agent:
        for _ in range(2):
            async with open_house(
                tmp_path / "house", public_url="http://testserver", allow_private_endpoints="yes"
            ) as house:
                agent_id = (await house.owner.agent(endpoint_url=agent.url, max_concurrency=2))["id"]
                dataset = await house.owner.dataset(REFUND_TASK, agent_id=agent_id)
                asked = {"agent_id": agent_id, "dataset_id": dataset["id"]}
                batch_id = answered(await house.owner.client.post("/api/runs", json=asked), 202)["batch_id"]
                async with asyncio.timeout(PATIENCE_S):
                    await ended(house, batch_id)
    assert len(agent.dispatches) == 2


async def ended(house: House, batch_id: int) -> None:
    path = f"/api/batches/{batch_id}"
    while answered(await house.owner.client.get(path))["status"] == "running":  # noqa: ASYNC110 (over HTTP)
        await asyncio.sleep(0.02)
