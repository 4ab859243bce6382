"""Rows made part by part: what is stored stays, nothing is stored twice, and every bucket comes to an end."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.worlds import generate_rows
from pipelines.engine.worlds.authors import AuthoredRows, RowsRequest, SessionBrief
from pipelines.engine.worlds.embedded_author import EmbeddedAuthor
from pipelines.engine.worlds.open_session import find_session
from pipelines.processes.pool import JobFailed, TookTooMuch
from pipelines.storage.tasks.seed_rows import NewRow
from pipelines.storage.tasks.seed_sessions import SeedSession
from support.desk import House, Org, answered, every_item, open_house

pytestmark = pytest.mark.anyio
Row = dict[str, Any]
SESSIONS = "/api/seed-sessions"


class Slowly(EmbeddedAuthor):
    """Two drafts a part, of which every third is rejected; `before` is awaited ahead of each part."""

    def __init__(self, before: Callable[[RowsRequest], Any], *, most: int = 10**6) -> None:
        self._before = before
        self._most = most

    async def draft_rows(self, brief: SessionBrief, *, world: str, wanted: RowsRequest) -> AuthoredRows:
        await self._before(wanted)
        start = wanted.bucket.drafted
        end = min(start + 2, self._most, wanted.most_drafts)
        rows = [self._row(wanted, number) for number in range(start + 1, end + 1)]
        return AuthoredRows(rows, end, end >= min(self._most, wanted.most_drafts), ("read as it is",))

    def _row(self, wanted: RowsRequest, number: int) -> NewRow:
        text = f"{wanted.bucket.name} {number} of {wanted.rng_seed}"
        if number % 3 == 0:
            return NewRow(number, "rejected", text, None, None, "near_duplicate", "nearly another")
        seed = f'{{"user_instruction":"{text}"}}'
        return NewRow(number, "kept", text, seed, '{"said":"so","calls":[]}', None, None)


async def at_once(wanted: RowsRequest) -> None:
    pass


@pytest.fixture
def author(monkeypatch: pytest.MonkeyPatch) -> Callable[[EmbeddedAuthor], None]:
    def use(made: EmbeddedAuthor) -> None:
        monkeypatch.setattr(generate_rows, "author_of", lambda platform, name: made)

    return use


async def opened(org: Org, *buckets: tuple[str, int]) -> Row:
    agent = await org.agent()
    body = {
        "agent_id": agent["id"],
        "name": "orders",
        "size": "compact",
        "rng_seed": 1,
        "buckets": [{"name": name, "rows": rows} for name, rows in buckets],
    }
    session: Row = answered(await org.client.post(SESSIONS, json=body), 201)
    answered(await org.client.post(f"{SESSIONS}/{session['id']}/continue"), 202)
    return session


async def ended(org: Org, session: Row) -> Row:
    async with org.client.stream("GET", f"{SESSIONS}/{session['id']}/events") as events:
        async for _ in events.aiter_lines():
            pass
    return answered(await org.client.get(f"{SESSIONS}/{session['id']}"))  # type: ignore[no-any-return]


async def all_rows(org: Org, session: Row) -> list[tuple[int, str, str]]:
    rows = await every_item(org.client, f"{SESSIONS}/{session['id']}/rows", status="any")
    return [(row["bucket"], row["status"], row["user_instruction"].split(" of ")[0]) for row in rows]


async def test_buckets_are_filled_in_order_and_rejected_drafts_are_kept_with_their_reason(org, author):
    author(Slowly(at_once))
    session = await opened(org, ("a", 3), ("b", 1))
    done = await ended(org, session)
    assert done["status"] == "rows_review"
    assert [(each["kept"], each["rejected"], each["done"]) for each in done["buckets"]] == [
        (3, 1, True),
        (2, 0, True),
    ]
    assert [row[2] for row in await all_rows(org, session)] == ["a 1", "a 2", "a 3", "a 4", "b 1", "b 2"]


async def test_a_server_that_stops_between_parts_goes_on_where_it_stopped(
    tmp_path: Path, author, anyio_backend: str
):
    reached = asyncio.Event()

    async def stop_at_the_third(wanted: RowsRequest) -> None:
        if wanted.bucket.drafted >= 4:
            reached.set()
            await asyncio.Event().wait()  # until the server is closed over it

    author(Slowly(stop_at_the_third))
    async with open_house(tmp_path / "house") as house:
        session = await opened(house.owner, ("a", 6), ("b", 2))
        await reached.wait()
        before = await all_rows(house.owner, session)
        assert [row[2] for row in before] == ["a 1", "a 2", "a 3", "a 4"]
    author(Slowly(at_once))
    async with open_house(tmp_path / "house") as house:
        done = await ended(house.owner, session)
        after = await all_rows(house.owner, session)
    assert done["status"] == "rows_review"
    assert after[:4] == before
    assert len(set(after)) == len(after)
    assert [each["kept"] >= each["wanted"] for each in done["buckets"]] == [True, True]


async def test_two_that_work_on_one_session_store_each_draft_once(house: House, org, author):
    author(Slowly(at_once))
    session = await opened(org, ("a", 9))
    other = generate_rows.RowGenerator(house.platform)
    await other.start()
    done = await ended(org, session)
    await other.close()
    rows = await all_rows(org, session)
    assert len({row[2] for row in rows}) == len(rows) == done["counts"]["kept"] + done["counts"]["rejected"]


async def test_a_bucket_that_runs_out_of_drafts_says_so(org, author):
    author(Slowly(at_once, most=4))
    done = await ended(org, await opened(org, ("a", 9)))
    (bucket,) = done["buckets"]
    assert (bucket["kept"], bucket["wanted"], bucket["done"]) == (3, 9, True)
    assert (
        bucket["problem"]
        == "3 of 9 rows: of 4 drafts, no more could be proved, and there are no further drafts"
    )
    assert bucket["notes"] == ["read as it is"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TookTooMuch("time", "120 s"), "making its rows takes more than 120 s"),
        (Refused([Problem(path="/theme", message="is not understood")]), "/theme is not understood"),
        (JobFailed("Traceback …"), "the platform failed to make its rows; see the server's log"),
    ],
)
async def test_an_author_that_fails_ends_its_bucket_and_the_others_go_on(org, author, error, said):
    async def fail_in_a(wanted: RowsRequest) -> None:
        if wanted.bucket.name == "a" and wanted.bucket.drafted:
            raise error

    author(Slowly(fail_in_a))
    done = await ended(org, await opened(org, ("a", 9), ("b", 2)))
    assert done["status"] == "rows_review"
    assert done["buckets"][0]["problem"] == f"2 of 9 rows: {said}"
    assert done["buckets"][1]["kept"] == 2


async def test_while_rows_are_made_there_is_no_dataset_and_nothing_is_dropped(org, author):
    goes_on, reached = asyncio.Event(), asyncio.Event()

    async def wait(wanted: RowsRequest) -> None:
        if wanted.bucket.drafted:
            reached.set()
            await goes_on.wait()

    author(Slowly(wait))
    session = await opened(org, ("a", 3))
    await reached.wait()
    path = f"{SESSIONS}/{session['id']}"
    (first, *_) = await every_item(org.client, f"{path}/rows")
    for early in (
        await org.client.post(f"{path}/finalize"),
        await org.client.delete(f"{path}/rows/{first['id']}"),
        await org.client.post(f"{path}/rows/{first['id']}/regenerate"),
        await org.client.delete(f"{path}/buckets/1"),
        await org.client.post(f"{path}/buckets/1/regenerate"),
        await org.client.post(f"{path}/continue"),
    ):
        assert early.status_code == 409
        assert early.json()["error"]["details"]["status"] == "rows_generating"
    goes_on.set()
    assert (await ended(org, session))["status"] == "rows_review"


async def test_what_is_proved_after_a_session_was_abandoned_is_not_stored(org, author):
    goes_on, reached = asyncio.Event(), asyncio.Event()

    async def wait(wanted: RowsRequest) -> None:
        reached.set()
        await goes_on.wait()

    author(Slowly(wait))
    session = await opened(org, ("a", 3))
    await reached.wait()
    answered(await org.client.post(f"{SESSIONS}/{session['id']}/abandon"), 200)
    goes_on.set()
    assert (await ended(org, session))["status"] == "abandoned"
    assert await all_rows(org, session) == []


async def test_a_session_that_is_asked_for_while_its_worker_ends_is_looked_at_again(
    house: House, org, author, monkeypatch: pytest.MonkeyPatch
):
    """It is in review again, and may be asked for more rows, a moment before its worker has ended."""
    author(Slowly(at_once))
    session = await opened(org, ("a", 2))
    await ended(org, session)
    generator = house.app.api.state.row_generator
    stored = await find_session(house.platform, org.id, session["id"])
    looks: list[int] = []

    async def look(session: SeedSession) -> bool:
        looks.append(session.id)
        if len(looks) == 1:
            generator.begin(session)
        return False

    monkeypatch.setattr(generator, "_make_next_part", look)
    generator.begin(stored)
    await asyncio.gather(*generator._at_work.values())
    assert looks == [stored.id, stored.id]
    assert generator._at_work == {}


async def test_orgs_take_turns(house: House, org, author):
    """A session of many parts does not hold up another org's small one."""
    parts: list[str] = []

    async def note(wanted: RowsRequest) -> None:
        parts.append(wanted.bucket.name)

    author(Slowly(note))
    other = await house.another_org()
    large = await opened(org, ("large", 400))
    small = await opened(other, ("small", 2))
    await ended(other, small)
    assert "small" in parts
    seen = answered(await org.client.get(f"{SESSIONS}/{large['id']}"))
    assert seen["status"] == "rows_generating", "the large one is still at it"
    answered(await org.client.post(f"{SESSIONS}/{large['id']}/abandon"), 200)
