"""Registering agents: a new one, a change (a new version, where anything changed), publishing, deleting."""

import asyncio
import hmac
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

from pipelines.core.agents.agent_definition import CODE_FIELDS, AgentDefinition, parse_agent_definition
from pipelines.core.code.code_source import CodeRecord
from pipelines.core.simulation.language import parse_plan
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.passthrough_binding import EndpointFacts
from pipelines.engine.access.manage_credentials import unknown_credentials
from pipelines.engine.code import upload_code
from pipelines.engine.code.upload_code import CheckedCode
from pipelines.engine.endpoints.bind_endpoints import endpoint_facts, keep_bindings
from pipelines.engine.find import agent_in, find_agent
from pipelines.engine.models.model_access import gateway_problems
from pipelines.engine.platform import Platform
from pipelines.storage.agents import agents
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.secret_box import UnreadableSecret
from pipelines.wire.errors import Conflict, NotFound

WRITE_ONLY = "auth_header_value"
CODE = "code"
CHECKED_BEFORE_STORING = {
    *("endpoint_url", "mode", CODE, "entrypoint", "secrets", "requirements", "model_gateways", "config"),
}


class _ParsedAgent(NamedTuple):
    status: str
    definition: AgentDefinition
    secret: str | None  # apart from the definition, which everybody may see


async def create_agent(platform: Platform, org_id: int, body: JsonObject) -> Agent:
    """A published agent, unless the body says `"status": "draft"`."""
    (status, definition, secret), checked = await _check_agent(platform, org_id, body, stored=None)
    record = await _store_code(platform, checked)
    now = platform.now()

    def store(connection: Connection) -> Agent:
        agent_id = agents.add_agent(connection, org_id=org_id, name=definition.name, status=status, now=now)
        sealed = _seal(platform, org_id, agent_id, secret)
        _add_version(connection, org_id, agent_id, _NewVersion(definition, record, sealed, status), now)
        return agent_in(connection, org_id, agent_id)

    return await platform.database.write(store)


async def change_agent(platform: Platform, org_id: int, agent_id: int, body: JsonObject) -> Agent:
    """The fields given replace the old ones, the others stay; the result is checked whole.

    What changes nothing keeps its version: reviews and baselines go by it, and a script that registers its
    agent before each matrix would be asked about the same shift again and again.
    """
    now = platform.now()
    new_code = None
    current = await find_agent(platform, org_id, agent_id)
    facts = await endpoint_facts(platform, org_id, _merge(current, body))
    known = await asyncio.to_thread(_parse_agent, _merge(current, body), facts)
    if body.keys() & CHECKED_BEFORE_STORING:  # what takes more than the transaction below has
        whole, stored = _merge(current, body), current.definition.code
        new_code = await _store_code(
            platform, (await _check_agent(platform, org_id, whole, stored=stored, changed=body))[1]
        )

    def store(connection: Connection) -> Agent:
        before = agent_in(connection, org_id, agent_id)
        status, definition, secret = _parse_changed(known, current, before, body, facts)
        sealed = before.sealed_auth_header
        if WRITE_ONLY in body or definition.auth_header_name is None:
            sealed = _reseal(platform, before, secret)
        elif sealed is not None:
            _check_same_host(before.definition.endpoint_url, definition.endpoint_url)
        record = new_code or before.definition.code
        _check_has_code(definition, status, record)
        version = _NewVersion(definition, record, sealed, status)
        if _is_unchanged(before, version):
            return before
        _add_version(connection, org_id, agent_id, version, now)
        return agent_in(connection, org_id, agent_id)

    return await platform.database.write(store)


async def upload_zip(platform: Platform, org_id: int, agent_id: int, raw: bytes) -> Agent:
    """Code by archive: a new version unless it is the same code, everything else of the agent as it was."""
    agent = await find_code_agent(platform, org_id, agent_id)
    checked = await upload_code.check_zip(platform, org_id, raw, agent.definition.entrypoint)
    problems = upload_code.requirements_problems(agent.definition.requirements, checked)
    if problems:
        raise Refused(problems, "the code")
    record = await _store_code(platform, checked)
    facts = await endpoint_facts(platform, org_id, _merge(agent, {}))
    known = await asyncio.to_thread(_parse_agent, _merge(agent, {}), facts)
    now = platform.now()

    def store(connection: Connection) -> Agent:
        before = agent_in(connection, org_id, agent_id)
        status, definition, _ = _parse_changed(known, agent, before, {}, facts)
        version = _NewVersion(definition, record, before.sealed_auth_header, status)
        if _is_unchanged(before, version):
            return before
        _add_version(connection, org_id, agent_id, version, now)
        return agent_in(connection, org_id, agent_id)

    return await platform.database.write(store)


async def download_code(platform: Platform, org_id: int, agent_id: int, version: int | None) -> bytes:
    """The code of an agent as a zip archive."""
    agent = await find_agent(platform, org_id, agent_id, version)
    if agent.definition.code is None:
        raise Conflict(f"Agent {agent_id} has no code.")
    return await upload_code.read_code(platform, agent.definition.code)


async def publish_agent(platform: Platform, org_id: int, agent_id: int) -> Agent:
    now = platform.now()
    published: JsonObject = {"status": "published"}
    current = await find_agent(platform, org_id, agent_id)
    if current.status == "published":
        return current
    facts = await endpoint_facts(platform, org_id, _merge(current, published))
    known = await asyncio.to_thread(_parse_agent, _merge(current, published), facts)

    def store(connection: Connection) -> Agent:
        agent = agent_in(connection, org_id, agent_id)
        if agent.status == "published":
            return agent
        # Checked whole: a draft may leave things out.
        status, definition, _ = _parse_changed(known, current, agent, published, facts)
        record = agent.definition.code
        _check_has_code(definition, status, record)
        version = _NewVersion(definition, record, agent.sealed_auth_header, status)
        _add_version(connection, org_id, agent_id, version, now)
        return agent_in(connection, org_id, agent_id)

    return await platform.database.write(store)


async def delete_agent(platform: Platform, org_id: int, agent_id: int) -> None:
    now = platform.now()
    deleted = await platform.database.write(
        lambda connection: agents.delete_agent(connection, org_id=org_id, agent_id=agent_id, now=now)
    )
    if not deleted:
        raise NotFound(f"There is no agent {agent_id}.")


async def find_code_agent(platform: Platform, org_id: int, agent_id: int) -> Agent:
    agent = await find_agent(platform, org_id, agent_id)
    if not agent.definition.is_code:
        raise Conflict("Only agents of mode code have code; set the mode first.")
    return agent


async def _check_agent(
    platform: Platform,
    org_id: int,
    body: JsonObject,
    *,
    stored: CodeRecord | None,
    changed: JsonObject | None = None,
) -> tuple[_ParsedAgent, CheckedCode | None]:
    """All that is wrong with an agent and its code, in one answer. `stored` is the code that it has."""
    problems: list[Problem] = []
    read = None
    try:
        facts = await endpoint_facts(platform, org_id, body)
        read = await asyncio.to_thread(_parse_agent, body, facts)  # a large definition takes seconds
        await _check_endpoint(platform, read.definition)
        named = read.definition.secrets
        problems += await unknown_credentials(platform, org_id, named)
        problems += await gateway_problems(platform, org_id, read.definition.model_gateways, named)
        problems += platform.models.naming_problems(read.definition.config.models, "/config/models")
    except Refused as refused:
        problems += refused.problems
    checked = None
    try:
        declared = body if changed is None else changed
        if body.get("mode") == "code" and declared.keys() & {CODE, "entrypoint", "mode"}:
            checked = await _check_code(platform, org_id, body, stored, is_sound=not problems)
        if read is not None:
            problems += upload_code.requirements_problems(read.definition.requirements, checked)
            _check_has_code(read.definition, read.status, checked.record if checked is not None else stored)
    except Refused as refused:
        problems += refused.problems
    if problems or read is None:
        raise Refused(problems, "the agent")
    return read, checked


async def _check_code(
    platform: Platform, org_id: int, body: JsonObject, stored: CodeRecord | None, *, is_sound: bool
) -> CheckedCode | None:
    source, named = body.get(CODE), body.get("entrypoint")
    entrypoint = named if isinstance(named, str) else None
    is_known = stored is not None and source == stored.as_json()  # what it is shown as may be sent back
    if source is None or is_known:
        if stored is None:
            return None
        return await upload_code.check_stored_code(platform, org_id, stored, entrypoint)
    if isinstance(source, dict) and source.get("source") == "git" and not is_sound:
        return None  # nobody is called for an agent that is refused anyway
    return await upload_code.check_code(platform, org_id, source, entrypoint)


async def _store_code(platform: Platform, checked: CheckedCode | None) -> CodeRecord | None:
    if checked is None:
        return None
    await upload_code.store_code(platform, checked)
    return checked.record


def _merge(before: Agent, body: JsonObject) -> JsonObject:
    """An agent that leaves code mode leaves behind what only code has."""
    is_left = before.definition.is_code and body.get("mode", "code") != "code"
    kept_fields = (CODE, *CODE_FIELDS) if is_left else ()
    kept = {name: value for name, value in before.definition.as_stored().items() if name not in kept_fields}
    return {"status": before.status, **kept, **body}


def _parse_changed(
    known: _ParsedAgent, current: Agent, before: Agent, body: JsonObject, facts: Mapping[str, EndpointFacts]
) -> _ParsedAgent:
    """Everybody waits for the one writer: what was read before its turn is read again only if it changed."""
    return known if before == current else _parse_agent(_merge(before, body), facts)


def _check_has_code(definition: AgentDefinition, status: str, record: CodeRecord | None) -> None:
    if definition.is_code and status != "draft" and record is None:
        hint = "send `code`, or register a draft and PUT a zip archive to /api/agents/{id}/code"
        raise Refused([Problem(path=f"/{CODE}", message="the code is missing", hint=hint)], "the agent")


def _parse_agent(body: JsonObject, facts: Mapping[str, EndpointFacts]) -> _ParsedAgent:
    """The definition apart from its secret and its code. Refused with all problems at once."""
    rest = {name: value for name, value in body.items() if name != CODE or body.get("mode") != "code"}
    status = rest.pop("status", "published")
    problems: list[Problem] = []
    if status not in ("draft", "published"):
        problems.append(Problem(path="/status", message="must be 'draft' or 'published'"))
    if rest.get(CODE) is not None:
        hint = 'set "mode": "code", or leave it out'
        problems.append(Problem(path=f"/{CODE}", message="`code` is for agents of mode `code`", hint=hint))
    rest.pop(CODE, None)
    try:
        definition = parse_agent_definition(rest, endpoints=facts, draft=status == "draft")
    except Refused as refused:
        raise Refused(problems + refused.problems, "the agent") from None
    problems += _plan_problems(definition)
    if problems:
        raise Refused(problems, "the agent")
    secret = rest.get(WRITE_ONLY)
    return _ParsedAgent(str(status), definition, secret if isinstance(secret, str) else None)


async def _check_endpoint(platform: Platform, definition: AgentDefinition) -> None:
    """Where the platform may not call, nobody should find out at the first run."""
    if definition.endpoint_url is not None:
        refusal = await platform.endpoint_refusal(definition.endpoint_url)
        if refusal is not None:
            problem = Problem(path="/endpoint_url", message=str(refusal), hint=refusal.hint)
            raise Refused([problem], "the agent")


def _check_same_host(before: str | None, after: str | None) -> None:
    """A secret that nobody can read must not be sent to wherever someone points the agent next."""
    if urlsplit(before or "").netloc != urlsplit(after or "").netloc:
        message = "must be given again, because endpoint_url now names another host"
        raise Refused([Problem(path=f"/{WRITE_ONLY}", message=message)], "the agent")


def _plan_problems(definition: AgentDefinition) -> list[Problem]:
    found: list[Problem] = []
    names = [tool.name for tool in definition.tools]
    for index, tool in enumerate(definition.tools):
        if tool.simulation is not None:
            path = f"/tools_schema/{index}/simulation"
            try:
                parse_plan(tool.simulation, origin="authored", path=path, tool_names=names)
            except Refused as refused:
                found += refused.problems
    return found


def _seal(platform: Platform, org_id: int, agent_id: int, secret: str | None) -> bytes | None:
    if secret is None:
        return None
    return platform.secrets.seal(secret, row=f"{org_id}|agent|{agent_id}")


def _reseal(platform: Platform, before: Agent, secret: str | None) -> bytes | None:
    """As it is, where the secret is the same: sealed once more it would look like another."""
    sealed = before.sealed_auth_header
    if sealed is not None and secret is not None:
        with suppress(UnreadableSecret):  # the server's key was changed: the old one is lost
            known = platform.secrets.open(sealed, row=f"{before.org_id}|agent|{before.id}")
            if hmac.compare_digest(known.encode(), secret.encode()):
                return sealed
    return _seal(platform, before.org_id, before.id, secret)


class _NewVersion(NamedTuple):
    definition: AgentDefinition
    code: CodeRecord | None
    sealed_auth_header: bytes | None
    status: str


def _is_unchanged(before: Agent, version: _NewVersion) -> bool:
    definition = replace(version.definition, code=version.code)
    return (
        before.status == version.status
        and before.sealed_auth_header == version.sealed_auth_header
        and before.definition_text == dumps(definition.as_stored()).decode()
    )


def _add_version(connection: Connection, org_id: int, agent_id: int, version: _NewVersion, now: str) -> None:
    keep_bindings(connection, org_id, agent_id, version.definition)
    agents.add_version(
        connection,
        agent_id=agent_id,
        definition=replace(version.definition, code=version.code),
        sealed_auth_header=version.sealed_auth_header,
        status=version.status,
        now=now,
    )
