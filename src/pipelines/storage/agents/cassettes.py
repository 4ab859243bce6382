"""Cassettes of an org, and the calls recorded on each.

One that is stored or removed in slices has no name meanwhile, and nobody sees it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.storage.database.connection import Connection, insert, insert_many, insert_row
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, first_column
from pipelines.storage.tasks.texts import SLICE_CHARACTERS
from pipelines.wire.records import Hidden, Moment, Record

# Of one cassette: it is held in memory as a whole while runs replay it.
MAX_CALLS = 100_000
MAX_BYTES = 64 * 1024 * 1024
_TURNS = 20  # on Postgres: so often another node may take a name away before it is given up


@dataclass(frozen=True, kw_only=True, slots=True)
class Cassette(Record):
    """Recorded calls of passthrough tools."""

    id: Hidden[int]
    org_id: Hidden[int]
    name: str
    calls: int
    bytes: Annotated[int, "of its lines"]
    dropped: Annotated[int, "calls that were not recorded, as it was full"]
    revision: Hidden[int]  # up with every change
    created_at: Moment
    updated_at: Moment


_CASSETTE = Mapper(Cassette)
_EMPTY = {"calls": 0, "bytes": 0, "dropped": 0, "revision": 1}


class StoredCall(NamedTuple):
    id: int
    key: str
    occurrence: int
    line: str


class Recording(NamedTuple):
    """A call on its way to a cassette."""

    cassette: str
    key: str
    occurrence: int
    line: str


def add_cassette(connection: Connection, *, org_id: int, name: str, now: str) -> None:
    """One of this name, empty, unless it is there."""
    row = _EMPTY | {"org_id": org_id, "name": name, "created_at": now, "updated_at": now}
    insert_row(connection, "cassettes", row, "ON CONFLICT (org_id, name) DO NOTHING")


def cassette_by_name(connection: Connection, *, org_id: int, name: str) -> Cassette | None:
    statement = f"SELECT {_CASSETTE.columns} FROM cassettes WHERE org_id = ? AND name = ?"
    return _CASSETTE.one(connection, statement, (org_id, name))


def cassette_created_at(connection: Connection, *, cassette_id: int) -> str | None:
    """Also of one that is being removed; None where it is gone."""
    row = connection.execute("SELECT created_at FROM cassettes WHERE id = ?", (cassette_id,)).fetchone()
    return row[0] if row else None


def cassettes_of_org(
    connection: Connection, org_id: int, *, limit: int, before_id: int | None
) -> Page[Cassette]:
    return _CASSETTE.page(
        connection,
        "cassettes",
        filters=[Filter("org_id", org_id)],
        limit=limit,
        before_id=before_id,
        where="name IS NOT NULL",
    )


def cassette_names(connection: Connection, *, org_id: int, most: int) -> list[str]:
    statement = "SELECT name FROM cassettes WHERE org_id = ? AND name IS NOT NULL ORDER BY id DESC LIMIT ?"
    return first_column(connection, statement, (org_id, most))


def calls_of_cassette(
    connection: Connection, *, cassette_id: int, after_id: int, most: int, most_characters: int
) -> list[StoredCall]:
    """In the order in which they were recorded; the last of them may go past the characters."""
    found: list[StoredCall] = []
    characters = 0
    for row in connection.execute(
        "SELECT id, call_key, occurrence, line FROM cassette_calls WHERE cassette_id = ? AND id > ?"
        " ORDER BY id LIMIT ?",
        (cassette_id, after_id, most),
    ):
        found.append(StoredCall(*row))
        characters += len(found[-1].line)
        if characters >= most_characters:
            break
    return found


def record_calls(connection: Connection, org_id: int, calls: Sequence[Recording], now: str) -> None:
    """On their cassettes. What was recorded first for a call stays; past the limits nothing is added."""
    by_name: dict[str, list[Recording]] = {}
    for call in calls:
        by_name.setdefault(call.cassette, []).append(call)
    for name, some in by_name.items():
        cassette = _held(connection, org_id, name, now)
        if cassette is not None:  # else: given up, so that those of other orgs beside it are stored
            _record(connection, cassette, some)


def _held(connection: Connection, org_id: int, name: str, now: str) -> Cassette | None:
    """The cassette of this name, which nobody else changes until this transaction ends.

    On Postgres another node may discard it between two statements: then there is a new one.
    """
    for _ in range(_TURNS):
        add_cassette(connection, org_id=org_id, name=name, now=now)
        held = _CASSETTE.one(
            connection,
            "UPDATE cassettes SET revision = revision + 1, updated_at = ? WHERE org_id = ? AND name = ?"
            f" RETURNING {_CASSETTE.columns}",
            (now, org_id, name),
        )
        if held is not None:
            return held
    return None


def _record(connection: Connection, cassette: Cassette, calls: Sequence[Recording]) -> None:
    new = _not_recorded(connection, cassette.id, calls)
    kept: list[Recording] = []
    size = cassette.bytes
    for call in new:
        if cassette.calls + len(kept) < MAX_CALLS and size + len(call.line.encode()) <= MAX_BYTES:
            kept.append(call)
            size += len(call.line.encode())
    add_calls(connection, cassette.id, kept)
    connection.execute(
        "UPDATE cassettes SET calls = calls + ?, bytes = ?, dropped = dropped + ? WHERE id = ?",
        (len(kept), size, len(new) - len(kept), cassette.id),
    )


def _not_recorded(connection: Connection, cassette_id: int, calls: Sequence[Recording]) -> list[Recording]:
    """Those that are new, the first of each."""
    new: dict[tuple[str, int], Recording] = {}
    for call in calls:
        new.setdefault((call.key, call.occurrence), call)
    for key, occurrence in list(new):
        there = connection.execute(
            "SELECT 1 FROM cassette_calls WHERE cassette_id = ? AND call_key = ? AND occurrence = ?",
            (cassette_id, key, occurrence),
        ).fetchone()
        if there is not None:
            del new[key, occurrence]
    return list(new.values())


def add_calls(connection: Connection, cassette_id: int, calls: Sequence[Recording]) -> None:
    rows = [
        {"cassette_id": cassette_id, "call_key": call.key, "occurrence": call.occurrence, "line": call.line}
        for call in calls
    ]
    insert_many(connection, "cassette_calls", rows)


def add_nameless(connection: Connection, *, org_id: int, now: str) -> int:
    """One that is stored in slices; its id."""
    return insert(connection, "cassettes", _EMPTY | {"org_id": org_id, "created_at": now, "updated_at": now})


def name_cassette(connection: Connection, cassette: Cassette) -> int | None:
    """One that is stored whole takes its name; the id of the one that had it, which is to be removed. None:
    others took the name again and again.

    There always is one that had it, if only for this moment: on Postgres its row is what two imports of a new
    name wait for.
    """
    before = _held(connection, cassette.org_id, cassette.name, cassette.updated_at)
    if before is None:
        return None
    discard_cassette(connection, org_id=cassette.org_id, name=cassette.name, now=cassette.updated_at)
    connection.execute(
        "UPDATE cassettes SET name = ?, calls = ?, bytes = ? WHERE id = ?",
        (cassette.name, cassette.calls, cassette.bytes, cassette.id),
    )
    return before.id


def discard_cassette(connection: Connection, *, org_id: int, name: str, now: str) -> int | None:
    """From here on nobody sees it; its id, or None where there is none."""
    row = connection.execute(
        "UPDATE cassettes SET name = NULL, updated_at = ? WHERE org_id = ? AND name = ? RETURNING id",
        (now, org_id, name),
    ).fetchone()
    return row[0] if row else None


def nameless_cassettes(connection: Connection, *, before: str) -> list[int]:
    """That nobody goes on storing or removing."""
    statement = "SELECT id FROM cassettes WHERE name IS NULL AND updated_at < ? ORDER BY id"
    return first_column(connection, statement, (before,))


def remove_discarded(connection: Connection, *, cassette_id: int, most: int) -> bool:
    """Some of its calls, fewer where they are large; with the last goes the cassette. True: it is gone."""
    known = connection.execute("SELECT calls, bytes FROM cassettes WHERE id = ?", (cassette_id,)).fetchone()
    average = known["bytes"] // known["calls"] if known is not None and known["calls"] else 0
    some = max(1, min(most, SLICE_CHARACTERS // max(1, average)))
    done = connection.execute(
        "DELETE FROM cassette_calls WHERE id IN"
        " (SELECT id FROM cassette_calls WHERE cassette_id = ? ORDER BY id LIMIT ?)",
        (cassette_id, some),
    )
    if done.rowcount == some:
        return False
    connection.execute("DELETE FROM cassettes WHERE id = ? AND name IS NULL", (cassette_id,))
    return True
