"""Seed sessions: what each was asked for and how far it is.

Every change says which state it starts from, in the statement that makes it: of two people who ask for the
same at once one is served, and the other is told. That statement also holds the session's row until the
transaction ends, so that nodes take turns.
"""

from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.tasks.seed_session import (
    ABANDONED,
    FINALIZED,
    ROWS_GENERATING,
    ROWS_REVIEW,
    WORLD_REVIEW,
    SessionRequest,
)
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.storage.database.connection import Connection, Row, in_list, insert, insert_many
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.storage.tasks.texts import let_go_of_texts, text_size

MOST_PRUNED = 100  # abandoned sessions that are looked at in one go
#: What may still change.
OPEN = (WORLD_REVIEW, ROWS_GENERATING, ROWS_REVIEW)


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedSession:
    id: int
    org_id: int
    agent_id: int
    agent_version: int
    name: str
    status: str
    author: str
    size: str
    instructions: str | None
    behavior: str | None
    axes: tuple[str, ...]
    rng_seed: int
    world_now: str  # what time it is in its world
    are_buckets_chosen: bool  # by us, since none were named
    revision: int
    world_hash: str | None  # of the frozen world
    world_content: str | None  # the same by what it says, whatever the order of its keys
    dataset_id: int | None
    budget_id: int | None  # what it may spend on models, where one is its author
    created_at: str
    updated_at: str

    def as_json(self) -> JsonObject:
        axes: list[Json] = [*self.axes]
        return {
            "id": self.id,
            "name": self.name,
            "status": self.status,
            "agent_id": self.agent_id,
            "agent_version": self.agent_version,
            "author": self.author,
            "size": self.size,
            "instructions": self.instructions,
            "behavior": self.behavior,
            "axes": axes,
            "rng_seed": self.rng_seed,
            "now": self.world_now,
            "buckets_chosen": self.are_buckets_chosen,
            "revision": self.revision,
            "world_hash": self.world_hash,
            "dataset_id": self.dataset_id,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


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
    session_id = insert(
        connection,
        "INSERT INTO seed_sessions (org_id, agent_id, agent_version, name, status, author, size,"
        " instructions, behavior, axes, rng_seed, world_now, are_buckets_chosen, revision, budget_id,"
        " created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(org_id, request.agent_id, agent_version, request.name, WORLD_REVIEW, request.author),
            *(request.size, request.instructions, request.behavior, dumps([*request.axes]).decode()),
            *(rng_seed, world_now, int(request.are_buckets_chosen), 1, budget_id, now, now),
        ),
    )
    insert_many(
        connection,
        "INSERT INTO seed_buckets (session_id, number, name, theme, asked, wanted, round, drafted, is_done)"
        " VALUES",
        [
            (session_id, number, bucket.name, bucket.theme, bucket.rows, bucket.rows, 1, 0, 0)
            for number, bucket in enumerate(request.buckets, 1)
        ],
    )
    return session_id


def session_by_id(connection: Connection, *, org_id: int, session_id: int) -> SeedSession | None:
    row = connection.execute(
        "SELECT * FROM seed_sessions WHERE id = ? AND org_id = ?", (session_id, org_id)
    ).fetchone()
    return _session(row) if row else None


def sessions_of_org(
    connection: Connection,
    org_id: int,
    *,
    agent_id: int | None,
    status: str | None,
    limit: int,
    before_id: int | None,
) -> Page[SeedSession]:
    rows = page_of(
        connection,
        "seed_sessions",
        filters=[Filter("org_id", org_id), Filter("agent_id", agent_id), Filter("status", status)],
        limit=limit,
        before_id=before_id,
    )
    return Page([_session(row) for row in rows.items], rows.last_id)


def generating_sessions(connection: Connection) -> list[SeedSession]:
    """Of every org: those whose rows are being made, by whom ever."""
    rows = connection.execute(
        "SELECT * FROM seed_sessions WHERE status = 'rows_generating' ORDER BY id"
    ).fetchall()
    return [_session(row) for row in rows]


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
    rows = connection.execute(
        "SELECT DISTINCT world_hash FROM world_revisions WHERE session_id = ?", (session_id,)
    )
    return [row[0] for row in rows]


def _session(row: Row) -> SeedSession:
    axes = loads_own(row["axes"])
    assert isinstance(axes, list)
    return SeedSession(
        id=row["id"],
        org_id=row["org_id"],
        agent_id=row["agent_id"],
        agent_version=row["agent_version"],
        name=row["name"],
        status=row["status"],
        author=row["author"],
        size=row["size"],
        instructions=row["instructions"],
        behavior=row["behavior"],
        axes=tuple(str(axis) for axis in axes),
        rng_seed=row["rng_seed"],
        world_now=row["world_now"],
        are_buckets_chosen=bool(row["are_buckets_chosen"]),
        revision=row["revision"],
        world_hash=row["world_hash"],
        world_content=row["world_content"],
        dataset_id=row["dataset_id"],
        budget_id=row["budget_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
