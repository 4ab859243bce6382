"""A model as the author of a seed session: what it answers is checked and proved, what it costs is said, and
however it fails the session stays as it was."""

from collections.abc import Sequence
from typing import Any

import pytest

from pipelines.core.models.model_question import Failure, ModelQuestion
from pipelines.models.scripted import Scripted
from support.desk import House, Org, answered, every_item, refused
from support.library_agent import (
    CHANGE,
    FOUND,
    GOOD,
    LOOKUP,
    NOON,
    REFUSED,
    RENEW,
    RULE,
    SCHEMA,
    TOOLS,
    TROUBLE,
    WORLD,
    Row,
    row,
    tool,
)
from support.model_author import BAD, SESSIONS, answers, author, opened, rows_of, until_made, with_rows
from support.scripted_models import OneModel, data_of

pytestmark = pytest.mark.anyio


async def world_of(org: Org, session: Row) -> Row:
    world: Row = answered(await org.client.get(f"{SESSIONS}/{session['id']}/world"))
    return world


async def test_a_model_makes_the_world_and_it_is_reviewed_like_any_other(house: House, org):
    model = author(house, answers())
    session = await opened(org, instructions="A small town's library.")
    assert (session["status"], session["author"], session["revision"]) == ("world_review", "model", 1)
    world = await world_of(org, session)
    assert world["state"] == WORLD
    assert world["notes"] == ["Due dates are left out."]
    (question,) = model.asked
    told = data_of(question)
    assert {each["name"] for each in told["tools"]} == {each["name"] for each in TOOLS}
    assert set(told["types"]) == {"loan", "member"}
    assert (told["behaviour"], told["wishes"]) == (RULE, "A small town's library.")
    assert (told["records"], told["today"][:10]) == (6, "2026-05-01")


async def test_every_row_is_proved_and_gets_its_oracle_from_what_its_calls_did(house: House, org):
    author(house, answers(GOOD))
    session = await with_rows(org)
    assert session["status"] == "rows_review"
    kept = {each["user_instruction"]: each for each in await rows_of(org, session)}
    assert set(kept) == {each["user_instruction"] for each in GOOD}
    assert kept[RENEW["user_instruction"]]["expected_state"] == {"loan.L-1.status": "renewed"}
    refusal = kept[REFUSED["user_instruction"]]
    assert (refusal["expected_outcome"], refusal["expected_state"]) == ("refusal", {"unchanged": True})
    assert refusal["outcome"] == "forbidden"
    lookup = kept[LOOKUP["user_instruction"]]
    assert lookup["expected_calls"] == {"must": [{"tool": "get_loan", "arguments": {"loan_id": "L-2"}}]}
    assert kept[TROUBLE["user_instruction"]]["outcome"] == "recovered"
    assert kept[FOUND["user_instruction"]]["expected_state"] == {"loan.L-2.status": "returned"}
    done = answered(await org.client.post(f"{SESSIONS}/{session['id']}/finalize"), 201)
    tasks = await every_item(org.client, f"/api/datasets/{done['dataset_id']}/tasks")
    assert len(tasks) == len(GOOD)
    for task in tasks:
        seed = answered(await org.client.get(f"/api/tasks/{task['id']}"))["odyssey_seed"]
        assert (seed["initial_state"], seed["behavior_instructions"]) == (WORLD, RULE)


@pytest.mark.parametrize("code", BAD)
async def test_a_row_without_proof_is_counted_with_the_reason_and_the_model_is_told(house: House, org, code):
    model = author(house, answers([BAD[code]], [LOOKUP]))
    session = await with_rows(org, buckets=[{"name": "loans", "rows": 1}])
    assert session["rejected_by_reason"] == {code: 1}
    assert [each["user_instruction"] for each in await rows_of(org, session)] == [LOOKUP["user_instruction"]]
    (told,) = data_of(model.asked[-1])["rejected"]
    assert told["text"] == BAD[code]["user_instruction"]
    assert told["reason"]


async def test_a_tool_that_is_not_there_is_rejected_and_an_answer_of_nothing_else_is_asked_for_again(
    house: House, org
):
    unknown = row("Burn L-1.", ("burn_loan", {"loan_id": "L-1"}))
    model = author(house, answers([unknown, RENEW], [unknown], [LOOKUP]))
    session = await with_rows(org, buckets=[{"name": "loans", "rows": 2}])
    assert session["rejected_by_reason"] == {"call_failed": 1}
    assert session["counts"]["kept"] == 2
    assert "no row calls a tool that there is" in model.asked[-1].messages[-1].content


async def test_what_no_embedded_sentence_says_is_asked_of_the_model_and_all_else_stays(house: House, org):
    model = author(house, answers(change=CHANGE))
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}/world"
    made = answered(await org.client.post(f"{path}/refine", json={"prompt": "somebody reads Joyce instead"}))
    assert made["said"] == CHANGE["said"]
    assert {name: made["changes"][name] for name in ("added", "changed", "removed")} == {
        "added": 1,
        "changed": 1,
        "removed": 1,
    }
    after = (await world_of(org, session))["state"]
    assert after["loan"]["L-1"] == WORLD["loan"]["L-1"] | {"title": "Ulysses"}
    assert set(after["member"]) == set(WORLD["member"]) - {"M-6"} | {"M-7"}
    others = [id for id in WORLD["loan"] if id != "L-1"]
    assert all(after["loan"][id] == WORLD["loan"][id] for id in others)
    assert len(model.asked) == 2


async def test_a_sentence_that_needs_no_model_asks_none(house: House, org):
    model = author(house, answers())
    session = await opened(org)
    prompt = {"prompt": "set the status of loan L-5 to returned"}
    answered(await org.client.post(f"{SESSIONS}/{session['id']}/world/refine", json=prompt))
    assert (await world_of(org, session))["state"]["loan"]["L-5"]["status"] == "returned"
    assert len(model.asked) == 1, "for the world alone"


async def test_a_request_that_the_model_cannot_follow_is_refused_with_its_words(house: House, org):
    change = {"changes": [], "said": "", "cannot": "Nothing here has a colour."}
    author(house, answers(change=change))
    session = await opened(org)
    answer = await org.client.post(
        f"{SESSIONS}/{session['id']}/world/refine", json={"prompt": "make it all greener"}
    )
    (problem,) = refused(answer, 422, "invalid_request")["details"]
    assert "Nothing here has a colour." in problem["message"]
    assert (await world_of(org, session))["revision"] == 1


CHANGES: dict[str, Sequence[Row]] = {
    "a record that is not there": [{"op": "remove", "entity_type": "loan", "id": "L-99"}],
    "an id that is taken": [{"op": "add", "entity_type": "loan", "id": "L-1", "attrs": {}}],
    "a value that the schema does not allow": [
        {"op": "update", "entity_type": "loan", "id": "L-1", "set": {"status": "eaten"}, "unset": []}
    ],
    "one record twice": [
        {"op": "remove", "entity_type": "loan", "id": "L-1"},
        {"op": "add", "entity_type": "loan", "id": "L-1", "attrs": {"title": "x"}},
    ],
}


@pytest.mark.parametrize("case", CHANGES)
async def test_changes_that_do_not_fit_the_world_are_all_refused(house: House, org, case):
    model = author(house, answers(change={"changes": CHANGES[case], "said": "Done.", "cannot": None}))
    session = await opened(org)
    prompt = {"prompt": "do as the spirit moves you"}
    answer = await org.client.post(f"{SESSIONS}/{session['id']}/world/refine", json=prompt)
    error = refused(answer, 502, "model_failed")
    assert error["details"]["reason"] == "wrong_schema"
    assert (await world_of(org, session))["state"] == WORLD
    assert len(model.asked) == 3, "one world, and the one regeneration"


# -- larger worlds


MANY = [f"type{letter}" for letter in "abcdefgh"]

PLANNED = {name: {f"{name}-{at}": "a plain one" for at in range(12)} for name in MANY}


async def many_types(org: Org) -> Row:
    """An agent whose world takes several answers."""
    fields = [{"name": f"field{at}", "type": "string"} for at in range(12)]
    entities = [
        {"type": name, "id_field": "id", "fields": [{"name": "id", "type": "string"}, *fields]}
        for name in MANY
    ]
    tools = [tool(f"get_{name}", f"Get a {name}.", f"{name}_id") for name in MANY]
    return await org.agent(name="Many", tools_schema=tools, ledger_schema={"entities": entities})


def part_by_part(question: ModelQuestion) -> Any:
    told = data_of(question)
    if question.prompt_version.startswith("world-plan/"):
        return {"ids": PLANNED}
    assert told["planned"] == PLANNED
    wanted = told["of_types"]
    return {"world": {name: {id: {"id": id, "field1": "x"} for id in PLANNED[name]} for name in wanted}}


async def test_a_world_that_is_too_large_for_one_answer_is_planned_and_then_made_type_by_type(
    house: House, org
):
    model = author(house, Scripted(answer=part_by_part))
    agent = await many_types(org)
    session = await opened(org, agent_id=agent["id"], size="standard", behavior=None)
    assert set((await world_of(org, session))["state"]) == set(MANY)
    parts = [data_of(question)["of_types"] for question in model.asked[1:]]
    assert len(parts) > 1
    assert [name for part in parts for name in part] == MANY
    assert set(data_of(model.asked[-1])["earlier"]) == {name for part in parts[:-1] for name in part}


async def test_a_part_that_does_not_come_is_all_that_is_asked_for_again(house: House, org):
    failures = [Failure.TIMEOUT]

    def answer(question: ModelQuestion) -> Any:
        is_last = data_of(question).get("of_types", [""])[-1] == MANY[-1]
        return failures.pop() if is_last and failures else part_by_part(question)

    model = author(house, Scripted(answer=answer))
    agent = await many_types(org)
    body = {"agent_id": agent["id"], "name": "x", "author": "model", "rng_seed": 7, "now": NOON}
    refused(await org.client.post(SESSIONS, json=body), 502, "model_failed")
    assert await every_item(org.client, SESSIONS) == []
    asked = len(model.asked)
    session = answered(await org.client.post(SESSIONS, json=body), 201)
    assert len(model.asked) == asked + 1
    assert (session["models"]["questions"], session["models"]["replayed"]) == (1, asked - 1)


async def test_ids_that_are_not_the_plans_are_not_taken(house: House, org):
    def answer(question: ModelQuestion) -> Any:
        told: Any = part_by_part(question)
        for own in told.get("world", {}).values():
            own["one-more"] = {"id": "one-more"}
        return told

    author(house, Scripted(answer=answer))
    agent = await many_types(org)
    body = {"agent_id": agent["id"], "name": "x", "author": "model"}
    error = refused(await org.client.post(SESSIONS, json=body), 502, "model_failed")
    assert "has other ids than the plan" in error["message"]


# -- what it costs


async def test_what_it_will_cost_is_said_before_and_what_it_did_after(house: House, org):
    model = author(house, answers(GOOD))
    agent = await org.agent(name="Library", tools_schema=TOOLS, ledger_schema=SCHEMA)
    body = {"agent_id": agent["id"], "name": "x", "size": "compact", "author": "model"}
    buckets = [{"name": "loans", "rows": 5}]
    before = answered(await org.client.post(f"{SESSIONS}/estimate", json=body | {"buckets": buckets}))
    assert model.asked == [], "an estimate asks nobody"
    assert await every_item(org.client, SESSIONS) == []
    assert before["total"]["questions"] == before["world"]["questions"] + before["rows"]["questions"] == 2
    session = await opened(org)
    rows = answered(await org.client.get(f"{SESSIONS}/{session['id']}/estimate"))
    assert (rows["world"]["questions"], rows["rows"]["questions"]) == (0, 1)
    spent = session["models"]
    assert (spent["model"], spent["questions"]) == ("scripted:test", 1)
    assert spent["cost_usd"] == pytest.approx(spent["tokens"] / 1e9)
    answered(await org.client.post(f"{SESSIONS}/{session['id']}/continue"), 202)
    done = (await until_made(org, session))["models"]
    assert done["questions"] == len(model.asked) == 2
    assert 0.3 < before["total"]["tokens"] / done["tokens"] < 3


async def test_a_budget_that_is_used_up_in_a_bucket_ends_it_with_what_it_has_and_resume_goes_on(
    house: House, org
):
    model = author(house, answers([RENEW], [REFUSED], [LOOKUP], [TROUBLE]))
    first = await opened(org, rng_seed=8)
    most = first["models"]["tokens"] + 1  # the world, and one question that goes over
    session = await with_rows(org, max_model_tokens=most, rng_seed=9)
    (bucket,) = session["buckets"]
    assert (session["status"], bucket["kept"], bucket["done"]) == ("rows_review", 1, True)
    assert bucket["problem"] == "1 of 5 rows: what this session may spend on models is used up"
    assert session["models"]["budget"]["used_up"]
    path, asked = f"{SESSIONS}/{session['id']}", len(model.asked)
    error = refused(await org.client.post(f"{path}/resume"), 422, "invalid_request")
    assert error["details"][0]["path"] == "/max_model_tokens"
    assert len(model.asked) == asked
    answered(await org.client.post(f"{path}/resume", json={"max_model_tokens": None}), 202)
    done = await until_made(org, session)
    assert done["counts"]["kept"] == 4
    assert done["buckets"][0]["problem"] == "4 of 5 rows: the model drafted no more"


async def test_a_budget_that_is_used_up_stops_a_refinement_and_a_resume_raises_it(house: House, org):
    change = {"changes": [], "said": "", "cannot": "No."}
    author(house, answers(change=change))
    session = await opened(org, max_model_tokens=1)
    path = f"{SESSIONS}/{session['id']}"
    refused(
        await org.client.post(f"{path}/world/refine", json={"prompt": "make it rain"}), 409, "budget_exceeded"
    )
    answered(await org.client.post(f"{path}/resume", json={"max_model_tokens": 10**9}), 202)
    refused(
        await org.client.post(f"{path}/world/refine", json={"prompt": "make it rain"}), 422, "invalid_request"
    )


async def test_a_budget_is_of_sessions_whose_author_is_a_model(org):
    agent = await org.agent(name="Library", tools_schema=TOOLS)
    body = {"agent_id": agent["id"], "name": "x", "max_cost_usd": 1}
    (problem,) = refused(await org.client.post(SESSIONS, json=body), 422, "invalid_request")["details"]
    assert problem["path"] == "/max_cost_usd"
    made = answered(await org.client.post(SESSIONS, json=body | {"max_cost_usd": None}), 201)
    assert made["models"] is None


async def test_dollars_hold_nothing_whose_price_nobody_knows(
    house: House, org, monkeypatch: pytest.MonkeyPatch
):
    author(house, answers())

    async def unknown(self: OneModel, org_id: int, model: str) -> bool:
        return False

    monkeypatch.setattr(OneModel, "is_priced", unknown)
    agent = await org.agent(name="Library", tools_schema=TOOLS, ledger_schema=SCHEMA)
    body = {"agent_id": agent["id"], "name": "x", "size": "compact", "author": "model", "max_cost_usd": 1}
    (problem,) = refused(await org.client.post(SESSIONS, json=body), 422, "invalid_request")["details"]
    assert (problem["path"], "max_model_tokens" in problem["hint"]) == ("/max_cost_usd", True)
    session = answered(await org.client.post(SESSIONS, json=body | {"max_model_tokens": 10**6}), 201)
    path = f"{SESSIONS}/{session['id']}/resume"
    refused(await org.client.post(path, json={"max_model_tokens": None}), 422, "invalid_request")
