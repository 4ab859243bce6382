"""Cassettes over the API: chosen by runs and batches, exported, imported, verified, deleted."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pipelines.core.endpoints.endpoint_drift import StoredTool
from pipelines.core.text.json_text import Json
from pipelines.core.tools.live_tools import RECORD, DiscoveredTool, LiveCall, LiveCallFailed, LiveReply
from pipelines.core.tools.mcp_answers import discovery_of
from pipelines.engine.batches.finish_changes import finish_changes
from pipelines.engine.endpoints import manage_cassettes, verify_cassette
from pipelines.storage.agents import cassettes as stored
from pipelines.storage.agents import tool_endpoints
from pipelines.storage.agents.tool_endpoints import ToolEndpoint
from pipelines.wire.errors import Conflict
from support.desk import House, Org, Row, answered, every_item, refused

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
SECRET = "staging-key-7c21f0"
LINES = [
    {"tool": "get_order", "arguments": {"order_id": "1"}, "response": {"status": "paid", "lines": [1, 2]}},
    {"tool": "get_order", "arguments": {"order_id": "2"}, "status": 404, "response": "none"},
    {"tool": "refund_order", "arguments": {"order_id": "1"}, "response": {"ok": True}},
    {"tool": "get_order", "arguments": {"order_id": "3"}, "failure": "No answer came."},
]
ON_ENDPOINT = [line | {"endpoint": "orders-api", "endpoint_tool": line["tool"]} for line in LINES]


def as_lines(*lines: Row) -> bytes:
    return "\n".join(map(json.dumps, lines)).encode()


async def put(org: Org, name: str, *lines: Row) -> Row:
    made: Row = answered(await org.client.put(f"/api/cassettes/{name}", content=as_lines(*lines)))
    return made


async def body_of_run(org: Org, **more: Any) -> Row:
    agent = await org.agent()
    dataset = await org.dataset(agent_id=agent["id"])
    return {"agent_id": agent["id"], "task_ids": dataset["task_ids"]} | more


async def test_what_is_imported_is_exported_in_the_same_order(org: Org) -> None:
    made = await put(org, "staging", *LINES)
    assert (made["name"], made["calls"], made["dropped"]) == ("staging", 4, 0)
    reply = await org.client.get("/api/cassettes/staging")
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    exported = [json.loads(line) for line in reply.text.splitlines()]
    assert exported == [
        {"occurrence": 1, **({} if "failure" in line else {"status": 200}), **line} for line in LINES
    ]
    assert made["bytes"] == len(reply.text) - 4
    again = await org.client.put("/api/cassettes/copy", content=reply.content)
    assert answered(again)["calls"] == 4
    assert [each["name"] for each in await every_item(org.client, "/api/cassettes")] == ["copy", "staging"]


async def test_an_import_takes_the_place_of_what_was_there(house: House, org: Org) -> None:
    await put(org, "staging", *LINES)
    await put(org, "staging", LINES[0])
    assert [each["calls"] for each in await every_item(org.client, "/api/cassettes")] == [1]
    count = "SELECT COUNT(*) FROM cassette_calls"
    assert (await house.platform.database.read(lambda c: c.execute(count).fetchone()[0])) == 1


async def test_a_cassette_edited_by_hand_is_refused_with_its_lines_and_nothing_is_changed(org: Org) -> None:
    await put(org, "staging", LINES[0])
    wrong = as_lines(LINES[0], {"tool": "x"}, LINES[0]) + b"\n{"
    error = refused(await org.client.put("/api/cassettes/staging", content=wrong), 422, "invalid_request")
    assert [problem["path"] for problem in error["details"]] == ["line 2", "line 3", "line 4"]
    assert answered(await org.client.get("/api/cassettes"))["items"][0]["calls"] == 1
    refused(await org.client.put("/api/cassettes/a b", content=b""), 422, "invalid_request")
    assert (await put(org, "empty"))["calls"] == 0


async def test_a_secret_in_an_imported_line_is_masked(org: Org) -> None:
    key = "sk-proj-abcDEF1234567890abcDEF"
    await put(org, "staging", LINES[0] | {"response": f"use {key}"})
    text = (await org.client.get("/api/cassettes/staging")).text
    assert key not in text
    assert '"masked":true' in text


async def test_a_deleted_cassette_is_gone_with_its_calls(house: House, org: Org) -> None:
    await put(org, "staging", *LINES)
    answered(await org.client.delete("/api/cassettes/staging"), 204)
    for reply in (
        await org.client.delete("/api/cassettes/staging"),
        await org.client.get("/api/cassettes/staging"),
        await org.client.post("/api/cassettes/staging/verify"),
    ):
        refused(reply, 404, "not_found")
    counts = ("SELECT COUNT(*) FROM cassette_calls", "SELECT COUNT(*) FROM cassettes")
    found = await house.platform.database.read(lambda c: [c.execute(each).fetchone()[0] for each in counts])
    assert found == [0, 0]


async def test_what_was_taken_away_meanwhile_is_not_exported_as_if_it_were_whole(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(org, "staging", *LINES)
    await house.platform.database.write(lambda c: stored.remove_discarded(c, cassette_id=1, most=3))
    monkeypatch.setattr(manage_cassettes, "_READ_AT_ONCE", 1)
    cassette = await manage_cassettes.find_cassette(house.platform, org.id, "staging")
    read = manage_cassettes.calls_in_order(house.platform, cassette)
    assert len(await anext(read)) == 1
    with pytest.raises(Conflict, match="replaced or deleted while it was read"):
        await anext(read)
    await house.platform.database.write(lambda c: c.execute("DELETE FROM cassette_calls"))
    refused(await org.client.get("/api/cassettes/staging"), 409, "conflict")


async def test_an_import_that_was_cut_off_is_removed_at_the_next_start(house: House) -> None:
    database = house.platform.database
    cassette_id = await database.write(lambda c: stored.add_nameless(c, org_id=1, now=NOW))
    await database.write(
        lambda c: stored.add_calls(c, cassette_id, [stored.Recording("", f"{n}", 1, "{}") for n in range(3)])
    )
    assert answered(await house.owner.client.get("/api/cassettes"))["items"] == []
    await finish_changes(house.platform, at_start=True)
    assert await database.read(lambda c: stored.nameless_cassettes(c, before="9")) == []


# Runs and batches

REFUSED = {
    "an unknown mode": ({"passthrough": "rewind"}, {"/passthrough"}),
    "a mode without a cassette": ({"passthrough": "replay"}, {"/cassette"}),
    "a cassette without a mode": ({"cassette": "x"}, {"/cassette"}),
    "a name that is none": ({"passthrough": "record", "cassette": "../x"}, {"/cassette"}),
    "overwriting what is replayed": (
        {"passthrough": "replay", "cassette": "x", "overwrite_cassette": True},
        {"/overwrite_cassette"},
    ),
    "everything at once": (
        {"passthrough": "record", "overwrite_cassette": "yes", "fault_seed": -1},
        {"/cassette", "/overwrite_cassette", "/fault_seed"},
    ),
}


@pytest.mark.parametrize("mode", ["manual", "dispatch"])
@pytest.mark.parametrize(("asked", "places"), REFUSED.values(), ids=REFUSED)
async def test_what_cannot_be_asked_for_is_refused_all_at_once(
    org: Org, asked: Row, places: set[str], mode: str
) -> None:
    body = await body_of_run(org, mode=mode, **asked)
    error = refused(await org.client.post("/api/runs", json=body), 422, "invalid_request")
    assert {problem["path"] for problem in error["details"]} == places


@pytest.mark.parametrize("mode", ["manual", "dispatch"])
@pytest.mark.parametrize("passthrough", ["replay", "replay_or_live"])
async def test_a_cassette_that_is_not_there_cannot_be_replayed(org: Org, mode: str, passthrough: str) -> None:
    await put(org, "staging-orders", LINES[0])
    body = await body_of_run(org, mode=mode, passthrough=passthrough, cassette="staging-order")
    error = refused(await org.client.post("/api/runs", json=body), 422, "invalid_request")
    (problem,) = error["details"]
    assert problem["message"] == "there is no cassette `staging-order` to replay"
    assert problem["hint"] == "did you mean `staging-orders`?"


async def test_a_run_says_how_its_passthrough_tools_are_answered(org: Org) -> None:
    body = await body_of_run(org, mode="manual")
    plain = answered(await org.client.post("/api/runs", json=body), 201)
    assert (plain["passthrough"], plain["cassette"]) == ("live", None)
    more = {"passthrough": "record", "cassette": "staging"}
    recording = answered(await org.client.post("/api/runs", json=body | more), 201)
    for run in (recording, answered(await org.client.get(f"/api/runs/{recording['id']}"))):
        assert (run["passthrough"], run["cassette"]) == ("record", "staging")
    listed = await every_item(org.client, "/api/runs")
    assert [(run["passthrough"], run["cassette"]) for run in listed] == [
        ("record", "staging"),
        ("live", None),
    ]
    # The cassette is there from the beginning, and can be replayed.
    assert [each["calls"] for each in await every_item(org.client, "/api/cassettes")] == [0]
    answered(await org.client.post("/api/runs", json=body | more | {"passthrough": "replay"}), 201)


async def test_the_runs_of_a_batch_are_answered_as_the_batch_says(org: Org) -> None:
    await put(org, "staging", *LINES)
    body = await body_of_run(org, passthrough="replay_or_live", cassette="staging", repeats=2)
    batch = answered(await org.client.post("/api/runs", json=body), 202)
    assert (batch["passthrough"], batch["cassette"]) == ("replay_or_live", "staging")
    runs = await every_item(org.client, "/api/runs", batch_id=batch["id"])
    assert [(run["passthrough"], run["cassette"]) for run in runs] == [("replay_or_live", "staging")] * 2
    answered(await org.client.post(f"/api/batches/{batch['id']}/cancel"))


async def test_overwriting_empties_a_cassette_before_the_first_call(org: Org) -> None:
    await put(org, "staging", *LINES)
    body = await body_of_run(org, mode="manual", passthrough="record", cassette="staging")
    answered(await org.client.post("/api/runs", json=body), 201)
    assert [each["calls"] for each in await every_item(org.client, "/api/cassettes")] == [4]
    answered(await org.client.post("/api/runs", json=body | {"overwrite_cassette": True}), 201)
    assert [each["calls"] for each in await every_item(org.client, "/api/cassettes")] == [0]


async def test_no_secret_of_a_recorded_call_is_in_the_export(house: House, org: Org) -> None:
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
    call = LiveCall(
        org_id=org.id,
        run_id=1,
        endpoint_id="e",
        tool_name="f",
        declared_name="f",
        arguments={"key": SECRET, "n": 1},
        mode=RECORD,
        cassette="staging",
    )
    cassettes = house.platform.cassettes
    await cassettes.record(
        call, LiveReply(200, {"echo": SECRET, "in": [f"token={jwt}"]}, (SECRET,)), [SECRET]
    )
    failed = LiveCallFailed(f"refused: {SECRET}", notes=(f"GET /?key={SECRET}",))
    await cassettes.record(replace(call, arguments={"n": 2}), failed, [SECRET])
    exported = (await org.client.get("/api/cassettes/staging")).text
    assert len(exported.splitlines()) == 2
    for secret in (SECRET, jwt):
        assert secret not in exported


# Asking again


def operations() -> list[DiscoveredTool]:
    return [
        DiscoveredTool(name=name, description="", input_schema={}, call={"method": method})
        for name, method in (("get_order", "get"), ("refund_order", "POST"))
    ]


async def add_endpoint(house: House, found: Sequence[DiscoveredTool] = ()) -> None:
    endpoint = ToolEndpoint(
        id="3f0e52a6-6d3e-4f5b-9d0a-3a7de5a1c001",
        org_id=1,
        name="orders-api",
        type="http_openapi",
        config={"base_url": "https://orders.example.com"},
        auth=None,
        version=1,
        discovered_at=NOW,
        created_at=NOW,
        updated_at=NOW,
    )
    known = [StoredTool(tool) for tool in found or operations()]

    def add(connection: Any) -> None:
        tool_endpoints.add_endpoint(connection, endpoint)
        tool_endpoints.store_tools(connection, endpoint.id, known)

    await house.platform.database.write(add)


def serve_live(house: House, monkeypatch: pytest.MonkeyPatch, answers: Row) -> list[LiveCall]:
    asked: list[LiveCall] = []

    async def ask(call: LiveCall) -> LiveReply:
        asked.append(call)
        reply = answers[f"{call.tool_name} {call.arguments.get('order_id')}"]
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, LiveReply) else LiveReply(200, reply)

    monkeypatch.setattr(house.app.api.state.live_hops, "ask", ask)
    return asked


async def test_verifying_asks_reads_again_and_says_what_differs_and_what_was_left_out(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_endpoint(house)
    await put(org, "staging", *ON_ENDPOINT)
    answers = {
        "get_order 1": {"status": "shipped", "lines": [1], "new": SECRET},
        "get_order 2": LiveReply(404, "none"),
        "get_order 3": LiveCallFailed("No answer came."),
    }
    answered(await org.client.post("/api/credentials", json={"name": "KEY", "value": SECRET}), 201)
    asked = serve_live(house, monkeypatch, answers)
    report = answered(await org.client.post("/api/cassettes/staging/verify"))
    assert (report["calls"], report["asked"], report["same"], report["differ"], report["failed"]) == (
        4,
        3,
        2,
        1,
        0,
    )
    (changed,) = report["differences"]
    assert changed["arguments"] == {"order_id": "1"}
    assert changed["differences"] == [
        {"path": "$.status", "how": "changed", "recorded": "paid", "now": "shipped"},
        {"path": "$.lines[1]", "how": "removed", "recorded": 2, "now": None},
        {"path": "$.new", "how": "added", "recorded": None, "now": "[secret]"},
    ]
    assert report["skipped"] == [
        {"tool": "refund_order", "reason": "may write: its operation is POST", "calls": 1}
    ]
    assert {call.tool_name for call in asked} == {"get_order"}


async def test_writes_are_asked_again_only_where_that_is_said(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_endpoint(house)
    await put(org, "staging", ON_ENDPOINT[2])
    asked = serve_live(house, monkeypatch, {"refund_order 1": {"ok": True}})
    assert answered(await org.client.post("/api/cassettes/staging/verify"))["asked"] == 0
    assert asked == []
    report = answered(await org.client.post("/api/cassettes/staging/verify", json={"include_writes": True}))
    assert (report["asked"], report["same"], report["skipped"]) == (1, 1, [])
    assert asked[0].endpoint_id == "3f0e52a6-6d3e-4f5b-9d0a-3a7de5a1c001"


async def test_a_tool_that_its_mcp_server_marks_as_reading_is_asked_again(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[Json] = [
        {"name": "get_order", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
        {"name": "refund_order", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}},
    ]
    await add_endpoint(house, discovery_of(listed).tools)
    await put(org, "staging", ON_ENDPOINT[0], ON_ENDPOINT[2])
    asked = serve_live(house, monkeypatch, {"get_order 1": LINES[0]["response"]})
    report = answered(await org.client.post("/api/cassettes/staging/verify"))
    assert [call.tool_name for call in asked] == ["get_order"]
    assert (report["asked"], report["same"]) == (1, 1)
    assert report["skipped"] == [
        {
            "tool": "refund_order",
            "reason": "may write: its endpoint does not say that it only reads",
            "calls": 1,
        }
    ]


@pytest.mark.parametrize(("include_writes", "at_once"), [(True, 1), (False, 4)])
async def test_with_writes_each_call_waits_for_the_one_before(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch, include_writes: bool, at_once: int
) -> None:
    await add_endpoint(house)
    lines = [ON_ENDPOINT[0] | {"arguments": {"order_id": f"{number}"}} for number in range(5)]
    await put(org, "staging", *lines)
    begun: list[Json] = []
    ended, slots = 0, []

    async def ask(call: LiveCall) -> LiveReply:
        nonlocal ended
        begun.append(call.arguments["order_id"])
        await asyncio.sleep(0)  # whatever was begun beside it begins now
        slots.append((len(begun) - ended, house.platform.probing.held))
        await asyncio.sleep(0)
        ended += 1
        return LiveReply(200, LINES[0]["response"])

    monkeypatch.setattr(house.app.api.state.live_hops, "ask", ask)
    body = {"include_writes": include_writes}
    report = answered(await org.client.post("/api/cassettes/staging/verify", json=body))
    assert (report["same"], begun) == (5, ["0", "1", "2", "3", "4"])
    assert max(together for together, _ in slots) == at_once
    assert max(held for _, held in slots) == at_once
    assert house.platform.probing.held == 0


async def test_a_verification_that_takes_too_long_says_what_it_left_out(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_endpoint(house)
    await put(org, "staging", *ON_ENDPOINT[:2])
    asked = serve_live(house, monkeypatch, {})
    monkeypatch.setattr(verify_cassette, "LONGEST_S", 0.0)
    report = answered(await org.client.post("/api/cassettes/staging/verify"))
    assert (report["asked"], asked) == (0, [])
    assert report["skipped"] == [
        {"tool": "get_order", "reason": "past the 0 s of this verification", "calls": 2}
    ]


async def test_credentials_of_others_make_no_difference_and_are_not_told(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recording hides those of the endpoint; the org may have others, whose values stand in an answer."""
    await add_endpoint(house)
    answered(await org.client.post("/api/credentials", json={"name": "REGION", "value": SECRET}), 201)
    recorded = {"region": SECRET, "key": "[secret KEY]", "long": "x" * 190 + SECRET}
    same = ON_ENDPOINT[0] | {"response": recorded}
    lines = [ON_ENDPOINT[0] | {"arguments": {"order_id": SECRET, "n": n}} for n in (1, 2)]
    changed = [line | {"response": recorded} for line in lines]
    failed = ON_ENDPOINT[3] | {"failure": f"{SECRET} is down"}
    await put(org, "staging", same, *changed, failed)
    answers = {
        "get_order 1": recorded,
        f"get_order {SECRET}": {SECRET: f"in {SECRET}"},
        "get_order 3": {},
    }
    serve_live(house, monkeypatch, answers)
    reply = await org.client.post("/api/cassettes/staging/verify")
    assert (answered(reply)["same"], answered(reply)["differ"]) == (1, 3)
    assert SECRET[:10] not in reply.text
    serve_live(house, monkeypatch, dict.fromkeys(answers, LiveCallFailed(f"{SECRET} is down")))
    reply = await org.client.post("/api/cassettes/staging/verify")
    assert answered(reply)["failed"] == 3
    assert SECRET[:10] not in reply.text


async def test_what_cannot_be_asked_again_is_named_with_its_reason(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_endpoint(house)
    lines = [
        ON_ENDPOINT[0],
        ON_ENDPOINT[0] | {"arguments": {"order_id": "5"}},
        LINES[1],
        ON_ENDPOINT[1] | {"endpoint": "gone"},
        ON_ENDPOINT[1] | {"arguments": {}, "endpoint_tool": "gone"},
        ON_ENDPOINT[1] | {"arguments": {"order_id": "[secret]"}},
    ]
    await put(org, "staging", *lines[:2], lines[2] | {"occurrence": 2}, *lines[3:])
    serve_live(house, monkeypatch, {"get_order 1": LiveCallFailed("The endpoint is down.")})
    report = answered(await org.client.post("/api/cassettes/staging/verify", json={"limit": 1}))
    assert report["failures"] == [
        {
            "tool": "get_order",
            "arguments": {"order_id": "1"},
            "occurrence": 1,
            "message": "The endpoint is down.",
        }
    ]
    assert [each["reason"] for each in report["skipped"]] == [
        "past the limit of this verification",
        "its line names no endpoint",
        "there is no endpoint `gone` here",
        "endpoint `orders-api` has no tool `gone` any more",
        "its arguments were masked when it was recorded",
    ]
    error = refused(
        await org.client.post(
            "/api/cassettes/staging/verify", json={"limit": 0, "include_writes": 1, "x": 1}
        ),
        422,
        "invalid_request",
    )
    assert len(error["details"]) == 3
