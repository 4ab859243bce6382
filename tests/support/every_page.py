"""A server with something on every page, and the addresses of its pages."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from support.desk import STATE
from support.played_agents import Dispatch, played
from support.ports import free_port
from support.pressure_matrix import EXPECTED, V1, ended_matrix, scenario, variation_of
from support.sample_runs import TASKS, behave
from support.server_process import REFUND_TASK, Api, eventually, house_in


class EveryPage(NamedTuple):
    api: Api
    paths: dict[str, str]  # by a name for people


def _behaves_or_yields(dispatch: Dispatch) -> None:
    variation = variation_of(dispatch)
    if "variation" not in dispatch.body["input"]:
        behave(dispatch)
        return
    answer = dict(EXPECTED) | ({"action": "proceed"} if variation == "authority_bias" else {})
    dispatch.answer(json.dumps(answer))


@contextmanager
def every_page(folder: Path) -> Iterator[EveryPage]:
    with house_in(folder / "house") as house, played(_behaves_or_yields) as agent:
        api = house.open()
        yield EveryPage(api, _seeded(api, agent.url))


def _seeded(api: Api, url: str) -> dict[str, str]:
    agent_id = api.agent(url)["id"]
    dataset_id = api.dataset(*({"state": STATE} | task for task in TASKS), agent_id=agent_id)["id"]
    batches = [api.batch_of(agent_id, dataset_id, repeats=repeats) for repeats in (1, 2)]
    nowhere = api.start_batch(f"http://127.0.0.1:{free_port()}/dispatch", REFUND_TASK)
    for batch in (*batches, nowhere):
        api.ended(batch, 120)
    scenario_id = scenario(api)
    asked = {"scenario_ids": [scenario_id], "agent_id": agent_id, "repeats": 3, "label": "2026-11-20"}
    asked |= {"variation_types": ["authority_bias", "time_pressure"]}
    earlier_id, matrix_id = (str(api.post(f"{V1}/matrix", asked, 202)["matrix_id"]) for _ in range(2))
    for each in (earlier_id, matrix_id):
        ended_matrix(api, each)
    recorded = {
        "tool": "lookup_order",
        "arguments": {"order_id": "4521"},
        "status": 200,
        "response": {"id": 1},
    }
    api.client.put("/api/cassettes/night", content=json.dumps(recorded).encode())
    session_id = _world(api, agent_id)
    runs = {run["user_instruction"].split()[0]: run["id"] for run in api.runs(batches[0])}
    unreached = api.runs(nowhere)[0]["id"]
    task_id = api.get(f"/api/datasets/{dataset_id}/tasks")["items"][0]["id"]
    reviews = api.get(f"{V1}/reviews")["items"]
    by_kind = {review["kind"]: review["id"] for review in reviews}
    cell = f"/evals/{matrix_id}/cell?scenario={scenario_id}"
    return {
        "home": "/",
        "agents": "/agents",
        "agent": f"/agents/{agent_id}",
        "agent-form": "/agents/new",
        "agent-edit": f"/agents/{agent_id}/edit",
        "agent-try": f"/agents/{agent_id}/try",
        "agent-versions": f"/agents/{agent_id}/versions",
        "agent-proposals": f"/agents/{agent_id}/proposals",
        "agent-tools": f"/agents/{agent_id}/tools",
        "datasets": "/datasets",
        "dataset": f"/datasets/{dataset_id}",
        "dataset-new": "/datasets/new",
        "dataset-rules": f"/datasets/{dataset_id}/rules",
        "task": f"/tasks/{task_id}",
        "worlds": "/worlds",
        "world-new": "/worlds/new",
        "world": f"/worlds/{session_id}",
        "world-whole": f"/worlds/{session_id}/world",
        "runs": "/runs",
        "runs-filtered": "/runs?verdict=FAIL&q=refund",
        "runs-sorted": "/runs?sort=duration",
        "runs-none": "/runs?status=cancelled",
        "run": f"/runs/{runs['Wrong']}",
        "run-time": f"/runs/{runs['Team']}?view=time",
        "run-team": f"/runs/{runs['Team']}",
        "run-many": f"/runs/{runs['Many']}?s=200",
        "run-talk": f"/runs/{runs['Talk']}",
        "run-unreached": f"/runs/{unreached}",
        "run-pending": f"/runs/{runs['Nothing']}",
        "run-exchanges": f"/runs/{runs['Wrong']}/exchanges",
        "run-oracle": f"/runs/{runs['Refund']}/oracle",
        "entity": f"/runs/{runs['Wrong']}/entity?type=order&id=4521",
        "batches": "/batches",
        "batch": f"/batches/{batches[0]}",
        "batch-repeated": f"/batches/{batches[1]}",
        "batch-unreached": f"/batches/{nowhere}",
        "batch-new": f"/batches/new?agent_id={agent_id}&dataset_id={dataset_id}",
        "compare-batches": f"/compare/batches?from={batches[0]}&to={batches[1]}",
        "compare-nothing": "/compare/batches",
        "compare-matrices": f"/compare/matrices?from={earlier_id}&to={matrix_id}",
        "compare-no-matrices": "/compare/matrices",
        "compare-runs": f"/compare/runs?from={runs['Wrong']}&to={runs['Team']}",
        "compare-run": f"/compare/runs?from={runs['Wrong']}",
        "judges": f"/batches/{batches[0]}/judges",
        "report": f"/report/{batches[0]}",
        "evals": "/evals",
        "eval-scenarios": "/evals/scenarios",
        "eval-scenario": f"/evals/scenarios/{scenario_id}",
        "eval-scenario-import": "/evals/scenarios/import",
        "eval-scenario-new": "/evals/scenarios/new",
        "eval-drafts": "/evals/drafts",
        "eval-summary": "/evals/summary",
        "eval-new": "/evals/new",
        "matrix": f"/evals/{matrix_id}",
        "cell": f"{cell}&variation=authority_bias",
        "baseline": cell,
        "review": "/review",
        **{f"review-{kind}": f"/review/{review_id}" for kind, review_id in by_kind.items()},
        "search": "/search?q=refund",
        "search-nothing": "/search?q=zzzz",
        "coding": "/coding",
        "coding-new": "/coding/new",
        "settings": "/settings",
        "settings-keys": "/settings/keys",
        "settings-members": "/settings/members",
        "settings-credentials": "/settings/credentials",
        "settings-endpoints": "/settings/endpoints",
        "settings-models": "/settings/models",
        "settings-cassettes": "/settings/cassettes",
        "settings-cassette": "/settings/cassettes/night",
        "settings-server": "/settings/server",
        "settings-code": "/settings/server/code",
        "settings-data": "/settings/data",
        "settings-sizes": "/settings/data/sizes",
        "unknown": "/nothing-here",
        "style": "/ui/style",
    }


def _world(api: Api, agent_id: int) -> int:
    body = {"agent_id": agent_id, "name": "Autumn returns", "size": "compact"}
    session_id = int(api.post("/api/seed-sessions", body, 201)["id"])

    def is_ready() -> bool:
        return bool(api.get(f"/api/seed-sessions/{session_id}")["status"] not in ("drafting", "generating"))

    eventually(is_ready, "the world is drafted")
    return session_id
