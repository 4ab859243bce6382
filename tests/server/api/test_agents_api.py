"""Agents over HTTP: versions, drafts, and a header value that goes in and never comes out."""

import sqlite3
from typing import Any

import httpx2
import pytest

from support.desk import AGENT, TOOLS, DrivenRun, House, Org, answered, every_item, refused

pytestmark = pytest.mark.anyio
SECRET = "Bearer s3cret-of-the-agent"
WITH_SECRET = {"auth_header_name": "X-Agent-Auth", "auth_header_value": SECRET}


async def test_a_new_agent_is_published_and_has_its_defaults(org: Org) -> None:
    made = await org.agent()
    assert (made["version"], made["status"], made["mode"]) == (1, "published", "external_http")
    assert (made["run_timeout_s"], made["max_concurrency"]) == (300, 8)
    assert made["ledger_schema"] is made["response_contract"] is None
    assert made["has_auth_header_value"] is False
    assert [tool["name"] for tool in made["tools_schema"]] == [tool["name"] for tool in TOOLS]
    assert answered(await org.client.get(f"/api/agents/{made['id']}")) == made


async def test_a_change_is_a_new_version_and_the_old_one_can_still_be_read(org: Org) -> None:
    first = await org.agent()
    path = f"/api/agents/{first['id']}"
    second = answered(await org.client.put(path, json={"name": "Renamed", "run_timeout_s": 60}))
    assert (second["version"], second["name"], second["run_timeout_s"]) == (2, "Renamed", 60)
    assert second["tools_schema"] == first["tools_schema"]
    old = answered(await org.client.get(path, params={"version": 1}))
    assert (old["version"], old["name"], old["run_timeout_s"]) == (1, "Support desk", 300)
    refused(await org.client.get(path, params={"version": 3}), 404, "not_found")


async def test_a_change_that_changes_nothing_keeps_its_version(org: Org) -> None:
    """Scripts register their agent before each matrix: reviews and baselines go by the version."""
    made = await org.agent(**WITH_SECRET)
    path = f"/api/agents/{made['id']}"
    for same in (AGENT | WITH_SECRET, {"auth_header_value": SECRET}, {"status": "published"}, {}):
        assert answered(await org.client.put(path, json=same)) == made
    other = answered(await org.client.put(path, json={"auth_header_value": "Bearer another"}))
    assert other["version"] == 2
    none = answered(await org.client.put(path, json={"auth_header_value": None}))
    assert (none["version"], none["has_auth_header_value"]) == (3, False)


async def test_a_refused_change_makes_no_version(org: Org) -> None:
    made = await org.agent()
    path = f"/api/agents/{made['id']}"
    error = refused(
        await org.client.put(path, json={"run_timeout_s": 0, "tools_schema": [{}], "colour": 1}),
        422,
        "invalid_request",
    )
    paths = {problem["path"] for problem in error["details"]}
    assert {"/run_timeout_s", "/colour"} <= paths
    assert any(path.startswith("/tools_schema/0") for path in paths)
    assert answered(await org.client.get(path)) == made


async def test_all_problems_of_a_tools_schema_are_told_at_once_with_the_tool(org: Org) -> None:
    schema = [
        {"name": "no_schema"},
        {"name": "bad name", "input_schema": {"type": "object"}},
        TOOLS[0],
        TOOLS[0],
        {"name": "p", "input_schema": {"type": "object"}, "default_execution_mode": "passthrough"},
        {"name": "m", "input_schema": {"type": "object"}, "default_execution_mode": "live"},
        "not an object",
        {"name": "planned", "input_schema": {"type": "object"}, "simulation": [{"nonsense": 1}]},
    ]
    reply = await org.client.post("/api/agents", json=AGENT | {"tools_schema": schema})
    details = refused(reply, 422, "invalid_request")["details"]
    tools_named = {int(problem["path"].split("/")[2]) for problem in details}
    assert {0, 1, 3, 4, 5, 6} <= tools_named
    assert "no_schema" in str(details)
    assert answered(await org.client.get("/api/agents"))["items"] == []


async def test_a_plan_that_does_not_read_is_refused_with_its_place(org: Org) -> None:
    schema = [TOOLS[0] | {"simulation": [{"return": "1 +"}]}]
    reply = await org.client.post("/api/agents", json=AGENT | {"tools_schema": schema})
    details = refused(reply, 422, "invalid_request")["details"]
    assert all(problem["path"].startswith("/tools_schema/0/simulation") for problem in details)


async def test_a_draft_may_be_unfinished_and_cannot_be_run_until_published(org: Org) -> None:
    draft = answered(await org.client.post("/api/agents", json={"name": "Later", "status": "draft"}), 201)
    assert draft["status"] == "draft"
    dataset = await org.dataset()
    body = {"mode": "manual", "agent_id": draft["id"], "task_ids": dataset["task_ids"]}
    refused(await org.client.post("/api/runs", json=body), 409, "agent_is_draft")
    path = f"/api/agents/{draft['id']}"
    refused(await org.client.post(f"{path}/publish"), 422, "invalid_request")  # no endpoint_url yet
    answered(await org.client.put(path, json={"endpoint_url": "https://agents.example.com/"}))
    before = answered(await org.client.get(path))["version"]
    for _ in range(2):  # to publish a published one changes nothing
        published = answered(await org.client.post(f"{path}/publish"))
        assert (published["status"], published["version"]) == ("published", before + 1)
    answered(await org.client.post("/api/runs", json=body), 201)


async def test_lists_tell_drafts_from_published_agents(org: Org) -> None:
    published = await org.agent()
    draft = await org.agent(status="draft")
    for status, expected in (("published", published), ("draft", draft)):
        items = answered(await org.client.get("/api/agents", params={"status": status}))["items"]
        assert [item["id"] for item in items] == [expected["id"]]
    refused(await org.client.get("/api/agents", params={"status": "gone"}), 422, "invalid_request")


async def test_a_run_keeps_the_version_it_was_opened_on(org: Org, run: DrivenRun) -> None:
    agent_id = run.opened["agent_id"]
    assert run.opened["agent_version"] == 1
    answered(await org.client.put(f"/api/agents/{agent_id}", json={"tools_schema": [TOOLS[0]]}))
    assert answered(await run.call("refund_order", {"order_id": "4521"}))["source"] == "odyssey"
    later = await org.open_run(agent_id, run.opened["task_id"])
    assert later.opened["agent_version"] == 2
    refused(await later.call("refund_order", {"order_id": "4521"}), 404, "tool_not_declared")


async def test_a_deleted_agent_is_gone_but_its_runs_go_on(house: House, org: Org, run: DrivenRun) -> None:
    agent_id = run.opened["agent_id"]
    assert (await org.client.delete(f"/api/agents/{agent_id}")).status_code == 204
    refused(await org.client.get(f"/api/agents/{agent_id}"), 404, "not_found")
    refused(await org.client.put(f"/api/agents/{agent_id}", json={"name": "x"}), 404, "not_found")
    refused(await org.client.post(f"/api/agents/{agent_id}/publish"), 404, "not_found")
    refused(await org.client.delete(f"/api/agents/{agent_id}"), 404, "not_found")
    body = {"mode": "manual", "agent_id": agent_id, "task_ids": [run.opened["task_id"]]}
    refused(await org.client.post("/api/runs", json=body), 404, "not_found")
    assert answered(await org.client.get("/api/agents"))["items"] == []
    house.platform.live_runs.forget({run.id})
    assert answered(await run.call("get_order", {"order_id": "4521"}))["source"] == "odyssey"
    assert answered(await org.client.get(f"/api/runs/{run.id}"))["agent_version"] == 1


# The header value


async def everything_readable(org: Org, agent_id: int, run: DrivenRun) -> list[httpx2.Response]:
    client = org.client
    return [
        await client.get(f"/api/agents/{agent_id}"),
        await client.get(f"/api/agents/{agent_id}", params={"version": 1}),
        await client.get("/api/agents"),
        await client.get(f"/api/agents/{agent_id}/plans"),
        await client.put(f"/api/agents/{agent_id}", json={"description": "changed"}),
        await client.post(f"/api/agents/{agent_id}/publish"),
        await client.get(f"/api/runs/{run.id}"),
        await client.get("/api/runs"),
        await run.raw("tools", b"", "GET"),
    ]


async def test_the_header_value_is_written_and_never_read(house: House, org: Org) -> None:
    made = answered(await org.client.post("/api/agents", json=AGENT | WITH_SECRET), 201)
    assert made["has_auth_header_value"] is True
    assert "auth_header_value" not in made
    run = await org.run(made)
    for reply in await everything_readable(org, made["id"], run):
        assert SECRET not in reply.text
        assert "s3cret" not in reply.text
    await house.platform.database.write(lambda connection: None)
    for path in house.settings.data_dir.iterdir():
        assert b"s3cret" not in path.read_bytes(), path.name


async def test_what_is_stored_opens_only_for_its_own_agent(house: House, org: Org) -> None:
    made = await org.agent(**WITH_SECRET)
    with sqlite3.connect(house.settings.database_path) as connection:
        (sealed,) = connection.execute("SELECT auth_header_value FROM agent_versions").fetchone()
    connection.close()
    box = house.platform.secrets
    assert box.open(sealed, row=f"1|agent|{made['id']}") == SECRET


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [
        ({"name": "Renamed"}, True),
        ({"auth_header_name": "X-Other"}, True),
        ({"auth_header_value": "Bearer new"}, True),
        ({"auth_header_value": None}, False),
        ({"auth_header_name": None, "auth_header_value": None}, False),
        ({"auth_header_name": None}, False),
    ],
    ids=[
        "another field",
        "only its name",
        "a new one",
        "taken away",
        "both taken away",
        "its name taken away",
    ],
)
async def test_a_change_keeps_the_value_unless_it_says_otherwise(
    org: Org, change: dict[str, Any], is_kept: bool
) -> None:
    made = await org.agent(**WITH_SECRET)
    changed = answered(await org.client.put(f"/api/agents/{made['id']}", json=change))
    assert changed["has_auth_header_value"] is is_kept


@pytest.mark.parametrize(
    "value", [f"{SECRET}\r\nX-Evil: 1", f"{SECRET}\0", f"ä {SECRET}", {"a": SECRET}, [SECRET], SECRET * 1000]
)
async def test_a_refused_value_is_not_repeated_in_the_refusal(org: Org, value: Any) -> None:
    body = AGENT | WITH_SECRET | {"auth_header_value": value}
    reply = await org.client.post("/api/agents", json=body)
    refused(reply, 422, "invalid_request")
    assert "s3cret" not in reply.text


# Plans


async def test_plans_show_what_each_tool_does_and_can_be_checked_unsaved(org: Org, run: DrivenRun) -> None:
    agent_id = run.opened["agent_id"]
    path = f"/api/agents/{agent_id}/plans"
    plans = answered(await org.client.get(path, params={"task_id": run.opened["task_id"]}))
    assert all(tool["name"] in str(plans) for tool in TOOLS)
    refused(await org.client.get(path, params={"task_id": 999}), 404, "not_found")
    good = {"plans": {"get_order": [{"return": "args.order_id"}]}}
    assert answered(await org.client.post(f"{path}/check", json=good)) == {"ok": True, "problems": []}
    bad = {"plans": {"nothing": [{"return": "1 +"}], "get_order": 7}}
    checked = answered(await org.client.post(f"{path}/check", json=bad))
    assert checked["ok"] is False
    assert len(checked["problems"]) >= 3
    as_text = {"text": "get_order:\n  - return: args.order_id\n"}
    assert answered(await org.client.post(f"{path}/check", json=as_text))["ok"] is True
    for body in ({}, {"plans": {}, "text": ""}, {"colour": 1}):
        refused(await org.client.post(f"{path}/check", json=body), 422, "invalid_request")
    for body in ({"text": 7}, {"plans": []}, {"text": "a: [", "plans": None}):
        reply = await org.client.post(f"{path}/check", json=body)
        assert reply.status_code in (200, 422), reply.text


async def test_the_list_has_every_agent_newest_first(org: Org) -> None:
    made = [(await org.agent(name=f"Agent {number}"))["id"] for number in range(7)]
    items = await every_item(org.client, "/api/agents", limit=3)
    assert [item["id"] for item in items] == made[::-1]
