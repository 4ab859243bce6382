"""Thousands of pending runs: stored quickly, listed as usual, and gone at one word."""

from support.played_agents import holds, played
from support.server_process import REFUND_TASK, Api, eventually

TASKS, REPEATS = 50, 100


def test_five_thousand_pending_runs_leave_the_api_usable(api: Api):
    with played(holds) as agent:
        batch_id = api.start_batch(
            agent.url, *[REFUND_TASK] * TASKS, repeats=REPEATS, agent={"max_concurrency": 2}
        )
        eventually(lambda: agent.at_once == 2, "the batch is under way")
        batch = api.batch(batch_id)
        assert batch["counts"]["total"] == TASKS * REPEATS
        assert batch["counts"]["by_status"] == {"pending": TASKS * REPEATS - 2, "running": 2}
        page = api.get("/api/runs", batch_id=batch_id)
        assert len(page["items"]) == 50
        assert {run["status"] for run in page["items"]} == {"pending"}
        running = api.get("/api/runs", batch_id=batch_id, status="running")["items"]
        assert len(running) == 2
        small = api.start_batch(agent.url, agent={"max_concurrency": 1})
        eventually(lambda: agent.at_once == 3, "another agent's batch does not wait behind it")
        assert api.post(f"/api/batches/{batch_id}/cancel")["status"] == "cancelled"
        assert api.by_status(batch_id) == {"cancelled": TASKS * REPEATS}
        exported = [run["id"] for run in api.get(f"/api/batches/{batch_id}/export")["items"]]
        assert exported == sorted(set(exported))  # page after page, none twice
        assert len(exported) == TASKS * REPEATS
        table = api.client.get(f"/api/batches/{batch_id}/export", params={"format": "csv"}).text
        assert len(table.splitlines()) == TASKS * REPEATS + 1  # one header
        agent.may_answer.set()
        api.ended(small)
        assert len(agent.dispatches) == 3
