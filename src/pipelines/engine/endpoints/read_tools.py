"""The tools of a live service, read for an agent that is not saved yet. Nothing is stored.

An MCP server and an OpenAPI document are read as a tool endpoint reads them, with the same checks of address
and credential. Any other URL must answer with a JSON list of tools.
"""

from typing import Literal, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from pipelines.core.endpoints.endpoint_config import MCP, OPENAPI
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.web_address import url_complaint
from pipelines.core.tools.live_tools import DiscoveredTool, LiveCallFailed
from pipelines.engine.endpoints.check_endpoint import check_endpoint
from pipelines.engine.endpoints.discover_endpoint import discover_tools
from pipelines.engine.platform import Platform
from pipelines.outbound.agent_client import AgentClient, AgentTarget
from pipelines.storage.agents.tool_endpoints import ToolEndpoint

Kind = Literal["mcp", "openapi", "url"]
URL_FIELD = "/tools_url"
MOST_NOTES = 5
_LISTS = ("tools_schema", "tools")  # where an agent.json, or the answer of tools/list, has them


class ToolsFound(NamedTuple):
    tools: list[JsonObject]
    notes: tuple[str, ...]  # what could not become a tool


class ToolsSource(NamedTuple):
    kind: Kind
    url: str
    credential: str | None = None  # the name of one of the org, sent as a bearer token


async def read_tools(platform: Platform, client: AgentClient, org_id: int, source: ToolsSource) -> ToolsFound:
    """Raises Refused with the fields of the form."""
    complaint = url_complaint(source.url) if source.url else "is missing"
    if complaint is not None:
        raise _refused(f"the URL {complaint}")
    try:
        if source.kind == "url":
            return await _read_list(client, org_id, source.url)
        endpoint = await _checked_endpoint(platform, org_id, source)
        found = await discover_tools(platform, endpoint)
    except LiveCallFailed as failed:
        raise _refused(failed.message, "; ".join(failed.notes[:MOST_NOTES]) or None) from None
    if not found.tools:
        raise _refused("has no tools", "; ".join(found.notes[:MOST_NOTES]) or None)
    return ToolsFound([_declared(tool) for tool in found.tools], found.notes)


def merge_tools(declared: Json, found: list[JsonObject]) -> list[Json]:
    """The declared tools stay in their places; one that was found replaces the one of its name."""
    before = declared if isinstance(declared, list) else []
    new = {str(tool["name"]): tool for tool in found}
    kept: list[Json] = [new.pop(_name(tool), tool) for tool in before]
    return kept + list(new.values())


async def _checked_endpoint(platform: Platform, org_id: int, source: ToolsSource) -> ToolEndpoint:
    """An endpoint that is never stored, checked as one that is."""
    parts = urlsplit(source.url)
    type, config = (MCP, {"url": source.url})
    if source.kind == "openapi":
        type, config = OPENAPI, {"base_url": f"{parts.scheme}://{parts.netloc}", "spec_url": source.url}
    auth = {"type": "bearer", "credential": source.credential} if source.credential else {"type": "none"}
    body: JsonObject = {"name": f"unsaved-{uuid4().hex[:12]}", "type": type, "config": {**config}}
    try:
        definition, _ = await check_endpoint(platform, org_id, body | {"auth": {**auth}})
    except Refused as refused:
        raise Refused([_at_field(problem) for problem in refused.problems], "the form") from None
    now = platform.now()
    return ToolEndpoint(
        id=str(uuid4()),
        org_id=org_id,
        name=definition.name,
        type=definition.type,
        config=definition.split_config().small,
        content_hash=None,
        auth=definition.auth,
        version=1,
        discovered_at=None,
        created_at=now,
        updated_at=now,
    )


async def _read_list(client: AgentClient, org_id: int, url: str) -> ToolsFound:
    refusal = await client.refusal(url)
    if refusal is not None:
        raise _refused(str(refusal), refusal.hint)
    text = await client.fetch(AgentTarget(endpoint_url=url, org_id=org_id))
    try:
        value = loads(text)
    except InvalidJson as error:
        raise _refused(f"the answer is not JSON: {error}") from None
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    listed = value if isinstance(value, list) else []
    tools = [tool for tool in listed if isinstance(tool, dict) and _name(tool)]
    if not tools or len(tools) < len(listed):
        hint = "it must be a list of tools with names, or an object with such a list in `tools`"
        raise _refused("the answer is not a list of tools", hint)
    return ToolsFound(tools, ())


def _declared(tool: DiscoveredTool) -> JsonObject:
    body: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }
    return body | ({"output_schema": tool.output_schema} if tool.output_schema is not None else {})


def _name(tool: Json) -> str:
    inner = tool.get("function", tool) if isinstance(tool, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else ""


def _at_field(problem: Problem) -> Problem:
    path = "/tools_credential" if problem.path.startswith("/auth") else URL_FIELD
    return Problem(path=path, message=problem.message, hint=problem.hint)


def _refused(message: str, hint: str | None = None) -> Refused:
    return Refused([Problem(path=URL_FIELD, message=message.rstrip("."), hint=hint)], "the form")
