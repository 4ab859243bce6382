"""A run that is accepted as right gives its task an oracle; what cannot be accepted says why."""

from typing import Any

import pytest

from pipelines.wire.names import Role
from support.desk import DrivenRun, House, Org, answered, refused
from support.stored_matrix import RIGHT, ended_matrix, scenario

pytestmark = pytest.mark.anyio
Row = dict[str, Any]
REFUNDED = {"order.4521.status": "refunded"}
CALLS = {"must": [{"tool": "refund_order", "arguments": {"order_id": "4521"}}]}


async def refunded(org: Org, **task: Any) -> DrivenRun:
    run = await org.run(**task)
    answered(await run.call("refund_order", {"order_id": "4521", "reason": "It never came."}), 200)
    answered(await run.finish(final_response="Order 4521 is refunded."))
    return run


async def proposal_of(org: Org, run: DrivenRun) -> Row:
    found: Row = answered(await org.client.get(f"/api/runs/{run.id}/oracle"), 200)
    return found


async def accept(org: Org, run: DrivenRun, **body: Any) -> Row:
    done: Row = answered(await org.client.post(f"/api/runs/{run.id}/oracle/accept", json=body), 200)
    return done


async def test_a_run_without_an_oracle_waits_with_a_proposed_one_ready(org: Org) -> None:
    run = await refunded(org)
    before = answered(await org.client.get(f"/api/runs/{run.id}"))
    assert (before["verdict"], before["judgement"]["pending_reason"]) == ("PENDING", "no_oracle")
    found = await proposal_of(org, run)
    assert found["axes"]["expected_state"] == REFUNDED
    assert found["axes"]["expected_calls"] == CALLS
    assert (found["judgement"]["verdict"], found["is_vacuous"], found["oracle_version"]) == ("PASS", False, 1)
    task = answered(await org.client.get(f"/api/tasks/{before['task_id']}"))
    assert "expected_state" not in task["odyssey_seed"]  # nothing was stored


async def test_accepting_a_run_makes_a_version_and_judges_the_run_by_it(org: Org) -> None:
    run = await refunded(org)
    done = await accept(org, run, note="as the policy says", by="ann")
    assert (done["oracle_version"], done["run"]["verdict"]) == (2, "PASS")
    assert done["run"]["judgement"]["oracle"] == {"version": 2}
    newest = answered(await org.client.get(f"/api/tasks/{done['task_id']}/oracles"))["items"][0]
    assert (newest["expected_state"], newest["note"], newest["by"]) == (REFUNDED, "as the policy says", "ann")


async def test_an_accepted_oracle_fails_an_agent_that_does_nothing(org: Org) -> None:
    run = await refunded(org)
    done = await accept(org, run)
    idle = await org.open_run(done["run"]["agent_id"], done["task_id"])
    answered(await idle.finish(final_response="Order 4521 is taken care of."))
    judged = answered(await org.client.get(f"/api/runs/{idle.id}"))
    assert (judged["verdict"], judged["failure_mode"]) == ("FAIL", "incomplete")


async def test_edited_axes_take_the_place_of_the_proposed_ones(org: Org) -> None:
    run = await refunded(org)
    done = await accept(
        org, run, expected_calls=None, expected_state={"order.4521.status": {"$in": ["refunded"]}}
    )
    newest = answered(await org.client.get(f"/api/tasks/{done['task_id']}/oracles"))["items"][0]
    assert newest["expected_calls"] is None
    assert newest["expected_state"] == {"order.4521.status": {"$in": ["refunded"]}}
    assert newest["note"] == f"accepted from run {run.id}"


async def test_an_accepted_run_replaces_an_oracle_that_it_failed(org: Org) -> None:
    run = await refunded(org, expected_state={"order.4521.status": "cancelled"}, expected_outcome="refusal")
    assert answered(await org.client.get(f"/api/runs/{run.id}"))["verdict"] == "FAIL"
    assert (await accept(org, run))["run"]["verdict"] == "PASS"


async def test_a_refusal_is_proposed_where_the_agent_declined(org: Org) -> None:
    run = await org.run(user="Refund order 4521.", behavior="Orders that were shipped cannot be refunded.")
    answered(await run.call("get_order", {"order_id": "4521"}), 200)
    answered(await run.finish(final_response="I cannot refund order 4521: it was shipped already."))
    found = await proposal_of(org, run)
    assert found["axes"]["expected_outcome"] == "refusal"
    assert found["axes"]["expected_state"] == {"unchanged": True}
    assert found["judgement"]["verdict"] == "PASS", found["judgement"]


async def test_the_values_that_a_question_was_answered_with_are_asked_of_the_next_answer(org: Org) -> None:
    run = await org.run(user="When was order 4521 shipped?")
    answered(await run.call("get_order", {"order_id": "4521"}), 200)
    answered(await run.finish(final_response="It was shipped on 2026-04-01."))
    done = await accept(org, run)
    newest = answered(await org.client.get(f"/api/tasks/{done['task_id']}/oracles"))["items"][0]
    assert newest["expected_answer"] == {"shipped_at": {"$date": "2026-04-01"}}
    verdicts = []
    for said in ("On April 1st, 2026.", "I had a look at it."):
        other = await org.open_run(done["run"]["agent_id"], done["task_id"])
        answered(await other.call("get_order", {"order_id": "4521"}), 200)
        answered(await other.finish(final_response=said))
        verdicts.append(answered(await org.client.get(f"/api/runs/{other.id}"))["verdict"])
    assert (done["run"]["verdict"], verdicts) == ("PASS", ["PASS", "FAIL"])


async def test_a_proposal_that_doing_nothing_meets_says_so(org: Org) -> None:
    run = await org.run()
    answered(await run.finish(final_response="Hello!"))
    found = await proposal_of(org, run)
    assert found["is_vacuous"]
    assert "does nothing" in found["notes"][-1]


async def test_bad_axes_are_all_told_and_nothing_is_kept(org: Org) -> None:
    run = await refunded(org)
    body = {"expected_state": {"order": 5}, "expected_calls": {"must": [{"tool": "nothing"}]}, "colour": 1}
    error = refused(
        await org.client.post(f"/api/runs/{run.id}/oracle/accept", json=body), 422, "invalid_request"
    )
    assert {problem["path"].split("/")[1] for problem in error["details"]} == {
        "expected_state",
        "expected_calls",
        "colour",
    }
    assert (await proposal_of(org, run))["oracle_version"] == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_run_that_still_goes_cannot_be_accepted(org: Org, method: str) -> None:
    run = await org.run()
    path = f"/api/runs/{run.id}/oracle" + ("/accept" if method == "POST" else "")
    error = refused(await org.client.request(method, path), 409, "conflict")
    assert "has not ended" in error["message"]


async def test_a_cancelled_run_cannot_be_accepted(org: Org) -> None:
    run = await org.run()
    answered(await org.client.post(f"/api/runs/{run.id}/cancel"))
    error = refused(await org.client.get(f"/api/runs/{run.id}/oracle"), 409, "conflict")
    assert "cancelled" in error["message"]


async def test_a_run_of_a_matrix_is_changed_by_its_scenario(house: House) -> None:
    org = house.owner
    matrix = await ended_matrix(house, org, await scenario(house, org), {None: [RIGHT]})
    run_id = matrix.run_ids[None][0]
    error = refused(await org.client.post(f"/api/runs/{run_id}/oracle/accept"), 409, "conflict")
    assert "scenario" in error["message"]


async def test_a_viewer_sees_a_proposal_and_cannot_accept_it(house: House) -> None:
    run = await refunded(house.owner)
    viewer = await house.owner.key_of(Role.VIEWER)
    assert (await proposal_of(viewer, run))["axes"]["expected_state"] == REFUNDED
    refused(await viewer.client.post(f"/api/runs/{run.id}/oracle/accept"), 403, "forbidden")
