"""Buckets of a session and what became of each draft: kept, rejected with the reason, dropped by a person."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.storage.database.connection import Connection, insert_many
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, Stored, first_column

MOST_REJECTED = 100  # drafts that whoever drafts the next ones is told of
KEPT, REJECTED, DROPPED = "kept", "rejected", "dropped"


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedBucket:
    session_id: int
    number: int  # from 1, in the author's order
    name: str
    theme: str
    asked: int  # rows, by its author
    wanted: int  # rows by now: less those that were dropped
    round: int  # up when all of it is made anew
    drafted: int  # in this round
    is_done: bool
    problem: str | None  # why it has fewer rows than wanted
    notes: Annotated[tuple[str, ...], Stored(read=lambda text: tuple(loads_own(text) if text else ()))]
    kept: int
    rejected: int
    dropped: int

    def as_json(self) -> JsonObject:
        return {
            "number": self.number,
            "name": self.name,
            "theme": self.theme,
            "rows": self.asked,
            "wanted": self.wanted,
            "kept": self.kept,
            "rejected": self.rejected,
            "dropped": self.dropped,
            "done": self.is_done,
            "problem": self.problem,
            "notes": [*self.notes],
        }


class NewRow(NamedTuple):
    draft: int  # its number in the round
    status: str
    user_instruction: str
    seed_text: Annotated[str | None, Stored(column="seed")]
    proof_text: Annotated[str | None, Stored(column="proof")]
    reason_code: str | None
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedRow:
    id: int
    session_id: int
    bucket: int
    status: str
    user_instruction: str
    #: As the task will have it, without its world.
    seed_text: Annotated[str | None, Stored(column="seed")]
    proof_text: Annotated[str | None, Stored(column="proof")]  # the reference calls, and what they reach
    reason_code: str | None
    reason: str | None
    created_at: str

    def as_json(self) -> JsonObject:
        seed = _object(self.seed_text)
        proof = _object(self.proof_text)
        draft: Any = proof.get("draft") or {}
        return {
            "id": self.id,
            "bucket": self.bucket,
            "status": self.status,
            "user_instruction": self.user_instruction,
            "failure_rules": seed.get("failure_rules", []),
            "expected_outcome": seed.get("expected_outcome"),
            "expected_state": seed.get("expected_state"),
            "expected_calls": seed.get("expected_calls"),
            "tool": draft.get("tool"),
            "outcome": draft.get("outcome"),
            "proof": {"said": proof["said"], "calls": proof["calls"]} if proof else None,
            "reason_code": self.reason_code,
            "reason": self.reason,
            "created_at": self.created_at,
        }


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


def _object(text: str | None) -> JsonObject:
    read = loads_own(text) if text is not None else {}
    assert isinstance(read, dict)
    return read
