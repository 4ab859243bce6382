"""One tool of an endpoint, called by hand: to see that it works before an agent is bound to it."""

import asyncio
import time
from dataclasses import dataclass
from typing import Annotated

from pipelines.core.code.redaction import Redaction
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.text.authored import Fields, as_object, did_you_mean
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.live_tools import LONGEST_HOP_S, DiscoveredTool, LiveCallFailed, LiveReply
from pipelines.engine.endpoints.build_endpoint import open_once
from pipelines.engine.endpoints.manage_endpoints import find_endpoint
from pipelines.engine.platform import Platform
from pipelines.processes.aside import aside
from pipelines.storage.agents import tool_endpoints
from pipelines.storage.agents.tool_endpoints import ToolEndpoint
from pipelines.storage.database.connection import Connection
from pipelines.wire.errors import InvalidArguments
from pipelines.wire.records import As, Record


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointReply(Record):
    """What a tool answered."""

    tool_name: str
    latency_ms: float
    status: Annotated[int, "the service's own, also an error; 200 where it has none"]
    response: Annotated[Json, "decoded; text stays text"]
    notes: Annotated[Json, As(list[str])]


async def call_tool(platform: Platform, org_id: int, endpoint_id: str, body: JsonObject) -> EndpointReply:
    """One tool by hand: what it answered, and how long that took. Nothing is recorded anywhere."""
    endpoint = await find_endpoint(platform, org_id, endpoint_id)
    name, arguments = _read_call(body)
    tool = await _find_tool(platform, endpoint, name)
    problems = await asyncio.to_thread(lambda: CompiledSchema(tool.input_schema).problems(arguments))
    if problems:
        raise InvalidArguments(details=[problem.as_json() for problem in problems])
    async with platform.probing.slot(SlotHolder(org_id)):
        return await _call(platform, endpoint, tool, arguments)


async def _call(
    platform: Platform, endpoint: ToolEndpoint, tool: DiscoveredTool, arguments: JsonObject
) -> EndpointReply:
    began = time.monotonic()
    try:
        async with asyncio.timeout(LONGEST_HOP_S), open_once(platform, endpoint) as session:
            began = time.monotonic()
            reply = await session.live.call(tool, arguments)
    except TimeoutError:
        raise LiveCallFailed(f"No answer within {LONGEST_HOP_S:.0f} s.") from None
    except LiveCallFailed as failed:
        failed.details = {"latency_ms": _ms_since(began), "notes": [*failed.notes]}
        raise
    latency_ms = _ms_since(began)
    response, notes = await aside(endpoint.org_id, _hide_secrets, session.redaction, reply)
    return EndpointReply(
        tool_name=tool.name, latency_ms=latency_ms, status=reply.status, response=response, notes=notes
    )


def _hide_secrets(redaction: Redaction, reply: LiveReply) -> list[Json]:
    """The response and the notes. A service may repeat what it was sent."""
    masked = loads_own(redaction.json_bytes(dumps([reply.response, [*reply.notes]])))
    assert isinstance(masked, list)
    return masked


def _ms_since(began: float) -> float:
    return round((time.monotonic() - began) * 1_000, 3)


def _read_call(body: JsonObject) -> tuple[str, JsonObject]:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("tool_name", "arguments"))
    fields.require("tool_name", "as GET …/tools lists it")
    name = fields.text("tool_name")
    given: Json = body.get("arguments") if body.get("arguments") is not None else {}
    arguments = as_object(given, fields.at("arguments"), problems, "`arguments`")
    if problems or name is None or arguments is None:
        raise Refused(problems, "the call")
    return name, arguments


async def _find_tool(platform: Platform, endpoint: ToolEndpoint, name: str) -> DiscoveredTool:
    def look(connection: Connection) -> DiscoveredTool | frozenset[str]:
        found = tool_endpoints.found_tool(connection, endpoint.id, name)
        return found if found is not None else tool_endpoints.tool_names(connection, endpoint.id)

    found = await platform.database.read(look)
    if isinstance(found, DiscoveredTool):
        return found
    near = await asyncio.to_thread(did_you_mean, name, found)
    message = f"endpoint `{endpoint.name}` has no tool `{name[:128]}`"
    hint = near or "GET …/tools lists them; discover them again if it has been added since"
    raise Refused([Problem(path="/tool_name", message=message, hint=hint)], "the call")
