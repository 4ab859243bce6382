"""Task keys over the API: the author's ids, datasets that are used again, what one org sees of another."""

import pytest

from support.desk import TASK, Org, answered

pytestmark = pytest.mark.anyio
ROWS = [TASK | {"user": f"Refund {n}."} for n in range(3)]


async def upload(org: Org, *rows: dict[str, object], status: int = 201, **more: object):
    body = {"name": "tasks.csv", "rows": [*rows]} | more
    return answered(await org.client.post("/api/datasets", json=body), status)


async def keys(org: Org, dataset_id: int) -> list[str]:
    return [
        task["task_key"]
        for task in answered(await org.client.get(f"/api/datasets/{dataset_id}/tasks"))["items"]
    ]


async def test_the_same_rows_have_the_same_keys_in_every_dataset(org: Org) -> None:
    first, second = await upload(org, *ROWS), await upload(org, *reversed(ROWS))
    assert await keys(org, first["id"]) == (await keys(org, second["id"]))[::-1]
    one = answered(await org.client.get(f"/api/tasks/{first['task_ids'][0]}"))
    assert one["task_key"] == (await keys(org, first["id"]))[0]


async def test_an_authors_id_is_the_key_and_comes_back_in_exports(org: Org) -> None:
    made = await upload(org, ROWS[0] | {"id": "late refund", "tags": ["x"]}, ROWS[1])
    assert (await keys(org, made["id"]))[0] == "late refund"
    exported = await org.client.get(f"/api/datasets/{made['id']}/export", params={"format": "json"})
    again = await upload(org, *exported.json()["rows"])
    assert again["content_hash"] == made["content_hash"]
    text = (await org.client.get(f"/api/datasets/{made['id']}/export")).content
    files = {"file": ("tasks.csv", text)}
    from_csv = answered(await org.client.post("/api/datasets", files=files), 201)
    assert from_csv["content_hash"] == made["content_hash"]


async def test_an_id_that_the_dataset_has_already_cannot_be_appended(org: Org) -> None:
    made = await upload(org, ROWS[0] | {"id": "a"}, ROWS[1] | {"id": "b"})
    rows = [ROWS[2] | {"id": "b"}, ROWS[2] | {"id": "a"}, ROWS[2] | {"id": "c"}]
    refused = await org.client.post(f"/api/datasets/{made['id']}/tasks", json={"rows": rows})
    assert refused.status_code == 422
    assert [detail["message"] for detail in refused.json()["error"]["details"]] == [
        "task 1 of the dataset already has the id `a`",
        "task 2 of the dataset already has the id `b`",
    ]
    assert await keys(org, made["id"]) == ["a", "b"]


async def test_an_unchanged_upload_is_answered_with_the_dataset_that_is_there(org: Org) -> None:
    made = await upload(org, *ROWS)
    assert made["reused"] is False
    again = await upload(org, *ROWS, reuse=True, status=200)
    assert (again["id"], again["reused"], again["task_ids"]) == (made["id"], True, made["task_ids"])
    assert (await upload(org, *ROWS))["id"] != made["id"]  # nobody asked
    for change in ({"name": "other.csv"}, {"rows": ROWS[:2]}, {"rows": ROWS[::-1]}):
        assert (await upload(org, *ROWS, reuse=True, **change))["reused"] is False
    oracle = ROWS[0] | {"expected_outcome": "refusal"}
    assert (await upload(org, oracle, *ROWS[1:], reuse=True))["reused"] is False


async def test_what_was_appended_to_is_another_dataset(org: Org) -> None:
    made = await upload(org, *ROWS[:2])
    rows = {"rows": [ROWS[2]]}
    grown = answered(await org.client.post(f"/api/datasets/{made['id']}/tasks", json=rows), 201)
    assert grown["content_hash"] != made["content_hash"]
    assert (await upload(org, *ROWS, reuse=True, status=200))["id"] == made["id"]


async def test_datasets_are_found_by_content(org: Org) -> None:
    made, _ = await upload(org, *ROWS), await upload(org, *ROWS[:1])
    found = await org.client.get("/api/datasets", params={"content_hash": made["content_hash"]})
    assert [each["id"] for each in answered(found)["items"]] == [made["id"]]


async def test_a_word_that_is_no_boolean_is_refused(org: Org) -> None:
    body = {"name": "d", "rows": ROWS, "reuse": "yes"}
    refused = await org.client.post("/api/datasets", json=body)
    assert refused.status_code == 422
    assert refused.json()["error"]["details"][0]["path"] == "/reuse"
