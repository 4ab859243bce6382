"""Cancelling a run or a batch: the unsent is never sent, the sent is hung up on, and both can go on later."""

from collections import Counter

from support.desk import refused
from support.played_agents import Dispatch, call_tool, holds, played, refunds, waits_for_the_end
from support.server_process import REFUND_TASK, Api, eventually

AGENT = {"max_concurrency": 2}


def calls_once_and_waits(dispatch: Dispatch) -> None:
    dispatch.call("refund_order", {"order_id": "4521"})
    dispatch.until_it_hangs_up()


def assert_tools_are_closed(api: Api, dispatch: Dispatch) -> None:
    late = call_tool(dispatch.proxy_url, dispatch.token, "get_order", {"order_id": "4521"})
    assert (late.status, late.body["error"]["code"]) == (409, "run_not_active")
    assert api.trace(dispatch.run_id)[-1]["error_code"] == "run_not_active"


def test_a_cancelled_batch_sends_no_more_and_hangs_up(api: Api):
    with played(calls_once_and_waits) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 6, agent=AGENT)
        eventually(lambda: agent.at_once == 2, "two dispatches are held")
        cancelled = api.post(f"/api/batches/{batch_id}/cancel")
        assert cancelled["status"] == "cancelled"
        assert api.batch(batch_id)["counts"]["by_status"] == {"cancelled": 6}
        eventually(lambda: len(agent.hung_up) == 2, "both connections are closed")
        assert len(agent.dispatches) == 2
        for dispatch in agent.dispatches:
            assert_tools_are_closed(api, dispatch)
    runs = api.runs(batch_id)
    assert {run["verdict"] for run in runs} == {None}
    assert sum(run["dispatched_at"] is not None for run in runs) == 2
    refused(api.client.post(f"/api/batches/{batch_id}/cancel"), 409, "conflict")


def test_a_cancelled_batch_goes_on_when_it_is_resumed(api: Api):
    with played(waits_for_the_end) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 6, agent=AGENT)
        eventually(lambda: agent.at_once == 2, "two dispatches are held")
        api.post(f"/api/batches/{batch_id}/cancel")
        sent = set(agent.runs_seen)
        agent.behave = refunds
        assert api.post(f"/api/batches/{batch_id}/resume", status=202)["status"] == "running"
        batch = api.ended(batch_id)
        assert batch["counts"] == {"total": 6, "by_status": {"completed": 6}, "by_verdict": {"PASS": 6}}
        runs = {run["id"]: run for run in api.runs(batch_id)}
        assert len(runs) == 8  # the two that were sent stay as they ended, with a new attempt each
        assert {run_id for run_id, run in runs.items() if run["status"] == "cancelled"} == sent
        assert agent.runs_seen == Counter(runs.keys())
        assert Counter((run["task_id"], run["repeat_number"]) for run in runs.values()) == Counter(
            {(run["task_id"], 1): 2 if run["id"] in sent else 1 for run in runs.values()}
            | {(runs[run_id]["task_id"], 1): 2 for run_id in sent}
        )


def test_resuming_a_batch_that_runs_repeats_nothing(api: Api):
    with played(holds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 10, agent=AGENT)
        eventually(lambda: agent.at_once == 2, "two dispatches are held")
        for _ in range(3):
            assert api.post(f"/api/batches/{batch_id}/resume", status=202)["status"] == "running"
        agent.may_answer.set()
        batch = api.ended(batch_id)
        assert batch["counts"] == {"total": 10, "by_status": {"completed": 10}, "by_verdict": {"PASS": 10}}
        assert agent.most_at_once <= 2
        assert set(agent.runs_seen.values()) == {1}


def test_one_run_is_cancelled_and_the_others_go_on(api: Api):
    with played(holds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 4, agent=AGENT)
        eventually(lambda: agent.at_once == 2, "two dispatches are held")
        under_way = agent.dispatches[0]
        waiting = next(run["id"] for run in api.runs(batch_id, status="pending"))
        assert api.post(f"/api/runs/{waiting}/cancel")["status"] == "cancelled"
        assert api.post(f"/api/runs/{under_way.run_id}/cancel")["status"] == "cancelled"
        assert_tools_are_closed(api, under_way)
        agent.may_answer.set()
        batch = api.ended(batch_id)
        assert batch["status"] == "completed"
        assert batch["counts"]["by_status"] == {"cancelled": 2, "completed": 2}
        assert waiting not in agent.runs_seen
        refused(api.client.post(f"/api/runs/{waiting}/cancel"), 409, "run_not_active")


def test_a_run_cancelled_under_way_is_hung_up_on(api: Api):
    with played(waits_for_the_end) as agent:
        batch_id = api.start_batch(agent.url)
        eventually(lambda: agent.at_once == 1, "the dispatch is held")
        (run_id,) = agent.runs_seen
        api.post(f"/api/runs/{run_id}/cancel")
        eventually(lambda: agent.hung_up == [run_id], "the connection is closed")
        assert api.ended(batch_id)["counts"]["by_status"] == {"cancelled": 1}


def test_a_cancelled_run_is_not_judged(api: Api):
    with played(waits_for_the_end) as agent:
        batch_id = api.start_batch(agent.url)
        eventually(lambda: agent.at_once == 1, "the dispatch is held")
        (run_id,) = agent.runs_seen
        api.post(f"/api/runs/{run_id}/cancel")
        refused(api.client.post(f"/api/runs/{run_id}/judge"), 409, "conflict")
    assert api.ended(batch_id)["counts"]["by_verdict"] == {}
