"""Orgs and their API keys. A key is stored only as its hash; it is shown once, when made."""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

from pipelines.core.access.identity import Identity
from pipelines.storage.database.connection import Connection, insert
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper
from pipelines.wire.names import Role
from pipelines.wire.records import FIRST, Id, Moment, Record

KEY_PREFIX = "pk_live_"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey(Identity, Record):
    """A key."""

    credential: ClassVar[str] = "key"

    id: Annotated[Id, FIRST]
    preview: Annotated[str, "enough to tell it from others"]
    created_at: Moment
    revoked_at: Moment | None


_KEY = Mapper(ApiKey)
_KEYS = f"SELECT {_KEY.columns} FROM api_keys"


def new_key() -> str:
    return KEY_PREFIX + secrets.token_hex(20)


def hash_of(secret: str) -> str:
    """Keys and tokens are random and long, so a plain digest is enough, and fast."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def add_org(connection: Connection, name: str, now: str) -> int:
    return insert(connection, "orgs", {"name": name, "created_at": now})


def has_orgs(connection: Connection) -> bool:
    return connection.execute("SELECT 1 FROM orgs LIMIT 1").fetchone() is not None


def is_only_org(connection: Connection) -> bool:
    return len(connection.execute("SELECT id FROM orgs LIMIT 2").fetchall()) == 1


class Org(NamedTuple):
    id: int
    name: str


def some_orgs(connection: Connection, limit: int) -> list[Org]:
    return [
        Org(*row) for row in connection.execute("SELECT id, name FROM orgs ORDER BY id LIMIT ?", (limit,))
    ]


def orgs_called(connection: Connection, named: int | str) -> list[Org]:
    """By id, if it is a number, else by name, which two may share."""
    column = "id" if isinstance(named, int) else "name"
    statement = f"SELECT id, name FROM orgs WHERE {column} = ? ORDER BY id LIMIT 2"
    return [Org(*row) for row in connection.execute(statement, (named,))]


def add_key(connection: Connection, *, org_id: int, name: str, role: Role, key: str, now: str) -> ApiKey:
    preview = key[: len(KEY_PREFIX) + 4] + "…"
    row = {"org_id": org_id, "name": name, "role": role, "preview": preview, "created_at": now}
    stored = insert(connection, "api_keys", row | {"key_hash": hash_of(key)})
    return ApiKey(id=stored, revoked_at=None, **row)  # type: ignore[arg-type]


def key_by_secret(connection: Connection, secret: str) -> ApiKey | None:
    return _KEY.one(connection, f"{_KEYS} WHERE key_hash = ? AND revoked_at IS NULL", (hash_of(secret),))


def keys_of_org(connection: Connection, org_id: int, *, limit: int, before_id: int | None) -> Page[ApiKey]:
    filters = [Filter("org_id", org_id)]
    return _KEY.page(connection, "api_keys", filters=filters, limit=limit, before_id=before_id)


def key_by_id(connection: Connection, *, org_id: int, key_id: int) -> ApiKey | None:
    return _KEY.one(connection, f"{_KEYS} WHERE id = ? AND org_id = ?", (key_id, org_id))


def key_by_number(connection: Connection, key_id: int) -> ApiKey | None:
    """Whichever org's it is; None once it is revoked."""
    return _KEY.one(connection, f"{_KEYS} WHERE id = ? AND revoked_at IS NULL", (key_id,))


def first_owner(connection: Connection) -> ApiKey | None:
    """The oldest key that may do everything: whose the server of one person is."""
    statement = f"{_KEYS} WHERE role = ? AND revoked_at IS NULL ORDER BY id LIMIT 1"
    return _KEY.one(connection, statement, (Role.OWNER.value,))


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
