"""Versions of a task's oracle. Each is a seed of its own: a run names the one it was given."""

from dataclasses import dataclass

from pipelines.storage.database.connection import Connection, insert_row
from pipelines.storage.database.records import Mapper

FIRST_VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class OracleVersion:
    task_id: int
    version: int
    seed_hash: str
    oracle_hash: str | None  # of what counts as right: see core.task_key
    note: str  # why it was changed
    changed_by: str | None  # None of the first
    created_at: str


_VERSION = Mapper(OracleVersion)


def versions_of_task(connection: Connection, task_id: int) -> list[OracleVersion]:
    """Newest first; one where the oracle was never changed, none where there is no such task."""
    statement = f"SELECT {_VERSION.columns} FROM task_oracles WHERE task_id = ? ORDER BY version DESC"
    if found := _VERSION.all(connection, statement, (task_id,)):
        return found
    first = _first_of(connection, task_id)
    return [first] if first is not None else []


def present_version(connection: Connection, task_id: int) -> int:
    row = connection.execute("SELECT MAX(version) FROM task_oracles WHERE task_id = ?", (task_id,)).fetchone()
    return int(row[0] or FIRST_VERSION)


def version_of_run(connection: Connection, *, task_id: int, seed_hash: str, created_at: str) -> int:
    """Which version a run was opened with. One that was taken back later has the seed of an earlier one: then
    it is the newest that the run can have seen."""
    rows = connection.execute(
        "SELECT version, created_at FROM task_oracles WHERE task_id = ? AND seed_hash = ? ORDER BY version",
        (task_id, seed_hash),
    ).fetchall()
    seen = [row[0] for row in rows if row[1] <= created_at]
    return int(seen[-1] if seen else rows[0][0] if rows else FIRST_VERSION)


def add_version(
    connection: Connection,
    *,
    task_id: int,
    before: str,
    after: str,
    oracle_hash: str,
    note: str,
    by: str,
    now: str,
) -> int | None:
    """Give a task another seed; None when it no longer has the seed `before`: somebody was faster.

    Its dataset no longer has the content it was uploaded with, and waits for another name of it.
    """
    first = _first_of(connection, task_id)
    done = connection.execute(
        "UPDATE tasks SET seed_hash = ?, oracle_hash = ? WHERE id = ? AND seed_hash = ?",
        (after, oracle_hash, task_id, before),
    )
    if done.rowcount != 1 or first is None:
        return None
    connection.execute(
        "UPDATE datasets SET content_hash = NULL WHERE id = (SELECT dataset_id FROM tasks WHERE id = ?)",
        (task_id,),
    )
    last = connection.execute(
        "SELECT MAX(version) FROM task_oracles WHERE task_id = ?", (task_id,)
    ).fetchone()[0]
    if last is None:
        _insert(connection, first)
    version = OracleVersion(
        task_id=task_id,
        version=int(last or FIRST_VERSION) + 1,
        seed_hash=after,
        oracle_hash=oracle_hash,
        note=note,
        changed_by=by,
        created_at=now,
    )
    _insert(connection, version)
    return version.version


def _insert(connection: Connection, version: OracleVersion) -> None:
    insert_row(connection, "task_oracles", _VERSION.row(version))


def _first_of(connection: Connection, task_id: int) -> OracleVersion | None:
    """As the task stands, which is its first version while there is no other."""
    row = connection.execute(
        "SELECT seed_hash, oracle_hash, created_at FROM tasks WHERE id = ?", (task_id,)
    ).fetchone()
    if row is None:
        return None
    return OracleVersion(
        task_id=task_id,
        version=FIRST_VERSION,
        seed_hash=row["seed_hash"],
        oracle_hash=row["oracle_hash"],
        note="",
        changed_by=None,
        created_at=row["created_at"],
    )
