"""The way from a sandbox to a model, over real sockets: what passes, what does not, what it leaves behind."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from pipelines.core.code.redaction import Redaction
from pipelines.core.models.model_upstreams import DEFAULT_CALLS, ModelUpstream
from pipelines.engine.code.run_code import Visitor
from pipelines.engine.model_calls.model_gateway import ModelGateway, ModelLimits
from pipelines.engine.models.model_access import ModelAccess, OpenedUpstream, new_key
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend
from pipelines.outbound.stream_once import ModelClient
from pipelines.sandbox.host_listener import HostListener
from pipelines.server.proxy.sandbox_connection import RunDoor
from pipelines.server.proxy.sandbox_model_rules import PASSED_ON
from pipelines.server.proxy.sandbox_models import ModelDoor
from pipelines.storage.accounts.keys import hash_of
from support.desk import DrivenRun, House, open_house
from support.model_api import METADATA_ADDRESS, PlayedModel, played_model

pytestmark = pytest.mark.anyio
KEY = "sk-operators-own-0123456789abcdef"
SECRET = "shop-secret-0123456789"
SMALL = ModelLimits(calls=8, at_once=2, timeout_s=30.0, request_bytes=65_536, answer_bytes=262_144)
WAITING_S = 20.0  # only a test that fails waits this long


class OpenDoor:
    """A run's door. What is asked on it is asked as code in a sandbox would."""

    def __init__(self, port: int, access: ModelAccess, run: DrivenRun) -> None:
        self.port = port
        self.access = access
        self.run = run
        self.client = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}/models/local", timeout=WAITING_S)
        self.client.headers["Authorization"] = f"Bearer {access.key}"

    async def chat(self, model: str, **more: Any) -> httpx2.Response:
        body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **more}
        return await self.client.post("/chat/completions", json=body)

    async def raw(self, *lines: bytes, body: bytes = b"") -> bytes:
        """All that comes back to these very bytes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"\r\n".join([*lines, b"", b""]) + body)
        try:
            return await asyncio.wait_for(reader.read(), WAITING_S)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    async def rows(self) -> list[dict[str, Any]]:
        """The run's log, once nothing is under way."""
        await self.access.close()
        return await self.run.trace()


@asynccontextmanager
async def open_door(
    house: House,
    run: DrivenRun,
    model: PlayedModel,
    *,
    limits: ModelLimits = SMALL,
    allow_private: bool = True,
    secrets: dict[str, str] | None = None,
    url: str = "",
) -> AsyncIterator[OpenDoor]:
    upstream = ModelUpstream(
        name="local",
        kind="openai",
        base_url=url or model.url,
        key_header="Authorization",
        allow=DEFAULT_CALLS["openai"],
    )
    hidden, token_hash = Redaction(secrets or {}), hash_of(run.token)
    access = ModelAccess(
        replace(house.platform, model_gateway=ModelGateway(limits=limits)),
        {"local": OpenedUpstream(upstream=upstream, key=KEY)},
        token_hash=token_hash,
        tally=house.platform.live_runs.models.of(run.id),
        redaction=hidden,
        key=new_key(),
        org_id=1,
    )
    client = ModelClient(GuardedBackend(AddressPolicy(allow_private=allow_private)))
    run_door = RunDoor(house.app.proxy, ModelDoor(client), house.platform.helpers)
    visitor = Visitor(jti=run.jti, token_hash=token_hash, org_id=1, redaction=hidden, models=access)
    listener = socket.create_server(("127.0.0.1", 0))
    door = HostListener(listener, run_door(visitor), 32)
    opened = OpenDoor(listener.getsockname()[1], access, run)
    try:
        yield opened
    finally:
        await opened.client.aclose()
        await door.close()
        await access.close()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[House]:
    """One server for all: each test has a run and a door of its own."""
    async with open_house(tmp_path_factory.mktemp("models") / "house") as opened:
        yield opened


@pytest.fixture(scope="module")
async def task(house: House) -> tuple[int, int]:
    agent = await house.owner.agent()
    dataset = await house.owner.dataset(agent_id=agent["id"])
    return agent["id"], dataset["task_ids"][0]


@pytest.fixture
async def run(house: House, task: tuple[int, int]) -> DrivenRun:
    return await house.owner.open_run(*task)


@pytest.fixture
async def model(anyio_backend: str) -> AsyncIterator[PlayedModel]:
    async with played_model() as played:
        yield played


@pytest.fixture
async def door(house: House, run: DrivenRun, model: PlayedModel) -> AsyncIterator[OpenDoor]:
    async with open_door(house, run, model) as opened:
        yield opened


def refusal(reply: httpx2.Response, status: int, code: str) -> str:
    assert reply.status_code == status, reply.text
    error = reply.json()["error"]
    assert error["code"] == code, error
    return str(error["message"])


async def until(look: Any, what: str) -> None:
    async with asyncio.timeout(WAITING_S):
        while not look():  # noqa: ASYNC110 - what is looked at is in another's hands
            await asyncio.sleep(0.005)
    assert look(), what


# -- what passes


async def test_a_question_goes_out_with_the_operators_key_and_is_on_the_log(door, model):
    reply = await door.chat("gpt-test")
    assert reply.json()["choices"][0]["message"]["content"] == "you said: hi"
    (question,) = model.asked
    assert (question.method, question.target) == ("POST", "/v1/chat/completions")
    assert question.header("authorization") == f"Bearer {KEY}"
    assert question.json["messages"] == [{"role": "user", "content": "hi"}]
    (row,) = await door.rows()
    assert (row["kind"], row["http_status"]) == ("model_call", 200)
    assert row["latency_ms"] >= 0
    assert row["payload"] == {
        "gateway": "local",
        "model": "gpt-test",
        "call": "POST /chat/completions",
        "streamed": False,
        "input_tokens": 11,
        "output_tokens": 7,
        "error": None,
    }
    assert "hi" not in json.dumps(row)


async def test_a_stream_comes_as_it_is_made(door, model):
    """The model says its second word only when somebody who has read the first asks for something else."""
    body = {"model": "gpt-test", "stream": True, "messages": []}
    async with door.client.stream("POST", "/chat/completions", json=body) as reply:
        lines = reply.aiter_lines()
        assert "first" in await anext(lines)
        assert (await door.client.get("/models")).json() == {"object": "list", "data": []}
        rest = [line async for line in lines if line]
    assert "then" in rest[0]
    assert rest[-1] == "data: [DONE]"
    rows = {row["payload"]["call"]: row["payload"] for row in await door.rows()}
    told = rows["POST /chat/completions"]
    assert (told["streamed"], told["input_tokens"], told["output_tokens"]) == (True, 11, 7)


@pytest.mark.parametrize(("name", "status"), [("limited", 429), ("down", 529)])
async def test_errors_of_the_model_are_passed_on_as_they_are(door, name, status):
    reply = await door.chat(name)
    assert reply.status_code == status
    assert "model_gateway" not in reply.text
    if status == 429:
        assert (reply.headers["retry-after"], reply.headers["x-ratelimit-remaining-requests"]) == ("7", "0")
    (row,) = await door.rows()
    assert (row["http_status"], row["payload"]["error"]) == (status, None)
    assert door.access.tally.failed == 1


# -- what does not: paths, hosts, headers

PATHS = {
    "what others stored": b"GET /models/local/files",
    "up": b"POST /models/local/../local/chat/completions",
    "up, encoded": b"POST /models/local/%2e%2e/v1/chat/completions",
    "up at the end": b"POST /models/local/chat/completions/..",
    "an encoded slash": b"POST /models/local/chat%2fcompletions",
    "a double slash": b"POST /models/local//chat/completions",
    "a slash at the end": b"POST /models/local/chat/completions/",
    "nothing": b"GET /models/local",
    "a part too many": b"GET /models/local/models/a/b",
    "another method": b"DELETE /models/local/chat/completions",
    "another method for a listed path": b"GET /models/local/chat/completions",
    "another gateway": b"POST /models/openai/chat/completions",
    "a host as a gateway": b"POST /models/169.254.169.254/chat/completions",
    "an encoded line break": b"POST /models/local/chat/completions%0d%0aHost:%20evil",
    "a whole URL": b"GET http://169.254.169.254/latest/meta-data",
    "a whole URL with our path": b"GET http://169.254.169.254/models/local/files",
    "a tunnel": b"CONNECT 169.254.169.254:80",
    "the server's API": b"GET /api/agents",
}


@pytest.mark.parametrize("line", PATHS.values(), ids=PATHS)
async def test_nothing_else_is_reached(door, model, line):
    key = f"Authorization: Bearer {door.access.key}".encode()
    reply = await door.raw(line + b" HTTP/1.1", b"Host: 127.0.0.1", key, b"Connection: close")
    assert reply.split(b"\r\n")[0].split(b" ")[1] in (b"400", b"401", b"404"), reply
    assert model.asked == []
    assert await door.rows() == []


CHAT = b"POST /models/local/chat/completions HTTP/1.1"
BODY = b'{"model": "gpt-test", "messages": []}'


async def test_of_headers_only_those_about_the_body_pass(door, model):
    hostile = {
        "Host": "169.254.169.254",
        "Proxy-Authorization": "Basic eDp5",
        "Proxy-Connection": "keep-alive",
        "X-Forwarded-For": "10.0.0.1",
        "X-Forwarded-Host": "evil.example.com",
        "Forwarded": "host=evil.example.com",
        "Cookie": "a=b",
        "OpenAI-Organization": "org-of-others",
        "OpenAI-Project": "proj-of-others",
        "X-HTTP-Method-Override": "DELETE",
        "Expect": "100-continue",
        "Upgrade": "h2c",
        "User-Agent": "curl",
        "Accept-Encoding": "gzip",
        "Authorization": f"Bearer {door.access.key}",
        "X-Api-Key": door.access.key,
        "Anthropic-Version": "2023-06-01",
    }
    assert (await door.client.post("/chat/completions", content=BODY, headers=hostile)).status_code == 200
    (question,) = model.asked
    names = {name.lower() for name, _ in question.headers}
    ours = {"host", "authorization", "user-agent", "accept-encoding", "content-length", "connection"}
    assert names <= PASSED_ON | ours
    assert len(names) == len(question.headers)
    assert question.header("host") == model.url.split("/")[2]
    assert question.header("authorization") == f"Bearer {KEY}"
    assert question.header("anthropic-version") == "2023-06-01"
    assert (question.header("accept-encoding"), question.header("connection")) == ("identity", "close")


SMUGGLED = {
    "a line break in a value": [b"Accept: a\nX-Evil: 1"],
    "a bare return in a value": [b"Accept: a\rX-Evil: 1"],
    "a folded line": [b"Accept: a", b" X-Evil: 1"],
    "a NUL": [b"Accept: a\0b"],
    "a space before the colon": [b"Authorization : Bearer evil"],
    "two lengths": [b"Content-Length: 0"],
    "a length and chunks": [b"Transfer-Encoding: chunked"],
    "odd chunks": [b"Transfer-Encoding: xchunked"],
    "two hosts": [b"Host: evil.example.com"],
    "letters beyond ASCII": ["Accept: é".encode()],
}


@pytest.mark.parametrize("lines", SMUGGLED.values(), ids=SMUGGLED)
async def test_no_header_becomes_more_than_it_was(door, model, lines):
    key = f"Authorization: Bearer {door.access.key}".encode()
    length = b"Content-Length: %d" % len(BODY)
    await door.raw(CHAT, b"Host: 127.0.0.1", key, length, *lines, b"Connection: close", body=BODY)
    for question in model.asked:
        assert question.method == "POST"
        assert question.body in (BODY, b"")
        assert question.header("x-evil") is None
        assert question.header("authorization") == f"Bearer {KEY}"
        assert all(value.isprintable() and value.isascii() for _, value in question.headers)
    assert len(model.asked) <= 1


async def test_what_follows_a_request_is_a_request_of_its_own(door, model):
    """Sent ahead in the body's place, it is not passed on within the first."""
    key = f"Authorization: Bearer {door.access.key}".encode()
    second = b"GET /models/local/files HTTP/1.1\r\nHost: x\r\n" + key + b"\r\nConnection: close\r\n\r\n"
    length = b"Content-Length: %d" % len(BODY)
    reply = await door.raw(CHAT, b"Host: 127.0.0.1", key, length, body=BODY + second)
    assert [question.target for question in model.asked] == ["/v1/chat/completions"]
    assert b"model_call_not_allowed" in reply


KEYS = {
    "none": {"Authorization": ""},
    "of another run": {"Authorization": f"Bearer {new_key()}"},
    "a second that is wrong": {"X-Api-Key": "sk-other"},
    "the operator's": {"Authorization": f"Bearer {KEY}"},
}


@pytest.mark.parametrize("headers", KEYS.values(), ids=KEYS)
async def test_only_the_runs_own_key_opens_it(door, model, headers):
    reply = await door.client.post("/chat/completions", content=BODY, headers=headers)
    refusal(reply, 401, "model_key_wrong")
    assert model.asked == []


async def test_a_query_is_plain(door, model):
    assert (await door.client.get("/models?limit=2&after=a%20b")).status_code == 200
    assert model.asked[0].target == "/v1/models?limit=2&after=a%20b"
    refusal(await door.client.get(f"/models?x={'y' * 3_000}"), 400, "model_query_invalid")


# -- the key


async def test_the_key_is_not_in_what_comes_back_however_carelessly_it_is_repeated(door, model):
    for name in ("echo", "slow-echo"):
        reply = await door.chat(name)
        assert KEY not in reply.text
        assert "*" * len(KEY) in reply.text
        assert KEY not in str(reply.headers)
        assert {"set-cookie", "x-other"}.isdisjoint(reply.headers)
    assert KEY not in json.dumps(await door.rows())


async def test_the_agents_secrets_leave_for_no_model(house, run, model):
    async with open_door(house, run, model, secrets={"SHOP_KEY": SECRET}) as door:
        body = {"model": f"m-{SECRET}", "messages": [{"role": "user", "content": f"my key is {SECRET}"}]}
        reply = await door.client.post("/chat/completions", json=body, headers={"Accept": SECRET})
        assert reply.status_code == 200
        long = {"model": "gpt", "messages": [{"role": "user", "content": f"{SECRET} {'x' * 30_000}"}]}
        await door.client.post("/chat/completions", json=long)
        refusal(await door.client.get(f"/models/{SECRET}"), 404, "model_call_not_allowed")
        assert SECRET not in str(model.asked)
        assert SECRET not in json.dumps(await door.rows())
        assert SECRET not in str(house.platform.live_runs.models.warnings(run.id))


# -- bounds


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_huge_question_is_refused(door, model, is_chunked):
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(80):
            yield b"x" * 1024

    content = parts() if is_chunked else b"x" * 80 * 1024
    message = refusal(
        await door.client.post("/chat/completions", content=content), 413, "model_request_too_large"
    )
    assert "PIPELINES_MODEL_REQUEST_MB" in message
    assert model.asked == []


async def test_an_endless_answer_is_cut_off(door, model):
    with pytest.raises(httpx2.HTTPError):
        await door.chat("endless")
    await until(lambda: model.open == 0, "the model sees the disconnect")
    (row,) = await door.rows()
    assert row["http_status"] == 200
    assert "PIPELINES_MODEL_ANSWER_MB" in row["payload"]["error"]


async def test_an_answer_that_announces_too_much_is_refused(door):
    refusal(await door.chat("large"), 502, "model_answer_too_large")


@pytest.mark.parametrize(("name", "is_begun"), [("silent", False), ("trickle", True)])
async def test_a_model_that_takes_too_long_is_given_up(house, run, model, name, is_begun):
    async with open_door(house, run, model, limits=replace(SMALL, timeout_s=0.3)) as door:
        if is_begun:
            with pytest.raises(httpx2.HTTPError):
                await door.chat(name)
        else:
            refusal(await door.chat(name), 504, "model_timeout")
        await until(lambda: model.open == 0, "the model sees the disconnect")
        (row,) = await door.rows()
        assert "PIPELINES_MODEL_TIMEOUT_S" in row["payload"]["error"]


async def test_of_many_questions_only_some_are_out_at_once(door, model):
    asking = [asyncio.create_task(door.chat("silent")) for _ in range(6)]
    await until(lambda: model.open == 2, "two are asked")
    assert (await door.client.get("/files")).status_code == 404  # the others wait; the door does not
    assert model.most_open == 2
    await door.access.close()
    await until(lambda: model.open == 0, "all are given up with the run")
    replies = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(reply, Exception) or reply.status_code >= 400 for reply in replies)
    assert model.most_open == 2


async def test_a_run_has_so_many_calls(door, model):
    for _ in range(8):
        assert (await door.chat("gpt-test")).status_code == 200
    reply = await door.chat("gpt-test")
    assert "PIPELINES_MODEL_CALLS" in refusal(reply, 429, "model_calls_used_up")
    assert reply.headers["x-should-retry"] == "false"
    assert len(model.asked) == 8
    assert door.access.tally.as_json() | {"models": []} == {
        "calls": 8,
        "failed": 0,
        "uncounted": 0,
        "input_tokens": 88,
        "output_tokens": 56,
        "models": [],
    }


async def test_code_that_hangs_up_hangs_up_on_the_model(door, model):
    asking = asyncio.create_task(door.chat("silent"))
    await until(lambda: model.open == 1, "it is asked")
    asking.cancel()
    await until(lambda: model.open == 0, "the model sees the disconnect")
    (row,) = await door.rows()
    assert (row["http_status"], row["payload"]["model"]) == (None, "silent")
    assert "disconnected" in row["payload"]["error"]


async def test_a_question_that_never_ends_is_not_asked(door, model):
    _, writer = await asyncio.open_connection("127.0.0.1", door.port)
    key = f"Authorization: Bearer {door.access.key}".encode()
    writer.write(b"\r\n".join([CHAT, b"Host: x", key, b"Content-Length: 1000", b"", b"{"]))
    await until(lambda: door.access.slots._value == 1, "it has begun")
    writer.close()
    await until(lambda: door.access.slots._value == 2, "it is over")
    assert model.asked == []


# -- what the model's side does wrong


async def test_a_redirect_is_not_followed_nor_told(door, model):
    reply = await door.chat("redirect")
    assert "base_url" in refusal(reply, 502, "model_redirected")
    assert METADATA_ADDRESS not in reply.text + str(reply.headers)
    assert len(model.asked) == 1


@pytest.mark.parametrize(("name", "code"), [("zipped", "model_answer_encoded"), ("odd", "model_unreachable")])
async def test_what_is_no_answer_is_not_passed_on(door, name, code):
    refusal(await door.chat(name), 502, code)


async def test_an_answer_that_breaks_off_breaks_off(door):
    with pytest.raises(httpx2.HTTPError):
        await door.chat("broken")
    (row,) = await door.rows()
    assert row["payload"]["error"] == "the connection broke while the answer was read"


PLACES = {
    "a closed port": ("http://127.0.0.1:9/v1", True, "no connection"),
    "loopback, where that is refused": ("", False, "address is refused"),
    "the metadata address": (METADATA_ADDRESS, True, "address is refused"),
    "a name that is nobody's": ("http://nobody.invalid/v1", True, "no connection"),
}


@pytest.mark.parametrize(("url", "allow_private", "says"), PLACES.values(), ids=PLACES)
async def test_an_upstream_that_cannot_be_reached(house, run, model, url, allow_private, says):
    async with open_door(house, run, model, url=url, allow_private=allow_private) as door:
        reply = await door.chat("gpt-test")
        assert says in refusal(reply, 502, "model_unreachable")
        assert reply.headers["x-should-retry"] == "true"
        assert "169.254" not in reply.text
    assert model.asked == []


# -- whose it is


async def test_when_the_run_is_over_the_door_is_shut(door, model):
    await door.access.close()
    refusal(await door.chat("gpt-test"), 403, "model_gateway_closed")
    assert model.asked == []


async def test_a_run_without_gateways_has_none(house, run, model):
    async with open_door(house, run, model) as door:
        run_door = RunDoor(
            house.app.proxy, ModelDoor(ModelClient(GuardedBackend(AddressPolicy()))), house.platform.helpers
        )
        visitor = Visitor(jti=run.jti, token_hash=hash_of(run.token), org_id=1, redaction=Redaction({}))
        listener = socket.create_server(("127.0.0.1", 0))
        other = HostListener(listener, run_door(visitor), 32)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/models/local/chat/completions"
        refusal(await door.client.post(url, content=BODY), 403, "model_gateway_closed")
        await other.close()
    assert model.asked == []


async def test_an_ended_run_gets_no_more_rows(door, run):
    await door.chat("gpt-test")
    await run.finish()
    before = await run.trace()
    await door.chat("gpt-test")
    assert await door.rows() == before
