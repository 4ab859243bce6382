"""B: what is exported, estimated and compared of large batches and matrices, by many at once."""

from collections.abc import Callable

from hostile.evals import SCENARIO, V1
from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.pages import MARKUP, look
from hostile.tenant import Row, Tenant, tool
from support.played_agents import Dispatch, played

LARGE = "x" * 49_000
ECHO = tool("echo", {"x": {}}, simulation=[{"return": "args.x"}])


@kind("B-exports", seconds=3.0, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def exports_of_a_batch(tenant: Tenant) -> None:
    """Every way to have a whole batch, whose tasks, calls, answers and transcripts are long."""

    def behave(dispatch: Dispatch) -> None:
        for _ in range(3):
            dispatch.call("echo", {"x": [MARKUP * 500] * 20})
        messages = [{"role": "assistant", "content": MARKUP * 200}] * 300
        dispatch.answer(f"{dispatch.run_id} {LARGE}", messages=messages)

    with played(behave) as agent:
        agent_id = tenant.agent([ECHO], endpoint_url=agent.url)
        rows = [{"user": f"{at} {MARKUP * 1_000}", "task_input": {"x": LARGE * 4}} for at in range(20)]
        dataset = tenant.tasks(*rows)
        asked: Row = {"dataset_id": dataset["id"], "repeats": tenant.size(1, 10), "concurrency": 8}
        with tenant.batch(agent_id, **asked) as batch_id:
            tenant.wait_for(batch_id)
        run = tenant.get(f"/api/runs?batch_id={batch_id}&limit=1", what="a run").json()["items"][0]["id"]
        own, one = f"/api/batches/{batch_id}", f"/api/runs/{run}"
        paths = [
            *(f"{own}/export?format=csv", f"{own}/export?format=json", f"{own}/report/contents", own),
            *(f"{own}/report?max_mb=50", f"{own}/compare?to={batch_id}", f"{own}/judges"),
            *(f"{one}/export", f"{one}/export?format=atif", f"{one}/trace?limit=500", f"{one}/ledger", one),
            *(f"/api/datasets/{dataset['id']}/export", f"/api/datasets/{dataset['id']}/tasks?limit=500"),
            *(f"/api/runs/estimate?agent_id={agent_id}&dataset_id={dataset['id']}", "/api/runs?limit=500"),
            *(f"/api/tasks/{dataset['task_ids'][0]}", "/api/judges/calibration", f"{V1}/reviews/agreement"),
        ]
        tenant.together(lambda path: tenant.get(path, what=path.partition("?")[0]), paths * 3, at_once=12)


QUERIES: dict[str, str] = {
    "letters": "a" * 200,
    "any": "%25" * 60,
    "one each": "_" * 200,
    "words": "+".join(["a"] * 90),
    "a number": "9" * 18,
    "signs": "%E2%80%AE%3Cb%3E" * 12,
    "quotes": "%27%22%5C" * 20,
}
PLACES: tuple[Callable[[str], str], ...] = (
    lambda words: f"/search?q={words}",
    lambda words: f"/runs?q={words}",
    lambda words: f"/agents?q={words}",
    lambda words: f"/datasets?q={words}",
    lambda words: f"/evals/scenarios?q={words}",
)


@kind("B-search", seconds=2.5)
def searches(tenant: Tenant) -> None:
    """Hundreds of things with long names, and words that nearly match all of them, asked by many."""
    agent_id = tenant.agent([])
    rows = [{"user": "a" * 5_000, "task_input": {"x": "a" * 20_000}} for _ in range(200)]
    dataset = tenant.tasks(*rows, agent_id=agent_id)
    with tenant.batch(agent_id, dataset_id=dataset["id"], repeats=tenant.size(3, 10)):
        for at in range(tenant.size(30, 300)):
            tenant.post(f"{V1}/scenarios", SCENARIO | {"name": "a" * 240 + str(at)}, what="a scenario")
            if not tenant.has_time:
                break
        tenant.until += 2.0  # what was made is looked for
        asked = [place(words) for _, words in tenant.shuffled(QUERIES, "letters") for place in PLACES]
        look(tenant, asked * tenant.size(2, 5), at_once=12)
