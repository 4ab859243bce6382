"""MCP servers that die, flood, drip and lie: each call ends with a reason, and the next one works."""

import asyncio
import json
from typing import Any

import pytest
from mcp.client import streamable_http
from mcp_servers import OBJECT, RawMcp, Step, answer, begin_events, event, text_result
from raw_agents import raw_agent

from pipelines.core.tools.live_tools import DiscoveredTool, LiveCallFailed
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.mcp import exchange, http, server
from pipelines.outbound.mcp.server import McpServerEndpoint, mcp_server_endpoint
from support.loop_lag import MOST_LAG_S, least_lag

pytestmark = pytest.mark.anyio

ECHO = DiscoveredTool(name="echo", description="", input_schema={"type": "object"}, call={"name": "echo"})
MAYBE = "; the call may have been carried out"


@pytest.fixture
def anyio_backend():
    return "asyncio"


def made(url: str, *, allow_private: bool = True, **more: Any) -> McpServerEndpoint:
    policy = AddressPolicy(allow_private=allow_private)
    return mcp_server_endpoint(config={"url": url}, auth_headers={}, policy=policy, **more)


async def why(raw: RawMcp, **more: Any) -> str:
    """Why a call got no answer. The next call, of a server that behaves again, does."""
    async with raw_agent(raw.serve) as server:
        called = made(server.url(), **({"longest_s": 10} | more))
        try:
            with pytest.raises(LiveCallFailed) as failed:
                await called.call(ECHO, {"text": "x"})
            raw.steps.clear()
            assert (await called.call(ECHO, {"text": "next"})).response == "next"
        finally:
            await called.close()
    return str(failed.value).removeprefix("the MCP server ")


def sends(head: str, body: bytes) -> Step:
    async def step(caller: Any, request: Any, message: Any) -> None:
        await caller.send(f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n".encode() + body)

    return step


def says(body: Any) -> Step:
    async def step(caller: Any, request: Any, message: Any) -> None:
        text = json.dumps(body).replace('"ID"', str(message["id"])).encode()
        await caller.answer(200, text, "Content-Type: application/json")

    return step


def streams(*parts: bytes) -> Step:
    async def step(caller: Any, request: Any, message: Any) -> None:
        await begin_events(caller)
        for part in parts:
            await caller.send(part.replace(b'"ID"', str(message["id"]).encode()))

    return step


async def resets(caller: Any, request: Any, message: Any) -> None:
    caller.reset()


async def drips(caller: Any, request: Any, message: Any) -> None:
    await begin_events(caller)
    while True:
        await caller.send(b": still here\n")
        await asyncio.sleep(0.02)


async def hangs(caller: Any, request: Any, message: Any) -> None:
    await caller.until_it_hangs_up()


TEXT = {"type": "text", "text": "x"}
JSON = "200 OK\r\nContent-Type: application/json"
RESULT = {"jsonrpc": "2.0", "id": "ID", "result": text_result("x")}
PROGRESS = event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
METADATA = "302 Found\r\nLocation: http://169.254.169.254/latest"

FAULTS: dict[str, tuple[Step, str]] = {
    "hangs up": (sends("", b""), "closed the connection before there was an answer" + MAYBE),
    "resets": (resets, "closed the connection before there was an answer" + MAYBE),
    "dies in its body": (
        sends(f"{JSON}\r\nContent-Length: 900", b'{"jsonrpc"'),
        "broke the connection while it answered" + MAYBE,
    ),
    "dies in its events": (
        streams(b"event: message\ndata: {"),
        "ended its answer before it was whole" + MAYBE,
    ),
    "not HTTP": (sends("", b"\0" * 9), "closed the connection before there was an answer" + MAYBE),
    "not JSON": (
        sends(JSON, b"{'a': 1}"),
        "answered with a body that is not valid JSON: unexpected character",
    ),
    "a key twice": (sends(JSON, b'{"a": 1, "a": 2}'), "answered with a body that the key 'a' occurs twice"),
    "not UTF-8": (sends(JSON, b'{"a": "\xff"}'), "answered with a body that is not UTF-8 text"),
    "not UTF-8 in its events": (streams(b"data: \xff\n\n"), "answered with bytes that are not UTF-8 text"),
    "not JSON in its events": (
        streams(b"data: {'a'}\n\n"),
        "answered with a message that is not JSON-RPC" + MAYBE,
    ),
    "no JSON-RPC": (says({"hello": 1}), "answered with JSON that is not a JSON-RPC answer"),
    "a list": (says([RESULT]), "answered with JSON that is not a JSON-RPC answer"),
    "another id": (says(RESULT | {"id": 99999}), "answered with another id than the request's"),
    "no content": (
        says(RESULT | {"result": {"content": "x"}}),
        "answered with a result that is not valid MCP",
    ),
    "a result of nothing": (
        says(RESULT | {"result": None}),
        "answered with a message that is not JSON-RPC" + MAYBE,
    ),
    "HTML": (
        sends("200 OK\r\nContent-Type: text/html", b"<html>"),
        "answered with text/html instead of JSON or a stream of events",
    ),
    "no type": (sends("200 OK", b"{}"), "answered with no content type instead of"),
    "compressed": (
        sends(f"{JSON}\r\nContent-Encoding: gzip", b"\x1f\x8b"),
        "answered with compressed content, though none was asked for",
    ),
    "redirected to metadata": (sends(METADATA, b""), "answered with a redirect (status 302), which is not"),
    "202": (sends("202 Accepted", b""), "answered with status 202 instead of an answer"),
    "401": (sends("401 No", b""), "answered with status 401: it refuses the endpoint's credential"),
    "500": (sends("500 Oh", b"<html>"), "answered with status 500"),
    "huge": (
        sends(JSON, b'{"jsonrpc": "2.0", "a": "' + b"x" * 3_000_000),
        "answered with more than 2,162,688 bytes",
    ),
    "over a mebibyte": (
        says(RESULT | {"result": text_result("x" * 1_100_000)}),
        "answered with 1,100,002 bytes; at most 1,048,576",
    ),
    "deep": (
        says(
            RESULT
            | {"result": {"content": [], "structuredContent": json.loads('{"a":' * 70 + "1" + "}" * 70)}}
        ),
        "answered with",
    ),
    "a number past all": (
        streams(event(RESULT | {"result": {"content": [], "structuredContent": {"n": float("nan")}}})),
        "answered with a number that is not JSON",
    ),
    "floods": (streams(PROGRESS * 6_000), "sent over 5,000 messages in place of an answer"),
    "floods with bytes": (
        streams(b": " + b"x" * 3_000_000),
        "answered with more than 2,162,688 bytes",
    ),
}


CLOSED_CODE = {"error": {"code": -32000, "message": "no such order"}}  # any server's own, and the package's
WITH_CODE = {key: value for key, value in RESULT.items() if key != "result"} | CLOSED_CODE
OWN_ERRORS: dict[str, Step] = {
    "as JSON": says(WITH_CODE),
    "in its events": streams(event(WITH_CODE)),
}


@pytest.mark.parametrize("name", OWN_ERRORS)
async def test_an_error_that_a_server_gives_the_code_of_a_lost_connection_is_its_answer(name: str) -> None:
    raw = RawMcp(steps={"tools/call": OWN_ERRORS[name]})
    assert await why(raw) == "refused the call: no such order (code -32000)"
    assert raw.calls == 2


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_a_reason_and_the_next_call_works(name: str) -> None:
    step, reason = FAULTS[name]
    raw = RawMcp(steps={"tools/call": step})
    assert (await why(raw))[: len(reason)] == reason
    assert raw.calls == 2, "nothing that may have been carried out is sent again"


async def test_silence_and_dripping_end_with_the_time_of_the_call() -> None:
    reason = await why(RawMcp(steps={"tools/call": hangs}), idle_s=0.2)
    assert reason == "did not answer for 0.2 s, nor told of progress" + MAYBE
    reason = await why(RawMcp(steps={"tools/call": drips}), idle_s=5, longest_s=0.5)
    assert reason == "did not answer within 0.5 s" + MAYBE


async def test_a_fault_of_one_call_leaves_those_beside_it_alone() -> None:
    raw = RawMcp()
    go_on = asyncio.Event()

    async def depends(caller: Any, request: Any, message: Any) -> None:
        if message["params"]["arguments"]["text"] == "dies":
            caller.reset()
            return
        await go_on.wait()
        await answer(caller, message, text_result("alive"))

    raw.steps["tools/call"] = depends
    async with raw_agent(raw.serve) as server:
        called = made(server.url())
        beside = asyncio.create_task(called.call(ECHO, {"text": "waits"}))
        await raw.came.wait()
        for _ in range(3):
            with pytest.raises(LiveCallFailed):
                await called.call(ECHO, {"text": "dies"})
        go_on.set()
        assert (await beside).response == "alive"
        assert raw.sessions == 1
        await called.close()


async def test_a_server_that_hangs_on_notifications_does_not_hold_up_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "NOTIFYING_S", 3_600.0)  # so long a call would be held up
    told, let_go = asyncio.Event(), asyncio.Event()

    async def hangs_on_word(caller: Any, request: Any, message: Any) -> None:
        told.set()
        await caller.until_it_hangs_up()
        let_go.set()

    raw = RawMcp(steps={"tools/call": hangs, "notifications/cancelled": hangs_on_word})
    async with raw_agent(raw.serve) as server:
        called = made(server.url())
        cut_off = asyncio.create_task(called.call(ECHO, {}))
        await raw.came.wait()
        cut_off.cancel()
        await told.wait()
        del raw.steps["tools/call"]
        assert (await called.call(ECHO, {"text": "next"})).response == "next"
        assert not let_go.is_set(), "the server has not taken the notification yet"
        await called.close()


UNKNOWN_SESSION = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "No valid session ID"}}


@pytest.mark.parametrize(("status", "body"), [(404, b""), (400, json.dumps(UNKNOWN_SESSION).encode())])
async def test_a_call_on_a_session_that_is_not_known_any_more_is_made_again(status: int, body: bytes) -> None:
    raw = RawMcp()

    async def forgets(caller: Any, request: Any, message: Any) -> None:
        raw.steps.clear()
        await caller.answer(status, body, "Content-Type: application/json")

    raw.steps["tools/call"] = forgets
    async with raw_agent(raw.serve) as server:
        called = made(server.url())
        assert (await called.call(ECHO, {"text": "again"})).response == "again"
        assert (raw.calls, raw.sessions) == (2, 2)
        await called.close()


# Opening


OPENINGS: dict[str, tuple[Step, str]] = {
    "an HTML page": (
        sends("404 Not Found\r\nContent-Type: text/html", b"<html>"),
        "answered with status 404: there",
    ),
    "a version of nobody": (
        says(
            {
                "jsonrpc": "2.0",
                "id": "ID",
                "result": {
                    "protocolVersion": "1999-01-01",
                    "capabilities": {},
                    "serverInfo": {"name": "x", "version": "1"},
                },
            }
        ),
        "could not be begun with: Unsupported protocol version from the server: 1999-01-01",
    ),
    "no version": (
        says({"jsonrpc": "2.0", "id": "ID", "result": {}}),
        "answered with a result that is not valid MCP",
    ),
    "refuses": (
        says({"jsonrpc": "2.0", "id": "ID", "error": {"code": -32000, "message": "closed on\nSundays"}}),
        "refused to begin: closed on Sundays (code -32000)",
    ),
    "redirects": (sends(METADATA, b""), "answered with a redirect (status 302), which is not followed"),
    "resets": (resets, "closed the connection before there was an answer"),
}


@pytest.mark.parametrize("name", OPENINGS)
async def test_a_session_that_cannot_begin_has_a_reason(name: str) -> None:
    step, reason = OPENINGS[name]
    assert (await why(RawMcp(steps={"initialize": step})))[: len(reason)] == reason


async def test_addresses_are_judged_and_names_are_looked_up_once() -> None:
    looked_up: list[str] = []

    async def rebinds(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) == 1 else ["169.254.169.254"]

    raw = RawMcp()
    async with raw_agent(raw.serve) as server:
        refused = made(server.url(), allow_private=False)
        with pytest.raises(LiveCallFailed, match=r"cannot be called: 127\.0\.0\.1 is a loopback address"):
            await refused.call(ECHO, {})
        rebound = made(server.url("tools.test"), resolver=rebinds)
        with pytest.raises(
            LiveCallFailed, match=r"cannot be called: tools\.test is a link-local or metadata address"
        ):
            await rebound.call(ECHO, {})
        for each in (refused, rebound):
            await each.close()
    assert raw.calls == 0


NEVER: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "no scheme": ({"url": "ftp://x/mcp"}, {}, "must start with http"),
    "no URL": ({"url": "http://[::1"}, {}, "must start with http"),
    "a header of two lines": (
        {"url": "http://127.0.0.1:9/"},
        {"X-API-Key": "a\r\nHost: b"},
        "cannot be sent as a header",
    ),
    "nothing": ({}, {}, "neither a url nor a command"),
    "a command": ({"command": "uvx", "args": []}, {}, "this server starts no MCP servers"),
}


@pytest.mark.parametrize("name", NEVER)
async def test_what_cannot_be_tried_is_said_before_anything_is_sent(name: str) -> None:
    config, headers, reason = NEVER[name]
    called = mcp_server_endpoint(
        config=config, auth_headers=headers, policy=AddressPolicy(allow_private=True)
    )
    with pytest.raises(LiveCallFailed, match=reason):
        await called.discover()
    await called.close()


# Discovery


async def found(raw: RawMcp, **more: Any) -> Any:
    async with raw_agent(raw.serve) as server:
        called = made(server.url(), **more)
        try:
            return await called.discover()
        finally:
            await called.close()


def pages(of: Any) -> Step:
    async def step(caller: Any, request: Any, message: Any) -> None:
        cursor = message.get("params", {}).get("cursor", "0")
        await answer(caller, message, of(int(cursor)))

    return step


def one(number: int) -> dict[str, Any]:
    return {"name": f"tool_{number}", "inputSchema": OBJECT}


async def test_endless_pages_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_PAGES", 20)
    of = lambda number: {"tools": [one(number)], "nextCursor": str(number + 1)}  # noqa: E731
    discovery = await found(RawMcp(steps={"tools/list": pages(of)}))
    assert len(discovery.tools) == 20
    assert discovery.notes == ("the server's pages of tools do not end: 20 are read",)
    circle = lambda number: {"tools": [one(number)], "nextCursor": str((number + 1) % 3)}  # noqa: E731
    discovery = await found(RawMcp(steps={"tools/list": pages(circle)}))
    assert [tool.name for tool in discovery.tools] == ["tool_0", "tool_1", "tool_2"]
    assert "repeat" in discovery.notes[0]


async def test_too_many_tools_are_cut_with_a_note() -> None:
    of = lambda number: {"tools": [one(number * 500 + n) for n in range(500)], "nextCursor": str(number + 1)}  # noqa: E731
    discovery = await found(RawMcp(steps={"tools/list": pages(of)}))
    assert len(discovery.tools) == 2_000
    assert discovery.notes == ("the server lists more tools: 2,000 are read",)


async def test_tools_that_cannot_be_had_are_told_of_and_the_others_stay() -> None:
    raw = RawMcp()
    raw.tools += [
        {"name": "echo", "inputSchema": OBJECT, "description": "another"},
        {"name": "slow", "inputSchema": OBJECT, "execution": {"taskSupport": "required"}},
        {"name": "large", "inputSchema": OBJECT, "description": "x" * 300_000},
        {"name": "käse", "inputSchema": OBJECT},
    ]
    discovery = await found(raw)
    assert [tool.name for tool in discovery.tools] == ["echo", "k_se"]
    assert [note.split(":")[0] for note in discovery.notes] == [
        'tool 2 ("echo") is left out',
        'tool 3 ("slow") is left out',
        'tool 4 ("large") is left out',
        '"käse" is called k_se here',
    ]


async def test_a_list_that_is_no_list_has_a_reason() -> None:
    with pytest.raises(LiveCallFailed, match="a result that is not valid MCP, at tools"):
        await found(RawMcp(steps={"tools/list": pages(lambda number: {"tools": {"a": 1}})}))


async def test_a_server_that_never_lists_is_given_up() -> None:
    with pytest.raises(LiveCallFailed, match=r"did not list its tools within 0\.3 s"):
        await found(RawMcp(steps={"tools/list": hangs}), longest_s=0.3)


# What a server sends of its own


async def test_a_flood_of_notifications_is_bounded_and_calls_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stream ends at its bound; so many are opened in a minute, whatever the server wishes."""
    monkeypatch.setattr(exchange, "MOST_MESSAGES", 200)
    monkeypatch.setattr(streamable_http, "DEFAULT_RECONNECTION_DELAY_MS", 0)
    raw = RawMcp()
    gets = 0
    log = event(
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    )
    bounded = asyncio.Event()

    async def floods(caller: Any, request: Any, message: Any) -> None:
        nonlocal gets
        gets += 1
        await begin_events(caller)
        await caller.send(log * 300)
        if gets == http.MOST_STREAMS:
            bounded.set()

    raw.steps["GET"] = floods
    async with raw_agent(raw.serve) as server:
        called = made(server.url())
        assert (await called.call(ECHO, {"text": "one"})).response == "one"
        await asyncio.wait_for(bounded.wait(), 30)
        assert (await called.call(ECHO, {"text": "two"})).response == "two"
        await called.close()
    assert gets == http.MOST_STREAMS


async def test_streams_that_are_to_be_resumed_for_ever_are_not() -> None:
    raw = RawMcp()
    gets = 0

    async def breaks_off(caller: Any, request: Any, message: Any) -> None:
        nonlocal gets
        gets += "last-event-id" in request.headers
        await begin_events(caller)
        await caller.send(b"id: 7\nretry: 0\ndata:\n\n")

    raw.steps |= {"tools/call": breaks_off, "GET": breaks_off}
    async with raw_agent(raw.serve) as server:
        called = made(server.url(), longest_s=10)
        with pytest.raises(LiveCallFailed, match="ended its answer before it was whole"):
            await called.call(ECHO, {})
        assert gets <= http.MOST_STREAMS + 10
        await called.close()


LARGE = {
    "rows": json.dumps({"rows": [{"id": n, "name": f"row {n}"} for n in range(20_000)]}),
    "small values": json.dumps([0] * 300_000),
    "keys that stand twice": '{"a":[' + ",".join(['{"b":0,"b":0}'] * 50_000) + "]}",
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("stream", [False, True], ids=["json", "events"])
async def test_large_answers_do_not_stop_the_loop(name: str, stream: bool) -> None:
    message = RESULT | {"result": text_result(LARGE[name])}
    raw = RawMcp(steps={"tools/call": streams(event(message)) if stream else says(message)})
    async with raw_agent(raw.serve) as server:
        called = made(server.url())
        reply, lag_s = await least_lag(lambda: called.call(ECHO, {}))
        assert isinstance(reply.response, str) == (name == "keys that stand twice")
        assert lag_s < MOST_LAG_S
        await called.close()


HARD: dict[str, dict[str, Any]] = {
    "empty blocks": {"content": [{}] * 300_000},
    "wrong blocks": {"content": [{"type": "image", "data": 1}] * 35_000},
    "an audience of nobodies": {"content": [TEXT | {"annotations": {"audience": ["x"] * 200_000}}]},
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("stream", [False, True], ids=["json", "events"])
async def test_large_results_that_are_wrong_everywhere_are_told_once_and_do_not_stop_the_loop(
    name: str, stream: bool
) -> None:
    message = RESULT | {"result": HARD[name]}
    raw = RawMcp(steps={"tools/call": streams(event(message)) if stream else says(message)})
    async with raw_agent(raw.serve) as server:
        called = made(server.url())

        async def call() -> str:
            with pytest.raises(LiveCallFailed) as failed:
                await called.call(ECHO, {})
            return str(failed.value)

        told, lag_s = await least_lag(call)
        assert "answered with a result that is not valid MCP, at content.0." in told
        assert lag_s < MOST_LAG_S
        await called.close()
