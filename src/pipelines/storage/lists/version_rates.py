"""What pass rates over time rest on: the newest batches over datasets, with the outcomes of their tasks."""

from pipelines.core.results.version_rates import BatchOutcomes, RateSeries, rate_series
from pipelines.storage.database.connection import Connection, in_list

MOST_BATCHES = 40  # that rates are drawn of


def series_of_org(
    connection: Connection, org_id: int, *, agent_id: int | None = None, dataset_id: int | None = None
) -> list[RateSeries]:
    """Of the newest batches, or of those of an agent or a dataset. Batches of matrices and of chosen tasks
    are of no dataset."""
    filters = {"b.agent_id": agent_id, "b.dataset_id": dataset_id}
    given = {column: value for column, value in filters.items() if value is not None}
    conditions = "".join(f" AND {column} = ?" for column in given)
    rows = connection.execute(
        "SELECT b.id, b.dataset_id, b.agent_id, b.agent_version, COALESCE(b.label, b.reported_build),"
        " b.created_at FROM batches b JOIN datasets d ON d.id = b.dataset_id AND d.kind = 'tasks'"
        f" WHERE b.org_id = ? AND b.status NOT IN ('opening', 'discarded'){conditions}"
        " ORDER BY b.id DESC LIMIT ?",
        (org_id, *given.values(), MOST_BATCHES),
    ).fetchall()
    batches = {row[0]: BatchOutcomes(row[0], row[1], row[2], row[3], row[4], row[5], {}) for row in rows}
    for batch_id, task_id, passed, judged in connection.execute(
        "SELECT batch_id, task_id, SUM(CASE WHEN verdict = 'PASS' THEN 1 ELSE 0 END), COUNT(*) FROM runs"
        f" WHERE batch_id IN {in_list([*batches])} AND retried = 0 AND verdict IN ('PASS', 'FAIL')"
        " GROUP BY 1, 2",
        [*batches],
    ):
        batches[batch_id].by_task[task_id] = int(passed), int(judged)
    return rate_series([*batches.values()])
