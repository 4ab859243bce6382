"""Lists with their filters, columns and order, saved under a name for everybody of an org."""

from typing import NamedTuple

from pipelines.storage.database.connection import Connection, insert_row

MOST_VIEWS = 50  # shown above a list


class SavedView(NamedTuple):
    id: int
    name: str
    path: str


def views_of_org(connection: Connection, org_id: int, list_path: str) -> list[SavedView]:
    """Of one list, such as /runs, by name."""
    rows = connection.execute(
        "SELECT id, name, path FROM saved_views WHERE org_id = ? AND (path = ? OR path LIKE ?)"
        " ORDER BY name LIMIT ?",
        (org_id, list_path, f"{list_path}?%", MOST_VIEWS),
    )
    return [SavedView(*row) for row in rows]


def save_view(connection: Connection, *, org_id: int, name: str, path: str, now: str) -> None:
    """A view of that name is replaced."""
    row = {"org_id": org_id, "name": name, "path": path, "created_at": now}
    insert_row(
        connection, "saved_views", row, "ON CONFLICT (org_id, name) DO UPDATE SET path = excluded.path"
    )


def delete_view(connection: Connection, *, org_id: int, view_id: int) -> bool:
    done = connection.execute("DELETE FROM saved_views WHERE id = ? AND org_id = ?", (view_id, org_id))
    return done.rowcount == 1
