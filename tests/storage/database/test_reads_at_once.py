"""The usual lists are answered in one turn of the event loop, in the same words as beside it."""

import inspect
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from pipelines.storage.database.database import WORKS_FOR
from support.desk import TASK, House, Org

pytestmark = pytest.mark.anyio
QUERIES = (
    "",
    "limit=1",
    "limit=2&cursor=Mw",
    "limit=100",
    "limit=101",
    "limit=0",
    "limit=x",
    "cursor=%00",
    "cursor=OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5",
    "agent_id=1",
    "agent_id=9223372036854775807",
    "agent_id=9223372036854775808",
    "status=running",
    "status=nothing",
    "verdict=PASS&needs_review=false",
    "needs_review=true",
    "mode=%27%20OR%201=1",
    "unknown=1&limit=1&limit=2",
)


async def _first_step(house: House, path: str, query: str, headers: dict[str, str]) -> list[Any] | None:
    """What an ASGI server is sent for a GET, if that is sent before the application waits for anything."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [
            (b"host", b"test"),
            *((name.encode(), value.encode()) for name, value in headers.items()),
        ],
        "scheme": "http",
        "server": ("test", 80),
        "client": ("127.0.0.1", 1),
        "http_version": "1.1",
        "root_path": "",
        "asgi": {"version": "3.0"},
    }
    answering = house.app(scope, receive, send)
    try:
        answering.send(None)
    except StopIteration:
        return sent
    answering.close()
    return None


@pytest.mark.parametrize("path", ["/api/runs", "/api/batches"])
async def test_a_list_is_answered_in_one_turn(house: House, path: str) -> None:
    await house.owner.run()
    sent = await _first_step(house, path, "limit=50", {"x-api-key": house.owner.key})
    assert sent is not None
    assert [message.get("status") for message in sent] == [200, None]


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "pk_live_wrong"}])
async def test_a_stranger_is_refused_in_one_turn(house: House, headers: dict[str, str]) -> None:
    sent = await _first_step(house, "/api/runs", "", headers)
    assert sent is not None
    assert sent[0]["status"] == 401


@pytest.mark.parametrize("path", ["/api/runs", "/api/batches"])
async def test_both_ways_answer_with_the_same_bytes(house: House, path: str) -> None:
    own, other = house.owner, await house.another_org()
    agent = await own.agent()
    for _ in range(4):
        await own.run(agent)
    await other.run()

    async def told(org: Org) -> list[tuple[int, bytes]]:
        replies = [await org.client.get(f"{path}?{query}") for query in QUERIES]
        return [(reply.status_code, reply.content) for reply in replies]

    at_once = await told(own), await told(other)
    database = house.platform.database
    database._brief, brief = None, database._brief
    try:
        assert (await told(own), await told(other)) == at_once
    finally:
        database._brief = brief
    assert path != "/api/runs" or at_once[0] != at_once[1]


async def test_a_revoked_key_is_refused_at_once(house: House) -> None:
    client = house.owner.client
    made = (await client.post("/api/keys", json={"name": "short-lived", "role": "viewer"})).json()
    headers = {"x-api-key": made["api_key"]}
    assert (await house.stranger.get("/api/runs", headers=headers)).status_code == 200
    assert (await client.delete(f"/api/keys/{made['id']}")).is_success
    assert (await house.stranger.get("/api/runs", headers=headers)).status_code == 401


async def test_a_list_of_runs_with_very_long_responses_leaves_the_loop(house: House) -> None:
    org = house.owner
    agent = await org.agent()
    dataset = await org.dataset(*[TASK] * 30, agent_id=agent["id"])
    runs = [await org.open_run(agent["id"], task_id) for task_id in dataset["task_ids"]]
    await house.platform.database.write(
        lambda connection: connection.execute("UPDATE runs SET final_response = ?", ("ä" * 2_000_000,))
    )
    assert await _first_step(house, "/api/runs", "limit=50", {"x-api-key": org.key}) is None
    listed = (await org.client.get("/api/runs?limit=50")).json()["items"]
    assert [run["final_response"] for run in listed] == ["ä" * 500] * len(runs)


def _operations(routes: list[Any]) -> list[APIRoute]:
    inner = [route.original_router.routes for route in routes if hasattr(route, "original_router")]
    own = [route for route in routes if isinstance(route, APIRoute)]
    return own + [route for some in inner for route in _operations(some)]


def test_no_route_asks_a_thread_for_what_it_depends_on(house: House) -> None:
    """FastAPI runs a plain function in one, which costs several turns of the loop."""

    def plain(dependant: Dependant) -> set[str]:
        found = set().union(*map(plain, dependant.dependencies))
        call = dependant.call
        if call is not None and not inspect.iscoroutinefunction(call):
            found.add(getattr(call, "__qualname__", repr(call)))
        return found

    operations = [route for app in (house.app.api, house.app.pages) for route in _operations(app.routes)]
    assert len(operations) > 200
    assert set().union(*(plain(route.dependant) for route in operations)) == set()


async def test_what_is_read_by_a_thread_is_read_for_whoever_asked(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that an org's many slow questions are its own to wait for."""
    other = await house.another_org()
    ids = [(each, (await each.run()).id) for each in (house.owner, other)]
    database, asked_for = house.platform.database, []
    read = database.read

    async def noting(question: Any) -> Any:
        asked_for.append(WORKS_FOR.get())
        return await read(question)

    monkeypatch.setattr(database, "read", noting)
    for org, run_id in ids:
        asked_for.clear()
        assert (await org.client.get(f"/api/runs/{run_id}")).is_success
        assert set(asked_for) == {org.id}
