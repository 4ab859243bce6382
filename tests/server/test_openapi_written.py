"""The OpenAPI document is made once, however many ask for it at once."""

import asyncio
import json

import pytest

from loop_watch import MOST_LAG_S, least_lag
from pipelines.server.app import App
from pipelines.server.openapi import Written
from pipelines.server.settings import load_settings

pytestmark = pytest.mark.anyio


async def test_strangers_who_ask_at_once_share_one_document_and_hold_up_nobody() -> None:
    api = App(load_settings({})).api
    make, made = api.openapi, []

    def counted() -> dict[str, object]:
        api.openapi_schema = None  # what FastAPI keeps is kept for us, too
        made.append(1)
        return make()

    api.openapi = counted  # type: ignore[method-assign]

    async def ask() -> tuple[int, list[bytes]]:
        made.clear()
        written = Written(api)
        told = await asyncio.gather(*[written.document() for _ in range(50)], written.page())
        return len(made), told

    (times, told), lag_s = await least_lag(ask)
    assert times == 1
    assert json.loads(told[0])["info"]["title"] == "Odyssey"
    assert set(told[:50]) == {told[0]}
    assert lag_s < MOST_LAG_S
