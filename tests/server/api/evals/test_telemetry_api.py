"""Telemetry in over HTTP, drafts out of it, and what a person decides on them."""

import gzip
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from pipelines.engine.evals.ingest_spans import prune_spans
from pipelines.wire.names import Role
from support.desk import MEBIBYTE, House, Org, answered, every_item, open_house, refused
from support.loop_lag import MOST_LAG_S, least_lag

pytestmark = pytest.mark.anyio

INGEST, TRACES = "/api/v1/telemetry/ingest", "/v1/traces"
GENERATE, DRAFTS = "/api/v1/eval/scenarios/auto-generate", "/api/v1/eval/drafts"
DEVICE = "3a7df4c2-91b0-4e6f-8a2d-5c7e9f013b46"
INPUT = {"event": "deployment_failed", "environment": "production", "data_loss_risk": True}
OUTCOME = {"action": "escalate_to_owner", "priority": "high", "include_rollback_plan": True}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def house(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """One for all tests, as helper processes take a while to start: each test has an org of its own."""
    async with open_house(tmp_path_factory.mktemp("house")) as opened:
        yield opened


@pytest.fixture
async def org(house: House) -> Org:
    return await house.another_org()


def a_span(number: int, input: Any = INPUT, outcome: Any = OUTCOME, **changes: Any) -> dict[str, Any]:
    now_ns = time.time_ns()
    return {
        "name": "skill.invoke",
        "trace_id": f"{number:032x}",
        "span_id": f"{number:016x}",
        "attributes": {"skill.name": "triage", "skill.input": input, "skill.output": json.dumps(outcome)},
        "start_time": now_ns - 2_000_000,
        "end_time": now_ns - 1_000_000,
        "status": "ok",
        "resource": {"device.id": DEVICE, "service.name": "desk"},
    } | changes


def exported(*numbers: int, name: str = "skill.invoke", device: str = DEVICE) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    pair = group.resource.attributes.add()
    pair.key, pair.value.string_value = "device.id", device
    spans = group.scope_spans.add().spans
    for number in numbers:
        span = spans.add()
        span.name, span.trace_id, span.span_id = name, number.to_bytes(16, "big"), number.to_bytes(8, "big")
        span.start_time_unix_nano, span.end_time_unix_nano = time.time_ns() - 2_000, time.time_ns() - 1_000
        for key, value in (
            ("skill.name", "triage"),
            ("skill.input", json.dumps(INPUT)),
            ("skill.output", json.dumps(OUTCOME)),
        ):
            pair = span.attributes.add()
            pair.key, pair.value.string_value = key, value
    return request


async def export(
    org: Org, body: bytes, *, path: str = TRACES, kind: str = "application/x-protobuf", **more: str
):  # type: ignore[no-untyped-def]
    headers = {"content-type": kind} | {name.replace("_", "-"): value for name, value in more.items()}
    return await org.client.post(path, content=body, headers=headers)


async def send(org: Org, *spans: Any) -> Any:
    return answered(await org.client.post(INGEST, json=list(spans)))


async def generate(org: Org, **body: Any) -> Any:
    return answered(await org.client.post(GENERATE, json=body))


# -- in


@pytest.mark.parametrize("is_gzip", [False, True], ids=["plain", "gzip"])
async def test_protobuf_is_taken_and_answered_in_protobuf(org: Org, is_gzip: bool):
    body = exported(*range(1, 11)).SerializeToString()
    more = {"content_encoding": "gzip"} if is_gzip else {}
    reply = await export(org, gzip.compress(body) if is_gzip else body, **more)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/x-protobuf")
    answer = ExportTraceServiceResponse()
    answer.ParseFromString(reply.content)
    assert not answer.HasField("partial_success")
    assert (await generate(org))["scenarios"][0]["support"] == {"k": 10, "n": 10}


async def test_otlp_json_is_taken_and_answered_in_json(org: Org):
    span = {
        "traceId": "4BF92F3577B34DA6A3CE929D0E0E4736",
        "spanId": "00f067aa0ba902b7",
        "name": "execute_tool refund",
        "endTimeUnixNano": str(time.time_ns()),
        "attributes": [
            {"key": "gen_ai.tool.name", "value": {"stringValue": "refund"}},
            {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": '{"vip": true}'}},
        ],
    }
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span, span | {"spanId": "zz"}]}]}]}
    reply = await export(org, json.dumps(body).encode(), kind="application/json; charset=utf-8")
    assert answered(reply) == {
        "partialSuccess": {
            "rejectedSpans": "1",
            "errorMessage": "1 × its span id is not 16 hex digits, or all zeros",
        }
    }


async def test_what_is_refused_is_counted_in_protobuf_too(org: Org):
    answer = ExportTraceServiceResponse()
    answer.ParseFromString((await export(org, exported(0, 1).SerializeToString())).content)
    assert answer.partial_success.rejected_spans == 1
    assert "all zeros" in answer.partial_success.error_message


async def test_other_spans_are_dropped_without_a_complaint(org: Org):
    reply = await export(org, exported(1, 2, name="GET /orders").SerializeToString())
    assert reply.content == b""
    told = await send(org, a_span(1, name="GET /orders"), a_span(2))
    assert (told["received"], told["stored"], told["not_skill_spans"], told["rejected"]) == (2, 1, 1, 0)


async def test_a_span_is_stored_once_however_often_it_is_sent(org: Org):
    first = await send(org, a_span(1), a_span(2), a_span(1))
    again = await send(org, a_span(1), a_span(2), a_span(3))
    assert (first["stored"], first["duplicates"]) == (2, 1)
    assert (again["stored"], again["duplicates"]) == (1, 2)


async def test_two_orgs_may_send_the_same_span(house: House, org: Org):
    other = await house.another_org()
    assert (await send(org, a_span(1)))["stored"] == 1
    assert (await send(other, a_span(1)))["stored"] == 1


async def test_spans_of_a_clock_that_is_off_are_kept_and_found(org: Org):
    now_ns = time.time_ns()
    skewed = [
        a_span(1, start_time=now_ns, end_time=now_ns - 10**9),
        a_span(2, end_time=now_ns + 5 * 365 * 86_400 * 10**9),
        a_span(3, start_time=1, end_time=2),
        a_span(4, start_time=None, end_time=None),
    ]
    assert (await send(org, *skewed))["clock_skew"] == 4
    found = await generate(org, lookback_hours=1)
    assert found["looked_at"]["spans"] == 4


async def test_nothing_personal_or_secret_reaches_the_database(house: House, org: Org):
    mail, secret = "jane.doe@example.com", "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    input = {"to": mail, "password": "hunter2", "customer": {"name": "Jane Doe"}, "note": f"use {secret}"}
    told = await send(org, *(a_span(n, input, {"action": "sent", "to": mail}) for n in (1, 2, 3)))
    assert told["masked"] == {"email": 6, "secret": 6, "personal": 3}
    draft = (await generate(org))["scenarios"][0]
    shown = json.dumps(draft)
    for path in house.settings.data_dir.glob("odyssey.db*"):
        shown += path.read_bytes().decode("latin-1")
    for hidden in (mail, secret, "hunter2", "Jane Doe"):
        assert hidden not in shown
    assert draft["scenario"]["input_context"]["to"].startswith("[email:")
    assert draft["scenario"]["expected_behavior"] == {"action": "sent"}


async def test_equal_values_are_masked_differently_for_each_org(house: House, org: Org):
    other = await house.another_org()
    masked = []
    for one in (org, other):
        await send(one, *(a_span(n, {"to": "a@b.example"}) for n in (1, 2, 3)))
        masked.append((await generate(one))["scenarios"][0]["scenario"]["input_context"]["to"])
    assert masked[0] != masked[1]


# -- bad input


@pytest.mark.parametrize("path", [TRACES, INGEST])
@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"\xff\xff\xff", {}, 422, "invalid_request"),
        (b"{", {"kind": "application/json"}, 400, "invalid_json"),
        (b"7", {"kind": "application/json"}, 422, "invalid_request"),
        (b"a,b", {"kind": "text/csv"}, 415, "unsupported_media_type"),
        (b"x", {"content_encoding": "br"}, 415, "unsupported_media_type"),
        (b"no gzip", {"content_encoding": "gzip"}, 422, "invalid_request"),
        (gzip.compress(b"{}" * 50)[:-9], {"content_encoding": "gzip"}, 422, "invalid_request"),
        (b"x" * (16 * MEBIBYTE + 1), {}, 413, "body_too_large"),
    ],
    ids=["no protobuf", "half a JSON", "a number", "CSV", "brotli", "no gzip", "half a gzip", "too large"],
)
async def test_what_is_no_telemetry_is_refused(
    org: Org, path: str, body: bytes, headers: dict[str, str], status: int, code: str
):
    refused(await export(org, body, path=path, **headers), status, code)


async def test_a_body_without_a_content_type_is_refused(org: Org):
    refused(await org.client.post(TRACES, content=b"{}"), 415, "unsupported_media_type")


async def test_a_gzip_bomb_is_refused_without_being_unpacked_and_nobody_waits(org: Org):
    bomb = gzip.compress(bytes(4 * MEBIBYTE)) * 40  # 160 MiB in 160 KB; then its header claims ten gigabytes
    claims = bomb[:-4] + (10 * 2**30 % 2**32).to_bytes(4, "little")
    await send(org, a_span(1))  # the helper process is there
    reply, lag_s = await least_lag(lambda: export(org, claims, content_encoding="gzip"))
    assert "over 32 MiB when it is unpacked" in refused(reply, 413, "body_too_large")["message"]
    assert lag_s < MOST_LAG_S


async def test_ten_thousand_spans_leave_the_loop_free(org: Org):
    body = exported(*range(1, 10_001)).SerializeToString()
    await send(org, a_span(10_001))
    reply, lag_s = await least_lag(lambda: export(org, body))
    assert reply.status_code == 200
    assert lag_s < MOST_LAG_S


async def test_a_viewer_may_not_send_and_a_stranger_neither(house: House, org: Org):
    viewer = await org.key_of(Role.VIEWER)
    refused(await viewer.client.post(INGEST, json=[]), 403, "forbidden")
    refused(await viewer.client.post(GENERATE, json={}), 403, "forbidden")
    refused(await house.stranger.post(TRACES, content=b""), 401, "missing_api_key")


# -- drafts


async def test_the_body_of_the_seed_finds_drafts_with_confidence(org: Org):
    await send(org, *(a_span(number) for number in range(1, 31)))
    answer = await generate(org, device_id=DEVICE, lookback_hours=168, max_scenarios=20)
    (draft,) = answer["scenarios"]
    assert (draft["kind"], draft["status"], draft["support"]) == ("recurring", "draft", {"k": 30, "n": 30})
    assert round(draft["confidence"], 2) == 0.89
    assert draft["scenario"]["input_context"] == INPUT
    assert draft["scenario"]["expected_behavior"] == OUTCOME
    assert draft["source_span_count"] == 30
    assert {"trace_id": f"{30:032x}", "span_id": f"{30:016x}"} in draft["source_spans"]
    assert answer["created"] == 1


@pytest.mark.parametrize(
    ("key", "counted"),
    [
        ("device.id", "device.id"),
        ("device_id", "device.id"),
        ("host.id", "host.id"),
        ("service.instance.id", "service.instance.id"),
        ("gen_ai.agent.id", "gen_ai.agent.id"),
    ],
)
async def test_a_device_is_found_by_each_of_its_ids(org: Org, key: str, counted: str):
    await send(org, *(a_span(number, resource={key: "dev-1"}) for number in (1, 2, 3)))
    await send(org, *(a_span(number, resource={key: "dev-2"}) for number in (4, 5, 6, 7)))
    answer = await generate(org, device_id="dev-2")
    assert answer["looked_at"]["spans"] == 4
    assert answer["looked_at"]["device_id_matched"][counted] == 4
    assert sum(answer["looked_at"]["device_id_matched"].values()) == 4


@pytest.mark.parametrize(
    ("key", "counted"),
    [("device.id", "device.id"), ("device_id", "device.id"), ("gen_ai.agent.id", "gen_ai.agent.id")],
)
async def test_a_device_is_found_by_what_the_span_itself_says(org: Org, key: str, counted: str):
    span = a_span(1)
    await send(org, span | {"attributes": span["attributes"] | {key: "asst_1"}}, a_span(2))
    answer = await generate(org, device_id="asst_1")
    assert answer["looked_at"]["spans"] == 1
    assert answer["looked_at"]["device_id_matched"][counted] == 1


async def test_an_unknown_device_gets_an_empty_answer_that_says_what_was_looked_at(house: House, org: Org):
    other = await house.another_org()
    await send(other, *(a_span(number) for number in range(1, 10)))
    answer = await generate(org, device_id=DEVICE)
    assert answer["scenarios"] == []
    assert answer["looked_at"]["spans"] == 0
    assert set(answer["looked_at"]["device_id_matched"].values()) == {0}
    assert any("device.id, host.id, service.instance.id, gen_ai.agent.id" in note for note in answer["notes"])


async def test_what_is_older_than_the_lookback_is_not_looked_at(org: Org):
    hour_ns = 3_600 * 10**9
    old = time.time_ns() - 5 * hour_ns
    await send(org, *(a_span(number, start_time=old - 1, end_time=old) for number in (1, 2, 3)))
    assert (await generate(org, lookback_hours=2))["looked_at"]["spans"] == 0
    assert (await generate(org, lookback_hours=6))["looked_at"]["spans"] == 3


async def test_a_second_look_adds_nothing(org: Org):
    await send(org, *(a_span(number) for number in range(1, 11)))
    first, second = await generate(org), await generate(org)
    assert (first["created"], second["created"]) == (1, 0)
    assert [draft["id"] for draft in first["scenarios"]] == [draft["id"] for draft in second["scenarios"]]
    assert len(await every_item(org.client, DRAFTS)) == 1
    await send(org, *(a_span(number) for number in range(11, 31)))
    (draft,) = (await generate(org))["scenarios"]
    assert (draft["is_new"], draft["support"]) == (False, {"k": 30, "n": 30})


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"device_id": 7}, "/device_id"),
        ({"lookback_hours": 0}, "/lookback_hours"),
        ({"lookback_hours": "168"}, "/lookback_hours"),
        ({"max_scenarios": 100_000}, "/max_scenarios"),
        ({"max_scenario": 3}, "/max_scenario"),
    ],
)
async def test_a_wrong_question_is_refused(org: Org, body: Any, path: str):
    error = refused(await org.client.post(GENERATE, json=body), 422, "invalid_request")
    assert [problem["path"] for problem in error["details"]] == [path]


async def test_a_question_without_a_body_takes_the_defaults(org: Org):
    assert answered(await org.client.post(GENERATE))["looked_at"]["lookback_hours"] == 168


async def one_draft(org: Org) -> Any:
    await send(org, *(a_span(number) for number in range(1, 11)))
    return (await generate(org))["scenarios"][0]


async def test_a_draft_is_adopted_with_corrections_and_says_what_it_became(org: Org):
    draft = await one_draft(org)
    corrections = {"risk_level": "critical", "name": "Escalate failures"}
    made = answered(await org.client.post(f"{DRAFTS}/{draft['id']}/adopt", json=corrections), 201)
    assert (made["risk_level"], made["name"], made["draft_id"]) == (
        "critical",
        "Escalate failures",
        draft["id"],
    )
    assert made["expected_behavior"] == OUTCOME
    stored = answered(await org.client.get(f"/api/v1/eval/scenarios/{made['id']}"))
    assert stored["input_context"] == INPUT
    now = answered(await org.client.get(f"{DRAFTS}/{draft['id']}"))
    assert (now["status"], now["scenario_id"]) == ("adopted", made["id"])
    again = refused(await org.client.post(f"{DRAFTS}/{draft['id']}/adopt"), 409, "conflict")
    assert made["id"] in again["message"]
    refused(await org.client.post(f"{DRAFTS}/{draft['id']}/dismiss"), 409, "conflict")
    after = await generate(org)
    assert after["scenarios"] == []
    assert after["looked_at"]["left_out"]["decided_before"] == 1


async def test_a_draft_that_the_traffic_does_not_settle_is_adopted_with_what_a_person_expects(org: Org):
    await send(org, *(a_span(n, outcome={"action": "keep" if n % 2 else "hide"}) for n in range(1, 31)))
    (draft,) = (await generate(org))["scenarios"]
    assert (draft["kind"], draft["scenario"]["expected_behavior"]) == ("decision_point", {})
    error = refused(await org.client.post(f"{DRAFTS}/{draft['id']}/adopt"), 422, "invalid_request")
    assert [problem["path"] for problem in error["details"]] == ["/expected_behavior"]
    told = {"expected_behavior": {"action": "hide"}}
    made = answered(await org.client.post(f"{DRAFTS}/{draft['id']}/adopt", json=told), 201)
    assert made["expected_behavior"] == {"action": "hide"}


async def test_calls_that_a_skill_chose_are_a_scenario_that_observes_calls(org: Org):
    def tool(number: int, name: str) -> Any:
        told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        return a_span(number, name=f"execute_tool {name}", attributes=told, parent_id=f"{number - 100:016x}")

    skills = [
        a_span(n, attributes={"skill.name": "restock", "skill.input": {"stock": n}}) for n in range(1, 61)
    ]
    tools = [
        tool(100 + n, "order" if n < 20 else "log") | {"trace_id": skills[n - 1]["trace_id"]}
        for n in range(1, 61)
    ]
    await send(org, *skills, *tools)
    answer = await generate(org)
    below, above = (d for d in answer["scenarios"] if d["kind"] == "decision_point")
    assert below["scenario"]["input_context"] == {"stock": 19}
    assert (below["scenario"]["observe"], below["scenario"]["expected_behavior"]) == (
        "tool_calls",
        {"tools": ["order"]},
    )
    assert above["scenario"]["expected_behavior"] == {"tools": ["log"]}
    assert answer["looked_at"]["left_out"]["tool_replies"] == 60
    answered(await org.client.post(f"{DRAFTS}/{below['id']}/adopt"), 201)


async def test_wrong_corrections_are_refused_and_nothing_is_made(org: Org):
    draft = await one_draft(org)
    for wrong in ({"risk_level": "urgent"}, {"expected_behavior": "escalate"}, {"naem": "x"}):
        refused(await org.client.post(f"{DRAFTS}/{draft['id']}/adopt", json=wrong), 422, "invalid_request")
    assert answered(await org.client.get(f"{DRAFTS}/{draft['id']}"))["status"] == "draft"
    assert await every_item(org.client, "/api/v1/eval/scenarios") == []


async def test_a_dismissed_draft_does_not_come_back(org: Org):
    draft = await one_draft(org)
    gone = answered(await org.client.post(f"{DRAFTS}/{draft['id']}/dismiss"))
    assert gone["status"] == "dismissed"
    assert answered(await org.client.post(f"{DRAFTS}/{draft['id']}/dismiss"))["status"] == "dismissed"
    assert (await generate(org))["scenarios"] == []
    assert (await every_item(org.client, DRAFTS, status="draft")) == []
    assert [d["id"] for d in await every_item(org.client, DRAFTS, status="dismissed")] == [draft["id"]]
    refused(await org.client.post(f"{DRAFTS}/{draft['id']}/adopt"), 409, "conflict")


async def test_drafts_of_another_org_are_not_there(house: House, org: Org):
    draft = await one_draft(org)
    other = await house.another_org()
    assert await every_item(other.client, DRAFTS) == []
    for method, path in (("GET", ""), ("POST", "/adopt"), ("POST", "/dismiss")):
        refused(await other.client.request(method, f"{DRAFTS}/{draft['id']}{path}"), 404, "not_found")


async def test_drafts_are_listed_by_pages_and_filters(org: Org):
    spans = [
        a_span(n, attributes={"skill.name": f"s{n % 4}", "skill.input": INPUT, "skill.output": OUTCOME})
        for n in range(1, 41)
    ]
    await send(org, *spans)
    await generate(org)
    assert len(await every_item(org.client, DRAFTS, limit=3)) == 4
    assert [d["skill"] for d in await every_item(org.client, DRAFTS, skill="s2")] == ["s2"]
    assert await every_item(org.client, DRAFTS, kind="edge_case") == []
    refused(await org.client.get(DRAFTS, params={"status": "open"}), 422, "invalid_request")


# -- retention


async def test_spans_are_removed_when_they_are_old_enough(tmp_path: Path):
    async with open_house(tmp_path) as house:
        await send(house.owner, *(a_span(number) for number in range(1, 1_202)))
        database = house.platform.database
        older = "UPDATE skill_spans SET arrived_ns = arrived_ns - 31 * 86400000000000 WHERE id <= 1100"
        await database.write(lambda connection: connection.execute(older))
        assert await prune_spans(database, days=0) == 0
        assert await prune_spans(database, days=30) == 1_100
        assert (await generate(house.owner))["looked_at"]["spans"] == 101
