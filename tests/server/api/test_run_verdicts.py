"""A person's verdict on a run: it stands beside the machine's, decides the run's item of the queue, and both
have a history."""

from typing import Any

import pytest

from pipelines.wire.names import Role
from support.desk import House, Org, answered, every_item, refused
from support.stored_matrix import RIGHT, ended_matrix, scenario

pytestmark = pytest.mark.anyio
Row = dict[str, Any]
QUEUE = "/api/v1/eval/reviews"
ORACLE = {"expected_outcome": "completion", "expected_state": {"order.4521.status": "refunded"}}


async def ended(org: Org, said: str = "I looked into it.", **task: Any) -> int:
    run = await org.run(**task)
    answered(await run.finish(final_response=said))
    return run.id


async def decide(org: Org, run_id: int, **body: Any) -> Row:
    done: Row = answered(await org.client.post(f"/api/runs/{run_id}/verdict", json=body), 200)
    return done


async def run_of(org: Org, run_id: int) -> Row:
    found: Row = answered(await org.client.get(f"/api/runs/{run_id}"))
    return found


async def test_a_persons_verdict_stands_beside_the_machines(org: Org) -> None:
    run_id = await ended(org)
    said = {"verdict": "PASS", "note": "The order needs no refund.", "labels": ["oracle"], "reviewer": "ann"}
    done = await decide(org, run_id, **said)
    assert (done["run_id"], done["verdict"], done["human_verdict"]) == (run_id, "PENDING", "PASS")
    run = await run_of(org, run_id)
    assert (run["verdict"], run["human_verdict"]) == ("PENDING", "PASS")
    (given,) = run["review"]["verdicts"]
    assert {key: given[key] for key in said} == said
    assert given["given_at"]


async def test_it_decides_the_item_of_the_queue(org: Org) -> None:
    run_id = await ended(org)
    (waiting,) = await every_item(org.client, QUEUE)
    done = await decide(org, run_id, verdict="FAIL", note="It did nothing.")
    assert done["review"]["id"] == waiting["id"]
    assert done["review"]["status"] == "decided"
    assert await every_item(org.client, QUEUE) == []
    item = answered(await org.client.get(f"{QUEUE}/{waiting['id']}"))
    assert [event["event"] for event in item["history"]] == ["opened", "verdict", "decided"]
    assert item["outcome"] == {"human_verdict": "FAIL", "run_id": run_id}


async def test_a_run_that_the_machine_decided_may_be_decided_otherwise(org: Org) -> None:
    run_id = await ended(org, "I could not do it.", **ORACLE)
    assert (await run_of(org, run_id))["verdict"] == "FAIL"
    done = await decide(org, run_id, verdict="PASS", reviewer="ann")
    assert (done["verdict"], done["human_verdict"]) == ("FAIL", "PASS")
    assert done["review"]["reasons"] == ["ann gave a verdict without being asked"]


async def test_a_decided_run_is_decided_anew_only_on_purpose_and_what_was_said_stays(org: Org) -> None:
    run_id = await ended(org)
    await decide(org, run_id, verdict="PASS", reviewer="ann", note="fine")
    path = f"/api/runs/{run_id}/verdict"
    error = refused(await org.client.post(path, json={"verdict": "FAIL", "reviewer": "bob"}), 409, "conflict")
    assert "PASS" in error["message"]
    assert "again" in error["message"]
    assert (await run_of(org, run_id))["human_verdict"] == "PASS"
    done = await decide(org, run_id, verdict="FAIL", reviewer="bob", note="not fine", again=True)
    assert done["human_verdict"] == "FAIL"
    history = answered(await org.client.get(f"{QUEUE}/rev_run_{run_id}"))["history"]
    said = [
        (event["reviewer"], event["detail"]["verdict"]) for event in history if event["event"] == "verdict"
    ]
    assert said == [("ann", "PASS"), ("bob", "FAIL")]
    assert "reopened" in [event["event"] for event in history]


async def test_where_several_are_wanted_one_voice_decides_nothing(org: Org) -> None:
    answered(await org.client.put(f"{QUEUE}/settings", json={"reviewers_wanted": 2}))
    run_id = await ended(org)
    done = await decide(org, run_id, verdict="PASS", reviewer="ann")
    assert (done["human_verdict"], done["review"]["reviewers_missing"]) == (None, 1)
    done = await decide(org, run_id, verdict="PASS", reviewer="bob")
    assert done["human_verdict"] == "PASS"


async def test_who_else_looks_at_it_is_not_overtaken(org: Org) -> None:
    run_id = await ended(org)
    answered(await org.client.post(f"{QUEUE}/rev_run_{run_id}/claim", json={"reviewer": "ann"}))
    path = f"/api/runs/{run_id}/verdict"
    reply = await org.client.post(path, json={"verdict": "PASS", "reviewer": "bob"})
    refused(reply, 409, "review_claimed")


async def test_a_run_of_a_matrix_has_its_item_too(house: House, org: Org) -> None:
    matrix = await ended_matrix(house, org, await scenario(house, org), {None: [RIGHT]})
    (run_id,) = matrix.run_ids[None]
    done = await decide(org, run_id, verdict="FAIL")
    assert (done["review"]["kind"], done["human_verdict"]) == ("audit", "FAIL")


BAD = {
    "no verdict": ({}, "verdict"),
    "a verdict that is none": ({"verdict": "PENDING"}, "/verdict"),
    "one about a cell": ({"verdict": "acceptable_shift"}, "/verdict"),
    "an unknown field": ({"verdict": "PASS", "why": "so"}, "/why"),
    "again as a word": ({"verdict": "PASS", "again": "yes"}, "/again"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_verdict_is_read_strictly(org: Org, name: str) -> None:
    body, place = BAD[name]
    run_id = await ended(org)
    reply = await org.client.post(f"/api/runs/{run_id}/verdict", json=body)
    error = refused(reply, 422, "invalid_request")
    assert any(place in f"{problem['path']} {problem['message']}" for problem in error["details"])
    assert (await run_of(org, run_id))["review"] is None


async def test_only_what_has_ended_and_is_ours_can_be_decided(house: House, org: Org) -> None:
    run = await org.run()
    path = f"/api/runs/{run.id}/verdict"
    refused(await org.client.post(path, json={"verdict": "PASS"}), 409, "conflict")
    refused(await org.client.post("/api/runs/999999/verdict", json={"verdict": "PASS"}), 404, "not_found")
    viewer = await org.key_of(Role.VIEWER)
    refused(await viewer.client.post(path, json={"verdict": "PASS"}), 403, "forbidden")
