"""/settings/server tells an org of its own work, and of the whole server only where nobody else is on it."""

import re

import httpx2
import pytest

from pipelines.storage.runs.batches import add_batch
from support.desk import House, Org

pytestmark = pytest.mark.anyio


async def add_running_batch(house: House, org: Org) -> None:
    """A row alone: nothing is sent."""
    agent = await org.agent()
    batch = {"agent_id": agent["id"], "agent_version": 1, "dataset_id": None, "repeats": 1, "concurrency": 1}
    more = {"org_id": org.id, "now": house.platform.now()}
    await house.platform.database.write(lambda connection: add_batch(connection, **batch, **more))


async def shown_to(house: House, org: Org) -> str:
    base_url = "http://127.0.0.1"
    async with httpx2.AsyncClient(transport=house.transport, base_url=base_url) as browser:
        signed = await browser.post("/sign-in", data={"key": org.key})
        assert signed.status_code == 303
        page = await browser.get("/settings/server")
    assert page.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", page.text).split())


async def test_each_org_sees_its_own_batches(house: House, org: Org) -> None:
    other = await house.another_org()
    for each in (org, org, other):
        await add_running_batch(house, each)
    assert "Running batches 2 " in await shown_to(house, org)
    assert "Running batches 1 " in await shown_to(house, other)


async def test_figures_of_the_whole_server_are_for_who_is_alone_on_it(house: House, org: Org) -> None:
    await add_running_batch(house, org)
    alone = await shown_to(house, org)
    assert "In memory" in alone
    assert "Dispatches" in alone
    await house.another_org()
    beside = await shown_to(house, org)
    assert "In memory" not in beside
    assert "Dispatches" not in beside
    assert "Running batches 1 " in beside
