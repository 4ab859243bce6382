"""Tool endpoints over the API: registered, discovered, drifted, called, bound, and refused."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from pipelines.core.tools.live_tools import Discovery
from pipelines.engine.batches.finish_changes import finish_changes
from pipelines.engine.endpoints import discover_endpoint, manage_endpoints
from pipelines.wire.names import Role
from support.desk import MEBIBYTE, TASK, TOOLS, House, Org, Row, answered, every_item, refused
from support.loop_lag import MOST_LAG_S, least_lag
from support.tool_service import Service, ServiceEndpoint, listed, served

pytestmark = pytest.mark.anyio
ENDPOINTS = "/api/tool-endpoints"


@pytest.fixture
def service() -> Iterator[Service]:
    with served() as running:
        yield running


@pytest.fixture(autouse=True)
def asked_by_the_tests(house: House) -> None:
    """This server asks the service above, whatever it asks otherwise."""
    makers: Any = house.platform.endpoint_makers
    makers |= {"http_openapi": ServiceEndpoint, "mcp_server": ServiceEndpoint}
    makers.pop("code", None)
    ServiceEndpoint.opened.clear()


def body_of(service: Service, name: str = "orders-api", **more: Any) -> Row:
    return {"name": name, "type": "http_openapi", "config": config_of(service), **more}


def config_of(service: Service, version: str = "3.1.0") -> Row:
    return {"base_url": service.url, "spec": f"openapi: {version}"}


async def made(org: Org, service: Service, **more: Any) -> Row:
    row: Row = answered(await org.client.post(ENDPOINTS, json=body_of(service, **more)), 201)
    return row


def bound(declared: str = "get_order", mode: str = "passthrough", **binding: Any) -> Row:
    return {
        "name": declared,
        "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        "default_execution_mode": mode,
        "passthrough_binding": {"tool_name": "get_order", **binding},
    }


async def test_a_new_endpoint_has_its_tools_at_once(org: Org, service: Service) -> None:
    endpoint = await made(org, service)
    assert (endpoint["tools"], endpoint["drifted"], endpoint["discovery_error"]) == (2, 0, None)
    assert endpoint["discovered_at"] is not None
    assert endpoint["config"] == {"base_url": service.url}
    assert endpoint["content_hash"] is not None
    assert answered(await org.client.get(f"{ENDPOINTS}/{endpoint['id']}")) == endpoint
    assert answered(await org.client.get(ENDPOINTS))["items"] == [endpoint]
    assert answered(await org.client.get(ENDPOINTS, params={"name": "orders-api"}))["items"] == [endpoint]
    assert answered(await org.client.get(ENDPOINTS, params={"name": "other"}))["items"] == []
    tools = await every_item(org.client, f"{ENDPOINTS}/{endpoint['id']}/tools", limit=1)
    assert [tool["name"] for tool in tools] == ["get_order", "ping"]
    assert tools[0]["input_schema"] == service.tools[0]["input_schema"]
    assert (tools[0]["drift"], tools[0]["differences"]) == (None, [])
    assert all(each.is_closed for each in ServiceEndpoint.opened)


async def test_a_page_of_large_tools_ends_early_and_none_is_left_out(
    org: Org, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = await made(org, service)
    monkeypatch.setattr("pipelines.storage.agents.tool_endpoints.MAX_PAGE_CHARACTERS", 10)
    path = f"{ENDPOINTS}/{endpoint['id']}/tools"
    page = answered(await org.client.get(path, params={"limit": 50}))
    assert [tool["name"] for tool in page["items"]] == ["get_order"]
    assert page["next_cursor"] is not None
    assert [tool["name"] for tool in await every_item(org.client, path)] == ["get_order", "ping"]


async def test_an_endpoint_that_does_not_answer_is_there_and_says_why(org: Org, service: Service) -> None:
    service.is_down = True
    endpoint = await made(org, service)
    assert (endpoint["tools"], endpoint["discovered_at"]) == (0, None)
    assert "is down" in endpoint["discovery_error"]
    error = refused(await org.client.post(f"{ENDPOINTS}/{endpoint['id']}/discover"), 502, "transport_error")
    assert "is down" in error["message"]
    service.is_down = False
    found = answered(await org.client.post(f"{ENDPOINTS}/{endpoint['id']}/discover"))
    assert (found["tools"], found["added"], found["discovery_error"]) == (2, 2, None)


async def test_the_config_may_stand_at_the_top(org: Org, service: Service) -> None:
    body = {"name": "mcp", "type": "mcp_server", "url": service.url}
    endpoint = answered(await org.client.post(ENDPOINTS, json=body), 201)
    assert (endpoint["config"], endpoint["tools"]) == ({"url": service.url}, 2)


async def test_everything_wrong_is_told_at_once(org: Org, service: Service) -> None:
    await made(org, service)
    answered(
        await org.client.post("/api/credentials", json={"name": "ORDERS_KEY", "value": "s3cret-value"}), 201
    )
    body = {
        "name": "orders-api",
        "type": "code",
        "config": {"source": "x", "requirements": ["httpx", "git+https://a/b"], "colour": "red"},
        "auth": {"type": "bearer", "credential": "K"},
    }
    error = refused(await org.client.post(ENDPOINTS, json=body), 422, "invalid_request")
    assert {problem["path"] for problem in error["details"]} == {
        "/config/colour",
        "/auth",
        "/name",
        "/type",
        "/config/requirements/1",
    }
    assert "cannot ask tool endpoints of type `code`" in str(error["details"])
    body = body_of(service, "other", auth={"type": "bearer", "credential": "ORDER_KEY"})
    error = refused(await org.client.post(ENDPOINTS, json=body), 422, "invalid_request")
    assert error["details"] == [
        {
            "path": "/auth/credential",
            "message": "there is no credential `ORDER_KEY`",
            "hint": "did you mean `ORDERS_KEY`?",
        }
    ]


async def test_an_address_that_the_server_may_not_call_is_refused(org: Org) -> None:
    body = {"name": "meta", "type": "mcp_server", "url": "http://169.254.169.254/latest"}
    error = refused(await org.client.post(ENDPOINTS, json=body), 422, "invalid_request")
    assert error["details"][0]["path"] == "/url"


async def test_a_credential_is_sent_and_never_shown(org: Org, service: Service) -> None:
    secret = {"name": "ORDERS_KEY", "value": "s3cret-value"}
    answered(await org.client.post("/api/credentials", json=secret), 201)
    endpoint = await made(org, service, auth={"type": "bearer", "credential": "ORDERS_KEY"})
    assert service.headers[-1]["authorization"] == "Bearer s3cret-value"
    assert ServiceEndpoint.opened[-1].values.credentials == {"ORDERS_KEY": "s3cret-value"}
    call = {"tool_name": "ping", "arguments": {}}
    reply = answered(await org.client.post(f"{ENDPOINTS}/{endpoint['id']}/call", json=call))
    assert reply["response"]["sent"] == "Bearer [secret ORDERS_KEY]"
    service.is_down = True
    response = await org.client.post(f"{ENDPOINTS}/{endpoint['id']}/call", json=call)
    error = refused(response, 502, "transport_error")
    assert error["details"]["notes"] == ["sent Bearer [secret ORDERS_KEY]"]
    assert "s3cret" not in response.text
    await org.client.post(f"{ENDPOINTS}/{endpoint['id']}/discover")
    assert "s3cret" not in (await org.client.get(ENDPOINTS)).text
    assert all(each.is_closed for each in ServiceEndpoint.opened)


async def test_a_credential_that_the_endpoint_tells_of_its_tools_is_not_stored(
    org: Org, service: Service
) -> None:
    """`def search(q: str, key: str = os.environ["SEARCH_KEY"])` has the value in its schema."""
    secret = {"name": "SEARCH_KEY", "value": "s3cret-8080"}
    answered(await org.client.post("/api/credentials", json=secret), 201)
    search = listed("search", "Asks with s3cret-8080.", q="string", key="string")
    search["input_schema"]["properties"]["key"]["default"] = "s3cret-8080"
    search["output_schema"] = {"type": "object", "properties": {"s3cret-8080": {"type": "string"}}}
    unusable = listed("find")
    unusable["input_schema"]["properties"] = {"key": {"type": "s3cret-8080"}}
    service.tools = [search, unusable, listed("get_s3cret-8080"), listed("ping")]
    service.notes = ["sent s3cret-8080"]
    endpoint = await made(org, service, auth={"type": "bearer", "credential": "SEARCH_KEY"})
    hidden = "[secret SEARCH_KEY]"
    assert endpoint["discovery_notes"] == [
        f"sent {hidden}",
        "tool `find` is left out: a schema contains a secret of the endpoint, and is not valid without it",
        f"tool `get_{hidden}` is left out: its name or its request contains a secret of the endpoint",
    ]
    tools = await every_item(org.client, f"{ENDPOINTS}/{endpoint['id']}/tools", limit=1)
    assert [tool["name"] for tool in tools] == ["search", "ping"]
    assert tools[0]["description"] == f"Asks with {hidden}."
    assert tools[0]["input_schema"]["properties"]["key"]["default"] == hidden
    assert hidden in tools[0]["output_schema"]["properties"]
    assert tools[1]["output_schema"] is None
    # What is stored is compared with what is hidden alike.
    found = answered(await org.client.post(f"{ENDPOINTS}/{endpoint['id']}/discover"))
    assert (found["version"], found["drift"]) == (endpoint["version"], [])
    assert "s3cret" not in json.dumps([endpoint, tools, found])


async def test_a_credential_that_went_is_a_failure_with_its_name(org: Org, service: Service) -> None:
    secret = {"name": "ORDERS_KEY", "value": "s3cret-value"}
    credential = answered(await org.client.post("/api/credentials", json=secret), 201)
    endpoint = await made(org, service, auth={"type": "api_key", "credential": "ORDERS_KEY"})
    assert service.headers[-1]["x-api-key"] == "s3cret-value"
    answered(await org.client.delete(f"/api/credentials/{credential['id']}"))
    call = {"tool_name": "ping"}
    response = await org.client.post(f"{ENDPOINTS}/{endpoint['id']}/call", json=call)
    assert "no credential `ORDERS_KEY`" in refused(response, 502, "transport_error")["message"]


async def test_a_credential_is_sent_to_the_first_host_alone_until_an_admin_changes_that(
    org: Org, service: Service
) -> None:
    secret = {"name": "ORDERS_KEY", "value": "s3cret-value"}
    credential = answered(await org.client.post("/api/credentials", json=secret), 201)
    assert credential["hosts"] == []
    auth = {"type": "bearer", "credential": "ORDERS_KEY"}
    endpoint = await made(org, service, auth=auth)
    (listed_one,) = answered(await org.client.get("/api/credentials"))["items"]
    assert listed_one["hosts"] == ["127.0.0.1"]
    elsewhere = {"base_url": service.url.replace("127.0.0.1", "localhost"), "spec": "openapi: 3.1.0"}
    path, call = f"{ENDPOINTS}/{endpoint['id']}", {"tool_name": "ping"}
    contributor = await org.key_of(Role.CONTRIBUTOR)
    sent = len(service.headers)
    changed = answered(await contributor.client.put(path, json={"config": elsewhere}))
    assert "127.0.0.1 only, and not to localhost" in changed["discovery_error"]
    told = refused(await contributor.client.post(f"{path}/call", json=call), 502, "transport_error")
    assert "127.0.0.1 only, and not to localhost" in told["message"]
    assert len(service.headers) == sent
    answered(await org.client.post("/api/credentials", json=secret), 201)  # a new value keeps its hosts
    hosts = f"/api/credentials/{credential['id']}/hosts"
    refused(await contributor.client.put(hosts, json={"hosts": ["*"]}), 403, "forbidden")
    refused(await org.client.put(hosts, json={"hosts": ["http://a"]}), 422, "invalid_request")
    answer = answered(await org.client.put(hosts, json={"hosts": ["127.0.0.1", "localhost"]}))
    assert answer["hosts"] == ["127.0.0.1", "localhost"]
    answered(await contributor.client.post(f"{path}/call", json=call))


async def test_one_tool_is_called_by_hand(org: Org, service: Service) -> None:
    endpoint = await made(org, service)
    path = f"{ENDPOINTS}/{endpoint['id']}/call"
    reply = answered(
        await org.client.post(path, json={"tool_name": "get_order", "arguments": {"order_id": "7"}})
    )
    assert (reply["status"], reply["response"]["arguments"]) == (200, {"order_id": "7"})
    assert (reply["notes"], reply["tool_name"]) == (["asked once"], "get_order")
    assert reply["latency_ms"] > 0
    # An error of the service is an answer.
    reply = answered(
        await org.client.post(path, json={"tool_name": "get_order", "arguments": {"order_id": "404"}})
    )
    assert (reply["status"], reply["response"]) == (404, {"error": "no such order"})
    error = refused(
        await org.client.post(path, json={"tool_name": "get_order", "arguments": {"order_id": 7}}),
        422,
        "invalid_arguments",
    )
    assert error["details"][0]["path"] == "/order_id"
    error = refused(await org.client.post(path, json={"tool_name": "get_orders"}), 422, "invalid_request")
    assert error["details"][0]["hint"] == "did you mean `get_order`?"
    error = refused(await org.client.post(path, json={"arguments": [], "x": 1}), 422, "invalid_request")
    assert [problem["path"] for problem in error["details"]] == ["/x", "/tool_name", "/arguments"]


async def test_what_changed_or_went_is_drift_until_it_is_accepted(org: Org, service: Service) -> None:
    endpoint = await made(org, service)
    path = f"{ENDPOINTS}/{endpoint['id']}"
    service.tools = [listed("get_order", "An order.", order_id="integer"), listed("new")]
    found = answered(await org.client.post(f"{path}/discover"))
    assert (found["tools"], found["drifted"], found["added"], found["removed"]) == (3, 2, 1, 0)
    changed, gone = found["drift"]
    assert (changed["name"], changed["drift"], gone["name"], gone["drift"]) == (
        *("get_order", "changed"),
        *("ping", "gone"),
    )
    assert {each["path"] for each in changed["differences"]} == {
        "/description",
        "/input_schema/properties/order_id/type",
    }
    drifted = await every_item(org.client, f"{path}/tools", drifted=True, limit=1)
    assert [tool["name"] for tool in drifted] == ["get_order", "ping"]
    assert drifted[0]["description"] == "An order by its id."  # as it was accepted
    accepted = answered(await org.client.post(f"{path}/discover", json={"accept": True}))
    assert (accepted["tools"], accepted["drifted"], accepted["removed"], accepted["drift"]) == (2, 0, 1, [])
    assert accepted["version"] > found["version"] > endpoint["version"]
    again = answered(await org.client.post(f"{path}/discover"))
    assert again["version"] == accepted["version"]
    error = refused(
        await org.client.post(f"{path}/discover", json={"accept": "yes", "x": 1}), 422, "invalid_request"
    )
    assert {problem["path"] for problem in error["details"]} == {"/accept", "/x"}


BINDINGS: dict[str, tuple[Row, str, str]] = {
    "an endpoint that there is not": ({"endpoint_name": "order-api"}, "endpoint_name", "named `order-api`"),
    "an id that there is not": ({"endpoint_id": "6f2c"}, "endpoint_id", "no tool endpoint with id"),
    "another org's": ({"endpoint_name": "theirs"}, "endpoint_name", "named `theirs`"),
    "a tool that was not found": (
        {"endpoint_name": "orders-api", "tool_name": "get_orders"},
        "tool_name",
        "has no tool `get_orders`",
    ),
    "both": ({"endpoint_name": "orders-api", "endpoint_id": "x"}, "", "names both"),
    "neither": ({}, "", "names neither"),
}


@pytest.mark.parametrize(("binding", "place", "words"), BINDINGS.values(), ids=BINDINGS)
async def test_a_binding_is_checked_against_the_endpoints_of_the_org(
    house: House, org: Org, service: Service, binding: Row, place: str, words: str
) -> None:
    await made(org, service)
    await made(await house.another_org(), service, name="theirs")
    tools = [*TOOLS, bound(declared="live", **binding)]
    path = "/tools_schema/6/passthrough_binding" + (f"/{place}" if place else "")
    agent = await org.agent()
    for response in (
        await org.client.post("/api/agents", json={"name": "a", "status": "draft", "tools_schema": tools}),
        await org.client.put(f"/api/agents/{agent['id']}", json={"tools_schema": tools}),
    ):
        error = refused(response, 422, "invalid_request")
        (problem,) = error["details"]
        assert problem["path"] == path
        assert problem["message"].startswith("tool `live`: ")
        assert words in problem["message"]


async def test_a_tool_is_flipped_between_sandbox_and_passthrough(org: Org, service: Service) -> None:
    endpoint = await made(org, service)
    agent = await org.agent(tools_schema=[bound(mode="sandbox", endpoint_name="orders-api")])
    path = f"/api/agents/{agent['id']}"
    live = answered(await org.client.put(path, json={"tools_schema": [bound(endpoint_id=endpoint["id"])]}))
    assert live["tools_schema"][0]["default_execution_mode"] == "passthrough"
    assert live["tools_schema"][0]["passthrough_binding"]["endpoint_id"] == endpoint["id"]
    back = answered(
        await org.client.put(path, json={"tools_schema": [bound(mode="sandbox", endpoint_id=endpoint["id"])]})
    )
    assert back["version"] == 3


async def test_another_orgs_endpoint_is_not_there(house: House, org: Org, service: Service) -> None:
    endpoint = await made(org, service)
    other = (await house.another_org()).client
    path = f"{ENDPOINTS}/{endpoint['id']}"
    for response in (
        await other.get(path),
        await other.put(path, json={"name": "mine"}),
        await other.delete(path),
        await other.post(f"{path}/discover", json={"accept": True}),
        await other.get(f"{path}/tools"),
        await other.post(f"{path}/call", json={"tool_name": "ping"}),
    ):
        refused(response, 404, "not_found")
    assert answered(await other.get(ENDPOINTS))["items"] == []
    assert answered(await org.client.get(path)) == endpoint


async def test_an_endpoint_that_agents_bind_is_not_deleted(org: Org, service: Service) -> None:
    endpoint = await made(org, service)
    path = f"{ENDPOINTS}/{endpoint['id']}"
    agent = await org.agent(tools_schema=[bound(endpoint_name="orders-api")])
    draft = await org.agent(name="Draft", status="draft", tools_schema=[bound(endpoint_id=endpoint["id"])])
    error = refused(await org.client.delete(path), 409, "endpoint_bound")
    assert error["details"] == {
        "agents": [{"id": each["id"], "name": each["name"]} for each in (agent, draft)]
    }
    error = refused(await org.client.put(path, json={"name": "renamed"}), 409, "endpoint_bound")
    assert error["details"] == {"agents": [{"id": agent["id"], "name": agent["name"]}]}
    answered(await org.client.put(f"/api/agents/{agent['id']}", json={"tools_schema": TOOLS}))
    assert answered(await org.client.put(path, json={"name": "renamed"}))["name"] == "renamed"
    answered(await org.client.delete(f"/api/agents/{draft['id']}"))
    assert (await org.client.delete(path)).status_code == 204
    refused(await org.client.get(path), 404, "not_found")
    answered(await org.client.post(ENDPOINTS, json=body_of(service)), 201)


async def test_a_change_is_asked_for_its_tools_anew(org: Org, service: Service) -> None:
    endpoint = await made(org, service)
    path = f"{ENDPOINTS}/{endpoint['id']}"
    same = answered(await org.client.put(path, json={"name": "orders"}))
    assert (same["version"], same["content_hash"]) == (endpoint["version"], endpoint["content_hash"])
    service.tools = [
        listed("get_order", "Another.", order_id="string"),
        listed("ping", "Whether it is there."),
    ]
    config = {"base_url": service.url, "spec": "openapi: 3.0.3"}
    changed = answered(await org.client.put(path, json={"config": config}))
    assert (changed["drifted"], changed["version"]) == (1, endpoint["version"] + 1)
    assert changed["content_hash"] != endpoint["content_hash"]
    error = refused(await org.client.put(path, json={"colour": "red"}), 422, "invalid_request")
    assert [problem["path"] for problem in error["details"]] == ["/colour"]
    error = refused(await org.client.put(path, json={"type": "mcp_server"}), 422, "invalid_request")
    assert any("type cannot be changed" in problem["message"] for problem in error["details"])


async def test_the_content_of_a_config_goes_with_the_last_endpoint_that_has_it(
    house: House, org: Org, service: Service
) -> None:
    async def stored_after_a_start() -> set[str]:
        await finish_changes(house.platform, at_start=True)
        return await house.platform.database.read(
            lambda connection: {row[0] for row in connection.execute("SELECT hash FROM texts")} & contents
        )

    first, second = await made(org, service, name="first"), await made(org, service, name="second")
    contents = {first["content_hash"]}
    changing = org.client.put(f"{ENDPOINTS}/{first['id']}", json={"config": config_of(service, "3.0.3")})
    changed = answered(await changing)["content_hash"]
    contents.add(changed)
    assert await stored_after_a_start() == {second["content_hash"], changed}
    renamed = answered(await org.client.put(f"{ENDPOINTS}/{first['id']}", json={"name": "renamed"}))
    assert renamed["content_hash"] == changed
    assert (await org.client.delete(f"{ENDPOINTS}/{second['id']}")).status_code == 204
    assert await stored_after_a_start() == {changed}
    assert (await org.client.delete(f"{ENDPOINTS}/{first['id']}")).status_code == 204
    assert await stored_after_a_start() == set()


MEANWHILE: dict[str, tuple[Row, Row]] = {
    "another config, for a new name": ({"name": "orders"}, {"config": "3.0.3"}),
    "another name, for a new config": ({"config": "3.0.3"}, {"name": "orders"}),
    "another config, for a new one": ({"config": "3.0.3"}, {"config": "3.0.2"}),
}


@pytest.mark.parametrize(("change", "meanwhile"), MEANWHILE.values(), ids=MEANWHILE)
async def test_a_change_does_not_take_back_what_was_changed_meanwhile(
    org: Org, service: Service, monkeypatch: pytest.MonkeyPatch, change: Row, meanwhile: Row
) -> None:
    endpoint = await made(org, service)
    path = f"{ENDPOINTS}/{endpoint['id']}"
    change, meanwhile = (
        {key: config_of(service, value) if key == "config" else value for key, value in body.items()}
        for body in (change, meanwhile)
    )
    others: list[Row] = []
    check = manage_endpoints.check_endpoint

    async def checked_while_another_changes(*given: Any) -> Any:
        monkeypatch.undo()
        others.append(answered(await org.client.put(path, json=meanwhile)))
        return await check(*given)

    monkeypatch.setattr(manage_endpoints, "check_endpoint", checked_while_another_changes)
    error = refused(await org.client.put(path, json=change), 409, "conflict")
    assert "was changed meanwhile" in error["message"]
    assert answered(await org.client.get(path)) == others[0]
    assert others[0]["version"] == endpoint["version"] + ("config" in meanwhile)
    answered(await org.client.put(path, json=change))


async def test_a_discovery_does_not_take_back_what_was_accepted_meanwhile(
    org: Org, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = await made(org, service)
    path = f"{ENDPOINTS}/{endpoint['id']}"
    accepted: list[Row] = []
    ask = ServiceEndpoint.discover

    async def asked_before_another(asked: ServiceEndpoint) -> Discovery:
        monkeypatch.undo()
        found = await ask(asked)
        service.tools = [listed("get_order", "Another.", order_id="integer"), listed("new")]
        accepted.append(answered(await org.client.post(f"{path}/discover", json={"accept": True})))
        return found

    monkeypatch.setattr(ServiceEndpoint, "discover", asked_before_another)
    error = refused(await org.client.post(f"{path}/discover"), 409, "conflict")
    assert "was changed meanwhile; discover its tools again" in error["message"]
    now = answered(await org.client.get(path))
    assert (now["version"], now["tools"], now["drifted"]) == (accepted[0]["version"], 2, 0)
    # Whoever registers or changes an endpoint is told of it as it is: that was done.
    monkeypatch.setattr(ServiceEndpoint, "discover", asked_before_another)
    changed = answered(await org.client.put(path, json={"config": config_of(service, "3.0.3")}))
    assert (changed["tools"], changed["drifted"]) == (2, 0)


async def test_what_was_found_on_an_endpoint_is_stored_one_after_the_other(
    org: Org, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = await made(org, service)
    store, storing, most = discover_endpoint._store, 0, 0

    async def counted(*given: Any) -> None:
        nonlocal storing, most
        storing += 1
        most = max(most, storing)
        await store(*given)
        storing -= 1

    monkeypatch.setattr(discover_endpoint, "_store", counted)
    path = f"{ENDPOINTS}/{endpoint['id']}/discover"
    for response in await asyncio.gather(*(org.client.post(path) for _ in range(8))):
        answered(response)
    assert most == 1
    assert endpoint["id"] not in discover_endpoint._storing


async def test_runs_of_an_agent_whose_tool_drifted_are_refused(org: Org, service: Service) -> None:
    endpoint = await made(org, service)
    path = f"{ENDPOINTS}/{endpoint['id']}"
    agent = await org.agent(tools_schema=[*TOOLS[1:], bound(endpoint_name="orders-api")])
    other = await org.agent(tools_schema=[*TOOLS[1:], bound(mode="sandbox", endpoint_name="orders-api")])
    dataset = await org.dataset(TASK, agent_id=agent["id"])
    await org.open_run(agent["id"], dataset["task_ids"][0])
    service.tools = [listed("get_order", "An order by its id.", order_id="integer")]
    answered(await org.client.post(f"{path}/discover"))
    manual = {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"]}
    batch = {"agent_id": agent["id"], "dataset_id": dataset["id"]}
    for body in (manual, batch):
        error = refused(await org.client.post("/api/runs", json=body), 409, "endpoint_drift")
        assert "pipelines endpoints discover orders-api --accept" in error["message"]
        (tool,) = error["details"]["tools"]
        assert (tool["tool"], tool["endpoint"], tool["drift"]) == ("get_order", "orders-api", "changed")
        assert tool["differences"] == [
            {
                "path": "/input_schema/properties/order_id/type",
                "before": "string",
                "after": "integer",
            }
        ]
    scenario = {
        "name": "s",
        "risk_level": "low",
        "input_context": {"a": 1},
        "expected_behavior": {"b": 2},
        "agent_id": agent["id"],
    }
    made_scenario = answered(await org.client.post("/api/v1/eval/scenarios", json=scenario), 201)
    matrix = {"scenario_ids": [made_scenario["id"]]}
    refused(await org.client.post("/api/v1/eval/matrix", json=matrix), 409, "endpoint_drift")
    # What is answered by the sandbox does not hang on the endpoint.
    await org.open_run(other["id"], dataset["task_ids"][0])
    answered(await org.client.post(f"{path}/discover", json={"accept": True}))
    await org.open_run(agent["id"], dataset["task_ids"][0])


async def test_a_tool_that_is_gone_and_was_accepted_so_still_holds_up_its_agent(
    org: Org, service: Service
) -> None:
    endpoint = await made(org, service)
    agent = await org.agent(tools_schema=[bound(endpoint_name="orders-api")])
    dataset = await org.dataset({"user": "x", "state": {}}, agent_id=agent["id"])
    service.tools = []
    answered(await org.client.post(f"{ENDPOINTS}/{endpoint['id']}/discover", json={"accept": True}))
    manual = {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"]}
    error = refused(await org.client.post("/api/runs", json=manual), 409, "endpoint_drift")
    assert error["details"]["tools"][0]["drift"] == "gone"
    assert "Bind the tool elsewhere" in error["message"]


async def test_names_and_ids_that_no_endpoint_can_have_are_not_there(org: Org) -> None:
    refused(await org.client.get(f"{ENDPOINTS}/%00"), 404, "not_found")
    refused(await org.client.delete(f"{ENDPOINTS}/%00"), 404, "not_found")
    refused(await org.client.get(ENDPOINTS, params={"name": "\0"}), 422, "invalid_request")


async def test_a_large_document_leaves_the_loop_free(org: Org, service: Service) -> None:
    text = "x: é" * (2 * MEBIBYTE)  # 10 MiB, and the translator is not asked here
    config = {"base_url": service.url, "spec": text}
    rest = json.dumps({"type": "http_openapi", "config": config}, ensure_ascii=False).encode()

    async def parts() -> AsyncIterator[bytes]:
        """As a connection brings them: what the client does at once is not the server's."""
        yield f'{{"name": "large-{len(ServiceEndpoint.opened)}", '.encode()
        for start in range(1, len(rest), 256 * 1024):
            yield rest[start : start + 256 * 1024]

    async def registered() -> Row:
        headers = {"Content-Type": "application/json"}
        row: Row = answered(await org.client.post(ENDPOINTS, content=parts(), headers=headers), 201)
        return row

    endpoint, lag_s = await least_lag(registered)
    assert lag_s < MOST_LAG_S
    assert endpoint["tools"] == 2
    assert ServiceEndpoint.opened[-1].values.config["spec"] == text


async def test_a_document_with_too_many_values_is_to_be_sent_as_text(org: Org, service: Service) -> None:
    body = body_of(service)
    body["config"]["spec"] = {"x": [0] * 300_000}
    error = refused(await org.client.post(ENDPOINTS, json=body), 422, "invalid_request")
    assert "as a JSON string" in error["details"][0]["hint"]
    body["config"]["spec"] = "y" * (33 * MEBIBYTE)
    refused(await org.client.post(ENDPOINTS, json=body), 413, "body_too_large")
