"""Models over the API and on the pages: what is told of them, trying one, and what was said."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.engine.model_calls.ask_models import Asker
from pipelines.wire.errors import ModelFailed
from pipelines.wire.names import Role
from support.desk import House, answered, open_house, refused

pytestmark = pytest.mark.anyio
SCRIPT = """
{"about": "Which order", "answer": {"order": "4521"}}
{"about": "Say nothing", "failure": "refused"}
{"price_per_million_tokens": 2}
"""


def question(text: str) -> ModelQuestion:
    return ModelQuestion(
        purpose=Purpose.SIMULATOR,
        prompt_version="test/1",
        system="You are a shop.",
        messages=(ModelMessage(role="user", content=text),),
        schema={"type": "object"},
    )


@pytest.fixture
async def house(tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    (tmp_path / "script.jsonl").write_text(SCRIPT)
    model = f"scripted:{tmp_path / 'script.jsonl'}"
    named = {"model": model, "judge_model": "openai:gpt-5-mini", "user_model": "http://127.0.0.1:9/v1#m"}
    async with open_house(tmp_path / "house", **named) as opened:
        yield opened


async def test_status_says_what_is_asked_by_whom_it_is_named_and_never_a_key(house: House) -> None:
    client = house.owner.client
    body = answered(await client.get("/api/models"))
    told = {each["purpose"]: each for each in body["purposes"]}
    assert told["simulator"]["named_by"] == "PIPELINES_MODEL"
    assert (told["simulator"]["is_priced"], told["simulator"]["key"]) == (True, None)
    assert told["judge"]["named_by"] == "PIPELINES_JUDGE_MODEL"
    assert "OPENAI_API_KEY" in told["judge"]["problem"]
    assert (told["user"]["is_priced"], told["user"]["problem"]) == (False, None)
    answered(
        await client.post("/api/credentials", json={"name": "OPENAI_API_KEY", "value": "sk-secret-1"}), 201
    )
    again = await client.get("/api/models")
    judge = next(each for each in answered(again)["purposes"] if each["purpose"] == "judge")
    assert (judge["key"], judge["key_from"], judge["problem"]) == ("OPENAI_API_KEY", "credential", None)
    assert "sk-secret-1" not in again.text


async def test_an_agent_and_a_dataset_name_their_own(house: House) -> None:
    client = house.owner.client
    agent = await house.owner.agent(config={"models": {"judge": "openai:gpt-5", "user": "openai:gpt-5"}})
    assert agent["config"]["models"] == {"judge": "openai:gpt-5", "user": "openai:gpt-5"}
    dataset = await house.owner.dataset(agent_id=agent["id"])
    named = answered(
        await client.put(f"/api/datasets/{dataset['id']}/models", json={"user": "anthropic:claude-haiku-4-5"})
    )
    assert named["models"] == {"user": "anthropic:claude-haiku-4-5"}
    query = {"agent_id": agent["id"], "dataset_id": dataset["id"]}
    body = answered(await client.get("/api/models", params=query))
    assert [(each["model"], each["named_by"]) for each in body["purposes"][1:3]] == [
        ("openai:gpt-5", "agent"),
        ("anthropic:claude-haiku-4-5", "dataset"),
    ]
    answered(await client.put(f"/api/datasets/{dataset['id']}/models", json={}))
    wrong = {"models": {"judge": "nobody:x", "painter": "openai:x"}}
    error = refused(
        await client.put(f"/api/agents/{agent['id']}", json={"config": wrong}), 422, "invalid_request"
    )
    assert {problem["path"] for problem in error["details"]} == {
        "/config/models/judge",
        "/config/models/painter",
    }


async def test_where_private_endpoints_are_not_allowed_no_org_names_a_file_or_a_url(tmp_path: Path) -> None:
    async with open_house(tmp_path / "shared", allow_private_endpoints="no") as house:
        client = house.owner.client
        for model in ("scripted:/etc/passwd", "http://10.0.0.1/v1#m", "refusing:"):
            body = {"name": "a", "endpoint_url": "https://1.1.1.1/", "config": {"models": {"judge": model}}}
            error = refused(await client.post("/api/agents", json=body), 422, "invalid_request")
            assert [problem["path"] for problem in error["details"]] == ["/config/models/judge"]
            error = refused(
                await client.post("/api/models/test", json={"model": model}), 422, "invalid_request"
            )
            assert error["details"][0]["path"] == "/model"


async def test_trying_a_model_says_why_it_gave_nothing(house: House) -> None:
    client = house.owner.client
    tried = answered(await client.post("/api/models/test", json={"model": "refusing:rate_limited"}))
    assert (tried["ok"], tried["reason"], tried["model"]) == (False, "rate_limited", "refusing:rate_limited")
    whole = answered(await client.get(f"/api/model-exchanges/{tried['exchange_id']}"))
    assert (whole["status"], whole["failure"], whole["answer"]) == ("failed", "rate_limited", None)
    assert whole["request"]["messages"][0]["content"].startswith("The number is")
    missing = answered(await client.post("/api/models/test"))
    assert (missing["ok"], missing["reason"]) == (False, "auth")
    viewer = await house.owner.key_of(Role.VIEWER)
    refused(await viewer.client.post("/api/models/test"), 403, "forbidden")


async def test_without_a_model_trying_one_names_the_setting(tmp_path: Path) -> None:
    async with open_house(tmp_path / "plain") as house:
        answer = await house.owner.client.post("/api/models/test", json={"purpose": "user"})
        error = refused(answer, 422, "model_not_configured")
        assert "PIPELINES_USER_MODEL" in error["message"]


async def test_a_runs_exchanges_are_told_with_what_they_cost_and_only_to_its_org(house: House) -> None:
    client, run = house.owner.client, await house.owner.run()
    asker = Asker(org_id=1, run_id=run.id)
    first = await house.platform.models.ask(asker, question("Which order?"))
    await house.platform.models.ask(asker, question("Which order?"))
    with pytest.raises(ModelFailed):
        await house.platform.models.ask(asker, question("Say nothing."))
    items = answered(await client.get(f"/api/runs/{run.id}/exchanges"))["items"]
    assert [(each["status"], each["failure"], each["replay_of"]) for each in items] == [
        ("failed", "refused", None),
        ("replayed", None, first.exchange_id),
        ("answered", None, None),
    ]
    assert "request" not in items[0]
    replayed = answered(await client.get(f"/api/model-exchanges/{items[1]['id']}"))
    assert (replayed["answer"], replayed["request"]["system"]) == ('{"order":"4521"}', "You are a shop.")
    costs = answered(await client.get(f"/api/runs/{run.id}"))["costs"]
    simulator = costs["simulator"]
    assert (simulator["questions"], simulator["replayed"], simulator["unpriced"]) == (2, 1, 1)
    assert simulator["cost_usd"] == costs["total_usd"] == (first.cost_nanousd or 0) / 1e9
    assert (costs["judge"], costs["agent"]) == (None, {"cost_usd": None, "tokens": None})
    other = await house.another_org()
    refused(await other.client.get(f"/api/runs/{run.id}/exchanges"), 404, "not_found")
    refused(await other.client.get(f"/api/model-exchanges/{items[0]['id']}"), 404, "not_found")
    refused(await other.client.put("/api/datasets/1/models", json={}), 404, "not_found")
    refused(await other.client.get("/api/models", params={"agent_id": 1}), 404, "not_found")


async def test_secrets_of_the_org_are_in_no_question(house: House) -> None:
    client = house.owner.client
    answered(await client.post("/api/credentials", json={"name": "SHOP_KEY", "value": "kestrelwood"}), 201)
    asked = await house.platform.models.ask(Asker(org_id=1), question("Which order? kestrelwood " * 2_000))
    answer = await client.get(f"/api/model-exchanges/{asked.exchange_id}")
    assert "kestrelwood" not in answer.text
    assert "[secret SHOP_KEY]" in answer.text
