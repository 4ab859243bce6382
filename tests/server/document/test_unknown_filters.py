"""A filter that an endpoint does not know is refused: ignored, it would answer with what nobody asked for."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import httpx2
import pytest

from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
from pipelines.wire.names import PROXY_BASE
from support.desk import House, Org, Row, answered, refused

pytestmark = pytest.mark.anyio
DOCUMENT: Row = App(load_settings({})).api.openapi()
SCHEMAS: Row = DOCUMENT["components"]["schemas"]


class Listing(NamedTuple):
    path: str
    known: tuple[str, ...]

    @property
    def url(self) -> str:
        """Whatever is named in the path: a filter is refused before anything is looked up."""
        return re.sub(r"\{\w+\}", "1", self.path)


def answers_a_page(operation: Row) -> bool:
    content = operation["responses"].get("200", {}).get("content", {})
    name = content.get("application/json", {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
    return "items" in SCHEMAS.get(name, {}).get("properties", {})


def read_operations() -> Iterator[tuple[Listing, bool]]:
    """Every GET of the API, and whether it is held to its declared parameters."""
    for path, methods in DOCUMENT["paths"].items():
        operation = methods.get("get")
        if operation is None or not path.startswith("/api/") or path.startswith(PROXY_BASE):
            continue
        known = tuple(each["name"] for each in operation.get("parameters", ()) if each["in"] == "query")
        yield Listing(path, known), bool(known) or answers_a_page(operation)


STRICT = [listing for listing, is_strict in read_operations() if is_strict]
OTHERS = [listing for listing, is_strict in read_operations() if not is_strict]


def test_the_lists_of_both_halves_of_the_api_are_among_them():
    assert len(STRICT) > 30
    for path in ("/api/runs", "/api/agents", "/api/tasks/{task_id}/oracles", "/api/v1/eval/runs"):
        assert path in [each.path for each in STRICT]


@pytest.mark.parametrize("listing", STRICT, ids=lambda listing: listing.path)
async def test_an_unknown_filter_is_refused_with_the_known_names(org: Org, listing: Listing) -> None:
    reply = await org.client.get(
        listing.url, params={"no_such_filter": "1", **dict.fromkeys(listing.known, "1")}
    )
    error = refused(reply, 422, "invalid_request")
    (problem,) = error["details"]
    assert problem["path"] == "no_such_filter"
    for name in listing.known:
        assert f"`{name}`" in problem["message"]


@pytest.mark.parametrize("listing", OTHERS, ids=lambda listing: listing.path)
async def test_what_takes_no_parameters_and_lists_nothing_goes_on_as_before(
    org: Org, listing: Listing
) -> None:
    plain = await org.client.get(listing.url)
    assert (await org.client.get(listing.url, params={"_": "1"})).status_code == plain.status_code


async def test_what_may_have_been_meant_is_told_for_each(org: Org) -> None:
    reply = await org.client.get(
        "/api/v1/eval/runs", params={"flagged": "true", "matrx_id": "mtx_1", "limit": 5}
    )
    error = refused(reply, 422, "invalid_request")
    assert {each["path"]: each["hint"] for each in error["details"]} == {
        "flagged": "did you mean `is_flagged`?",
        "matrx_id": "did you mean `matrix_id`?",
    }
    answered(await org.client.get("/api/v1/eval/runs", params={"is_flagged": "true", "limit": 5}))


async def test_who_asks_comes_first(org: Org) -> None:
    reply = await org.client.get("/api/runs?colour=red", headers={"authorization": "Bearer pk_live_wrong"})
    assert reply.status_code == 401


async def test_pages_and_what_asks_for_no_key_take_what_they_always_took(house: House, org: Org) -> None:
    async with httpx2.AsyncClient(transport=house.transport, base_url="http://127.0.0.1") as browser:
        assert (await browser.post("/sign-in", data={"key": org.key})).status_code == 303
        for page in ("/runs", "/review", "/evals", "/batches"):
            assert (await browser.get(f"{page}?colour=red")).status_code == 200
    assert (await org.client.get("/health?probe=1")).status_code == 200
