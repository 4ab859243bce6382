"""What lists sort runs by, in a small row beside the wide row of the run.

Written when a run ends and when its verdict changes. Runs that ended before there were such rows have none.
"""

from datetime import datetime

from pipelines.core.agents.reported_usage import reported_usage
from pipelines.core.text.json_text import Json
from pipelines.core.verdict.first_reason import first_reason
from pipelines.storage.database.connection import Connection, insert_row

_ON_CONFLICT = (
    "ON CONFLICT (run_id) DO UPDATE SET duration_ms = excluded.duration_ms, calls = excluded.calls,"
    " tokens = excluded.tokens, cost_usd = excluded.cost_usd, reason = excluded.reason"
)


def store_figures(
    connection: Connection,
    *,
    run_id: int,
    now: str,
    metadata: Json,
    error: Json,
    judgement: Json,
    judge_error: str | None,
) -> None:
    """Of a run that has just ended."""
    (began,) = connection.execute(
        "SELECT COALESCE(dispatched_at, started_at) FROM runs WHERE id = ?", (run_id,)
    ).fetchone()
    (calls,) = connection.execute(
        "SELECT COUNT(*) FROM trace_rows WHERE run_id = ? AND kind = 'tool_call'", (run_id,)
    ).fetchone()
    usage = reported_usage(metadata)
    row = {
        "run_id": run_id,
        "duration_ms": duration_ms(began, now) if began else None,
        "calls": int(calls),
        "tokens": usage.tokens,
        "cost_usd": usage.cost_usd,
        "reason": first_reason(judge_error=judge_error, error=error, judgement=judgement),
    }
    insert_row(connection, "run_figures", row, _ON_CONFLICT)


def store_reason(connection: Connection, *, run_id: int, judgement: Json, judge_error: str | None) -> None:
    """Of a run whose verdict has changed; nothing of a run that has no figures."""
    reason = first_reason(judge_error=judge_error, error=None, judgement=judgement)
    connection.execute("UPDATE run_figures SET reason = ? WHERE run_id = ?", (reason, run_id))


def duration_ms(began: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds() * 1000
