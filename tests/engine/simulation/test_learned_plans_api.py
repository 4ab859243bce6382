"""Plans that are learnt from a recording over the API: a job, nothing applied, accepted by a person."""

from typing import Any

import pytest

from support.backends.clinic import Clinic
from support.backends.recorder import record
from support.desk import Org, answered, refused

pytestmark = pytest.mark.anyio


def body_of(tasks: int = 6) -> dict[str, Any]:
    recording = record(Clinic, tasks=tasks, calls=12)
    return {
        "state": recording.state,
        "tasks": [
            {
                "task": task.name,
                "state": task.state,
                "calls": [
                    {
                        "tool": call.tool,
                        "args": call.arguments,
                        "status": "error" if call.is_error else "ok",
                        "response": call.response,
                        "updates": [update.as_json() for update in call.updates],
                    }
                    for call in task.calls
                ],
            }
            for task in recording.tasks
        ],
    }


async def ended(org: Org, job: Any) -> Any:
    while job["status"] == "running":
        job = answered(await org.client.get(f"/api/author-jobs/{job['id']}", params={"wait_s": 20}))
    assert job["status"] == "done", job
    return job


async def test_plans_are_learnt_shown_and_accepted(org: Org) -> None:
    agent = await org.agent(tools_schema=Clinic.tools)
    path = f"/api/agents/{agent['id']}/plans"
    job = answered(await org.client.post(f"{path}/learn", json={"recording": body_of(), "budget_s": 30}), 202)
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
    recording = {"tasks": [{"calls": [{"tool": 1}]}, {"calls": 2}]}
    reply = await org.client.post(
        f"/api/agents/{agent['id']}/plans/learn",
        json={"recording": recording, "budget_s": 0, "refuse_contradictions": 1, "speed": 2},
    )
    problems = refused(reply, 422, "invalid_request")["details"]
    assert {problem["path"] for problem in problems} == {
        "/speed",
        "/budget_s",
        "/refuse_contradictions",
        "line 1",
        "line 2",
    }
