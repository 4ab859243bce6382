"""A batch from the request to the verdicts, over real sockets: each run once, counted, exported, compared."""

import csv
import io
from collections import Counter
from itertools import count

import httpx2
import pytest

from pipelines.core.verdict.verdict import GRADER_VERSION
from support.desk import refused
from support.played_agents import Dispatch, does_nothing, holds, played, refunds
from support.server_process import REFUND_TASK, Api, events_of, eventually


def test_every_task_is_run_as_often_as_asked_and_each_run_once(api: Api):
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 5, repeats=3)
        batch = api.ended(batch_id)
        runs = api.runs(batch_id)
        assert agent.runs_seen == Counter({run["id"]: 1 for run in runs})
    assert len(runs) == 15
    assert Counter((run["task_id"], run["repeat_number"]) for run in runs).most_common(1)[0][1] == 1
    assert batch["status"] == "completed"
    assert batch["ended_at"] is not None
    assert batch["counts"] == {"total": 15, "by_status": {"completed": 15}, "by_verdict": {"PASS": 15}}
    assert batch["summary"]["pass_rate"] == 1
    assert batch["summary"]["pass_hat_k"] == {"2": 1, "3": 1}


def test_a_run_carries_its_verdict_reply_and_trace(api: Api):
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url)
        api.ended(batch_id)
        run = api.only_run(batch_id)
    assert run["status"] == "completed"
    assert run["final_response"] == "I have refunded order 4521."
    assert run["verdict"] == "PASS"
    assert run["judgement"]["grader"] == {"name": "embedded", "version": GRADER_VERSION}
    assert run["judge_error"] is None
    assert ["`messages`" in warning for warning in run["soft_warnings"]] == [True]
    assert run["dispatched_at"] <= run["ended_at"]
    assert [row["sequence"] for row in api.trace(run["id"])] == [1, 2, 3]


def test_the_dispatch_is_the_envelope_of_the_contract(api: Api):
    row = REFUND_TASK | {"behavior": "Only shipped orders can be refunded.", "task_input": {"vip": True}}
    with played(refunds) as agent:
        secret = {"auth_header_name": "X-Agent-Key", "auth_header_value": "s3cret"}
        api.ended(api.start_batch(agent.url, row, agent=secret))
        (dispatch,) = agent.dispatches
    payload = {"task_id": dispatch.task_id, "user_instruction": REFUND_TASK["user"], "input": {"vip": True}}
    assert dispatch.body["input"] == payload
    assert dispatch.headers["x-agent-key"] == "s3cret"
    assert dispatch.headers["x-pipelines-run-id"] == str(dispatch.run_id)
    assert dispatch.headers["x-pipelines-odyssey-proxy-url"] == dispatch.proxy_url
    assert dispatch.proxy_url == f"{api.url}/api/odyssey-proxy/runs/{dispatch.body['run_token_jti']}"
    assert dispatch.token not in str(dispatch.body)


@pytest.mark.parametrize("most", [1, 2, 5, 8])
def test_an_agent_never_has_more_at_once_than_it_takes(api: Api, most: int):
    """And as many as it takes, odd numbers too, though two lanes share them."""
    with played(holds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 16, agent={"max_concurrency": most})
        eventually(lambda: agent.at_once == most, f"{most} at once, not {agent.at_once}")
        agent.may_answer.set()
        api.ended(batch_id)
        assert agent.most_at_once <= most
        assert len(agent.runs_seen) == 16


def test_two_batches_of_one_agent_share_what_it_takes(api: Api):
    with played(holds) as agent:
        agent_id = api.agent(agent.url, max_concurrency=4)["id"]
        dataset_id = api.dataset(*[REFUND_TASK] * 8, agent_id=agent_id)["id"]
        batches = [
            api.batch_of(agent_id, dataset_id),
            api.batch_of(agent_id, dataset_id, concurrency=1),
            api.batch_of(agent_id, dataset_id),
        ]
        eventually(lambda: agent.at_once >= 3, "both lanes are at work")  # the narrow batch may be in one
        agent.may_answer.set()
        for batch_id in batches:
            assert api.ended(batch_id)["counts"]["by_status"] == {"completed": 8}
        assert agent.most_at_once <= 4
        assert sum(agent.runs_seen.values()) == 24


def test_two_versions_of_an_agent_share_what_the_wider_one_takes(api: Api):
    """A batch keeps the version it was started on: one of them lets the agent have one run at a time."""
    with played(holds) as agent:
        agent_id = api.agent(agent.url, max_concurrency=1)["id"]
        dataset_id = api.dataset(*[REFUND_TASK] * 8, agent_id=agent_id)["id"]
        narrow = api.batch_of(agent_id, dataset_id)
        eventually(lambda: agent.at_once == 1, "the narrow batch is under way")
        api.put(f"/api/agents/{agent_id}", {"max_concurrency": 3})
        wide = api.batch_of(agent_id, dataset_id)
        eventually(lambda: agent.at_once == 2, "the free lane is at work")
        agent.may_answer.set()
        for batch_id in (narrow, wide):
            assert api.ended(batch_id)["counts"]["by_status"] == {"completed": 8}
        assert agent.most_at_once <= 3


def test_a_batch_of_one_at_a_time_is_one_at_a_time(api: Api):
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 6, concurrency=1)
        assert api.ended(batch_id)["counts"]["by_verdict"] == {"PASS": 6}
        assert agent.most_at_once == 1


def test_batches_of_two_agents_do_not_wait_for_each_other(api: Api):
    with played(holds) as slow, played(refunds) as quick:
        held = api.start_batch(slow.url, *[REFUND_TASK] * 20)
        eventually(lambda: slow.at_once == 8, "the slow agent is full")
        assert api.ended(api.start_batch(quick.url, *[REFUND_TASK] * 3))["status"] == "completed"
        assert api.batch(held)["status"] == "running"
        slow.may_answer.set()
        api.ended(held)


def test_progress_comes_as_events_and_ends_with_end(api: Api):
    with played(holds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 4)
        seen = []
        for event, batch in events_of(api, batch_id):
            seen.append(event)
            if batch["counts"]["by_status"].get("running"):
                agent.may_answer.set()
    assert set(seen[:-1]) == {"progress"}
    assert seen[-1] == "end"
    assert batch["status"] == "completed"
    assert batch["counts"]["by_verdict"] == {"PASS": 4}


def test_events_of_a_batch_that_has_ended_are_its_end(api: Api):
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url)
        api.ended(batch_id)
    assert [event for event, _ in events_of(api, batch_id)] == ["end"]


def test_a_batch_is_exported_whole(api: Api):
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 3, repeats=2)
        api.ended(batch_id)
    exported = api.get(f"/api/batches/{batch_id}/export", format="json")["items"]
    text = api.client.get(f"/api/batches/{batch_id}/export", params={"format": "csv"})
    assert text.headers["content-type"].startswith("text/csv")
    assert "attachment" in text.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(text.text)))
    assert [run["id"] for run in exported] == sorted(run["id"] for run in exported)
    assert [(row["id"], row["verdict"]) for row in rows] == [(str(run["id"]), "PASS") for run in exported]
    assert len(rows) == 6


def fails_on(said: str):
    def behave(dispatch: Dispatch) -> None:
        (does_nothing if dispatch.said == said else refunds)(dispatch)

    return behave


def test_comparing_two_batches_shows_what_flipped(api: Api):
    rows = [REFUND_TASK | {"user": f"Refund order #4521, says customer {n}."} for n in range(3)]
    with played(fails_on(rows[0]["user"])) as agent:
        agent_id = api.agent(agent.url)["id"]
        dataset = api.dataset(*rows, agent_id=agent_id)
        before = api.batch_of(agent_id, dataset["id"])
        api.ended(before)
        agent.behave = fails_on(rows[2]["user"])
        after = api.batch_of(agent_id, dataset["id"])
        api.ended(after)
    compared = api.get(f"/api/batches/{before}/compare", to=after)
    assert (compared["compared"], compared["only_from"], compared["only_to"]) == (3, 0, 0)
    flips = {flip["task_id"]: flip for flip in compared["flips"]}
    first, _, last = dataset["task_ids"]
    assert {task: flip["direction"] for task, flip in flips.items()} == {first: "improved", last: "regressed"}
    assert flips[first]["from"]["verdict"] == "FAIL"
    assert flips[first]["from"]["failure_mode"] == "incomplete"
    assert flips[last]["to"]["verdict"] == "FAIL"
    assert api.get(f"/api/batches/{before}/compare", to=before)["flips"] == []


def test_judging_anew_asks_no_agent(api: Api):
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 2)
        api.ended(batch_id)
        before = api.whole_runs(batch_id)
        dispatched = len(agent.dispatches)
        assert api.post(f"/api/batches/{batch_id}/judge") == {
            "batch_id": batch_id,
            "judged": 2,
            "changed": 0,
            "changes": [],
            "failed": [],
            "next_cursor": None,
        }
        again = api.post(f"/api/runs/{before[0]['id']}/judge")
        assert again["judgement"] == before[0]["judgement"]
        assert len(agent.dispatches) == dispatched
    assert api.whole_runs(batch_id) == before


def test_a_batch_is_judged_by_corrected_oracles_a_part_at_a_time_and_asks_no_agent(api: Api):
    wrong = REFUND_TASK | {"expected_state": {"order.4521.status": "cancelled"}}
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, wrong, REFUND_TASK, wrong)
        api.ended(batch_id)
        dispatched = len(agent.dispatches)
        first, _, third = api.runs(batch_id)
        api.put(f"/api/tasks/{first['task_id']}/oracle", {"expected_state": REFUND_TASK["expected_state"]})
        path = f"/api/batches/{batch_id}/judge?oracle=present&limit=2"
        done = api.post(path)
        rest = api.post(f"{path}&cursor={done['next_cursor']}")
        assert len(agent.dispatches) == dispatched
    assert (done["judged"], done["changed"]) == (2, 1)
    assert done["changes"] == [
        {
            "run_id": first["id"],
            "task_id": first["task_id"],
            "from": {"verdict": "FAIL", "failure_mode": first["failure_mode"], "pending_reason": None},
            "to": {"verdict": "PASS", "failure_mode": None, "pending_reason": None},
        }
    ]
    assert (rest["judged"], rest["changed"], rest["next_cursor"]) == (1, 0, None)
    assert [run["verdict"] for run in api.runs(batch_id)] == ["PASS", "PASS", third["verdict"]]
    assert api.batch(batch_id)["summary"]["passed"] == 2


def test_comparing_says_where_verdicts_rest_on_different_oracles_until_they_are_judged_alike(api: Api):
    wrong = REFUND_TASK | {"expected_state": {"order.4521.status": "cancelled"}}
    with played(refunds) as agent:
        agent_id = api.agent(agent.url)["id"]
        dataset = api.dataset(wrong, agent_id=agent_id)
        before = api.batch_of(agent_id, dataset["id"])
        api.ended(before)
        api.put(
            f"/api/tasks/{dataset['task_ids'][0]}/oracle", {"expected_state": REFUND_TASK["expected_state"]}
        )
        after = api.batch_of(agent_id, dataset["id"])
        api.ended(after)
    (pair,) = api.get(f"/api/batches/{before}/compare", to=after)["tasks"]
    assert (pair["change"], pair["notes"]) == ("fixed", ["judged by another oracle"])
    api.post(f"/api/batches/{before}/judge?oracle=present")
    compared = api.get(f"/api/batches/{before}/compare", to=after)
    assert (compared["compared"], compared["tasks"]) == (1, [])  # it passes in both


def test_a_dataset_whose_oracle_was_corrected_is_not_taken_for_the_file_it_came_from(api: Api):
    body = {"name": "refunds", "rows": [REFUND_TASK], "reuse": True}
    first = api.post("/api/datasets", body)
    assert api.post("/api/datasets", body)["id"] == first["id"]
    api.put(f"/api/tasks/{first['task_ids'][0]}/oracle", {"expected_outcome": "refusal"})
    assert api.post("/api/datasets", body)["id"] != first["id"]


def test_runs_are_found_by_batch_verdict_and_status(api: Api):
    rows = [REFUND_TASK | {"user": f"Refund order #4521, please ({n})."} for n in range(4)]
    with played(fails_on(rows[0]["user"])) as agent:
        batch_id = api.start_batch(agent.url, *rows)
        other = api.start_batch(agent.url)
        api.ended(batch_id)
        api.ended(other)
    assert {run["batch_id"] for run in api.runs(batch_id)} == {batch_id}
    assert len(api.runs(batch_id, verdict="PASS")) == 3
    assert [run["failure_mode"] for run in api.runs(batch_id, verdict="FAIL")] == ["incomplete"]
    assert len(api.runs(batch_id, status="completed")) == 4
    assert api.runs(batch_id, status="failed") == []
    assert len(api.runs(other)) == 1


def test_pages_of_runs_meet_without_a_gap(api: Api):
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 7)
        api.ended(batch_id)
    seen, query = [], {"batch_id": batch_id, "limit": 3}
    for _ in count():
        page = api.get("/api/runs", **query)
        seen += [run["id"] for run in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert seen == [run["id"] for run in api.runs(batch_id)][::-1]


def test_test_connection_pings_and_begins_no_run(api: Api):
    with played(refunds) as agent:
        agent_id = api.agent(agent.url)["id"]
        assert api.post(f"/api/agents/{agent_id}/test-connection")["ok"] is True
        assert agent.dispatches == []


WRONG = {
    "no such agent": ({"agent_id": 999_999, "task_ids": [1]}, 404, "not_found"),
    "no agent": ({"task_ids": [1]}, 422, "invalid_request"),
    "neither dataset nor tasks": ({"agent_id": 1}, 422, "invalid_request"),
    "no repeats": ({"agent_id": 1, "task_ids": [1], "repeats": 0}, 422, "invalid_request"),
    "too many repeats": ({"agent_id": 1, "task_ids": [1], "repeats": 101}, 422, "invalid_request"),
    "a word it does not know": ({"agent_id": 1, "task_ids": [1], "colour": 1}, 422, "invalid_request"),
    "another mode": ({"agent_id": 1, "task_ids": [1], "mode": "dream"}, 422, "invalid_request"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_batch_that_cannot_be_is_refused(api: Api, name: str):
    body, status, code = WRONG[name]
    refused(api.client.post("/api/runs", json=body), status, code)


def test_a_batch_of_nothing_is_refused(api: Api):
    agent_id = api.agent("http://127.0.0.1:9/dispatch")["id"]
    refused(api.client.post("/api/runs", json={"agent_id": agent_id, "task_ids": []}), 422, "invalid_request")


def test_a_draft_is_not_dispatched(api: Api):
    agent = api.agent("http://127.0.0.1:9/dispatch", status="draft")
    dataset = api.dataset()
    body = {"agent_id": agent["id"], "dataset_id": dataset["id"]}
    refused(api.client.post("/api/runs", json=body), 409, "agent_is_draft")


def test_another_orgs_batch_is_not_there(api: Api):
    for method, path in [
        ("GET", "/api/batches/999999"),
        ("GET", "/api/batches/999999/events"),
        ("GET", "/api/batches/999999/export"),
        ("POST", "/api/batches/999999/cancel"),
        ("POST", "/api/batches/999999/resume"),
        ("POST", "/api/batches/999999/judge"),
        ("GET", "/api/batches/999999/compare?to=1"),
    ]:
        refused(api.client.request(method, path), 404, "not_found")
    stranger = httpx2.get(f"{api.url}/api/batches/1")
    refused(stranger, 401, "missing_api_key")
