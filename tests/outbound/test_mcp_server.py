"""An MCP server made with the `mcp` package, called over real sockets."""

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.subscriptions import ToolsListChanged
from mcp_servers import RawMcp, answer, begin_events, event, made_desk, package_server, text_result, tool
from raw_agents import raw_agent

from pipelines.core.tools.live_tools import ERROR_NOTE, DiscoveredTool, LiveCallFailed
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.mcp import server
from pipelines.outbound.mcp.server import CHANGED_NOTE, GONE_NOTE, mcp_server_endpoint

pytestmark = pytest.mark.anyio

HERE = AddressPolicy(allow_private=True)
SECRET = "tool-secret-4711"
ECHO = DiscoveredTool(name="echo", description="", input_schema={"type": "object"}, call={"name": "echo"})


@pytest.fixture
def anyio_backend():
    return "asyncio", {"use_uvloop": True}  # as the server; `test_mcp_hostile.py` has the other loop


def named(name: str) -> DiscoveredTool:
    return DiscoveredTool(name=name, description="", input_schema={"type": "object"}, call={"name": name})


@asynccontextmanager
async def endpoint(url: str, **more: Any):
    headers = {"Authorization": f"Bearer {SECRET}"}
    more = {"credentials": {"DESK_KEY": SECRET}, **more}
    made = mcp_server_endpoint(config={"url": url}, auth_headers=headers, policy=HERE, **more)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def desk():
    async with package_server(made_desk()) as started:
        yield started


async def test_tools_are_found_and_called_with_our_credential(desk):
    async with endpoint(desk.url) as called:
        found = await called.discover()
        assert [tool.name for tool in found.tools] == [tool.name for tool in desk.tools]
        assert found.tools[0].description == "does echo"
        assert found.notes == ()
        assert await called.call(found.tools[0], {"text": "hello", "nothing": None}) == (
            200,
            "hello",
            (),
            False,
        )
    assert desk.calls == [("echo", {"text": "hello", "nothing": None})]
    assert desk.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert desk.headers[0]["user-agent"] == "pipelines-odyssey"


ANSWERS = {
    "text": ("echo", {"text": "pong"}, "pong"),
    "text that is an object": ("echo", {"text": '{"a": [1]}'}, {"a": [1]}),
    "text that is a number": ("echo", {"text": "0042"}, "0042"),
    "structured content": ("structured", {"text": "x"}, {"given": {"text": "x"}}),
}


@pytest.mark.parametrize("json_response", [False, True], ids=["events", "json"])
async def test_answers_come_as_an_agent_would_see_them(json_response):
    async with package_server(made_desk(), json_response=json_response) as desk, endpoint(desk.url) as called:
        for name, arguments, response in ANSWERS.values():
            assert (await called.call(named(name), arguments)).response == response


async def test_an_error_of_the_tool_is_an_answer_and_an_error_of_the_protocol_is_none(desk):
    async with endpoint(desk.url) as called:
        reply = await called.call(named("fails"), {})
        assert reply == (200, {"reason": "no such order"}, (ERROR_NOTE,), False)
        assert reply.is_error
        with pytest.raises(LiveCallFailed, match="refused the call: sold out \\(code -32602\\)"):
            await called.call(named("raises"), {})
        assert (await called.call(ECHO, {"text": "still there"})).response == "still there"


async def test_500_tools_over_pages_are_all_found():
    desk = made_desk(*(f"tool_{number}" for number in range(500)))
    desk.page = 30
    async with package_server(desk), endpoint(desk.url) as called:
        found = await called.discover()
    assert [tool.name for tool in found.tools] == [f"tool_{number}" for number in range(500)]


async def test_one_session_serves_many_calls_at_once(desk):
    async with endpoint(desk.url) as called:
        waiting = asyncio.create_task(called.call(named("waits"), {}))
        await desk.started.wait()
        replies = await asyncio.gather(*(called.call(ECHO, {"text": str(n)}) for n in range(40)))
        assert [reply.response for reply in replies] == [str(n) for n in range(40)]
        desk.go_on.set()
        assert (await waiting).response == "went on"


async def test_connections_are_used_again_also_behind_a_stream(desk):
    async with endpoint(desk.url) as called:
        for _ in range(20):
            await called.call(named("progresses"), {"steps": 1, "each_s": 0})
            await asyncio.sleep(0.01)  # an agent thinks
    assert len(desk.ports) < 10


async def test_a_call_that_is_cancelled_ends_at_the_server(desk):
    async with endpoint(desk.url) as called:
        waiting = asyncio.create_task(called.call(named("waits"), {}))
        await desk.started.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(desk.cancelled.wait(), 10)
        assert (await called.call(ECHO, {"text": "next"})).response == "next"


async def test_silence_ends_a_call_and_leaves_the_session_usable(desk):
    async with endpoint(desk.url, idle_s=0.2) as called:
        with pytest.raises(
            LiveCallFailed, match=r"did not answer for 0\.2 s, nor told of progress; the call may have"
        ):
            await called.call(named("waits"), {})
        await asyncio.wait_for(desk.cancelled.wait(), 10)
        assert (await called.call(ECHO, {"text": "next"})).response == "next"


async def test_progress_holds_a_call_open_but_not_for_ever(desk):
    async with endpoint(desk.url, idle_s=1.5, longest_s=20) as called:
        steps = {"steps": 5, "each_s": 0.4}
        assert (await called.call(named("progresses"), steps)).response == "done"
    async with endpoint(desk.url, idle_s=5, longest_s=0.7) as called:
        with pytest.raises(LiveCallFailed, match=r"did not answer within 0\.7 s"):
            await called.call(named("progresses"), {"steps": 40, "each_s": 0.1})


async def test_a_restarted_server_is_found_again():
    async with package_server(made_desk()) as desk:
        called = mcp_server_endpoint(config={"url": desk.url}, auth_headers={}, policy=HERE)
        assert (await called.call(ECHO, {"text": "one"})).response == "one"
    with pytest.raises(LiveCallFailed, match="the MCP server cannot be reached: Connection refused"):
        await called.call(ECHO, {"text": "nobody"})
    async with package_server(made_desk(), port=desk.port):
        assert (await called.call(ECHO, {"text": "back"})).response == "back"
        await called.close()


async def test_changed_tools_are_noticed_and_noted_with_the_calls_that_they_concern(desk, monkeypatch):
    changed = asyncio.Event()
    monkeypatch.setattr(server, "RELISTED_AFTER_S", 0.01)
    async with endpoint(desk.url, tools_changed=changed.set) as called:
        echo, waits = [each for each in (await called.discover()).tools if each.name in ("echo", "waits")]
        assert (await called.call(echo, {})).notes == ()
        desk.tools = [tool("echo", title="Echo", schema={"type": "object", "required": ["text"]})]
        while not changed.is_set():  # until the server has taken the subscription
            await desk.bus.publish(ToolsListChanged())
            await asyncio.sleep(0.02)
        while not (await called.call(echo, {})).notes:
            pass
        assert (await called.call(echo, {})).notes == (CHANGED_NOTE,)
        desk.go_on.set()
        assert (await called.call(waits, {})).notes == (GONE_NOTE,)
        (echo,) = (await called.discover()).tools
        assert (await called.call(echo, {})).notes == ()


async def test_names_that_are_not_allowed_here_are_mapped_and_called_by_their_own():
    desk = made_desk("get.order", "get_order", "2nd", "echo")
    async with package_server(desk), endpoint(desk.url) as called:
        found = await called.discover()
        assert {tool.name: tool.call["name"] for tool in found.tools} == {
            "get_order_2": "get.order",
            "get_order": "get_order",
            "_2nd": "2nd",
            "echo": "echo",
        }
        assert found.notes == ('"get.order" is called get_order_2 here', '"2nd" is called _2nd here')
        await called.call(found.tools[0], {})
    assert desk.calls == [("get.order", {})]


async def test_a_url_that_ends_in_sse_is_tried_at_mcp_too(desk):
    async with endpoint(desk.url.removesuffix("/mcp") + "/sse") as called:
        assert (await called.call(ECHO, {"text": "here"})).response == "here"
    async with endpoint(desk.url.removesuffix("/mcp") + "/token-77/sse") as called:
        with pytest.raises(LiveCallFailed) as failed:
            await called.call(ECHO, {})
        assert str(failed.value).count("status 404") == 2
        assert str(failed.value).endswith("(at /mcp)")
        assert "token-77" not in str(failed.value)
    async with endpoint(desk.url.removesuffix("/mcp") + "/else") as called:
        with pytest.raises(LiveCallFailed, match="status 404: there seems to be no MCP server at this path"):
            await called.call(ECHO, {})


async def test_arguments_that_the_server_wants_as_headers_are_sent_so(desk):
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    desk.tools = [tool("echo", schema=schema), tool("other", schema={"type": "object", "x-mcp-header": "A"})]
    async with endpoint(desk.url) as called:
        found = await called.discover()
        assert [tool.name for tool in found.tools] == ["echo"]
        assert "x-mcp-header" in found.notes[0]
        await called.call(found.tools[0], {"region": "eu"})
    assert desk.headers[-1]["mcp-param-region"] == "eu"


async def test_a_closed_endpoint_says_so(desk):
    async with endpoint(desk.url) as called:
        await called.call(ECHO, {})
    with pytest.raises(LiveCallFailed, match="changed or removed"):
        await called.call(ECHO, {})


async def test_a_server_that_wants_input_of_a_person_is_told_apart():
    desk = made_desk()

    async def asks(ctx: Any, arguments: dict[str, Any]) -> Any:
        question = types.ElicitRequestFormParams(
            message="sure?", requested_schema={"type": "object", "properties": {}}
        )
        return types.InputRequiredResult(
            input_requests={"q": types.ElicitRequest(params=question)}, request_state="s"
        )

    desk.do_echo = asks  # type: ignore[method-assign]
    async with package_server(desk), endpoint(desk.url) as called:
        with pytest.raises(LiveCallFailed, match="asks for input"):
            await called.call(ECHO, {})


# The earlier protocol, by hand


async def test_an_earlier_protocol_is_agreed_on_once_and_remembered():
    raw = RawMcp()
    async with raw_agent(raw.serve) as server, endpoint(server.url(path="/mcp")) as called:
        assert [tool.name for tool in (await called.discover()).tools] == ["echo"]
        assert (await called.call(ECHO, {"text": "old"})).response == "old"
        sent = [request.headers.get("mcp-protocol-version") for request in server.requests]
        assert sent[-1] == "2025-06-18"
        assert [m["method"] for m in raw.messages][:3] == [
            "server/discover",
            "initialize",
            "notifications/initialized",
        ]
        raw.messages.clear()

        async def forgets(caller, request, message):
            known = request.headers.get("mcp-session-id") == f"session-{raw.sessions}" and raw.sessions > 1
            if known:
                await answer(caller, message, text_result("again"))
            else:
                await caller.answer(404, b"")

        raw.steps["tools/call"] = forgets
        assert (await called.call(ECHO, {})).response == "again"
        methods = [m["method"] for m in raw.messages]
        assert methods == ["tools/call", "initialize", "notifications/initialized", "tools/call"]
    await asyncio.wait_for(raw.closed.wait(), 10)


async def test_an_earlier_server_is_told_of_a_cancelled_call():
    raw = RawMcp()

    async def hangs(caller, request, message):
        await caller.until_it_hangs_up()

    raw.steps["tools/call"] = hangs
    async with raw_agent(raw.serve) as server, endpoint(server.url(path="/mcp")) as called:
        waiting = asyncio.create_task(called.call(ECHO, {}))
        await raw.came.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(raw.cancelled.wait(), 10)
    named = [m["params"]["requestId"] for m in raw.messages if m["method"] == "notifications/cancelled"]
    assert named == [m["id"] for m in raw.messages if m["method"] == "tools/call"]


async def test_an_earlier_server_tells_of_changed_tools_on_a_stream_of_its_own():
    raw = RawMcp()
    changed = asyncio.Event()

    async def tells(caller, request, message):
        await begin_events(caller)
        await caller.send(event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
        await caller.until_it_hangs_up()

    raw.steps["GET"] = tells
    async with raw_agent(raw.serve) as server, endpoint(server.url(), tools_changed=changed.set) as called:
        await called.call(ECHO, {})
        await asyncio.wait_for(changed.wait(), 10)


async def test_a_secret_that_the_server_repeats_is_masked():
    raw = RawMcp()

    async def repeats(caller, request, message):
        given = request.headers["authorization"]
        if message["params"]["arguments"]:
            error = {"code": -32603, "message": f"bad {given}"}
            await caller.answer_json({"jsonrpc": "2.0", "id": message["id"], "error": error})
        else:
            await answer(caller, message, text_result(json.dumps({"you sent": given})))

    async def lists(caller, request, message):
        tool = {"name": "echo", "description": f"of {SECRET}", "inputSchema": {"type": "object"}}
        await answer(caller, message, {"tools": [tool]})

    raw.steps |= {"tools/call": repeats, "tools/list": lists}
    another = {"AWAY": "desk-secret-0815"}
    for credentials in ({"DESK_KEY": SECRET, **another}, {**another, "DESK_KEY": SECRET}):
        async with (
            raw_agent(raw.serve) as server,
            endpoint(server.url(), credentials=credentials) as called,
        ):
            # By the name of the credential, as the stored tools have it: its fingerprint is compared.
            (tool,) = (await called.discover()).tools
            assert tool.description == "of [secret DESK_KEY]"
            reply = await called.call(tool, {})
            assert reply == (200, {"you sent": "Bearer [secret DESK_KEY]"}, (), False)
            with pytest.raises(LiveCallFailed) as failed:
                await called.call(tool, {"a": 1})
            assert "bad Bearer [secret DESK_KEY]" in str(failed.value)


WITHOUT_THE_PACKAGE = """
import asyncio, sys
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.mcp.server import mcp_server_endpoint
assert "mcp" not in sys.modules and "mcp_types" not in sys.modules
sys.modules["mcp"] = sys.modules["mcp_types"] = None
made = mcp_server_endpoint(config={"url": "http://127.0.0.1:9/"}, auth_headers={}, policy=AddressPolicy())
try:
    asyncio.run(made.discover())
except Exception as error:
    print(type(error).__name__, error)
"""


def test_without_the_package_it_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_PACKAGE], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("LiveCallFailed MCP servers are called with the package mcp: pip install")
