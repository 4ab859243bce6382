"""Tools passed through to a real service: what the agent gets, the trace says, the world becomes."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from support.desk import DrivenRun, Org, Row, answered, refused
from support.orders_service import OrdersService, orders_service

pytestmark = pytest.mark.anyio
ENDPOINTS = "/api/tool-endpoints"
ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
LEDGER_SCHEMA = {
    "entities": [
        {
            "type": "order",
            "id_field": "order_id",
            "fields": [{"name": "status", "type": "string"}, {"name": "total", "type": "number"}],
        }
    ]
}
STATE = {"order": {"1": {"status": "new", "total": 5}}}
# As the seed prints it.
ADAPTER = {
    "op": "update",
    "entity_type": "order",
    "id_from": "$.order_id",
    "field_map": {"status": "$.status", "total": "$.amount"},
    "flags": ["fetched_order:{order_id}"],
}


@pytest.fixture
def service() -> Iterator[OrdersService]:
    with orders_service() as running:
        yield running


def passed_through(name: str, schema: Any = None, **more: Any) -> Row:
    return {
        "name": name,
        "input_schema": schema or {"type": "object"},
        "default_execution_mode": "passthrough",
        "passthrough_binding": {"endpoint_name": "orders-api", "tool_name": name},
        **more,
    }


TOOLS: list[Row] = [
    passed_through("get_order", ORDER, ledger_write_policy="adapter", ledger_adapter=ADAPTER),
    passed_through("slow"),
    passed_through("page"),
    {
        "name": "list_orders",
        "description": "Lists all orders.",
        "input_schema": {"type": "object"},
    },
]


async def endpoint_of(org: Org, service: OrdersService, **more: Any) -> Row:
    body = {
        "name": "orders-api",
        "type": "http_openapi",
        "config": {"base_url": service.url, "spec": service.spec},
        **more,
    }
    made: Row = answered(await org.client.post(ENDPOINTS, json=body), 201)
    assert made["tools"] == 5, made
    return made


async def run_of(org: Org, service: OrdersService, **seed: Any) -> DrivenRun:
    await endpoint_of(org, service)
    agent = await org.agent(tools_schema=TOOLS, ledger_schema=LEDGER_SCHEMA)

    return await org.run(agent=agent, state=STATE, **seed)


async def test_a_live_answer_reaches_agent_trace_and_world(org: Org, service: OrdersService) -> None:
    run = await run_of(org, service)
    reply = answered(await run.call("get_order", {"order_id": "1"}))
    assert (reply["source"], reply["response"]) == ("passthrough", service.orders["1"])
    assert "validation" not in reply
    (row,) = await run.trace()
    assert (row["source"], row["http_status"], row["replayed"]) == ("passthrough", 200, False)
    assert (await run.ledger())["state"]["order"]["1"] == {"status": "shipped", "total": 12.5}
    assert (await run.ledger())["flags"] == ["fetched_order:1"]
    listed = answered(await run.call("list_orders"))
    assert listed["source"] == "odyssey"
    assert "shipped" in str(listed["response"])


async def test_an_error_of_the_service_is_its_answer(org: Org, service: OrdersService) -> None:
    run = await run_of(org, service)
    reply = await run.call("get_order", {"order_id": "404"})
    assert reply.status_code == 404
    assert reply.json()["source"] == "passthrough"
    assert reply.json()["response"] == {"error": "no such order"}


async def test_what_is_no_json_stays_text(org: Org, service: OrdersService) -> None:
    run = await run_of(org, service)
    assert answered(await run.call("page"))["response"] == "<p>hello nobody</p>"


async def test_a_failure_rule_comes_first_and_the_service_is_not_asked(
    org: Org, service: OrdersService
) -> None:
    down = {
        "trigger": "after_n_calls",
        "tool": "get_order",
        "n": 1,
        "error": {"code": 503, "message": "Down"},
    }
    run = await run_of(org, service, failure_rules=[down])
    assert (await run.call("get_order", {"order_id": "1"})).json()["source"] == "injected"
    assert service.asked == []
    assert answered(await run.call("get_order", {"order_id": "1"}))["source"] == "passthrough"


async def test_a_service_that_is_gone_is_a_transport_error(org: Org) -> None:
    with orders_service() as service:
        run = await run_of(org, service)
    reply = await run.call("get_order", {"order_id": "1"})
    assert reply.status_code == 502
    assert reply.json()["source"] == "transport_error"
    (row,) = await run.trace()
    assert (row["source"], row["error_code"]) == ("transport_error", "transport_error")


async def test_a_slow_hop_holds_up_its_own_run_alone_and_in_order(org: Org, service: OrdersService) -> None:
    run = await run_of(org, service)
    agent_id = run.opened["agent_id"]
    other = await org.run(agent={"id": agent_id}, state=STATE)
    slow = asyncio.ensure_future(run.call("slow"))
    assert await asyncio.to_thread(service.entered.wait, 30)
    behind = asyncio.ensure_future(run.call("list_orders"))
    assert answered(await other.call("get_order", {"order_id": "2"}))["source"] == "passthrough"
    assert not slow.done()
    assert not behind.done()
    service.open.set()
    assert answered(await slow)["response"] == {"late": True}
    assert answered(await behind)["source"] == "odyssey"
    assert [row["tool_name"] for row in await run.trace()] == ["slow", "list_orders"]


async def test_a_run_that_ends_gives_up_its_hop(org: Org, service: OrdersService) -> None:
    run = await run_of(org, service)
    slow = asyncio.ensure_future(run.call("slow"))
    assert await asyncio.to_thread(service.entered.wait, 30)
    answered(await run.finish())
    refused(await slow, 409, "run_not_active")


async def test_a_credential_is_sent_and_seen_nowhere(org: Org, service: OrdersService) -> None:
    secret = "s3cret-of-the-shop-4711"
    answered(await org.client.post("/api/credentials", json={"name": "SHOP", "value": secret}), 201)
    await endpoint_of(org, service, auth={"type": "bearer", "credential": "SHOP"})
    run = await org.run(agent=await org.agent(tools_schema=TOOLS, ledger_schema=LEDGER_SCHEMA), state=STATE)
    reply = await run.call("page")  # which repeats what it was sent
    assert secret not in reply.text
    assert "[secret SHOP]" in reply.text
    assert secret not in str(await run.trace())


async def test_a_tool_is_flipped_to_the_sandbox_and_back_without_the_agent(
    org: Org, service: OrdersService
) -> None:
    run = await run_of(org, service)
    agent_id = run.opened["agent_id"]
    sandboxed = [tool | {"default_execution_mode": "sandbox"} for tool in TOOLS]
    for tool in sandboxed:
        for key in ("ledger_write_policy", "ledger_adapter", "passthrough_binding"):
            tool.pop(key, None)
    for tools, source in ((sandboxed, "odyssey"), (TOOLS, "passthrough")):
        answered(await org.client.put(f"/api/agents/{agent_id}", json={"tools_schema": tools}))

        again = await org.run(agent={"id": agent_id}, state=STATE)
        assert answered(await again.call("get_order", {"order_id": "1"}))["source"] == source


REFUND = {"endpoint_name": "orders-api", "tool_name": "refund_order"}
CALLS: list[tuple[str, Row]] = [
    ("get_order", {"order_id": "1"}),
    ("get_order", {"order_id": "404"}),
    ("refund", {"order_id": "1", "amount": 5}),
    ("get_order", {"order_id": "1"}),  # another answer than the first time
    ("page", {}),
    ("broken", {}),
    ("list_orders", {}),
]
VARYING = ("latency_ms", "occurred_at", "replayed", "validation")


async def all_answered(run: DrivenRun) -> list[Any]:
    replies = [await run.call(name, arguments) for name, arguments in CALLS]
    bodies = [reply.json() for reply in replies]
    for body in bodies:
        body.pop("latency_ms")
    return [(reply.status_code, body) for reply, body in zip(replies, bodies, strict=True)]


def steady(rows: list[Row]) -> list[Row]:
    return [{key: value for key, value in row.items() if key not in VARYING} for row in rows]


async def test_a_recorded_run_repeats_with_the_service_gone_and_a_call_more_is_a_miss(org: Org) -> None:
    with orders_service() as service:
        await endpoint_of(org, service)
        tools = [
            *TOOLS,
            passed_through("refund", ORDER) | {"passthrough_binding": REFUND},
            passed_through("broken"),
        ]
        agent = await org.agent(tools_schema=tools, ledger_schema=LEDGER_SCHEMA)
        dataset = await org.dataset({"user": "Refund it.", "state": STATE}, agent_id=agent["id"])
        task_id = dataset["task_ids"][0]
        recorded = await org.open_run(agent["id"], task_id, passthrough="record", cassette="spring")
        live = await all_answered(recorded)
    again = await org.open_run(agent["id"], task_id, passthrough="replay", cassette="spring")
    assert await all_answered(again) == live
    trace, first = await again.trace(), await recorded.trace()
    assert steady(trace) == steady(first)
    assert [row["replayed"] for row in trace] == [True] * 6 + [False]
    assert not any(row["replayed"] for row in first)
    assert await again.ledger() | {"run_id": 0} == await recorded.ledger() | {"run_id": 0}
    missed = await again.call("get_order", {"order_id": "1"})
    assert missed.status_code == 502
    assert (missed.json()["source"], missed.json()["error"]["code"]) == ("transport_error", "cassette_miss")


async def test_a_recorded_run_repeats_though_the_endpoint_has_drifted(
    org: Org, service: OrdersService
) -> None:
    endpoint = await endpoint_of(org, service)
    agent = await org.agent(tools_schema=TOOLS, ledger_schema=LEDGER_SCHEMA)
    dataset = await org.dataset({"user": "Look.", "state": STATE}, agent_id=agent["id"])
    asked = {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"], "cassette": "spring"}
    run = DrivenRun(
        org.client, answered(await org.client.post("/api/runs", json=asked | {"passthrough": "record"}), 201)
    )
    answered(await run.call("get_order", {"order_id": "1"}))
    other = service.spec.replace("An order by its id.", "An order, or nothing.")
    changed = {"config": {"base_url": service.url, "spec": other}}
    answered(await org.client.put(f"{ENDPOINTS}/{endpoint['id']}", json=changed))
    refused(await org.client.post("/api/runs", json=asked | {"passthrough": "record"}), 409, "endpoint_drift")
    again = answered(await org.client.post("/api/runs", json=asked | {"passthrough": "replay"}), 201)
    assert answered(await DrivenRun(org.client, again).call("get_order", {"order_id": "1"}))["source"] == (
        "passthrough"
    )


async def test_a_cassette_is_asked_again_and_says_what_the_service_answers_otherwise(
    org: Org, service: OrdersService
) -> None:
    await endpoint_of(org, service)
    agent = await org.agent(tools_schema=TOOLS, ledger_schema=LEDGER_SCHEMA)
    dataset = await org.dataset({"user": "Look.", "state": STATE}, agent_id=agent["id"])
    run = await org.open_run(agent["id"], dataset["task_ids"][0], passthrough="record", cassette="spring")
    answered(await run.call("get_order", {"order_id": "1"}))
    answered(await run.call("get_order", {"order_id": "2"}))
    verified = answered(await org.client.post("/api/cassettes/spring/verify"))
    assert (verified["same"], verified["differ"]) == (2, 0)
    service.orders["2"]["status"] = "lost"
    verified = answered(await org.client.post("/api/cassettes/spring/verify"))
    assert (verified["same"], verified["differ"]) == (1, 1)
    assert "status" in str(verified["differences"])
