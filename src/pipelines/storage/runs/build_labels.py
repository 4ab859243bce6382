"""Which build a batch ran: what a person says of it, and what its agent reports."""

from pipelines.core.agents.build_label import BuildLabel
from pipelines.storage.database.connection import Connection


def set_label(connection: Connection, *, batch_id: int, label: BuildLabel) -> None:
    connection.execute(
        "UPDATE batches SET label = ?, note = ? WHERE id = ?", (label.label, label.note, batch_id)
    )


def add_reported_build(connection: Connection, *, batch_id: int, build: str) -> None:
    """The first build that is reported stays; another one is only noted. Of a batch whose runs all report the
    same, only the first of them writes."""
    connection.execute(
        "UPDATE batches SET reported_build = COALESCE(reported_build, ?),"
        " has_other_builds = CASE WHEN reported_build IS NULL THEN 0 ELSE 1 END"
        " WHERE id = ? AND (reported_build IS NULL OR (reported_build <> ? AND has_other_builds = 0))",
        (build, batch_id, build),
    )
