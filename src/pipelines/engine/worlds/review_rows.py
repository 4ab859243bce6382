"""From a world to its rows and on: freezing it, looking rows through, dropping and replacing, ending it."""

from collections.abc import Callable
from functools import partial
from typing import Literal

from pipelines.core.models.model_question import Purpose
from pipelines.core.tasks.seed_session import ROWS_GENERATING, ROWS_REVIEW, WORLD_REVIEW, read_only_revision
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.batches.check_budget import read_raised_budget
from pipelines.engine.find import find_agent
from pipelines.engine.models.check_prices import refuse_unpriced
from pipelines.engine.platform import Platform
from pipelines.engine.worlds.embedded_author import MEMORY, MOST_RESULT, WORLD_S
from pipelines.engine.worlds.generate_rows import RowGenerator
from pipelines.engine.worlds.open_session import brief_of, find_session, refuse_state, wrong_state
from pipelines.engine.worlds.review_world import find_revision, overtaken_error, stale_revision
from pipelines.processes.pool import Job
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Page
from pipelines.storage.runs import model_budgets
from pipelines.storage.tasks import seed_rows, seed_sessions, texts
from pipelines.storage.tasks.seed_rows import SeedBucket, SeedRow
from pipelines.storage.tasks.seed_sessions import SeedSession
from pipelines.wire.errors import Conflict, NotFound

RowFilter = Literal["kept", "rejected", "dropped", "any"]


async def continue_session(
    platform: Platform,
    generator: RowGenerator,
    org_id: int,
    session_id: int,
    body: JsonObject,
    *,
    seen: int | None = None,
) -> SeedSession:
    """Freeze the world, named by its content, and start on the rows."""
    seen = read_only_revision(body) or seen
    session = await find_session(platform, org_id, session_id)
    refuse_state(session, WORLD_REVIEW, "continue to its rows")
    if seen is not None and seen != session.revision:
        raise stale_revision(session, seen)
    revision = await find_revision(platform, session, session.revision)
    world = await platform.database.read(partial(texts.text_of, name=revision.world_hash))
    job = Job("canonical_hash", {}, WORLD_S, 1024, MEMORY)
    (content,) = await platform.upload_helpers.run(job, world.encode(), owner=org_id)
    freeze = partial(
        seed_sessions.freeze_world,
        session_id=session.id,
        revision=revision.number,
        world_hash=revision.world_hash,
        content=content.decode(),
        now=platform.now(),
    )
    if not await platform.database.write(freeze):
        raise await overtaken_error(platform, session, revision.number, "continue to its rows")
    frozen = await find_session(platform, org_id, session_id)
    generator.begin(frozen)
    return frozen


async def resume_session(
    platform: Platform, generator: RowGenerator, org_id: int, session_id: int, body: JsonObject
) -> SeedSession:
    """With another budget for models, where one is given; buckets that ended short are gone on with."""
    session = await find_session(platform, org_id, session_id)
    if session.status not in (WORLD_REVIEW, ROWS_REVIEW):
        raise wrong_state(session, "be resumed")
    await _raise_budget(platform, session, body)
    if session.status == WORLD_REVIEW:
        return session

    def reopen(connection: Connection) -> bool:
        return seed_rows.reopen_short_buckets(connection, session.id) > 0

    if not await _change_in_review(platform, session, ROWS_GENERATING, reopen, "be resumed"):
        return session
    return await _begin_generating(platform, generator, session)


async def _raise_budget(platform: Platform, session: SeedSession, body: JsonObject) -> None:
    if session.budget_id is None:
        if body:
            problems = [Problem(path=f"/{name}", message="no model wrote this session") for name in body]
            raise Refused(problems, "the budget")
        return
    budget_id = session.budget_id
    now = await platform.database.read(partial(model_budgets.spending_of, budget_id=budget_id))
    budget = read_raised_budget(body, now.budget, now.tokens, now.nanousd, what="session")
    agent = await find_agent(platform, session.org_id, session.agent_id, session.agent_version)
    model = platform.models.needed(Purpose.AUTHOR, agent.definition.config.models)
    await refuse_unpriced(platform, session.org_id, budget, [model], what="the budget")
    await platform.database.write(partial(model_budgets.set_budget, budget_id=budget_id, budget=budget))


async def list_rows(
    platform: Platform,
    org_id: int,
    session_id: int,
    *,
    shown: RowFilter,
    bucket: int | None,
    limit: int,
    after_id: int | None,
) -> Page[SeedRow]:
    await find_session(platform, org_id, session_id)
    return await platform.database.read(
        lambda connection: seed_rows.rows_of_session(
            connection,
            session_id,
            status=None if shown == "any" else shown,
            bucket=bucket,
            limit=limit,
            after_id=after_id,
        )
    )


async def drop_row(platform: Platform, org_id: int, session_id: int, row_id: int) -> SeedRow:
    """Out of the dataset to be; its bucket wants one less."""
    session, row = await _find_row_in_review(platform, org_id, session_id, row_id, "drop a row")

    def drop(connection: Connection) -> bool:
        return seed_rows.drop_row(connection, row, is_replaced=False)

    if not await _change_in_review(platform, session, ROWS_REVIEW, drop, "drop a row"):
        raise Conflict(f"Row {row_id} is no longer among the kept rows.")
    return await find_row(platform, session, row_id)


async def regenerate_row(
    platform: Platform, generator: RowGenerator, org_id: int, session_id: int, row_id: int
) -> SeedSession:
    """Dropped, and another made in its place from the drafts that come next."""
    session, row = await _find_row_in_review(platform, org_id, session_id, row_id, "regenerate a row")

    def replace(connection: Connection) -> bool:
        return seed_rows.drop_row(connection, row, is_replaced=True)

    if not await _change_in_review(platform, session, ROWS_GENERATING, replace, "regenerate a row"):
        raise Conflict(f"Row {row_id} is no longer among the kept rows.")
    return await _begin_generating(platform, generator, session)


async def drop_bucket(platform: Platform, org_id: int, session_id: int, number: int) -> SeedBucket:
    session = await _find_in_review(platform, org_id, session_id, "drop a bucket")
    await find_bucket(platform, session, number)
    await _change_in_review(
        platform, session, ROWS_REVIEW, _drop_whole_bucket(session, number, False), "drop a bucket"
    )
    return await find_bucket(platform, session, number)


async def regenerate_bucket(
    platform: Platform, generator: RowGenerator, org_id: int, session_id: int, number: int
) -> SeedSession:
    """All its rows dropped, and as many as were asked for made from other drafts."""
    session = await _find_in_review(platform, org_id, session_id, "regenerate a bucket")
    await find_bucket(platform, session, number)
    replace = _drop_whole_bucket(session, number, True)
    await _change_in_review(platform, session, ROWS_GENERATING, replace, "regenerate a bucket")
    return await _begin_generating(platform, generator, session)


async def abandon_session(platform: Platform, org_id: int, session_id: int) -> SeedSession:
    """At any time before it is a dataset. What is under way is not stored; abandoning twice is once."""
    session = await find_session(platform, org_id, session_id)
    abandon = partial(seed_sessions.abandon_session, session_id=session.id, now=platform.now())
    if session.status != "abandoned" and not await platform.database.write(abandon):
        raise wrong_state(await find_session(platform, org_id, session_id), "be abandoned")
    return await find_session(platform, org_id, session_id)


async def read_coverage(platform: Platform, org_id: int, session_id: int) -> JsonObject:
    """What the kept rows are about, counted, and which tools none is about."""
    session = await find_session(platform, org_id, session_id)
    brief = await brief_of(platform, session)
    lines = await platform.database.read(partial(seed_rows.proof_texts, session_id=session.id))
    job = Job("row_coverage", {"agent": brief.agent()}, WORLD_S, MOST_RESULT, MEMORY)
    (coverage,) = await platform.helpers.run(job, "\n".join(lines).encode(), owner=org_id)
    read = loads_own(coverage)
    assert isinstance(read, dict)
    return read


async def find_row(platform: Platform, session: SeedSession, row_id: int) -> SeedRow:
    row = await platform.database.read(partial(seed_rows.row_by_id, session_id=session.id, row_id=row_id))
    if row is None:
        raise NotFound(f"Seed session {session.id} has no row {row_id}.")
    return row


async def find_bucket(platform: Platform, session: SeedSession, number: int) -> SeedBucket:
    buckets = await platform.database.read(partial(seed_rows.buckets_of_session, session_id=session.id))
    found = next((bucket for bucket in buckets if bucket.number == number), None)
    if found is None:
        raise NotFound(f"Seed session {session.id} has no bucket {number}; it has {len(buckets)}.")
    return found


async def _find_in_review(platform: Platform, org_id: int, session_id: int, doing: str) -> SeedSession:
    session = await find_session(platform, org_id, session_id)
    refuse_state(session, ROWS_REVIEW, doing)
    return session


async def _find_row_in_review(
    platform: Platform, org_id: int, session_id: int, row_id: int, doing: str
) -> tuple[SeedSession, SeedRow]:
    session = await _find_in_review(platform, org_id, session_id, doing)
    return session, await find_row(platform, session, row_id)


def _drop_whole_bucket(session: SeedSession, number: int, is_replaced: bool) -> Callable[[Connection], bool]:
    def change(connection: Connection) -> bool:
        seed_rows.drop_bucket(connection, session_id=session.id, number=number, is_replaced=is_replaced)
        return True

    return change


async def _change_in_review(
    platform: Platform, session: SeedSession, after: str, change: Callable[[Connection], bool], doing: str
) -> bool:
    """A change of the rows and the state it leads to, in one write; False where the change was not made."""
    now = platform.now()

    def make(connection: Connection) -> bool | None:
        if not seed_sessions.move_session(
            connection, session_id=session.id, before=ROWS_REVIEW, after=ROWS_REVIEW, now=now
        ):
            return None
        is_made = change(connection)
        if is_made and after != ROWS_REVIEW:
            seed_sessions.move_session(
                connection, session_id=session.id, before=ROWS_REVIEW, after=after, now=now
            )
        return is_made

    changed = await platform.database.write(make)
    if changed is None:
        raise wrong_state(await find_session(platform, session.org_id, session.id), doing)
    return changed


async def _begin_generating(platform: Platform, generator: RowGenerator, session: SeedSession) -> SeedSession:
    now = await find_session(platform, session.org_id, session.id)
    generator.begin(now)
    return now
