"""Plans that are learnt from a recording over the API: a job, nothing applied, accepted by a person."""

from typing import Any

import pytest

from support.backends.clinic import Clinic
from support.backends.recorder import record_lines
from support.desk import Org, answered, refused

pytestmark = pytest.mark.anyio


def recording(tasks: int = 6) -> dict[str, Any]:
    return {"state": {}, "tasks": record_lines(Clinic, tasks=tasks, calls=12)}


async def ended(org: Org, job: Any) -> Any:
    while job["status"] == "running":
        job = answered(await org.client.get(f"/api/author-jobs/{job['id']}", params={"wait_s": 20}))
    assert job["status"] == "done", job
    return job


async def test_plans_are_learnt_shown_and_accepted(org: Org) -> None:
    agent = await org.agent(tools_schema=Clinic.tools)
    path = f"/api/agents/{agent['id']}/plans"
    job = answered(
        await org.client.post(f"{path}/learn", json={"recording": recording(), "budget_s": 30}), 202
    )
    job = await ended(org, job)
    items = {item["tool"]: item for item in job["answer"]["items"]}
    assert (job["done"], job["total"]) == (len(items), len(items))
    searched = [item for item in items.values() if item["kept"] == "searched"]
    assert searched
    for item in searched:
        assert item["difference"]
        assert {candidate["origin"] for candidate in item["candidates"]} >= {"read", "searched"}
    assert answered(await org.client.get(f"/api/agents/{agent['id']}"))["version"] == agent["version"]
    plans = {item["tool"]: item["plan"] for item in searched}
    accepted = answered(await org.client.post(f"{path}/accept", json={"plans": plans}))
    assert accepted["version"] == agent["version"] + 1


async def test_every_problem_of_the_request_is_named(org: Org) -> None:
    agent = await org.agent(tools_schema=Clinic.tools)
    unread = {"tasks": [{"calls": [{"tool": 1}]}, {"calls": 2}]}
    reply = await org.client.post(
        f"/api/agents/{agent['id']}/plans/learn",
        json={"recording": unread, "budget_s": 0, "refuse_contradictions": 1, "speed": 2},
    )
    problems = refused(reply, 422, "invalid_request")["details"]
    assert {problem["path"] for problem in problems} == {
        "/speed",
        "/budget_s",
        "/refuse_contradictions",
        "line 1",
        "line 2",
    }
