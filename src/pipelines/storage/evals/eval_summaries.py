"""Eval outcomes counted for the dashboard, and the injected texts of a matrix: reads only."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.evals.matrix.summary import ErrorCount, OutcomeCount
from pipelines.storage.database.connection import Connection, in_list, some_of
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals.evals import BASELINE as BASELINE
from pipelines.storage.tasks.texts import texts_of

# Filters are over these columns, which outcomes and failed runs share. From the matrices to their runs, by an
# index that tells which have failed (CROSS JOIN keeps SQLite to that order): runs are many and wide, and most
# of them may be of other batches.
_FAILED = (
    "(SELECT m.org_id, m.matrix_id, t.scenario_id, t.variation, t.risk_level, r.agent_id, r.agent_version,"
    " r.ended_at FROM eval_matrices m CROSS JOIN runs r JOIN eval_tasks t"
    " ON t.task_id = r.task_id AND t.matrix_id = m.matrix_id"
    " WHERE r.batch_id = m.batch_id AND r.retried = 0 AND r.status IN ('completed', 'failed')"
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
    return [OutcomeCount._make(row) for row in rows]


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
    return [ErrorCount._make(row) for row in rows]


def scenario_names(connection: Connection, *, org_id: int, scenario_ids: Sequence[str]) -> dict[str, str]:
    """Also of scenarios that were deleted: their runs are still there."""
    found: dict[str, str] = {}
    for some in some_of(scenario_ids, _NAMES_AT_ONCE):
        rows = connection.execute(
            "SELECT scenario_id, name FROM eval_scenarios WHERE org_id = ?"
            f" AND scenario_id IN {in_list(some)}",
            (org_id, *some),
        )
        found |= {row[0]: row[1] for row in rows}
    return found


class Injected(NamedTuple):
    #: scenario, variation, wording, intensity, delivery, hash of the text
    places: list[tuple[str, str, int, int, str, str]]
    bodies: dict[str, str]  # by their hash; those that found room


def injected_texts(connection: Connection, *, matrix_id: str, most_characters: int) -> Injected:
    """What a matrix puts before its agent: first what most cells share, and as much as there is room for."""
    rows = connection.execute(
        "SELECT scenario_id, variation, wording, intensity, delivery, text_hash FROM eval_tasks"
        " WHERE matrix_id = ? AND text_hash IS NOT NULL AND variation IS NOT NULL ORDER BY task_id",
        (matrix_id,),
    )
    places = [(row[0], row[1], row[2], row[3], row[4], row[5]) for row in rows]
    shared = [text_hash for text_hash, _ in Counter(place[5] for place in places).most_common()]
    texts: list[str] = []
    room = most_characters
    for some in some_of(shared, _NAMES_AT_ONCE):
        sizes = connection.execute(
            f"SELECT hash, SUM(LENGTH(body)) FROM texts WHERE hash IN {in_list(some)} GROUP BY hash", some
        )
        known = {row[0]: int(row[1]) for row in sizes}
        for text_hash in some:
            if known.get(text_hash, most_characters + 1) <= room:
                texts.append(text_hash)
                room -= known[text_hash]
    return Injected(places, texts_of(connection, texts))


def _where(filters: Sequence[Filter], is_baseline: bool | None) -> tuple[str, list[object]]:
    parts = [part for part in filters if part.value is not None]
    conditions = [f"{part.column} {part.operator} ?" for part in parts]
    if is_baseline is not None:
        conditions.append("variation IS NULL" if is_baseline else "variation IS NOT NULL")
    return " AND ".join(conditions) or "1 = 1", [part.value for part in parts]
