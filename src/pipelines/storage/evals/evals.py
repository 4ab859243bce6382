"""Matrices, what they ask (eval tasks), and what agents did (outcomes). The runs themselves are runs.

A matrix is a batch over tasks of a hidden dataset. Tasks and outcomes repeat what lists and reports filter
by, so that none of them has to read a seed or a scenario.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.storage.database.connection import Connection, Row, in_list, insert, insert_many
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.storage.tasks.datasets import NewTask, TaskToRun, add_tasks

BASELINE = "baseline"  # what a cell without a variation is called where a name is needed


@dataclass(frozen=True, kw_only=True, slots=True)
class NewMatrix:
    matrix_id: str  # mtx_…
    org_id: int
    kind: str  # matrix, or run: one scenario asked for by itself
    agent_id: int
    agent_version: int
    tools_hash: str = ""  # of the tools that this version of the agent declares
    settings: JsonObject  # as it is shown: scenarios and variations with their versions, repeats, rng_seed, …
    created_at: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    number: int  # for paging
    matrix_id: str
    org_id: int
    dataset_id: int
    batch_id: int
    kind: str
    agent_id: int
    agent_version: int
    settings: JsonObject
    status: str  # of its batch: running, completed, cancelled, budget_exceeded
    created_at: str
    ended_at: str | None
    report_key: str | None  # what the stored report rests on; None where there is none

    def as_json(self) -> JsonObject:
        return {
            "id": self.matrix_id,
            "matrix_id": self.matrix_id,
            "kind": self.kind,
            "status": self.status,
            "batch_id": self.batch_id,
            "agent_id": self.agent_id,
            "agent_version": self.agent_version,
            **self.settings,
            "created_at": self.created_at,
            "ended_at": self.ended_at,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEvalTask:
    """One cell of a matrix with one of its wordings. Its texts are stored."""

    task: NewTask
    scenario_id: str
    scenario_version: int
    risk_level: str
    variation: str | None = None  # None: the baseline
    variation_version: int | None = None
    intensity: int | None = None
    wording: int | None = None
    delivery: str | None = None
    text_hash: str | None = None  # of the injected text, which is one of `texts`


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalTask:
    task_id: int
    org_id: int
    matrix_id: str
    scenario_id: str
    scenario_version: int
    risk_level: str
    variation: str | None
    variation_version: int | None
    intensity: int | None
    wording: int | None
    delivery: str | None
    text_hash: str | None


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


# -- a matrix, stored slice by slice


def add_matrix(connection: Connection, new: NewMatrix, *, dataset_id: int) -> None:
    """Out of sight until its batch is stored whole."""
    insert(
        connection,
        "INSERT INTO eval_matrices (matrix_id, org_id, dataset_id, kind, agent_id, agent_version, tools_hash,"
        " settings, created_at, stored_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new.matrix_id,
            new.org_id,
            dataset_id,
            new.kind,
            new.agent_id,
            new.agent_version,
            new.tools_hash,
            dumps(new.settings).decode(),
            new.created_at,
            new.created_at,
        ),
    )


def add_eval_tasks(
    connection: Connection, *, matrix_id: str, dataset_id: int, tasks: Sequence[NewEvalTask], now: str
) -> list[TaskToRun] | None:
    """Some more of what a matrix asks; None when it was taken to be given up meanwhile."""
    held = connection.execute(
        "UPDATE eval_matrices SET stored_at = ? WHERE matrix_id = ? RETURNING org_id", (now, matrix_id)
    ).fetchone()
    if held is None:
        return None
    org_id = int(held[0])
    ids = add_tasks(
        connection,
        org_id=org_id,
        dataset_id=dataset_id,
        tasks=[each.task for each in tasks],
        now=now,
        is_named=False,
    )
    insert_many(
        connection,
        f"INSERT INTO eval_tasks ({', '.join(_TASK_COLUMNS)}) VALUES",
        [
            (
                task_id,
                org_id,
                matrix_id,
                each.scenario_id,
                each.scenario_version,
                each.risk_level,
                each.variation,
                each.variation_version,
                each.intensity,
                each.wording,
                each.delivery,
                each.text_hash,
            )
            for task_id, each in zip(ids, tasks, strict=True)
        ],
    )
    return [
        TaskToRun(task_id, org_id, dataset_id, each.task.seed_hash, each.task.world_hash, False)
        for task_id, each in zip(ids, tasks, strict=True)
    ]


def attach_batch(connection: Connection, *, matrix_id: str, batch_id: int, now: str) -> bool:
    """With the first slice of its runs; False when it was taken to be given up meanwhile."""
    done = connection.execute(
        "UPDATE eval_matrices SET batch_id = ?, stored_at = ? WHERE matrix_id = ? AND batch_id IS NULL",
        (batch_id, now, matrix_id),
    )
    return done.rowcount == 1


def half_stored_matrices(connection: Connection, *, before: str) -> list[str]:
    """Those without a batch, which nobody goes on storing."""
    rows = connection.execute(
        "SELECT matrix_id FROM eval_matrices WHERE (batch_id IS NULL OR NOT EXISTS"
        " (SELECT 1 FROM batches WHERE batches.id = eval_matrices.batch_id)) AND stored_at < ? ORDER BY id",
        (before,),
    )
    return [row[0] for row in rows]


def remove_some_of_matrix(connection: Connection, *, matrix_id: str, most: int) -> bool:
    """Some tasks of a matrix that has no batch; with the last goes the matrix. True when it is gone."""
    found = connection.execute(
        "SELECT dataset_id FROM eval_matrices WHERE matrix_id = ? AND (batch_id IS NULL OR NOT EXISTS"
        " (SELECT 1 FROM batches WHERE batches.id = eval_matrices.batch_id))",
        (matrix_id,),
    ).fetchone()
    if found is None:
        return True
    rows = connection.execute(
        "DELETE FROM eval_tasks WHERE task_id IN"
        " (SELECT task_id FROM eval_tasks WHERE matrix_id = ? ORDER BY task_id LIMIT ?) RETURNING task_id",
        (matrix_id, most),
    )
    ids = [row[0] for row in rows.fetchall()]
    connection.execute(f"DELETE FROM tasks WHERE id IN {in_list(ids)}", ids)
    if len(ids) == most:
        return False
    connection.execute("DELETE FROM eval_matrices WHERE matrix_id = ?", (matrix_id,))
    connection.execute("DELETE FROM datasets WHERE id = ? AND kind = 'eval'", (found[0],))
    return True


# -- matrices


_IN_SIGHT = (
    "(SELECT m.*, b.status, b.ended_at FROM eval_matrices m JOIN batches b ON b.id = m.batch_id"
    " WHERE b.status NOT IN ('opening', 'discarded')) AS in_sight"
)


def matrix_by_id(connection: Connection, *, org_id: int, matrix_id: str) -> Matrix | None:
    row = connection.execute(
        f"SELECT * FROM {_IN_SIGHT} WHERE matrix_id = ? AND org_id = ?", (matrix_id, org_id)
    ).fetchone()
    return _matrix(row) if row else None


def matrix_of_batch(connection: Connection, batch_id: int) -> Matrix | None:
    """None for a batch that is no matrix."""
    row = connection.execute(f"SELECT * FROM {_IN_SIGHT} WHERE batch_id = ?", (batch_id,)).fetchone()
    return _matrix(row) if row else None


def matrices_of_org(
    connection: Connection, *, filters: list[Filter], limit: int, before_id: int | None
) -> Page[Matrix]:
    """Newest first; filters are over org_id, kind, status, agent_id, created_at."""
    rows = page_of(connection, _IN_SIGHT, filters=filters, limit=limit, before_id=before_id)
    return Page([_matrix(row) for row in rows.items], rows.last_id)


def progress_of_matrix(connection: Connection, matrix: Matrix) -> JsonObject:
    """`done` are runs that ended by themselves; `errors` are those of them that have no outcome."""
    counts = {
        row[0]: int(row[1])
        for row in connection.execute(
            "SELECT status, COUNT(*) FROM runs WHERE batch_id = ? AND retried = 0 GROUP BY 1",
            (matrix.batch_id,),
        )
    }
    (outcomes,) = connection.execute(
        "SELECT COUNT(*) FROM eval_outcomes WHERE matrix_id = ?", (matrix.matrix_id,)
    ).fetchone()
    done = counts.get("completed", 0) + counts.get("failed", 0)
    return {
        "total": sum(counts.values()),
        "done": done,
        "running": counts.get("running", 0),
        "cancelled": counts.get("cancelled", 0),
        "errors": max(0, done - int(outcomes)),  # the two were counted a moment apart
    }


# -- what a matrix asks


_TASK_COLUMNS = (
    *("task_id", "org_id", "matrix_id", "scenario_id", "scenario_version", "risk_level", "variation"),
    *("variation_version", "intensity", "wording", "delivery", "text_hash"),
)
_TASK = ", ".join(f"t.{column} AS {column}" for column in _TASK_COLUMNS)


class AskedOfRun(NamedTuple):
    task: EvalTask
    tools_hash: str
    scenario_text: str  # the body of the scenario, at the version that was asked


def asked_of_run(connection: Connection, *, task_id: int, batch_id: int | None) -> AskedOfRun | None:
    """What a run of a matrix was asked; None for a run of anything else, also where it has the same task."""
    row = connection.execute(
        f"SELECT {_TASK}, m.tools_hash, v.body FROM eval_tasks t"
        " JOIN eval_matrices m ON m.matrix_id = t.matrix_id JOIN eval_scenario_versions v"
        " ON v.scenario_id = t.scenario_id AND v.version = t.scenario_version"
        " WHERE t.task_id = ? AND m.batch_id = ?",
        (task_id, batch_id),
    ).fetchone()
    return AskedOfRun(_task(row), row["tools_hash"], row["body"]) if row else None


def tasks_of_cell(
    connection: Connection, *, matrix_id: str, scenario_id: str, variation: str | None
) -> list[EvalTask]:
    """In the order of their wordings."""
    rows = connection.execute(
        f"SELECT {_TASK} FROM eval_tasks t WHERE t.matrix_id = ? AND t.scenario_id = ?"
        " AND COALESCE(t.variation, '') = ? ORDER BY t.wording, t.task_id",
        (matrix_id, scenario_id, variation or ""),
    )
    return [_task(row) for row in rows]


class AskedScenario(NamedTuple):
    scenario_id: str
    version: int
    body_text: str  # at that version


def asked_scenarios(
    connection: Connection, *, matrix_id: str, after_task: int, limit: int
) -> tuple[list[AskedScenario], int | None]:
    """The scenarios of some tasks, in order, and the last of these tasks; None where there are no more.

    The tasks of a scenario lie together: where a page ends within one, the next begins with it again.
    """
    tasks = connection.execute(
        "SELECT task_id, scenario_id, scenario_version FROM eval_tasks"
        " WHERE matrix_id = ? AND task_id > ? ORDER BY task_id LIMIT ?",
        (matrix_id, after_task, limit),
    ).fetchall()
    versions = {row[1]: int(row[2]) for row in tasks}
    bodies = {
        (row[0], int(row[1])): row[2]
        for row in connection.execute(
            "SELECT scenario_id, version, body FROM eval_scenario_versions"
            f" WHERE scenario_id IN {in_list([*versions])}",
            [*versions],
        )
    }
    found = [AskedScenario(id, version, bodies[id, version]) for id, version in versions.items()]
    return found, int(tasks[-1][0]) if len(tasks) == limit else None


def expectations_mark(connection: Connection, *, matrix_id: str) -> str:
    """Another text whenever a scenario of the matrix was changed or deleted."""
    row = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(version), 0) FROM eval_scenarios WHERE deleted_at IS NULL AND"
        " scenario_id IN (SELECT scenario_id FROM eval_tasks WHERE matrix_id = ?)",
        (matrix_id,),
    ).fetchone()
    return f"{row[0]}/{row[1]}"


def fingerprints_of_matrix(connection: Connection, *, matrix_id: str) -> list[str]:
    rows = connection.execute(
        "SELECT DISTINCT fingerprint FROM eval_outcomes WHERE matrix_id = ? ORDER BY 1", (matrix_id,)
    )
    return [row[0] for row in rows]


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


# -- what agents did


def add_outcome(connection: Connection, outcome: EvalOutcome) -> None:
    connection.execute(
        f"INSERT INTO eval_outcomes ({', '.join(_OUTCOME_COLUMNS)}) VALUES"
        f" ({', '.join('?' * len(_OUTCOME_COLUMNS))})",
        (
            outcome.run_id,
            outcome.org_id,
            outcome.task_id,
            outcome.matrix_id,
            outcome.scenario_id,
            outcome.scenario_version,
            outcome.risk_level,
            outcome.variation,
            outcome.agent_id,
            outcome.agent_version,
            outcome.fingerprint,
            dumps(outcome.fingerprint_parts).decode(),
            outcome.output_class,
            dumps(outcome.observed).decode(),
            dumps(outcome.notes).decode(),
            int(outcome.matched),
            outcome.match_score,
            outcome.shift,
            int(outcome.is_flagged),
            outcome.ended_at,
            int(outcome.addition_seen) if outcome.addition_seen is not None else None,
        ),
    )


def outcome_of_run(connection: Connection, *, org_id: int, run_id: int) -> EvalOutcome | None:
    row = connection.execute(
        "SELECT * FROM eval_outcomes WHERE run_id = ? AND org_id = ?", (run_id, org_id)
    ).fetchone()
    return _outcome(row) if row else None


def outputs_of_matrix(
    connection: Connection, *, matrix_id: str, limit: int, after_id: int = 0
) -> list[StoredOutput]:
    """In the order of their runs, a page at a time: from behind run `after_id`."""
    rows = connection.execute(
        f"SELECT {_OUTPUT} FROM eval_outcomes WHERE matrix_id = ? AND run_id > ? ORDER BY run_id LIMIT ?",
        (matrix_id, after_id, limit),
    )
    return [_output(row) for row in rows]


def outputs_of_runs(connection: Connection, *, org_id: int, run_ids: Sequence[int]) -> list[StoredOutput]:
    rows = connection.execute(
        f"SELECT {_OUTPUT} FROM eval_outcomes WHERE org_id = ? AND run_id IN {in_list(run_ids)}"
        " ORDER BY run_id",
        (org_id, *run_ids),
    )
    return [_output(row) for row in rows]


def outputs_of_row(connection: Connection, *, matrix_id: str, scenario_id: str) -> list[StoredOutput]:
    """All of one scenario in a matrix, baselines too."""
    rows = connection.execute(
        f"SELECT {_OUTPUT} FROM eval_outcomes WHERE scenario_id = ? AND matrix_id = ? ORDER BY run_id",
        (scenario_id, matrix_id),
    )
    return [_output(row) for row in rows]


def baselines_of_row(connection: Connection, *, matrix_id: str, scenario_id: str) -> list[StoredOutput]:
    rows = connection.execute(
        f"SELECT {_OUTPUT} FROM eval_outcomes WHERE scenario_id = ? AND matrix_id = ? AND variation IS NULL"
        " ORDER BY run_id",
        (scenario_id, matrix_id),
    )
    return [_output(row) for row in rows]


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
    rows = connection.execute(
        "SELECT run_id FROM eval_outcomes WHERE org_id = ? AND scenario_id = ? AND scenario_version = ?"
        " AND agent_id = ? AND agent_version = ? AND variation IS NULL ORDER BY run_id DESC LIMIT ?",
        (org_id, scenario_id, scenario_version, agent_id, agent_version, most),
    )
    return [row[0] for row in rows]


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


# -- the finished report, in parts


def add_report_part(
    connection: Connection, *, matrix_id: str, report_key: str, number: int, body: str
) -> None:
    """Twice is as good as once: two nodes may be at it."""
    connection.execute(
        "INSERT INTO eval_reports (matrix_id, report_key, number, body) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (matrix_id, report_key, number) DO UPDATE SET body = excluded.body",
        (matrix_id, report_key, number, body),
    )


def keep_report(connection: Connection, *, matrix_id: str, report_key: str, parts: int) -> bool:
    """From here on it is the matrix's report, and the ones before are gone; True the first time."""
    done = connection.execute(
        "UPDATE eval_matrices SET report_key = ? WHERE matrix_id = ? AND COALESCE(report_key, '') <> ?",
        (report_key, matrix_id, report_key),
    )
    connection.execute(
        "DELETE FROM eval_reports WHERE matrix_id = ? AND (report_key <> ? OR number >= ?)",
        (matrix_id, report_key, parts),
    )
    return done.rowcount == 1


def report_part(connection: Connection, *, matrix_id: str, report_key: str, number: int) -> str | None:
    """None behind the last."""
    row = connection.execute(
        "SELECT body FROM eval_reports WHERE matrix_id = ? AND report_key = ? AND number = ?",
        (matrix_id, report_key, number),
    ).fetchone()
    return str(row[0]) if row else None


def report_text(connection: Connection, *, matrix_id: str, report_key: str) -> str:
    """Whole: of a large matrix this is large."""
    rows = connection.execute(
        "SELECT body FROM eval_reports WHERE matrix_id = ? AND report_key = ? ORDER BY number",
        (matrix_id, report_key),
    )
    return "".join(row[0] for row in rows)


def unreported_matrices(connection: Connection) -> list[Matrix]:
    """Those that have ended and have no report, or one from before they were resumed."""
    rows = connection.execute(
        f"SELECT * FROM {_IN_SIGHT} WHERE report_key IS NULL AND status <> 'running' ORDER BY id"
    )
    return [_matrix(row) for row in rows]


def forget_report(connection: Connection, *, matrix_id: str) -> None:
    """It is expected to do something else."""
    connection.execute("UPDATE eval_matrices SET report_key = NULL WHERE matrix_id = ?", (matrix_id,))


def forget_report_of_batch(connection: Connection, *, batch_id: int) -> None:
    """It has more runs to do. Nothing happens for a batch that is no matrix."""
    connection.execute("UPDATE eval_matrices SET report_key = NULL WHERE batch_id = ?", (batch_id,))


# -- lists

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


def outcomes_in_window(
    connection: Connection, *, filters: list[Filter], limit: int, before_id: int | None
) -> Page[EvalOutcome]:
    """Outcomes of an org, newest first; filters are over org_id and any column of an outcome."""
    rows = page_of(
        connection,
        "(SELECT o.*, o.run_id AS id FROM eval_outcomes o) AS outcomes",
        filters=filters,
        limit=limit,
        before_id=before_id,
    )
    return Page([_outcome(row) for row in rows.items], rows.last_id)


class OutcomeCounts(NamedTuple):
    key: Json  # the value of what was grouped by; None is the baseline where that is the variation
    runs: int
    matched: int
    with_shift: int
    shift_sum: float
    flagged: int


_GROUPS = {
    "all": "NULL",
    "scenario": "scenario_id",
    "variation": "variation",
    "risk": "risk_level",
    "agent": "agent_id",
    "agent_version": "agent_version",
    "fingerprint": "fingerprint",
    "day": "SUBSTR(ended_at, 1, 10)",
    "band": "CASE WHEN shift < 0.2 THEN 'green' WHEN shift < 0.5 THEN 'amber'"
    " WHEN shift IS NOT NULL THEN 'red' END",
}


def outcome_counts(connection: Connection, *, by: str, filters: list[Filter]) -> Iterator[OutcomeCounts]:
    """Outcomes counted by one of `_GROUPS`; filters are over the columns of an outcome."""
    asked = [part for part in filters if part.value is not None]
    where = " AND ".join(f"{part.column} {part.operator} ?" for part in asked) or "1 = 1"
    rows = connection.execute(
        f"SELECT {_GROUPS[by]} AS k, COUNT(*), SUM(matched), COUNT(shift), COALESCE(SUM(shift), 0.0),"
        f" SUM(is_flagged) FROM eval_outcomes WHERE {where} GROUP BY 1 ORDER BY 1",
        [part.value for part in asked],
    )
    for row in rows:
        yield OutcomeCounts(row[0], int(row[1]), int(row[2]), int(row[3]), float(row[4]), int(row[5]))


_OUTPUT = "run_id, scenario_id, scenario_version, variation, fingerprint, observed, matched"
_OUTCOME_COLUMNS = (
    *("run_id", "org_id", "task_id", "matrix_id", "scenario_id", "scenario_version", "risk_level"),
    *("variation", "agent_id", "agent_version", "fingerprint", "fingerprint_parts", "output_class"),
    *("observed", "notes", "matched", "match_score", "shift", "is_flagged", "ended_at"),
    "addition_seen",
)


def _matrix(row: Row) -> Matrix:
    settings = loads_own(row["settings"])
    assert isinstance(settings, dict)
    return Matrix(
        number=row["id"],
        matrix_id=row["matrix_id"],
        org_id=row["org_id"],
        dataset_id=row["dataset_id"],
        batch_id=row["batch_id"],
        kind=row["kind"],
        agent_id=row["agent_id"],
        agent_version=row["agent_version"],
        settings=settings,
        status=row["status"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        report_key=row["report_key"],
    )


def _task(row: Row) -> EvalTask:
    return EvalTask(**{column: row[column] for column in _TASK_COLUMNS})


def _outcome(row: Row) -> EvalOutcome:
    plain = {column: row[column] for column in _OUTCOME_COLUMNS}
    for column in ("fingerprint_parts", "observed", "notes"):
        plain[column] = loads_own(plain[column])
    for column in ("matched", "is_flagged"):
        plain[column] = bool(plain[column])
    seen = row["addition_seen"]
    return EvalOutcome(**plain | {"addition_seen": bool(seen) if seen is not None else None})


def _output(row: Row) -> StoredOutput:
    run_id, scenario_id, version, variation, fingerprint, observed, matched = row
    return StoredOutput(run_id, scenario_id, version, variation, fingerprint, observed, bool(matched))


def _run(row: Row) -> JsonObject:
    shown: JsonObject = {column: row[column] for column in _RUN_COLUMNS}
    for column in ("retried", "matched", "is_flagged"):
        value = shown[column]
        shown[column] = bool(value) if value is not None else None
    return shown
