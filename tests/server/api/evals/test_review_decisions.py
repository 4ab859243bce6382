"""What people decide in the review queue, and what comes of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pipelines.engine.reviews.decide_reviews import give_verdict
from pipelines.engine.reviews.read_reviews import Caller
from pipelines.storage.evals import review_marks
from pipelines.wire.names import Role
from support.desk import House, Org, answered, every_item, open_house, refused
from support.review_queue import BASE, SHIFTED, Row, act, no_audit, queue, read, undecided_run
from support.stored_matrix import PRESSURE, RIGHT, WRONG, StoredMatrix, ended_matrix, scenario

pytestmark = pytest.mark.anyio


async def test_a_blind_reviewer_sees_the_machines_verdict_after_their_own(
    org: Org, flagged: StoredMatrix
) -> None:
    (item,) = await queue(org)
    blind = await read(org, item["id"], blind="true", reviewer="bob")
    told = str(blind)
    for word in ("'machine'", "shift_magnitude", "match_rate", "is above", "'matched'", "distance"):
        assert word not in told, word
    assert blind["evidence"][0]["runs"][0]["observed"]["value"] == WRONG
    assert "'machine'" in str(await read(org, item["id"], reviewer="bob"))


async def test_an_org_may_have_all_its_reviews_blind(house: House, org: Org) -> None:
    await no_audit(org, blind=True, reviewers_wanted=2)
    await ended_matrix(house, org, await scenario(house, org), SHIFTED)
    (item,) = await queue(org, reviewer="bob")
    assert "reasons" not in item
    after = await act(org, item["id"], "verdict", reviewer="ann", verdict="confirmed_susceptible")
    assert after["reasons"]
    assert "confirmed_susceptible" not in str(await read(org, item["id"], reviewer="bob"))
    assert "confirmed_susceptible" in str(await read(org, item["id"], reviewer="ann"))
    assert "'machine'" in str(await read(org, item["id"], reviewer="ann"))


# What verdicts do


async def marks(org: Org, **query: Any) -> list[Row]:
    return await every_item(org.client, f"{BASE}/marks", **query)


async def test_a_confirmed_susceptibility_pins_a_regression(org: Org, flagged: StoredMatrix) -> None:
    (item,) = await queue(org)
    decided = await act(org, item["id"], "verdict", verdict="confirmed_susceptible", note="It gave in.")
    assert decided["outcome"]["mark"] == "regression"
    (mark,) = await marks(org, kind="regression")
    assert (mark["scenario_id"], mark["variation"]) == (flagged.scenario_id, "time_pressure")
    assert (mark["tag"], mark["note"], mark["review_id"]) == ("regression", "It gave in.", item["id"])
    scenarios = "/api/v1/eval/scenarios"
    listed = await every_item(org.client, scenarios, marked="regression")
    assert [each["id"] for each in listed] == [flagged.scenario_id]
    kept = refused(await org.client.delete(f"{scenarios}/{flagged.scenario_id}"), 409, "conflict")
    assert item["id"] in kept["message"]
    await act(org, item["id"], "reopen")
    assert await every_item(org.client, scenarios, marked="regression") == []
    assert (await org.client.delete(f"{scenarios}/{flagged.scenario_id}")).status_code == 204


@pytest.mark.parametrize("verdict", ["expected_behavior_wrong", "matcher_wrong"])
async def test_a_wrong_expectation_opens_the_scenario(org: Org, flagged: StoredMatrix, verdict: str) -> None:
    (item,) = await queue(org)
    await act(org, item["id"], "verdict", verdict=verdict, note="Teams may be asked too.")
    (mark,) = await marks(org, scenario_id=flagged.scenario_id)
    assert (mark["kind"], mark["reason"]) == ("needs_edit", verdict)
    assert mark["note"] == "Teams may be asked too."
    path = f"/api/v1/eval/scenarios/{flagged.scenario_id}"
    assert [each["kind"] for each in answered(await org.client.get(path))["marks"]] == ["needs_edit"]
    listed = await every_item(org.client, "/api/v1/eval/scenarios", marked="needs_edit")
    assert [each["id"] for each in listed] == [flagged.scenario_id]
    answered(await org.client.put(path, json={"description": "Edited."}))
    assert answered(await org.client.get(path))["marks"] == []
    assert await marks(org) == []


async def test_an_accepted_shift_is_what_is_expected_of_the_cell_until_it_is_taken_back(
    org: Org, flagged: StoredMatrix
) -> None:
    (item,) = await queue(org)
    decided = await act(org, item["id"], "verdict", verdict="acceptable_shift")
    assert decided["outcome"]["expected_behavior"] == WRONG
    (mark,) = await marks(org, kind="accepted_shift")
    assert mark["expected_behavior"] == WRONG
    assert mark["expectation"] == "directional"
    await act(org, item["id"], "reopen")
    assert await marks(org) == []


async def test_what_is_accepted_may_be_said(org: Org, flagged: StoredMatrix) -> None:
    (item,) = await queue(org)
    wrong = {"verdict": "acceptable_shift", "expected_behavior": {"action": {"$regex": "("}}}
    refused(await org.client.post(f"{BASE}/{item['id']}/verdict", json=wrong), 422, "invalid_request")
    refused(
        await org.client.post(
            f"{BASE}/{item['id']}/verdict", json={"verdict": "acceptable_shift", "expected_behavior": {}}
        ),
        422,
        "invalid_request",
    )
    either = {"action": {"$in": ["proceed", "escalate_to_team"]}}
    await act(org, item["id"], "verdict", verdict="acceptable_shift", expected_behavior=either)
    assert [mark["expected_behavior"] for mark in await marks(org)] == [either]


async def test_a_refusal_cannot_be_accepted_without_saying_what_is_expected(house: House, org: Org) -> None:
    await no_audit(org)
    outputs = {None: [RIGHT, RIGHT], "time_pressure": ["I cannot help.", "I cannot help."]}
    await ended_matrix(house, org, await scenario(house, org), outputs)
    (item,) = await queue(org)
    reply = await org.client.post(f"{BASE}/{item['id']}/verdict", json={"verdict": "acceptable_shift"})
    assert "refusal" in refused(reply, 422, "invalid_request")["details"][0]["message"]
    assert (await read(org, item["id"]))["status"] == "open"


async def more_runs(house: House, org: Org) -> Row:
    """What is known of the runs that a verdict asked for, and how many runs wait to be sent."""
    (mark,) = await marks(org, kind="more_runs")

    def pending(connection: Any) -> int:
        return int(connection.execute("SELECT COUNT(*) FROM runs WHERE repeat_number > 2").fetchone()[0])

    return mark | {"added": await house.platform.database.read(pending)}


async def asked_for_runs(house: House, org: Org) -> str:
    """A review that was decided as the database has it right after: nothing is queued yet."""
    await no_audit(org)
    agent_id = (await org.agent(endpoint_url="http://127.0.0.1:9/dispatch"))["id"]
    await ended_matrix(house, org, await scenario(house, org), SHIFTED, agent_id=agent_id)
    (item,) = await queue(org)
    caller = Caller(org.id, "ann")
    await give_verdict(house.platform, caller, item["id"], {"verdict": "needs_more_runs", "runs": 3})
    assert (await more_runs(house, org))["is_queued"] is False
    return str(item["id"])


async def test_runs_that_a_kill_left_unqueued_are_queued_at_the_next_start(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await asked_for_runs(house, house.owner)
    async with open_house(tmp_path) as house:
        for _ in range(200):
            found = await more_runs(house, house.owner)
            if found["is_queued"]:
                break
            await asyncio.sleep(0.05)
        assert (found["is_queued"], found["added"]) == (True, 3)


async def test_a_matrix_that_was_cancelled_takes_no_more_runs_and_that_is_told(
    house: House, org: Org
) -> None:
    await no_audit(org)
    await ended_matrix(house, org, await scenario(house, org), SHIFTED)
    await house.platform.database.write(
        lambda connection: connection.execute("UPDATE batches SET status = 'cancelled'")
    )
    (item,) = await queue(org)
    decided = await act(org, item["id"], "verdict", verdict="needs_more_runs", runs=3)
    assert "resume" in decided["outcome"]["refused"]
    assert (await more_runs(house, org))["added"] == 0


# The audit sample


async def test_an_audit_sample_of_what_nothing_pointed_out(house: House, org: Org) -> None:
    await no_audit(org, audit_share=1)
    stored = await ended_matrix(house, org, await scenario(house, org), SHIFTED)
    audits = await queue(org, kind="audit")
    expected = sorted([*stored.run_ids[None], *stored.run_ids["sycophancy"]])
    assert sorted(item["run_id"] for item in audits) == expected
    review_id = next(item["id"] for item in audits if item["variation"] == "sycophancy")
    item = await read(org, review_id)
    (evidence,) = item["evidence"]
    assert evidence["injected"][0]["text"] == PRESSURE
    assert evidence["observed"]["value"] == RIGHT
    assert "matched" in evidence["machine"]
    await act(org, review_id, "verdict", verdict="PASS")
    assert len(await queue(org, kind="audit")) == len(expected) - 1
    await house.platform.database.write(
        lambda connection: review_marks.flag_anew(connection, matrix_id=stored.matrix_id)
    )
    assert len(await queue(org, kind="audit")) == len(expected) - 1, "a run is drawn once"


async def test_without_settings_about_one_run_in_twenty_is_audited(house: House, org: Org) -> None:
    assert answered(await org.client.get(f"{BASE}/settings")) == {
        "reviewers_wanted": 1,
        "blind": False,
        "audit_share": 0.05,
    }


# By hand, of a cell


async def test_a_cell_can_be_put_into_the_queue_by_hand(org: Org, flagged: StoredMatrix) -> None:
    cell = {"scenario_id": flagged.scenario_id, "variation": "sycophancy"}
    item = answered(await org.client.post(BASE, json=cell | {"note": "looks odd"}), 201)
    assert (item["kind"], item["variation"]) == ("shift", "sycophancy")
    assert "opened by first key: looks odd" in item["reasons"]
    assert answered(await org.client.post(BASE, json=cell), 200)["id"] == item["id"]
    for wrong in ({"variation": "none"}, {"scenario_id": "scn_none"}, {"matrix_id": "mtx_none"}):
        refused(await org.client.post(BASE, json=cell | wrong), 404, "not_found")


# Several at once


async def test_several_are_acted_on_each_for_itself(org: Org) -> None:
    ids = [f"rev_run_{await undecided_run(org)}" for _ in range(3)]
    await act(org, ids[1], "claim", reviewer="bob")
    body = {"action": "verdict", "ids": [*ids, "rev_none"], "verdict": "PASS", "reviewer": "ann"}
    told = answered(await org.client.post(f"{BASE}/bulk", json=body))
    assert [result["ok"] for result in told["results"]] == [True, False, True, False]
    assert (told["done"], told["failed"]) == (2, 2)
    assert told["results"][1]["error"]["code"] == "review_claimed"
    assert told["results"][3]["error"]["code"] == "not_found"
    assert [item["id"] for item in await queue(org)] == [ids[1]]
    wrong = {"action": "verdict", "ids": [ids[1]], "verdict": "acceptable_shift", "reviewer": "bob"}
    told = answered(await org.client.post(f"{BASE}/bulk", json=wrong))
    assert told["results"][0]["error"]["details"][0]["path"] == "/verdict"
    claimed = {"action": "claim", "ids": [ids[1]], "reviewer": "bob"}
    assert answered(await org.client.post(f"{BASE}/bulk", json=claimed))["done"] == 1
    refused(await org.client.post(f"{BASE}/bulk", json={"action": "claim"}), 422, "invalid_request")


# Progress and agreement


async def test_progress_tells_what_each_did_and_what_waits(org: Org) -> None:
    ids = [f"rev_run_{await undecided_run(org)}" for _ in range(4)]
    await act(org, ids[0], "verdict", reviewer="ann", verdict="PASS")
    await act(org, ids[1], "verdict", reviewer="ann", verdict="FAIL")
    await act(org, ids[2], "claim", reviewer="bob")
    told = answered(await org.client.get(f"{BASE}/progress"))
    people = {each["reviewer"]: each for each in told["reviewers"]}
    assert people["ann"]["by_verdict"] == {"PASS": 1, "FAIL": 1}
    assert (people["ann"]["verdicts"], people["ann"]["claimed"]) == (2, 0)
    assert (people["bob"]["verdicts"], people["bob"]["claimed"]) == (0, 1)
    assert told["waiting"]["by_kind"]["task_verdict"] == 2
    assert told["decided"] == {"total": 2, "by_verdict": {"FAIL": 1, "PASS": 1}}
    later = answered(await org.client.get(f"{BASE}/progress", params={"since": "2999-01-01T00:00:00Z"}))
    assert [each["verdicts"] for each in later["reviewers"]] == [0]


async def test_agreement_is_told_from_ten_shared_items_on(org: Org) -> None:
    await no_audit(org, reviewers_wanted=2)
    ids = [f"rev_run_{await undecided_run(org)}" for _ in range(10)]
    for place, review_id in enumerate(ids):
        if place == 9:
            few = answered(await org.client.get(f"{BASE}/agreement", params={"kind": "task_verdict"}))
            assert (few["agreement"], few["items"]) == (None, 9)
            assert "too few" in few["note"]
        ann = "PASS" if place < 5 else "FAIL"
        bob = "PASS" if place < 4 else "FAIL"
        await act(org, review_id, "verdict", reviewer="ann", verdict=ann)
        await act(org, review_id, "verdict", reviewer="bob", verdict=bob)
    told = answered(await org.client.get(f"{BASE}/agreement", params={"kind": "task_verdict"}))
    # 4 both PASS, 1 apart, 5 both FAIL: observed 0.9, by chance 0.5·0.4 + 0.5·0.6 = 0.5
    assert told["agreement"]["method"] == "cohen"
    assert told["agreement"]["kappa"] == pytest.approx(0.8)
    low, high = told["agreement"]["interval"]
    assert low < 0.8 < high
    assert answered(await org.client.get(f"{BASE}/agreement"))["items"] == 0  # of shifts


# Who may


async def test_viewers_read_and_contributors_decide(org: Org, flagged: StoredMatrix) -> None:
    (item,) = await queue(org)
    viewer, contributor = await org.key_of(Role.VIEWER), await org.key_of(Role.CONTRIBUTOR)
    for path in ("", f"/{item['id']}", "/progress", "/agreement", "/settings", "/marks"):
        answered(await viewer.client.get(BASE + path))
    verdict = {"verdict": "confirmed_susceptible"}
    for path, body in (
        ("", {"run_id": 1}),
        ("/bulk", {"action": "claim", "ids": [item["id"]]}),
        (f"/{item['id']}/claim", {}),
        (f"/{item['id']}/release", {}),
        (f"/{item['id']}/verdict", verdict),
        (f"/{item['id']}/reopen", {}),
    ):
        refused(await viewer.client.post(BASE + path, json=body), 403, "forbidden")
    refused(await contributor.client.put(f"{BASE}/settings", json={}), 403, "forbidden")
    await act(contributor, item["id"], "verdict", **verdict)


async def test_another_orgs_reviews_are_not_there(house: House, org: Org, flagged: StoredMatrix) -> None:
    (item,) = await queue(org)
    run_id = await undecided_run(org)
    another = await house.another_org()
    assert await queue(another, status="any") == []
    for review_id in (item["id"], f"rev_run_{run_id}"):
        refused(await another.client.get(f"{BASE}/{review_id}"), 404, "not_found")
        for verb, body in (("claim", {}), ("release", {}), ("verdict", {"verdict": "PASS"}), ("reopen", {})):
            refused(await another.client.post(f"{BASE}/{review_id}/{verb}", json=body), 404, "not_found")
    refused(await another.client.post(BASE, json={"run_id": run_id}), 404, "not_found")
    cell = {"scenario_id": flagged.scenario_id, "variation": "sycophancy"}
    for body in (cell, cell | {"matrix_id": flagged.matrix_id}):
        refused(await another.client.post(BASE, json=body), 404, "not_found")
    told = answered(await another.client.get(f"{BASE}/progress"))
    assert told["waiting"]["total"] == 0
    assert len(await queue(org)) == 2


async def test_the_queue_of_runs_is_found_without_looking_at_every_run(house: House) -> None:
    from pipelines.storage.evals import review_queue

    def plan(connection: Any) -> str:
        question = (
            f"{review_queue._RUN} WHERE {review_queue._WAITS} AND {review_queue._HAS_NO_ROW} AND id > 0"
        )
        rows = connection.execute(f"EXPLAIN QUERY PLAN {question} ORDER BY id LIMIT 51", (1,)).fetchall()
        return str([tuple(row) for row in rows])

    told = await house.platform.database.read(plan)
    assert "runs_to_review" in told
    assert "TEMP B-TREE" not in told
