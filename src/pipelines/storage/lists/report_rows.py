"""What a report of a batch is made of: how much there is, and its runs in the order that people read."""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.text.json_text import JsonObject
from pipelines.storage.database.connection import Connection, in_list
from pipelines.storage.evals.reviews import REVIEWS, Review, StoredVerdict, all_reviews, verdicts_of
from pipelines.storage.lists.summaries import summaries_by_id

_CHARACTERS = " + ".join(f"COALESCE(LENGTH(t.{name}), 0)" for name in ("arguments", "response", "payload"))


class ReportSize(NamedTuple):
    runs: int
    rows: int  # of all traces
    characters: int  # of what was said and answered in them


def size_of_batch(connection: Connection, *, batch_id: int) -> ReportSize:
    """Reads the length of everything: seconds for a very large batch."""
    runs, reply_size = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(COALESCE(LENGTH(final_response), 0)"
        " + COALESCE(LENGTH(judgement), 0)), 0) FROM runs WHERE batch_id = ? AND retried = 0",
        (batch_id,),
    ).fetchone()
    rows, traced = connection.execute(
        f"SELECT COUNT(*), COALESCE(SUM({_CHARACTERS}), 0) FROM trace_rows t JOIN runs r ON r.id = t.run_id"
        " WHERE r.batch_id = ? AND r.retried = 0",
        (batch_id,),
    ).fetchone()
    return ReportSize(int(runs), int(rows), int(reply_size) + int(traced))


def decided_reviews(
    connection: Connection, *, org_id: int, batch_id: int, matrix_id: str | None, most: int
) -> list[tuple[Review, list[StoredVerdict]]]:
    """What people decided about runs of the batch and cells of its matrix, with what each of them said: the
    highest risk first. Items that are still open are left out, because some are decided blind."""
    found = all_reviews(
        connection,
        f"{REVIEWS} WHERE org_id = ? AND status = 'decided'"
        " AND (run_id IN (SELECT id FROM runs WHERE batch_id = ?) OR matrix_id = ?)"
        " ORDER BY risk_rank DESC, run_id, id LIMIT ?",
        (org_id, batch_id, matrix_id, most),
    )
    verdicts = verdicts_of(connection, [review.review_id for review in found])
    return [(review, verdicts[review.review_id]) for review in found]


def runs_to_report(connection: Connection, *, batch_id: int) -> list[int]:
    """Ids of the runs that stand for their place in the batch: failures first, then in their order."""
    rows = connection.execute(
        "SELECT id FROM runs WHERE batch_id = ? AND retried = 0 ORDER BY CASE WHEN verdict = 'FAIL' THEN 0"
        " WHEN judge_error IS NOT NULL THEN 1 WHEN verdict = 'PENDING' THEN 3 WHEN verdict = 'PASS' THEN 4"
        " ELSE 2 END, id",
        (batch_id,),
    )
    return [int(row[0]) for row in rows]


def listed_runs(connection: Connection, *, run_ids: Sequence[int]) -> list[JsonObject]:
    """A line of the table for each, in the order asked for, with how often each source answered."""
    found = summaries_by_id(connection, run_ids)
    sources: dict[int, JsonObject] = {run_id: {} for run_id in run_ids}
    for run_id, source, number in connection.execute(
        "SELECT run_id, source, COUNT(*) FROM trace_rows"
        f" WHERE run_id IN {in_list(run_ids)} AND kind = 'tool_call' GROUP BY 1, 2 ORDER BY 1, 2",
        list(run_ids),
    ):
        sources[run_id][str(source)] = number
    return [found[run_id] | {"by_source": sources[run_id]} for run_id in run_ids if run_id in found]
