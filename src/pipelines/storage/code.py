"""Uploaded source: archives named by their content, and what the runs of code agents printed."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.storage.connection import Connection

PART_BYTES = 2 * 1024 * 1024  # some milliseconds of the one writer, whom tool calls wait for


class Part(NamedTuple):
    archive_hash: str
    number: int
    body: bytes


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
    connection.execute(
        "INSERT INTO code_parts (archive_hash, number, body) VALUES (?, ?, ?)"
        " ON CONFLICT (archive_hash, number) DO NOTHING",
        part,
    )


def add_code(connection: Connection, *, code_hash: str, archive_hash: str, now: str) -> None:
    """Say that all parts are there. The same tree from another archive stays with the first."""
    connection.execute(
        "INSERT INTO code (hash, archive_hash, created_at) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING",
        (code_hash, archive_hash, now),
    )


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
