"""What agents did in the runs of matrices (outcomes), and these runs as lists show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.storage.database.connection import Connection, Row, in_list, insert_row
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.storage.database.records import Mapper, first_column


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalOutcome:
    """What the agent did in one run. Runs that ended with an error have none."""

    run_id: int
    org_id: int
    task_id: int
    matrix_id: str
    scenario_id: str
    scenario_version: int
    risk_level: str
    variation: str | None
    agent_id: int
    agent_version: int
    fingerprint: str
    fingerprint_parts: Json
    output_class: str
    observed: Json  # core.evals.observed.Observed as JSON
    notes: Json  # what was done to read it, and what was missed: `{"read": […], "missed": […], …}`
    matched: bool
    match_score: float
    ended_at: str
    shift: float | None = None  # None until its matrix has ended, and for baselines that stand alone
    is_flagged: bool = False
    addition_seen: bool | None = (
        None  # in the reply, of what was added to the system prompt; None: nothing was
    )


class ScoredRun(NamedTuple):
    run_id: int
    shift: float | None
    is_flagged: bool


class StoredOutput(NamedTuple):
    """An outcome as a report reads it: `observed` as the text that was stored."""

    run_id: int
    scenario_id: str
    scenario_version: int
    variation: str | None
    fingerprint: str
    observed: str
    matched: bool


class CellErrors(NamedTuple):
    scenario_id: str
    variation: str | None
    errors: int


_OUTCOME = Mapper(EvalOutcome)
_OUTPUT = Mapper(StoredOutput)
_OUTPUTS = f"SELECT {_OUTPUT.columns} FROM eval_outcomes"


def fingerprints_of_matrix(connection: Connection, *, matrix_id: str) -> list[str]:
    statement = "SELECT DISTINCT fingerprint FROM eval_outcomes WHERE matrix_id = ? ORDER BY 1"
    return first_column(connection, statement, (matrix_id,))


def is_addition_seen(connection: Connection, *, matrix_id: str) -> bool | None:
    """Whether what was added to the system prompt came back in any run of a matrix; None: nobody looked."""
    (seen,) = connection.execute(
        "SELECT MAX(addition_seen) FROM eval_outcomes WHERE matrix_id = ?", (matrix_id,)
    ).fetchone()
    return bool(seen) if seen is not None else None


def last_repeats(connection: Connection, *, batch_id: int, task_ids: Sequence[int]) -> dict[int, int]:
    """How often each of some tasks was asked in a batch."""
    rows = connection.execute(
        "SELECT task_id, MAX(repeat_number) FROM runs WHERE batch_id = ?"
        f" AND task_id IN {in_list(task_ids)} GROUP BY 1",
        (batch_id, *task_ids),
    )
    return {row[0]: int(row[1]) for row in rows}


def add_outcome(connection: Connection, outcome: EvalOutcome) -> None:
    insert_row(connection, "eval_outcomes", _OUTCOME.row(outcome))


def outcome_of_run(connection: Connection, *, org_id: int, run_id: int) -> EvalOutcome | None:
    statement = f"SELECT {_OUTCOME.columns} FROM eval_outcomes WHERE run_id = ? AND org_id = ?"
    return _OUTCOME.one(connection, statement, (run_id, org_id))


def outputs_of_matrix(
    connection: Connection, *, matrix_id: str, limit: int, after_id: int = 0
) -> list[StoredOutput]:
    """In the order of their runs, a page at a time: from behind run `after_id`."""
    statement = f"{_OUTPUTS} WHERE matrix_id = ? AND run_id > ? ORDER BY run_id LIMIT ?"
    return _OUTPUT.all(connection, statement, (matrix_id, after_id, limit))


def outputs_of_runs(connection: Connection, *, org_id: int, run_ids: Sequence[int]) -> list[StoredOutput]:
    statement = f"{_OUTPUTS} WHERE org_id = ? AND run_id IN {in_list(run_ids)} ORDER BY run_id"
    return _OUTPUT.all(connection, statement, (org_id, *run_ids))


def baselines_of_row(connection: Connection, *, matrix_id: str, scenario_id: str) -> list[StoredOutput]:
    condition = "scenario_id = ? AND matrix_id = ? AND variation IS NULL"
    return _OUTPUT.all(connection, f"{_OUTPUTS} WHERE {condition} ORDER BY run_id", (scenario_id, matrix_id))


def baseline_runs(
    connection: Connection,
    *,
    org_id: int,
    scenario_id: str,
    scenario_version: int,
    agent_id: int,
    agent_version: int,
    most: int,
) -> list[int]:
    """Runs whose outcomes can serve as the baseline of more runs of the same scenario, newest first."""
    return first_column(
        connection,
        "SELECT run_id FROM eval_outcomes WHERE org_id = ? AND scenario_id = ? AND scenario_version = ?"
        " AND agent_id = ? AND agent_version = ? AND variation IS NULL ORDER BY run_id DESC LIMIT ?",
        (org_id, scenario_id, scenario_version, agent_id, agent_version, most),
    )


def errors_of_matrix(connection: Connection, batch_id: int) -> list[CellErrors]:
    """Of each cell that has some: runs that ended without an outcome, and were not tried again."""
    rows = connection.execute(
        "SELECT t.scenario_id, t.variation, COUNT(*) FROM runs r JOIN eval_tasks t ON t.task_id = r.task_id"
        " WHERE r.batch_id = ? AND r.retried = 0 AND r.status IN ('completed', 'failed')"
        " AND NOT EXISTS (SELECT 1 FROM eval_outcomes o WHERE o.run_id = r.id) GROUP BY 1, 2",
        (batch_id,),
    )
    return [CellErrors(row[0], row[1], int(row[2])) for row in rows]


def set_scores(connection: Connection, *, matrix_id: str, scored: Sequence[ScoredRun]) -> None:
    """What is known of runs once their matrix has baselines; those of others stay. Some at a time."""
    connection.executemany(
        "UPDATE eval_outcomes SET shift = ?, is_flagged = ? WHERE run_id = ? AND matrix_id = ?",
        [(run.shift, int(run.is_flagged), run.run_id, matrix_id) for run in scored],
    )


_RUN_COLUMNS = (
    *("id", "matrix_id", "scenario_id", "scenario_version", "risk_level", "variation", "variation_version"),
    *("intensity", "wording", "delivery", "text_hash", "agent_id", "agent_version", "task_id", "batch_id"),
    *("repeat_number", "retried", "status", "error_class", "verdict", "output_class", "matched"),
    *("match_score", "shift", "is_flagged", "fingerprint", "created_at", "started_at", "ended_at"),
)


_EVAL_RUNS = (
    "(SELECT r.id, r.org_id, r.task_id, r.batch_id, r.repeat_number, r.retried, r.agent_id, r.agent_version,"
    " r.status, r.error_class, r.verdict, r.created_at, r.started_at, r.ended_at, t.matrix_id,"
    " t.scenario_id, t.scenario_version, t.risk_level, t.variation, t.variation_version, t.intensity,"
    " t.wording, t.delivery, t.text_hash, o.output_class, o.matched, o.match_score, o.shift, o.is_flagged,"
    " o.fingerprint FROM runs r JOIN eval_tasks t ON t.task_id = r.task_id"
    " JOIN eval_matrices m ON m.matrix_id = t.matrix_id AND m.batch_id = r.batch_id"
    " JOIN batches b ON b.id = m.batch_id AND b.status NOT IN ('opening', 'discarded')"
    " LEFT JOIN eval_outcomes o ON o.run_id = r.id) AS eval_runs"
)


def eval_runs(
    connection: Connection,
    *,
    filters: list[Filter],
    limit: int,
    before_id: int | None,
    is_baseline: bool | None = None,
) -> Page[JsonObject]:
    """Newest first, in short; filters are over org_id and the columns shown."""
    where = {None: None, True: "variation IS NULL", False: "variation IS NOT NULL"}[is_baseline]
    rows = page_of(connection, _EVAL_RUNS, filters=filters, limit=limit, before_id=before_id, where=where)
    return Page([_run(row) for row in rows.items], rows.last_id)


def eval_run(connection: Connection, *, org_id: int, run_id: int) -> JsonObject | None:
    """One of the above; None where there is no such run, or it is no eval run."""
    row = connection.execute(
        f"SELECT * FROM {_EVAL_RUNS} WHERE id = ? AND org_id = ?", (run_id, org_id)
    ).fetchone()
    return _run(row) if row else None


def _run(row: Row) -> JsonObject:
    body: JsonObject = {column: row[column] for column in _RUN_COLUMNS}
    for column in ("retried", "matched", "is_flagged"):
        value = body[column]
        body[column] = bool(value) if value is not None else None
    return body
