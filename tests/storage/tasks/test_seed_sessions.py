"""Seed sessions at rest, on both databases: every change says where it starts from, and is made once."""

from collections.abc import Iterator

import pytest

from pipelines.core.tasks.seed_session import ROWS_GENERATING, ROWS_REVIEW, WORLD_REVIEW, read_session_request
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents.agents import add_agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.tasks import seed_rows, seed_sessions, texts, world_revisions
from pipelines.storage.tasks.datasets import add_dataset
from pipelines.storage.tasks.seed_rows import NewRow, SeedBucket
from pipelines.storage.tasks.texts import named
from pipelines.storage.tasks.world_revisions import WorldRevision
from support.private_postgres import Cluster, cluster

pytestmark = pytest.mark.anyio
NOW, LATER = "2026-05-01T12:00:00.000000Z", "2026-05-01T13:00:00.000000Z"
WORLD = named(b'{"order":{}}')
BUCKETS = [{"name": "refunds", "rows": 3}, {"name": "trouble", "rows": 1}]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Cluster]:
    with cluster() as started:
        yield started


def opened(connection: Connection) -> int:
    agent_id = add_agent(connection, org_id=1, name="desk", status="published", now=NOW)
    request = read_session_request({"agent_id": agent_id, "name": "orders", "buckets": BUCKETS})
    texts.add_parts(connection, next(texts.slices_of([WORLD])), now=NOW)
    session_id = seed_sessions.add_session(
        connection,
        org_id=1,
        request=request,
        agent_version=1,
        rng_seed=2**53 - 1,
        world_now=NOW,
        now=NOW,
    )
    world_revisions.add_revision(connection, revision(session_id, 1))
    return session_id


def revision(session_id: int, number: int) -> WorldRevision:
    return WorldRevision(
        session_id=session_id,
        number=number,
        kind="made",
        prompt=None,
        undo_to=number - 1 or None,
        world_hash=WORLD.hash,
        rng_seed=2**53 - 1,
        told_text="{}",
        changes_text="{}",
        created_by="somebody",
        created_at=NOW,
    )


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(lambda connection: [add_org(connection, name, NOW) for name in ("one", "two")])
    await database.write(opened)
    return database


def freeze(connection: Connection, revision: int = 1) -> bool:
    return seed_sessions.freeze_world(
        connection, session_id=1, revision=revision, world_hash=WORLD.hash, content="c", now=LATER
    )


def bucket(connection: Connection, number: int = 1) -> SeedBucket:
    return seed_rows.buckets_of_session(connection, 1)[number - 1]


def kept(draft: int, text: str | None = None) -> NewRow:
    return NewRow(
        draft, "kept", text or f"ask {draft}", '{"user_instruction":"x"}', '{"said":""}', None, None
    )


def rejected(draft: int) -> NewRow:
    return NewRow(draft, "rejected", f"ask {draft}", None, None, "near_duplicate", "nearly another")


def drafted(connection: Connection, of: SeedBucket, *rows: NewRow, is_done: bool = False) -> bool:
    return seed_rows.store_drafts(
        connection,
        of,
        rows,
        drafted=of.drafted + len(rows),
        is_done=is_done,
        problem=None,
        notes=["read as refunds"],
        now=LATER,
    )


async def test_a_session_is_read_as_it_was_asked_for_in_its_own_org_alone(database: Database) -> None:
    def look(connection: Connection) -> None:
        session = seed_sessions.session_by_id(connection, org_id=1, session_id=1)
        assert session is not None
        assert (session.status, session.rng_seed, session.revision) == (WORLD_REVIEW, 2**53 - 1, 1)
        assert seed_sessions.session_by_id(connection, org_id=2, session_id=1) is None
        buckets = seed_rows.buckets_of_session(connection, 1)
        assert [(each.name, each.wanted, each.drafted) for each in buckets] == [
            ("refunds", 3, 0),
            ("trouble", 1, 0),
        ]

    await database.read(look)


async def test_a_revision_follows_the_one_it_was_asked_of_or_none(database: Database) -> None:
    def follow(connection: Connection, after: int) -> bool:
        if not seed_sessions.begin_revision(connection, session_id=1, after=after, now=LATER):
            return False
        world_revisions.add_revision(connection, revision(1, after + 1))
        return True

    assert await database.write(lambda connection: follow(connection, 1))
    assert not await database.write(lambda connection: follow(connection, 1))
    page = await database.read(
        lambda connection: world_revisions.revisions_of_session(
            connection, session_id=1, limit=1, before=None
        )
    )
    assert ([each.number for each in page.items], page.last_id) == ([2], 2)
    assert not await database.write(lambda connection: freeze(connection, 1)), "of a revision before"
    assert await database.write(lambda connection: freeze(connection, 2))
    assert not await database.write(lambda connection: freeze(connection, 2)), "twice"
    assert not await database.write(lambda connection: follow(connection, 2)), "it is frozen"


async def test_drafts_are_stored_once_whoever_made_them(database: Database) -> None:
    await database.write(freeze)
    seen = await database.read(bucket)
    assert await database.write(lambda connection: drafted(connection, seen, kept(1), rejected(2)))
    assert not await database.write(lambda connection: drafted(connection, seen, kept(1), rejected(2)))

    def look(connection: Connection) -> None:
        now = bucket(connection)
        assert (now.drafted, now.kept, now.rejected, now.notes) == (2, 1, 1, ("read as refunds",))
        assert seed_rows.reasons_of_session(connection, 1) == [("near_duplicate", 1)]
        page = seed_rows.rows_of_session(connection, 1, status=None, bucket=1, limit=1, after_id=None)
        assert [row.user_instruction for row in page.items] == ["ask 1"]
        assert page.last_id == page.items[0].id

    await database.read(look)


async def test_a_row_is_dropped_once_and_its_bucket_wants_one_less_or_another(database: Database) -> None:
    await database.write(freeze)

    def change(connection: Connection) -> None:
        drafted(connection, bucket(connection), kept(1), kept(2), kept(3), is_done=True)
        first, second, _ = seed_rows.rows_of_session(
            connection, 1, status="kept", bucket=None, limit=9, after_id=None
        ).items
        assert seed_rows.drop_row(connection, first, is_replaced=False)
        assert not seed_rows.drop_row(connection, first, is_replaced=False)
        now = bucket(connection)
        assert (now.wanted, now.kept, now.dropped, now.is_done) == (2, 2, 1, True)
        assert seed_rows.drop_row(connection, second, is_replaced=True)
        now = bucket(connection)
        assert (now.wanted, now.kept, now.is_done, now.drafted) == (2, 1, False, 3)
        assert seed_rows.texts_so_far(connection, now) == ["ask 1", "ask 2", "ask 3"]

    await database.write(change)


async def test_a_bucket_made_anew_starts_its_drafts_over(database: Database) -> None:
    await database.write(freeze)

    def change(connection: Connection) -> None:
        drafted(connection, bucket(connection), kept(1), kept(2), is_done=True)
        seed_rows.drop_bucket(connection, session_id=1, number=1, is_replaced=True)
        now = bucket(connection)
        assert (now.wanted, now.kept, now.drafted, now.round, now.is_done) == (3, 0, 0, 2, False)
        assert seed_rows.texts_so_far(connection, now) == [], "others may be like those that were dropped"
        assert drafted(connection, now, kept(1, "another"))
        seed_rows.drop_bucket(connection, session_id=1, number=1, is_replaced=False)
        assert bucket(connection).wanted == 0

    await database.write(change)


async def test_a_session_ends_once(database: Database) -> None:
    await database.write(freeze)

    def end(connection: Connection) -> list[bool]:
        dataset_id = add_dataset(connection, org_id=1, name="orders", agent_id=None, now=NOW)
        finalize = {"session_id": 1, "dataset_id": dataset_id, "now": LATER}
        move = {"session_id": 1, "before": ROWS_GENERATING, "after": ROWS_REVIEW, "now": LATER}
        return [
            seed_sessions.finalize_session(connection, **finalize),  # type: ignore[arg-type]
            seed_sessions.move_session(connection, **move),  # type: ignore[arg-type]
            seed_sessions.move_session(connection, **move),  # type: ignore[arg-type]
            seed_sessions.finalize_session(connection, **finalize),  # type: ignore[arg-type]
            seed_sessions.finalize_session(connection, **finalize),  # type: ignore[arg-type]
            seed_sessions.abandon_session(connection, session_id=1, now=LATER),
        ]

    assert await database.write(end) == [False, True, False, True, False, False]
    assert await database.read(seed_sessions.generating_sessions) == []


async def test_a_world_that_a_session_refers_to_is_in_use(database: Database) -> None:
    other = named(b"{}").hash
    used = await database.read(lambda connection: texts.texts_in_use(connection, [WORLD.hash, other]))
    assert used == {WORLD.hash}
