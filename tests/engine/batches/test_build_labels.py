"""Build labels: given with a batch or a matrix, changed later, or reported by the agent."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.desk import refused
from support.played_agents import Dispatch, PlayedAgent, played
from support.pressure_matrix import EXPECTED, V1, ended_matrix, scenario
from support.server_process import Api


class Deployment:
    """What the agent reports as its build, reply by reply; the last one stays."""

    def __init__(self) -> None:
        self.builds: list[Any] = []

    def answers(self, dispatch: Dispatch) -> None:
        build = self.builds.pop(0) if len(self.builds) > 1 else self.builds[0] if self.builds else None
        dispatch.answer(json.dumps(EXPECTED), metadata={"build": build} if build is not None else {})


@pytest.fixture
def deployment() -> Deployment:
    return Deployment()


@pytest.fixture
def agent(deployment: Deployment) -> Iterator[PlayedAgent]:
    with played(deployment.answers) as agent:
        yield agent


def started(api: Api, agent: PlayedAgent, **asked: Any) -> dict[str, Any]:
    made = api.agent(agent.url)
    dataset = api.dataset(agent_id=made["id"])
    body = {"agent_id": made["id"], "dataset_id": dataset["id"]} | asked
    return api.ended(api.post("/api/runs", body, 202)["batch_id"])


def test_a_batch_keeps_the_label_it_was_started_with(api: Api, agent: PlayedAgent):
    batch = started(api, agent, label="3f2a1c", note="shorter prompt")
    assert (batch["label"], batch["note"], batch["reported_build"]) == ("3f2a1c", "shorter prompt", None)


def test_a_label_can_be_changed_and_removed_later(api: Api, agent: PlayedAgent):
    path = f"/api/batches/{started(api, agent, label='3f2a1c')['id']}/label"
    changed = api.put(path, {"label": "v2", "note": "shorter prompt"})
    assert (changed["label"], changed["note"]) == ("v2", "shorter prompt")
    removed = api.put(path, {"note": "shorter prompt"})
    assert (removed["label"], removed["note"]) == (None, "shorter prompt")
    error = refused(api.client.put(path, json={"label": "two\nlines", "lable": "v3"}), 422, "invalid_request")
    assert [problem["path"] for problem in error["details"]] == ["/lable", "/label"]


def test_the_build_that_the_agent_reports_stands_beside_the_label(
    api: Api, agent: PlayedAgent, deployment: Deployment
):
    deployment.builds = ["b1"]
    batch = started(api, agent, repeats=3)
    assert (batch["label"], batch["reported_build"], batch["has_other_builds"]) == (None, "b1", False)


def test_a_batch_whose_runs_report_different_builds_says_so(
    api: Api, agent: PlayedAgent, deployment: Deployment
):
    deployment.builds = ["b1", "b2"]
    batch = started(api, agent, repeats=3, concurrency=1)
    assert (batch["reported_build"], batch["has_other_builds"]) == ("b1", True)


def test_what_is_no_text_is_stored_and_names_no_build(api: Api, agent: PlayedAgent, deployment: Deployment):
    deployment.builds = [7]
    batch = started(api, agent)
    assert batch["reported_build"] is None
    assert api.only_run(batch["id"])["metadata"] == {"build": 7}


def test_a_matrix_has_the_label_of_its_batch(api: Api, agent: PlayedAgent):
    agent_id = api.agent(agent.url, tools_schema=[])["id"]
    asked = {"scenario_ids": [scenario(api)], "agent_id": agent_id, "variation_types": ["time_pressure"]}
    opened = api.post(f"{V1}/matrix", asked | {"label": "3f2a1c"}, 202)
    assert opened["label"] == "3f2a1c"
    ended_matrix(api, opened["matrix_id"])
    api.put(f"/api/batches/{opened['batch_id']}/label", {"label": "v2"})
    [listed] = api.get(f"{V1}/matrix")["items"]
    assert (listed["label"], listed["note"]) == ("v2", None)
