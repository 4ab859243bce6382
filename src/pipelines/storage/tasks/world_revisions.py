"""Every world that a session has had. The worlds themselves are texts, each kept once."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.core.ledger.world_difference import WorldDifference
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.storage.database.connection import Connection, insert_row
from pipelines.storage.database.paging import Page
from pipelines.storage.database.records import Mapper, Stored
from pipelines.wire.records import As, Hidden, Moment, Named, Record, Via, one_of


def _object(text: str) -> JsonObject:
    read = loads_own(text)
    assert isinstance(read, dict)
    return read


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldRevision(Record):
    """A revision of a world."""

    session_id: Hidden[int]
    number: int  # from 1
    kind: Annotated[str, one_of(("made", "refined", "regenerated", "pasted", "undone"))]
    prompt: str | None  # of a refinement
    undo_to: Annotated[int | None, "the revision that undoing this one goes back to"]
    world_hash: str
    rng_seed: int | None  # that it was made with
    told_text: Annotated[Hidden[str], Stored(column="told")]
    changes_text: Annotated[
        str, Named("changes"), Via(_object), As(WorldDifference), Stored(column="changes")
    ]
    created_by: Annotated[str, Named("by")]
    created_at: Moment

    @property
    def told(self) -> JsonObject:
        return _object(self.told_text)

    @property
    def changes(self) -> JsonObject:
        return _object(self.changes_text)


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
