"""Plans that a model writes for tools that lack one: tried, measured, shown; applied only by a person."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pipelines.core.models.model_question import Purpose
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.simulation import propose_plans
from pipelines.models.scripted import Scripted
from support.desk import ORDER_ID, STATE, House, Org, answered, refused, tool
from support.scripted_models import let_answer

pytestmark = pytest.mark.anyio

UNCLEAR = tool("run_close", "Runs it.", ORDER_ID, ["order_id"])
CLEAR = tool("get_order", "Get an order by its id.", ORDER_ID, ["order_id"])
CLOSE = [
    {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
    {"require": "order.status == 'pending'", "else": {"status": 409, "error": "not_pending"}},
    {"set": {"order.status": "'closed'"}},
    {"return": {"order_id": "order.id", "status": "order.status"}},
]
WRONG = [{"find": {"as": "order", "in": "order", "id": "args.order"}}, {"return": "ordr"}]


def writing(*plans: Any) -> Scripted:
    left = iter(plans)
    return Scripted(answer=lambda question: {"why": "so", "steps": next(left)}, purpose="author")


async def made(org: Org) -> tuple[Any, int]:
    agent = await org.agent(tools_schema=[UNCLEAR, CLEAR])
    dataset = await org.dataset({"user": "Close it.", "state": STATE}, agent_id=agent["id"])
    return agent, dataset["task_ids"][0]


async def proposed(org: Org, agent: Any, **body: Any) -> Any:
    job = answered(await org.client.post(f"/api/agents/{agent['id']}/plans/propose", json=body), 202)
    ended = answered(await org.client.get(f"/api/author-jobs/{job['id']}", params={"wait_s": 20}))
    assert ended["status"] == "done", ended
    return ended["answer"]


async def test_a_plan_is_proposed_for_what_is_a_guess_and_applied_by_nobody(house: House, org: Org) -> None:
    model = let_answer(house, writing(CLOSE), purpose=Purpose.AUTHOR)
    agent, task_id = await made(org)
    (item,) = (await proposed(org, agent, task_id=task_id))["items"]
    assert (item["tool"], item["plan"], item["rounds"], item["is_usable"]) == ("run_close", CLOSE, 1, True)
    assert item["tried"] == {"calls": 2, "refused": 1, "fidelity": None}
    assert any(line.startswith("+") and "closed" in line for line in item["difference"])
    assert len(model.asked) == 1
    after = answered(await org.client.get(f"/api/agents/{agent['id']}"))
    assert after["version"] == agent["version"]


async def test_each_reading_has_its_time_in_the_thread_that_reads(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reading and those of each try: made anew where the text is read, not on the loop."""
    made_by: list[str] = []

    def noted(most_s: float) -> Callable[[], bool]:
        made_by.append(threading.current_thread().name.split("_")[0])
        return has_time(most_s)

    monkeypatch.setattr(propose_plans, "has_time", noted)
    let_answer(house, writing(WRONG, CLOSE), purpose=Purpose.AUTHOR)
    agent, task_id = await made(org)
    (item,) = (await proposed(org, agent, task_id=task_id, behavior="Orders are closed once."))["items"]
    assert item["is_usable"]
    assert len(made_by) >= 2
    assert set(made_by) == {"plans"}


async def test_what_is_wrong_goes_back_to_the_model_for_at_most_five_rounds(house: House, org: Org) -> None:
    model = let_answer(house, writing(WRONG, CLOSE), purpose=Purpose.AUTHOR)
    agent, task_id = await made(org)
    (item,) = (await proposed(org, agent, task_id=task_id))["items"]
    assert (item["rounds"], item["is_usable"], item["plan"]) == (2, True, CLOSE)
    assert "ordr" in model.asked[1].messages[-1].content

    other = await org.agent(tools_schema=[UNCLEAR, CLEAR], name="Another")
    stubborn = let_answer(
        house, writing(*[[*WRONG, {"note": str(n), "fail": {}}] for n in range(9)]), purpose=Purpose.AUTHOR
    )
    (item,) = (await proposed(org, other, tools=["run_close"]))["items"]
    assert (item["rounds"], item["is_usable"], item["text"]) == (5, False, None)
    assert item["problems"]
    assert len(stubborn.asked) == 5


async def test_a_recording_measures_the_plan_and_tells_where_it_differs(house: House, org: Org) -> None:
    call = {
        "tool": "run_close",
        "args": {"order_id": "7001"},
        "status": "ok",
        "response": {"order_id": "7001", "status": "shut"},
        "updates": [
            {"op": "update", "entity_type": "order", "id": "7001", "set": {"status": "shut"}, "unset": []}
        ],
    }
    recording = {"state": STATE, "tasks": [{"task": "t-1", "calls": [call]}]}
    right = [step if "set" not in step else {"set": {"order.status": "'shut'"}} for step in CLOSE]
    model = let_answer(house, writing(CLOSE, right), purpose=Purpose.AUTHOR)
    agent, _ = await made(org)
    (item,) = (await proposed(org, agent, recording=recording, tools=["run_close"]))["items"]
    assert (item["rounds"], item["plan"]) == (2, right)
    assert item["tried"]["fidelity"]["fm_forced"] == item["tried"]["fidelity"]["cm_forced"] == 1.0
    assert item["fidelity_now"]["fm_forced"] == 0.0
    assert "shut" in model.asked[1].messages[-1].content


async def test_accepting_makes_a_version_whose_runs_have_the_plan(house: House, org: Org) -> None:
    agent, task_id = await made(org)
    path = f"/api/agents/{agent['id']}/plans/accept"
    after = answered(await org.client.post(path, json={"plans": {"run_close": CLOSE}}), 200)
    assert after["version"] == agent["version"] + 1
    run = await org.open_run(agent["id"], task_id)
    assert answered(await run.call("run_close", {"order_id": "7001"}), 200)["response"]["status"] == "closed"
    refused(await org.client.post(path, json={"plans": {"run_close": WRONG}}), 422, "invalid_request")
    refused(await org.client.post(path, json={"plans": {"gone": CLOSE}}), 422, "invalid_request")
    refused(await org.client.post(path, json={"plans": {}}), 422, "invalid_request")


async def test_what_cannot_be_asked_for_is_refused(house: House, org: Org) -> None:
    agent, _ = await made(org)
    path = f"/api/agents/{agent['id']}/plans/propose"
    refused(await org.client.post(path, json={}), 422, "model_not_configured")
    let_answer(house, writing(CLOSE), purpose=Purpose.AUTHOR)
    for body in ({"tools": ["gone"]}, {"recording": 3}, {"recording": {"tasks": [7]}}, {"x": 1}):
        refused(await org.client.post(path, json=body), 422, "invalid_request")
    refused(await org.client.post(path, json={"task_id": 999}), 404, "not_found")
    other = await house.another_org()
    refused(await other.client.post(path, json={}), 404, "not_found")
