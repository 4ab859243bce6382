"""A tool endpoint that somebody wrote, checked whole: by itself, against its org, and against this server."""

import asyncio
from dataclasses import replace

from pipelines.core.code.code_config import read_code_config
from pipelines.core.endpoints.credential_reference import missing_credentials
from pipelines.core.endpoints.endpoint_config import CODE, EndpointDefinition, read_endpoint
from pipelines.core.text.json_text import JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.endpoints.build_endpoint import cannot_ask
from pipelines.engine.platform import Platform
from pipelines.sandbox.requirements import parse_requirements
from pipelines.storage.accounts.credentials import credentials_by_name
from pipelines.storage.agents import tool_endpoints
from pipelines.storage.agents.tool_endpoints import ToolEndpoint
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import texts
from pipelines.storage.tasks.texts import Text

WHAT = "the tool endpoint"
ADDRESSES = ("base_url", "spec_url", "url")


async def check_endpoint(
    platform: Platform, org_id: int, body: JsonObject, before: ToolEndpoint | None = None
) -> tuple[EndpointDefinition, Text | None]:
    """All that is wrong with it in one answer, and what is large of it as a text."""
    definition, problems = await asyncio.to_thread(read_endpoint, body)
    if definition is not None:
        place = "/config" if "config" in body else ""
        problems += await _org_problems(platform, org_id, definition, before)
        problems += _requirement_problems(definition, place)
        problems += await _address_problems(platform, definition, place) if not problems else []
        reported_paths = {problem.path for problem in problems}
        problems += [
            each for each in await _code_problems(definition, place) if each.path not in reported_paths
        ]
    if problems or definition is None:
        raise Refused(problems, WHAT)
    large = definition.split_config().large
    return definition, await asyncio.to_thread(lambda: texts.named(dumps(large))) if large else None


async def _org_problems(
    platform: Platform, org_id: int, definition: EndpointDefinition, before: ToolEndpoint | None
) -> list[Problem]:
    """What the org and this server have against it."""

    def look(connection: Connection) -> tuple[frozenset[str], ToolEndpoint | None]:
        known = frozenset(credentials_by_name(connection, org_id))
        return known, tool_endpoints.endpoint_by_name(connection, org_id, definition.name)

    known, same_name = await platform.database.read(look)
    problems = [*missing_credentials(definition.credentials, known)]
    if same_name is not None and (before is None or same_name.id != before.id):
        problems.append(name_taken(definition.name))
    if before is not None and definition.type != before.type:
        message = f"the type cannot be changed: this endpoint is of type `{before.type}`"
        problems.append(Problem(path="/type", message=message, hint="register another endpoint"))
    elif definition.type not in platform.endpoint_makers:
        message = cannot_ask(definition.type).rstrip(".")
        problems.append(Problem(path="/type", message=message[0].lower() + message[1:]))
    return problems


def name_taken(name: str) -> Problem:
    message = f"there is a tool endpoint named `{name}` already"
    return Problem(path="/name", message=message, hint="choose another name, or change that one with PUT")


def _requirement_problems(definition: EndpointDefinition, place: str) -> list[Problem]:
    listed = definition.config.get("requirements")
    problems: list[Problem] = []
    for index, line in enumerate(listed if isinstance(listed, list) else []):
        try:
            parse_requirements(str(line))
        except Refused as refused:
            path = f"{place}/requirements" + pointer([index])
            problems += [replace(problem, path=path) for problem in refused.problems]
    return problems


async def _code_problems(definition: EndpointDefinition, place: str) -> list[Problem]:
    """Files, functions and hosts, as they are read when the endpoint is first asked."""
    if definition.type != CODE:
        return []
    try:
        await asyncio.to_thread(read_code_config, definition.config, place)
    except Refused as refused:
        return refused.problems
    return []


async def _address_problems(platform: Platform, definition: EndpointDefinition, place: str) -> list[Problem]:
    """Where the platform may not call, nobody should find out at the first call."""
    problems = []
    for key in ADDRESSES:
        url = definition.config.get(key)
        refusal = await platform.endpoint_refusal(url) if isinstance(url, str) else None
        if refusal is not None:
            problems.append(Problem(path=f"{place}/{key}", message=str(refusal), hint=refusal.hint))
    return problems
