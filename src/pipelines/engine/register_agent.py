"""Registering agents: a new one, a change (always a new version), publishing, deleting."""

from urllib.parse import urlsplit

from pipelines.core.agent_definition import AgentDefinition, parse_agent_definition
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.problems import Problem, Refused
from pipelines.core.simulation.language import parse_plan
from pipelines.engine.platform import Platform
from pipelines.storage import agents
from pipelines.storage.agents import Agent
from pipelines.storage.connection import Connection
from pipelines.wire.errors import NotFound

WRITE_ONLY = "auth_header_value"


async def create_agent(platform: Platform, org_id: int, body: JsonObject) -> Agent:
    """A published agent, unless the body says `"status": "draft"`."""
    status, definition, secret = _read(body)
    await _check_endpoint(platform, definition)
    now = platform.now()

    def store(connection: Connection) -> Agent:
        agent_id = agents.add_agent(connection, org_id=org_id, name=definition.name, status=status, now=now)
        sealed = _sealed(platform, org_id, agent_id, secret)
        _add_version(connection, agent_id, definition, sealed, status, now)
        return _existing(connection, org_id, agent_id)

    return await platform.database.write(store)


async def change_agent(platform: Platform, org_id: int, agent_id: int, body: JsonObject) -> Agent:
    """The fields given replace the old ones, the others stay; the result is checked whole."""
    now = platform.now()
    if "endpoint_url" in body:
        current = await find_agent(platform, org_id, agent_id)
        _, changed, _ = _read({"status": current.status, **current.definition, **body})
        await _check_endpoint(platform, changed)

    def store(connection: Connection) -> Agent:
        before = _existing(connection, org_id, agent_id)
        whole: JsonObject = {"status": before.status, **before.definition, **body}
        status, definition, secret = _read(whole)
        sealed = before.sealed_auth_header
        if WRITE_ONLY in body or definition.auth_header_name is None:
            sealed = _sealed(platform, org_id, agent_id, secret)
        elif sealed is not None:
            _check_same_host(before.definition.get("endpoint_url"), definition.endpoint_url)
        _add_version(connection, agent_id, definition, sealed, status, now)
        return _existing(connection, org_id, agent_id)

    return await platform.database.write(store)


async def publish_agent(platform: Platform, org_id: int, agent_id: int) -> Agent:
    now = platform.now()

    def store(connection: Connection) -> Agent:
        agent = _existing(connection, org_id, agent_id)
        _read({"status": "published", **agent.definition})  # what a draft may leave out
        agents.publish_agent(connection, agent_id=agent_id, now=now)
        return _existing(connection, org_id, agent_id)

    return await platform.database.write(store)


async def delete_agent(platform: Platform, org_id: int, agent_id: int) -> None:
    now = platform.now()
    deleted = await platform.database.write(
        lambda connection: agents.delete_agent(connection, org_id=org_id, agent_id=agent_id, now=now)
    )
    if not deleted:
        raise NotFound(f"There is no agent {agent_id}.")


async def find_agent(platform: Platform, org_id: int, agent_id: int, version: int | None = None) -> Agent:
    return await platform.database.read(lambda connection: _existing(connection, org_id, agent_id, version))


def _read(body: JsonObject) -> tuple[str, AgentDefinition, str | None]:
    """Status, checked definition, and the secret apart from it. Refused with all problems at once."""
    rest = dict(body)
    status = rest.pop("status", "published")
    problems: list[Problem] = []
    if status not in ("draft", "published"):
        problems.append(Problem(path="/status", message="must be 'draft' or 'published'"))
    try:
        definition = parse_agent_definition(rest, draft=status == "draft")
    except Refused as refused:
        raise Refused(problems + refused.problems, "the agent") from None
    problems += _plan_problems(definition)
    if problems:
        raise Refused(problems, "the agent")
    secret = rest.get(WRITE_ONLY)
    return str(status), definition, secret if isinstance(secret, str) else None


async def _check_endpoint(platform: Platform, definition: AgentDefinition) -> None:
    """Where the platform may not call, nobody should find out at the first run."""
    if definition.endpoint_url is not None:
        refusal = await platform.endpoint_refusal(definition.endpoint_url)
        if refusal is not None:
            hint = "set PIPELINES_ALLOW_PRIVATE_ENDPOINTS=yes where agents on private networks are meant"
            raise Refused([Problem(path="/endpoint_url", message=refusal, hint=hint)], "the agent")


def _check_same_host(before: Json, after: str | None) -> None:
    """A secret that nobody can read must not be sent to wherever someone points the agent next."""
    if urlsplit(str(before or "")).netloc != urlsplit(after or "").netloc:
        message = "must be given again, because endpoint_url now names another host"
        raise Refused([Problem(path=f"/{WRITE_ONLY}", message=message)], "the agent")


def _plan_problems(definition: AgentDefinition) -> list[Problem]:
    found: list[Problem] = []
    for index, tool in enumerate(definition.tools):
        if tool.simulation is not None:
            try:
                parse_plan(tool.simulation, origin="authored", path=f"/tools_schema/{index}/simulation")
            except Refused as refused:
                found += refused.problems
    return found


def _sealed(platform: Platform, org_id: int, agent_id: int, secret: str | None) -> bytes | None:
    if secret is None:
        return None
    return platform.secrets.seal(secret, row=f"{org_id}|agent|{agent_id}")


def _add_version(
    connection: Connection,
    agent_id: int,
    definition: AgentDefinition,
    sealed: bytes | None,
    status: str,
    now: str,
) -> None:
    agents.add_version(
        connection,
        agent_id=agent_id,
        definition=definition.as_json(),
        sealed_auth_header=sealed,
        status=status,
        now=now,
    )


def _existing(connection: Connection, org_id: int, agent_id: int, version: int | None = None) -> Agent:
    agent = agents.agent_by_id(connection, org_id=org_id, agent_id=agent_id, version=version)
    if agent is None:
        raise NotFound(f"There is no agent {agent_id}.")
    return agent
