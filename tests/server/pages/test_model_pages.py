"""Pages of models: which are asked, trying one, and the exchanges behind a run."""

from collections.abc import Iterator

import httpx2
import pytest

from support.page_requests import sent, signed_in
from support.server_process import Api, house_in

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("models")
    script = folder / "script.jsonl"
    script.write_text('{"answer": {"number": "' + HOSTILE + '"}}\n{"price_per_million_tokens": 3}\n')
    named = {"PIPELINES_MODEL": f"scripted:{script}", "PIPELINES_JUDGE_MODEL": "openai:gpt-5-mini"}
    with house_in(folder / "house", named) as house:
        yield house.open()


@pytest.fixture(scope="module")
def owner(api: Api) -> Iterator[httpx2.Client]:
    with signed_in(api) as client:
        yield client


def test_the_tab_says_which_models_are_asked_and_what_is_missing(owner: httpx2.Client) -> None:
    text = owner.get("/settings/models").text
    assert "PIPELINES_JUDGE_MODEL" in text
    assert "openai:gpt-5-mini" in text
    assert "OPENAI_API_KEY" in text
    assert "missing" in text


def test_a_model_is_tried_and_what_was_said_can_be_read(owner: httpx2.Client) -> None:
    tried = sent(owner, "/settings/models/test", {"purpose": "user"})
    assert "gave no answer (wrong schema)" in tried.text
    said = owner.get("/settings/models/exchanges/2").text
    assert "The number is" in said
    assert "Its first answer" in said, "the regeneration, with what was wrong"
    assert HOSTILE not in said
    assert "onerror=alert(1)" in said, "shown, as text"
    assert "scripted:" in owner.get("/settings/models").text
    wrong = sent(owner, "/settings/models/test", {"purpose": "user", "model": "opnai:x"})
    assert (wrong.status_code, "did you mean" in wrong.text) == (422, True)


def test_a_run_leads_to_its_exchanges(api: Api, owner: httpx2.Client) -> None:
    agent_id = api.agent("https://agents.example.com/")["id"]
    task_id = api.dataset(agent_id=agent_id)["task_ids"][0]
    run = api.post("/api/runs", {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]}, 201)
    assert f'href="/runs/{run["id"]}/exchanges"' in owner.get(f"/runs/{run['id']}").text
    assert "This run asked no model" in owner.get(f"/runs/{run['id']}/exchanges").text


def test_a_budget_is_asked_for_in_the_form_and_refused_at_its_field(owner: httpx2.Client) -> None:
    form = {"agent_id": "1", "dataset_id": "1", "max_cost_usd": "lots", "max_model_tokens": "-1"}
    answer = sent(owner, "/batches/new", form)
    assert answer.status_code == 422
    assert "must be dollars" in answer.text
    assert "Tokens must be a whole number" in answer.text.replace("&#39;", "'")
