"""OpenAPI endpoints over real sockets: whatever a service does, an answer, or a failure that says why."""

import asyncio
import gzip
import json
import socket
import ssl
import zlib
from contextlib import asynccontextmanager

import pytest
from raw_agents import (
    Caller,
    Request,
    answers,
    closes_in_the_middle,
    hangs,
    raw_agent,
    read_request,
    resets_at_once,
    resets_in_the_middle,
    sends,
    sends_for_ever,
    trickles,
)
from test_tls import NAME, contexts  # noqa: F401 - a fixture

from pipelines.core.openapi.document import MAX_DOCUMENT_BYTES
from pipelines.core.openapi.translate import translate
from pipelines.core.text.json_text import dumps
from pipelines.core.tools.live_tools import LiveCallFailed
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.http_openapi import http_openapi_endpoint
from pipelines.processes.pool import HelperProcesses

pytestmark = pytest.mark.anyio

SECRET = "sk-service-4711"
AUTH = {"Authorization": f"Bearer {SECRET}"}
SHORT_S = 0.5
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Orders", "version": "1"},
    "servers": [{"url": "https://elsewhere.example"}],
    "paths": {
        "/orders/{id}": {
            "get": {
                "operationId": "get_order",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "OK"}},
            },
            "head": {"operationId": "has_order", "responses": {"200": {"description": "OK"}}},
        },
        "/orders": {
            "post": {
                "operationId": "add_order",
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {"type": "object", "properties": {"item": {"type": "string"}}}
                        }
                    }
                },
                "responses": {"201": {"description": "Made"}},
            }
        },
    },
}
TOOLS = {tool.name: tool for tool in translate(dumps(DOCUMENT)).tools}


@pytest.fixture(scope="module")
def helpers():
    pool = HelperProcesses()
    yield pool
    pool.end()


@asynccontextmanager
async def endpoint(base_url, helpers=None, *, allow_private=True, **more):
    config = {"base_url": base_url, "spec": DOCUMENT, **more.pop("config", {})}
    made = http_openapi_endpoint(
        config=config,
        auth_headers=more.pop("auth_headers", AUTH),
        policy=AddressPolicy(allow_private=allow_private),
        helpers=helpers or HelperProcesses(),
        **more,
    )
    try:
        yield made
    finally:
        await made.close()


async def get_order(service, **more):
    async with endpoint(service.url(path="/v1"), **more) as live:
        return await live.call(TOOLS["get_order"], {"id": "o 1"})


# -- what comes back


async def test_a_call_is_one_request_with_the_endpoints_auth():
    async with raw_agent(answers(200, b'{"id": "o 1"}', "Content-Type: application/json")) as service:
        reply = await get_order(service)
    assert (reply.status, reply.response, reply.notes) == (200, {"id": "o 1"}, ())
    [request] = service.requests
    assert request.line == "GET /v1/orders/o%201 HTTP/1.1"
    assert request.headers == {
        "host": f"127.0.0.1:{service.port}",
        "accept": "application/json, */*;q=0.5",
        "accept-encoding": "identity",
        "user-agent": "pipelines-odyssey",
        "authorization": f"Bearer {SECRET}",
    }


async def test_no_argument_takes_the_place_of_the_endpoints_auth():
    header = {"name": "x-orders-key", "in": "header", "schema": {"type": "string"}}
    operation = DOCUMENT["paths"]["/orders"]["post"] | {"parameters": [header]}
    [tool] = translate(dumps(DOCUMENT | {"paths": {"/orders": {"post": operation}}})).tools
    auth = {"X-Orders-Key": SECRET}
    async with raw_agent(answers(200, b"")) as service, endpoint(service.url(), auth_headers=auth) as live:
        await live.call(tool, {"x-orders-key": "another", "item": "a"})
    assert service.requests[0].raw_head.lower().count("x-orders-key") == 1
    assert service.requests[0].headers["x-orders-key"] == SECRET


async def test_a_post_without_a_body_says_so():
    async with raw_agent(answers(200, b"")) as service, endpoint(service.url(path="")) as live:
        await live.call(TOOLS["add_order"], {})
    assert service.requests[0].headers["content-length"] == "0"
    assert "content-type" not in service.requests[0].headers


ANSWERS = [
    (b'{"a": 1}', "application/problem+json; charset=utf-8", {"a": 1}),
    (b'"pong"', "application/json", "pong"),
    (b"12", "application/json", 12),
    (b"12", "text/plain", "12"),
    (b"true", "", "true"),
    (b"[1, 2]", "text/plain", [1, 2]),
    (b' {"a": 1}', "", {"a": 1}),
    (b"{not json}", "text/plain", "{not json}"),
    (b"<html>no</html>", "text/html", "<html>no</html>"),
    (b'{"a": 1}', "text/html", '{"a": 1}'),
    (b"a,b\n1,2\n", "text/csv", "a,b\n1,2\n"),
    (b"caf\xe9", "text/plain; charset=iso-8859-1", "café"),
    (b"\xef\xbb\xbf[1]", "application/json", [1]),
    (b"", "application/json", ""),
]


@pytest.mark.parametrize(("body", "content_type", "response"), ANSWERS)
async def test_an_answer_is_json_where_it_is_and_text_else(body, content_type, response):
    headers = [f"Content-Type: {content_type}"] if content_type else []
    async with raw_agent(answers(200, body, *headers)) as service:
        reply = await get_order(service)
    assert (reply.response, reply.notes) == (response, ())


@pytest.mark.parametrize("status", [201, 204, 400, 401, 404, 422, 429, 500, 503])
async def test_an_answer_of_any_status_is_an_answer(status):
    body = b"" if status == 204 else b'{"detail": "as it is"}'
    async with raw_agent(answers(status, body, "Content-Type: application/json")) as service:
        reply = await get_order(service)
    assert (reply.status, reply.response) == (status, "" if status == 204 else {"detail": "as it is"})


async def test_what_says_it_is_json_and_is_not_stays_text_with_a_note():
    async with raw_agent(answers(200, b'{"a": 1, "a": 2}', "Content-Type: application/json")) as service:
        reply = await get_order(service)
    assert reply.response == '{"a": 1, "a": 2}'
    assert "declared as JSON but is not: the key 'a' occurs twice" in reply.notes[0]


async def test_a_compressed_answer_is_read_though_none_was_asked_for():
    body = gzip.compress(b'{"a": 1}')
    headers = ("Content-Type: application/json", "Content-Encoding: gzip")
    async with raw_agent(answers(200, body, *headers)) as service:
        assert (await get_order(service)).response == {"a": 1}


async def test_a_megabyte_is_an_answer():
    body = json.dumps(["x" * 100] * 10_000).encode()
    async with raw_agent(answers(200, body, "Content-Type: application/json")) as service:
        assert len((await get_order(service)).response) == 10_000


async def test_an_answer_without_a_body_to_head():
    script = sends(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    async with raw_agent(script) as service, endpoint(service.url(path="")) as live:
        reply = await live.call(TOOLS["has_order"], {"id": "1"})
    assert (reply.status, reply.response) == (200, "")


# -- no answer, or none that can be used


BOMB = zlib.compress(b"\x00" * 50_000_000)
FAULTS = {
    "reset at once": (resets_at_once, "the connection was closed before there was an answer"),
    "reset in the middle": (resets_in_the_middle, "the connection broke while the answer was read"),
    "closed in the middle": (closes_in_the_middle, "the connection broke while the answer was read"),
    "an error that breaks off": (
        sends(b"HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\nTrace"),
        "the connection broke while the answer was read",
    ),
    "no answer": (hangs, f"there was no answer within {SHORT_S:g} s"),
    "a trickle": (trickles, f"the answer began, but was not whole within {SHORT_S:g} s"),
    "not HTTP": (sends(b"220 smtp.example ESMTP\r\n"), "what came back is not HTTP"),
    "ten megabytes": (answers(200, b"x" * 10_000_000), "cannot be used: it is over 1 MiB"),
    "an error of ten megabytes": (answers(500, b"x" * 10_000_000), "cannot be used: it is over 1 MiB"),
    "no end": (sends_for_ever, "cannot be used: it is over 1 MiB"),
    "a bomb": (answers(200, BOMB, "Content-Encoding: deflate"), "cannot be used: it is over 1 MiB"),
    "compressed in half": (
        answers(200, gzip.compress(b"abc" * 99)[:20], "Content-Encoding: gzip"),
        "compressed (gzip) and incomplete",
    ),
    "not compressed": (
        answers(200, b"abc", "Content-Encoding: gzip"),
        "declared as compressed (gzip) but is not",
    ),
    "another compression": (answers(200, b"abc", "Content-Encoding: br"), "it is compressed (br), though"),
    "not UTF-8": (
        answers(200, b'{"a": "\xff"}', "Content-Type: application/json"),
        "it is not UTF-8 text (byte 7)",
    ),
    "binary": (answers(200, b"\x00\x01", "Content-Type: application/octet-stream"), "it is binary, not text"),
    "a redirect to metadata": (
        answers(302, b"", "Location: http://169.254.169.254/latest/meta-data/"),
        "answered 302, a redirect, which is not followed",
    ),
}


@pytest.mark.parametrize(("script", "words"), FAULTS.values(), ids=FAULTS)
async def test_a_fault_says_what_happened(script, words):
    async with raw_agent(script) as service:
        with pytest.raises(LiveCallFailed) as failed:
            await get_order(service, timeout_s=SHORT_S if script in (hangs, trickles) else 20.0)
        assert service.connections == 1
    assert words in failed.value.message
    assert failed.value.code == "transport_error"
    assert SECRET not in failed.value.message + "".join(failed.value.notes)


async def test_nobody_is_there():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}") as live:
            with pytest.raises(LiveCallFailed) as failed:
                await live.call(TOOLS["get_order"], {"id": "1"})
    assert "Connection refused" in failed.value.message
    assert failed.value.notes == ("nothing was sent",)


async def test_what_was_begun_may_have_been_carried_out():
    async with raw_agent(resets_at_once) as service, endpoint(service.url(path="")) as live:
        with pytest.raises(LiveCallFailed) as failed:
            await live.call(TOOLS["add_order"], {"item": "a"})
    assert failed.value.notes == ("the request may have been carried out",)


async def test_arguments_that_make_no_request_send_nothing():
    async with raw_agent(answers(200, b"")) as service, endpoint(service.url(path="")) as live:
        with pytest.raises(LiveCallFailed, match=r"`id` would make a part of the path .* Nothing was sent"):
            await live.call(TOOLS["get_order"], {"id": ".."})
    assert service.connections == 0


async def test_the_address_guard_stands_before_every_connection():
    async with raw_agent(answers(200, b"")) as service, endpoint(service.url(), allow_private=False) as live:
        with pytest.raises(
            LiveCallFailed, match="is a loopback address, which this server does not call"
        ) as failed:
            await live.call(TOOLS["get_order"], {"id": "1"})
    assert service.connections == 0
    assert "PIPELINES_ALLOW_PRIVATE_ENDPOINTS=yes" in failed.value.notes[1]


async def test_a_name_that_changes_its_address_is_judged_at_each_connection():
    """Public when it is registered, the metadata service when it is called: it is looked up once, and judged
    before anything is sent."""
    given = ["93.184.216.34", "169.254.169.254"]

    async def changing(host, port):
        return [given.pop(0) if len(given) > 1 else given[0]]

    async with endpoint("http://rebind.example", allow_private=False, resolver=changing) as live:
        assert await live._network.allowed_addresses("rebind.example", 80) == ["93.184.216.34"]
        with pytest.raises(
            LiveCallFailed, match=r"rebind\.example is a link-local or metadata address"
        ) as failed:
            await live.call(TOOLS["get_order"], {"id": "1"})
    assert failed.value.notes[0] == "nothing was sent"


async def test_tls_is_verified_by_name(contexts):  # noqa: F811
    service_side, our_side = contexts

    async def this_machine(host, port):
        return ["127.0.0.1"]

    async with raw_agent(answers(200, b"[]", "Content-Type: application/json"), service_side) as service:
        async with endpoint(service.url(NAME, ""), tls=our_side, resolver=this_machine) as live:
            assert (await live.call(TOOLS["get_order"], {"id": "1"})).response == []
        for name, tls in (("other.example", our_side), (NAME, ssl.create_default_context())):
            async with endpoint(service.url(name, ""), tls=tls, resolver=this_machine) as live:
                with pytest.raises(LiveCallFailed, match="its certificate is not valid") as failed:
                    await live.call(TOOLS["get_order"], {"id": "1"})
            assert failed.value.notes == ("nothing was sent",)
    assert len(service.requests) == 1


async def test_a_cancelled_call_closes_its_connection():
    async with raw_agent(hangs) as service, endpoint(service.url(path="")) as live:
        task = asyncio.create_task(live.call(TOOLS["get_order"], {"id": "1"}))
        await asyncio.wait_for(service.asked.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(service.left.wait(), 5)


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with raw_agent(answers(200, b"direct")) as service:
        assert (await get_order(service)).response == "direct"


# -- connections that are kept


KEPT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def keeps_open(most=100, *, then=None):
    """Answers so many requests on a connection; then it does as told, or closes."""

    async def script(caller: Caller, request: Request) -> None:
        for _ in range(most):
            await caller.send(KEPT)
            try:
                await read_request(caller.reader)
            except asyncio.IncompleteReadError:
                return
        if then is not None:
            await then(caller, request)

    return script


async def test_calls_share_a_connection_one_after_the_other():
    async with raw_agent(keeps_open()) as service:
        async with endpoint(service.url(path="")) as live:
            for _ in range(5):
                assert (await live.call(TOOLS["add_order"], {"item": "a"})).response == "ok"
            assert service.connections == 1
            await asyncio.gather(*(live.call(TOOLS["get_order"], {"id": "1"}) for _ in range(4)))
            assert 1 < service.connections <= 5
        await asyncio.wait_for(service.left.wait(), 5)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokevil",
    ],
    ids=["it says so", "HTTP/1.0", "an answer to nothing", "more than the answer"],
)
async def test_a_connection_is_not_kept_where(answer):
    async def script(caller: Caller, request: Request) -> None:
        await caller.send(answer)
        await caller.until_it_hangs_up()

    async with raw_agent(script) as service, endpoint(service.url(path="")) as live:
        for _ in range(2):
            assert (await live.call(TOOLS["get_order"], {"id": "1"})).response == "ok"
    assert service.connections == 2


async def test_a_kept_connection_that_was_closed_is_not_used_again():
    script = sends(KEPT)  # keeps nothing, and does not say so
    async with raw_agent(script) as service, endpoint(service.url(path="")) as live:
        for turn in range(3):
            assert (await live.call(TOOLS["add_order"], {"item": "a"})).response == "ok"
            await until_closed(live)
            assert service.connections == turn + 1


async def until_closed(live):
    """Our side has heard of it."""
    [kept] = live._connections._free
    async with asyncio.timeout(5):
        while not kept.is_closed():  # noqa: ASYNC110 - the kernel says so to nobody
            await asyncio.sleep(0)


async def resets(caller: Caller, request: Request) -> None:
    caller.reset()


async def test_a_kept_connection_that_ends_over_a_request_is_asked_again_only_where_that_is_the_same():
    async with raw_agent(keeps_open(1, then=resets)) as service, endpoint(service.url(path="")) as live:
        await live.call(TOOLS["get_order"], {"id": "1"})
        assert (await live.call(TOOLS["get_order"], {"id": "1"})).response == "ok"
        assert service.connections == 2
        with pytest.raises(LiveCallFailed, match="was closed before there was an answer") as failed:
            await live.call(TOOLS["add_order"], {"item": "a"})
        assert failed.value.notes == ("the request may have been carried out",)
        assert service.connections == 2


# -- finding tools


async def test_tools_are_found_in_a_document_that_is_given(helpers):
    for spec in (DOCUMENT, json.dumps(DOCUMENT)):
        async with endpoint("http://127.0.0.1:1", helpers, config={"spec": spec}) as live:
            discovery = await live.discover()
        assert [tool.name for tool in discovery.tools] == ["get_order", "has_order", "add_order"]
        assert discovery.tools[0] == TOOLS["get_order"]


async def test_a_document_is_fetched_and_only_the_service_itself_is_told_who_asks(helpers):
    text = json.dumps(DOCUMENT).encode()
    async with raw_agent(answers(200, text)) as own, raw_agent(answers(200, text)) as other:
        for service in (own, other):
            config = {"spec": None, "spec_url": service.url(path="/openapi.json")}
            async with endpoint(own.url(path="/v1"), helpers, config=config) as live:
                assert len((await live.discover()).tools) == 3
    assert own.requests[0].line == "GET /openapi.json HTTP/1.1"
    assert own.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert "authorization" not in other.requests[0].headers


NO_DOCUMENTS = {
    "not found": (answers(404, b"{}"), "the answer was 404, and no document"),
    "a redirect": (answers(302, b"", "Location: http://169.254.169.254/"), "the answer was 302, a redirect"),
    "HTML": (answers(200, b"<html></html>"), "The OpenAPI document cannot be used: "),
    "broken JSON": (answers(200, b'{"openapi": '), "cannot be read: not valid JSON"),
    "Swagger 2": (
        answers(200, b'{"swagger": "2.0"}'),
        ("is Swagger 2.0; OpenAPI 3.0, 3.1 and 3.2 are supported"),
    ),
    "a bomb": (answers(200, b"a: &a [1]\nb: *a"), "anchors and aliases are not part of"),
    "compressed": (answers(200, gzip.compress(b"{}"), "Content-Encoding: gzip"), "came compressed"),
    "closed at once": (resets_at_once, "could not be fetched: the connection was closed"),
}


@pytest.mark.parametrize(("script", "words"), NO_DOCUMENTS.values(), ids=NO_DOCUMENTS)
async def test_what_is_no_document_says_why(script, words, helpers):
    async with raw_agent(script) as service:
        config = {"spec": None, "spec_url": service.url()}
        async with endpoint(service.url(path=""), helpers, config=config) as live:
            with pytest.raises(LiveCallFailed) as failed:
                await live.discover()
    assert words in failed.value.message


async def test_a_document_of_fifty_megabytes_is_given_up_before_it_is_read_whole(helpers):
    sent = 0

    async def script(caller: Caller, request: Request) -> None:
        nonlocal sent
        await caller.send(b"HTTP/1.1 200 OK\r\nContent-Length: 52428800\r\n\r\n")
        while sent < 50 * 1024 * 1024:
            await caller.send(b" " * 1024 * 1024)
            sent += 1024 * 1024

    async with raw_agent(script) as service:
        config = {"spec": None, "spec_url": service.url()}
        async with endpoint(service.url(path=""), helpers, config=config) as live:
            with pytest.raises(LiveCallFailed, match=f"has more than {MAX_DOCUMENT_BYTES:,} bytes"):
                await live.discover()
    assert sent < 40 * 1024 * 1024  # what was on its way when we hung up
