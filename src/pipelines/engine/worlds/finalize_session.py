"""A session becomes a dataset: every kept row a task, and all of them over the one frozen world.

The world is a text that all tasks refer to: neither disk nor memory grows with rows times world. It is not
even read here.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from pipelines.core.tasks.seed_session import ROWS_REVIEW
from pipelines.core.text.json_text import loads_own
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.store_texts import store_texts
from pipelines.engine.worlds.open_session import find_session, refuse_state, wrong_state
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets, seed_rows, seed_sessions, texts
from pipelines.storage.tasks.datasets import WrittenSeed
from pipelines.storage.tasks.seed_sessions import SeedSession
from pipelines.wire.errors import Conflict

DOING = "become a dataset"


async def finalize_session(platform: Platform, org_id: int, session_id: int) -> SeedSession:
    """The texts of the seeds first; then, at once, dataset, tasks and the session's end."""
    session = await find_session(platform, org_id, session_id)
    refuse_state(session, ROWS_REVIEW, DOING)
    kept = await platform.database.read(partial(seed_rows.kept_seeds, session_id=session.id))
    if not kept:
        raise Conflict(f"Seed session {session_id} has no rows to make a dataset of: regenerate a bucket.")
    written = await asyncio.to_thread(_seeds_over_world, session, [seed for _, seed in kept])
    new_texts = await store_texts(platform, (text for each in written for text in each.texts))
    now = platform.now()

    def finalize(connection: Connection) -> bool:
        if not seed_sessions.move_session(
            connection, session_id=session.id, before=ROWS_REVIEW, after=ROWS_REVIEW, now=now
        ):
            return False
        if seed_rows.kept_seeds(connection, session.id) != kept:
            raise Conflict(f"The rows of seed session {session_id} were changed meanwhile; look at them.")
        dataset_id = datasets.add_dataset(
            connection, org_id=org_id, name=session.name, agent_id=session.agent_id, now=now
        )
        tasks = [each.task for each in written]
        datasets.add_tasks(connection, org_id=org_id, dataset_id=dataset_id, tasks=tasks, now=now)
        texts.keep_texts(connection, new_texts)
        return seed_sessions.finalize_session(
            connection, session_id=session.id, dataset_id=dataset_id, now=now
        )

    if not await platform.database.write_part(finalize):
        raise wrong_state(await find_session(platform, org_id, session_id), DOING)
    return await find_session(platform, org_id, session_id)


def _seeds_over_world(session: SeedSession, seeds: Sequence[str]) -> list[WrittenSeed]:
    assert session.world_hash is not None
    assert session.world_content is not None
    written = []
    for seed in seeds:
        body = loads_own(seed)
        assert isinstance(body, dict)
        written.append(
            datasets.seed_over_world(body, world_hash=session.world_hash, content=session.world_content)
        )
    return written
