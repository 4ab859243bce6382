"""Agents and every version they had. Definitions are stored as checked; nothing is ever overwritten."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.storage.database.connection import Connection, insert, insert_row
from pipelines.storage.database.records import Mapper, Stored


@dataclass(frozen=True, kw_only=True)  # no slots: the definition is read when first asked for, and kept
class Agent:
    id: int
    org_id: int
    version: int
    status: str  # draft, published
    #: As it was stored, without the auth header's value: it is shown unread.
    definition_text: Annotated[str, Stored(column="definition")]
    sealed_auth_header: Annotated[bytes | None, Stored(column="auth_header_value")]
    created_at: str
    updated_at: str

    @lazy_property
    def definition(self) -> AgentDefinition:
        return AgentDefinition.from_stored(self._stored())

    def _stored(self) -> JsonObject:
        stored = loads_own(self.definition_text)
        assert isinstance(stored, dict)
        return stored

    def as_json(self) -> JsonObject:
        own: JsonObject = {"id": self.id, "version": self.version, "status": self.status}
        times: JsonObject = {"created_at": self.created_at, "updated_at": self.updated_at}
        return own | self._stored() | {"has_auth_header_value": self.sealed_auth_header is not None} | times


_AGENT = Mapper(Agent)


def add_agent(connection: Connection, *, org_id: int, name: str, status: str, now: str) -> int:
    """The agent without a version yet; the caller adds one in the same transaction."""
    row = {"org_id": org_id, "name": name, "version": 0, "status": status}
    return insert(connection, "agents", row | {"created_at": now, "updated_at": now})


def add_version(
    connection: Connection,
    *,
    agent_id: int,
    definition: AgentDefinition,
    sealed_auth_header: bytes | None,
    status: str,
    now: str,
) -> int:
    """Make a new version the current one; its number."""
    (version,) = connection.execute("SELECT version + 1 FROM agents WHERE id = ?", (agent_id,)).fetchone()
    row = {"agent_id": agent_id, "version": version, "definition": definition.as_stored()}
    insert_row(
        connection, "agent_versions", row | {"auth_header_value": sealed_auth_header, "created_at": now}
    )
    connection.execute(
        "UPDATE agents SET version = ?, name = ?, status = ?, updated_at = ? WHERE id = ?",
        (version, definition.name, status, now, agent_id),
    )
    return int(version)


def agent_names(connection: Connection, org_id: int, *, limit: int) -> dict[int, str]:
    """Of an org's agents, the newest first; deleted ones too, since runs of theirs are still looked at."""
    rows = connection.execute(
        "SELECT id, name FROM agents WHERE org_id = ? ORDER BY id DESC LIMIT ?", (org_id, limit)
    )
    return {row[0]: row[1] for row in rows}


def agent_by_id(
    connection: Connection, *, org_id: int, agent_id: int, version: int | None = None
) -> Agent | None:
    """The agent at its current version, or as it was at another. Deleted agents answer only by version."""
    return _AGENT.one(
        connection,
        f"SELECT {_AGENT.columns} FROM (SELECT a.id, a.org_id, v.version, a.status, v.definition,"
        " v.auth_header_value, a.created_at, a.updated_at, a.deleted_at FROM agents a"
        " JOIN agent_versions v ON v.agent_id = a.id AND v.version = COALESCE(?, a.version)"
        " WHERE a.id = ? AND a.org_id = ?) AS at_version WHERE deleted_at IS NULL OR ? IS NOT NULL",
        (version, agent_id, org_id, version),
    )


def versions_of_agent(
    connection: Connection, *, agent_id: int, limit: int, before: int | None = None
) -> list[tuple[int, str]]:
    """Each version's number and when it was made, newest first."""
    rows = connection.execute(
        "SELECT version, created_at FROM agent_versions WHERE agent_id = ? AND version < ?"
        " ORDER BY version DESC LIMIT ?",
        (agent_id, before if before is not None else 2**62, limit),
    )
    return [(row[0], row[1]) for row in rows]


def published_agents(connection: Connection, *, org_id: int, most: int) -> list[tuple[int, str]]:
    """Ids and names of those that can be sent something, the oldest first."""
    rows = connection.execute(
        "SELECT id, name FROM agents WHERE org_id = ? AND status = 'published' AND deleted_at IS NULL"
        " ORDER BY id LIMIT ?",
        (org_id, most),
    )
    return [(row[0], row[1]) for row in rows]


def delete_agent(connection: Connection, *, org_id: int, agent_id: int, now: str) -> bool:
    """Gone from every list; its versions stay for the runs that used them."""
    done = connection.execute(
        "UPDATE agents SET deleted_at = ? WHERE id = ? AND org_id = ? AND deleted_at IS NULL",
        (now, agent_id, org_id),
    )
    return done.rowcount == 1
