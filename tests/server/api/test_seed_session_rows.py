"""Seed sessions: refinements, tools without a subject, the rows and the dataset of them."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from pipelines.engine.worlds.prune_sessions import prune_sessions
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks.texts import text_size
from support.desk import answered, every_item, refused
from support.seed_session_calls import SESSIONS, Row, opened, rows_of, with_rows, world_of

pytestmark = pytest.mark.anyio


async def test_a_refinement_changes_what_it_names_and_nothing_else(org):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}/world"
    before = (await world_of(org, session))["state"]
    revised = answered(await org.client.post(f"{path}/refine", json={"prompt": "add 3 cancelled orders"}))
    assert (revised["number"], revised["kind"], revised["undo_to"]) == (2, "refined", 1)
    assert revised["prompt"] == "add 3 cancelled orders"
    assert revised["said"]
    assert (revised["changes"]["added"], revised["changes"]["changed"]) == (3, 0)
    after = (await world_of(org, session))["state"]
    new = {id: order for id, order in after["order"].items() if id not in before["order"]}
    assert [order["status"] for order in new.values()] == ["cancelled"] * 3
    assert {id: order for id, order in after["order"].items() if id not in new} == before["order"]
    assert {kind: after[kind] for kind in before if kind != "order"} == {
        kind: before[kind] for kind in before if kind != "order"
    }
    answered(await org.client.post(f"{path}/refine", json={"prompt": "add 1 order"}))
    undone = answered(await org.client.post(f"{path}/undo"))
    assert (undone["world_hash"], undone["said"]) == (revised["world_hash"], None)


async def test_every_fix_of_an_advisory_is_a_refinement_that_is_understood(org):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}/world"
    orders = {f"o-{at}": {"status": "pending", "created_at": "2026-04-30"} for at in range(5)}
    pasted = answered(await org.client.put(path, json={"state": {"order": orders}}))
    fixes = [each["fix"] for each in pasted["advisories"] if each["fix"]]
    assert fixes
    for fix in fixes:
        answered(await org.client.post(f"{path}/refine", json={"prompt": fix}))
        answered(await org.client.post(f"{path}/undo"))


async def test_a_refinement_that_cannot_be_followed_changes_nothing_and_says_why(org):
    session = await opened(org)
    before = await world_of(org, session)
    for prompt in (
        "frobnicate the widgets",
        "add 3 orders and remove all orders",
        "add 0 orders",
        "add -5 orders",
        "add 99999999 orders",
        "set status of order NOWHERE-1 to cancelled",
        "🙈",
    ):
        answer = await org.client.post(f"{SESSIONS}/{session['id']}/world/refine", json={"prompt": prompt})
        (problem, *_) = refused(answer, 422, "invalid_request")["details"]
        assert problem["message"]
    assert await world_of(org, session) == before


def tool_of(name: str, **properties: Any) -> Row:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return {"name": name, "description": f"{name}.", "input_schema": schema}


async def test_tools_that_speak_of_nothing_are_refused_and_no_session_is_left(org):
    agent = await org.agent(tools_schema=[tool_of("ping"), tool_of("do_it")])
    answer = await org.client.post(SESSIONS, json={"agent_id": agent["id"], "name": "x"})
    assert refused(answer, 422, "invalid_request")["details"]
    assert await every_item(org.client, SESSIONS) == []


TEXT: Row = {"type": "string"}


def ledger(*entities: tuple[str, Row]) -> Row:
    return {
        "entities": [
            {"type": name, "id_field": f"{name}_id", "fields": [{"name": k, **v} for k, v in fields.items()]}
            for name, fields in entities
        ]
    }


HARD = {
    "a cycle": ledger(("order", {"parcel_id": TEXT}), ("parcel", {"order_id": TEXT})),
    "its own parent": ledger(("order", {"order_id": TEXT, "parent_order_id": TEXT})),
    "a hundred types": ledger(*((f"thing{at}", {"name": TEXT}) for at in range(99)), ("order", {})),
    "an enum of 500": ledger(("order", {"status": TEXT | {"enum": [f"state {at}" for at in range(500)]}})),
}


async def test_a_ledger_schema_that_is_hard_to_fill_gets_a_world(org):
    for what, schema in HARD.items():
        agent = await org.agent(ledger_schema=schema)
        session = await opened(org, agent_id=agent["id"])
        world = await world_of(org, session)
        assert {each["type"] for each in world["types"]} == {e["type"] for e in schema["entities"]}, what
        pasted = await org.client.put(f"{SESSIONS}/{session['id']}/world", json={"state": world["state"]})
        answered(pasted, 200)


async def test_abandoned_sessions_are_removed_with_their_worlds_after_their_time(org, house):
    """What others refer to stays, and so does what is younger."""
    database = house.platform.database
    agent = await org.agent()
    finalized = await with_rows(org, agent_id=agent["id"])
    answered(await org.client.post(f"{SESSIONS}/{finalized['id']}/finalize"), 201)
    shared, own = [await opened(org, agent_id=agent["id"], rng_seed=seed) for seed in (7, 8)]
    kept = await opened(org, agent_id=agent["id"], rng_seed=9)
    hashes = [(await world_of(org, each))["world_hash"] for each in (shared, own, kept)]
    for each in (shared, own):
        answered(await org.client.post(f"{SESSIONS}/{each['id']}/abandon"))
    now = datetime.fromisoformat(house.platform.now())
    assert await prune_sessions(database, days=0, now=now + timedelta(days=99)) == []
    assert await prune_sessions(database, days=30, now=now + timedelta(days=29)) == []
    removed = await prune_sessions(database, days=30, now=now + timedelta(days=31))
    assert [each.id for each in removed] == [shared["id"], own["id"]]
    assert all(each.characters > 100 for each in removed)
    refused(await org.client.get(f"{SESSIONS}/{own['id']}"), 404, "not_found")
    await prune_sessions(database, days=30, now=now + timedelta(days=33))

    def stored(connection: Connection) -> list[bool]:
        return [text_size(connection, name) > 0 for name in hashes]

    assert await database.read(stored) == [True, False, True]
    assert answered(await org.client.get(f"{SESSIONS}/{kept['id']}/world"))["state"]


async def test_rows_have_no_state_of_their_own_and_tasks_have_the_one_world(org):
    session = await with_rows(org)
    rows = await rows_of(org, session)
    assert rows
    assert all("initial_state" not in row for row in rows)
    assert all(row["user_instruction"] and row["expected_outcome"] for row in rows)
    assert any(row["failure_rules"] for row in rows)
    done = answered(await org.client.post(f"{SESSIONS}/{session['id']}/finalize"), 201)
    frozen = (await world_of(org, session))["state"]
    for task in await every_item(org.client, f"/api/datasets/{done['dataset_id']}/tasks"):
        seed = answered(await org.client.get(f"/api/tasks/{task['id']}"))["odyssey_seed"]
        assert seed["initial_state"] == frozen
        assert "behavior_instructions" not in seed, "blank where nobody wrote any"


async def test_rows_by_hand_keep_their_own_states_beside_a_generated_dataset(org):
    agent = await org.agent()
    session = await with_rows(org, agent_id=agent["id"])
    answered(await org.client.post(f"{SESSIONS}/{session['id']}/finalize"), 201)
    states = [{"order": {str(at): {"status": "paid"}}} for at in range(2)]
    by_hand = await org.dataset(*({"user": "Refund it.", "state": each} for each in states))
    for task_id, state in zip(by_hand["task_ids"], states, strict=True):
        seed = answered(await org.client.get(f"/api/tasks/{task_id}"))["odyssey_seed"]
        assert seed["initial_state"] == state


async def test_another_world_is_another_session(org):
    agent = await org.agent()
    first = await with_rows(org, agent_id=agent["id"])
    answered(await org.client.post(f"{SESSIONS}/{first['id']}/finalize"), 201)
    for path in ("world/regenerate", "world/undo", "continue"):
        refused(await org.client.post(f"{SESSIONS}/{first['id']}/{path}"), 409, "session_state")
    second = await opened(org, agent_id=agent["id"], rng_seed=8)
    assert second["id"] != first["id"]
    assert (await world_of(org, second))["world_hash"] != first["world_hash"]


async def test_a_world_is_changed_by_words_or_whole_and_never_cell_by_cell(org):
    document = answered(await org.client.get("/openapi.json"))
    changing = {
        (method, path.removeprefix(f"{SESSIONS}/{{session_id}}/"))
        for path, operations in document["paths"].items()
        for method in operations
        if path.startswith(f"{SESSIONS}/{{session_id}}/world") and method != "get"
    }
    assert changing == {
        ("put", "world"),
        ("post", "world/refine"),
        ("post", "world/regenerate"),
        ("post", "world/undo"),
    }


async def test_tools_that_no_row_can_be_about_are_named_before_anybody_goes_on(org):
    """A service of one thing, whose tools take no id: what they change is a guess, and that is said."""
    mode = {"type": "object", "properties": {"mode": {"type": "string"}}, "required": ["mode"]}
    nothing = {"type": "object", "properties": {}}
    tools = [
        {"name": "get_thermostat", "description": "Get the thermostat.", "input_schema": nothing},
        {"name": "set_mode", "description": "Set the mode.", "input_schema": mode},
    ]
    schema = ledger(("thermostat", {"mode": TEXT | {"enum": ["heat", "cool"]}}))
    agent = await org.agent(tools_schema=tools, ledger_schema=schema)
    notes = (await world_of(org, await opened(org, agent_id=agent["id"])))["notes"]
    assert any(note.startswith("No rows will be made about `set_mode`: ") for note in notes)
    assert not any("get_thermostat" in note for note in notes)
    assert "simulation" in notes[-1]
