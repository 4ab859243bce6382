"""Every world that a session has had. The worlds themselves are texts, each kept once."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.storage.database.connection import Connection, insert_row
from pipelines.storage.database.paging import Page
from pipelines.storage.database.records import Mapper, Stored


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldRevision:
    session_id: int
    number: int  # from 1
    kind: str  # made, refined, regenerated, pasted, undone
    prompt: str | None  # of a refinement
    undo_to: int | None  # the revision that undoing this one goes back to
    world_hash: str
    rng_seed: int | None  # that it was made with
    #: What the author says of the world, as JSON.
    told_text: Annotated[str, Stored(column="told")]
    #: How it differs from the revision before it, as JSON.
    changes_text: Annotated[str, Stored(column="changes")]
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


_REVISION = Mapper(WorldRevision)


def add_revision(connection: Connection, revision: WorldRevision) -> None:
    """Its text is stored already."""
    insert_row(connection, "world_revisions", _REVISION.row(revision))


def revision_by_number(connection: Connection, *, session_id: int, number: int) -> WorldRevision | None:
    statement = f"SELECT {_REVISION.columns} FROM world_revisions WHERE session_id = ? AND number = ?"
    return _REVISION.one(connection, statement, (session_id, number))


def revisions_of_session(
    connection: Connection, *, session_id: int, limit: int, before: int | None
) -> Page[WorldRevision]:
    """Newest first."""
    condition = "session_id = ? AND number < ? ORDER BY number DESC LIMIT ?"
    found = _REVISION.all(
        connection,
        f"SELECT {_REVISION.columns} FROM world_revisions WHERE {condition}",
        (session_id, before if before is not None else 2**31, limit + 1),
    )
    return Page(found[:limit], found[limit - 1].number if len(found) > limit else None)


def _object(text: str) -> JsonObject:
    read = loads_own(text)
    assert isinstance(read, dict)
    return read
