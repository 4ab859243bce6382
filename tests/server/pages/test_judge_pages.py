"""Pages of judge models: what one said of a run, what it is worth, and two of them side by side."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pipelines.core.verdict.model_judge.rubric import PROMPT_VERSION
from support.judge_attacks import entry_for
from support.page_requests import sent, signed_in
from support.played_agents import Dispatch, played
from support.server_process import Api, house_in

HOSTILE = "<img src=x onerror=alert(1)>"
IDS = ("task_completion", "right_refusal", "tool_use")


def script(path: Path, status: str) -> str:
    criteria = [entry_for(id, status) for id in IDS]
    criteria[0] |= {"reasoning": f"The poem is about the order. {HOSTILE}", "evidence": [1]}
    lines = [{"purpose": "judge", "answer": {"criteria": criteria}}, {"price_per_million_tokens": 2.5}]
    path.write_text("\n".join(map(json.dumps, lines)))
    return f"scripted:{path}"


def looks(dispatch: Dispatch) -> None:
    dispatch.call("get_order", {"order_id": "4521"})
    dispatch.answer("A fine order it is.")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    return script(tmp_path_factory.mktemp("scripts") / "strict.jsonl", "not_met")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, other: str) -> Iterator[tuple[Api, int]]:
    """A server, and a batch of two runs that its judge passed."""
    folder = tmp_path_factory.mktemp("judges")
    named = {"PIPELINES_JUDGE_MODEL": script(folder / "kind.jsonl", "met")}
    with house_in(folder / "house", named) as house, played(looks) as agent:
        api = house.open()
        agent_id = api.agent(agent.url)["id"]
        tasks = [{"user": f"Write a poem about order 4521. {n}"} for n in range(2)]
        batch_id = api.batch_of(agent_id, api.dataset(*tasks, agent_id=agent_id)["id"])
        api.ended(batch_id)
        yield api, batch_id


@pytest.fixture(scope="module")
def owner(judged: tuple[Api, int]) -> Iterator[httpx2.Client]:
    with signed_in(judged[0]) as client:
        yield client


def run_of(judged: tuple[Api, int]) -> Any:
    api, batch_id = judged
    return api.get("/api/runs", batch_id=batch_id)["items"][0]


def test_a_run_shows_its_criteria_its_judge_and_what_it_cost(
    judged: tuple[Api, int], owner: httpx2.Client
) -> None:
    run = run_of(judged)
    assert run["verdict"] == "PASS"
    text = owner.get(f"/runs/{run['id']}").text
    assert "task completion" in text
    assert "The poem is about the order." in text
    assert HOSTILE not in text
    assert 'data-s="1"' in text, "its evidence leads to the step"
    assert "uncalibrated" in text
    assert PROMPT_VERSION in text
    assert "/settings/models/exchanges/" in text


def test_a_run_shows_beside_the_agents_cost_that_of_each_purpose(
    judged: tuple[Api, int], owner: httpx2.Client
) -> None:
    run = run_of(judged)
    costs = judged[0].get(f"/api/runs/{run['id']}")["costs"]["judge"]
    strip = owner.get(f"/runs/{run['id']}").text.partition('id="trace-strip"')[2].partition("</div>")[0]
    assert f'href="/runs/{run["id"]}/exchanges"' in strip
    assert f"judge ${costs['cost_usd']:.4f}" in strip
    assert "cost not reported" in strip, "of the agent"


def test_a_batch_shows_what_its_models_cost_and_the_next_one_is_estimated_by_it(
    judged: tuple[Api, int], owner: httpx2.Client
) -> None:
    api, batch_id = judged
    batch = api.get(f"/api/batches/{batch_id}")
    costs = batch["costs"]["judge"]
    text = " ".join(owner.get(f"/batches/{batch_id}").text.split())
    assert f"judge ${costs['cost_usd']:.4f}" in text.partition('aria-label="Cost of models"')[2][:200]
    query = {"agent_id": batch["agent_id"], "dataset_id": batch["dataset_id"], "repeats": 3}
    told = api.get("/api/runs/estimate", **query)["models"]["cost_usd"]
    assert told == pytest.approx(costs["cost_usd"] * 3)
    shown = owner.get("/batches/new/estimate", params=query).text.partition("Models")[2]
    assert f"about ${told:.2f}" in " ".join(shown.split())


def test_where_one_judge_has_read_a_batch_the_page_says_how_to_have_another(
    judged: tuple[Api, int], owner: httpx2.Client
) -> None:
    text = owner.get(f"/batches/{judged[1]}/judges").text
    assert "Only one judge model has judged runs of this batch" in text


def test_another_model_reads_a_run_and_what_is_wrong_with_its_name_is_said(
    judged: tuple[Api, int], owner: httpx2.Client, other: str
) -> None:
    run_id = run_of(judged)["id"]
    path = f"/runs/{run_id}"
    sent(owner, f"{path}/judge", {"model": "opnai:x"})
    assert "there is no provider" in owner.get(path).text
    sent(owner, f"{path}/judge", {"model": other})
    assert "PASS → FAIL" in owner.get(path).text


def test_two_judges_stand_side_by_side(judged: tuple[Api, int], owner: httpx2.Client, other: str) -> None:
    api, batch_id = judged
    sent(owner, f"/batches/{batch_id}/judge", {"model": other})
    assert "Compare them" in owner.get(f"/batches/{batch_id}").text
    names = [each["judge"] for each in api.get(f"/api/batches/{batch_id}/judges")["items"]]
    text = owner.get(f"/batches/{batch_id}/judges", params={"first": names[0], "second": names[1]}).text
    assert "Disagreements" in text
    assert f'href="/runs/{run_of(judged)["id"]}"' in text
    wrong = owner.get(f"/batches/{batch_id}/judges", params={"first": names[0], "second": HOSTILE}).text
    assert "has judged no run of this batch" in wrong
    assert HOSTILE not in wrong


def test_the_review_page_says_how_far_judges_can_be_believed(owner: httpx2.Client) -> None:
    text = owner.get("/review").text
    assert "Judge models" in text
    assert "uncalibrated" in text
