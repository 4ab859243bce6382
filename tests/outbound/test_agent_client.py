"""Dispatch over real sockets: whatever an agent does, one POST, and just one error class for it."""

import asyncio
import gzip
import json
import logging
import socket
import time

import pytest
from raw_agents import (
    REPLY,
    Caller,
    Request,
    answers,
    answers_too_late,
    closes_in_the_middle,
    fails_and_never_ends,
    hangs,
    raw_agent,
    replies,
    resets_at_once,
    resets_in_the_middle,
    sends,
    sends_for_ever,
    trickles,
)

from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.agent_client import AgentClient, AgentTarget, Dispatched, DispatchFailed
from pipelines.processes.pool import HelperProcesses
from pipelines.wire.envelope import Envelope, ErrorClass
from support.loop_lag import MOST_LAG_S, least_lag

pytestmark = pytest.mark.anyio

TOKEN, SECRET = "run-token-77f0", "agent-secret-4711"
ENVELOPE = Envelope(
    run_id=17,
    task_id=42,
    agent_id=8,
    user_instruction="Refund order #4521.",
    task_input={"customer_id": "cust_99"},
    odyssey_proxy_url="http://127.0.0.1:8420/api/odyssey-proxy/runs/abc",
    run_token=TOKEN,
    run_token_jti="abc",
)
SHORT_S = 0.5  # for agents that do not answer; long enough to connect on a busy machine


@pytest.fixture(scope="module")
def client():
    helpers = HelperProcesses()
    yield AgentClient(AddressPolicy(allow_private=True), helpers)
    helpers.end()


def target(url, **changes):
    return AgentTarget(**{"endpoint_url": url, "timeout_s": 20.0, **changes})


async def test_an_agent_gets_the_dispatch_and_its_reply_comes_back(client):
    async with raw_agent(replies) as agent:
        auth = {"auth_header_name": "Authorization", "auth_header_value": f"Bearer {SECRET}"}
        outcome = await client.dispatch(target(agent.url(path="/a%20b?x=1"), **auth), ENVELOPE)
    assert isinstance(outcome, Dispatched)
    assert (outcome.reply.final_response, outcome.reply.soft_warnings) == ("Refunded.", ())
    assert outcome.http_status == 200
    assert outcome.latency_ms > 0
    [request] = agent.requests
    assert request.line == "POST /a%20b?x=1 HTTP/1.1"
    assert request.json() == ENVELOPE.body()
    assert request.headers == {
        "host": f"127.0.0.1:{agent.port}",
        "accept": "application/json",
        "accept-encoding": "identity",
        "connection": "close",
        "user-agent": "pipelines-odyssey",
        "content-type": "application/json",
        "content-length": str(len(request.body)),
        "authorization": f"Bearer {SECRET}",
        "x-pipelines-run-token": TOKEN,
        "x-pipelines-odyssey-proxy-url": ENVELOPE.odyssey_proxy_url,
        "x-pipelines-run-id": "17",
        "x-pipelines-task-id": "42",
        "x-pipelines-run-token-jti": "abc",
    }
    assert TOKEN.encode() not in request.body


async def test_the_agents_own_header_takes_the_place_of_one_of_ours(client):
    async with raw_agent(replies) as agent:
        auth = {"auth_header_name": "user-agent", "auth_header_value": SECRET}
        await client.dispatch(target(agent.url(), **auth), ENVELOPE)
    assert agent.requests[0].raw_head.lower().count("user-agent") == 1
    assert agent.requests[0].headers["user-agent"] == SECRET


LONG_PAGE = b"Traceback: " + b"x" * 100_000
HTML = b"<!DOCTYPE html><html><title>Sign in</title></html>"
JSON = "Content-Type: application/json"
METADATA = "Location: http://169.254.169.254/latest/meta-data/?token=t0p"
TEN_MB = b'{"final_response": "' + b"x" * 10_000_000 + b'"}'

# What the agent does: the error class, the HTTP status, whether it was reached, and words of the detail.
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FAULTS = {
    "401": (answers(401, b"who are you?"), "auth_failed", 401, "yes", "who are you?"),
    "403": (answers(403, b""), "auth_failed", 403, "yes", "HTTP 403 with an empty body"),
    "408": (answers(408, b"slow"), "agent_timeout", 408, "yes", "slow"),
    "504": (answers(504, b"gateway"), "agent_timeout", 504, "yes", "gateway"),
    "500": (answers(500, LONG_PAGE), "agent_5xx", 500, "yes", "Traceback: " + "x" * 489),
    "503, which is not tried again": (
        answers(503, b"busy", "Retry-After: 0"),
        "agent_5xx",
        503,
        "yes",
        "busy",
    ),
    "404": (answers(404, b"no such route"), "agent_4xx", 404, "yes", "no such route"),
    "422": (answers(422, b"{}"), "agent_4xx", 422, "yes", "{}"),
    "429": (answers(429, b"slow down", "Retry-After: 0"), "agent_4xx", 429, "yes", "slow down"),
    "500 that never ends": (fails_and_never_ends, "agent_5xx", 500, "yes", "Traceback"),
    "redirect to a metadata address": (
        answers(307, b"", METADATA),
        "agent_bad_response",
        307,
        "yes",
        "the agent answered 307, a redirect to http://169.254.169.254/latest/meta-data/; "
        "redirects are not followed",
    ),
    "304": (answers(304, b""), "agent_bad_response", 304, "yes", "redirect to nowhere"),
    "200 with HTML": (answers(200, HTML), "agent_bad_response", 200, "yes", "an HTML page titled “Sign in”"),
    "200 with nothing": (answers(200, b""), "agent_bad_response", 200, "yes", "the body is empty"),
    "204": (sends(b"HTTP/1.1 204 No\r\n\r\n"), "agent_bad_response", 204, "yes", "the body is empty"),
    "200 with another envelope": (
        answers(200, b'{"output": "Refunded."}', JSON),
        "agent_bad_response",
        200,
        "yes",
        'no `final_response`, only `output`; it begins: {"output": "Refunded."}',
    ),
    "the answer to a ping": (
        answers(200, b'{"ok": true}'),
        "agent_bad_response",
        200,
        "yes",
        "answers a ping, not a dispatch",
    ),
    "invalid UTF-8": (
        answers(200, b'{"final_response": "\xff"}'),
        "agent_bad_response",
        200,
        "yes",
        "not UTF-8",
    ),
    "compressed": (
        answers(200, gzip.compress(json.dumps(REPLY).encode()), "Content-Encoding: gzip"),
        "agent_bad_response",
        200,
        "yes",
        "compressed (gzip)",
    ),
    "10 MB": (answers(200, TEN_MB), "agent_bad_response", 200, "yes", "over 8 MiB"),
    "without end": (sends_for_ever, "agent_bad_response", 200, "yes", "over 8 MiB"),
    "nested too deep": (
        answers(200, b'{"final_response": "x", "messages": ' + b"[" * 500 + b"]" * 500 + b"}"),
        "agent_bad_response",
        200,
        "yes",
        "nested deeper",
    ),
    "hangs": (hangs, "agent_timeout", None, "maybe", "there was no answer within 0.5 s"),
    "answers after the timeout": (answers_too_late, "agent_timeout", None, "maybe", "no answer within"),
    "trickles past the deadline": (trickles, "agent_timeout", 200, "yes", "the answer began"),
    "resets at once": (resets_at_once, "transport_error", None, "maybe", "closed before there was an answer"),
    "closes at once": (sends(b""), "transport_error", None, "maybe", "closed before there was an answer"),
    "resets in the middle": (resets_in_the_middle, "transport_error", 200, "yes", "broke while"),
    "closes in the middle": (closes_in_the_middle, "transport_error", 200, "yes", "broke while"),
    "speaks no HTTP": (sends(b"SSH-2.0-OpenSSH\r\n\r\n"), "transport_error", None, "maybe", "is not HTTP"),
    "headers without end": (
        sends(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000),
        "transport_error",
        None,
        "maybe",
        "the head of the answer is over 64 KiB",
    ),
    "headers in plenty": (
        sends(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 5_000),
        "transport_error",
        None,
        "maybe",
        "more than 500 headers",
    ),
    "hints without end": (
        sends(b"HTTP/1.1 103 Early\r\n\r\n" * 5_000),
        "transport_error",
        None,
        "maybe",
        "the head of the answer is over 64 KiB",
    ),
    "chunks of a byte": (
        sends(CHUNKED + b"1\r\nx\r\n" * 300_000),
        "transport_error",
        200,
        "yes",
        "too many small pieces",
    ),
    "words on a chunk": (
        sends(CHUNKED + b"1;" + b"x" * 2_000_000),
        "transport_error",
        200,
        "yes",
        "too many small pieces",
    ),
    "trailers without end": (
        sends(CHUNKED + b"0\r\n" + b"X-A: b\r\n" * 200_000),
        "transport_error",
        200,
        "yes",
        "more than 500 headers",
    ),
    "switches protocols": (
        sends(b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
        "transport_error",
        None,
        "maybe",
        "is not HTTP",
    ),
}
SLOW = {"hangs", "answers after the timeout", "trickles past the deadline", "500 that never ends"}


@pytest.mark.parametrize("name", FAULTS)
async def test_each_fault_has_its_error_class_and_is_posted_once(client, name):
    script, error_class, status, reached, words = FAULTS[name]
    async with raw_agent(script) as agent:
        timeout_s = SHORT_S if name in SLOW else 20.0
        outcome = await client.dispatch(target(agent.url(), timeout_s=timeout_s), ENVELOPE)
    assert isinstance(outcome, DispatchFailed)
    assert (outcome.error_class, outcome.http_status, outcome.reached) == (error_class, status, reached)
    assert words in outcome.detail
    assert len(outcome.detail) <= 500
    assert (agent.connections, len(agent.requests)) == (1, 1)


async def test_the_deadline_is_for_the_whole_and_not_for_each_read(client):
    started = time.monotonic()
    async with raw_agent(trickles) as agent:
        await client.dispatch(target(agent.url(), timeout_s=SHORT_S), ENVELOPE)
        assert time.monotonic() - started < SHORT_S + 1
        await asyncio.wait_for(agent.left.wait(), 5)


async def test_reading_stops_at_the_limit_instead_of_draining_the_agent(client):
    async with raw_agent(sends_for_ever) as agent:
        await client.dispatch(target(agent.url()), ENVELOPE)
        await asyncio.wait_for(agent.left.wait(), 5)


async def test_an_answer_of_many_small_pieces_is_read_if_it_is_no_longer_than_a_person_would_wait(client):
    """A model streamed token by token: each a chunk, and a write, of its own."""
    text = "".join(f"token {at} " for at in range(2_000))
    body = json.dumps({"final_response": text}).encode()

    async def streams(caller: Caller, request: Request) -> None:
        await caller.send(CHUNKED)
        for at in range(0, len(body), 4):
            piece = body[at : at + 4]
            await caller.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        await caller.send(b"0\r\n\r\n")

    async with raw_agent(streams) as agent:
        outcome = await client.dispatch(target(agent.url()), ENVELOPE)
    assert isinstance(outcome, Dispatched)
    assert outcome.reply.final_response == text


BODY = json.dumps(REPLY).encode()
USUAL = {
    "to the end of the connection": b"HTTP/1.1 200 OK\r\n\r\n" + BODY,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY,
    "without a reason": b"HTTP/1.1 200\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY,
    "lines that end in a newline": b"HTTP/1.1 200 OK\nContent-Length: %d\n\n" % len(BODY) + BODY,
    "two lengths": CHUNKED[:-2] + b"Content-Length: 9\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY),
    "with more behind it": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY + b"\r\nx",
    "with trailers": CHUNKED + b"%x\r\n%b\r\n0\r\nX-Sum: 1\r\n\r\n" % (len(BODY), BODY),
}


@pytest.mark.parametrize("data", USUAL.values(), ids=USUAL.keys())
async def test_answers_as_servers_write_them(client, data):
    async with raw_agent(sends(data)) as agent:
        outcome = await client.dispatch(target(agent.url()), ENVELOPE)
    assert isinstance(outcome, Dispatched), outcome
    assert outcome.reply.final_response == "Refunded."


async def test_many_dripping_agents_at_once_leave_the_loop_free(client):
    shapes = [CHUNKED + b"1\r\nx\r\n" * 200_000, b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 40_000]

    async def drips(caller: Caller, request: Request) -> None:
        await caller.send(shapes[agent.connections % 2])

    async with raw_agent(drips) as agent:
        one = target(agent.url())
        outcomes, lag_s = await least_lag(
            lambda: asyncio.gather(*[client.dispatch(one, ENVELOPE) for _ in range(16)])
        )
    assert lag_s < MOST_LAG_S
    assert {outcome.error_class for outcome in outcomes} == {"transport_error"}


async def test_early_hints_and_an_unusual_2xx_are_no_fault(client):
    body = json.dumps(REPLY).encode()
    hinted = b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 202 Fine\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )
    async with raw_agent(sends(hinted)) as agent:
        outcome = await client.dispatch(target(agent.url()), ENVELOPE)
    assert isinstance(outcome, Dispatched)
    assert outcome.http_status == 202


async def test_a_kept_alive_connection_is_never_used_again(client):
    async def keeps_it_open(caller: Caller, request: Request) -> None:
        await caller.answer(200, json.dumps(REPLY).encode(), "Connection: keep-alive")
        await caller.until_it_hangs_up()

    async with raw_agent(keeps_it_open) as agent:
        for _ in range(3):
            assert isinstance(await client.dispatch(target(agent.url()), ENVELOPE), Dispatched)
            await asyncio.wait_for(agent.left.wait(), 5)
            agent.left.clear()
    assert (agent.connections, len(agent.requests)) == (3, 3)


async def test_no_cookie_of_one_dispatch_is_sent_with_the_next(client):
    async with raw_agent(answers(200, json.dumps(REPLY).encode(), "Set-Cookie: session=1; Path=/")) as agent:
        for _ in range(2):
            await client.dispatch(target(agent.url()), ENVELOPE)
    assert "cookie" not in agent.requests[1].headers


async def test_a_proxy_of_the_environment_is_not_used(client, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with raw_agent(replies) as agent:
        assert isinstance(await client.dispatch(target(agent.url()), ENVELOPE), Dispatched)


def closed_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


UNSENT = {
    "nobody listens": ({}, {"port": True}, "agent_unreachable", "Connection refused"),
    "no such name": ({}, {"url": "http://no-such-host.invalid/"}, "agent_unreachable", "name cannot be"),
    "an empty label": ({}, {"url": "http://a..b/"}, "agent_unreachable", "cannot be"),
    "no URL": ({}, {"url": "dispatch"}, "agent_unreachable", "the URL cannot be used"),
    "another scheme": ({}, {"url": "ftp://127.0.0.1/"}, "agent_unreachable", "must start with http"),
    "no such port": ({}, {"url": "http://127.0.0.1:70000/"}, "agent_unreachable", "port"),
    "a metadata address": ({}, {"url": "http://169.254.169.254/"}, "agent_unreachable", "metadata address"),
    "a line break in the auth header": (
        {},
        {"auth_header_name": "Authorization", "auth_header_value": f"{SECRET}\r\nX: y"},
        "agent_unreachable",
        "a header cannot be sent",
    ),
    "a proxy URL without host": ({"odyssey_proxy_url": "http://"}, {}, "proxy_misconfigured", "name a host"),
    "a proxy URL of another scheme": (
        {"odyssey_proxy_url": "localhost:8420"},
        {},
        "proxy_misconfigured",
        "must start with http",
    ),
    "a proxy URL with a line break": (
        {"odyssey_proxy_url": "http://h/\r\nX-Evil: 1"},
        {},
        "proxy_misconfigured",
        "characters that no URL has",
    ),
    "a proxy URL with a bad port": (
        {"odyssey_proxy_url": "http://h:http/"},
        {},
        "proxy_misconfigured",
        "is not a URL",
    ),
}


@pytest.mark.parametrize("name", UNSENT)
async def test_what_cannot_be_sent_is_known_not_to_have_reached_the_agent(client, name):
    envelope_changes, how, error_class, words = UNSENT[name]
    envelope = Envelope(
        **{field: getattr(ENVELOPE, field) for field in ENVELOPE.__slots__} | envelope_changes
    )
    async with raw_agent(replies) as agent:
        url = f"http://127.0.0.1:{closed_port()}/" if "port" in how else how.get("url", agent.url())
        auth = {key: value for key, value in how.items() if key.startswith("auth")}
        outcome = await client.dispatch(target(url, **auth), envelope)
    assert isinstance(outcome, DispatchFailed)
    assert (outcome.error_class, outcome.reached, outcome.http_status) == (error_class, "no", None)
    assert words in outcome.detail
    assert not agent.requests


async def test_a_dispatch_that_is_cancelled_closes_its_connection(client):
    async with raw_agent(hangs) as agent:
        task = asyncio.create_task(client.dispatch(target(agent.url()), ENVELOPE))
        await asyncio.wait_for(agent.asked.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(agent.left.wait(), 5)


async def test_no_secret_is_in_an_error_a_log_or_a_repr(client, caplog):
    async def echoes(caller: Caller, request: Request) -> None:
        await caller.answer(500, request.raw_head.encode() + request.body)

    caplog.set_level(logging.DEBUG)
    auth = {"auth_header_name": "Authorization", "auth_header_value": f"Bearer {SECRET}"}
    async with raw_agent(echoes) as agent:
        where = target(agent.url(), **auth)
        outcome = await client.dispatch(where, ENVELOPE)
        pinged = await client.ping(where)
        bad_header = target(agent.url(), auth_header_name="X-Key", auth_header_value=f"{SECRET}\n")
        unsendable = await client.dispatch(bad_header, ENVELOPE)
    assert isinstance(outcome, DispatchFailed)
    assert "[redacted]" in outcome.detail
    for text in (repr(outcome), repr(pinged), repr(unsendable), repr(where), repr(ENVELOPE), caplog.text):
        assert SECRET not in text
        assert TOKEN not in text


CONTRACT = {"response_mode": "rich", "strictness": "strict"}
RICH = REPLY | {"messages": [{"role": "assistant", "content": "Refunded."}]}


@pytest.mark.parametrize(
    ("reply", "contract", "error_class"),
    [
        (REPLY, None, None),
        (RICH, CONTRACT, None),
        (REPLY, CONTRACT, "response_contract_violation"),
        (RICH | {"messages": [{"role": "bot"}]}, CONTRACT, "response_contract_violation"),
        (RICH | {"messages": [{"role": "bot"}]}, None, None),
    ],
    ids=["no contract", "kept", "no messages", "malformed messages", "malformed, no contract"],
)
async def test_the_response_contract(client, reply, contract, error_class):
    async with raw_agent(answers(200, json.dumps(reply).encode())) as agent:
        outcome = await client.dispatch(target(agent.url(), response_contract=contract), ENVELOPE)
    if error_class is None:
        assert isinstance(outcome, Dispatched)
    else:
        assert isinstance(outcome, DispatchFailed)
        assert (outcome.error_class, outcome.http_status) == (error_class, 200)
        assert outcome.reply is not None
        assert outcome.reply.final_response == "Refunded."


def test_every_error_class_of_a_dispatch_is_tried_here():
    tried = {fault[1] for fault in FAULTS.values()} | {unsent[2] for unsent in UNSENT.values()}
    tried.add("response_contract_violation")
    elsewhere = {"interrupted", "internal_error", "agent_exception", "simulator_fault", "budget_exceeded"}
    assert tried == {each.value for each in ErrorClass} - elsewhere


HARD_REPLIES = {
    "escapes": b'{"final_response": "' + b"\\u0041" * 500_000 + b'"}',
    "objects": b'{"final_response": "x", "metadata": {"a": [' + b"{}," * 1_000_000 + b"{}]}}",
    "keys that stand twice": b'{"final_response": "x", "messages": [' + b'{"a":1,"a":2},' * 200_000 + b"{}]}",
    "broken characters": b"\xff" * 3_000_000,
    "arguments": b'{"final_response": "x", "messages": [{"role": "assistant", "tool_calls": [{"id": "1",'
    b' "name": "n", "arguments": "[' + b"{}," * 1_000_000 + b'{}]"}]}]}',
}


@pytest.mark.parametrize("body", HARD_REPLIES.values(), ids=HARD_REPLIES.keys())
async def test_a_reply_that_is_hard_to_read_leaves_the_loop_free(client, body):
    async with raw_agent(answers(200, body, "Content-Type: application/json")) as agent:
        outcome, lag_s = await least_lag(lambda: client.dispatch(target(agent.url()), ENVELOPE))
    assert lag_s < MOST_LAG_S
    assert isinstance(outcome, DispatchFailed) == (body[:1] == b"\xff")


async def test_a_large_reply_is_read_as_a_small_one_is(client):
    said = {
        "final_response": "Refunded.",
        "messages": [
            {"role": "user", "content": "Refund it."},
            {
                "role": "assistant",
                "tool_calls": [{"id": "1", "function": {"name": "n", "arguments": '{"a": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": ["done"]},
            {"role": "assistant", "content": "Refunded."},
        ],
        "metadata": {"model": 7},
    }
    small = json.dumps(said).encode()
    outcomes = []
    for body in (small, small[:-1] + b" " * 300_000 + b"}"):
        async with raw_agent(answers(200, body, "Content-Type: application/json")) as agent:
            outcomes.append(await client.dispatch(target(agent.url()), ENVELOPE))
    assert outcomes[0].reply == outcomes[1].reply
    assert outcomes[0].reply.soft_warnings
