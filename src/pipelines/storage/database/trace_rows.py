"""The rows of a run's log, in and out."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, takewhile

from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.trace_row import ON_SECOND_TRY, OUTCOME_UNKNOWN
from pipelines.core.tools.trace_row import TraceRow as TraceRow
from pipelines.storage.database.connection import Connection, insert_statement, transaction

PAGE = 32  # of a log that is read to fold it: a row has 3 MiB at most
MAX_PAGE_BYTES = 4 * 1024 * 1024  # characters of a page of the trace
CHUNK = 64  # rows in one statement: past this the cost per row no longer falls


def insert_rows(connection: Connection, rows: Sequence[TraceRow]) -> None:
    """All rows of a call in one statement, hence one commit and one release of the interpreter's lock."""
    if len(rows) > CHUNK:
        with transaction(connection):
            for start in range(0, len(rows), CHUNK):
                insert_rows(connection, rows[start : start + CHUNK])
    elif rows:
        # Columns that no row fills are left out: binding a None costs SQLite's driver three times a text,
        # and half of a call's columns are empty. An insert of 28 rows takes two thirds of the time.
        nothing = (None,) * len(rows)
        columns = [
            column for column in zip(_NAMES, zip(*rows, strict=True), strict=True) if column[1] != nothing
        ]
        names, values = zip(*columns, strict=True)
        connection.execute(
            insert_statement("trace_rows", names, len(rows)),
            list(chain.from_iterable(zip(*values, strict=True))),
        )


def complete_row(connection: Connection, row: TraceRow, after: int) -> bool:
    """Give a call its outcome whose outcome was not known; not once the run's log goes on behind `after`, nor
    once the run has ended: its verdict rests on the row as it was."""
    where = (row.run_id, row.sequence, OUTCOME_UNKNOWN, row.run_id, after, row.run_id)
    done = connection.execute(_COMPLETE, (*row, *where))
    return done.rowcount > 0


def log_of_run(connection: Connection, run_id: int) -> list[TraceRow]:
    """Every row in the order it was stored: what a run's state is folded from."""
    found = connection.execute("SELECT * FROM trace_rows WHERE run_id = ? ORDER BY sequence", (run_id,))
    return [TraceRow(*row) for row in found]


def read_log(connection: Connection, run_id: int) -> Iterator[TraceRow]:
    """The same, with few of them in memory at a time: each may have megabytes."""
    after, rows = 0, PAGE
    while rows == PAGE:
        found = connection.execute(
            "SELECT * FROM trace_rows WHERE run_id = ? AND sequence > ? ORDER BY sequence LIMIT ?",
            (run_id, after, PAGE),
        ).fetchall()
        rows = len(found)
        for row in found:
            yield TraceRow(*row)
        after = found[-1][1] if found else after


def row_at(connection: Connection, run_id: int, sequence: int) -> TraceRow | None:
    found = connection.execute(
        "SELECT * FROM trace_rows WHERE run_id = ? AND sequence = ?", (run_id, sequence)
    ).fetchone()
    return TraceRow(*found) if found else None


def has_calls_after(connection: Connection, run_id: int, sequence: int) -> bool:
    """Whether the log goes on behind a row with more than calls that came too late."""
    found = connection.execute(
        "SELECT 1 FROM trace_rows WHERE run_id = ? AND sequence > ?"
        " AND (error_code IS NULL OR error_code <> 'run_not_active') LIMIT 1",
        (run_id, sequence),
    )
    return found.fetchone() is not None


def trace_of_run(
    connection: Connection,
    run_id: int,
    *,
    kind: str | None,
    after: tuple[str, int] | None,
    limit: int,
) -> tuple[list[TraceRow], bool]:
    """A page of the trace in the order things happened, which an agent's own reports may shift.

    And whether it is the last. It ends early at MAX_PAGE_BYTES: a row has up to some megabytes.
    """
    where = (
        "FROM trace_rows WHERE run_id = ? AND (? IS NULL OR kind = ?)"
        " AND (occurred_at, sequence) > (?, ?) ORDER BY occurred_at, sequence LIMIT ?"
    )
    values = (run_id, kind, kind, *(after or ("", 0)))
    sizes = connection.execute(f"SELECT {_SIZE} {where}", (*values, limit + 1)).fetchall()
    fitting = takewhile(lambda size: size <= MAX_PAGE_BYTES, accumulate(row[0] for row in sizes[:limit]))
    fits = max(sum(1 for _ in fitting), 1)
    found = connection.execute(f"SELECT * {where}", (*values, fits))
    return [TraceRow(*row) for row in found], fits >= len(sizes)


def updates_of_run(connection: Connection, run_id: int) -> list[tuple[int, str | None]]:
    """Each row's sequence and what it changed: all that the world after a step is folded from."""
    found = connection.execute(
        "SELECT sequence, updates FROM trace_rows WHERE run_id = ? ORDER BY sequence", (run_id,)
    )
    return [(row[0], row[1]) for row in found]


def counts_of_run(connection: Connection, run_id: int) -> JsonObject:
    """How often each source answered, and how many replies failed their check, or passed when made anew."""
    sources: JsonObject = {}
    total = violations = regenerated = 0
    for source, is_valid, count in connection.execute(
        "SELECT source, is_valid, COUNT(*) FROM trace_rows"
        " WHERE run_id = ? AND kind = 'tool_call' GROUP BY 1, 2",
        (run_id,),
    ):
        total += count
        violations += count if is_valid == 0 else 0
        regenerated += count if is_valid == ON_SECOND_TRY else 0
        before = sources.get(source, 0)
        sources[source] = count + (before if isinstance(before, int) else 0)
    found: JsonObject = {"tool_calls": total, "by_source": sources, "validation_failures": violations}
    return found | {"regenerated": regenerated}


_NAMES = TraceRow._fields
_SIZE = " + ".join(
    f"COALESCE(LENGTH({name}), 0)" for name in ("arguments", "response", "updates", "validation", "payload")
)
_COMPLETE = (
    "UPDATE trace_rows SET "
    + ", ".join(f"{name} = ?" for name in _NAMES)
    + " WHERE run_id = ? AND sequence = ? AND error_code = ?"
    " AND NOT EXISTS (SELECT 1 FROM trace_rows AS later WHERE later.run_id = ? AND later.sequence > ?)"
    " AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = ? AND runs.status <> 'running')"
)
