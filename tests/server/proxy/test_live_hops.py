"""Endpoints that stay open between calls: for how long, for whom, and what becomes of what they failed at."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.live_tools import (
    RECORD,
    REPLAY,
    DiscoveredTool,
    LiveCall,
    LiveCallFailed,
    LiveReply,
)
from pipelines.engine.calls import live_hops
from pipelines.engine.calls.live_hops import IDLE_S, KNOWN_S, LiveHops
from support.desk import House, Org, Row, answered
from support.tool_service import Service, ServiceEndpoint, served

pytestmark = pytest.mark.anyio
ENDPOINTS = "/api/tool-endpoints"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Endpoint(ServiceEndpoint):
    """Never answers `hang`."""

    async def call(self, tool: DiscoveredTool, arguments: JsonObject) -> LiveReply:
        assert not self.is_closed
        if arguments.get("order_id") == "hang":
            await asyncio.Event().wait()
        return await super().call(tool, arguments)


@pytest.fixture
def service() -> Iterator[Service]:
    with served() as running:
        yield running


@pytest.fixture(autouse=True)
def asked_by_the_tests(house: House) -> None:
    makers: Any = house.platform.endpoint_makers
    makers |= {"http_openapi": Endpoint}
    ServiceEndpoint.opened.clear()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def hops(house: House, clock: Clock) -> AsyncIterator[LiveHops]:
    made = LiveHops(house.platform, steady=clock)
    yield made
    await made.close()


async def endpoint_of(org: Org, service: Service, name: str = "orders-api", **more: Any) -> Row:
    config = {"base_url": service.url, "spec": "openapi: 3.1.0"}
    body = {"name": name, "type": "http_openapi", "config": config, **more}
    made: Row = answered(await org.client.post(ENDPOINTS, json=body), 201)
    ServiceEndpoint.opened.clear()  # what discovered it is closed
    return made


def call_of(org: Org, endpoint: Row, order_id: str = "1", **more: Any) -> LiveCall:
    return LiveCall(
        org_id=org.id,
        run_id=1,
        endpoint_id=endpoint["id"],
        tool_name="get_order",
        declared_name="get_order",
        arguments={"order_id": order_id},
        **more,
    )


async def credential(org: Org, name: str, value: str) -> None:
    answered(await org.client.post("/api/credentials", json={"name": name, "value": value}))


async def test_calls_share_what_is_open_until_nobody_asks(
    org: Org, service: Service, hops: LiveHops, clock: Clock
) -> None:
    endpoint = await endpoint_of(org, service)
    await asyncio.gather(*(hops.ask(call_of(org, endpoint)) for _ in range(5)))
    assert len(ServiceEndpoint.opened) == 1
    clock.now += IDLE_S + 1
    hops._close_idle()
    await asyncio.gather(*hops._closing)
    assert ServiceEndpoint.opened[0].is_closed
    await hops.ask(call_of(org, endpoint))
    assert len(ServiceEndpoint.opened) == 2


async def test_another_version_or_another_credential_of_its_own_is_opened_anew(
    org: Org, service: Service, hops: LiveHops, clock: Clock
) -> None:
    await credential(org, "SHOP", "first-value-of-it")
    endpoint = await endpoint_of(org, service, auth={"type": "bearer", "credential": "SHOP"})

    async def sent() -> Any:
        clock.now += KNOWN_S + 0.1
        await hops.ask(call_of(org, endpoint))
        return service.headers[-1]["authorization"], len(ServiceEndpoint.opened)

    assert await sent() == ("Bearer first-value-of-it", 1)
    await credential(org, "OTHER", "some-other-value")
    assert await sent() == ("Bearer first-value-of-it", 1)
    await credential(org, "SHOP", "second-value-of-it")
    assert await sent() == ("Bearer second-value-of-it", 2)
    assert ServiceEndpoint.opened[0].is_closed
    answered(await org.client.put(f"{ENDPOINTS}/{endpoint['id']}", json={"auth": None}))
    clock.now += KNOWN_S + 0.1
    await hops.ask(call_of(org, endpoint))
    assert "authorization" not in service.headers[-1]


async def test_an_endpoint_that_is_gone_is_told_and_not_asked(
    org: Org, service: Service, hops: LiveHops, clock: Clock
) -> None:
    endpoint = await endpoint_of(org, service)
    await hops.ask(call_of(org, endpoint))
    answered(await org.client.delete(f"{ENDPOINTS}/{endpoint['id']}"), 204)
    clock.now += KNOWN_S + 0.1
    with pytest.raises(LiveCallFailed, match="no longer exists"):
        await hops.ask(call_of(org, endpoint))


async def test_what_is_used_is_not_closed_for_another(
    org: Org, service: Service, hops: LiveHops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_hops, "MOST_OPEN", 1)
    endpoints = [await endpoint_of(org, service, f"service-{number}") for number in range(4)]
    replies = await asyncio.gather(*(hops.ask(call_of(org, each)) for each in endpoints * 3))
    assert {reply.status for reply in replies} == {200}


async def test_a_call_that_never_ends_is_recorded_as_that_and_replayed_as_that(
    org: Org, service: Service, hops: LiveHops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_hops, "CALL_TIMEOUT_S", 0.05)
    endpoint = await endpoint_of(org, service)
    with pytest.raises(LiveCallFailed, match="No answer came") as live:
        await hops.answer(call_of(org, endpoint, "hang", mode=RECORD, cassette="spring"))
    with pytest.raises(LiveCallFailed) as replayed:
        await hops.answer(call_of(org, endpoint, "hang", mode=REPLAY, cassette="spring"))
    assert (str(replayed.value), replayed.value.is_replayed) == (str(live.value), True)


async def test_a_failure_before_the_call_is_recorded_too(org: Org, service: Service, hops: LiveHops) -> None:
    endpoint = await endpoint_of(org, service)
    asked = call_of(org, endpoint, mode=RECORD, cassette="spring")
    missing = replace(asked, tool_name="nothing")
    with pytest.raises(LiveCallFailed, match="has no tool `nothing`"):
        await hops.answer(missing)
    with pytest.raises(LiveCallFailed, match="has no tool `nothing`") as replayed:
        await hops.answer(replace(missing, mode=REPLAY))
    assert replayed.value.is_replayed


async def test_nothing_is_opened_after_the_end(org: Org, service: Service, hops: LiveHops) -> None:
    endpoint = await endpoint_of(org, service)
    await hops.close()
    with pytest.raises(LiveCallFailed, match="stopping"):
        await hops.ask(call_of(org, endpoint))
    assert ServiceEndpoint.opened == []
