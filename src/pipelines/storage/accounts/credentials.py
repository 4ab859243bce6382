"""Credentials of an org: written, used, deleted; their values are never read back by anyone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pipelines.storage.database.connection import Connection, insert_row
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, json_text
from pipelines.wire.records import Hidden, Id, Moment, Record


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential(Record):
    """A secret of the org, without its value."""

    id: Id
    org_id: Hidden[int]
    name: str
    sealed_value: Hidden[bytes]
    created_at: Moment
    updated_at: Moment
    #: Of tool endpoints. Code gets the value itself, and its author decides where it goes.
    hosts: Annotated[
        tuple[str, ...], 'hosts it is sent to; empty: the first it is sent to; `["*"]`: any'
    ] = ()


_CREDENTIAL = Mapper(Credential)


def row_of(org_id: int, name: str) -> str:
    """What a value is sealed for: under another org or another name it does not open."""
    return f"{org_id}|credential|{name}"


def set_credential(
    connection: Connection, *, org_id: int, name: str, sealed_value: bytes, now: str
) -> Credential:
    """A new one, or a new value under a name that is there, which keeps its hosts."""
    row = {"org_id": org_id, "name": name, "sealed_value": sealed_value, "created_at": now, "updated_at": now}
    row |= {"hosts": "[]"}
    then = (
        "ON CONFLICT (org_id, name) DO UPDATE SET sealed_value = excluded.sealed_value,"
        f" updated_at = excluded.updated_at RETURNING {_CREDENTIAL.columns}"
    )
    return _CREDENTIAL.read(insert_row(connection, "credentials", row, then).fetchone())


def credentials_of_org(
    connection: Connection, org_id: int, *, limit: int, before_id: int | None
) -> Page[Credential]:
    filters = [Filter("org_id", org_id)]
    return _CREDENTIAL.page(connection, "credentials", filters=filters, limit=limit, before_id=before_id)


def credentials_by_name(connection: Connection, org_id: int) -> dict[str, Credential]:
    statement = f"SELECT {_CREDENTIAL.columns} FROM credentials WHERE org_id = ?"
    return {each.name: each for each in _CREDENTIAL.all(connection, statement, (org_id,))}


def credential_by_name(connection: Connection, *, org_id: int, name: str) -> Credential | None:
    statement = f"SELECT {_CREDENTIAL.columns} FROM credentials WHERE org_id = ? AND name = ?"
    return _CREDENTIAL.one(connection, statement, (org_id, name))


def bind_credential(connection: Connection, *, org_id: int, name: str, host: str) -> Credential | None:
    """The credential, from now on for this host if it had none."""
    connection.execute(
        "UPDATE credentials SET hosts = ? WHERE org_id = ? AND name = ? AND hosts = '[]'",
        (json_text([host]), org_id, name),
    )
    return credential_by_name(connection, org_id=org_id, name=name)


def set_hosts(
    connection: Connection, *, org_id: int, credential_id: int, hosts: Sequence[str], now: str
) -> Credential | None:
    """None where there is no such credential. `updated_at` changes, so that endpoints are opened anew."""
    connection.execute(
        "UPDATE credentials SET hosts = ?, updated_at = ? WHERE id = ? AND org_id = ?",
        (json_text(list(hosts)), now, credential_id, org_id),
    )
    statement = f"SELECT {_CREDENTIAL.columns} FROM credentials WHERE id = ? AND org_id = ?"
    return _CREDENTIAL.one(connection, statement, (credential_id, org_id))


def delete_credential(connection: Connection, *, org_id: int, credential_id: int) -> bool:
    done = connection.execute("DELETE FROM credentials WHERE id = ? AND org_id = ?", (credential_id, org_id))
    return done.rowcount == 1
