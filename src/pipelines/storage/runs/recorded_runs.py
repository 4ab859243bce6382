"""Runs that were made elsewhere, stored with their rows and words before they have a verdict."""

from dataclasses import dataclass

from pipelines.core.recordings.recorded_run import RECORDED
from pipelines.core.text.json_text import Json
from pipelines.core.tools.trace_row import TraceRow
from pipelines.storage.database.connection import Connection, insert, some_of
from pipelines.storage.database.records import Mapper
from pipelines.storage.database.trace_rows import CHUNK, insert_rows
from pipelines.storage.runs.runs import Run, run_by_token_hash
from pipelines.storage.tasks.datasets import Task
from pipelines.wire.names import RunStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRecordedRun:
    task: Task
    agent_id: int
    agent_version: int
    repeat_number: int
    jti: str
    token_hash: str  # of a token that nobody has
    world_hash: str | None
    simulated_now: str
    final_response: str | None
    messages: Json
    metadata: Json
    error_class: str | None
    error_json: Json
    soft_warnings: list[Json]
    conversation: Json
    created_at: str
    rows: tuple[TraceRow, ...]


_NEW = Mapper(NewRecordedRun, apart=("task", "rows"))


def add_recorded_run(connection: Connection, batch_id: int, new: NewRecordedRun) -> int:
    """As running: its verdict ends it. Nobody can call its tools, as it has expired already."""
    task = new.task
    place = {"org_id": task.org_id, "task_id": task.id, "dataset_id": task.dataset_id, "batch_id": batch_id}
    state = {"mode": RECORDED, "status": RunStatus.RUNNING, "expires_at": new.created_at}
    run_id = insert(connection, "runs", _NEW.row(new) | place | state | {"seed_hash": task.seed_hash})
    rows = [row._replace(run_id=run_id) for row in new.rows]
    for some in some_of(rows, CHUNK):
        insert_rows(connection, some)
    return run_id


def show_import(connection: Connection, *, batch_id: int) -> bool:
    """All its runs are stored: from here on they are seen, and judged. There is nothing to queue."""
    done = connection.execute(
        "UPDATE batches SET status = 'running', unqueued_since = NULL WHERE id = ? AND status = 'opening'",
        (batch_id,),
    )
    return done.rowcount == 1


def unjudged_runs(connection: Connection) -> list[tuple[int, int]]:
    """(batch, run) of what a kill left without a verdict."""
    rows = connection.execute(
        "SELECT r.batch_id, r.id FROM runs r JOIN batches b ON b.id = r.batch_id"
        " WHERE r.status = 'running' AND r.mode = ? AND b.status = 'running' ORDER BY r.id",
        (RECORDED,),
    )
    return [(row[0], row[1]) for row in rows]


def recorded_run(connection: Connection, run_id: int) -> Run | None:
    """For whoever judges it, who asks for no org."""
    row = connection.execute("SELECT token_hash FROM runs WHERE id = ?", (run_id,)).fetchone()
    return run_by_token_hash(connection, row[0]) if row else None
