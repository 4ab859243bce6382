"""Orgs and their API keys. A key is stored only as its hash; it is shown once, when made."""

import hashlib
import secrets
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from pipelines.core.access.identity import Identity
from pipelines.core.text.json_text import JsonObject
from pipelines.storage.database.connection import Connection, Row, insert
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.wire.names import Role

KEY_PREFIX = "pk_live_"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey(Identity):
    credential: ClassVar[str] = "key"

    id: int
    preview: str  # the first characters, for telling keys apart
    created_at: str
    revoked_at: str | None

    def as_json(self) -> JsonObject:
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role.value,
            "preview": self.preview,
            "created_at": self.created_at,
            "revoked_at": self.revoked_at,
        }


def new_key() -> str:
    return KEY_PREFIX + secrets.token_hex(20)


def hash_of(secret: str) -> str:
    """Keys and tokens are random and long, so a plain digest is enough, and fast."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def add_org(connection: Connection, name: str, now: str) -> int:
    return insert(connection, "INSERT INTO orgs (name, created_at) VALUES (?, ?)", (name, now))


def has_orgs(connection: Connection) -> bool:
    return connection.execute("SELECT 1 FROM orgs LIMIT 1").fetchone() is not None


def is_only_org(connection: Connection) -> bool:
    return len(connection.execute("SELECT id FROM orgs LIMIT 2").fetchall()) == 1


class Org(NamedTuple):
    id: int
    name: str


def some_orgs(connection: Connection, limit: int) -> list[Org]:
    rows = connection.execute("SELECT id, name FROM orgs ORDER BY id LIMIT ?", (limit,)).fetchall()
    return [Org(row["id"], row["name"]) for row in rows]


def orgs_called(connection: Connection, named: int | str) -> list[Org]:
    """By id, if it is a number, else by name, which two may share."""
    column = "id" if isinstance(named, int) else "name"
    rows = connection.execute(
        f"SELECT id, name FROM orgs WHERE {column} = ? ORDER BY id LIMIT 2", (named,)
    ).fetchall()
    return [Org(row["id"], row["name"]) for row in rows]


def add_key(connection: Connection, *, org_id: int, name: str, role: Role, key: str, now: str) -> ApiKey:
    preview = key[: len(KEY_PREFIX) + 4] + "…"
    made = insert(
        connection,
        "INSERT INTO api_keys (org_id, name, role, key_hash, preview, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (org_id, name, role.value, hash_of(key), preview, now),
    )
    return ApiKey(
        id=made,
        org_id=org_id,
        name=name,
        role=role,
        preview=preview,
        created_at=now,
        revoked_at=None,
    )


def key_by_secret(connection: Connection, secret: str) -> ApiKey | None:
    row = connection.execute(
        "SELECT * FROM api_keys WHERE key_hash = ? AND revoked_at IS NULL", (hash_of(secret),)
    ).fetchone()
    return _key(row) if row else None


def keys_of_org(connection: Connection, org_id: int, *, limit: int, before_id: int | None) -> Page[ApiKey]:
    rows = page_of(
        connection, "api_keys", filters=[Filter("org_id", org_id)], limit=limit, before_id=before_id
    )
    return Page([_key(row) for row in rows.items], rows.last_id)


def key_by_id(connection: Connection, *, org_id: int, key_id: int) -> ApiKey | None:
    row = connection.execute(
        "SELECT * FROM api_keys WHERE id = ? AND org_id = ?", (key_id, org_id)
    ).fetchone()
    return _key(row) if row else None


def key_by_number(connection: Connection, key_id: int) -> ApiKey | None:
    """Whichever org's it is; None once it is revoked."""
    row = connection.execute(
        "SELECT * FROM api_keys WHERE id = ? AND revoked_at IS NULL", (key_id,)
    ).fetchone()
    return _key(row) if row else None


def first_owner(connection: Connection) -> ApiKey | None:
    """The oldest key that may do everything: whose the server of one person is."""
    row = connection.execute(
        "SELECT * FROM api_keys WHERE role = ? AND revoked_at IS NULL ORDER BY id LIMIT 1",
        (Role.OWNER.value,),
    ).fetchone()
    return _key(row) if row else None


def org_name(connection: Connection, org_id: int) -> str:
    return str(connection.execute("SELECT name FROM orgs WHERE id = ?", (org_id,)).fetchone()["name"])


def owners_of_org(connection: Connection, org_id: int) -> int:
    """How many keys that are not revoked have the highest role."""
    counted = connection.execute(
        "SELECT COUNT(*) FROM api_keys WHERE org_id = ? AND role = ? AND revoked_at IS NULL",
        (org_id, Role.OWNER.value),
    )
    return int(counted.fetchone()[0])


def revoke_key(connection: Connection, *, key_id: int, now: str) -> None:
    connection.execute("UPDATE api_keys SET revoked_at = ? WHERE id = ?", (now, key_id))


def _key(row: Row) -> ApiKey:
    return ApiKey(
        id=row["id"],
        org_id=row["org_id"],
        name=row["name"],
        role=Role(row["role"]),
        preview=row["preview"],
        created_at=row["created_at"],
        revoked_at=row["revoked_at"],
    )
