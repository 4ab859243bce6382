"""Buckets of a session and what became of each draft: kept, rejected with the reason, dropped by a person."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.core.text.stored import stored_list
from pipelines.storage.database.connection import Connection, Row, insert_many
from pipelines.storage.database.paging import Filter, Page, page_of

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
    notes: tuple[str, ...]  # how its theme was understood
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
    seed_text: str | None
    proof_text: str | None
    reason_code: str | None
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedRow:
    id: int
    session_id: int
    bucket: int
    status: str
    user_instruction: str
    seed_text: str | None  # as the task will have it, without its world
    proof_text: str | None  # the reference calls, and what they reach
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


def buckets_of_session(connection: Connection, session_id: int) -> list[SeedBucket]:
    counts = connection.execute(
        "SELECT bucket, status, COUNT(*) FROM seed_rows WHERE session_id = ? GROUP BY bucket, status",
        (session_id,),
    )
    counted = {(bucket, status): number for bucket, status, number in counts}
    rows = connection.execute(
        "SELECT * FROM seed_buckets WHERE session_id = ? ORDER BY number", (session_id,)
    ).fetchall()
    return [_bucket(row, counted) for row in rows]


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
    insert_many(
        connection,
        "INSERT INTO seed_rows (session_id, bucket, round, draft, status, user_instruction, seed, proof,"
        " reason_code, reason, created_at) VALUES",
        [(bucket.session_id, bucket.number, bucket.round, *row, now) for row in rows],
    )
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
    rows = page_of(
        connection,
        "seed_rows",
        filters=[Filter("session_id", session_id), Filter("status", status), Filter("bucket", bucket)],
        limit=limit,
        before_id=after_id,
        newest_first=False,
    )
    return Page([_row(row) for row in rows.items], rows.last_id)


def kept_seeds(connection: Connection, session_id: int) -> list[tuple[int, str]]:
    """What a dataset is made of: id and seed of each, bucket by bucket, in the order they were made."""
    rows = connection.execute(
        "SELECT id, seed FROM seed_rows WHERE session_id = ? AND status = 'kept' ORDER BY bucket, id",
        (session_id,),
    )
    return [(row[0], row[1]) for row in rows]


def proof_texts(connection: Connection, session_id: int) -> list[str]:
    """Of the rows that are kept, as JSON."""
    rows = connection.execute(
        "SELECT proof FROM seed_rows WHERE session_id = ? AND status = 'kept' ORDER BY id", (session_id,)
    )
    return [row[0] for row in rows]


def texts_so_far(connection: Connection, bucket: SeedBucket) -> list[str]:
    """What users ask in rows that stand, and in those of this round that somebody dropped."""
    rows = connection.execute(
        "SELECT user_instruction FROM seed_rows WHERE session_id = ? AND (status = 'kept'"
        " OR (status = 'dropped' AND bucket = ? AND round = ?)) ORDER BY id",
        (bucket.session_id, bucket.number, bucket.round),
    )
    return [row[0] for row in rows]


def rejected_so_far(connection: Connection, bucket: SeedBucket) -> list[tuple[str, str]]:
    """Drafts of this round that could not be proved, each with the reason, the latest last."""
    rows = connection.execute(
        "SELECT user_instruction, reason FROM seed_rows WHERE session_id = ? AND bucket = ? AND round = ?"
        " AND status = 'rejected' ORDER BY id DESC LIMIT ?",
        (bucket.session_id, bucket.number, bucket.round, MOST_REJECTED),
    ).fetchall()
    return [(row[0], row[1] or "") for row in reversed(rows)]


def row_by_id(connection: Connection, *, session_id: int, row_id: int) -> SeedRow | None:
    row = connection.execute(
        "SELECT * FROM seed_rows WHERE id = ? AND session_id = ?", (row_id, session_id)
    ).fetchone()
    return _row(row) if row else None


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


def _bucket(row: Row, counted: dict[tuple[int, str], int]) -> SeedBucket:
    return SeedBucket(
        session_id=row["session_id"],
        number=row["number"],
        name=row["name"],
        theme=row["theme"],
        asked=row["asked"],
        wanted=row["wanted"],
        round=row["round"],
        drafted=row["drafted"],
        is_done=bool(row["is_done"]),
        problem=row["problem"],
        notes=tuple(stored_list(loads_own(row["notes"]) if row["notes"] is not None else None)),
        kept=counted.get((row["number"], KEPT), 0),
        rejected=counted.get((row["number"], REJECTED), 0),
        dropped=counted.get((row["number"], DROPPED), 0),
    )


def _row(row: Row) -> SeedRow:
    return SeedRow(
        id=row["id"],
        session_id=row["session_id"],
        bucket=row["bucket"],
        status=row["status"],
        user_instruction=row["user_instruction"],
        seed_text=row["seed"],
        proof_text=row["proof"],
        reason_code=row["reason_code"],
        reason=row["reason"],
        created_at=row["created_at"],
    )
