"""Every world that a session has had. The worlds themselves are texts, each kept once."""

from dataclasses import dataclass

from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.storage.database.connection import Connection, Row
from pipelines.storage.database.paging import Page


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldRevision:
    session_id: int
    number: int  # from 1
    kind: str  # made, refined, regenerated, pasted, undone
    prompt: str | None  # of a refinement
    undo_to: int | None  # the revision that undoing this one goes back to
    world_hash: str
    rng_seed: int | None  # that it was made with
    told_text: str  # what the author says of the world, as JSON
    changes_text: str  # how it differs from the revision before it, as JSON
    created_by: str
    created_at: str

    @property
    def told(self) -> JsonObject:
        return _object(self.told_text)

    @property
    def changes(self) -> JsonObject:
        return _object(self.changes_text)

    def as_json(self) -> JsonObject:
        return {
            "number": self.number,
            "kind": self.kind,
            "prompt": self.prompt,
            "undo_to": self.undo_to,
            "world_hash": self.world_hash,
            "rng_seed": self.rng_seed,
            "changes": self.changes,
            "by": self.created_by,
            "created_at": self.created_at,
        }


def add_revision(connection: Connection, revision: WorldRevision) -> None:
    """Its text is stored already."""
    connection.execute(
        "INSERT INTO world_revisions (session_id, number, kind, prompt, undo_to, world_hash, rng_seed, told,"
        " changes, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(revision.session_id, revision.number, revision.kind, revision.prompt, revision.undo_to),
            *(revision.world_hash, revision.rng_seed, revision.told_text, revision.changes_text),
            *(revision.created_by, revision.created_at),
        ),
    )


def revision_by_number(connection: Connection, *, session_id: int, number: int) -> WorldRevision | None:
    row = connection.execute(
        "SELECT * FROM world_revisions WHERE session_id = ? AND number = ?", (session_id, number)
    ).fetchone()
    return _revision(row) if row else None


def revisions_of_session(
    connection: Connection, *, session_id: int, limit: int, before: int | None
) -> Page[WorldRevision]:
    """Newest first."""
    rows = connection.execute(
        "SELECT * FROM world_revisions WHERE session_id = ? AND number < ? ORDER BY number DESC LIMIT ?",
        (session_id, before if before is not None else 2**31, limit + 1),
    ).fetchall()
    found = [_revision(row) for row in rows[:limit]]
    return Page(found, found[-1].number if len(rows) > limit else None)


def _object(text: str) -> JsonObject:
    read = loads_own(text)
    assert isinstance(read, dict)
    return read


def _revision(row: Row) -> WorldRevision:
    return WorldRevision(
        session_id=row["session_id"],
        number=row["number"],
        kind=row["kind"],
        prompt=row["prompt"],
        undo_to=row["undo_to"],
        world_hash=row["world_hash"],
        rng_seed=row["rng_seed"],
        told_text=row["told"],
        changes_text=row["changes"],
        created_by=row["created_by"],
        created_at=row["created_at"],
    )
