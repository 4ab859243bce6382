"""Who may do what: keys, roles, and other orgs' things, over every operation of the OpenAPI document."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import httpx2
import pytest

from pipelines.core.models.model_question import Purpose
from pipelines.core.tasks.seed_session import read_session_request
from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
from pipelines.storage.agents.author_jobs import add_job
from pipelines.storage.agents.authored_rules import PROPOSED, NewRule, add_proposals
from pipelines.storage.runs.batches import add_batch, finish_batch
from pipelines.storage.runs.model_exchanges import NewExchange, add_exchange
from pipelines.storage.tasks.seed_sessions import add_session
from pipelines.storage.tasks.texts import add_parts, named, slices_of
from pipelines.storage.tasks.world_revisions import WorldRevision, add_revision
from pipelines.wire.names import API_V1, PROXY_BASE, Role
from support.desk import AGENT, TASK, House, Org, Row, answered, every_item, open_house, refused
from support.scripted_models import let_answer
from support.tool_service import served

pytestmark = pytest.mark.anyio
DOCUMENT: Row = App(load_settings({})).api.openapi()
METHODS = ("get", "post", "put", "patch", "delete")
IDS = (
    *("agent_id", "annotation_id", "batch_id", "credential_id", "dataset_id", "endpoint_id"),
    *("run_id", "task_id", "session_id", "row_id", "number", "rule_id", "job_id", "exchange_id", "ref"),
    *("key_id", "name"),
)


class Operation(NamedTuple):
    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def ids(self) -> list[str]:
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


def operations() -> Iterator[Operation]:
    """The management API, as the document has it: a new endpoint is covered the day it appears.

    That of the eval library is in test_eval_access.py.
    """
    for path, methods in DOCUMENT["paths"].items():
        if path.startswith("/api/") and not path.startswith((PROXY_BASE, API_V1)):
            for method in methods:
                if method in METHODS:
                    yield Operation(method, path)


EVERY = list(operations())
PING = {"operationId": "ping", "responses": {"200": {"description": "OK"}}}
SPEC = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/ping": {"get": PING}}}
ENDPOINT: Row = {"name": "orders-api", "type": "http_openapi", "config": {"base_url": "", "spec": SPEC}}


@pytest.fixture(scope="module", autouse=True)
def service() -> Iterator[None]:
    """Behind every tool endpoint here."""
    with served() as running:
        ENDPOINT["config"]["base_url"] = running.url
        yield


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[House]:
    """One server for the tests over every operation, each with orgs of its own: starting one takes as
    long as a test."""
    async with open_house(tmp_path_factory.mktemp("shared") / "house") as opened:
        yield opened


SCENARIO: Row = {
    "name": "s-42",
    "user_instruction": "Write a greeting.",
    "workspace_seed": {"type": "files", "files": {"README.md": "Greetings.\n"}},
    "scorers": [{"name": "small", "type": "max_diff_lines", "max": 5}],
}
#: Bodies with which each operation would go through, so that only who is asking decides.
BODIES: dict[str, Any] = {
    "POST /api/agents": AGENT,
    "PUT /api/agents/{agent_id}": {"description": "changed"},
    "POST /api/agents/{agent_id}/plans/check": {"plans": {}},
    "POST /api/agents/{agent_id}/plans/propose": {},
    "POST /api/agents/{agent_id}/plans/learn": {"recording": {"tasks": []}},
    "POST /api/agents/{agent_id}/plans/accept": {"plans": {"get_order": [{"return": "1"}]}},
    "POST /api/datasets": {"name": "x", "rows": [TASK]},
    "POST /api/datasets/{dataset_id}/rules/propose": {},
    "PUT /api/datasets/{dataset_id}/models": {},
    "PUT /api/datasets/{dataset_id}/honesty": {"honesty": "strict"},
    "POST /api/models/test": {"purpose": "author"},
    "POST /api/datasets/{dataset_id}/tasks": {"rows": [TASK]},
    "POST /api/runs/{run_id}/finish": {"final_response": "Done."},
    "POST /api/runs/{run_id}/verdict": {"verdict": "PASS"},
    "PUT /api/datasets/{dataset_id}/name": {"name": "x"},
    "PUT /api/tasks/{task_id}": {"row": TASK},
    "PUT /api/batches/{batch_id}/label": {"label": "nightly"},
    "PUT /api/seed-sessions/{session_id}/rows/{row_id}": {"user_instruction": "Refund order 1."},
    "PUT /api/tasks/{task_id}/oracle": {"expected_outcome": "completion"},
    "POST /api/tasks/{task_id}/oracle/preview": {"expected_outcome": "completion"},
    "POST /api/runs/{run_id}/annotations": {"label": "x"},
    "POST /api/keys": {"name": "x"},
    "PUT /api/cassettes/{name}": {"tool": "ping", "arguments": {}, "response": "pong"},
    "PUT /api/seed-sessions/{session_id}/world": {"state": {"order": {"1": {"status": "paid"}}}},
    "POST /api/seed-sessions/{session_id}/world/refine": {"prompt": "add 1 order"},
    "POST /api/credentials": {"name": "KEY", "value": "s3cret-value"},
    "PUT /api/credentials/{credential_id}/hosts": {"hosts": ["*"]},
    "POST /api/coding-scenarios": SCENARIO,
    "PUT /api/coding-scenarios/{ref}": SCENARIO,
    "POST /api/coding-scenarios/{ref}/grade": {},
    "POST /api/coding-scenarios/import": {"scenario": SCENARIO, "reference": {"command": "true"}},
    "POST /api/tool-endpoints": ENDPOINT,
    "PUT /api/tool-endpoints/{endpoint_id}": {"name": "renamed"},
    "POST /api/tool-endpoints/{endpoint_id}/call": {"tool_name": "ping"},
}


async def send(client: httpx2.AsyncClient, operation: Operation, ids: Row) -> httpx2.Response:
    body = BODIES.get(str(operation))
    if str(operation) in ("POST /api/tool-endpoints", "PUT /api/tool-endpoints/{endpoint_id}"):
        body = body | {"name": f"orders-{uuid4()}"}
    if str(operation) == "POST /api/datasets/{dataset_id}/rules/accept":
        body = {"rule_ids": [ids["rule_id"]]}
    if str(operation) == "POST /api/datasets/{dataset_id}/rules/dismiss":
        body = {"sentences": ["All tools succeed."]}
    if str(operation) == "POST /api/runs":
        body = {"mode": "manual", "agent_id": ids["agent_id"], "task_ids": [ids["task_id"]]}
    if str(operation) == "POST /api/runs/import":
        said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]
        body = {"agent_id": ids["agent_id"], "runs": [said]}
    if str(operation) in ("POST /api/seed-sessions", "POST /api/seed-sessions/estimate"):
        body = {"agent_id": ids["agent_id"], "name": "x", "size": "compact"}
    query: Row | None = {"to": ids["batch_id"]} if operation.path.endswith("/compare") else None
    if operation.path.endswith("/judges/compare"):
        query = {"first": "m@judge/1", "second": "n@judge/1"}
    if str(operation) == "GET /api/runs/estimate":
        query = {"agent_id": ids["agent_id"], "dataset_id": ids["dataset_id"]}
    return await client.request(operation.method, operation.path.format(**ids), json=body, params=query)


async def things_of(house: House, org: Org) -> Row:
    """One of everything an org can have, by the name of its path parameter."""
    agent = await org.agent()
    dataset = await org.dataset(TASK | {"behavior": "All tools succeed."}, agent_id=agent["id"])
    run = await org.open_run(agent["id"], dataset["task_ids"][0])
    answered(await run.call("refund_order", {"order_id": "4521"}))
    written = await org.client.post(f"/api/runs/{run.id}/annotations", json={"label": "odd"})
    annotation = answered(written, 201)
    key = answered(await org.client.post("/api/keys", json={"name": "k"}), 201)
    secret = {"name": "SHOP_KEY", "value": "s3cret-value"}
    credential = answered(await org.client.post("/api/credentials", json=secret), 201)
    scenario = await org.client.post("/api/coding-scenarios", json=SCENARIO)
    assert scenario.status_code in (201, 409), "one of its name is enough"
    own = ENDPOINT | {"name": f"orders-{uuid4()}"}
    endpoint = answered(await org.client.post("/api/tool-endpoints", json=own), 201)
    recorded = b'{"tool": "ping", "arguments": {}, "response": "pong"}'
    answered(await org.client.put("/api/cassettes/42", content=recorded))
    batch = {"agent_id": agent["id"], "agent_version": 1, "dataset_id": dataset["id"]}
    more = {"org_id": org.id, "repeats": 1, "concurrency": 1, "now": house.platform.now()}

    def add_finished_batch(connection: Any) -> int:
        """A row alone: nothing is sent. It has ended, so that its events end too."""
        batch_id = add_batch(connection, **batch, **more)
        finish_batch(connection, batch_id=batch_id, now=more["now"])
        return batch_id

    batch_id = await house.platform.database.write(add_finished_batch)
    rule_id = await house.platform.database.write(partial(rule_of, org, dataset["id"]))
    let_answer(house, purpose=Purpose.AUTHOR)
    return {
        "rule_id": rule_id,
        "job_id": await house.platform.database.write(
            partial(add_job, org_id=org.id, subject="dataset 1", now=more["now"])
        ),
        "exchange_id": await house.platform.database.write(partial(exchange_of, org, run.id)),
        "session_id": await house.platform.database.write(partial(session_of, org, agent["id"])),
        "row_id": 1,
        "number": 1,
        "batch_id": batch_id,
        "agent_id": agent["id"],
        "dataset_id": dataset["id"],
        "task_id": dataset["task_ids"][0],
        "run_id": run.id,
        "annotation_id": annotation["id"],
        "key_id": key["id"],
        "credential_id": credential["id"],
        "endpoint_id": endpoint["id"],
        "name": "42",
        "ref": "s-42",
    }


def exchange_of(org: Org, run_id: int, connection: Any) -> int:
    """A question to a model, for a run."""
    new = NewExchange(
        org_id=org.id,
        run_id=run_id,
        batch_id=None,
        subject=None,
        purpose="judge",
        model="m",
        prompt_version="judge/1",
        question_key="k",
        request="{}",
    )
    exchange_id = add_exchange(connection, new, now="2026-05-01T12:00:00.000000Z")
    assert exchange_id is not None
    return exchange_id


def rule_of(org: Org, dataset_id: int, connection: Any) -> int:
    """One that a model proposed, and nobody has decided on."""
    new = NewRule(
        org_id=org.id,
        dataset_id=dataset_id,
        sentence="A sentence.",
        rules=[],
        left_out=None,
        tried={},
        status=PROPOSED,
        model="m",
        exchange_id=None,
    )
    return add_proposals(connection, [new], now="2026-05-01T12:00:00.000000Z")[0]


def session_of(org: Org, agent_id: int, connection: Any) -> int:
    """A seed session with its world, which nobody had to make."""
    world, now = named(b'{"order":{"1":{"status":"paid"}}}'), "2026-05-01T12:00:00.000000Z"
    add_parts(connection, next(slices_of([world])), now=now)
    request = read_session_request({"agent_id": agent_id, "name": "x"})
    more = {"org_id": org.id, "agent_version": 1, "rng_seed": 1, "world_now": now, "now": now}
    session_id = add_session(connection, request=request, **more)
    told = {"said": None, "notes": [], "advisories": [], "advisories_left_out": 0}
    counted = {"types": [], "entities": 0, "flags": 0}
    changes = {"added": 0, "changed": 0, "removed": 0, "flags": 0, "listed": [], "is_cut": False}
    revision = WorldRevision(
        session_id=session_id,
        number=1,
        kind="made",
        prompt=None,
        undo_to=None,
        world_hash=world.hash,
        rng_seed=1,
        told_text=json.dumps(told | counted),
        changes_text=json.dumps(changes),
        created_by="somebody",
        created_at=now,
    )
    add_revision(connection, revision)
    return session_id


def test_the_document_names_the_operations_of_this_part() -> None:
    assert len(EVERY) >= 22
    assert {name for operation in EVERY for name in operation.ids} == set(IDS)


@pytest.mark.parametrize("operation", EVERY, ids=str)
async def test_without_a_key_nothing_is_answered(shared: House, operation: Operation) -> None:
    reply = await send(shared.stranger, operation, dict.fromkeys(IDS, 1))
    refused(reply, 401, "missing_api_key")
    assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer pk_live_" + "0" * 40},
        {"X-API-Key": "pk_live_" + "0" * 40},
        {"Authorization": "Bearer x", "X-API-Key": ""},
        {"X-API-Key": "\xff"},
    ],
)
async def test_an_unknown_key_is_refused(house: House, headers: dict[str, str]) -> None:
    raw: Any = {name: value.encode("latin-1") for name, value in headers.items()}
    refused(await house.stranger.get("/api/agents", headers=raw), 401, "invalid_api_key")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}])
async def test_no_key_at_all_is_told_how_to_send_one(house: House, headers: dict[str, str]) -> None:
    error = refused(await house.stranger.get("/api/agents", headers=headers), 401, "missing_api_key")
    assert "X-API-Key" in error["message"]


async def test_a_key_is_taken_in_either_header(house: House, org: Org) -> None:
    for headers in ({"Authorization": f"Bearer {org.key}"}, {"X-API-Key": org.key}):
        answered(await house.stranger.get("/api/agents", headers=headers))


async def test_a_run_token_is_no_api_key(house: House, org: Org) -> None:
    run = await org.run()
    refused(await house.stranger.get("/api/agents", headers=run.auth), 401, "invalid_api_key")


#: A name is the org's own to give.
GIVES_A_NAME = ("PUT /api/cassettes/{name}",)


@pytest.mark.parametrize(
    "operation", [each for each in EVERY if each.ids and str(each) not in GIVES_A_NAME], ids=str
)
async def test_another_orgs_ids_are_not_there(shared: House, operation: Operation) -> None:
    org, another = await shared.another_org("one"), await shared.another_org("another")
    ids = await things_of(shared, org)
    before = [
        answered(await org.client.get(path.format(**ids)))
        for path in ("/api/agents/{agent_id}", "/api/datasets/{dataset_id}", "/api/runs/{run_id}")
    ]
    refused(await send(another.client, operation, ids), 404, "not_found")
    nowhere = dict.fromkeys(ids, 10**6) | {"endpoint_id": str(uuid4()), "ref": "s-1000000"}
    theirs, missing = [
        re.sub(r"[0-9a-f-]{36}|\d+", "N", (await send(another.client, operation, each)).text)
        for each in (ids, nowhere)
    ]
    assert theirs == missing, "the refusal tells that the thing exists"
    after = [
        answered(await org.client.get(path.format(**ids)))
        for path in ("/api/agents/{agent_id}", "/api/datasets/{dataset_id}", "/api/runs/{run_id}")
    ]
    assert after == before
    assert [key["revoked_at"] for key in await every_item(org.client, "/api/keys")] == [None, None]


async def test_another_orgs_ids_are_not_there_in_bodies_either(house: House, org: Org) -> None:
    ids = await things_of(house, org)
    another = await house.another_org()
    own = await things_of(house, another)
    refused(
        await another.client.post(
            "/api/datasets", json={"name": "x", "agent_id": ids["agent_id"], "rows": [TASK]}
        ),
        404,
        "not_found",
    )
    for agent_id, task_id in ((ids["agent_id"], own["task_id"]), (own["agent_id"], ids["task_id"])):
        body = {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]}
        refused(await another.client.post("/api/runs", json=body), 404, "not_found")
    said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]
    for agent_id, dataset_id in ((ids["agent_id"], own["dataset_id"]), (own["agent_id"], ids["dataset_id"])):
        imported = {"agent_id": agent_id, "dataset_id": dataset_id, "runs": [said]}
        refused(await another.client.post("/api/runs/import", json=imported), 404, "not_found")
    plans = f"/api/agents/{own['agent_id']}/plans"
    refused(await another.client.get(plans, params={"task_id": ids["task_id"]}), 404, "not_found")


@pytest.mark.parametrize(
    ("path", "filters"),
    [
        ("/api/agents", ()),
        ("/api/datasets", ("agent_id",)),
        ("/api/runs", ("agent_id", "dataset_id", "task_id")),
        ("/api/keys", ()),
    ],
)
async def test_lists_show_only_the_orgs_own(
    house: House, org: Org, path: str, filters: tuple[str, ...]
) -> None:
    ids = await things_of(house, org)
    another = await house.another_org()
    own = await things_of(house, another)
    mine = {item["id"] for item in await every_item(org.client, path)}
    theirs = {item["id"] for item in await every_item(another.client, path)}
    assert mine
    assert theirs
    assert not mine & theirs
    for name in filters:
        reply = await another.client.get(path, params={name: ids[name]})
        assert not {item["id"] for item in answered(reply)["items"]} & mine
    assert own


# Roles

READS = {str(each) for each in EVERY if each.method == "get"} - {"GET /api/keys"}
READS |= {"POST /api/agents/{agent_id}/plans/check"}  # changes nothing
READS |= {"POST /api/sign-in-links"}  # whoever holds a key may look at pages with it
ADMINS = {
    str(each)
    for each in EVERY
    if each.path.startswith("/api/keys") or each.path == "/api/credentials/{credential_id}/hosts"
}


def least_role(operation: Operation) -> Role:
    if str(operation) in READS:
        return Role.VIEWER
    return Role.ADMIN if str(operation) in ADMINS else Role.CONTRIBUTOR


RANKS = [Role.VIEWER, Role.CONTRIBUTOR, Role.ADMIN, Role.OWNER]


@pytest.mark.parametrize("operation", EVERY, ids=str)
async def test_a_role_may_do_what_it_may_and_no_more(shared: House, operation: Operation) -> None:
    org = await shared.another_org()
    least = RANKS.index(least_role(operation))
    ids = await things_of(shared, org)
    for role in RANKS[:least]:
        refused(await send((await org.key_of(role)).client, operation, ids), 403, "forbidden")
    for role in dict.fromkeys((RANKS[least], Role.OWNER)):
        reply = await send((await org.key_of(role)).client, operation, ids)
        # 409: the run is not one that this can be done with; 422: no judge has read the batch
        refusal = 422 if operation.path.endswith("/judges/compare") else 409
        assert reply.is_success or reply.status_code == refusal, f"{role}: {reply.status_code} {reply.text}"
        ids = await things_of(shared, org)


# Keys


async def test_a_new_key_is_shown_once_and_stored_as_a_hash(house: House, org: Org) -> None:
    made = answered(await org.client.post("/api/keys", json={"name": "ci"}), 201)
    secret = made["api_key"]
    assert secret.startswith("pk_live_")
    assert len(secret) == len("pk_live_") + 40
    assert (made["name"], made["role"], made["revoked_at"]) == ("ci", "contributor", None)
    listed = await every_item(org.client, "/api/keys", limit=1)
    assert [key["id"] for key in listed] == [made["id"], 1]
    assert "api_key" not in listed[0]
    assert secret not in str(listed)
    for path in house.settings.data_dir.iterdir():
        if path.name != "api-key":
            assert secret.encode() not in path.read_bytes(), path.name
            assert org.key.encode() not in path.read_bytes(), path.name


async def test_a_revoked_key_is_refused_from_then_on(org: Org) -> None:
    viewer = await org.key_of(Role.VIEWER)
    answered(await viewer.client.get("/api/agents"))
    newest = answered(await org.client.get("/api/keys"))["items"][0]
    assert (await org.client.delete(f"/api/keys/{newest['id']}")).status_code == 204
    refused(await viewer.client.get("/api/agents"), 401, "invalid_api_key")
    refused(await org.client.delete(f"/api/keys/{newest['id']}"), 404, "not_found")
    assert answered(await org.client.get("/api/keys"))["items"][0]["revoked_at"] is not None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": " "},
        {"name": "x" * 256},
        {"name": 7},
        {"name": "x", "role": "king"},
        {"name": "x", "role": None},
        {"name": "x", "role": ["owner"]},
        {"name": "x", "api_key": "pk_live_mine"},
    ],
)
async def test_a_key_that_cannot_be_made_says_why(org: Org, body: Row) -> None:
    assert refused(await org.client.post("/api/keys", json=body), 422, "invalid_request")["details"]
    assert len(await every_item(org.client, "/api/keys")) == 1


async def test_nobody_hands_out_or_takes_away_more_than_they_have(org: Org) -> None:
    admin = await org.key_of(Role.ADMIN)
    refused(await admin.client.post("/api/keys", json={"name": "x", "role": "owner"}), 403, "forbidden")
    answered(await admin.client.post("/api/keys", json={"name": "x", "role": "admin"}), 201)
    refused(await admin.client.delete("/api/keys/1"), 403, "forbidden")  # the owner's
    answered(await org.client.get("/api/agents"))


async def test_an_org_is_never_left_without_an_owner(org: Org) -> None:
    refused(await org.client.delete("/api/keys/1"), 409, "conflict")
    answered(await org.client.get("/api/agents"))
    second = await org.key_of(Role.OWNER)
    assert (await second.client.delete("/api/keys/1")).status_code == 204
    answered(await second.client.get("/api/agents"))


async def test_keys_survive_a_restart(tmp_path: Any) -> None:
    async with open_house(tmp_path) as house:
        viewer = await house.owner.key_of(Role.VIEWER)
    async with open_house(tmp_path) as house:
        headers = {"Authorization": f"Bearer {viewer.key}"}
        answered(await house.stranger.get("/api/agents", headers=headers))
        refused(await house.stranger.post("/api/agents", json=AGENT, headers=headers), 403, "forbidden")


async def test_health_docs_and_the_document_need_no_key(house: House) -> None:
    assert answered(await house.stranger.get("/health"))["status"] == "ok"
    assert (await house.stranger.get("/docs")).status_code == 200
    document = answered(await house.stranger.get("/openapi.json"))
    assert f"{PROXY_BASE}/tools/{{tool_name}}" in document["paths"]
