"""Oracles are corrected as new versions of a task, stored runs judged by them, and nothing is forgotten."""

import asyncio
import csv
import io
from typing import Any

import pytest

from pipelines.core.calls.run_moment import seed_name
from pipelines.engine.find import find_run
from pipelines.wire.names import Role
from support.desk import STATE, TASK, DrivenRun, House, Org, answered, refused
from support.stored_matrix import RIGHT, ended_matrix, scenario

pytestmark = pytest.mark.anyio
Row = dict[str, Any]
WRONG = {"expected_state": {"order.4521.status": "cancelled"}}
RIGHT_STATE = {"order.4521.status": "refunded"}


async def refunded(org: Org, **task: Any) -> DrivenRun:
    run = await org.run(**task)
    answered(await run.call("refund_order", {"order_id": "4521"}), 200)
    answered(await run.finish(final_response="Order 4521 is refunded."))
    return run


async def run_of(org: Org, run: DrivenRun) -> Row:
    found: Row = answered(await org.client.get(f"/api/runs/{run.id}"))
    return found


async def correct(org: Org, task_id: int, status: int = 200, **body: Any) -> Row:
    done: Row = answered(await org.client.put(f"/api/tasks/{task_id}/oracle", json=body), status)
    return done


async def judge(org: Org, run: DrivenRun, oracle: str) -> Row:
    path = f"/api/runs/{run.id}/judge"
    judged: Row = answered(await org.client.post(path, params={"oracle": oracle}))
    return judged


async def test_a_stored_run_is_judged_by_the_corrected_oracle(org: Org) -> None:
    run = await refunded(org, **WRONG)
    before = await run_of(org, run)
    assert (before["verdict"], before["judgement"]["oracle"]) == ("FAIL", {"version": 1})
    task = await correct(org, before["task_id"], expected_state=RIGHT_STATE, note="it is refunded", by="ann")
    assert (task["oracle_version"], task["odyssey_seed"]["expected_state"]) == (2, RIGHT_STATE)
    assert task["odyssey_seed"]["initial_state"] == STATE
    after = await judge(org, run, "present")
    assert (after["verdict"], after["judgement"]["oracle"]) == ("PASS", {"version": 2})
    assert after["judgement"]["grader"] == before["judgement"]["grader"]
    assert len(await run.trace()) == 1  # nothing was called


async def test_an_old_run_keeps_its_oracle_and_is_judged_by_it_unless_told_otherwise(org: Org) -> None:
    run = await refunded(org, **WRONG)
    task_id = (await run_of(org, run))["task_id"]
    await correct(org, task_id, expected_state=RIGHT_STATE)
    again = answered(await org.client.post(f"/api/runs/{run.id}/judge"))
    assert (again["verdict"], again["judgement"]["oracle"]) == ("FAIL", {"version": 1})
    assert (await run_of(org, run))["odyssey_seed"]["expected_state"] == WRONG["expected_state"]


async def test_a_new_run_of_the_task_has_the_new_oracle(org: Org) -> None:
    old = await refunded(org, **WRONG)
    task_id = old.opened["task_id"]
    await correct(org, task_id, expected_state=RIGHT_STATE)
    new = await org.open_run(old.opened["agent_id"], task_id)
    answered(await new.call("refund_order", {"order_id": "4521"}), 200)
    ended = answered(await new.finish(final_response="Order 4521 is refunded."))
    assert (ended["verdict"], ended["judgement"]["oracle"]) == ("PASS", {"version": 2})


async def test_earlier_verdicts_are_kept(org: Org) -> None:
    run = await refunded(org, **WRONG)
    await correct(org, run.opened["task_id"], expected_state=RIGHT_STATE)
    await judge(org, run, "present")
    await judge(org, run, "present")  # the same again is no history
    told = answered(await org.client.get(f"/api/runs/{run.id}/verdicts"))
    assert told["present"]["verdict"] == "PASS"
    (earlier,) = told["earlier"]
    assert (earlier["verdict"], earlier["failure_mode"]) == ("FAIL", "wrong_action")
    assert earlier["judgement"]["oracle"] == {"version": 1}
    assert earlier["replaced_at"]
    assert told["review"] is None


async def test_the_draws_of_the_task_stay_the_same(house: House, org: Org) -> None:
    """Ids and random failures are drawn under the seed's name: another oracle must not be another world."""
    old = await refunded(org, **WRONG)
    task_id = old.opened["task_id"]
    await correct(org, task_id, expected_state=RIGHT_STATE)
    await correct(org, task_id, expected_calls=["refund_order"])
    new = await org.open_run(old.opened["agent_id"], task_id)
    names = set()
    for run_id in (old.id, new.id):
        stored = await find_run(house.platform, org.id, run_id)
        names.add(seed_name(stored.odyssey_seed(), stored.world_hash))
    assert len(names) == 1


async def test_fields_not_given_stay_and_null_takes_one_away(org: Org) -> None:
    task_id = (await org.run(**WRONG)).opened["task_id"]
    task = await correct(org, task_id, expected_calls=["refund_order"], expected_outcome="completion")
    assert task["odyssey_seed"]["expected_state"] == WRONG["expected_state"]
    assert task["odyssey_seed"]["expected_outcome"] == "completion"
    task = await correct(org, task_id, expected_state=None)
    assert "expected_state" not in task["odyssey_seed"]
    assert task["odyssey_seed"]["expected_calls"] == ["refund_order"]
    assert task["oracle_version"] == 3


async def test_a_correction_that_changes_nothing_is_no_version(org: Org) -> None:
    task_id = (await org.run(**WRONG)).opened["task_id"]
    assert (await correct(org, task_id, **WRONG))["oracle_version"] == 1


async def test_taken_back_it_is_the_very_same_seed_under_a_new_version(house: House, org: Org) -> None:
    old = await refunded(org, **WRONG)
    task_id = old.opened["task_id"]
    await correct(org, task_id, expected_state=RIGHT_STATE)
    task = await correct(org, task_id, **WRONG)
    assert task["oracle_version"] == 3
    new = await org.open_run(old.opened["agent_id"], task_id)
    first, second = [await find_run(house.platform, org.id, run_id) for run_id in (old.id, new.id)]
    assert first.seed_text == second.seed_text
    ended = answered(await new.finish())
    assert ended["judgement"]["oracle"] == {"version": 3}
    assert (await judge(org, old, "own"))["judgement"]["oracle"] == {"version": 1}


async def test_every_version_is_told_with_who_and_why(org: Org) -> None:
    task_id = (await org.run(**WRONG)).opened["task_id"]
    await correct(org, task_id, expected_state=RIGHT_STATE, note="was refunded", by="ann")
    told = answered(await org.client.get(f"/api/tasks/{task_id}/oracles"))["items"]
    assert [version["version"] for version in told] == [2, 1]
    assert (told[0]["note"], told[0]["by"]) == ("was refunded", "ann")
    assert told[0]["expected_state"] == RIGHT_STATE
    assert told[1]["expected_state"] == WRONG["expected_state"]
    (only,) = answered(await org.client.get(f"/api/tasks/{(await org.run()).opened['task_id']}/oracles"))[
        "items"
    ]
    assert (only["version"], only["expected_state"]) == (1, None)


async def test_a_dataset_is_exported_with_its_present_oracles(org: Org) -> None:
    run = await org.run(**WRONG)
    await correct(org, run.opened["task_id"], expected_state=RIGHT_STATE)
    dataset_id = run.opened["dataset_id"]
    reply = await org.client.get(f"/api/datasets/{dataset_id}/export")
    (row,) = csv.DictReader(io.StringIO(reply.text))
    assert row["expected_state"] == '{"order.4521.status":"refunded"}'
    assert set(row) == {"user", "state", "expected_state"}
    body = answered(await org.client.get(f"/api/datasets/{dataset_id}/export", params={"format": "json"}))
    answered(await org.client.post("/api/datasets", json=body), 201)


async def test_an_oracle_is_checked_whole_as_at_the_upload(org: Org) -> None:
    task_id = (await org.run(**WRONG)).opened["task_id"]
    body = {
        "expected_state": {"order.4521.status": {"$regex": "("}},
        "expected_calls": ["refund_ordr"],
        "expected_outcome": "maybe",
        "user": "Something else.",
    }
    error = refused(await org.client.put(f"/api/tasks/{task_id}/oracle", json=body), 422, "invalid_request")
    places = {problem["path"].split("/")[1] for problem in error["details"]}
    assert places == {"expected_state", "expected_calls", "expected_outcome", "user"}
    assert all("row" not in problem for problem in error["details"])
    task = answered(await org.client.get(f"/api/tasks/{task_id}"))
    assert (task["oracle_version"], task["odyssey_seed"]["expected_state"]) == (1, WRONG["expected_state"])


async def test_an_oracle_that_proves_nothing_is_taken_with_a_warning(org: Org) -> None:
    task_id = (await org.run(**WRONG)).opened["task_id"]
    done = await correct(org, task_id, expected_state={"order.4521.status": "shipped"})
    assert any("does nothing" in warning["message"] for warning in done["warnings"])
    assert all("row" not in warning for warning in done["warnings"])


async def test_a_large_world_is_checked_aside(org: Org) -> None:
    large = {"order": STATE["order"] | {f"x{n}": {"status": "paid", "note": "x" * 300} for n in range(1_500)}}
    run = await org.run(state=large, **WRONG)
    task = await correct(org, run.opened["task_id"], expected_state=RIGHT_STATE)
    assert task["oracle_version"] == 2
    assert len(task["odyssey_seed"]["initial_state"]["order"]) == 1_502
    path = f"/api/tasks/{run.opened['task_id']}/oracle"
    error = refused(await org.client.put(path, json={"expected_calls": ["nope"]}), 422, "invalid_request")
    assert error["details"][0]["path"].startswith("/expected_calls")


async def test_who_may_correct_and_what_cannot_be(house: House, org: Org) -> None:
    task_id = (await org.run(**WRONG)).opened["task_id"]
    path = f"/api/tasks/{task_id}/oracle"
    error = refused(await org.client.put(path, json={"note": "nothing else"}), 422, "invalid_request")
    assert "expected_state" in error["details"][0]["message"]
    body = {"expected_state": RIGHT_STATE}
    refused(await org.client.put("/api/tasks/999999/oracle", json=body), 404, "not_found")
    viewer = await org.key_of(Role.VIEWER)
    refused(await viewer.client.put(path, json=body), 403, "forbidden")
    matrix = await ended_matrix(house, org, await scenario(house, org), {None: [RIGHT]})
    of_matrix = answered(await org.client.get(f"/api/runs/{matrix.run_ids[None][0]}"))["task_id"]
    error = refused(await org.client.put(f"/api/tasks/{of_matrix}/oracle", json=body), 409, "conflict")
    assert "scenario" in error["message"]


async def test_two_who_correct_at_once_make_two_versions(org: Org) -> None:
    task_id = (await org.run(**WRONG)).opened["task_id"]
    await asyncio.gather(
        correct(org, task_id, expected_calls=["refund_order"]),
        correct(org, task_id, expected_state=RIGHT_STATE),
    )
    task = answered(await org.client.get(f"/api/tasks/{task_id}"))
    assert task["oracle_version"] == 3
    assert task["odyssey_seed"]["expected_calls"] == ["refund_order"]
    assert task["odyssey_seed"]["expected_state"] == RIGHT_STATE


async def test_the_seed_of_the_task_is_otherwise_untouched(org: Org) -> None:
    rich = TASK | {"behavior": "Refunds are final.", "tags": ["a", "b"], "task_input": {"vip": 1.0}}
    run = await org.run(**{key: value for key, value in rich.items() if key not in TASK})
    before = answered(await org.client.get(f"/api/tasks/{run.opened['task_id']}"))["odyssey_seed"]
    after = (await correct(org, run.opened["task_id"], expected_outcome="completion"))["odyssey_seed"]
    assert {k: v for k, v in after.items() if k not in ("expected_outcome", "drawn_as")} == before
