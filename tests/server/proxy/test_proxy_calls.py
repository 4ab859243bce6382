"""Tool calls through the proxy: both bases, every status with its code, and the row that each leaves."""

import asyncio
import json
from typing import Any

import pytest

from pipelines.wire.names import PROXY_BASE
from support.desk import (
    MEBIBYTE,
    STATE,
    TOOLS,
    DrivenRun,
    House,
    Org,
    Row,
    answered,
    outage,
    refused,
    tool,
)
from support.proxy_calls import ORDER

pytestmark = pytest.mark.anyio


def error_of(row: Row) -> Any:
    return row["response"]["error"]["code"]


# Reaching it


@pytest.mark.parametrize("base", [PROXY_BASE, f"{PROXY_BASE}/runs/{{jti}}"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer {token}"},
        {"authorization": "bearer   {token}"},
        {"X-Pipelines-Run-Token": "{token}"},
        {"X-Pipelines-Run-Token": "{token}", "Authorization": "Basic dXNlcjpwYXNz"},
    ],
    ids=["bearer", "bearer, spelled otherwise", "run token", "run token beside other credentials"],
)
async def test_both_bases_take_the_token_in_either_header(
    house: House, run: DrivenRun, base: str, headers: dict[str, str]
) -> None:
    url = f"{base.format(jti=run.jti)}/tools/get_order"
    sent = {name: value.format(token=run.token) for name, value in headers.items()}
    reply = await house.stranger.post(url, json=ORDER, headers=sent)
    assert answered(reply, 200)["response"] == STATE["order"]["4521"]


async def test_the_url_of_a_run_is_where_its_tools_are(run: DrivenRun) -> None:
    assert run.opened["odyssey_proxy_url"] == f"http://testserver{PROXY_BASE}/runs/{run.jti}"


BAD_TOKENS: list[dict[str, str]] = [
    {},
    {"Authorization": "Bearer fake-token"},
    {"Authorization": "Bearer "},
    {"Authorization": "Basic dXNlcjpwYXNz"},
    {"X-Pipelines-Run-Token": ""},
    {"X-Pipelines-Run-Token": "\xff\xfe"},
    {"X-Pipelines-Run-Token": "x" * 10_000},
]


@pytest.mark.parametrize(
    "path", ["tools/__reachability_probe__", "tools/get_order", "traces/custom", "nothing"]
)
async def test_an_unknown_token_gets_401_whatever_it_asks(house: House, run: DrivenRun, path: str) -> None:
    for headers in BAD_TOKENS:
        raw: Any = {name: value.encode("latin-1") for name, value in headers.items()}
        reply = await house.stranger.post(f"{PROXY_BASE}/{path}", json={}, headers=raw)
        refused(reply, 401, "invalid_run_token")
        assert reply.headers["x-pipelines-source"] == "error"
        assert reply.headers["www-authenticate"] == "Bearer"
    assert await run.trace() == []


async def test_a_token_opens_no_other_run(org: Org, run: DrivenRun) -> None:
    other = await org.run()
    reply = await run.call("get_order", ORDER, base=f"{PROXY_BASE}/runs/{other.jti}")
    refused(reply, 401, "invalid_run_token")
    assert await run.trace() == await other.trace() == []


async def test_an_api_key_is_no_run_token(org: Org, run: DrivenRun) -> None:
    reply = await org.client.post(f"{PROXY_BASE}/tools/get_order", json=ORDER)
    refused(reply, 401, "invalid_run_token")


# The reply


async def test_a_simulated_reply_has_the_shape_of_the_contract(run: DrivenRun) -> None:
    reply = await run.call("get_order", ORDER)
    body = answered(reply, 200)
    assert body == {
        "tool_name": "get_order",
        "response": {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5},
        "source": "odyssey",
        "latency_ms": body["latency_ms"],
        "matched_rule_index": None,
        "validation": {"ok": True, "attempts": 1, "errors": []},
    }
    assert isinstance(body["latency_ms"], int)
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-pipelines-source"] == "odyssey"


async def test_the_trace_row_says_what_the_reply_said_and_what_changed(run: DrivenRun) -> None:
    body = answered(await run.call("refund_order", ORDER, x_pipelines_actor_id="supervisor/refunds"))
    (row,) = await run.trace()
    assert row | {"occurred_at": None} == {
        "sequence": 1,
        "kind": "tool_call",
        "tool_name": "refund_order",
        "arguments": ORDER,
        "response": body["response"],
        "source": "odyssey",
        "http_status": 200,
        "error_code": None,
        "matched_rule_index": None,
        "matched_rule": None,
        "latency_ms": body["latency_ms"],
        "updates": [
            {
                "op": "update",
                "entity_type": "order",
                "id": "4521",
                "set": {"status": "refunded"},
                "unset": [],
            }
        ],
        "validation": row["validation"],
        "payload": None,
        "actor_id": "supervisor/refunds",
        "idempotency_key": None,
        "occurred_at": None,
        "client": None,
        "replayed": False,
    }
    assert row["validation"]["ok"] is True
    assert row["validation"]["engine"] == "embedded"


async def test_an_injected_failure_answers_with_its_own_status_and_is_never_worth_a_retry(org: Org) -> None:
    run = await org.run(failure_rules=[outage("refund_order", n=1)])
    reply = await run.call("refund_order", ORDER)
    body = answered(reply, 502)
    assert body | {"latency_ms": 0} == {
        "tool_name": "refund_order",
        "response": {"error": {"code": 502, "message": "Payment processor unavailable"}},
        "source": "injected",
        "latency_ms": 0,
        "matched_rule_index": 0,
    }
    assert "retry-after" not in reply.headers
    assert reply.headers["x-pipelines-source"] == "injected"
    (row,) = await run.trace()
    assert (row["source"], row["matched_rule_index"], row["http_status"]) == ("injected", 0, 502)
    assert (await run.ledger())["state"] == STATE


@pytest.mark.parametrize("response", [{"items": [], "stale": True}, None, "pong", 7, [1, 2]])
async def test_a_forced_success_is_sent_as_it_stands(org: Org, response: Any) -> None:
    rule = {
        "trigger": "after_n_calls",
        "tool": "*",
        "n": 1,
        "error": {"code": 200, "response": response},
    }
    run = await org.run(failure_rules=[rule])
    body = answered(await run.call("get_order", ORDER), 200)
    assert (body["response"], body["source"], "validation" in body) == (response, "injected", False)


async def test_an_error_of_the_backend_is_the_tools_own_answer(run: DrivenRun) -> None:
    reply = await run.call("add_note", {"order_id": "none", "text": "hello"})
    body = answered(reply, 404)
    assert body["response"]["error"]["code"] == "order_not_found"
    assert body["source"] == reply.headers["x-pipelines-source"] == "odyssey"
    assert "error" not in body


async def test_calls_of_a_run_are_answered_in_the_order_they_came(run: DrivenRun) -> None:
    texts = [f"note {number}" for number in range(30)]
    replies = await asyncio.gather(
        *(run.call("add_note", {"order_id": "7001", "text": text}) for text in texts)
    )
    rows = await run.trace()
    assert [row["sequence"] for row in rows] == list(range(1, 31))
    assert [row["arguments"]["text"] for row in rows] == texts
    for number, reply in enumerate(replies, 1):
        assert answered(reply)["response"]["notes"] == texts[:number]
    assert (await run.ledger())["state"]["order"]["7001"]["notes"] == texts
    assert (await run.ledger(step=12))["state"]["order"]["7001"]["notes"] == texts[:12]


# Refusals

DEEP = b'{"order_id":' + b"[" * 64 + b"]" * 64 + b"}"

REFUSALS: dict[str, tuple[str, bytes, dict[str, str], int, str]] = {
    "undeclared tool": ("get_orders", b"{}", {}, 404, "tool_not_declared"),
    "probe with a real token": ("__reachability_probe__", b"{}", {}, 404, "tool_not_declared"),
    "missing argument": ("get_order", b"{}", {}, 422, "invalid_arguments"),
    "no body": ("get_order", b"", {}, 422, "invalid_arguments"),
    "wrong type": ("get_order", b'{"order_id":4521}', {}, 422, "invalid_arguments"),
    "unknown argument": ("get_order", b'{"order_id":"1","x":1}', {}, 422, "invalid_arguments"),
    "not an object": ("get_order", b"[]", {}, 422, "invalid_arguments"),
    "not JSON": ("get_order", b"order_id=4521", {}, 400, "invalid_json"),
    "cut short": ("get_order", b'{"order_id":', {}, 400, "invalid_json"),
    "NaN": ("get_order", b'{"order_id":NaN}', {}, 400, "invalid_json"),
    "Infinity": ("get_order", b'{"order_id":-Infinity}', {}, 400, "invalid_json"),
    "a key twice": ("get_order", b'{"order_id":"1","order_id":"2"}', {}, 400, "invalid_json"),
    "nested too deep": ("get_order", DEEP, {}, 400, "invalid_json"),
    "not UTF-8": ("get_order", b'{"order_id":"\xff"}', {}, 400, "invalid_json"),
    "half a surrogate pair": ("get_order", b'{"order_id":"\\ud800"}', {}, 400, "invalid_json"),
    "compressed": (
        "get_order",
        b"\x1f\x8b\x08\x00",
        {"content-encoding": "gzip"},
        400,
        "invalid_json",
    ),
    "too large": ("get_order", b" " * (MEBIBYTE + 1), {}, 413, "body_too_large"),
    "bad actor": ("get_order", b"{}", {"x-pipelines-actor-id": "a//b"}, 400, "actor_id_invalid"),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_refused_call_says_why_and_leaves_a_row(run: DrivenRun, case: str) -> None:
    name, body, headers, status, code = REFUSALS[case]
    reply = await run.raw(f"tools/{name}", body, **headers)
    error = refused(reply, status, code)
    envelope = reply.json()
    assert envelope["source"] == reply.headers["x-pipelines-source"] == "error"
    assert envelope["response"] == {"error": error}
    assert "validation" not in envelope
    (row,) = await run.trace()
    assert (row["sequence"], row["source"], row["error_code"]) == (1, "error", code)
    assert (row["tool_name"], row["updates"]) == (name, [])
    assert error_of(row) == code


async def test_the_nearest_declared_names_are_offered(run: DrivenRun) -> None:
    error = refused(await run.call("get_ordr", ORDER), 404, "tool_not_declared")
    assert error["details"]["nearest"][0] == "get_order"
    assert "get_order" in error["message"]


async def test_every_bad_argument_is_named_by_its_pointer(run: DrivenRun) -> None:
    reply = await run.call("search_inventory", {"query": 1, "limit": 0, "colour": "blue"})
    details = refused(reply, 422, "invalid_arguments")["details"]
    paths = {problem["path"] for problem in details}
    assert {"/query", "/limit"} <= paths
    assert len(details) == 3
    assert all(problem["message"] for problem in details)


async def test_a_body_of_just_a_mebibyte_is_read(run: DrivenRun) -> None:
    body = json.dumps(ORDER).encode().ljust(MEBIBYTE)
    answered(await run.raw("tools/get_order", body), 200)
    refused(await run.raw("tools/get_order", body + b" "), 413, "body_too_large")


ECHO = [
    tool(
        "echo",
        "Say it twice.",
        {"text": {"type": "string"}},
        ["text"],
        simulation=[{"flag": "'said'"}, {"return": {"once": "args.text", "twice": "args.text"}}],
    )
]


@pytest.mark.parametrize(
    ("character", "times", "status"),
    [("x", 500_000, 200), ("x", 600_000, 413), ("ä", 250_000, 200), ("ä", 400_000, 413)],
    ids=["under", "over", "under in bytes", "over in bytes, not in characters"],
)
async def test_a_reply_over_a_mebibyte_is_not_sent_and_changes_nothing(
    org: Org, character: str, times: int, status: int
) -> None:
    run = await org.run(await org.agent(tools_schema=ECHO))
    reply = await run.raw("tools/echo", json.dumps({"text": character * times}, ensure_ascii=False).encode())
    assert reply.status_code == status, reply.text[:300]
    (row,) = await run.trace()
    flags = (await run.ledger())["flags"]
    if status == 413:
        refused(reply, 413, "reply_too_large")
        assert (row["error_code"], flags) == ("reply_too_large", [])
    else:
        assert len(reply.content) < MEBIBYTE + 1024
        assert flags == ["said"]


@pytest.mark.parametrize(("more", "status"), [(-1, 200), (0, 200), (1, 413)], ids=["under", "just", "over"])
async def test_a_plan_may_answer_with_just_a_mebibyte(org: Org, more: int, status: int) -> None:
    plan = [{"return": {"what_was_said": "args.text"}}]
    echo = tool("echo", "Say it.", {"text": {"type": "string"}}, ["text"], simulation=plan)
    run = await org.run(await org.agent(tools_schema=[echo]))
    around = len(json.dumps({"what_was_said": ""}, separators=(",", ":")))
    reply = await run.call("echo", {"text": "x" * (MEBIBYTE - around + more)})
    assert reply.status_code == status, reply.text[:300]
    if status == 200:
        assert len(json.dumps(reply.json()["response"], separators=(",", ":"))) == MEBIBYTE + more


async def test_a_forced_reply_over_a_mebibyte_is_refused_with_its_task(org: Org) -> None:
    error = {"code": 200, "response": "x" * (MEBIBYTE + 1)}
    rule = {"trigger": "after_n_calls", "tool": "*", "n": 1, "error": error}
    body = {"name": "large", "rows": [{"user": "Hi", "failure_rules": [rule]}]}
    reply = refused(await org.client.post("/api/datasets", json=body), 422, "invalid_request")
    assert "at most 1 MiB" in reply["message"]


async def test_what_cannot_be_simulated_answers_502_and_leaves_a_row(org: Org) -> None:
    number = {"n": {"type": "string"}}
    broken = tool("broken", "", number, ["n"], simulation=[{"flag": "'gone'"}, {"return": "1 + args.n"}])
    run = await org.run(await org.agent(tools_schema=[*TOOLS, broken]))
    reply = await run.call("broken", {"n": "x"})
    refused(reply, 502, "simulation_failed")
    assert reply.json()["source"] == "error"
    assert "retry-after" not in reply.headers
    (row,) = await run.trace()
    assert (row["source"], row["error_code"], row["updates"]) == ("error", "simulation_failed", [])


async def test_a_reply_that_breaks_the_output_schema_is_not_sent_and_changes_nothing(org: Org) -> None:
    output = {"type": "object", "properties": {"flag": {"type": "integer"}}, "required": ["flag"]}
    agent = await org.agent(tools_schema=[*TOOLS[:-1], TOOLS[-1] | {"output_schema": output}])
    run = await org.run(agent)
    reply = await run.call("raise_flag", {"flag": "vip"})
    refused(reply, 502, "simulation_failed")
    (row,) = await run.trace()
    assert (row["source"], row["validation"]["ok"], row["updates"]) == ("error", False, [])
    assert row["validation"]["errors"]
    assert (await run.ledger())["flags"] == []


async def test_an_update_that_breaks_the_ledger_schema_is_not_made(org: Org) -> None:
    schema = {
        "entities": [{"type": "order", "id_field": "order_id"}, {"type": "item", "id_field": "sku"}],
        "flags": {"policy": "closed", "values": ["vip"]},
    }
    run = await org.run(await org.agent(ledger_schema=schema))
    refused(await run.call("raise_flag", {"flag": "unheard_of"}), 502, "simulation_failed")
    assert answered(await run.call("raise_flag", {"flag": "vip"}))["response"] == {"flag": "vip"}
    assert (await run.ledger())["flags"] == ["vip"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "tools/get_order", 405, "method_not_allowed"),
        ("PUT", "tools/get_order", 405, "method_not_allowed"),
        ("DELETE", "tools", 405, "method_not_allowed"),
        ("POST", "tools", 405, "method_not_allowed"),
        ("GET", "traces/custom", 405, "method_not_allowed"),
        ("POST", "traces", 405, "method_not_allowed"),
        ("POST", "toolz/get_order", 404, "not_found"),
        ("POST", "", 404, "not_found"),
        ("POST", "runs", 404, "not_found"),
        ("POST", "tools/", 404, "tool_not_declared"),
        ("POST", "tools/get_order/", 404, "tool_not_declared"),
        ("POST", "tools/a/b/c/d/e/f", 404, "tool_not_declared"),
    ],
)
async def test_a_wrong_path_or_method_is_told_so(
    run: DrivenRun, method: str, path: str, status: int, code: str
) -> None:
    refused(await run.raw(path, b"{}", method), status, code)


async def test_a_tool_name_keeps_its_slashes_in_the_trace(run: DrivenRun) -> None:
    path = f"runs/{run.jti}/tools/a/b/c/d"
    refused(await run.raw(path, b"{}"), 404, "tool_not_declared")
    (row,) = await run.trace()
    assert row["tool_name"] == "a/b/c/d"


# Actors


ACTORS = ["supervisor", "supervisor/refunds", "a.b-c_D9", "/".join(["a"] * 8), "x" * 64, "undeclared/one"]

NO_ACTORS = [
    "",
    "/",
    "a/",
    "/a",
    "a//b",
    "a b",
    "ä",
    "a\tb",
    "/".join(["a"] * 9),
    "x" * 65,
    "a\\b",
    "../a/../b ",
]


async def test_a_well_formed_actor_is_kept(run: DrivenRun) -> None:
    for actor in ACTORS:
        answered(await run.call("get_order", ORDER, x_pipelines_actor_id=actor))
    assert [row["actor_id"] for row in await run.trace()] == ACTORS


async def test_a_malformed_actor_is_refused_on_calls_and_events(run: DrivenRun) -> None:
    for actor in NO_ACTORS:
        headers: Any = run.auth | {"X-Pipelines-Actor-Id": actor.encode()}
        for path, body in (("tools/get_order", ORDER), ("traces/thinking", {})):
            reply = await run.client.post(f"{PROXY_BASE}/{path}", json=body, headers=headers)
            refused(reply, 400, "actor_id_invalid")


async def test_without_the_header_there_is_no_actor(run: DrivenRun) -> None:
    answered(await run.call("get_order", ORDER))
    assert [row["actor_id"] for row in await run.trace()] == [None]


async def test_an_actor_id_in_the_body_is_an_argument_like_any_other(run: DrivenRun) -> None:
    arguments = {"order_id": "7001", "text": "hi", "actor_id": "not//an actor!"}
    answered(await run.call("add_note", arguments, x_pipelines_actor_id="desk"))
    (row,) = await run.trace()
    assert (row["actor_id"], row["arguments"]) == ("desk", arguments)
