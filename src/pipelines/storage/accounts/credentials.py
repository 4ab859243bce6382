"""Credentials of an org: written, used, deleted; their values are never read back by anyone."""

from dataclasses import dataclass

from pipelines.core.text.json_text import JsonObject
from pipelines.storage.database.connection import Connection, Row
from pipelines.storage.database.paging import Filter, Page, page_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential:
    id: int
    org_id: int
    name: str
    sealed_value: bytes
    created_at: str
    updated_at: str

    def as_json(self) -> JsonObject:
        return {
            "id": self.id,
            "name": self.name,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


def row_of(org_id: int, name: str) -> str:
    """What a value is sealed for: under another org or another name it does not open."""
    return f"{org_id}|credential|{name}"


def set_credential(
    connection: Connection, *, org_id: int, name: str, sealed_value: bytes, now: str
) -> Credential:
    """A new one, or a new value under a name that is there."""
    row = connection.execute(
        "INSERT INTO credentials (org_id, name, sealed_value, created_at, updated_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (org_id, name) DO UPDATE SET sealed_value = excluded.sealed_value,"
        " updated_at = excluded.updated_at RETURNING *",
        (org_id, name, sealed_value, now, now),
    ).fetchone()
    return _credential(row)


def credentials_of_org(
    connection: Connection, org_id: int, *, limit: int, before_id: int | None
) -> Page[Credential]:
    rows = page_of(
        connection, "credentials", filters=[Filter("org_id", org_id)], limit=limit, before_id=before_id
    )
    return Page([_credential(row) for row in rows.items], rows.last_id)


def credentials_by_name(connection: Connection, org_id: int) -> dict[str, Credential]:
    rows = connection.execute("SELECT * FROM credentials WHERE org_id = ?", (org_id,))
    return {row["name"]: _credential(row) for row in rows}


def credential_by_name(connection: Connection, *, org_id: int, name: str) -> Credential | None:
    row = connection.execute(
        "SELECT * FROM credentials WHERE org_id = ? AND name = ?", (org_id, name)
    ).fetchone()
    return _credential(row) if row else None


def delete_credential(connection: Connection, *, org_id: int, credential_id: int) -> bool:
    done = connection.execute("DELETE FROM credentials WHERE id = ? AND org_id = ?", (credential_id, org_id))
    return done.rowcount == 1


def _credential(row: Row) -> Credential:
    return Credential(
        id=row["id"],
        org_id=row["org_id"],
        name=row["name"],
        sealed_value=bytes(row["sealed_value"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
