"""The review queue over the API: what is in it, who may take it, when it is decided, what a verdict does."""

import asyncio
from typing import Any

import pytest

from pipelines.core.evals.reviews.review import LEASE_S
from pipelines.engine.review_leases import ReviewLeases
from pipelines.engine.reviews.flag_reviews import flag_ended_matrices
from pipelines.storage.evals import review_marks
from support.desk import House, Org, answered, every_item, refused
from support.review_queue import BASE, SHIFTED, Row, act, no_audit, queue, read, undecided_run
from support.stored_matrix import PRESSURE, RIGHT, WRONG, StoredMatrix, ended_matrix, scenario

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def steady(house: House) -> Clock:
    """The steady clock of the house's leases, moved by the test."""
    clock = Clock()
    object.__setattr__(house.platform, "review_leases", ReviewLeases(steady=clock))
    return clock


# What is in the queue


async def test_a_flagged_cell_is_in_the_queue_with_its_reasons(org: Org, flagged: StoredMatrix) -> None:
    (item,) = await queue(org)
    assert (item["kind"], item["status"], item["risk_level"]) == ("shift", "open", "critical")
    assert (item["scenario_id"], item["variation"]) == (flagged.scenario_id, "time_pressure")
    assert item["id"].startswith("rev_")
    assert any("0.5" in reason for reason in item["reasons"])
    assert any("decision" in reason for reason in item["reasons"])


async def test_an_item_shows_what_happened_before_and_after(org: Org, flagged: StoredMatrix) -> None:
    (listed,) = await queue(org)
    item = await read(org, listed["id"])
    assert item["scenario"]["expected_behavior"] == RIGHT
    (evidence,) = item["evidence"]
    assert [each["text"] for each in evidence["injected"]] == [PRESSURE]
    assert evidence["baseline"]["run_id"] in flagged.run_ids[None]
    assert evidence["baseline"]["observed"]["value"] == RIGHT
    assert [run["observed"]["value"] for run in evidence["runs"]] == [WRONG, WRONG]
    assert evidence["run_ids"] == flagged.run_ids["time_pressure"]
    moved = {part["path"]: (part["from"], part["to"]) for part in evidence["components"]}
    assert moved["/action"] == ("escalate_to_owner", "proceed")
    assert moved["/priority"] == ("high", "low")
    cell = evidence["machine"]["cell"]
    assert (cell["match_rate"]["k"], cell["match_rate"]["n"]) == (0, 2)
    assert cell["match_rate"]["interval"]
    assert evidence["link"] == f"/api/v1/eval/matrix/{flagged.matrix_id}"
    assert [event["event"] for event in item["history"]] == ["opened"]


async def test_the_highest_risk_comes_first_then_the_oldest_then_ordinary_runs(
    house: House, org: Org
) -> None:
    await no_audit(org)
    run_id = await undecided_run(org)
    agent_id = (await org.agent())["id"]
    for number, risk in enumerate(("high", "critical", "medium", "critical")):
        made = await scenario(house, org, risk_level=risk, name=f"s{number}")
        await ended_matrix(house, org, made, SHIFTED, matrix_id=f"mtx_{number}", agent_id=agent_id)
        await flag_ended_matrices(house.platform)
    found = await queue(org, limit=2)
    assert [item["scenario_name"] for item in found] == ["s1", "s3", "s0", "s2", None]
    assert found[-1]["id"] == f"rev_run_{run_id}"


async def test_a_second_flag_adds_its_evidence_to_the_open_item(
    house: House, org: Org, flagged: StoredMatrix
) -> None:
    (first,) = await queue(org)
    await ended_matrix(house, org, flagged.scenario_id, SHIFTED, matrix_id="mtx_2", agent_id=1)
    (item,) = await queue(org)
    assert item["id"] == first["id"]
    whole = await read(org, item["id"])
    assert [part["matrix_id"] for part in whole["evidence"]] == ["mtx_1", "mtx_2"]
    assert [event["event"] for event in whole["history"]] == ["opened", "evidence_added"]


async def test_another_state_of_the_agent_is_another_item(
    house: House, org: Org, flagged: StoredMatrix
) -> None:
    await ended_matrix(
        house, org, flagged.scenario_id, SHIFTED, matrix_id="mtx_2", agent_id=1, fingerprint="f2"
    )
    assert [item["fingerprint"] for item in await queue(org)] == ["f1", "f2"]
    assert [item["matrix_id"] for item in await queue(org, fingerprint="f2")] == ["mtx_2"]


async def test_flagging_again_changes_nothing(house: House, org: Org, flagged: StoredMatrix) -> None:
    (before,) = await queue(org)
    whole = await read(org, before["id"])

    def forget(connection: Any) -> None:
        review_marks.flag_anew(connection, matrix_id=flagged.matrix_id)

    for _ in range(2):
        await house.platform.database.write(forget)
        await flag_ended_matrices(house.platform)
    assert await queue(org) == [before]
    assert await read(org, before["id"]) == whole


async def test_runs_that_were_decided_on_are_not_asked_again_when_their_report_is_made_again(
    house: House, org: Org, flagged: StoredMatrix
) -> None:
    (item,) = await queue(org)
    await act(org, item["id"], "verdict", verdict="confirmed_susceptible")
    await house.platform.database.write(
        lambda connection: review_marks.flag_anew(connection, matrix_id=flagged.matrix_id)
    )
    assert await queue(org) == []
    await ended_matrix(house, org, flagged.scenario_id, SHIFTED, matrix_id="mtx_2", agent_id=1)
    (again,) = await queue(org)  # other runs are another question
    assert again["id"] != item["id"]


OTHERS: list[Row] = [
    {"kind": "audit"},
    {"risk_level": "high"},
    {"variation": "sycophancy"},
    {"scenario_id": "scn_none"},
    {"agent_id": 99},
    {"fingerprint": "f9"},
    {"matrix_id": "mtx_9"},
    {"claimed_by": "ann"},
    {"since": "2999-01-01T00:00:00Z"},
    {"status": "decided"},
    {"status": "disputed"},
    {"run_id": 99},
]


async def test_filters_leave_out_what_does_not_fit(org: Org, flagged: StoredMatrix) -> None:
    for filters in OTHERS:
        assert await queue(org, **filters) == [], filters
    fitting = {"risk_level": "critical", "variation": "time_pressure", "kind": "shift", "agent_id": 1}
    assert len(await queue(org, since="2000-01-01", matrix_id="mtx_1", status="any", **fitting)) == 1


async def test_bad_questions_are_refused(org: Org) -> None:
    for query in (
        {"status": "new"},
        {"kind": "odd"},
        {"risk_level": "urgent"},
        {"since": "soon"},
        {"limit": 0},
    ):
        assert refused(await org.client.get(BASE, params=query), 422, "invalid_request")["details"]
    for cursor in ("x", "MQ", "fHw"):
        refused(await org.client.get(BASE, params={"cursor": cursor}), 400, "invalid_cursor")
    for review_id in ("rev_none", "rev_run_1", "rev_run_007", "rev_run_" + "9" * 40, "rev_audit_1"):
        refused(await org.client.get(f"{BASE}/{review_id}"), 404, "not_found")
    refused(await org.client.get(f"{BASE}/scn_1"), 422, "invalid_request")


# Ordinary runs


async def test_open_task_verdicts_are_in_the_queue_without_a_row_until_somebody_acts(
    house: House, org: Org
) -> None:
    first, second, third = [await undecided_run(org) for _ in range(3)]
    found = await queue(org, limit=2)
    assert [item["run_id"] for item in found] == [first, second, third]
    assert {item["kind"] for item in found} == {"task_verdict"}

    def rows(connection: Any) -> int:
        return int(connection.execute("SELECT COUNT(*) FROM reviews").fetchone()[0])

    assert await house.platform.database.read(rows) == 0
    await act(org, f"rev_run_{second}", "claim")
    assert await house.platform.database.read(rows) == 1
    for limit in (1, 50):
        assert [item["run_id"] for item in await queue(org, limit=limit)] == [first, second, third]
    assert [item["run_id"] for item in await queue(org, agent_id=found[0]["agent_id"])] == [first]
    assert [item["run_id"] for item in await queue(org, run_id=third)] == [third]


async def test_a_persons_verdict_stands_beside_the_machines(org: Org) -> None:
    run_id = await undecided_run(org)
    item = await read(org, f"rev_run_{run_id}")
    assert item["evidence"][0]["machine"]["verdict"] == "PENDING"
    assert item["evidence"][0]["final_response"] == "I looked into it."
    decided = await act(org, item["id"], "verdict", verdict="FAIL", note="It did nothing.")
    assert (decided["status"], decided["verdict"]) == ("decided", "FAIL")
    run = answered(await org.client.get(f"/api/runs/{run_id}"))
    assert (run["verdict"], run["human_verdict"]) == ("PENDING", "FAIL")
    assert await queue(org) == []
    assert await every_item(org.client, "/api/runs", needs_review="true") == []
    assert [each["id"] for each in await queue(org, status="decided")] == [item["id"]]
    reopened = await act(org, item["id"], "reopen", note="wrong run")
    assert reopened["status"] == "open"
    assert answered(await org.client.get(f"/api/runs/{run_id}"))["human_verdict"] is None
    assert [each["id"] for each in await queue(org)] == [item["id"]]
    history = (await read(org, item["id"]))["history"]
    assert [each["event"] for each in history] == ["opened", "verdict", "decided", "reopened"]


async def test_a_run_takes_pass_and_fail_and_nothing_else(org: Org) -> None:
    run_id = await undecided_run(org)
    for body in ({"verdict": "acceptable_shift"}, {"verdict": "pass"}, {}, {"verdict": "PASS", "runs": 3}):
        reply = await org.client.post(f"{BASE}/rev_run_{run_id}/verdict", json=body)
        assert refused(reply, 422, "invalid_request")["details"]
    assert len(await queue(org)) == 1


async def test_a_judged_run_can_be_put_into_the_queue_by_hand(org: Org) -> None:
    oracle = {"expected_outcome": "completion", "expected_state": {"order.4521.status": "refunded"}}
    run = await org.run(**oracle)
    refused(await org.client.post(BASE, json={"run_id": run.id}), 409, "conflict")  # still under way
    answered(await run.call("refund_order", {"order_id": "4521"}), 200)
    assert answered(await run.finish(final_response="Order 4521 is refunded."))["verdict"] == "PASS"
    assert await queue(org) == []
    item = answered(await org.client.post(BASE, json={"run_id": run.id, "note": "odd words"}), 201)
    assert (item["kind"], item["run_id"]) == ("task_verdict", run.id)
    assert item["reasons"] == ["opened by first key: odd words"]
    again = answered(await org.client.post(BASE, json={"run_id": run.id}), 200)
    assert again["id"] == item["id"]
    await act(org, item["id"], "verdict", verdict="FAIL")
    refused(await org.client.post(BASE, json={"run_id": run.id}), 409, "conflict")
    refused(await org.client.post(BASE, json={"run_id": 999}), 404, "not_found")


# Claims


async def test_a_claim_keeps_others_out_until_its_time_is_up(org: Org, steady: Clock) -> None:
    review_id = f"rev_run_{await undecided_run(org)}"
    held = await act(org, review_id, "claim", reviewer="ann")
    (claim,) = held["claims"]
    assert (claim["by"], claim["seconds_left"]) == ("ann", LEASE_S)
    reply = await org.client.post(f"{BASE}/{review_id}/claim", json={"reviewer": "bob"})
    error = refused(reply, 409, "review_claimed")
    assert error["details"]["until"] == claim["until"]
    assert error["details"]["by"] == "ann"
    verdict = {"reviewer": "bob", "verdict": "PASS"}
    refused(await org.client.post(f"{BASE}/{review_id}/verdict", json=verdict), 409, "review_claimed")
    steady.now += LEASE_S - 1
    refused(
        await org.client.post(f"{BASE}/{review_id}/claim", json={"reviewer": "bob"}), 409, "review_claimed"
    )
    await act(org, review_id, "claim", reviewer="ann")  # renewed: 15 minutes from now
    steady.now += LEASE_S - 1
    refused(
        await org.client.post(f"{BASE}/{review_id}/claim", json={"reviewer": "bob"}), 409, "review_claimed"
    )
    assert [item["id"] for item in await queue(org, claimed_by="ann")] == [review_id]
    steady.now += 1
    assert await queue(org, claimed_by="ann") == []
    taken = await act(org, review_id, "claim", reviewer="bob")
    assert [each["by"] for each in taken["claims"]] == ["bob"]
    assert [item["id"] for item in await queue(org, claimed_by="bob")] == [review_id]


async def test_what_is_given_back_is_free_at_once(org: Org, steady: Clock) -> None:
    review_id = f"rev_run_{await undecided_run(org)}"
    await act(org, review_id, "claim", reviewer="ann")
    await act(org, review_id, "release", reviewer="bob")  # holds nothing
    refused(
        await org.client.post(f"{BASE}/{review_id}/claim", json={"reviewer": "bob"}), 409, "review_claimed"
    )
    assert (await act(org, review_id, "release", reviewer="ann"))["claims"] == []
    await act(org, review_id, "claim", reviewer="bob")


async def test_the_key_speaks_for_itself_where_nobody_is_named(org: Org) -> None:
    review_id = f"rev_run_{await undecided_run(org)}"
    held = answered(await org.client.post(f"{BASE}/{review_id}/claim"))
    assert [claim["by"] for claim in held["claims"]] == ["first key"]


async def test_of_many_who_claim_or_decide_at_once_one_does(org: Org) -> None:
    review_id = f"rev_run_{await undecided_run(org)}"
    names = [f"r{number}" for number in range(12)]
    replies = await asyncio.gather(
        *(org.client.post(f"{BASE}/{review_id}/claim", json={"reviewer": name}) for name in names)
    )
    assert sorted(reply.status_code for reply in replies) == [200] + [409] * 11
    (holder,) = [name for name, reply in zip(names, replies, strict=True) if reply.is_success]
    await act(org, review_id, "release", reviewer=holder)
    verdicts = await asyncio.gather(
        *(
            org.client.post(f"{BASE}/{review_id}/verdict", json={"reviewer": name, "verdict": "PASS"})
            for name in names
        )
    )
    assert sorted(reply.status_code for reply in verdicts) == [200] + [409] * 11
    assert len((await read(org, review_id))["verdicts"]) == 1


# Several reviewers


async def opened(org: Org, **asked: Any) -> str:
    run_id = await undecided_run(org)
    made = answered(await org.client.post(BASE, json={"run_id": run_id} | asked), 201)
    return str(made["id"])


async def test_an_item_is_decided_when_all_have_spoken(org: Org) -> None:
    review_id = await opened(org, reviewers_wanted=3)
    first = await act(org, review_id, "verdict", reviewer="ann", verdict="PASS")
    assert (first["status"], first["reviewers_missing"]) == ("open", 2)
    await act(org, review_id, "verdict", reviewer="bob", verdict="FAIL")
    last = await act(org, review_id, "verdict", reviewer="cem", verdict="PASS")
    assert (last["status"], last["verdict"]) == ("decided", "PASS")
    late = {"reviewer": "dee", "verdict": "FAIL"}
    refused(await org.client.post(f"{BASE}/{review_id}/verdict", json=late), 409, "conflict")


async def test_a_tie_asks_one_more(org: Org) -> None:
    review_id = await opened(org, reviewers_wanted=2)
    await act(org, review_id, "verdict", reviewer="ann", verdict="PASS")
    tied = await act(org, review_id, "verdict", reviewer="bob", verdict="FAIL")
    assert (tied["status"], tied["verdict"]) == ("disputed", None)
    assert [item["id"] for item in await queue(org, status="disputed")] == [review_id]
    settled = await act(org, review_id, "verdict", reviewer="cem", verdict="FAIL")
    assert (settled["status"], settled["verdict"]) == ("decided", "FAIL")


async def test_a_person_may_change_their_mind_until_it_is_decided(org: Org) -> None:
    review_id = await opened(org, reviewers_wanted=2)
    await act(org, review_id, "verdict", reviewer="ann", verdict="PASS")
    changed = await act(org, review_id, "verdict", reviewer="ann", verdict="FAIL", note="looked twice")
    assert [(each["reviewer"], each["verdict"]) for each in changed["verdicts"]] == [("ann", "FAIL")]
    assert changed["status"] == "open"
    refused(await org.client.post(f"{BASE}/{review_id}/claim", json={"reviewer": "ann"}), 409, "conflict")
    said = [
        event["detail"] for event in (await read(org, review_id))["history"] if event["event"] == "verdict"
    ]
    assert [each["verdict"] for each in said] == ["PASS", "FAIL"]


async def test_as_many_may_look_at_once_as_are_wanted(org: Org, steady: Clock) -> None:
    review_id = await opened(org, reviewers_wanted=2)
    await act(org, review_id, "claim", reviewer="ann")
    await act(org, review_id, "claim", reviewer="bob")
    refused(
        await org.client.post(f"{BASE}/{review_id}/claim", json={"reviewer": "cem"}), 409, "review_claimed"
    )
