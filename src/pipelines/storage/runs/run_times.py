"""How long runs took lately: what tells how long the next ones will."""

from datetime import datetime

from pipelines.storage.database.connection import Connection

RECENT = 50  # runs


def recent_run_times(
    connection: Connection, *, org_id: int, agent_id: int, most: int = RECENT
) -> list[float]:
    """Milliseconds of an agent's last runs that ended by themselves, sent to it and answered."""
    rows = connection.execute(
        "SELECT COALESCE(dispatched_at, started_at), ended_at FROM runs WHERE org_id = ? AND agent_id = ?"
        " AND status = 'completed' AND started_at IS NOT NULL AND ended_at IS NOT NULL"
        " ORDER BY id DESC LIMIT ?",
        (org_id, agent_id, most),
    )
    return [_apart(row[0], row[1]) for row in rows]


def _apart(began: str, ended: str) -> float:
    between = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    return max(0.0, between.total_seconds() * 1000)
