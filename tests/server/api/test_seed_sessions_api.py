"""Seed sessions over the API: a gated flow in which nothing is half-made."""

import asyncio

import pytest

from pipelines.storage.database.connection import Connection
from support.desk import answered, every_item, refused
from support.seed_session_calls import (
    SESSIONS,
    opened,
    rows_of,
    until_made,
    with_rows,
    world_of,
)

pytestmark = pytest.mark.anyio


async def test_a_new_session_waits_with_its_world_for_review(org):
    session = await opened(org)
    assert (session["status"], session["revision"], session["world_hash"]) == ("world_review", 1, None)
    assert session["counts"] == {"wanted": 6, "kept": 0, "rejected": 0, "dropped": 0}
    world = await world_of(org, session)
    assert sum(each["count"] for each in world["types"]) == world["entities"] > 0
    assert {each["type"] for each in world["types"]} <= set(world["state"])
    assert answered(await org.client.get(SESSIONS))["items"][0]["id"] == session["id"]
    assert await rows_of(org, session) == []


async def test_the_same_seed_gives_the_same_world_and_rows(org):
    agent = await org.agent()
    first, second = [await with_rows(org, agent_id=agent["id"]) for _ in range(2)]
    assert first["world_hash"] == second["world_hash"]
    asked = [[row["user_instruction"] for row in await rows_of(org, each)] for each in (first, second)]
    assert asked[0] == asked[1]
    other = await opened(org, agent_id=agent["id"], rng_seed=8)
    assert (await world_of(org, other))["world_hash"] != first["world_hash"]


async def test_buckets_that_nobody_named_are_chosen_and_said_to_be(org):
    session = await opened(org, buckets=None)
    assert session["buckets_chosen"]
    names = [bucket["name"] for bucket in session["buckets"]]
    assert names == ["everyday requests", "not allowed", "backend trouble"]


async def test_a_pasted_world_takes_the_place_of_the_present_one_and_undo_brings_that_back(org):
    session = await opened(org)
    path, first = f"{SESSIONS}/{session['id']}/world", await world_of(org, session)
    pasted = answered(await org.client.put(path, json={"state": {"order": {"1": {"status": "paid"}}}}))
    assert (pasted["number"], pasted["kind"], pasted["undo_to"]) == (2, "pasted", 1)
    assert pasted["changes"]["added"] == 1
    assert pasted["changes"]["removed"] == first["entities"]
    assert (await world_of(org, session))["state"] == {"order": {"1": {"status": "paid"}}}
    undone = answered(await org.client.post(f"{path}/undo"))
    assert (undone["number"], undone["kind"], undone["undo_to"]) == (3, "undone", None)
    now = await world_of(org, session)
    assert (now["revision"], now["world_hash"], now["state"]) == (3, first["world_hash"], first["state"])
    refused(await org.client.post(f"{path}/undo"), 409, "conflict")
    history = answered(await org.client.get(f"{SESSIONS}/{session['id']}/revisions"))["items"]
    assert [(each["number"], each["kind"]) for each in history] == [
        (3, "undone"),
        (2, "pasted"),
        (1, "made"),
    ]
    before = answered(await org.client.get(path, params={"revision": 2}))
    assert before["state"] == {"order": {"1": {"status": "paid"}}}


@pytest.mark.parametrize(
    "body",
    [
        {"initial_state": {"order": {"1": {"status": "paid"}}}},
        {"state": {"initial_state": {"order": {"1": {"status": "paid"}}}}},
    ],
    ids=["in place of state", "as a stored task shows it"],
)
async def test_a_world_can_be_pasted_under_the_name_of_its_axis(org, body):
    session = await opened(org)
    answered(await org.client.put(f"{SESSIONS}/{session['id']}/world", json=body))
    assert (await world_of(org, session))["state"] == {"order": {"1": {"status": "paid"}}}


async def test_undo_goes_back_as_often_as_there_were_changes(org):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}/world"
    hashes = [(await world_of(org, session))["world_hash"]]
    for state in ({"order": {"1": {}}}, {"order": {"2": {}}}):
        hashes.append(answered(await org.client.put(path, json={"state": state}))["world_hash"])
    back = [answered(await org.client.post(f"{path}/undo"))["world_hash"] for _ in range(2)]
    assert back == hashes[1::-1]


async def test_regenerating_makes_another_world_and_a_seed_says_which(org):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}/world"
    first = await world_of(org, session)
    other = answered(await org.client.post(f"{path}/regenerate"))
    assert (other["kind"], other["world_hash"] != first["world_hash"]) == ("regenerated", True)
    again = answered(await org.client.post(f"{path}/regenerate", json={"rng_seed": 7}))
    assert again["world_hash"] == first["world_hash"]


async def test_of_two_people_the_second_is_told_that_the_world_has_changed(org):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}/world"
    mine, theirs = {"state": {"order": {"1": {}}}}, {"state": {"order": {"2": {}}}}
    answered(await org.client.put(path, json=mine | {"revision": 1}))
    for late in (
        await org.client.put(path, json=theirs | {"revision": 1}),
        await org.client.put(path, json=theirs, headers={"If-Match": '"1"'}),
        await org.client.post(f"{path}/refine", json={"prompt": "add 1 order", "revision": 1}),
        await org.client.post(f"{path}/regenerate", json={"revision": 1}),
        await org.client.post(f"{path}/undo", headers={"If-Match": "1"}),
        await org.client.post(f"{SESSIONS}/{session['id']}/continue", json={"revision": 1}),
    ):
        assert refused(late, 409, "stale_revision")["details"] == {"revision": 2}
    assert (await world_of(org, session))["state"] == mine["state"]
    read = await org.client.get(path)
    assert read.headers["etag"] == '"2"'
    answered(await org.client.put(path, json=theirs, headers={"If-Match": read.headers["etag"]}))


async def test_of_changes_at_the_same_moment_one_is_made(org):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}/world"
    states = [{"order": {str(at): {}}} for at in range(4)]
    answers = await asyncio.gather(*(org.client.put(path, json={"state": state}) for state in states))
    made = [answer for answer in answers if answer.status_code == 200]
    for late in answers:
        if late not in made:
            refused(late, 409, "stale_revision")
    history = answered(await org.client.get(f"{SESSIONS}/{session['id']}/revisions"))["items"]
    assert [each["number"] for each in history] == list(range(len(made) + 1, 0, -1))


async def test_continue_twice_freezes_once(org):
    session = await opened(org)
    answers = await asyncio.gather(
        *(org.client.post(f"{SESSIONS}/{session['id']}/continue") for _ in range(3))
    )
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409]
    done = await until_made(org, session)
    assert done["status"] == "rows_review"
    error = refused(await org.client.post(f"{SESSIONS}/{session['id']}/continue"), 409, "session_state")
    assert error["details"]["status"] == "rows_review"
    rows = await rows_of(org, session, status="any")
    assert len(rows) == done["counts"]["kept"] + done["counts"]["rejected"]


async def test_rows_are_made_bucket_by_bucket_each_with_its_proof(org):
    done = await with_rows(org)
    assert done["world_hash"] is not None
    rows = await rows_of(org, done)
    for bucket in done["buckets"]:
        assert bucket["done"]
        kept = [row for row in rows if row["bucket"] == bucket["number"]]
        assert len(kept) == bucket["kept"]
        assert bucket["kept"] == bucket["wanted"] or bucket["problem"]
    assert rows
    for row in rows:
        assert row["proof"]["said"]
        assert row["expected_state"] or row["expected_calls"] or row["expected_outcome"] == "refusal"
    assert len({row["user_instruction"] for row in rows}) == len(rows)
    for row in await rows_of(org, done, status="rejected"):
        assert row["reason_code"]
        assert row["reason"]
    covered = answered(await org.client.get(f"{SESSIONS}/{done['id']}/coverage"))
    assert covered["rows"] == len(rows)
    asked = sum(len({call["tool"] for call in row["proof"]["calls"]}) for row in rows)
    assert sum(covered["by_tool"].values()) == asked


async def test_a_frozen_world_is_not_changed(org):
    done = await with_rows(org)
    path = f"{SESSIONS}/{done['id']}/world"
    frozen = await world_of(org, done)
    for late in (
        await org.client.put(path, json={"state": {"order": {}}}),
        await org.client.post(f"{path}/refine", json={"prompt": "add 1 order"}),
        await org.client.post(f"{path}/regenerate"),
        await org.client.post(f"{path}/undo"),
    ):
        assert refused(late, 409, "session_state")["details"]["status"] == "rows_review"
    assert (await world_of(org, done))["world_hash"] == frozen["world_hash"] == done["world_hash"]


async def test_rows_are_dropped_and_replaced_one_by_one(org):
    done = await with_rows(org)
    path = f"{SESSIONS}/{done['id']}"
    first, second, *_ = await rows_of(org, done)
    dropped = answered(await org.client.delete(f"{path}/rows/{first['id']}"))
    assert dropped["status"] == "dropped"
    refused(await org.client.delete(f"{path}/rows/{first['id']}"), 409, "conflict")
    after = answered(await org.client.get(path))
    assert (after["counts"]["wanted"], after["counts"]["kept"]) == (
        done["counts"]["wanted"] - 1,
        done["counts"]["kept"] - 1,
    )
    answered(await org.client.post(f"{path}/rows/{second['id']}/regenerate"), 202)
    again = await until_made(org, done)
    assert again["status"] == "rows_review"
    assert again["counts"]["wanted"] == done["counts"]["wanted"] - 1
    now = await rows_of(org, done)
    assert {first["id"], second["id"]}.isdisjoint(row["id"] for row in now)
    assert second["user_instruction"] not in {row["user_instruction"] for row in now}


async def test_buckets_are_dropped_and_made_anew(org):
    done = await with_rows(org)
    path = f"{SESSIONS}/{done['id']}"
    answered(await org.client.post(f"{path}/buckets/1/regenerate"), 202)
    again = await until_made(org, done)
    assert again["buckets"][0]["dropped"] == done["buckets"][0]["kept"]
    assert again["buckets"][0]["kept"] == 4
    assert again["buckets"][1] == done["buckets"][1]
    gone = answered(await org.client.delete(f"{path}/buckets/2"))
    assert (gone["kept"], gone["wanted"]) == (0, 0)
    refused(await org.client.delete(f"{path}/buckets/3"), 404, "not_found")
    refused(await org.client.delete(f"{path}/rows/99999"), 404, "not_found")


async def test_a_finalized_session_is_a_dataset_over_one_world_that_uploads_again_to_the_same_seeds(org):
    done = await with_rows(org, behavior="cancel_order only succeeds when the status is pending.")
    rows = await rows_of(org, done)
    ended = answered(await org.client.post(f"{SESSIONS}/{done['id']}/finalize"), 201)
    assert ended["status"] == "finalized"
    dataset = answered(await org.client.get(f"/api/datasets/{ended['dataset_id']}"))
    assert (dataset["name"], dataset["agent_id"], dataset["task_count"]) == (
        "orders",
        done["agent_id"],
        len(rows),
    )
    state = (await world_of(org, done))["state"]
    tasks = await every_item(org.client, f"/api/datasets/{dataset['id']}/tasks")
    for task, row in zip(tasks, rows, strict=True):
        seed = answered(await org.client.get(f"/api/tasks/{task['id']}"))["odyssey_seed"]
        assert seed["initial_state"] == state
        assert seed["user_instruction"] == row["user_instruction"]
        assert seed["behavior_instructions"] == "cancel_order only succeeds when the status is pending."
        assert seed["now"] == "2026-05-01T12:00:00.000000Z"
    exported = await org.client.get(f"/api/datasets/{dataset['id']}/export")
    again = await org.client.post(
        "/api/datasets",
        files={"file": ("orders.csv", exported.content)},
        data={"name": "orders", "agent_id": str(done["agent_id"]), "reuse": "true"},
    )
    assert answered(again, 200)["id"] == dataset["id"], "the same tasks, byte by byte"


async def test_the_world_of_a_session_is_stored_once(org, house):
    done = await with_rows(org)
    ended = answered(await org.client.post(f"{SESSIONS}/{done['id']}/finalize"), 201)

    def look(connection: Connection) -> tuple[set[str], int]:
        tasks = connection.execute(
            "SELECT world_hash FROM tasks WHERE dataset_id = ?", (ended["dataset_id"],)
        ).fetchall()
        parts = connection.execute("SELECT COUNT(*) FROM texts WHERE hash = ?", (done["world_hash"],))
        return {row[0] for row in tasks}, parts.fetchone()[0]

    assert await house.platform.database.read(look) == ({done["world_hash"]}, 1)


async def test_finalize_waits_for_the_rows_and_is_done_once(org):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}"
    refused(await org.client.post(f"{path}/finalize"), 409, "session_state")
    answered(await org.client.post(f"{path}/continue"), 202)
    early = await org.client.post(f"{path}/finalize")
    if early.status_code != 201:  # they may have been made in this very moment
        assert refused(early, 409, "session_state")["details"]["status"] == "rows_generating"
        await until_made(org, session)
        answers = await asyncio.gather(*(org.client.post(f"{path}/finalize") for _ in range(3)))
        assert sorted(answer.status_code for answer in answers) == [201, 409, 409]
    datasets = await every_item(org.client, "/api/datasets", name="orders")
    assert len(datasets) == 1
    refused(await org.client.post(f"{path}/abandon"), 409, "session_state")


async def test_without_rows_there_is_no_dataset(org):
    done = await with_rows(org)
    for bucket in done["buckets"]:
        answered(await org.client.delete(f"{SESSIONS}/{done['id']}/buckets/{bucket['number']}"))
    refused(await org.client.post(f"{SESSIONS}/{done['id']}/finalize"), 409, "conflict")
    assert await every_item(org.client, "/api/datasets", name="orders") == []


async def test_an_abandoned_session_stays_to_be_looked_at_and_nothing_else(org):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}"
    for _ in range(2):
        assert answered(await org.client.post(f"{path}/abandon"), 200)["status"] == "abandoned"
    assert (await world_of(org, session))["status"] == "abandoned"
    refused(await org.client.post(f"{path}/continue"), 409, "session_state")
    refused(await org.client.post(f"{path}/world/undo"), 409, "session_state")


async def test_an_abandoned_session_makes_no_more_rows(org):
    session = await opened(org, buckets=[{"name": str(at), "rows": 3} for at in range(8)])
    path = f"{SESSIONS}/{session['id']}"
    answered(await org.client.post(f"{path}/continue"), 202)
    answered(await org.client.post(f"{path}/abandon"), 200)
    before = await rows_of(org, session, status="any")
    await until_made(org, session)
    assert await rows_of(org, session, status="any") == before


async def test_a_model_as_author_is_refused_with_what_to_set(org):
    agent = await org.agent()
    answer = await org.client.post(SESSIONS, json={"agent_id": agent["id"], "name": "x", "author": "model"})
    error = refused(answer, 422, "model_not_configured")
    assert "PIPELINES_AUTHOR_MODEL" in error["message"]
    assert "PIPELINES_MODEL" in error["message"]
    assert await every_item(org.client, SESSIONS) == []


async def test_an_agent_without_tools_has_nothing_to_make_a_world_for(org):
    agent = await org.agent(tools_schema=[])
    answer = await org.client.post(SESSIONS, json={"agent_id": agent["id"], "name": "x"})
    (problem,) = refused(answer, 422, "invalid_request")["details"]
    assert problem["path"] == "/agent_id"
    assert await every_item(org.client, SESSIONS) == []


async def test_a_pasted_world_of_the_wrong_shape_is_refused_whole(org):
    session = await opened(org)
    for state in ([], {"order": []}, {"order": {"1": 3}}, {"initial_state": {"order": []}}, "order"):
        answer = await org.client.put(f"{SESSIONS}/{session['id']}/world", json={"state": state})
        refused(answer, 422, "invalid_request")
    assert (await world_of(org, session))["revision"] == 1


async def test_a_pasted_world_is_held_against_the_ledger_schema(org):
    schema = {
        "entities": [
            {
                "type": "order",
                "id_field": "order_id",
                "fields": [{"name": "status", "type": "string", "enum": ["paid", "refunded", "cancelled"]}],
            }
        ]
    }
    agent = await org.agent(ledger_schema=schema)
    session = await opened(org, agent_id=agent["id"])
    wrong = {"order": {"1": {"status": "lost"}}, "parcel": {"1": {}}}
    answer = await org.client.put(f"{SESSIONS}/{session['id']}/world", json={"state": wrong})
    details = refused(answer, 422, "invalid_request")["details"]
    assert len(details) == 2


async def test_what_is_no_json_or_no_request_changes_nothing(org):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}/world"
    kind = {"content-type": "application/json"}
    refused(await org.client.put(path, content=b'{"state": {', headers=kind), 400, "invalid_json")
    refused(await org.client.put(path, content=b"[]", headers=kind), 422, "invalid_request")
    refused(await org.client.put(path, json={"state": {}, "colour": 1}), 422, "invalid_request")
    refused(await org.client.put(path, json={"state": {}, "revision": "x"}), 422, "invalid_request")
    refused(await org.client.post(f"{path}/undo", json={"all": True}), 422, "invalid_request")
    refused(await org.client.post(f"{path}/undo", headers={"If-Match": "abc"}), 422, "invalid_request")
    refused(await org.client.post(f"{path}/refine", json={}), 422, "invalid_request")
    assert (await world_of(org, session))["revision"] == 1


async def test_a_pasted_world_of_20_mb_is_refused_by_its_size(org):
    session = await opened(org)
    huge = b'{"state":{"order":{"1":{"text":"' + b"x" * 20_000_000 + b'"}}}}'
    answer = await org.client.put(
        f"{SESSIONS}/{session['id']}/world", content=huge, headers={"content-type": "application/json"}
    )
    refused(answer, 413, "body_too_large")
    assert (await world_of(org, session))["revision"] == 1


async def test_a_pasted_world_of_too_many_values_is_refused_by_its_count(org):
    session = await opened(org)
    state = {"order": {str(at): {"a": 1, "b": 2, "c": 3} for at in range(70_000)}}
    answer = await org.client.put(f"{SESSIONS}/{session['id']}/world", json={"state": state})
    (problem,) = refused(answer, 422, "invalid_request")["details"]
    assert "250,000 values" in problem["message"]


async def test_sessions_are_one_orgs_and_a_viewer_only_looks(org, house):
    session = await opened(org)
    path = f"{SESSIONS}/{session['id']}"
    other = await house.another_org()
    for method, place in (
        ("GET", ""),
        ("GET", "/world"),
        ("GET", "/rows"),
        ("GET", "/revisions"),
        ("GET", "/coverage"),
        ("GET", "/events"),
        ("POST", "/continue"),
        ("POST", "/finalize"),
        ("POST", "/abandon"),
        ("POST", "/world/undo"),
        ("DELETE", "/rows/1"),
        ("POST", "/buckets/1/regenerate"),
    ):
        refused(await other.client.request(method, path + place), 404, "not_found")
    agent_id = session["agent_id"]
    refused(await other.client.post(SESSIONS, json={"agent_id": agent_id, "name": "x"}), 404, "not_found")
    assert answered(await other.client.get(SESSIONS))["items"] == []
    from pipelines.wire.names import Role

    viewer = await org.key_of(Role.VIEWER)
    answered(await viewer.client.get(f"{path}/world"))
    for place in ("/continue", "/abandon", "/world/undo", "/finalize"):
        refused(await viewer.client.post(path + place), 403, "forbidden")
