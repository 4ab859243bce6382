"""Which agents pass tools through to which endpoints, by the current version of each agent."""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.storage.database.connection import Connection, insert_many


class Binding(NamedTuple):
    declared_name: str  # of the agent's tool
    endpoint_id: str
    tool_name: str  # on the endpoint
    is_by_name: bool  # the author named the endpoint by its name


class BoundAgent(NamedTuple):
    id: int
    name: str


def set_bindings(connection: Connection, agent_id: int, bindings: Sequence[Binding]) -> None:
    """In place of those of the version before."""
    connection.execute("DELETE FROM endpoint_bindings WHERE agent_id = ?", (agent_id,))
    rows = [{"agent_id": agent_id, **binding._asdict()} for binding in bindings]
    insert_many(connection, "endpoint_bindings", rows)


def agents_bound_to(
    connection: Connection, endpoint_id: str, *, by_name_only: bool = False
) -> list[BoundAgent]:
    """Agents that are not deleted, drafts too, the oldest first."""
    rows = connection.execute(
        "SELECT DISTINCT a.id, a.name FROM endpoint_bindings b JOIN agents a ON a.id = b.agent_id"
        " WHERE b.endpoint_id = ? AND a.deleted_at IS NULL AND b.is_by_name >= ? ORDER BY a.id",
        (endpoint_id, int(by_name_only)),
    )
    return [BoundAgent(row[0], row[1]) for row in rows]
