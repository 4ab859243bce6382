"""Who may do what in the eval library: over every operation of the document under /api/v1, and /v1/traces.

One server for each question, and all operations asked of it: what is refused is collected and told at once.
"""

import re
import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2
import pytest

from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
from pipelines.server.tokens import mint
from pipelines.wire.names import API_V1, OTLP_TRACES, Role
from support.desk import House, Org, Row, answered, client_of

pytestmark = pytest.mark.anyio
DOCUMENT: Row = App(load_settings({})).api.openapi()
SCENARIO: Row = {
    "name": "Escalate",
    "risk_level": "critical",
    "input_context": {"event": "deployment_failed"},
    "expected_behavior": {"action": "escalate"},
}
VARIATION: Row = {
    "id": "thrift",
    "name": "Thrift",
    "tests": "Thrift over safety",
    "wordings": ["Spend nothing."],
}


class Operation(NamedTuple):
    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def names_a_thing(self) -> bool:
        return "_id}" in self.path


def operations() -> Iterator[Operation]:
    for path, methods in DOCUMENT["paths"].items():
        if path.startswith(API_V1) or path == OTLP_TRACES:
            yield from (Operation(method, path) for method in methods)


EVERY = list(operations())
WRITES = [each for each in EVERY if each.method != "get"]
#: What a contributor may not do either.
ADMINS = {"PUT /api/v1/eval/reviews/settings"}


def span(skill: str) -> Row:
    return {
        "name": "skill.invoke",
        "trace_id": secrets.token_hex(16),
        "span_id": secrets.token_hex(8),
        "attributes": {
            "skill.name": skill,
            "skill.input": '{"urgent": true}',
            "skill.output": '{"action": "page"}',
        },
    }


async def things_of(house: House, org: Org) -> Row:
    """One of everything, by the name of its path parameter. The matrix is cancelled before it says much."""
    client = org.client
    agent = await org.agent()
    scenario = answered(await client.post("/api/v1/eval/scenarios", json=SCENARIO), 201)
    answered(await client.post("/api/v1/eval/variations", json=VARIATION), 201)
    asked = {"scenario_ids": [scenario["id"]], "variation_types": ["thrift"], "agent_id": agent["id"]}
    matrix = answered(await client.post("/api/v1/eval/matrix", json=asked), 202)
    await client.post(f"/api/v1/eval/matrix/{matrix['matrix_id']}/cancel")
    runs = answered(await client.get("/api/v1/eval/runs", params={"matrix_id": matrix["matrix_id"]}))["items"]
    by_hand = await org.run(agent)
    answered(await by_hand.finish())
    review = answered(await client.post("/api/v1/eval/reviews", json={"run_id": by_hand.id}), 201)
    skill = f"route {scenario['id']}"  # a draft that was adopted does not come again
    answered(await client.post("/api/v1/telemetry/ingest", json=[span(skill) for _ in range(4)]))
    drafts = answered(await client.post("/api/v1/eval/scenarios/auto-generate", json={}))["scenarios"]
    return {
        "scenario_id": scenario["id"],
        "variation_id": "thrift",
        "matrix_id": matrix["matrix_id"],
        "run_id": runs[0]["id"],
        "review_id": review["id"],
        "draft_id": drafts[0]["id"],
        "agent_id": agent["id"],
        "format": "json",
    }


def body_of(operation: Operation, ids: Row) -> Any:
    """With which the operation would go through, so that only who is asking decides."""
    one = {"scenario_id": ids["scenario_id"], "agent_id": ids["agent_id"]}
    bodies: dict[str, Any] = {
        "POST /api/v1/eval/scenarios": SCENARIO,
        "PUT /api/v1/eval/scenarios/{scenario_id}": {"description": "changed"},
        "POST /api/v1/eval/variations": VARIATION,
        "POST /api/v1/eval/runs": one,
        "POST /api/v1/eval/matrix": {"scenario_ids": [ids["scenario_id"]], "agent_id": ids["agent_id"]},
        "POST /api/v1/eval/reviews": {"run_id": ids["run_id"]},
        "POST /api/v1/eval/reviews/bulk": {"action": "claim", "ids": [ids["review_id"]]},
        "PUT /api/v1/eval/reviews/settings": {"blind": False},
        "POST /api/v1/eval/reviews/{review_id}/verdict": {"verdict": "PASS"},
        "POST /v1/traces": {"resourceSpans": []},
        "POST /api/v1/telemetry/ingest": [],
    }
    return bodies.get(str(operation), {} if operation.method != "get" else None)


async def send(client: httpx2.AsyncClient, operation: Operation, ids: Row) -> httpx2.Response:
    query = {"to": ids["matrix_id"]} if operation.path.endswith("/compare") else None
    path = operation.path.format(**ids)
    return await client.request(operation.method, path, json=body_of(operation, ids), params=query)


def code_of(reply: httpx2.Response) -> tuple[int, str | None]:
    return reply.status_code, reply.json()["error"]["code"] if reply.status_code >= 400 else None


NOTHING: Row = {
    **dict.fromkeys(("scenario_id", "variation_id", "matrix_id", "draft_id"), "none"),
    "run_id": 10**6,
    "review_id": "rev_none",
    "agent_id": 10**6,
    "format": "json",
}


async def test_without_a_key_or_a_token_nothing_is_answered(house: House) -> None:
    assert len(EVERY) > 40
    found = {str(each): code_of(await send(house.stranger, each, NOTHING)) for each in EVERY}
    assert found == {str(each): (401, "missing_api_key") for each in EVERY}


async def test_another_orgs_things_are_not_there(house: House, org: Org) -> None:
    ids = await things_of(house, org)
    another = await house.another_org()
    told = {}
    for each in EVERY:
        if each.names_a_thing:
            theirs, nowhere = [await send(another.client, each, one) for one in (ids, NOTHING)]
            told[str(each)] = code_of(theirs)
            assert shape(theirs, ids) == shape(nowhere, NOTHING), "the refusal tells that the thing exists"
    assert told == {str(each): (404, "not_found") for each in EVERY if each.names_a_thing}


def shape(reply: httpx2.Response, ids: Row) -> str:
    """What is said, without the id that was asked for."""
    text = re.sub("|".join(re.escape(str(each)) for each in ids.values()), "…", reply.text)
    return f"{reply.status_code} {text}"


async def test_another_orgs_things_are_not_there_in_bodies_and_lists_either(house: House, org: Org) -> None:
    ids = await things_of(house, org)
    another = await house.another_org()
    own = answered(await another.client.post("/api/v1/eval/scenarios", json=SCENARIO), 201)
    for body in (
        {"scenario_ids": [ids["scenario_id"]]},
        {"scenario_ids": [own["id"]], "agent_id": ids["agent_id"]},
        {"scenario_ids": [own["id"]], "variation_types": ["thrift"]},
    ):
        reply = await another.client.post("/api/v1/eval/matrix", json=body)
        assert reply.status_code in (404, 422), reply.text
    reply = await another.client.post("/api/v1/eval/reviews", json={"run_id": ids["run_id"]})
    assert code_of(reply) == (404, "not_found")
    bulk = {"action": "claim", "ids": [ids["review_id"]]}
    assert answered(await another.client.post("/api/v1/eval/reviews/bulk", json=bulk))["done"] == 0
    for path in ("runs", "matrix", "reviews", "drafts", "reviews/marks"):
        assert answered(await another.client.get(f"/api/v1/eval/{path}"))["items"] == [], path
    assert [each["id"] for each in answered(await another.client.get("/api/v1/eval/scenarios"))["items"]] == [
        own["id"]
    ]
    assert answered(await another.client.get("/api/v1/eval/summary"))["overall"]["runs"] == 0
    assert (
        answered(await another.client.post("/api/v1/eval/scenarios/auto-generate", json={}))["scenarios"]
        == []
    )


async def test_a_viewer_reads_and_changes_nothing_by_key_or_by_token(house: House, org: Org) -> None:
    ids = await things_of(house, org)
    by_token = client_of(house.transport, mint(house.settings, role="viewer", subject="v", hours=1))
    for client in ((await org.key_of(Role.VIEWER)).client, by_token):
        refused = {str(each): code_of(await send(client, each, ids)) for each in WRITES}
        assert refused == {str(each): (403, "forbidden") for each in WRITES}
        read = {
            str(each): (await send(client, each, ids)).status_code for each in EVERY if each not in WRITES
        }
        assert read == dict.fromkeys(read, 200)


async def test_a_contributor_writes_by_key_or_by_token(house: House, org: Org) -> None:
    by_token = client_of(house.transport, mint(house.settings, role="contributor", subject="c", hours=1))
    for client in ((await org.key_of(Role.CONTRIBUTOR)).client, by_token):
        ids = await things_of(house, org)
        for each in sorted(WRITES, key=lambda one: one.method == "delete"):
            status, code = code_of(await send(client, each, ids))
            if str(each) in ADMINS:
                assert (status, code) == (403, "forbidden"), each
            else:  # 409: it is claimed by somebody, or decided on already
                assert status < 300 or status == 409, f"{each}: {status} {code}"
    admin = client_of(house.transport, mint(house.settings, role="admin", subject="a", hours=1))
    assert (await send(admin, Operation("put", "/api/v1/eval/reviews/settings"), ids)).status_code == 200


async def test_a_token_acts_for_nobody_but_its_holder(house: House, org: Org) -> None:
    ids = await things_of(house, org)
    dana = client_of(house.transport, mint(house.settings, role="contributor", subject="dana", hours=1))
    path = f"/api/v1/eval/reviews/{ids['review_id']}/claim"
    assert code_of(await dana.post(path, json={"reviewer": "ann"})) == (403, "forbidden")
    assert (await dana.post(path, json={"reviewer": "dana"})).is_success
