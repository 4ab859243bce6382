"""Rules that a model proposes for sentences: in force once a person accepts them, in place of any reading."""

import json
from functools import partial
from typing import Any

import pytest

from pipelines.core.models.model_question import Failure, Purpose
from pipelines.engine.platform import later
from pipelines.engine.simulation import read_sentences
from pipelines.engine.simulation.author_jobs import SILENT_S
from pipelines.models.scripted import Scripted
from pipelines.storage.agents.author_jobs import add_job
from support.desk import ORDER_ID, STATE, House, Org, answered, refused, tool
from support.scripted_models import let_answer, saying

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


def cancelling(order: str, outcome: str = "allowed", **more: Any) -> Any:
    """An example call of a model."""
    return {"tool": "cancel_order", "arguments": {"order_id": order}, "outcome": outcome} | more


EXAMPLES = [cancelling("7001"), cancelling("4521", "refused", error="needs_clerk")]
CHEAPER = [cancelling("7001", "refused"), cancelling("4521")]
ANY_ORDER = [cancelling("7001"), cancelling("4521")]


def translating(*rules: Any, examples: Any = EXAMPLES, left_out: str = "It speaks of tone.") -> Scripted:
    def answer(question: Any) -> Any:
        first = {"number": 1, "rules": [*rules], "examples": examples}
        return {"sentences": [first, {"number": 2, "rules": [], "left_out": left_out}]}

    return Scripted(answer=answer, purpose="author")


async def uploaded(org: Org, behavior: str = f"{PRECIOUS}\n{FRIENDLY}") -> tuple[Any, Any]:
    agent = await org.agent(tools_schema=[CANCEL])
    row = {"user": "Cancel it.", "state": STATE, "behavior": behavior}
    return agent, await org.dataset(row, agent_id=agent["id"])


async def proposed(org: Org, dataset: Any, **body: Any) -> Any:
    return (await ended(org, dataset, **body))["answer"]["items"]


async def ended(org: Org, dataset: Any, **body: Any) -> Any:
    """A question to the model, when it has ended."""
    path = f"/api/datasets/{dataset['id']}/rules/propose"
    job = answered(await org.client.post(path, json=body), 202)
    return answered(await org.client.get(f"/api/author-jobs/{job['id']}", params={"wait_s": 20}))


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
    tried = first["tried"]
    assert (tried["problem"], tried["warning"]) == (None, None)
    assert tried["read_as"] == [
        'cancel_order fails with 409 needs_clerk "A clerk has to do this" unless'
        " the order's amount is less than 50."
    ]
    shown = [(one["arguments"]["order_id"], one["status"], one["problem"]) for one in tried["examples"]]
    assert shown == [("7001", 200, None), ("4521", 409, None)]
    assert (second["sentence"], second["status"]) == (FRIENDLY, "refused")
    assert await cancelled(org, agent, dataset) == 200, "what is proposed is in force nowhere"
    told = await decided(org, dataset, first, "accept")
    assert (told["status"], told["decided_by"]) == ("accepted", "first key")
    assert await cancelled(org, agent, dataset) == 409
    assert await cancelled(org, agent, dataset, "7001") == 200
    assert (await before.call("cancel_order", {"order_id": "4521"})).status_code == 200, "it was made before"
    assert len(model.asked) == 1


async def test_rules_that_fail_their_check_go_back_once_with_the_reason(house: House, org: Org) -> None:
    answers = [
        {"number": 1, "rules": [RULE], "examples": CHEAPER},
        {"number": 1, "rules": [RULE], "examples": EXAMPLES},
    ]
    script = [
        Scripted(
            answer=lambda question: {"sentences": [answers[len(question.messages) // 2]]}, purpose="author"
        )
    ]
    model = let_answer(house, *script, purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    (first,) = await proposed(org, dataset)
    assert (first["status"], first["tried"]["problem"]) == ("proposed", None)
    assert len(model.asked) == 2
    told = model.asked[1].messages[-1].content
    assert "sentence 1: example 1: expected refused, but the call is allowed" in told


async def test_rules_that_fail_their_check_twice_are_shown_and_cannot_be_accepted(
    house: House, org: Org
) -> None:
    model = let_answer(house, translating(RULE, examples=CHEAPER), purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    first, _ = await proposed(org, dataset)
    assert (first["status"], len(model.asked)) == ("refused", 2)
    assert "example 1: expected refused" in first["tried"]["problem"]
    assert [one["problem"] is None for one in first["tried"]["examples"]] == [False, False]


async def test_what_is_enforced_is_no_longer_told_as_not_read(house: House, org: Org) -> None:
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


async def test_a_rule_that_changes_nothing_here_is_told_and_can_be_accepted(house: House, org: Org) -> None:
    wide = translating(RULE | {"expression": "order.amount < 5000"}, examples=ANY_ORDER)
    let_answer(house, wide, purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    first, _ = await proposed(org, dataset)
    assert (first["status"], first["tried"]["problem"]) == ("proposed", None)
    assert "in the seeded world every order passes" in first["tried"]["warning"]
    assert (await decided(org, dataset, first, "accept"))["status"] == "accepted"


async def test_a_rule_that_finds_no_place_is_shown_and_cannot_be_accepted(house: House, org: Org) -> None:
    let_answer(house, translating(RULE | {"expression": "order.colour == 'red'"}), purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    first, _ = await proposed(org, dataset)
    assert first["status"] == "refused"
    assert "`order` has no field `colour`" in first["tried"]["problem"]
    error = await decided(org, dataset, first, "accept", 409)
    assert f"rule {first['id']} is refused" in error["error"]["message"]


CHEAP = "cancel_order fails when the order's amount is above 30."


async def test_a_sentence_that_is_read_can_be_asked_about_and_its_translation_wins(
    house: House, org: Org
) -> None:
    turned = RULE | {"expression": "order.amount > 50"}
    let_answer(house, translating(turned, examples=CHEAPER), purpose=Purpose.AUTHOR)
    agent, dataset = await uploaded(org, f"{CHEAP} {FRIENDLY}")
    assert await cancelled(org, agent, dataset, "4521") == 409
    path = f"/api/datasets/{dataset['id']}/rules/propose"
    unknown = refused(await org.client.post(path, json={"sentences": ["Not there."]}), 422, "invalid_request")
    assert unknown["details"][0]["path"] == "/sentences/0"
    (first, _) = await proposed(org, dataset, sentences=[CHEAP, FRIENDLY])
    assert (first["sentence"], first["status"]) == (CHEAP, "proposed")
    await decided(org, dataset, first, "accept")
    assert await cancelled(org, agent, dataset, "7001") == 409
    assert await cancelled(org, agent, dataset, "4521") == 200
    items = answered(await org.client.get(f"/api/datasets/{dataset['id']}/sentences"))["items"]
    assert [(one["sentence"], one["origin"]) for one in items] == [
        (CHEAP, "translated"),
        (FRIENDLY, "sentence"),
    ]


async def test_the_sentences_of_a_dataset_are_those_of_all_its_texts(
    org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await org.agent(tools_schema=[CANCEL])
    said = [f"cancel_order fails when the order's amount is above {at}." for at in range(12)]
    rows = [{"user": "Cancel it.", "state": STATE, "behavior": one} for one in said]
    made = await org.dataset(*rows, agent_id=agent["id"])
    path = f"/api/datasets/{made['id']}/sentences"
    found = answered(await org.client.get(path, params={"examples": True}))
    assert [one["sentence"] for one in found["items"]] == said
    assert all(one["examples"][0]["refused"] for one in found["items"])
    assert found["texts_not_read"] == 0
    monkeypatch.setattr(read_sentences, "MOST_READING_S", 1e-9)
    late = answered(await org.client.get(path))
    assert (len(late["items"]), late["texts_not_read"]) == (1, 11)


async def test_many_are_accepted_at_once_or_none_of_them(house: House, org: Org) -> None:
    other = RULE | {"expression": "order.status != 'delivered'"}

    def answer(question: Any) -> Any:
        first = {"number": 1, "rules": [RULE], "examples": EXAMPLES}
        return {"sentences": [first, {"number": 2, "rules": [other], "examples": ANY_ORDER}]}

    let_answer(house, Scripted(answer=answer, purpose="author"), purpose=Purpose.AUTHOR)
    agent, dataset = await uploaded(org)
    ids = [item["id"] for item in await proposed(org, dataset)]
    path = f"/api/datasets/{dataset['id']}/rules/accept"
    for wrong in ({}, {"rule_ids": []}, {"rule_ids": ["x"]}, {"rule_ids": ids, "by": "me"}):
        refused(await org.client.post(path, json=wrong), 422, "invalid_request")
    missing = refused(await org.client.post(path, json={"rule_ids": [*ids, 999]}), 404, "not_found")
    assert "999" in missing["message"]
    await decided(org, dataset, {"id": ids[0]}, "reject")
    late = refused(await org.client.post(path, json={"rule_ids": ids}), 409, "conflict")
    assert f"rule {ids[0]} is rejected" in late["message"]
    assert await cancelled(org, agent, dataset) == 200
    again = [item["id"] for item in await proposed(org, dataset)]
    done = answered(await org.client.post(path, json={"rule_ids": again}))
    assert [(item["id"], item["status"]) for item in done["items"]] == [(id, "accepted") for id in again]
    assert await cancelled(org, agent, dataset) == 409


async def test_a_new_translation_replaces_the_one_before(house: House, org: Org) -> None:
    turned = RULE | {"expression": "order.amount > 50"}

    def answer(question: Any) -> Any:
        is_first = FRIENDLY in question.messages[0].content.rpartition('"sentences"')[2]
        rule, examples = (RULE, EXAMPLES) if is_first else (turned, CHEAPER)
        return {"sentences": [{"number": 1, "rules": [rule], "examples": examples}]}

    let_answer(house, Scripted(answer=answer, purpose="author"), purpose=Purpose.AUTHOR)
    agent, dataset = await uploaded(org)
    (first,) = await proposed(org, dataset)
    await decided(org, dataset, first, "accept")
    assert await cancelled(org, agent, dataset, "7001") == 200
    (second,) = await proposed(org, dataset, sentences=[PRECIOUS, PRECIOUS])
    await decided(org, dataset, second, "accept")
    assert await cancelled(org, agent, dataset, "7001") == 409
    items = answered(await org.client.get(f"/api/datasets/{dataset['id']}/rules"))["items"]
    assert [item["status"] for item in items] == ["accepted", "withdrawn"]


async def test_what_an_accepted_rule_names_and_a_new_version_has_not_is_told(house: House, org: Org) -> None:
    let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    agent, dataset = await uploaded(org)
    first, _ = await proposed(org, dataset)
    await decided(org, dataset, first, "accept")
    other = tool("close_order", "Close an order.", ORDER_ID, ["order_id"])
    changed = answered(await org.client.put(f"/api/agents/{agent['id']}", json={"tools_schema": [other]}))
    assert changed["warnings"] == [
        {
            "path": f"dataset {dataset['id']}, rule {first['id']}, /rules/0",
            "message": f"translation of “{PRECIOUS}”: rule 1: there is no tool `cancel_order`",
            "hint": "did you mean `close_order`?",
        }
    ]


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
    job = await ended(org, dataset)
    assert (job["status"], job["answer"], job["error"]["code"]) == ("failed", None, "model_failed")
    assert job["error"]["details"]["reason"] == "unavailable"
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


async def test_every_text_in_which_the_sentence_stands_has_the_rule(house: House, org: Org) -> None:
    let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    agent = await org.agent(tools_schema=[CANCEL])
    rows = [
        {"user": "Cancel it.", "state": STATE, "behavior": text}
        for text in (PRECIOUS, f"{PRECIOUS} {FRIENDLY}", FRIENDLY)
    ]
    dataset = await org.dataset(*rows, agent_id=agent["id"])
    items = await proposed(org, dataset, task_id=dataset["task_ids"][1])
    await decided(org, dataset, items[0], "accept")
    statuses = []
    for task_id in dataset["task_ids"]:
        run = await org.open_run(agent["id"], task_id)
        statuses.append((await run.call("cancel_order", {"order_id": "4521"})).status_code)
    assert statuses == [409, 409, 200]


async def test_unknown_fields_are_refused(house: House, org: Org) -> None:
    let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    _, dataset = await uploaded(org)
    response = await org.client.post(
        f"/api/datasets/{dataset['id']}/rules/propose", content=json.dumps({"x": 1})
    )
    assert response.status_code == 422


async def test_an_upload_knows_what_was_accepted_for_its_sentences(house: House, org: Org) -> None:
    let_answer(house, translating(RULE), purpose=Purpose.AUTHOR)
    agent, dataset = await uploaded(org)
    first, _ = await proposed(org, dataset)
    await decided(org, dataset, first, "accept")
    row = {"user": "Cancel it.", "state": STATE, "behavior": f"Nothing else. \n - {PRECIOUS[:-1]}  "}
    other = await org.dataset(row, agent_id=agent["id"])
    assert await cancelled(org, agent, other) == 409
    assert await cancelled(org, agent, other, "7001") == 200
    (known,) = answered(await org.client.get(f"/api/datasets/{other['id']}/rules"))["items"]
    assert (known["id"], known["dataset_id"], known["status"]) == (first["id"], dataset["id"], "accepted")
    stranger = await org.agent(tools_schema=[CANCEL], name="another agent")
    elsewhere = await org.dataset(row, agent_id=stranger["id"])
    assert await cancelled(org, stranger, elsewhere) == 200, "of another agent's datasets nothing is known"
    await decided(org, other, known, "reject")
    assert await cancelled(org, agent, dataset) == 200


async def test_of_two_rules_for_a_sentence_a_datasets_own_holds(house: House, org: Org) -> None:
    turned = RULE | {"expression": "order.amount > 50"}
    script = [
        Scripted(
            answer={"sentences": [{"number": 1, "rules": [rule], "examples": examples}]},
            purpose="author",
            times=1,
        )
        for rule, examples in ((RULE, EXAMPLES), (turned, CHEAPER))
    ]
    let_answer(house, *script, purpose=Purpose.AUTHOR)
    agent, dataset = await uploaded(org, PRECIOUS)
    (first,) = await proposed(org, dataset)
    row = {"user": "Cancel it.", "state": STATE | {"user": {"u-1": {"name": "Ann"}}}, "behavior": PRECIOUS}
    other = await org.dataset(row, agent_id=agent["id"])
    (second,) = await proposed(org, other)
    await decided(org, dataset, first, "accept")
    assert await cancelled(org, agent, other) == 409
    await decided(org, other, second, "accept")
    assert (await cancelled(org, agent, other), await cancelled(org, agent, dataset)) == (200, 409)


async def test_a_dismissed_sentence_hands_no_call_to_the_simulator_model(house: House, org: Org) -> None:
    model = let_answer(house, Scripted(answer=saying({"status": "cancelled"})))
    agent, dataset = await uploaded(org, FRIENDLY)
    assert await cancelled(org, agent, dataset) == 200
    assert len(model.asked) == 1
    path = f"/api/datasets/{dataset['id']}/rules/dismiss"
    for wrong in ({}, {"sentences": []}, {"sentences": ["Not there."]}, {"sentences": [FRIENDLY], "x": 1}):
        refused(await org.client.post(path, json=wrong), 422, "invalid_request")
    (rule,) = answered(await org.client.post(path, json={"sentences": [FRIENDLY]}))["items"]
    assert (rule["status"], rule["rules"], rule["decided_by"]) == ("dismissed", [], "first key")
    run = await org.open_run(agent["id"], dataset["task_ids"][0])
    assert not any(FRIENDLY in warning for warning in run.opened["soft_warnings"])
    assert await cancelled(org, agent, dataset) == 200
    assert len(model.asked) == 1, "the plan covers the call now"
    (shown,) = answered(await org.client.get(f"/api/datasets/{dataset['id']}/sentences"))["items"]
    assert (shown["origin"], shown["not_read"]) == ("dismissed", None)
    assert (await decided(org, dataset, rule, "reject"))["status"] == "withdrawn"
    (shown,) = answered(await org.client.get(f"/api/datasets/{dataset['id']}/sentences"))["items"]
    assert shown["not_read"] is not None


async def test_a_question_is_a_job_with_progress(house: House, org: Org) -> None:
    slow = Scripted(
        answer={"sentences": [{"number": 1, "rules": [RULE], "examples": EXAMPLES}]},
        purpose="author",
        delay_s=0.5,
    )
    let_answer(house, slow, purpose=Purpose.AUTHOR)
    agent = await org.agent(tools_schema=[CANCEL])
    rows = [
        {"user": "Cancel it.", "state": STATE, "behavior": text}
        for text in (PRECIOUS, "Gold leaves the house only with a guard.")
    ]
    dataset = await org.dataset(*rows, agent_id=agent["id"])
    path = f"/api/datasets/{dataset['id']}/rules/propose"
    job = answered(await org.client.post(path, json={}), 202)
    assert (job["status"], job["answer"], job["subject"]) == ("running", None, f"dataset {dataset['id']}")
    seen = set()
    while job["status"] == "running":
        job = answered(await org.client.get(f"/api/author-jobs/{job['id']}", params={"wait_s": 0.1}))
        seen.add((job["done"], job["total"]))
    assert {(0, 2), (1, 2), (2, 2)} <= seen
    assert [one["status"] for one in job["answer"]["items"]] == ["proposed", "proposed"]
    other = await house.another_org()
    refused(await other.client.get(f"/api/author-jobs/{job['id']}"), 404, "not_found")


async def test_a_job_whose_process_is_gone_has_failed(house: House, org: Org) -> None:
    platform = house.platform
    add = partial(add_job, org_id=1, subject="dataset 1", now=later(platform.now(), -2 * SILENT_S))
    job_id = await platform.database.write(add)
    job = answered(await org.client.get(f"/api/author-jobs/{job_id}", params={"wait_s": 5}))
    assert (job["status"], job["error"]["code"]) == ("failed", "interrupted")
