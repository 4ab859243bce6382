"""C3: uploads that many runs share, batches of many runs, and what is done to all runs of a batch at once."""

import json

from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.tenant import Row, Tenant, tool
from support.played_agents import does_nothing, played

TOOLS = [tool("get_order", {"order_id": {"type": "string"}})]


def world(megabytes: float) -> Row:
    """Many entities with a text each."""
    text = "x" * 900
    return {"order": {str(at): {"status": "open", "note": text} for at in range(int(megabytes * 1_000))}}


@kind("C3-repeats", growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def a_large_seed_many_times(tenant: Tenant) -> None:
    """A few tasks of several megabytes each, a hundred times."""
    rows = [{"user": f"Do {at}.", "state": world(tenant.size(4, 12))} for at in range(tenant.size(1, 3))]
    agent_id, dataset = tenant.agent(TOOLS), tenant.tasks(*rows, what="upload large worlds")
    asked = {"dataset_id": dataset["id"], "repeats": 100}
    with tenant.batch(agent_id, what="a large seed × 100", **asked) as batch_id:
        tenant.get(f"/api/runs?batch_id={batch_id}&limit=500", what="list runs of a large seed")


@kind("C3-inputs", growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def large_inputs_many_times(tenant: Tenant) -> None:
    """What is large is no world but the task's other columns."""
    filler = "y" * tenant.size(1_000_000, 8_000_000)
    rows: list[Row] = [
        {"user": "u" + filler},
        {"user": "input", "task_input": {"text": filler}},
        {"user": "expected", "expected_calls": [{"tool": "get_order", "arguments": {"order_id": filler}}]},
    ]
    agent_id, dataset = tenant.agent(TOOLS), tenant.tasks(*rows, what="upload large inputs")
    with tenant.batch(agent_id, what="large inputs × 100", dataset_id=dataset["id"], repeats=100) as batch_id:
        tenant.get(f"/api/runs?batch_id={batch_id}&limit=500", what="list runs of large inputs")


@kind("C3-many", growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def many_small_runs(tenant: Tenant) -> None:
    """As many runs as one request may ask for, stopped, taken up and stopped again."""
    rows = [
        {"user": f"Do {at}.", "state": {"order": {str(at): {"n": at}}}}
        for at in range(tenant.size(500, 5_000))
    ]
    agent_id, dataset = tenant.agent(TOOLS), tenant.tasks(*rows, what="upload many tasks")
    asked = {"dataset_id": dataset["id"], "repeats": tenant.size(10, 20)}
    with tenant.batch(agent_id, what="many runs", **asked) as batch_id:
        tenant.get(f"/api/batches/{batch_id}", what="read a batch of many runs")
        tenant.post(f"/api/batches/{batch_id}/cancel", what="cancel many runs")
        tenant.post(f"/api/batches/{batch_id}/resume", what="resume many runs")
        if tenant.is_long:
            tenant.get(f"/api/batches/{batch_id}/compare?to={batch_id}", what="compare a batch with itself")


@kind("C3-ended", growth_mb=MOST_GROWTH_BY_UPLOAD_MB, seconds=1.0)
def what_is_done_to_all_runs(tenant: Tenant) -> None:
    """A batch that ran, then judged anew, exported, compared and listed, all at once and again and again."""
    with played(does_nothing) as agent:
        agent_id = tenant.agent(TOOLS, endpoint_url=agent.url, max_concurrency=1_000)
        rows = [{"user": f"Do {at}.", "state": world(0.1)} for at in range(tenant.size(100, 1_000))]
        dataset = tenant.tasks(*rows, what="upload tasks")
        with tenant.batch(agent_id, dataset_id=dataset["id"], concurrency=1_000) as batch_id:
            tenant.wait_for(batch_id)
            paths = ["judge", "export", "export?format=csv", f"compare?to={batch_id}", ""]
            tenant.together(
                lambda path: tenant.ask(
                    "POST" if path == "judge" else "GET", f"/api/batches/{batch_id}/{path}".rstrip("/")
                ),
                paths * tenant.size(2, 10),
            )
            tenant.get(f"/api/datasets/{dataset['id']}/export", what="export the dataset")


@kind("C3-appended", growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def many_tasks_in_many_calls(tenant: Tenant) -> None:
    """Five thousand rows appended again and again, from several connections."""
    dataset = tenant.tasks({"user": "x"})["id"]
    rows = json.dumps(
        {"rows": [{"user": f"Do {at}.", "state": {"a": {"b": {"n": at}}}} for at in range(5_000)]}
    ).encode()
    path = f"/api/datasets/{dataset}/tasks"
    tenant.together(
        lambda _: tenant.post(path, rows, what="append 5,000 rows"), range(tenant.size(3, 20)), at_once=3
    )
    tenant.get(f"{path}?limit=500", what="list tasks")
    tenant.get(f"/api/datasets/{dataset}/export?format=json", what="export all of them")
