"""Test connection: what each kind of agent answers to a ping, and the hint that helps its author."""

import json

import pytest
from raw_agents import Caller, Request, answers, hangs, raw_agent, resets_at_once

from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.agent_client import AgentClient, AgentTarget

pytestmark = pytest.mark.anyio

HTML = b"<html><title>Welcome</title></html>"
AUTH = {"auth_header_name": "Authorization", "auth_header_value": "Bearer s3cret-token"}


@pytest.fixture(scope="module")
def client():
    return AgentClient(AddressPolicy(allow_private=True))


async def test_a_ping_is_the_exact_body_of_the_contract_with_the_auth_header_and_nothing_of_a_run(client):
    async with raw_agent(answers(200, b'{"ok": true}')) as agent:
        result = await client.ping(AgentTarget(endpoint_url=agent.url(), **AUTH))
    assert (result.ok, result.http_status, result.problem, result.hint) == (True, 200, None, None)
    assert result.latency_ms > 0
    [request] = agent.requests
    assert request.body == b'{"ping":true}'
    assert request.headers["authorization"] == "Bearer s3cret-token"
    assert request.headers["content-type"] == "application/json"
    assert not [name for name in request.headers if name.startswith("x-pipelines")]


# What the agent does: is it ok, its status, words of the problem, words of the hint.
CASES = {
    "200 with anything": (answers(200, b"pong"), True, 200, None, None),
    "204": (answers(204, b""), True, 204, None, None),
    "ran on the ping": (
        answers(200, b'{"final_response": "Hello!"}'),
        True,
        200,
        None,
        "ran on the ping as if it were a dispatch",
    ),
    "200 with HTML": (
        answers(200, HTML, "Content-Type: text/html"),
        False,
        200,
        "an HTML page",
        "check the endpoint URL",
    ),
    "400": (answers(400, b"missing proxy URL"), False, 400, "400: missing proxy URL", '{"ping": true}'),
    "401": (answers(401, b"no"), False, 401, "answered 401", "refuses the auth header's value"),
    "403": (answers(403, b"no"), False, 403, "answered 403", "refuses the auth header's value"),
    "404": (answers(404, b""), False, 404, "answered 404", "must include the route"),
    "405": (answers(405, b""), False, 405, "answered 405", "does not accept POST"),
    "422": (answers(422, b"{}"), False, 422, "answered 422", '{"ping": true}'),
    "500": (answers(500, b"KeyError: 'input'"), False, 500, "KeyError", '{"ping": true}'),
    "503": (answers(503, b""), False, 503, "answered 503", "is it running?"),
    "a redirect": (
        answers(301, b"", "Location: /dispatch/"),
        False,
        301,
        "to /dispatch/",
        "register the URL",
    ),
    "hangs": (hangs, False, None, "no answer within 0.5 s", "did not answer"),
    "resets": (resets_at_once, False, None, "closed before", "see the agent's log"),
}


@pytest.mark.parametrize("name", CASES)
async def test_what_a_ping_finds(client, name):
    script, ok, status, problem, hint = CASES[name]
    async with raw_agent(script) as agent:
        timeout_s = 0.5 if name == "hangs" else 20.0
        result = await client.ping(AgentTarget(endpoint_url=agent.url(), timeout_s=timeout_s, **AUTH))
    assert (result.ok, result.http_status) == (ok, status)
    for told, words in ((result.problem, problem), (result.hint, hint)):
        assert (told is None) == (words is None)
        assert words is None or words in (told or "")


async def test_an_agent_that_wants_a_header_nobody_configured(client):
    async with raw_agent(answers(401, b"")) as agent:
        result = await client.ping(AgentTarget(endpoint_url=agent.url()))
    assert result.hint is not None
    assert "set its auth_header_name" in result.hint


async def test_nobody_there(client):
    async with raw_agent(hangs) as agent:
        url = agent.url()
    result = await client.ping(AgentTarget(endpoint_url=url))
    assert (result.ok, result.http_status) == (False, None)
    assert result.problem is not None
    assert "Connection refused" in result.problem
    assert result.hint == "is the agent running, and listening on this host and port?"


async def test_a_ping_never_shows_the_secret(client):
    async def echoes(caller: Caller, request: Request) -> None:
        await caller.answer(400, request.raw_head.encode())

    async with raw_agent(echoes) as agent:
        result = await client.ping(AgentTarget(endpoint_url=agent.url(), **AUTH))
    assert "s3cret" not in json.dumps(result.as_json())
