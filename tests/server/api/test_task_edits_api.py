"""Tasks and datasets are changed in place: oracles are tried before they are saved, tasks are edited and
removed, datasets renamed and deleted. Runs keep what they were given."""

from typing import Any

import pytest

from support.desk import DrivenRun, Org, answered, refused

pytestmark = pytest.mark.anyio
Row = dict[str, Any]
WRONG = {"expected_state": {"order.4521.status": "cancelled"}}
RIGHT = {"expected_state": {"order.4521.status": "refunded"}}
ROWS = [{"user": "Refund order 4521.", "id": "one"}, {"user": "Cancel order 4521.", "id": "two"}]


async def refunded(org: Org, **task: Any) -> DrivenRun:
    run = await org.run(**task)
    answered(await run.call("refund_order", {"order_id": "4521"}), 200)
    answered(await run.finish(final_response="Order 4521 is refunded."))
    return run


def problems_in(response: Any) -> list[Row]:
    found: list[Row] = refused(response, 422, "invalid_request")["details"]
    return found


async def verdict_of(org: Org, run_id: int) -> str:
    return str(answered(await org.client.get(f"/api/runs/{run_id}"))["verdict"])


async def dataset(org: Org) -> Row:
    body = {"name": "orders", "rows": ROWS}
    made: Row = answered(await org.client.post("/api/datasets", json=body), 201)
    return made


async def tasks_of(org: Org, dataset_id: int) -> list[Row]:
    listed: list[Row] = answered(await org.client.get(f"/api/datasets/{dataset_id}/tasks"))["items"]
    return listed


async def test_a_preview_says_which_runs_flip_and_stores_nothing(org: Org) -> None:
    run = await refunded(org, **WRONG)
    task_id = run.opened["task_id"]
    told = answered(await org.client.post(f"/api/tasks/{task_id}/oracle/preview", json=RIGHT))
    assert (told["judged"], told["changed"], told["oracle_version"]) == (1, 1, 1)
    (change,) = told["changes"]
    assert (change["run_id"], change["from"]["verdict"], change["to"]["verdict"]) == (run.id, "FAIL", "PASS")
    assert told["in_words"][0]["axis"] == "expected_state"
    assert await verdict_of(org, run.id) == "FAIL"
    task = answered(await org.client.get(f"/api/tasks/{task_id}"))
    assert task["odyssey_seed"]["expected_state"] == WRONG["expected_state"]


async def test_a_preview_of_the_present_oracle_flips_nothing(org: Org) -> None:
    run = await refunded(org, **WRONG)
    path = f"/api/tasks/{run.opened['task_id']}/oracle/preview"
    told = answered(await org.client.post(path, json=WRONG))
    assert (told["judged"], told["changed"], told["changes"]) == (1, 0, [])


async def test_a_preview_reports_every_problem_of_the_oracle(org: Org) -> None:
    run = await refunded(org, **WRONG)
    body = {"expected_state": {"order": 5}, "expected_calls": ["no_such_tool"]}
    path = f"/api/tasks/{run.opened['task_id']}/oracle/preview"
    problems = problems_in(await org.client.post(path, json=body))
    assert {problem["path"].split("/")[1] for problem in problems} >= {"expected_state"}


async def test_what_the_preview_says_is_what_judging_the_task_anew_does(org: Org) -> None:
    run = await refunded(org, **WRONG)
    task_id = run.opened["task_id"]
    answered(await org.client.put(f"/api/tasks/{task_id}/oracle", json=RIGHT))
    path = f"/api/tasks/{task_id}/judge"
    done = answered(await org.client.post(path, params={"oracle": "present"}))
    assert (done["judged"], done["changed"], done["next_cursor"]) == (1, 1, None)
    assert await verdict_of(org, run.id) == "PASS"
    earlier = answered(await org.client.get(f"/api/runs/{run.id}/verdicts"))["earlier"]
    assert earlier[0]["verdict"] == "FAIL"
    assert earlier[0]["judgement"]["grader"]["version"]


async def test_an_edited_task_is_another_task_with_the_same_own_id(org: Org) -> None:
    made = await dataset(org)
    first, second = made["task_ids"]
    row = {"user": "Refund order 4521 now.", "id": "one"}
    done = answered(await org.client.put(f"/api/tasks/{first}", json={"row": row}))
    (new,) = done["task_ids"]
    assert done["task_count"] == 2
    listed = await tasks_of(org, made["id"])
    assert [(task["id"], task["task_key"]) for task in listed] == [(second, "two"), (new, "one")]
    old = answered(await org.client.get(f"/api/tasks/{first}"))
    assert old["removed_at"] is not None
    assert old["odyssey_seed"]["user_instruction"] == "Refund order 4521."


async def test_a_task_that_cannot_be_read_replaces_nothing(org: Org) -> None:
    made = await dataset(org)
    path = f"/api/tasks/{made['task_ids'][0]}"
    assert problems_in(await org.client.put(path, json={"row": {"user": "", "state": 5}}))
    assert problems_in(await org.client.put(path, json={"rows": []}))
    taken = problems_in(await org.client.put(path, json={"row": {"user": "Again.", "id": "two"}}))
    assert "already has the id" in taken[0]["message"]
    assert len(await tasks_of(org, made["id"])) == 2
    assert answered(await org.client.get(path))["removed_at"] is None


async def test_a_removed_task_is_in_no_list_no_run_and_no_export(org: Org) -> None:
    made = await dataset(org)
    first, second = made["task_ids"]
    answered(await org.client.delete(f"/api/tasks/{first}"), 204)
    assert [task["id"] for task in await tasks_of(org, made["id"])] == [second]
    exported = (await org.client.get(f"/api/datasets/{made['id']}/export", params={"format": "json"})).json()
    assert [row["id"] for row in exported["rows"]] == ["two"]
    agent = await org.agent()
    body = {"agent_id": agent["id"], "task_ids": [first]}
    assert (await org.client.post("/api/runs", json=body)).status_code == 404
    for change in (
        org.client.put(f"/api/tasks/{first}/oracle", json=RIGHT),
        org.client.put(f"/api/tasks/{first}", json={"row": ROWS[0]}),
        org.client.delete(f"/api/tasks/{first}"),
    ):
        assert (await change).status_code == 409


async def test_the_content_of_a_dataset_follows_what_is_removed_from_it(org: Org) -> None:
    made = await dataset(org)
    answered(await org.client.delete(f"/api/tasks/{made['task_ids'][0]}"), 204)
    left = answered(await org.client.get(f"/api/datasets/{made['id']}"))
    body = {"name": "orders", "rows": ROWS[1:], "reuse": True}
    again = answered(await org.client.post("/api/datasets", json=body))
    assert (again["id"], again["content_hash"]) == (made["id"], left["content_hash"])


async def test_a_run_of_a_removed_task_can_still_be_read_and_judged(org: Org) -> None:
    run = await refunded(org, **RIGHT)
    answered(await org.client.delete(f"/api/tasks/{run.opened['task_id']}"), 204)
    assert await verdict_of(org, run.id) == "PASS"
    judged = answered(await org.client.post(f"/api/runs/{run.id}/judge"))
    assert judged["verdict"] == "PASS"


async def test_a_dataset_is_renamed(org: Org) -> None:
    made = await dataset(org)
    path = f"/api/datasets/{made['id']}/name"
    assert answered(await org.client.put(path, json={"name": "refunds"}))["name"] == "refunds"
    assert problems_in(await org.client.put(path, json={"name": ""}))
    assert problems_in(await org.client.put(path, json={"label": "refunds"}))
    assert answered(await org.client.get(f"/api/datasets/{made['id']}"))["name"] == "refunds"


async def test_a_deleted_dataset_leaves_its_runs(org: Org) -> None:
    run = await refunded(org, **RIGHT)
    dataset_id = run.opened["dataset_id"]
    answered(await org.client.delete(f"/api/datasets/{dataset_id}"), 204)
    assert (await org.client.get(f"/api/datasets/{dataset_id}")).status_code == 404
    listed = answered(await org.client.get("/api/datasets"))["items"]
    assert dataset_id not in [each["id"] for each in listed]
    body = {"agent_id": run.opened["agent_id"], "dataset_id": dataset_id}
    assert (await org.client.post("/api/runs", json=body)).status_code == 404
    assert await verdict_of(org, run.id) == "PASS"
