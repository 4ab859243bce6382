"""What pages show of batches: how their runs ended and why, tasks with repeats, what runs took before."""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.text.json_text import Json, loads_own
from pipelines.core.verdict.pending_words import in_order
from pipelines.storage.database.connection import Connection, in_list
from pipelines.storage.database.paging import Page, page_of
from pipelines.storage.lists.run_lists import COST_COLUMN, cost_in
from pipelines.storage.runs.runs import HAS_UNVERIFIED

MOST_COSTS = 2_000  # runs of a batch whose costs are summed up


class TaskOutcome(NamedTuple):
    """One task of a batch with all its repeats."""

    task_id: int
    passed: int
    judged: int
    runs: int


class BatchOutcome(NamedTuple):
    by_status: dict[str, int]
    by_verdict: dict[str, int]
    by_task: list[tuple[int, int]]  # (passes, judged runs) of each task that has a judged run

    @property
    def total(self) -> int:
        return sum(self.by_status.values())


class RanBefore(NamedTuple):
    """A run that ended, for estimates."""

    dispatched_at: str
    ended_at: str
    cost_usd: float | None


class BatchCost(NamedTuple):
    dollars: float
    reported: int  # runs that say what they cost
    looked_at: int


def outcomes_of_batches(connection: Connection, batch_ids: Sequence[int]) -> dict[int, BatchOutcome]:
    found = {batch_id: BatchOutcome({}, {}, []) for batch_id in batch_ids}
    listed = in_list(batch_ids)
    for batch_id, status, verdict, count in connection.execute(
        f"SELECT batch_id, status, verdict, COUNT(*) FROM runs WHERE batch_id IN {listed} AND retried = 0"
        " GROUP BY 1, 2, 3",
        batch_ids,
    ):
        outcome = found[batch_id]
        outcome.by_status[status] = outcome.by_status.get(status, 0) + count
        if verdict is not None:
            outcome.by_verdict[verdict] = outcome.by_verdict.get(verdict, 0) + count
    for batch_id, passed, judged, _ in connection.execute(
        "SELECT batch_id, SUM(CASE WHEN verdict = 'PASS' THEN 1 ELSE 0 END), COUNT(*), task_id FROM runs"
        f" WHERE batch_id IN {listed} AND retried = 0 AND verdict IN ('PASS', 'FAIL') GROUP BY 1, 4",
        batch_ids,
    ):
        found[batch_id].by_task.append((int(passed), int(judged)))
    return found


def reasons_of_batch(connection: Connection, batch_id: int) -> tuple[dict[str, int], dict[str, int]]:
    """How its runs failed: by failure mode those that were judged to, by error class those that broke."""
    modes: dict[str, int] = {}
    errors: dict[str, int] = {}
    for mode, error, count in connection.execute(
        "SELECT failure_mode, error_class, COUNT(*) FROM runs WHERE batch_id = ? AND retried = 0"
        " AND status IN ('completed', 'failed', 'cancelled')"
        " AND (verdict = 'FAIL' OR error_class IS NOT NULL) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
        (batch_id,),
    ):
        if mode is not None:
            modes[mode] = modes.get(mode, 0) + count
        if error is not None:
            errors[error] = errors.get(error, 0) + count
    return modes, errors


def last_error(connection: Connection, batch_id: int, error_class: str) -> Json:
    """What the newest run of the batch says that failed in this way."""
    row = connection.execute(
        "SELECT error_json FROM runs WHERE batch_id = ? AND retried = 0 AND error_class = ?"
        " ORDER BY id DESC LIMIT 1",
        (batch_id, error_class),
    ).fetchone()
    return loads_own(row[0]) if row is not None and row[0] is not None else None


def pending_reasons_of_batch(connection: Connection, batch_id: int) -> dict[str, int]:
    """How many runs are pending for which reason. Those of graders before version 20 have none."""
    rows = connection.execute(
        "SELECT pending_reason, COUNT(*) FROM runs WHERE batch_id = ? AND retried = 0"
        " AND pending_reason IS NOT NULL GROUP BY 1",
        (batch_id,),
    )
    return in_order({row[0]: int(row[1]) for row in rows})


def unverified_of_batch(connection: Connection, batch_id: int) -> int:
    """How many of its runs state something that was not verified."""
    row = connection.execute(
        f"SELECT COUNT(*) FROM runs WHERE batch_id = ? AND retried = 0 AND {HAS_UNVERIFIED}", (batch_id,)
    ).fetchone()
    return int(row[0])


def runs_under_way(connection: Connection, batch_id: int, *, most: int) -> list[int]:
    rows = connection.execute(
        "SELECT id FROM runs WHERE batch_id = ? AND status = 'running' ORDER BY id LIMIT ?", (batch_id, most)
    )
    return [row[0] for row in rows]


#: Which tasks of a batch are listed. One judged run cannot tell whether a task is stable.
STEADINESS = {
    "flaky": "passed > 0 AND passed < judged",
    "stable_fail": "judged > 1 AND passed = 0",
    "stable_pass": "judged > 1 AND passed = judged",
    "undecided": "judged < 2",
}


def task_outcomes(
    connection: Connection, *, batch_id: int, steadiness: str | None, limit: int, after_id: int | None
) -> Page[TaskOutcome]:
    rows = page_of(
        connection,
        "(SELECT task_id AS id, SUM(CASE WHEN verdict = 'PASS' THEN 1 ELSE 0 END) AS passed,"
        " SUM(CASE WHEN verdict IN ('PASS', 'FAIL') THEN 1 ELSE 0 END) AS judged, COUNT(*) AS tried"
        f" FROM runs WHERE batch_id = {int(batch_id)} AND retried = 0 GROUP BY task_id) AS by_task",
        filters=[],
        limit=limit,
        before_id=after_id,
        newest_first=False,
        where=STEADINESS[steadiness] if steadiness is not None else None,
    )
    return Page([TaskOutcome(*map(int, row)) for row in rows.items], rows.last_id)


class RepeatRun(NamedTuple):
    id: int
    task_id: int
    repeat_number: int
    verdict: str | None
    status: str


def repeats_of_tasks(
    connection: Connection, *, batch_id: int, task_ids: Sequence[int]
) -> dict[int, list[RepeatRun]]:
    found: dict[int, list[RepeatRun]] = {task_id: [] for task_id in task_ids}
    for row in connection.execute(
        "SELECT id, task_id, repeat_number, verdict, status FROM runs WHERE batch_id = ? AND retried = 0"
        f" AND task_id IN {in_list(task_ids)} ORDER BY repeat_number, id",
        (batch_id, *task_ids),
    ):
        found[row[1]].append(RepeatRun(*row))
    return found


def cost_of_batch(connection: Connection, batch_id: int) -> BatchCost:
    """What its agent says its runs cost; of a very large batch, its first runs."""
    rows = connection.execute(
        f"SELECT {COST_COLUMN} FROM runs WHERE batch_id = ? AND ended_at IS NOT NULL ORDER BY id LIMIT ?",
        (batch_id, MOST_COSTS),
    ).fetchall()
    costs = [cost for cost in (cost_in(row[0]) for row in rows) if cost is not None]
    return BatchCost(sum(costs), len(costs), len(rows))


def ran_before(connection: Connection, *, org_id: int, agent_id: int, most: int) -> list[RanBefore]:
    """Runs of an agent that were sent to it and ended, the newest first."""
    rows = connection.execute(
        f"SELECT dispatched_at, ended_at, {COST_COLUMN} FROM runs WHERE agent_id = ? AND org_id = ?"
        " AND status IN ('completed', 'failed') AND dispatched_at IS NOT NULL AND ended_at IS NOT NULL"
        " ORDER BY id DESC LIMIT ?",
        (agent_id, org_id, most),
    )
    return [RanBefore(row[0], row[1], cost_in(row[2])) for row in rows]


def tags_of_tasks(connection: Connection, *, dataset_id: int, most: int) -> list[tuple[int, list[str]]]:
    """Ids and tags in the author's order."""
    rows = connection.execute(
        "SELECT id, tags FROM tasks WHERE dataset_id = ? AND removed_at IS NULL ORDER BY id LIMIT ?",
        (dataset_id, most),
    )
    return [(row[0], loads_own(row[1]) if row[1] is not None else []) for row in rows]  # type: ignore[misc]
