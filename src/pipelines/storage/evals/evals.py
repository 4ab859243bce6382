"""Matrices, what they ask (eval tasks), and what agents did (outcomes). The runs themselves are runs.

A matrix is a batch over tasks of a hidden dataset. Tasks and outcomes repeat what lists and reports filter
by, so that none of them has to read a seed or a scenario.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.core.text.json_text import JsonObject
from pipelines.storage.database.connection import Connection, in_list, insert_many, insert_row
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, Stored, first_column, first_value
from pipelines.storage.runs.batches import BATCH_STATUSES
from pipelines.storage.tasks.datasets import NewTask, TaskToRun, add_tasks
from pipelines.wire.records import Flat, Hidden, Id, Moment, Record, one_of, shown

_COMPARED_SCENARIOS = 100  # that an earlier matrix is looked for by
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
class Matrix(Record):
    """A matrix, or some runs of one scenario."""

    number: Annotated[Hidden[int], Stored(column="id")]  # for paging
    matrix_id: str
    org_id: Hidden[int]
    dataset_id: Hidden[int]
    kind: Annotated[str, one_of(("matrix", "run"))]
    status: Annotated[str, one_of(BATCH_STATUSES)]  # of its batch
    batch_id: Id
    agent_id: Id
    agent_version: Id
    label: Annotated[str | None, "the build of the agent, as a person names it"]
    note: str | None
    reported_build: Annotated[str | None, "`metadata.build` of the first of its runs that has one"]
    has_other_builds: Annotated[bool, "whether later runs reported another build"]
    settings: Flat[JsonObject]
    created_at: Moment
    ended_at: Moment | None
    report_key: Hidden[str | None]  # what the stored report rests on; None where there is none

    @shown(after="")
    def id(self) -> str:
        return self.matrix_id


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


_NEW_MATRIX = Mapper(NewMatrix)
_MATRIX = Mapper(Matrix)
_NEW_TASK = Mapper(NewEvalTask, apart=("task",))
_TASK = Mapper(EvalTask)

# -- a matrix, stored slice by slice


def add_matrix(connection: Connection, new: NewMatrix, *, dataset_id: int) -> None:
    """Out of sight until its batch is stored whole."""
    row = _NEW_MATRIX.row(new) | {"dataset_id": dataset_id, "stored_at": new.created_at}
    insert_row(connection, "eval_matrices", row)


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
    own = {"org_id": org_id, "matrix_id": matrix_id}
    rows = [
        {"task_id": task_id} | own | _NEW_TASK.row(each) for task_id, each in zip(ids, tasks, strict=True)
    ]
    insert_many(connection, "eval_tasks", rows)
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


_WITHOUT_BATCH = (
    "(batch_id IS NULL OR NOT EXISTS (SELECT 1 FROM batches WHERE batches.id = eval_matrices.batch_id))"
)


def half_stored_matrices(connection: Connection, *, before: str) -> list[str]:
    """Those without a batch, which nobody goes on storing."""
    return first_column(
        connection,
        f"SELECT matrix_id FROM eval_matrices WHERE {_WITHOUT_BATCH} AND stored_at < ? ORDER BY id",
        (before,),
    )


def remove_some_of_matrix(connection: Connection, *, matrix_id: str, most: int) -> bool:
    """Some tasks of a matrix that has no batch; with the last goes the matrix. True when it is gone."""
    statement = f"SELECT dataset_id FROM eval_matrices WHERE matrix_id = ? AND {_WITHOUT_BATCH}"
    found = connection.execute(statement, (matrix_id,)).fetchone()
    if found is None:
        return True
    ids = first_column(
        connection,
        "DELETE FROM eval_tasks WHERE task_id IN"
        " (SELECT task_id FROM eval_tasks WHERE matrix_id = ? ORDER BY task_id LIMIT ?) RETURNING task_id",
        (matrix_id, most),
    )
    connection.execute(f"DELETE FROM tasks WHERE id IN {in_list(ids)}", ids)
    if len(ids) == most:
        return False
    connection.execute("DELETE FROM eval_matrices WHERE matrix_id = ?", (matrix_id,))
    connection.execute("DELETE FROM datasets WHERE id = ? AND kind = 'eval'", (found[0],))
    return True


# -- matrices


_IN_SIGHT = (
    "(SELECT m.*, b.status, b.ended_at, b.label, b.note, b.reported_build, b.has_other_builds"
    " FROM eval_matrices m JOIN batches b ON b.id = m.batch_id"
    " WHERE b.status NOT IN ('opening', 'discarded')) AS in_sight"
)


_MATRICES = f"SELECT {_MATRIX.columns} FROM {_IN_SIGHT}"


def matrix_by_id(connection: Connection, *, org_id: int, matrix_id: str) -> Matrix | None:
    return _MATRIX.one(connection, f"{_MATRICES} WHERE matrix_id = ? AND org_id = ?", (matrix_id, org_id))


def matrix_of_batch(connection: Connection, batch_id: int) -> Matrix | None:
    """None for a batch that is no matrix."""
    return _MATRIX.one(connection, f"{_MATRICES} WHERE batch_id = ?", (batch_id,))


def matrices_of_org(
    connection: Connection,
    *,
    filters: list[Filter],
    limit: int,
    before_id: int | None,
    newest_first: bool = True,
) -> Page[Matrix]:
    """Filters are over org_id, kind, status, agent_id, agent_version, label, created_at."""
    return _MATRIX.page(
        connection,
        _IN_SIGHT,
        filters=filters,
        limit=limit,
        before_id=before_id,
        newest_first=newest_first,
    )


def earlier_matrix(connection: Connection, matrix: Matrix) -> str | None:
    """The newest matrix before it of the same agent that has one of its scenarios."""
    scenarios = first_column(
        connection,
        "SELECT DISTINCT scenario_id FROM eval_tasks WHERE matrix_id = ? LIMIT ?",
        (matrix.matrix_id, _COMPARED_SCENARIOS),
    )
    found = first_value(
        connection,
        f"SELECT matrix_id FROM {_IN_SIGHT} WHERE org_id = ? AND agent_id = ? AND kind = ? AND id < ?"
        " AND EXISTS (SELECT 1 FROM eval_tasks t WHERE t.matrix_id = in_sight.matrix_id"
        f" AND t.scenario_id IN {in_list(scenarios)}) ORDER BY id DESC LIMIT 1",
        (matrix.org_id, matrix.agent_id, matrix.kind, matrix.number, *scenarios),
    )
    return str(found) if found is not None else None


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


class AskedOfRun(NamedTuple):
    task: EvalTask
    tools_hash: str
    scenario_text: str  # the body of the scenario, at the version that was asked


def asked_of_run(connection: Connection, *, task_id: int, batch_id: int | None) -> AskedOfRun | None:
    """What a run of a matrix was asked; None for a run of anything else, also where it has the same task."""
    row = connection.execute(
        f"SELECT {_TASK.columns_of('t')}, m.tools_hash, v.body FROM eval_tasks t"
        " JOIN eval_matrices m ON m.matrix_id = t.matrix_id JOIN eval_scenario_versions v"
        " ON v.scenario_id = t.scenario_id AND v.version = t.scenario_version"
        " WHERE t.task_id = ? AND m.batch_id = ?",
        (task_id, batch_id),
    ).fetchone()
    return AskedOfRun(_TASK.read(row[:-2]), row["tools_hash"], row["body"]) if row else None


def tasks_of_cell(
    connection: Connection, *, matrix_id: str, scenario_id: str, variation: str | None
) -> list[EvalTask]:
    """In the order of their wordings."""
    return _TASK.all(
        connection,
        f"SELECT {_TASK.columns} FROM eval_tasks WHERE matrix_id = ? AND scenario_id = ?"
        " AND COALESCE(variation, '') = ? ORDER BY wording, task_id",
        (matrix_id, scenario_id, variation or ""),
    )


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


# -- the finished report, in parts


def add_report_part(
    connection: Connection, *, matrix_id: str, report_key: str, number: int, body: str
) -> None:
    """Twice is as good as once: two nodes may be at it."""
    insert_row(
        connection,
        "eval_reports",
        {"matrix_id": matrix_id, "report_key": report_key, "number": number, "body": body},
        "ON CONFLICT (matrix_id, report_key, number) DO UPDATE SET body = excluded.body",
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
    statement = "SELECT body FROM eval_reports WHERE matrix_id = ? AND report_key = ? AND number = ?"
    row = connection.execute(statement, (matrix_id, report_key, number)).fetchone()
    return str(row[0]) if row else None


def unreported_matrices(connection: Connection) -> list[Matrix]:
    """Those that have ended and have no report, or one from before they were resumed."""
    condition = "report_key IS NULL AND status <> 'running'"
    return _MATRIX.all(connection, f"{_MATRICES} WHERE {condition} ORDER BY id")


def forget_report_of_batch(connection: Connection, *, batch_id: int) -> None:
    """It has more runs to do. Nothing happens for a batch that is no matrix."""
    connection.execute("UPDATE eval_matrices SET report_key = NULL WHERE batch_id = ?", (batch_id,))
