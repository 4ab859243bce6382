"""API keys: nobody can hand out more than they have."""

from pipelines.core.json_text import JsonObject
from pipelines.core.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.storage import keys
from pipelines.storage.keys import ApiKey
from pipelines.wire.errors import Forbidden, NotFound
from pipelines.wire.names import Role

MAX_NAME = 255
ROLES = tuple(role.value for role in Role)


async def create_key(platform: Platform, asking: ApiKey, body: JsonObject) -> tuple[ApiKey, str]:
    """The key's record and the secret itself, which is not kept."""
    problems = [
        Problem(path=f"/{name}", message="unknown field") for name in sorted(body.keys() - {"name", "role"})
    ]
    name, role = body.get("name"), body.get("role", Role.CONTRIBUTOR.value)
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME:
        problems.append(Problem(path="/name", message=f"must be text of 1 to {MAX_NAME} characters"))
    if not isinstance(role, str) or role not in ROLES:
        problems.append(Problem(path="/role", message=f"must be one of {', '.join(ROLES)}"))
    if problems:
        raise Refused(problems, "the key")
    if role == Role.OWNER and asking.role is not Role.OWNER:
        raise Forbidden("Only an owner's key can make another owner's key.")
    secret, now = keys.new_key(), platform.now()
    made = await platform.database.write(
        lambda connection: keys.add_key(
            connection, org_id=asking.org_id, name=str(name), role=Role(str(role)), key=secret, now=now
        )
    )
    return made, secret


async def revoke_key(platform: Platform, org_id: int, key_id: int) -> None:
    now = platform.now()
    revoked = await platform.database.write(
        lambda connection: keys.revoke_key(connection, org_id=org_id, key_id=key_id, now=now)
    )
    if not revoked:
        raise NotFound(f"There is no key {key_id} that could be revoked.")
