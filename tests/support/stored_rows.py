"""Rows to store, and a look into the file from beside the database that is tested."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.storage.database.connection import Connection
from pipelines.storage.database.trace_rows import TraceRow


def row(run_id: int, sequence: int, **changes: object) -> TraceRow:
    blank = dict.fromkeys(TraceRow._fields)
    known = {
        "run_id": run_id,
        "sequence": sequence,
        "kind": "tool_call",
        "occurred_at": "2026-01-01T00:00:00Z",
    }
    return TraceRow(**(blank | known | changes))  # type: ignore[arg-type]


@contextmanager
def aside(path: Path) -> Iterator[Connection]:
    """Another connection to the same file, as another process would have."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=1)
    try:
        yield connection
    finally:
        connection.close()


def sequences(path: Path, run_id: int) -> list[int]:
    with aside(path) as connection:
        return [
            sequence
            for (sequence,) in connection.execute(
                "SELECT sequence FROM trace_rows WHERE run_id = ? ORDER BY sequence", (run_id,)
            )
        ]


def refuse_rows(path: Path, condition: str) -> None:
    with aside(path) as connection:
        connection.execute(
            f"CREATE TRIGGER full BEFORE INSERT ON trace_rows WHEN {condition}"
            " BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
