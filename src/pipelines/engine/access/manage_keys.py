"""API keys: nobody can hand out more than they have."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.core.access.identity import Identity
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.storage.accounts import keys
from pipelines.storage.accounts.keys import ApiKey
from pipelines.storage.database.connection import Connection
from pipelines.wire.errors import Conflict, Forbidden, NotFound
from pipelines.wire.names import Role
from pipelines.wire.records import Flat, Record

MAX_NAME = 255
ROLES = tuple(role.value for role in Role)


@dataclass(frozen=True, kw_only=True, slots=True)
class NewApiKey(Record):
    """A new key."""

    key: Flat[ApiKey]
    api_key: Annotated[str, "the key itself: shown here and nowhere else"]


async def create_key(platform: Platform, asking: Identity, body: JsonObject) -> NewApiKey:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("name", "role"))
    name, role = body.get("name"), body.get("role", Role.CONTRIBUTOR.value)
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME:
        fields.refuse("name", f"must be text of 1 to {MAX_NAME} characters")
    if not isinstance(role, str) or role not in ROLES:
        fields.refuse("role", f"must be one of {', '.join(ROLES)}")
    if problems:
        raise Refused(problems, "the key")
    if role == Role.OWNER and asking.role is not Role.OWNER:
        raise Forbidden("Only an owner's key can make another owner's key.")
    secret, now = keys.new_key(), platform.now()
    stored = await platform.database.write(
        lambda connection: keys.add_key(
            connection, org_id=asking.org_id, name=str(name), role=Role(str(role)), key=secret, now=now
        )
    )
    return NewApiKey(key=stored, api_key=secret)


async def revoke_key(platform: Platform, asking: Identity, key_id: int) -> None:
    """The key is refused from now on. An owner's key takes an owner, and the last one stays."""
    now = platform.now()

    def store(connection: Connection) -> None:
        found = keys.key_by_id(connection, org_id=asking.org_id, key_id=key_id)
        if found is None or found.revoked_at is not None:
            raise NotFound(f"There is no key {key_id} that could be revoked.")
        if found.role is Role.OWNER and asking.role is not Role.OWNER:
            raise Forbidden("Only an owner's key can revoke an owner's key.")
        if found.role is Role.OWNER and keys.owners_of_org(connection, asking.org_id) == 1:
            raise Conflict("This is the org's last owner's key; make another before revoking it.")
        keys.revoke_key(connection, key_id=key_id, now=now)

    await platform.database.write(store)
