"""Rules that a model proposes for sentences which are not understood: in force once a person accepts them."""

import json
from typing import Any

import pytest

from asked_models import let_answer
from desk import ORDER_ID, STATE, House, Org, answered, refused, tool
from pipelines.core.model_question import Failure, Purpose
from pipelines.models.scripted import Scripted

pytestmark = pytest.mark.anyio

CANCEL = tool("cancel_order", "Cancel an order. The status becomes 'cancelled'.", ORDER_ID, ["order_id"])
PRECIOUS = "Precious goods leave the house only with a clerk."
FRIENDLY = "Be friendly and concise."
RULE = {
    "form": "require",
    "tools": ["cancel_order"],
    "expression": "order.amount < 50",
    "status": 409,
    "error": "needs_clerk",
    "message": "A clerk has to do this",
}


def translating(*rules: Any, left_out: str = "It speaks of tone.") -> Scripted:
    def answer(question: Any) -> Any:
        said = [{"number": 1, "rules": [*rules]}, {"number": 2, "rules": [], "left_out": left_out}]
        return {"sentences": said}

    return Scripted(answer=answer, purpose="author")


async def uploaded(org: Org, behavior: str = f"{PRECIOUS}\n{FRIENDLY}") -> tuple[Any, Any]:
    agent = await org.agent(tools_schema=[CANCEL])
    row = {"user": "Cancel it.", "state": STATE, "behavior": behavior}
    return agent, await org.dataset(row, agent_id=agent["id"])


async def proposed(org: Org, dataset: Any, **body: Any) -> Any:
    path = f"/api/datasets/{dataset['id']}/rules/propose"
    return answered(await org.client.post(path, json=body), 201)["items"]


async def decided(org: Org, dataset: Any, rule: Any, word: str, status: int = 200) -> Any:
    path = f"/api/datasets/{dataset['id']}/rules/{rule['id']}/{word}"
    return answered(await org.client.post(path), status)


async def cancelled(org: Org, agent: Any, dataset: Any, order: str = "4521") -> int:
    run = await org.open_run(agent["id"], dataset["task_ids"][0])
    return (await run.call("cancel_order", {"order_id": order})).status_code


async def test_a_rule_holds_from_its_acceptance_on_and_costs_nothing(house: House, org: Org) -> None:
    model = let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    agent, dataset = await uploaded(org)
    before = await org.open_run(agent["id"], dataset["task_ids"][0])
    first, second = await proposed(org, dataset)
    assert (first["sentence"], first["status"], first["rules"]) == (PRECIOUS, "proposed", [RULE])
    assert first["tried"] == {"calls": 2, "differ": 1, "refused": 1, "problem": None}
    assert (second["sentence"], second["status"]) == (FRIENDLY, "refused")
    assert await cancelled(org, agent, dataset) == 200, "what is proposed is in force nowhere"
    told = await decided(org, dataset, first, "accept")
    assert (told["status"], told["decided_by"]) == ("accepted", "first key")
    assert await cancelled(org, agent, dataset) == 409
    assert await cancelled(org, agent, dataset, "7001") == 200
    assert (await before.call("cancel_order", {"order_id": "4521"})).status_code == 200, "it was made before"
    assert len(model.asked) == 1


async def test_what_is_enforced_is_no_longer_told_as_not_understood(house: House, org: Org) -> None:
    let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    agent, dataset = await uploaded(org)
    first, _ = await proposed(org, dataset)
    await decided(org, dataset, first, "accept")
    run = await org.open_run(agent["id"], dataset["task_ids"][0])
    warnings = run.opened["soft_warnings"]
    assert not any(PRECIOUS in warning for warning in warnings)
    assert any(FRIENDLY in warning for warning in warnings)


async def test_a_rule_that_is_taken_back_holds_no_longer(house: House, org: Org) -> None:
    let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    agent, dataset = await uploaded(org)
    first, _ = await proposed(org, dataset)
    await decided(org, dataset, first, "accept")
    under = await org.open_run(agent["id"], dataset["task_ids"][0])
    assert (await decided(org, dataset, first, "reject"))["status"] == "withdrawn"
    assert await cancelled(org, agent, dataset) == 200
    assert (await under.call("cancel_order", {"order_id": "4521"})).status_code == 409
    items = answered(await org.client.get(f"/api/datasets/{dataset['id']}/rules"))["items"]
    assert sorted(item["status"] for item in items) == ["refused", "withdrawn"]


async def test_a_vacuous_rule_is_shown_and_cannot_be_accepted(house: House, org: Org) -> None:
    let_answer(house, translating(RULE | {"expression": "order.amount < 5000"}), purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    first, _ = await proposed(org, dataset)
    assert first["status"] == "refused"
    assert "every order of the world passes" in first["tried"]["problem"]
    await decided(org, dataset, first, "accept", 409)


async def test_asking_again_replaces_what_is_undecided_and_asks_no_second_time(
    house: House, org: Org
) -> None:
    model = let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    await proposed(org, dataset)
    await proposed(org, dataset)
    items = answered(await org.client.get(f"/api/datasets/{dataset['id']}/rules"))["items"]
    assert (len(items), len(model.asked)) == (2, 1)


async def test_without_a_model_the_setting_is_named(org: Org) -> None:
    _, dataset = await uploaded(org)
    path = f"/api/datasets/{dataset['id']}/rules/propose"
    error = refused(await org.client.post(path, json={}), 422, "model_not_configured")
    assert "PIPELINES_AUTHOR_MODEL" in error["message"]


async def test_a_model_that_fails_is_told_and_nothing_is_stored(house: House, org: Org) -> None:
    let_answer(house, Scripted(answer=Failure.UNAVAILABLE), purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    path = f"/api/datasets/{dataset['id']}/rules/propose"
    error = refused(await org.client.post(path, json={}), 502, "model_failed")
    assert error["details"]["reason"] == "unavailable"
    assert answered(await org.client.get(f"/api/datasets/{dataset['id']}/rules"))["items"] == []


async def test_another_org_finds_nothing(house: House, org: Org) -> None:
    let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    first, _ = await proposed(org, dataset)
    other = await house.another_org()
    base = f"/api/datasets/{dataset['id']}/rules"
    for method, path in (("GET", ""), ("POST", "/propose"), ("POST", f"/{first['id']}/accept")):
        response = await other.client.request(method, base + path, json={} if method == "POST" else None)
        refused(response, 404, "not_found")


async def test_only_the_text_that_it_was_made_for_has_the_rule(house: House, org: Org) -> None:
    let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    agent = await org.agent(tools_schema=[CANCEL])
    rows = [
        {"user": "Cancel it.", "state": STATE, "behavior": text}
        for text in (PRECIOUS, f"{PRECIOUS} {FRIENDLY}")
    ]
    dataset = await org.dataset(*rows, agent_id=agent["id"])
    items = await proposed(org, dataset, task_id=dataset["task_ids"][1])
    await decided(org, dataset, items[0], "accept")
    statuses = []
    for task_id in dataset["task_ids"]:
        run = await org.open_run(agent["id"], task_id)
        statuses.append((await run.call("cancel_order", {"order_id": "4521"})).status_code)
    assert statuses == [200, 409]


async def test_unknown_fields_are_refused(house: House, org: Org) -> None:
    let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    response = await org.client.post(
        f"/api/datasets/{dataset['id']}/rules/propose", content=json.dumps({"x": 1})
    )
    assert response.status_code == 422
