"""`honesty: strict`: asked for by a batch, a dataset or an agent, and kept by the batch."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.desk import refused
from support.played_agents import Dispatch, PlayedAgent, played
from support.server_process import Api

Row = dict[str, Any]
STRICT = {"honesty": "strict"}


@pytest.fixture
def agent() -> Iterator[PlayedAgent]:
    def answers(dispatch: Dispatch) -> None:
        dispatch.answer("Done.")

    with played(answers) as agent:
        yield agent


def opened(api: Api, agent: PlayedAgent, *, by_agent: str | None, by_dataset: str | None) -> Row:
    made = api.agent(agent.url, config={"honesty": by_agent} if by_agent else {})
    dataset = api.dataset(agent_id=made["id"])
    if by_dataset is not None:
        assert (
            api.put(f"/api/datasets/{dataset['id']}/honesty", {"honesty": by_dataset})["honesty"]
            == by_dataset
        )
    return {"agent_id": made["id"], "dataset_id": dataset["id"]}


def ended(api: Api, body: Row, **asked: Any) -> Row:
    batch_id = api.post("/api/runs", body | asked, 202)["batch_id"]
    return api.ended(batch_id)


def judged(api: Api, batch: Row) -> str:
    return str(api.only_run(batch["id"])["judgement"].get("honesty", "standard"))


CASES = {
    "nobody asks": (None, None, None, "standard"),
    "the agent asks": ("strict", None, None, "strict"),
    "the dataset asks": (None, "strict", None, "strict"),
    "the batch asks": (None, None, "strict", "strict"),
    "the dataset goes before the agent": ("strict", "standard", None, "standard"),
    "the batch goes before both": ("strict", "strict", "standard", "standard"),
}


@pytest.mark.parametrize(("by_agent", "by_dataset", "by_batch", "expected"), CASES.values(), ids=CASES)
def test_who_decides_how_strictly_words_are_judged(
    api: Api,
    agent: PlayedAgent,
    by_agent: str | None,
    by_dataset: str | None,
    by_batch: str | None,
    expected: str,
):
    body = opened(api, agent, by_agent=by_agent, by_dataset=by_dataset)
    batch = ended(api, body, **({"honesty": by_batch} if by_batch else {}))
    assert (batch["honesty"], judged(api, batch)) == (expected, expected)


def test_some_tasks_of_a_dataset_are_judged_by_its_setting(api: Api, agent: PlayedAgent):
    body = opened(api, agent, by_agent=None, by_dataset="strict")
    [task] = api.get(f"/api/datasets/{body['dataset_id']}/tasks")["items"]
    assert ended(api, {"agent_id": body["agent_id"]}, task_ids=[task["id"]])["honesty"] == "strict"


def test_a_batch_keeps_its_setting_and_may_be_judged_again_by_another(api: Api, agent: PlayedAgent):
    body = opened(api, agent, by_agent=None, by_dataset=None)
    batch = ended(api, body)
    api.put(f"/api/datasets/{body['dataset_id']}/honesty", STRICT)
    path = f"/api/batches/{batch['id']}/judge"
    api.post(path)
    assert judged(api, batch) == "standard"
    api.post(path, STRICT)
    assert (judged(api, batch), api.batch(batch["id"])["honesty"]) == ("strict", "standard")
    api.post(path)
    assert judged(api, batch) == "standard"


def test_two_batches_of_different_strictness_are_compared_with_a_warning(api: Api, agent: PlayedAgent):
    body = opened(api, agent, by_agent=None, by_dataset=None)
    first, second = ended(api, body), ended(api, body, **STRICT)
    told = api.get(f"/api/batches/{first['id']}/compare", to=second["id"])
    assert "honesty was standard, and is strict" in told["warnings"]


def test_a_dataset_takes_its_setting_back(api: Api):
    dataset = api.dataset()
    assert dataset.get("honesty") is None
    path = f"/api/datasets/{dataset['id']}/honesty"
    assert api.put(path, STRICT)["honesty"] == "strict"
    assert api.put(path, {"honesty": None})["honesty"] is None
    assert api.get(f"/api/datasets/{dataset['id']}")["honesty"] is None


@pytest.mark.parametrize("wrong", ["severe", 1, True, []])
def test_anything_else_is_refused_everywhere(api: Api, wrong: Any):
    dataset = api.dataset()
    asked = {
        "/api/runs": ("POST", {"agent_id": 1, "dataset_id": dataset["id"], "honesty": wrong}),
        "/api/batches/1/judge": ("POST", {"honesty": wrong}),
        f"/api/datasets/{dataset['id']}/honesty": ("PUT", {"honesty": wrong}),
    }
    for path, (method, body) in asked.items():
        error = refused(api.client.request(method, path, json=body), 422, "invalid_request")
        assert [problem["path"] for problem in error["details"]] == ["/honesty"], path
    made = api.client.post("/api/agents", json={"name": "x", "config": {"honesty": wrong}, "draft": True})
    error = refused(made, 422, "invalid_request")
    assert "/config/honesty" in [problem["path"] for problem in error["details"]]
