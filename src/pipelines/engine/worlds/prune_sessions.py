"""Seed sessions that were abandoned long ago are removed, with their worlds."""

from datetime import UTC, datetime, timedelta
from functools import partial

from pipelines.engine.batches.finish_changes import TEXTS_SILENT_S, remove_loose_texts
from pipelines.engine.platform import timestamp
from pipelines.storage.database.database import Database
from pipelines.storage.tasks import seed_sessions
from pipelines.storage.tasks.seed_sessions import AbandonedSession


def abandoned_before(days: int, now: datetime) -> str:
    return timestamp(now - timedelta(days=days))


async def prune_sessions(
    database: Database, *, days: int, now: datetime | None = None
) -> list[AbandonedSession]:
    """0 days: none is ever removed. Their worlds go at a later look: by then nobody can be about to refer to
    them who has not said so."""
    moment = now or datetime.now(UTC)
    await remove_loose_texts(database, timestamp(moment - timedelta(seconds=TEXTS_SILENT_S)))
    if not days:
        return []
    found = await database.read(
        partial(seed_sessions.abandoned_sessions, before=abandoned_before(days, moment))
    )
    for session in found:
        remove = partial(seed_sessions.remove_session, session_id=session.id, now=timestamp(moment))
        await database.write_part(remove)
    return found
