"""Lists carry summaries: however much an item holds, a page stays small; the item itself has everything."""

import json

import pytest

from support.desk import AGENT, STATE, TASK, Org, answered

pytestmark = pytest.mark.anyio
LONG = "word " * 30_000


async def test_a_page_of_runs_with_long_transcripts_is_small(org: Org) -> None:
    run = await org.run()
    said = {
        "final_response": LONG[:40_000],
        "messages": [{"role": "assistant", "content": LONG}] * 5,
        "metadata": {"note": LONG},
    }
    answered(await org.client.post(f"/api/runs/{run.id}/finish", json=said))
    reply = await org.client.get("/api/runs")
    assert len(reply.content) < 3_000
    (listed,) = answered(reply)["items"]
    whole = answered(await org.client.get(f"/api/runs/{run.id}"))
    assert listed["final_response"] == whole["final_response"][:500]
    assert not {"messages", "metadata", "judgement", "error_json", "soft_warnings"} & listed.keys()
    assert {name: whole[name] for name in listed} == listed | {"final_response": whole["final_response"]}
    assert whole["messages"][4]["content"] == LONG


async def test_a_page_of_agents_has_no_schemas(org: Org) -> None:
    tricky = 'Says ,"tools_schema": and \\",\\"tools_schema\\":[] \n in its text.'
    body = AGENT | {"description": tricky, "auth_header_name": "X-Key", "auth_header_value": "hush"}
    made = answered(await org.client.post("/api/agents", json=body), 201)
    (listed,) = answered(await org.client.get("/api/agents"))["items"]
    assert "tools_schema" not in listed
    assert listed["description"] == tricky
    assert {name: made[name] for name in listed} == listed
    assert listed["has_auth_header_value"] is True


async def test_a_page_of_tasks_says_what_each_asks(org: Org) -> None:
    asked = 'Refund "4521"\\ \u00e9\n\x01 ' * 200
    rows = [TASK | {"user": asked, "behavior": "Refunds are final."}, TASK | {"user": "Hi."}]
    body = {"name": "two", "rows": rows}
    made = answered(await org.client.post("/api/datasets", json=body), 201)
    first, second = answered(await org.client.get(f"/api/datasets/{made['id']}/tasks"))["items"]
    assert first["user_instruction"] == asked[:500]
    assert second == {
        "id": made["task_ids"][1],
        "dataset_id": made["id"],
        "row_number": 2,
        "task_key": second["task_key"],
        "tags": [],
        "user_instruction": "Hi.",
        "created_at": second["created_at"],
    }
    whole = answered(await org.client.get(f"/api/tasks/{made['task_ids'][0]}"))
    assert whole["odyssey_seed"]["user_instruction"] == asked
    assert whole["odyssey_seed"]["initial_state"] == STATE


async def test_a_page_of_the_trace_ends_before_it_is_too_large(org: Org) -> None:
    state = {"order": {"4521": {"status": "paid", "text": "x" * 900_000}}}
    run = await org.run(state=state)
    for _ in range(7):
        assert (await run.call("get_order", {"order_id": "4521"})).status_code == 200
    path, pages, cursor = f"/api/runs/{run.id}/trace", [], {}
    while True:
        reply = await org.client.get(path, params={"limit": 500, **cursor})
        assert len(reply.content) < 6_000_000
        page = answered(reply)
        pages.append([row["sequence"] for row in page["items"]])
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert [number for page in pages for number in page] == [1, 2, 3, 4, 5, 6, 7]
    assert len(pages) == 2
    assert page["items"][0]["response"]["text"] == "x" * 900_000


async def test_an_export_comes_in_parts_and_uploads_to_the_same_seeds(org: Org) -> None:
    rows = [TASK | {"user": f"Task {number}"} for number in range(25)] + [{"user": "Hi.", "tags": "a, b"}]
    made = answered(await org.client.post("/api/datasets", json={"name": "many", "rows": rows}), 201)
    path = f"/api/datasets/{made['id']}/export"
    as_csv = (await org.client.get(path, params={"format": "csv"})).content
    as_json = (await org.client.get(path, params={"format": "json"})).content
    assert len(json.loads(as_json)["rows"]) == 26
    again = answered(await org.client.post("/api/datasets", files={"file": ("again.csv", as_csv)}), 201)
    path = f"/api/datasets/{again['id']}/export"
    assert (await org.client.get(path, params={"format": "csv"})).content == as_csv
    assert (
        answered(await org.client.get(path, params={"format": "json"}))["rows"] == json.loads(as_json)["rows"]
    )


async def test_a_run_says_what_was_asked_of_it_and_in_which_row(org: Org) -> None:
    agent = await org.agent()
    rows = [TASK | {"user": "Hi."}, TASK | {"user": "word " * 200}]
    dataset = await org.dataset(*rows, agent_id=agent["id"])
    run = await org.open_run(agent["id"], dataset["task_ids"][1])
    answered(await run.finish())
    (listed,) = answered(await org.client.get("/api/runs"))["items"]
    whole = answered(await org.client.get(f"/api/runs/{run.id}"))
    for shown in (listed, whole):
        assert (shown["row_number"], shown["user_instruction"]) == (2, ("word " * 200)[:500])
