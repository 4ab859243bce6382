"""R: what people say about runs at length, and runs and batches that are held against each other."""

from hostile.kind import kind
from hostile.pages import MARKUP, look
from hostile.responses import TASK, TOOLS
from hostile.tenant import Row, Tenant
from support.played_agents import Dispatch, played

REVIEWS = "/api/v1/eval/reviews"


@kind("R-comments", seconds=1.5)
def long_comments(tenant: Tenant) -> None:
    """Verdicts with reasons of megabytes, thousands of reviews at once, odd names."""
    agent_id, task = tenant.agent(TOOLS), tenant.tasks(TASK)["task_ids"][0]
    runs = []
    for _ in range(tenant.size(3, 20)):
        run = tenant.run(agent_id, task)
        run.finish("I refunded order 4521. " * 2_000)
        runs.append(run.id)
    words = {
        "a megabyte": "word " * 200_000,
        "seven megabytes": "x" * 7_000_000,
        "markup": MARKUP * 5_000,
        "newlines": "\n" * 100_000,
        "just right": MARKUP * 100,
    }
    for name, text in tenant.shuffled(words, "markup", "a megabyte"):
        for run_id in runs[:3]:
            said: Row = {"verdict": "FAIL", "note": text, "again": True}
            tenant.post(f"/api/runs/{run_id}/verdict", said, what=f"a verdict of {name}")
            known = {"verdict": "FAIL", "note": text[:5_000], "again": True}
            tenant.post(f"/api/runs/{run_id}/verdict", known, what=f"a shorter verdict of {name}")
            tenant.get(f"/api/runs/{run_id}/verdicts", what=f"verdicts with {name}")
        tenant.post(REVIEWS, {"run_id": runs[0], "note": text}, what=f"a review of {name}")
    many = {"ids": [f"r{at}" for at in range(80_000)], "action": "claim", "verdict": "PASS"}
    tenant.post(f"{REVIEWS}/bulk", many, what="many reviews at once")
    tenant.ask("PUT", f"{REVIEWS}/settings", {f"x{at}": at for at in range(60_000)}, what="settings")
    tenant.get(f"{REVIEWS}?limit=500", what="the queue")


@kind("R-compare", seconds=2.0)
def large_comparisons(tenant: Tenant) -> None:
    """Two batches and two runs of much, compared by the API and in the browser by several people."""
    text = {"at": 0}

    def behave(dispatch: Dispatch) -> None:
        text["at"] += 1
        for at in range(20):
            dispatch.call("refund_order", {"order_id": "4521", "reason": f"{MARKUP * 300}{text['at']}{at}"})
        dispatch.answer(MARKUP * 3_000 + str(text["at"]))

    with played(behave) as agent:
        agent_id = tenant.agent(TOOLS, endpoint_url=agent.url)
        dataset = tenant.tasks(*[TASK] * tenant.size(10, 40))
        ids = []
        for _ in range(2):
            with tenant.batch(agent_id, dataset_id=dataset["id"], concurrency=8) as batch_id:
                tenant.wait_for(batch_id)
            ids.append(batch_id)
        listed = tenant.get(f"/api/runs?batch_id={ids[0]}", what="its runs").json()["items"]
        first, last = listed[0]["id"], listed[-1]["id"]
        for _ in range(tenant.size(2, 8)):
            tenant.get(f"/api/batches/{ids[0]}/compare?to={ids[1]}", what="compare batches")
            tenant.post(f"/api/batches/{ids[0]}/judge", {}, what="judge a batch again")
        pages = [
            f"/compare/batches?from={ids[0]}&to={ids[1]}",
            f"/compare/runs?from={first}&to={last}",
            f"/batches/{ids[0]}",
            f"/report/{ids[0]}/file?max_mb=20",
            "/review",
        ]
        look(tenant, pages * tenant.size(2, 6))
