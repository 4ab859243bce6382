"""Eval outcomes counted for the dashboard, and the injected texts of a matrix: reads only."""

from collections.abc import Sequence

from pipelines.core.evals.summary import ErrorCount, OutcomeCount
from pipelines.storage.connection import Connection, in_list
from pipelines.storage.paging import Filter

# Filters are over these columns, which outcomes and failed runs share.
_FAILED = (
    "(SELECT t.org_id, t.matrix_id, t.scenario_id, t.variation, t.risk_level, r.agent_id, r.agent_version,"
    " r.ended_at FROM runs r JOIN eval_tasks t ON t.task_id = r.task_id"
    " JOIN eval_matrices m ON m.matrix_id = t.matrix_id AND m.batch_id = r.batch_id"
    " WHERE r.retried = 0 AND r.status IN ('completed', 'failed')"
    " AND NOT EXISTS (SELECT 1 FROM eval_outcomes o WHERE o.run_id = r.id)) AS failed"
)
_NAMES_AT_ONCE = 500


def outcome_counts(
    connection: Connection, *, filters: Sequence[Filter], is_baseline: bool | None = None
) -> list[OutcomeCount]:
    """Outcomes that are alike, as one; filters are over columns of `eval_outcomes`."""
    where, values = _where(filters, is_baseline)
    rows = connection.execute(
        "SELECT matrix_id, scenario_id, variation, risk_level, agent_id, agent_version,"
        " SUBSTR(ended_at, 1, 10), shift, COUNT(*), SUM(matched), SUM(is_flagged)"
        f" FROM eval_outcomes WHERE {where} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8",
        values,
    )
    return [
        OutcomeCount(*cell, int(runs), int(matched), int(flagged)) for *cell, runs, matched, flagged in rows
    ]


def error_counts(
    connection: Connection, *, filters: Sequence[Filter], is_baseline: bool | None = None
) -> list[ErrorCount]:
    """Eval runs that ended without an outcome and were not tried again."""
    where, values = _where(filters, is_baseline)
    rows = connection.execute(
        "SELECT scenario_id, variation, risk_level, agent_id, agent_version, SUBSTR(ended_at, 1, 10),"
        f" COUNT(*) FROM {_FAILED} WHERE {where} GROUP BY 1, 2, 3, 4, 5, 6",
        values,
    )
    return [ErrorCount(*cell, int(errors)) for *cell, errors in rows]


def scenario_names(connection: Connection, *, org_id: int, scenario_ids: Sequence[str]) -> dict[str, str]:
    """Also of scenarios that were deleted: their runs are still there."""
    found: dict[str, str] = {}
    for start in range(0, len(scenario_ids), _NAMES_AT_ONCE):
        some = scenario_ids[start : start + _NAMES_AT_ONCE]
        rows = connection.execute(
            "SELECT scenario_id, name FROM eval_scenarios WHERE org_id = ?"
            f" AND scenario_id IN {in_list(some)}",
            (org_id, *some),
        )
        found |= {row[0]: row[1] for row in rows}
    return found


def _where(filters: Sequence[Filter], is_baseline: bool | None) -> tuple[str, list[object]]:
    asked = [part for part in filters if part.value is not None]
    conditions = [f"{part.column} {part.operator} ?" for part in asked]
    if is_baseline is not None:
        conditions.append("variation IS NULL" if is_baseline else "variation IS NOT NULL")
    return " AND ".join(conditions) or "1 = 1", [part.value for part in asked]
