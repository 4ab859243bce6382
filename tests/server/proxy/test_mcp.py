"""The run's tools over MCP, message by message: both eras, every kind of answer, and the rows they leave."""

import base64
import json
from typing import Any

import httpx2
import pytest

from pipelines.core.tools.mcp_messages import MAX_BATCH, client_of, session_of
from support.desk import MEBIBYTE, STATE, TOOLS, DrivenRun, House, Org, outage, tool

pytestmark = pytest.mark.anyio
OLD, NEW = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
INFO = {"name": "claude-code", "version": "2.1"}
ORDER = {"order_id": "4521"}


class Client:
    """Sends what an MCP client would, without one."""

    def __init__(self, house: House, run: DrivenRun) -> None:
        self.house, self.run = house, run
        self.headers = {
            "Authorization": f"Bearer {run.token}",
            "Accept": "application/json, text/event-stream",
        }

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        url = f"/api/odyssey-proxy/runs/{self.run.jti}/mcp"
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.house.stranger.post(url, content=content, headers=self.headers | headers)

    async def ask(self, method: str, params: Any = None, **headers: str) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 7, "method": method} | (
            {"params": params} if params is not None else {}
        )
        reply = await self.post(body, **headers)
        answer = reply.json()
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == 7
        return answer

    async def call(self, name: str, arguments: Any = None, **headers: str) -> dict[str, Any]:
        return await self.ask("tools/call", {"name": name, "arguments": arguments}, **headers)


@pytest.fixture
def client(house: House, run: DrivenRun) -> Client:
    return Client(house, run)


def stateless(**params: Any) -> dict[str, Any]:
    return {"_meta": {f"{META}protocolVersion": NEW, f"{META}clientInfo": INFO}} | params


# Finding one another


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", OLD])
async def test_every_version_that_shakes_hands_is_spoken(client: Client, version: str) -> None:
    answer = await client.ask(
        "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": INFO}
    )
    assert answer["result"]["protocolVersion"] == version
    assert answer["result"]["capabilities"] == {"tools": {"listChanged": False}}
    assert answer["result"]["serverInfo"]["name"] == "pipelines-odyssey"


async def test_an_unknown_version_is_offered_the_newest_that_shakes_hands(client: Client) -> None:
    answer = await client.ask("initialize", {"protocolVersion": "2031-01-01", "clientInfo": INFO})
    assert answer["result"]["protocolVersion"] == OLD


async def test_the_later_era_is_discovered_without_shaking_hands(client: Client) -> None:
    answer = await client.ask("server/discover", stateless(), **{"MCP-Protocol-Version": NEW})
    assert NEW in answer["result"]["supportedVersions"]
    assert answer["result"]["resultType"] == "complete"
    assert answer["result"]["cacheScope"] == "private"


@pytest.mark.parametrize(
    ("params", "headers", "code"),
    [
        ({"_meta": {f"{META}protocolVersion": "2027-01-01"}}, {}, -32022),
        (stateless(), {"MCP-Protocol-Version": "2027-01-01"}, -32020),
        (stateless(), {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call"}, -32020),
        ({"_meta": {}}, {"MCP-Protocol-Version": NEW}, -32602),
        ({}, {"MCP-Protocol-Version": NEW}, -32602),
    ],
    ids=["another version", "another header", "another method", "no version", "nothing said"],
)
async def test_a_request_that_disagrees_with_itself_is_told(
    client: Client, params: Any, headers: dict[str, str], code: int
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
    reply = await client.post(body, **headers)
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == code


async def test_the_name_in_the_header_is_that_of_the_tool(client: Client) -> None:
    params = stateless(name="get_order", arguments=ORDER)
    wrong = await client.ask(
        "tools/call", params, **{"MCP-Protocol-Version": NEW, "Mcp-Name": "refund_order"}
    )
    assert wrong["error"]["code"] == -32020
    encoded = f"=?base64?{base64.b64encode(b'get_order').decode()}?="
    right = await client.ask("tools/call", params, **{"MCP-Protocol-Version": NEW, "Mcp-Name": encoded})
    assert not right["result"]["isError"]


# Tools


async def test_tools_are_listed_in_the_order_in_which_they_were_declared(client: Client) -> None:
    declared = [each["name"] for each in TOOLS]
    for params in ({}, stateless()):
        tools = (await client.ask("tools/list", params))["result"]["tools"]
        assert [each["name"] for each in tools] == declared
        assert all(each["inputSchema"]["type"] == "object" for each in tools)


@pytest.mark.parametrize("params", [{}, stateless()], ids=["earlier", "later"])
async def test_an_answer_is_text_and_an_object_is_structured_too(client: Client, params: Any) -> None:
    answer = await client.ask("tools/call", params | {"name": "get_order", "arguments": ORDER})
    result = answer["result"]
    assert result["isError"] is False
    assert result["structuredContent"] == STATE["order"]["4521"]
    assert [part["type"] for part in result["content"]] == ["text"]
    assert json.loads(result["content"][0]["text"]) == STATE["order"]["4521"]
    assert ("resultType" in result) == bool(params)


async def test_what_a_call_changes_is_there_for_every_other_way_in(client: Client) -> None:
    await client.call("refund_order", ORDER)
    over_http = await client.run.call("get_order", ORDER)
    assert over_http.json()["response"]["status"] == "refunded"


async def test_an_error_of_the_backend_is_told_to_the_model(client: Client) -> None:
    answer = await client.call("get_order", {"order_id": "none"})
    assert answer["result"]["isError"] is True
    assert "structuredContent" not in answer["result"]
    told = json.loads(answer["result"]["content"][0]["text"])
    assert told["error"]["code"]
    assert told["error"]["message"]


async def test_an_injected_failure_is_told_with_code_and_message(house: House, org: Org) -> None:
    run = await org.run(failure_rules=[outage("get_order", 1)])
    answer = await Client(house, run).call("get_order", ORDER)
    assert answer["result"]["isError"] is True
    rows = await run.trace()
    assert rows[-1]["source"] == "injected"
    assert json.loads(answer["result"]["content"][0]["text"]) == rows[-1]["response"]


async def test_arguments_that_do_not_fit_are_told_to_the_model_with_their_places(client: Client) -> None:
    answer = await client.call("get_order", {"order_id": 4521})
    assert answer["result"]["isError"] is True
    told = json.loads(answer["result"]["content"][0]["text"])["error"]
    assert told["code"] == "invalid_arguments"
    assert told["details"][0]["path"] == "/order_id"


async def test_a_tool_that_is_not_declared_is_an_error_of_the_protocol(client: Client) -> None:
    answer = await client.call("get_ordr", ORDER)
    assert answer["error"]["code"] == -32602
    assert "get_order" in answer["error"]["message"]
    assert (await client.run.trace())[-1]["error_code"] == "tool_not_declared"


async def test_a_run_that_is_over_refuses_calls_and_lists(client: Client) -> None:
    await client.run.finish()
    for answer in (await client.call("get_order", ORDER), await client.ask("tools/list")):
        assert answer["error"]["code"] == -32050
        assert answer["error"]["data"]["code"] == "run_not_active"


async def test_only_objects_are_structured_and_only_their_schemas_are_shown(house: House, org: Org) -> None:
    listing = tool(
        "order_ids",
        "Ids.",
        {},
        [],
        output_schema={"type": "array"},
        simulation=[{"return": ["'4521'", "'4522'"]}],
    )
    text = tool(
        "motto", "A motto.", {}, [], output_schema={"type": "string"}, simulation=[{"return": "'Ship it.'"}]
    )
    run = await org.run(await org.agent(tools_schema=[listing, text]))
    client = Client(house, run)
    shown = (await client.ask("tools/list"))["result"]["tools"]
    assert all("outputSchema" not in each for each in shown)
    ids = (await client.call("order_ids"))["result"]
    assert ids == {"content": [{"type": "text", "text": '["4521","4522"]'}], "isError": False}
    motto = (await client.call("motto"))["result"]
    assert motto == {"content": [{"type": "text", "text": "Ship it."}], "isError": False}


# The trace says who called


async def test_the_trace_has_the_name_of_the_client(client: Client) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientInfo": INFO}}
    session = (await client.post(body)).headers["mcp-session-id"]
    await client.call("get_order", ORDER, **{"Mcp-Session-Id": session})
    await client.ask("tools/call", stateless(name="get_order", arguments=ORDER))
    await client.call("get_order", ORDER)
    await client.run.call("get_order", ORDER)
    clients = [row["client"] for row in await client.run.trace()]
    assert clients == ["claude-code 2.1", "claude-code 2.1", None, None]


@pytest.mark.parametrize("name", ["claude-code 2.1", "Werkzeug für Köln", "x" * 100, None])
def test_a_sessions_name_is_the_clients(name: str | None) -> None:
    session = session_of(name)
    assert session.isascii()
    assert client_of(session) == name


@pytest.mark.parametrize(
    "session", ["", "no session of ours!", "////", "x" * 5000, base64.b64encode(b"\xff\xfe").decode()]
)
def test_a_foreign_session_names_nobody(session: str) -> None:
    assert client_of(session) is None


# What else may come


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 3, "result": {}},
    ],
)
async def test_what_needs_no_answer_gets_none(client: Client, message: Any) -> None:
    reply = await client.post(message)
    assert (reply.status_code, reply.content) == (202, b"")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b'{"a": 1, "a": 2}', -32700),
        (b"[]", -32600),
        (b'"hello"', -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32600),
        (json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * (MAX_BATCH + 1)).encode(), -32600),
        (b" " * (MEBIBYTE + 1), -32600),
    ],
)
async def test_what_is_no_message_is_refused_with_400(client: Client, body: bytes, code: int) -> None:
    reply = await client.post(body)
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == code


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "logging/setLevel", "tools/sing"])
async def test_there_is_nothing_but_tools(client: Client, method: str) -> None:
    assert (await client.ask(method))["error"]["code"] == -32601


@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": "get_order", "arguments": [1]}])
async def test_a_call_without_name_or_with_other_arguments_is_refused(client: Client, params: Any) -> None:
    assert (await client.ask("tools/call", params))["error"]["code"] == -32602


async def test_several_messages_have_answers_of_a_bounded_size(house: House, org: Org) -> None:
    """Fifty lists of large tools in one body were hundreds of megabytes, as text and again as values."""
    properties = {"x": {"type": "string", "description": "d" * 100_000}}
    tools = [tool(f"t{at}", "t", properties, []) for at in range(20)]
    agent, dataset = await org.agent(tools_schema=tools), await org.dataset({"user": "List."})
    client = Client(house, await org.open_run(agent["id"], dataset["task_ids"][0]))
    asked = [{"jsonrpc": "2.0", "id": at, "method": "tools/list"} for at in range(10)]
    answers = (await client.post(asked)).json()
    assert [answer["id"] for answer in answers] == list(range(10))
    listed = [len(answer["result"]["tools"]) for answer in answers if "result" in answer]
    assert listed == [20] * 5, "2 MB each, until there are 8 MiB"
    assert {answer["error"]["code"] for answer in answers[5:]} == {-32050}
    assert "not executed" in answers[5]["error"]["message"]


async def test_several_messages_at_once_are_answered_in_their_order(client: Client) -> None:
    messages = [
        {
            "jsonrpc": "2.0",
            "id": "a",
            "method": "tools/call",
            "params": {"name": "refund_order", "arguments": ORDER},
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": "b",
            "method": "tools/call",
            "params": {"name": "get_order", "arguments": ORDER},
        },
        {"jsonrpc": "2.0", "id": "c", "method": "nothing"},
    ]
    answers = (await client.post(messages)).json()
    assert [each["id"] for each in answers] == ["a", "b", "c"]
    assert answers[1]["result"]["structuredContent"]["status"] == "refunded"
    assert answers[2]["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_there_is_no_stream_and_no_session_to_end(client: Client, method: str) -> None:
    url = f"/api/odyssey-proxy/runs/{client.run.jti}/mcp"
    reply = await client.house.stranger.request(method, url, headers=client.headers)
    assert reply.status_code == 405


async def test_without_its_token_a_run_answers_nobody(client: Client, org: Org) -> None:
    other = await org.run()
    for token in ("", "Bearer nobody", f"Bearer {other.token}"):
        client.headers["Authorization"] = token
        reply = await client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert reply.status_code == 401


async def test_a_repeated_key_is_one_call(client: Client) -> None:
    first = await client.call("refund_order", ORDER, **{"Idempotency-Key": "k"})
    again = await client.call("refund_order", ORDER, **{"Idempotency-Key": "k"})
    assert first == again
    assert len(await client.run.trace()) == 1
