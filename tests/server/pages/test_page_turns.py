"""Pages are made by turns: whoever asks for many waits for itself."""

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from pipelines.server.pages import page
from pipelines.server.pages.app import RENDERED_AT_ONCE
from support.desk import House, Org

pytestmark = pytest.mark.anyio
PATIENCE_S = 60.0  # only a test that fails waits so long


async def _signed_in(house: House, org: Org) -> httpx2.AsyncClient:
    client = httpx2.AsyncClient(transport=house.transport, base_url="http://127.0.0.1")
    assert (await client.post("/sign-in", data={"key": org.key})).status_code == 303
    return client


async def test_an_org_with_many_slow_pages_leaves_others_theirs(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    many, one = await _signed_in(house, house.owner), await _signed_in(house, await house.another_org())
    has_begun, may_end, begun, render = threading.Event(), threading.Event(), [], page.render

    def slow(template: str, context: Mapping[str, Any]) -> str:
        if context["me"]["org"] != "another":
            begun.append(template)
            has_begun.set()
            may_end.wait(PATIENCE_S)
        return render(template, context)

    monkeypatch.setattr(page, "render", slow)
    waiting = [asyncio.create_task(many.get("/agents")) for _ in range(40)]
    try:
        assert await asyncio.to_thread(has_begun.wait, PATIENCE_S)
        assert (await asyncio.wait_for(one.get("/agents"), PATIENCE_S / 2)).status_code == 200
        assert len(begun) <= RENDERED_AT_ONCE - 1
    finally:
        may_end.set()
    assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}
