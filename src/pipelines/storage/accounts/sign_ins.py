"""Who has signed in to the pages, and links that sign in once. Both are stored only as hashes."""

from typing import NamedTuple

from pipelines.core.access.identity import Identity, TokenBearer
from pipelines.core.text.json_text import dumps, loads_own
from pipelines.storage.accounts.keys import ApiKey, hash_of, key_by_number
from pipelines.storage.database.connection import Connection, insert_row
from pipelines.wire.names import Role


def add_sign_in(connection: Connection, *, token: str, identity: Identity, now: str, expires_at: str) -> None:
    """Those that have ended go on this occasion."""
    connection.execute("DELETE FROM sign_ins WHERE expires_at <= ?", (now,))
    key_id = identity.id if isinstance(identity, ApiKey) else None
    bearer = _written(identity) if isinstance(identity, TokenBearer) else None
    row = {"token_hash": hash_of(token), "key_id": key_id, "bearer": bearer}
    insert_row(connection, "sign_ins", row | {"created_at": now, "expires_at": expires_at})


def signed_in(connection: Connection, token: str, now: str) -> Identity | None:
    row = connection.execute(
        "SELECT key_id, bearer FROM sign_ins WHERE token_hash = ? AND expires_at > ?", (hash_of(token), now)
    ).fetchone()
    if row is None:
        return None
    if row["key_id"] is not None:
        return key_by_number(connection, row["key_id"])
    return _read(row["bearer"])


class SignInTimes(NamedTuple):
    created_at: str
    expires_at: str


def times_of_sign_in(connection: Connection, token: str) -> SignInTimes | None:
    row = connection.execute(
        "SELECT created_at, expires_at FROM sign_ins WHERE token_hash = ?", (hash_of(token),)
    ).fetchone()
    return SignInTimes(row["created_at"], row["expires_at"]) if row is not None else None


def end_sign_in(connection: Connection, token: str) -> None:
    connection.execute("DELETE FROM sign_ins WHERE token_hash = ?", (hash_of(token),))


def add_link(connection: Connection, *, token: str, key_id: int, now: str, expires_at: str) -> None:
    connection.execute("DELETE FROM sign_in_links WHERE expires_at <= ?", (now,))
    row = {"token_hash": hash_of(token), "key_id": key_id, "expires_at": expires_at}
    insert_row(connection, "sign_in_links", row)


def take_link(connection: Connection, token: str, now: str) -> ApiKey | None:
    """The key it was made for; a link is good for one sign-in."""
    row = connection.execute(
        "DELETE FROM sign_in_links WHERE token_hash = ? AND expires_at > ? RETURNING key_id",
        (hash_of(token), now),
    ).fetchone()
    return key_by_number(connection, row["key_id"]) if row is not None else None


def _written(bearer: TokenBearer) -> str:
    return dumps(
        {"org_id": bearer.org_id, "name": bearer.name, "role": bearer.role.value, "issuer": bearer.issuer}
    ).decode()


def _read(text: str) -> TokenBearer:
    state = loads_own(text)
    assert isinstance(state, dict)
    return TokenBearer(
        org_id=int(str(state["org_id"])),
        name=str(state["name"]),
        role=Role(str(state["role"])),
        issuer=str(state["issuer"]),
    )
