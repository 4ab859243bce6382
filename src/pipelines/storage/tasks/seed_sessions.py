"""Seed sessions: what each was asked for and how far it is.

Every change says which state it starts from, in the statement that makes it: of two people who ask for the
same at once one is served, and the other is told. That statement also holds the session's row until the
transaction ends, so that nodes take turns.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.core.tasks.seed_session import (
    ABANDONED,
    AXES,
    FINALIZED,
    ROWS_GENERATING,
    ROWS_REVIEW,
    SIZES,
    WORLD_REVIEW,
    SessionAuthor,
    SessionRequest,
    SessionStatus,
)
from pipelines.storage.database.connection import Connection, in_list, insert, insert_many
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, first_column
from pipelines.storage.tasks.texts import let_go_of_texts, text_size
from pipelines.wire.records import Hidden, Id, Moment, Named, Record, one_of

MOST_PRUNED = 100  # abandoned sessions that are looked at in one go
#: What may still change.
OPEN = (WORLD_REVIEW, ROWS_GENERATING, ROWS_REVIEW)


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedSession(Record):
    """A seed session."""

    id: Id
    org_id: Hidden[int]
    name: str
    status: SessionStatus
    agent_id: Id
    agent_version: Annotated[int, "whose tools the world was made for"]
    author: SessionAuthor
    size: Annotated[str, one_of(SIZES)]
    instructions: str | None
    behavior: str | None
    axes: tuple[Annotated[str, one_of(AXES)], ...]
    rng_seed: int
    world_now: Annotated[Moment, Named("now"), "in its world"]
    are_buckets_chosen: Annotated[bool, Named("buckets_chosen"), "by the server, since none were named"]
    revision: Annotated[int, "of its present world"]
    world_hash: Annotated[str | None, "of the frozen world; null while it is reviewed"]
    #: The same by what it says, whatever the order of its keys.
    world_content: Hidden[str | None]
    dataset_id: Annotated[Id | None, "once it is finalized"]
    budget_id: Hidden[int | None]  # what it may spend on models, where one is its author
    created_at: Moment
    updated_at: Moment


_SESSION = Mapper(SeedSession)
_AS_REQUESTED = (
    "agent_id",
    "name",
    "author",
    "size",
    "instructions",
    "behavior",
    "axes",
    "are_buckets_chosen",
)


def add_session(
    connection: Connection,
    *,
    org_id: int,
    request: SessionRequest,
    agent_version: int,
    rng_seed: int,
    world_now: str,
    now: str,
    budget_id: int | None = None,
) -> int:
    """With its buckets; the caller adds its first revision in the same transaction."""
    own = {"org_id": org_id, "agent_version": agent_version, "rng_seed": rng_seed, "world_now": world_now}
    own |= {name: getattr(request, name) for name in _AS_REQUESTED}
    state = {"status": WORLD_REVIEW, "revision": 1, "budget_id": budget_id}
    session_id = insert(connection, "seed_sessions", own | state | {"created_at": now, "updated_at": now})
    buckets = [
        {"session_id": session_id, "number": number, "name": bucket.name, "theme": bucket.theme}
        | {"asked": bucket.rows, "wanted": bucket.rows, "round": 1, "drafted": 0, "is_done": False}
        for number, bucket in enumerate(request.buckets, 1)
    ]
    insert_many(connection, "seed_buckets", buckets)
    return session_id


def session_by_id(connection: Connection, *, org_id: int, session_id: int) -> SeedSession | None:
    statement = f"SELECT {_SESSION.columns} FROM seed_sessions WHERE id = ? AND org_id = ?"
    return _SESSION.one(connection, statement, (session_id, org_id))


def sessions_of_org(
    connection: Connection,
    org_id: int,
    *,
    agent_id: int | None,
    status: str | None,
    limit: int,
    before_id: int | None,
) -> Page[SeedSession]:
    return _SESSION.page(
        connection,
        "seed_sessions",
        filters=[Filter("org_id", org_id), Filter("agent_id", agent_id), Filter("status", status)],
        limit=limit,
        before_id=before_id,
    )


def generating_sessions(connection: Connection) -> list[SeedSession]:
    """Of every org: those whose rows are being made, by whom ever."""
    condition = "status = 'rows_generating'"
    return _SESSION.all(
        connection, f"SELECT {_SESSION.columns} FROM seed_sessions WHERE {condition} ORDER BY id"
    )


def begin_revision(connection: Connection, *, session_id: int, after: int, now: str) -> bool:
    """Take the number behind `after`, if that is the present revision and the world is still reviewed."""
    done = connection.execute(
        "UPDATE seed_sessions SET revision = revision + 1, updated_at = ?"
        " WHERE id = ? AND status = ? AND revision = ?",
        (now, session_id, WORLD_REVIEW, after),
    )
    return done.rowcount == 1


def freeze_world(
    connection: Connection, *, session_id: int, revision: int, world_hash: str, content: str, now: str
) -> bool:
    done = connection.execute(
        "UPDATE seed_sessions SET status = ?, world_hash = ?, world_content = ?, updated_at = ?"
        " WHERE id = ? AND status = ? AND revision = ?",
        (ROWS_GENERATING, world_hash, content, now, session_id, WORLD_REVIEW, revision),
    )
    return done.rowcount == 1


def move_session(connection: Connection, *, session_id: int, before: str, after: str, now: str) -> bool:
    """From one state to another, or to the same: then its row is only held."""
    done = connection.execute(
        "UPDATE seed_sessions SET status = ?, updated_at = ? WHERE id = ? AND status = ?",
        (after, now, session_id, before),
    )
    return done.rowcount == 1


def finalize_session(connection: Connection, *, session_id: int, dataset_id: int, now: str) -> bool:
    done = connection.execute(
        "UPDATE seed_sessions SET status = ?, dataset_id = ?, updated_at = ? WHERE id = ? AND status = ?",
        (FINALIZED, dataset_id, now, session_id, ROWS_REVIEW),
    )
    return done.rowcount == 1


def abandon_session(connection: Connection, *, session_id: int, now: str) -> bool:
    done = connection.execute(
        f"UPDATE seed_sessions SET status = ?, updated_at = ? WHERE id = ? AND status IN {in_list(OPEN)}",
        (ABANDONED, now, session_id, *OPEN),
    )
    return done.rowcount == 1


class AbandonedSession(NamedTuple):
    id: int
    name: str
    characters: int  # of its worlds


def abandoned_sessions(connection: Connection, *, before: str) -> list[AbandonedSession]:
    """Those that nothing was done with since."""
    rows = connection.execute(
        "SELECT id, name FROM seed_sessions WHERE status = ? AND updated_at < ? ORDER BY id LIMIT ?",
        (ABANDONED, before, MOST_PRUNED),
    ).fetchall()
    return [
        AbandonedSession(
            row[0], row[1], sum(text_size(connection, name) for name in _worlds(connection, row[0]))
        )
        for row in rows
    ]


def remove_session(connection: Connection, session_id: int, *, now: str) -> None:
    """With all of it. Its worlds go once nobody else is found to refer to them."""
    let_go_of_texts(connection, _worlds(connection, session_id), now=now)
    for table in ("seed_rows", "seed_buckets", "world_revisions"):
        connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
    connection.execute("DELETE FROM seed_sessions WHERE id = ?", (session_id,))


def _worlds(connection: Connection, session_id: int) -> list[str]:
    statement = "SELECT DISTINCT world_hash FROM world_revisions WHERE session_id = ?"
    return first_column(connection, statement, (session_id,))
