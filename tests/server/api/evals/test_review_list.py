"""The list for people: runs whose verdict is theirs to give, and runs that point out something odd."""

import asyncio
import threading
from typing import Any

import pytest

from pipelines.engine.find import find_run
from pipelines.engine.judging import judge_run
from pipelines.engine.platform import JUDGES
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs.runs import NEEDS_REVIEW
from pipelines.storage.tasks.texts import add_parts, named, slices_of
from support.desk import House, Org, answered, every_item

pytestmark = pytest.mark.anyio
ORACLE = {"expected_outcome": "completion", "expected_state": {"order.4521.status": "refunded"}}


async def review_list(org: Org, **query: object) -> list[int]:
    return [run["id"] for run in await every_item(org.client, "/api/runs", needs_review="true", **query)]


async def test_what_nobody_has_decided_is_on_the_review_list(org: Org) -> None:
    undecided, decided, open_one = await org.run(), await org.run(**ORACLE), await org.run()
    for run in (undecided, decided):
        answered(await run.call("refund_order", {"order_id": "4521"}), 200)
        answered(await run.finish(final_response="I looked into it."))
    assert await review_list(org) == [undecided.id]
    rest = [run["id"] for run in await every_item(org.client, "/api/runs", needs_review="false")]
    assert sorted(rest) == [decided.id, open_one.id]


async def test_a_run_whose_judge_broke_is_listed_until_it_is_judged(house: House, org: Org) -> None:
    run = await org.run(**ORACLE)
    answered(await run.call("refund_order", {"order_id": "4521"}), 200)
    assert answered(await run.finish(final_response="Order 4521 is refunded."))["verdict"] == "PASS"
    seed = (await find_run(house.platform, org.id, run.id)).seed_text
    await give_seed(house, run.id, seed.replace('"order.4521.status":"refunded"', '"order":{"$regex":"("}'))
    judged = answered(await org.client.post(f"/api/runs/{run.id}/judge"))
    assert judged["verdict"] is None
    assert judged["judge_error"]
    assert judged["judgement"]["details"]  # what is wrong with the oracle, and where
    assert await review_list(org) == [run.id]
    await give_seed(house, run.id, seed)
    assert answered(await org.client.post(f"/api/runs/{run.id}/judge"))["judge_error"] is None
    assert await review_list(org) == []


async def test_a_run_that_takes_too_long_to_judge_has_an_error_and_no_verdict(
    org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, short = await org.run(**ORACLE), await org.run(**ORACLE)
    for each in (run, short):
        answered(await each.call("refund_order", {"order_id": "4521"}), 200)
    monkeypatch.setattr(judge_run, "time_limit", lambda _, limit=judge_run.time_limit: limit(0.0))
    ended = answered(await run.finish(final_response="Order 4521 is refunded."))
    assert (ended["status"], ended["verdict"], ended["failure_mode"]) == ("completed", None, None)
    assert "was not judged" in ended["judge_error"]
    assert ended["judgement"]["step"] == "limits"
    assert await review_list(org) == [run.id]
    monkeypatch.undo()
    assert answered(await short.finish(final_response="Order 4521 is refunded."))["verdict"] == "PASS"
    assert answered(await org.client.post(f"/api/runs/{run.id}/judge"))["verdict"] == "PASS"


async def test_others_are_answered_while_a_long_run_is_judged(org: Org) -> None:
    """Judgements have threads of their own: as many as an org may have keep nobody waiting."""
    runs = [await org.run() for _ in range(JUDGES)]
    judging = threading.Barrier(JUDGES + 1, timeout=30)
    read = threading.Event()

    def held_up(*given: Any) -> Any:
        judging.wait()
        assert read.wait(30)
        return actual(*given)

    actual = judge_run._judge_gathered
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge_run, "_judge_gathered", held_up)
        ends = [asyncio.ensure_future(run.finish(final_response="I looked into it.")) for run in runs]
        await asyncio.to_thread(judging.wait)
        listed = await every_item(org.client, "/api/runs", needs_review="false")
        read.set()
        assert [answered(reply)["status"] for reply in await asyncio.gather(*ends)] == ["completed"] * JUDGES
    assert len(listed) == JUDGES


async def give_seed(house: House, run_id: int, seed: str) -> None:
    def change(connection: Connection) -> None:
        text = named(seed.encode())
        (parts,) = slices_of([text])
        add_parts(connection, parts, now="")
        connection.execute("UPDATE runs SET seed_hash = ? WHERE id = ?", (text.hash, run_id))

    await house.platform.database.write(change)


async def test_an_actor_that_nobody_declared_is_answered_and_pointed_out(org: Org) -> None:
    team = {"sub_agents": [{"actor_id": "supervisor"}, {"actor_id": "refunds", "tools": ["refund_order"]}]}
    run = await org.run(await org.agent(config=team | {"topology": {"entry": "supervisor"}}))
    for actor in ("supervisor", "supervisor/refunds", "supervisor/billing"):
        arguments = {"order_id": "4521"}
        answered(await run.call("get_order", arguments, x_pipelines_actor_id=actor), 200)
    handoff = {"from_actor": "supervisor", "to_actor": "refunds"}
    answered(await run.event("handoff", handoff, x_pipelines_actor_id="supervisor"))
    ended = answered(await run.finish(final_response="Done."))
    assert ended["soft_warnings"] == [
        "actor `supervisor/refunds` called `get_order`, which is not among its declared tools (step 2)",
        "actor `supervisor/billing` is not declared in config.sub_agents (step 3)",
    ]


async def test_the_review_list_is_found_without_looking_at_every_run(house: House) -> None:
    def plan(connection: Connection) -> str:
        question = f"SELECT * FROM runs WHERE {NEEDS_REVIEW} AND org_id = 1 ORDER BY id DESC LIMIT 51"
        return str([tuple(row) for row in connection.execute(f"EXPLAIN QUERY PLAN {question}").fetchall()])

    assert "runs_to_review" in await house.platform.database.read(plan)
