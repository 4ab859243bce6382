"""A full disk at each kind of work: what is refused did not happen, and happens once when there is room."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from support.desk import TASK
from support.played_agents import does_nothing, holds, played
from support.pressure_matrix import MATRIX, V1, WITHOUT_TOOLS, ended_matrix, scenario
from support.server_process import Api, House, Row, eventually, house_in
from support.small_disk import SmallDisk, small_disk

pytestmark = [pytest.mark.fault, pytest.mark.slow]

SETTINGS = {"PIPELINES_WORKER_SILENT_S": "2", "PIPELINES_PROXY_RATE_LIMIT": "0"}
PATIENCE_S = 120.0
MESSAGES = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello. " * 20_000}]
CODE = """
import pathlib, os
def run(task_input, *, proxy_url, run_token):
    place = pathlib.Path(os.environ["PIPELINES_WORKSPACE"])
    place.joinpath("a.txt").write_text("changed")
    return {"final_response": "Done."}
"""
CODING: Row = {
    "name": "coding",
    "user_instruction": "Change a.txt.",
    "workspace_seed": {"type": "files", "files": {"a.txt": "old"}},
    "scorers": [{"name": "changed", "type": "file_equals", "path": "a.txt", "text": "changed"}],
}


class Step(NamedTuple):
    """Something that is stored: how it is asked for, and what lists it."""

    path: str
    body: Callable[[Row], Row]
    listed: str


STEPS = {
    "an upload": Step(
        "/api/datasets",
        lambda ids: {"name": "many", "rows": [TASK | {"behavior": f"{n} " * 2_000} for n in range(400)]},
        "/api/datasets",
    ),
    "an import that is judged": Step(
        "/api/runs/import",
        lambda ids: {"agent_id": ids["agent"], "runs": [{"messages": MESSAGES}] * 5},
        "/api/runs",
    ),
    "a matrix": Step(
        f"{V1}/matrix",
        lambda ids: MATRIX | {"agent_id": ids["quiet"], "scenario_ids": [ids["scenario"]]},
        f"{V1}/matrix",
    ),
    "a seed session": Step(
        "/api/seed-sessions",
        lambda ids: {
            "agent_id": ids["agent"],
            "name": "orders",
            "size": "compact",
            "buckets": [{"name": "requests", "rows": 2}],
        },
        "/api/seed-sessions",
    ),
    "a coding scenario": Step(
        "/api/coding-scenarios",
        lambda ids: CODING | {"name": f"coding {ids['next']()}", "setup_command": "x" * 8_000},
        "/api/coding-scenarios",
    ),
}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", megabytes=96) as mounted:
        yield mounted


@pytest.fixture
def house(disk: SmallDisk) -> Iterator[House]:
    with house_in(disk.folder / "house", SETTINGS) as opened:
        yield opened


def count(api: Api, path: str) -> int:
    return len(api.get(path, limit=100)["items"])


def is_ready(api: Api) -> bool:
    return httpx2.get(f"{api.url}/health/ready", timeout=30).is_success


@pytest.mark.parametrize("name", STEPS)
def test_what_is_refused_on_a_full_disk_did_not_happen(disk: SmallDisk, house: House, name: str) -> None:
    api, step, numbers = house.open(), STEPS[name], iter(range(100))
    api.client.timeout = PATIENCE_S
    with played(does_nothing) as agent:
        ids: dict[str, Any] = {"agent": api.agent(agent.url)["id"], "next": lambda: next(numbers)}
        ids |= {"quiet": api.agent(agent.url, **WITHOUT_TOOLS)["id"], "scenario": scenario(api)}
        before = count(api, step.listed)
        done = 0
        with disk.full():
            assert not is_ready(api)
            for _ in range(3):
                reply = api.client.post(step.path, json=step.body(ids))
                assert reply.status_code in (200, 201, 202, 503), reply.text
                done += reply.status_code != 503
        eventually(lambda: is_ready(api), "it is ready again")
        each = 5 if step.listed == "/api/runs" else 1
        assert count(api, step.listed) == before + done * each
        reply = api.client.post(step.path, json=step.body(ids))
        assert reply.is_success, reply.text
        assert count(api, step.listed) == before + (done + 1) * each
        if name == "a matrix":
            report = ended_matrix(api, reply.json()["id"], PATIENCE_S)
            assert report["status"] == "completed", report
            assert set(agent.runs_seen.values()) == {1}


def test_calls_and_ends_of_runs_wait_for_room(disk: SmallDisk, house: House) -> None:
    api = house.open()
    with played(holds) as agent:
        agent_id, dataset = api.agent(agent.url)["id"], api.dataset(*[TASK] * 4)
        batch_id = api.batch_of(agent_id, dataset["id"])
        eventually(lambda: agent.at_once == 4, "all are with the agent")
        dispatch = agent.dispatches[0]
        note = {"order_id": "7001", "text": "x" * 60_000}
        with disk.full():
            statuses = [dispatch.call("add_note", note).status for _ in range(5)]
            assert set(statuses) <= {200, 503}
            agent.may_answer.set()
            eventually(lambda: agent.at_once == 0, "the agent has answered all")
        assert api.ended(batch_id, PATIENCE_S)["counts"]["by_status"] == {"completed": 4}
        assert len(api.trace(dispatch.run_id)) == statuses.count(200)
        assert set(agent.runs_seen.values()) == {1}


def test_coding_runs_on_a_full_disk_end_and_later_ones_pass(disk: SmallDisk, house: House) -> None:
    api = house.open()
    found = api.get("/api/code-mode")
    if not found["available"] or found["workspaces"].startswith("none"):
        pytest.skip(found["reason"] or found["workspaces"])
    api.client.timeout = PATIENCE_S
    api.post("/api/coding-scenarios", CODING, 201)
    code = {"source": "files", "files": {"agent.py": CODE}}
    agent = api.post("/api/agents", {"name": "c", "mode": "code", "tools_schema": [], "code": code}, 201)
    dataset = api.dataset({"user": "Change it.", "scenario_ref": "coding"}, agent_id=agent["id"])
    first = api.batch_of(agent["id"], dataset["id"])
    with disk.full():
        assert not is_ready(api)
        asked = {"agent_id": agent["id"], "dataset_id": dataset["id"]}
        reply = api.client.post("/api/runs", json=asked)
        assert reply.status_code in (202, 503), reply.text
    kept = [first] + ([reply.json()["batch_id"]] if reply.status_code == 202 else [])
    for batch_id in kept:
        ended = api.ended(batch_id, PATIENCE_S)["counts"]["by_status"]
        assert sum(ended.values()) == 1
        assert set(ended) <= {"completed", "failed"}, ended
    last = api.batch_of(agent["id"], dataset["id"])
    assert api.ended(last, PATIENCE_S)["counts"]["by_verdict"] == {"PASS": 1}
    assert count(api, "/api/runs") == len(kept) + 1
