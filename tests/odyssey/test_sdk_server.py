"""The SDK against a real server: agents registered from Python, dispatched to, and judged."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from scripted_proxy import Reply, scripted
from test_sdk_dispatch import FORMS, asgi_server

from pipelines.odyssey import (
    ApiFailed,
    Envelope,
    ToolFailed,
    async_proxy_call,
    post_handoff,
    proxy_call,
    proxy_call_with,
    register_dispatch_route,
    tool_endpoints,
    try_post_trace_event,
)
from pipelines.odyssey.agents import (
    create_code_agent,
    create_http_agent,
    create_or_update_http_agent,
    find_agent,
)
from support.desk import TOOLS, outage
from support.server_process import REFUND_TASK, Api, house_in
from support.tool_service import served

ORDER = {"order_id": "4521"}
TOKEN = "a-token-of-the-agent"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("sdk"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


@pytest.fixture(autouse=True)
def settings(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINES_URL", api.url)
    monkeypatch.setenv("PIPELINES_API_KEY", api.key)
    monkeypatch.setenv("AGENT_TOKEN", TOKEN)


def registered(endpoint_url: str, **fields: Any) -> dict[str, Any]:
    return create_http_agent(
        name="Support desk",
        endpoint_url=endpoint_url,
        tools_schema=TOOLS,
        auth_header_name="Authorization",
        auth_header_value=f"Bearer {TOKEN}",
        **fields,
    )


def refunds(envelope: Envelope) -> dict[str, Any]:
    try_post_trace_event("thinking", {"text": envelope.user_instruction})
    post_handoff("refunds")
    refunder = envelope.for_actor("refunds")
    proxy_call("get_order", ORDER)
    try:
        proxy_call_with(refunder, "refund_order", ORDER)
    except ToolFailed:
        proxy_call_with(refunder, "refund_order", ORDER)
    return {"final_response": "I have refunded order 4521.", "metadata": {"model": "none"}}


async def async_refunds(envelope: Envelope) -> str:
    await async_proxy_call("refund_order", ORDER)
    return "I have refunded order 4521."


@pytest.mark.parametrize("form", FORMS)
def test_an_agent_of_each_form_gets_a_verdict(form: str, api: Api) -> None:
    app, server = FORMS[form]
    task = REFUND_TASK | {"failure_rules": [outage("refund_order", 1)]}
    with server(app(refunds)) as url:
        agent = registered(f"{url}/dispatch")
        assert api.post(f"/api/agents/{agent['id']}/test-connection")["ok"] is True
        batch = api.batch_of(agent["id"], api.dataset(task, agent_id=agent["id"])["id"])
        api.ended(batch)
    run = api.only_run(batch)
    assert (run["status"], run["verdict"]) == ("completed", "PASS"), run
    rows = [(row["kind"], row["tool_name"], row["source"], row["actor_id"]) for row in api.trace(run["id"])]
    assert rows == [
        ("thinking", None, None, None),
        ("handoff", None, None, None),
        ("tool_call", "get_order", "odyssey", None),
        ("tool_call", "refund_order", "injected", "refunds"),
        ("tool_call", "refund_order", "odyssey", "refunds"),
    ]


def test_many_runs_at_once_keep_to_their_own_worlds(api: Api) -> None:
    app = FastAPI()
    register_dispatch_route(app, async_refunds)
    with asgi_server(app) as url:
        agent = registered(f"{url}/dispatch")
        dataset = api.dataset(*[REFUND_TASK] * 24, agent_id=agent["id"])
        batch = api.batch_of(agent["id"], dataset["id"])
        api.ended(batch)
    assert [run["verdict"] for run in api.runs(batch)] == ["PASS"] * 24


def test_a_wrong_token_shows_at_the_test_of_the_connection(api: Api) -> None:
    app = FastAPI()
    register_dispatch_route(app, refunds)
    with asgi_server(app) as url:
        agent = registered(f"{url}/dispatch")
        api.client.put(f"/api/agents/{agent['id']}", json={"auth_header_value": "Bearer another"})
        assert api.post(f"/api/agents/{agent['id']}/test-connection")["ok"] is False


# -- registering


def test_every_problem_of_an_agent_is_told() -> None:
    with pytest.raises(ApiFailed) as raised:
        create_http_agent(
            name="", endpoint_url="nonsense", tools_schema=[{"name": "1"}], run_timeout_s=0, colour="red"
        )
    failed = raised.value
    assert (failed.status, failed.code) == (422, "invalid_request")
    for place in ("/name", "/endpoint_url", "/tools_schema/0", "/run_timeout_s", "/colour"):
        assert f"\n  {place}" in str(failed)


def test_an_agent_of_the_same_name_gets_a_new_version() -> None:
    fields = {"endpoint_url": "http://127.0.0.1:9/dispatch", "tools_schema": TOOLS}
    first = create_or_update_http_agent(name="The only one", **fields)
    second = create_or_update_http_agent(name="The only one", **fields | {"description": "Better."})
    assert second["id"] == first["id"]
    assert second["version"] == first["version"] + 1
    assert find_agent("The only one") == second
    assert find_agent("Nobody") is None


def test_an_agent_is_found_behind_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.odyssey.agents.PAGE", 1)
    first = registered("http://127.0.0.1:9/dispatch", description="the first")
    for name in ("another", "a third"):
        create_http_agent(name=name, endpoint_url="http://127.0.0.1:9/dispatch", tools_schema=TOOLS)
    found = find_agent("Support desk")
    assert found is not None
    assert found["id"] == first["id"]


def test_tool_endpoints_that_the_server_does_not_have_are_told() -> None:
    nothing = Reply(404, {"error": {"code": "not_found", "message": "There is nothing here."}})
    told = "This server has no tool endpoints"
    with scripted(nothing) as server, pytest.raises(ApiFailed, match=told) as raised:
        tool_endpoints.create_code(
            name="prices", functions="def f(): ...", allow_hosts=["a.b"], base_url=server.url, api_key="k"
        )
    assert raised.value.status == 404


def test_another_org_than_that_of_the_key_is_refused(tmp_path: Path) -> None:
    spec = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {}}
    kinds: list[Callable[[], Any]] = [
        lambda: tool_endpoints.create_code(
            name="c", functions="def f(): ...", allow_hosts=["a.b"], org_id=42
        ),
        lambda: tool_endpoints.create_openapi(name="o", base_url="http://127.0.0.1:9", spec=spec, org_id=42),
        lambda: tool_endpoints.create_mcp(name="m", url="http://127.0.0.1:9/mcp", org_id=42),
    ]
    for create in kinds:
        with pytest.raises(ApiFailed, match="/org_id: is not the org of this API key") as raised:
            create()
        assert raised.value.status == 422


def test_functions_that_reach_nothing_outside_are_told_of_when_they_are_registered() -> None:
    with scripted(Reply(201, {"id": 1})) as server, pytest.warns(UserWarning, match="no host") as told:
        tool_endpoints.create_code(name="p", functions="def f(): ...", base_url=server.url, api_key="k")
    (warning,) = told
    assert "no host outside the sandbox" in str(warning.message)
    assert 'allow_hosts=["api.example.com"]' in str(warning.message)
    assert warning.filename == __file__


def test_a_service_is_registered_asked_and_called_from_python(tmp_path: Path, api: Api) -> None:
    ping = {"operationId": "ping", "responses": {"200": {"description": "OK"}}}
    spec = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/ping": {"get": ping}}}
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(spec))
    api.post("/api/credentials", {"name": "SERVICE_KEY", "value": "s3cret-value"}, 201)
    with served() as service:
        made = tool_endpoints.create_openapi(
            name="service", base_url=service.url, spec=file, bearer="SERVICE_KEY", org_id=1
        )
        assert (made["type"], made["tools"], made["discovery_error"]) == ("http_openapi", 1, None)
        assert tool_endpoints.call("service", "ping")["response"]["tool"] == "ping"
        assert service.headers[-1]["authorization"] == "Bearer s3cret-value"
        assert tool_endpoints.discover("service", accept=True)["drift"] == []
        with pytest.raises(ApiFailed, match="has no tool `pong`"):
            tool_endpoints.call("service", "pong")
    with pytest.raises(ApiFailed) as raised:
        tool_endpoints.call("service", "ping")
    assert raised.value.code == "transport_error"
    with pytest.raises(ApiFailed, match="no tool endpoint named 'nobody'"):
        tool_endpoints.discover("nobody")


def test_what_is_sent_for_endpoints_with_a_url() -> None:
    made = Reply(201, {"id": 1})
    where = {"api_key": "k"}
    with scripted(made) as server:
        tool_endpoints.create_openapi(
            name="a",
            base_url="https://a.example.com",
            spec="https://a.example.com/openapi.json",
            api_key_header={"X-Key": "A_KEY"},
            server_url=server.url,
            **where,
        )
        tool_endpoints.create_openapi(
            name="b",
            base_url="https://b.example.com",
            spec={"openapi": "3.1.0"},
            server_url=server.url,
            **where,
        )
        tool_endpoints.create_mcp(
            name="c", url="https://c.example.com/mcp", bearer="C_KEY", server_url=server.url, **where
        )
    first, second, third = (each.body for each in server.asked)
    assert first["config"] == {
        "base_url": "https://a.example.com",
        "spec_url": "https://a.example.com/openapi.json",
    }
    assert first["auth"] == {"type": "api_key", "header": "X-Key", "credential": "A_KEY"}
    assert (second["config"]["spec"], second["auth"]) == ({"openapi": "3.1.0"}, None)
    assert third == {
        "name": "c",
        "type": "mcp_server",
        "config": {"url": "https://c.example.com/mcp"},
        "auth": {"type": "bearer", "credential": "C_KEY"},
    }
    with pytest.raises(ValueError, match="not both"):
        tool_endpoints.create_mcp(name="c", url="https://c", bearer="A", api_key_header={"X": "B"})


def test_what_is_sent_for_an_mcp_server_that_is_a_program() -> None:
    with scripted(Reply(201, {"id": "1"})) as server:
        tool_endpoints.create_mcp(
            name="time",
            command="python3",
            args=["-m", "server"],
            env_vars={"TOKEN": "TIME_KEY"},
            server_url=server.url,
            api_key="k",
        )
    config = {"command": "python3", "args": ["-m", "server"], "env_vars": {"TOKEN": "TIME_KEY"}}
    assert server.asked[0].body == {"name": "time", "type": "mcp_server", "config": config, "auth": None}
    with pytest.raises(ValueError, match="give url or command"):
        tool_endpoints.create_mcp(name="time", url="https://c", command="python3")
    with pytest.raises(ValueError, match="give url or command"):
        tool_endpoints.create_mcp(name="time")
    with pytest.raises(ValueError, match="go with command"):
        tool_endpoints.create_mcp(name="time", url="https://c", args=["-m"])


def test_what_is_sent_for_code() -> None:
    made = Reply(201, {"id": 1})
    with scripted(made) as server:
        create_code_agent(
            name="Refunds", code="def run(): ...", tools_schema=[], base_url=server.url, api_key="k"
        )
        tool_endpoints.create_code(
            org_id=1,
            allow_hosts=["api.example.com"],
            name="prices",
            functions="def get_price(sku: str) -> dict: ...",
            env_vars={"KEY": "a-credential"},
            base_url=server.url,
            api_key="k",
        )
    agent, endpoint = server.asked
    assert (agent.path, agent.headers["x-api-key"]) == ("/api/agents", "k")
    assert agent.body == {
        "name": "Refunds",
        "mode": "code",
        "code": {"source": "paste", "text": "def run(): ..."},
        "tools_schema": [],
    }
    assert endpoint.path == "/api/tool-endpoints"
    assert endpoint.body["org_id"] == 1  # the server holds it against the key
    assert endpoint.body["source"] == "def get_price(sku: str) -> dict: ..."
    assert endpoint.body["env_vars"] == {"KEY": "a-credential"}


def test_a_server_that_does_not_answer_is_told_and_asked_once() -> None:
    with scripted(Reply(201, {"id": 1})) as server:
        pass
    with pytest.raises(ApiFailed, match="Is `pipelines up` running"):
        create_http_agent(name="x", endpoint_url="http://x", tools_schema=[], base_url=server.url)


def test_without_a_key_it_is_told_where_one_could_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, api: Api
) -> None:
    monkeypatch.delenv("PIPELINES_API_KEY")
    monkeypatch.chdir(tmp_path)
    assert find_agent("nobody by this name") is None, "the server is of this user and machine"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of-another-user"))
    with pytest.raises(ApiFailed, match="pass api_key, set PIPELINES_API_KEY, or run where"):
        find_agent("x")
    (tmp_path / ".pipelines").mkdir()
    (tmp_path / ".pipelines" / "api-key").write_text(api.key + "\n")
    assert find_agent("nobody by this name") is None
