"""Buckets of a session and what became of each draft: kept, rejected with the reason, dropped by a person."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict

from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.storage.database.connection import Connection, insert_many
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, Stored, first_column
from pipelines.wire.records import As, Flat, Hidden, Id, Moment, Named, Record, Via, one_of

MOST_REJECTED = 100  # drafts that whoever drafts the next ones is told of
KEPT, REJECTED, DROPPED = "kept", "rejected", "dropped"


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedBucket(Record):
    """A theme and its rows."""

    session_id: Hidden[int]
    number: Annotated[int, "1 is the first"]
    name: str
    theme: str
    asked: Annotated[int, "that were asked for", Named("rows")]
    wanted: Annotated[int, "by now: less those that were dropped"]
    round: Hidden[int]  # up when all of it is made anew
    drafted: Hidden[int]  # in this round
    kept: int
    rejected: Annotated[int, "drafts that could not be proved"]
    dropped: Annotated[int, "by people"]
    is_done: Annotated[bool, Named("done")]
    problem: Annotated[str | None, "why it has fewer rows than wanted"]
    notes: Annotated[
        tuple[str, ...],
        Stored(read=lambda text: tuple(loads_own(text) if text else ())),
        "how its theme was understood",
    ]


class NewRow(NamedTuple):
    draft: int  # its number in the round
    status: str
    user_instruction: str
    seed_text: Annotated[str | None, Stored(column="seed")]
    proof_text: Annotated[str | None, Stored(column="proof")]
    reason_code: str | None
    reason: str | None


def _object(text: str | None) -> JsonObject:
    read = loads_own(text) if text is not None else {}
    assert isinstance(read, dict)
    return read


class RowSeed(TypedDict):
    failure_rules: list[JsonObject]
    expected_outcome: str | None
    expected_state: Json
    expected_calls: Json


class _ProvedCall(TypedDict):
    """A call as the backend answered it when the row was proved."""

    tool: str
    arguments: JsonObject
    status: int | None
    response: Json
    is_injected: Annotated[bool, "a failure rule of the row answered"]


class _Proof(TypedDict):
    """The calls that reach the oracle."""

    said: Annotated[str, "what was shown"]
    calls: list[_ProvedCall]


class RowProof(TypedDict):
    tool: Annotated[str | None, "that is asked for"]
    outcome: Annotated[str | None, "what becomes of it, as coverage counts it"]
    proof: _Proof | None


def _seed_parts(text: str | None) -> Any:
    seed = _object(text)
    defaults: JsonObject = {"failure_rules": []}
    return {name: seed.get(name, defaults.get(name)) for name in RowSeed.__annotations__}


def _proof_parts(text: str | None) -> Any:
    proof = _object(text)
    draft: Any = proof.get("draft") or {}
    body = {"said": proof["said"], "calls": proof["calls"]} if proof else None
    return {"tool": draft.get("tool"), "outcome": draft.get("outcome"), "proof": body}


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedRow(Record):
    """A draft and what became of it."""

    id: Id
    session_id: Hidden[int]
    bucket: Annotated[int, "its number"]
    status: Annotated[str, one_of(("kept", "rejected", "dropped"))]
    user_instruction: str
    #: As the task will have it, without its world.
    seed_text: Annotated[Flat[str | None], Stored(column="seed"), Via(_seed_parts), As(RowSeed)]
    #: The reference calls, and what they reach.
    proof_text: Annotated[Flat[str | None], Stored(column="proof"), Via(_proof_parts), As(RowProof)]
    reason_code: Annotated[str | None, "of a rejected one"]
    reason: str | None
    created_at: Moment


_BUCKET = Mapper(SeedBucket, apart=(KEPT, REJECTED, DROPPED))
_NEW_ROW = Mapper(NewRow)
_ROW = Mapper(SeedRow)


def buckets_of_session(connection: Connection, session_id: int) -> list[SeedBucket]:
    counts = connection.execute(
        "SELECT bucket, status, COUNT(*) FROM seed_rows WHERE session_id = ? GROUP BY bucket, status",
        (session_id,),
    )
    counted = {(bucket, status): number for bucket, status, number in counts}
    statement = f"SELECT {_BUCKET.columns} FROM seed_buckets WHERE session_id = ? ORDER BY number"
    rows = connection.execute(statement, (session_id,)).fetchall()
    return [
        _BUCKET.read(row, *(counted.get((row["number"], status), 0) for status in (KEPT, REJECTED, DROPPED)))
        for row in rows
    ]


def reasons_of_session(connection: Connection, session_id: int) -> list[tuple[str, int]]:
    """Why drafts were rejected, the most frequent first."""
    rows = connection.execute(
        "SELECT reason_code, COUNT(*) AS often FROM seed_rows WHERE session_id = ? AND status = 'rejected'"
        " GROUP BY reason_code ORDER BY often DESC, reason_code",
        (session_id,),
    )
    return [(row[0], row[1]) for row in rows]


def store_drafts(
    connection: Connection,
    bucket: SeedBucket,
    rows: Sequence[NewRow],
    *,
    drafted: int,
    is_done: bool,
    problem: str | None,
    notes: Sequence[str],
    now: str,
) -> bool:
    """What became of some drafts, and how far the bucket is; False where somebody else went on from there."""
    done = connection.execute(
        "UPDATE seed_buckets SET drafted = ?, is_done = ?, problem = ?, notes = ?"
        " WHERE session_id = ? AND number = ? AND round = ? AND drafted = ? AND is_done = 0",
        (
            *(drafted, int(is_done), problem, dumps([*notes]).decode()),
            *(bucket.session_id, bucket.number, bucket.round, bucket.drafted),
        ),
    )
    if done.rowcount != 1:
        return False
    own = {"session_id": bucket.session_id, "bucket": bucket.number, "round": bucket.round, "created_at": now}
    insert_many(connection, "seed_rows", [own | _NEW_ROW.row(row) for row in rows])
    return True


def rows_of_session(
    connection: Connection,
    session_id: int,
    *,
    status: str | None,
    bucket: int | None,
    limit: int,
    after_id: int | None,
) -> Page[SeedRow]:
    """In the order in which they were made."""
    return _ROW.page(
        connection,
        "seed_rows",
        filters=[Filter("session_id", session_id), Filter("status", status), Filter("bucket", bucket)],
        limit=limit,
        before_id=after_id,
        newest_first=False,
    )


def kept_seeds(connection: Connection, session_id: int) -> list[tuple[int, str]]:
    """What a dataset is made of: id and seed of each, bucket by bucket, in the order they were made."""
    rows = connection.execute(
        "SELECT id, seed FROM seed_rows WHERE session_id = ? AND status = 'kept' ORDER BY bucket, id",
        (session_id,),
    )
    return [(row[0], row[1]) for row in rows]


def proof_texts(connection: Connection, session_id: int) -> list[str]:
    """Of the rows that are kept, as JSON."""
    statement = "SELECT proof FROM seed_rows WHERE session_id = ? AND status = 'kept' ORDER BY id"
    return first_column(connection, statement, (session_id,))


def texts_so_far(connection: Connection, bucket: SeedBucket) -> list[str]:
    """What users ask in rows that stand, and in those of this round that somebody dropped."""
    return first_column(
        connection,
        "SELECT user_instruction FROM seed_rows WHERE session_id = ? AND (status = 'kept'"
        " OR (status = 'dropped' AND bucket = ? AND round = ?)) ORDER BY id",
        (bucket.session_id, bucket.number, bucket.round),
    )


def rejected_so_far(connection: Connection, bucket: SeedBucket) -> list[tuple[str, str]]:
    """Drafts of this round that could not be proved, each with the reason, the latest last."""
    rows = connection.execute(
        "SELECT user_instruction, reason FROM seed_rows WHERE session_id = ? AND bucket = ? AND round = ?"
        " AND status = 'rejected' ORDER BY id DESC LIMIT ?",
        (bucket.session_id, bucket.number, bucket.round, MOST_REJECTED),
    ).fetchall()
    return [(row[0], row[1] or "") for row in reversed(rows)]


def row_by_id(connection: Connection, *, session_id: int, row_id: int) -> SeedRow | None:
    statement = f"SELECT {_ROW.columns} FROM seed_rows WHERE id = ? AND session_id = ?"
    return _ROW.one(connection, statement, (row_id, session_id))


def drop_row(connection: Connection, row: SeedRow, *, is_replaced: bool) -> bool:
    """Out of what is kept. One that is replaced is made anew from the drafts that come next."""
    done = connection.execute(
        "UPDATE seed_rows SET status = 'dropped' WHERE id = ? AND status = 'kept'", (row.id,)
    )
    if done.rowcount != 1:
        return False
    change = "is_done = 0, problem = NULL" if is_replaced else "wanted = wanted - 1"
    connection.execute(
        f"UPDATE seed_buckets SET {change} WHERE session_id = ? AND number = ?", (row.session_id, row.bucket)
    )
    return True


def reopen_short_buckets(connection: Connection, session_id: int) -> int:
    """Those that ended with fewer rows than wanted; they go on with the drafts that come next."""
    counted = {each.number: each for each in buckets_of_session(connection, session_id)}
    short = [number for number, each in counted.items() if each.is_done and each.kept < each.wanted]
    for number in short:
        connection.execute(
            "UPDATE seed_buckets SET is_done = 0, problem = NULL WHERE session_id = ? AND number = ?",
            (session_id, number),
        )
    return len(short)


def drop_bucket(connection: Connection, *, session_id: int, number: int, is_replaced: bool) -> None:
    """All its rows. Made anew, it draws other drafts than before."""
    connection.execute(
        "UPDATE seed_rows SET status = 'dropped' WHERE session_id = ? AND bucket = ? AND status = 'kept'",
        (session_id, number),
    )
    change = "wanted = asked, round = round + 1, drafted = 0, is_done = 0" if is_replaced else "wanted = 0"
    connection.execute(
        f"UPDATE seed_buckets SET {change}, problem = NULL WHERE session_id = ? AND number = ?",
        (session_id, number),
    )
