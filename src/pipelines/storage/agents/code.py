"""Uploaded source: archives named by their content, and what the runs of code agents printed."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.storage.database.connection import Connection, insert_row

PART_BYTES = 2 * 1024 * 1024  # some milliseconds of the one writer, whom tool calls wait for


class Part(NamedTuple):
    archive_hash: str
    number: int
    body: bytes


class Orphan(NamedTuple):
    archive_hash: str
    parts: int
    bytes: int


class Output(NamedTuple):
    stdout: str
    stderr: str


def parts_of(archive: bytes) -> Iterator[Part]:
    digest = archive_hash(archive)
    for number, start in enumerate(range(0, len(archive), PART_BYTES)):
        yield Part(digest, number, archive[start : start + PART_BYTES])


def archive_hash(archive: bytes) -> str:
    return hashlib.sha256(archive).hexdigest()


def has_code(connection: Connection, code_hash: str) -> bool:
    return connection.execute("SELECT 1 FROM code WHERE hash = ?", (code_hash,)).fetchone() is not None


def add_part(connection: Connection, part: Part) -> None:
    """Twice is as good as once: an upload that was cut off is sent again."""
    insert_row(connection, "code_parts", part._asdict(), "ON CONFLICT (archive_hash, number) DO NOTHING")


def has_parts(connection: Connection, *, archive_hash: str, count: int) -> bool:
    """Whether all parts are there, and stay: until this transaction ends nobody prunes them."""
    _hold_parts(connection, archive_hash)
    row = connection.execute("SELECT COUNT(*) FROM code_parts WHERE archive_hash = ?", (archive_hash,))
    return int(row.fetchone()[0]) == count


def _hold_parts(connection: Connection, archive_hash: str) -> None:
    """Writing a row makes others who would wait; what is read after it is what they have left."""
    connection.execute(
        "UPDATE code_parts SET number = number WHERE archive_hash = ? AND number = 0", (archive_hash,)
    )


def orphaned_archives(connection: Connection) -> list[Orphan]:
    """Archives whose parts belong to no code: of uploads that never came to their end."""
    rows = connection.execute(
        "SELECT archive_hash, COUNT(*), SUM(LENGTH(body)) FROM code_parts p"
        " WHERE NOT EXISTS (SELECT 1 FROM code c WHERE c.archive_hash = p.archive_hash)"
        " GROUP BY archive_hash ORDER BY archive_hash"
    )
    return [Orphan(row[0], int(row[1]), int(row[2])) for row in rows]


def remove_orphaned_part(connection: Connection, archive_hash: str) -> bool:
    """The last one of an archive, if it is still an orphan: the first is the one that others wait at."""
    _hold_parts(connection, archive_hash)
    removed = connection.execute(
        "DELETE FROM code_parts WHERE archive_hash = ? AND number ="
        " (SELECT MAX(number) FROM code_parts WHERE archive_hash = ?)"
        " AND NOT EXISTS (SELECT 1 FROM code WHERE archive_hash = ?)",
        (archive_hash, archive_hash, archive_hash),
    )
    return removed.rowcount > 0


def add_code(connection: Connection, *, code_hash: str, archive_hash: str, now: str) -> None:
    """Say that all parts are there. The same tree from another archive stays with the first."""
    row = {"hash": code_hash, "archive_hash": archive_hash, "created_at": now}
    insert_row(connection, "code", row, "ON CONFLICT (hash) DO NOTHING")


def code_by_hash(connection: Connection, code_hash: str) -> bytes | None:
    """The archive, whole."""
    rows = connection.execute(
        "SELECT p.body FROM code c JOIN code_parts p ON p.archive_hash = c.archive_hash"
        " WHERE c.hash = ? ORDER BY p.number",
        (code_hash,),
    )
    return b"".join(bytes(row[0]) for row in rows) or None


def add_output(connection: Connection, *, run_id: int, output: Output) -> None:
    """Behind what the run has printed before: each turn of a conversation prints anew."""
    connection.execute(
        "INSERT INTO run_output (run_id, stdout, stderr) VALUES (?, ?, ?)"
        " ON CONFLICT (run_id) DO UPDATE SET stdout = run_output.stdout || excluded.stdout,"
        " stderr = run_output.stderr || excluded.stderr",
        (run_id, output.stdout, output.stderr),
    )


def output_of_run(connection: Connection, run_id: int) -> Output | None:
    row = connection.execute("SELECT stdout, stderr FROM run_output WHERE run_id = ?", (run_id,)).fetchone()
    return Output(row["stdout"], row["stderr"]) if row else None
