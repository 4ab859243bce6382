"""Tool calls that come again, too fast or after the end, or ask for what they must not see."""

import asyncio
import logging
from pathlib import Path

import httpx2
import pytest

from pipelines.wire.names import PROXY_BASE
from support.costly_values import as_arguments
from support.desk import (
    AGENT,
    STATE,
    TOOLS,
    DrivenRun,
    House,
    Org,
    Row,
    answered,
    open_house,
    outage,
    refused,
    tool,
)
from support.proxy_calls import ORDER

pytestmark = pytest.mark.anyio

# Retries of one call


async def test_a_retry_with_the_same_key_gets_the_first_reply_and_no_second_row(
    house: House, run: DrivenRun
) -> None:
    note = {"order_id": "7001", "text": "once"}
    first = await run.call("add_note", note, idempotency_key="k-1")
    second = await run.call("add_note", note, idempotency_key="k-1")
    house.platform.live_runs.forget({run.id})
    third = await run.call("add_note", note, idempotency_key="k-1")
    assert first.content == second.content == third.content
    assert first.headers["x-pipelines-source"] == third.headers["x-pipelines-source"] == "odyssey"
    assert len(await run.trace()) == 1
    assert (await run.ledger())["state"]["order"]["7001"]["notes"] == ["once"]


async def test_retries_at_the_same_moment_are_one_call(run: DrivenRun) -> None:
    note = {"order_id": "7001", "text": "once"}
    replies = await asyncio.gather(*(run.call("add_note", note, idempotency_key="k") for _ in range(20)))
    assert len({reply.content for reply in replies}) == 1
    assert len(await run.trace()) == 1


async def test_a_retried_injection_is_the_same_injection_and_moves_no_counter(org: Org) -> None:
    run = await org.run(failure_rules=[outage("refund_order", n=1)])
    first = await run.call("refund_order", ORDER, idempotency_key="k")
    again = await run.call("refund_order", ORDER, idempotency_key="k")
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert first.status_code == 502
    assert answered(await run.call("refund_order", ORDER))["source"] == "odyssey"
    assert [row["source"] for row in await run.trace()] == ["injected", "odyssey"]


async def test_a_retried_backend_error_keeps_its_status(run: DrivenRun) -> None:
    note = {"order_id": "none", "text": "x"}
    replies = [await run.call("add_note", note, idempotency_key="k") for _ in range(2)]
    assert [reply.status_code for reply in replies] == [404, 404]
    assert len(await run.trace()) == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("refund_order", {"order_id": "7001"}), ("get_order", ORDER)],
    ids=["other arguments", "another tool"],
)
async def test_a_key_used_for_another_call_is_refused(run: DrivenRun, name: str, arguments: Row) -> None:
    answered(await run.call("refund_order", ORDER, idempotency_key="k"))
    refused(await run.call(name, arguments, idempotency_key="k"), 409, "idempotency_key_reused")
    assert [row["error_code"] for row in await run.trace()] == [None, "idempotency_key_reused"]


async def test_keys_of_different_runs_do_not_meet(org: Org, run: DrivenRun) -> None:
    other = await org.run()
    answered(await run.call("refund_order", ORDER, idempotency_key="k"))
    answered(await other.call("get_order", ORDER, idempotency_key="k"))
    assert len(await other.trace()) == 1


async def test_an_empty_key_is_no_key(run: DrivenRun) -> None:
    for _ in range(2):
        answered(await run.call("get_order", ORDER, idempotency_key=""))
    assert len(await run.trace()) == 2


async def test_long_keys_that_begin_alike_are_different_keys(run: DrivenRun) -> None:
    for ending in "ab":
        note = {"order_id": "7001", "text": ending}
        answered(await run.call("add_note", note, idempotency_key="x" * 5000 + ending))
    assert len(await run.trace()) == 2


async def test_a_refused_call_does_not_use_up_its_key(run: DrivenRun) -> None:
    refused(await run.call("refund_order", {}, idempotency_key="k"), 422, "invalid_arguments")
    answered(await run.call("refund_order", ORDER, idempotency_key="k"))


# The rate


async def test_past_the_rate_calls_wait_and_leave_no_row(tmp_path: Path) -> None:
    async with open_house(tmp_path, proxy_rate_limit=3) as house:
        run, other = await house.owner.run(), await house.owner.run()
        for _ in range(3):
            answered(await run.call("get_order", ORDER))
        for _ in range(2):
            reply = await run.call("get_order", ORDER)
            error = refused(reply, 429, "rate_limited")
            assert error["retryable"] is True
            assert reply.json()["retryable"] is True
            assert 1 <= int(reply.headers["retry-after"]) <= 60
        assert len(await run.trace()) == 3
        answered(await other.call("get_order", ORDER))


async def test_a_run_that_was_slowed_down_says_so_when_it_ends(tmp_path: Path) -> None:
    async with open_house(tmp_path, proxy_rate_limit=1) as house:
        slowed, other = await house.owner.run(), await house.owner.run()
        for run in (slowed, other):
            answered(await run.call("get_order", ORDER))
        for _ in range(2):
            refused(await slowed.call("get_order", ORDER), 429, "rate_limited")
        for number in range(11):
            assert (await slowed.event("thinking", {"text": "Hm."})).status_code == (
                200 if number < 10 else 429
            )
        told = answered(await slowed.finish())["soft_warnings"]
        assert [warning for warning in told if "2 tool calls were refused for the rate limit" in warning]
        assert [warning for warning in told if "1 trace event was refused for the rate limit" in warning]
        assert not [
            warning for warning in answered(await other.finish())["soft_warnings"] if "rate" in warning
        ]


async def test_where_a_server_is_reached_from_elsewhere_the_rate_is_sixty_a_minute(tmp_path: Path) -> None:
    async with open_house(tmp_path, proxy_rate_limit=None, host="0.0.0.0") as house:
        run = await house.owner.run()
        statuses = [(await run.call("get_order", ORDER)).status_code for _ in range(62)]
        assert statuses == [200] * 60 + [429] * 2


async def test_on_loopback_there_is_no_rate_unless_asked_for(tmp_path: Path) -> None:
    async with open_house(tmp_path, proxy_rate_limit=None) as house:
        run = await house.owner.run()
        assert {(await run.call("get_order", ORDER)).status_code for _ in range(100)} == {200}


async def test_a_rate_of_zero_is_no_limit(run: DrivenRun) -> None:
    statuses = {(await run.call("get_order", ORDER)).status_code for _ in range(100)}
    assert statuses == {200}


# The end of a run


@pytest.mark.parametrize("end", ["finish", "cancel"])
async def test_after_its_end_a_run_refuses_calls_and_events_but_keeps_the_row(
    house: House, run: DrivenRun, end: str
) -> None:
    answered(await run.call("get_order", ORDER))
    body = {"final_response": "Done."} if end == "finish" else None
    answered(await run.client.post(f"/api/runs/{run.id}/{end}", json=body))
    refused(await run.call("refund_order", ORDER), 409, "run_not_active")
    refused(await run.event("thinking", {}), 409, "run_not_active")
    refused(await run.raw("tools", b"", "GET"), 409, "run_not_active")
    house.platform.live_runs.forget({run.id})
    refused(await run.call("refund_order", ORDER), 409, "run_not_active")
    rows = await run.trace()
    assert [row["error_code"] for row in rows] == [None, "run_not_active", "run_not_active"]
    assert (await run.ledger())["state"] == STATE


# Our own faults


async def test_a_fault_of_ours_answers_500_and_leaves_the_run_as_its_log_says(
    house: House, org: Org, caplog: pytest.LogCaptureFixture
) -> None:
    run = await org.run(failure_rules=[outage("get_order", n=3)])
    answered(await run.call("get_order", ORDER))
    live = next(iter(house.platform.live_runs._by_token.values()))

    class Broken:
        def answer(self, *_: object) -> None:
            raise ZeroDivisionError("secret detail")

    live.simulator = Broken()  # type: ignore[assignment]
    with caplog.at_level(logging.CRITICAL + 1):
        reply = await run.call("get_order", ORDER)
    refused(reply, 500, "internal_error")
    assert "secret detail" not in reply.text
    sources = [answered(await run.call("get_order", ORDER), status)["source"] for status in (200, 502, 200)]
    assert sources == ["odyssey", "injected", "odyssey"]
    assert [row["sequence"] for row in await run.trace()] == [1, 2, 3, 4]


# What the agent must not see

SECRET = "canary"

HIDDEN_AGENT = AGENT | {
    "auth_header_name": "X-Secret",
    "auth_header_value": f"Bearer {SECRET}-auth",
    "description": f"{SECRET}-description",
    "tools_schema": [
        *TOOLS,
        tool(
            "hide",
            "Fail now and then.",
            {"how": {"type": "string"}},
            ["how"],
            simulation=[
                {
                    "require": "args.how != 'never'",
                    "else": {"status": 409, "error": f"{SECRET}_plan", "message": "no"},
                },
                {
                    "require": "args.how != 'ruled'",
                    "else": {"status": 409, "error": "ruled"},
                    "rule": f"{SECRET}-named",
                },
                {"if": "args.how == 'break'", "then": [{"return": "1 + args.how"}]},
                {"return": {"how": "args.how"}, "rule": f"{SECRET}-named"},
            ],
        ),
    ],
}

HIDDEN_TASK: Row = {
    "user": f"{SECRET}-user",
    "behavior": (
        f"The {SECRET}-department blorbs every wibble of the fleem. "
        f"cancel_order only succeeds when the order's status is pending ({SECRET}-rule)."
    ),
    "failure_rules": [
        outage("get_order", n=1000) | {"error": {"code": 503, "message": f"{SECRET}-message"}},
    ],
    "expected_outcome": "refusal",
    "expected_state": {"order": {f"{SECRET}-state": {}}},
    "expected_calls": [{"tool": "get_order", "arguments": {"order_id": f"{SECRET}-call"}}],
    "task_input": {"note": f"{SECRET}-input"},
    "tags": [f"{SECRET}-tag"],
}


async def test_nothing_the_agent_must_not_see_reaches_it(house: House, org: Org) -> None:
    agent = answered(await org.client.post("/api/agents", json=HIDDEN_AGENT), 201)
    run = await org.run(agent, **HIDDEN_TASK)
    seen: list[httpx2.Response] = [
        await run.raw("tools", b"", "GET"),
        await run.raw(f"runs/{run.jti}/tools", b"", "GET"),
        await run.event("thinking", {"text": "hm"}),
        await run.event("nonsense", {}),
    ]
    for name, arguments in (
        ("get_order", ORDER),
        ("cancel_order", ORDER),
        ("cancel_order", {"order_id": "7001"}),
        ("refund_order", ORDER),
        ("search_inventory", {"query": "mug"}),
        ("hide", {"how": "well"}),
        ("hide", {"how": "break"}),
        ("hide", {"how": "ruled"}),
        ("hide", {}),
        ("nothing", {}),
        ("get_order", {"order_id": ["4521"]}),
    ):
        seen.append(await run.call(name, arguments))
    answered(await run.finish())
    seen.append(await run.call("get_order", ORDER))
    for reply in seen:
        everything = reply.text + str(reply.headers)
        assert SECRET not in everything, everything
        assert "behavi" not in reply.text


async def test_the_tools_of_a_run_are_listed_without_how_they_are_simulated(
    house: House, run: DrivenRun
) -> None:
    reply = await run.raw("tools", b"", "GET")
    shown = [{key: entry[key] for key in ("name", "description", "input_schema")} for entry in TOOLS]
    assert answered(reply) == {"items": shown, "next_cursor": None}
    refused(await house.stranger.get(f"{PROXY_BASE}/tools"), 401, "invalid_run_token")


async def test_an_output_schema_is_shown_with_its_tool(org: Org) -> None:
    output = {"type": "object", "properties": {"flag": {"type": "string"}}}
    run = await org.run(await org.agent(tools_schema=[TOOLS[-1] | {"output_schema": output}]))
    assert answered(await run.raw("tools", b"", "GET"))["items"][0]["output_schema"] == output


# What would take long


@pytest.mark.parametrize(
    "name", ["alternatives for each item", "a thousand alternatives, the last one right"]
)
async def test_arguments_that_take_long_to_check_are_refused_and_the_run_goes_on(org: Org, name: str) -> None:
    schema, arguments = as_arguments(name)
    hostile = {"name": "hostile", "description": "", "input_schema": schema}
    run = await org.run(await org.agent(tools_schema=[*TOOLS, hostile]))
    refusal = refused(await run.call("hostile", {"v": arguments["v"][:300_000]}), 422, "invalid_arguments")
    assert len(refusal["details"]) == 1
    assert answered(await run.call("get_order", ORDER), 200)["response"] == STATE["order"]["4521"]


async def test_the_list_of_tools_ends_with_the_run(run: DrivenRun) -> None:
    assert (await run.raw("tools", b"", "GET")).status_code == 200
    answered(await run.finish())
    after, called = await run.raw("tools", b"", "GET"), await run.call("get_order", ORDER)
    assert after.status_code == called.status_code >= 400
    assert after.json()["error"]["code"] == called.json()["error"]["code"]
