"""Agents and the tool endpoints of their org: what bindings are checked against, what runs are refused for.

A binding is checked when an agent is saved and kept beside it; whether its tool is still what was accepted is
looked at when runs are asked for.
"""

from collections.abc import Iterator
from functools import partial

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.endpoints.endpoint_drift import GONE, StoredTool
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.passthrough_binding import EndpointFacts, PassthroughBinding
from pipelines.core.tools.tools_schema import Tool
from pipelines.engine.platform import Platform
from pipelines.storage.agents import tool_endpoints
from pipelines.storage.agents.agents import Agent
from pipelines.storage.agents.endpoint_bindings import Binding, set_bindings
from pipelines.storage.agents.tool_endpoints import EndpointHead, ToolEndpoint
from pipelines.storage.database.connection import Connection
from pipelines.wire.errors import EndpointDrift

BINDING = "passthrough_binding"
BIND_ELSEWHERE_HINT = "Bind the tool elsewhere, or set its mode to sandbox: PUT /api/agents/{id}."


async def endpoint_facts(platform: Platform, org_id: int, body: JsonObject) -> dict[str, EndpointFacts]:
    """The org's endpoints by id, as the agent of this body is to be checked against them."""
    named = set(_named_endpoints(body.get("tools_schema")))
    if not named:
        return {}
    return await platform.database.read(partial(_load_facts, org_id=org_id, named=named))


def _load_facts(connection: Connection, org_id: int, named: set[str]) -> dict[str, EndpointFacts]:
    """With the tools of those that are named alone: an endpoint may have thousands."""

    def tools(head: EndpointHead) -> frozenset[str]:
        is_named = head.id in named or head.name in named
        return tool_endpoints.tool_names(connection, head.id) if is_named else frozenset()

    heads = tool_endpoints.endpoint_heads(connection, org_id)
    return {
        head.id: EndpointFacts(id=head.id, name=head.name, type=head.type, tools=tools(head))
        for head in heads
    }


def _named_endpoints(tools: Json) -> Iterator[str]:
    """Ids and names in what may not be a tools schema at all."""
    for entry in tools if isinstance(tools, list) else []:
        inner = entry.get("function") if isinstance(entry, dict) else None
        for place in (entry, inner):
            binding = place.get(BINDING) if isinstance(place, dict) else None
            for key in ("endpoint_id", "endpoint_name"):
                value = binding.get(key) if isinstance(binding, dict) else None
                if isinstance(value, str):
                    yield value


def keep_bindings(connection: Connection, org_id: int, agent_id: int, definition: AgentDefinition) -> None:
    """In the transaction that saves the agent: its endpoints are there, and are not deleted meanwhile."""
    kept: list[Binding] = []
    for index, tool in enumerate(definition.tools):
        binding = tool.passthrough_binding
        if binding is None:
            continue
        endpoint = _find_endpoint(connection, org_id, binding)
        if endpoint is None or not tool_endpoints.hold_endpoint(connection, org_id, endpoint.id):
            path = pointer(["tools_schema", index, BINDING])
            message = f"tool `{tool.name}`: its endpoint was deleted just now"
            raise Refused([Problem(path=path, message=message)], "the agent")
        is_by_name = binding.endpoint_name is not None
        kept.append(Binding(tool.name, endpoint.id, binding.tool_name, is_by_name))
    set_bindings(connection, agent_id, kept)


async def refuse_drift(platform: Platform, agent: Agent) -> None:
    """409 `endpoint_drift` where a tool that is passed through is not what was accepted, or is gone."""
    tools = [tool for tool in agent.definition.tools if tool.is_passthrough]
    if not tools:
        return
    found = await platform.database.read(
        lambda connection: [each for tool in tools for each in _drift(connection, agent.org_id, tool)]
    )
    if found:
        first = found[0]
        more = f" ({len(found) - 1} more are listed)" if len(found) > 1 else ""
        raise EndpointDrift(
            f"Tool `{first['tool']}` passes through to `{first['tool_name']}` of endpoint"
            f" `{first['endpoint']}`, which {first['what']}{more}. {first.pop('change')}",
            details={"tools": [{name: each[name] for name in each if name != "change"} for each in found]},
        )


def _drift(connection: Connection, org_id: int, tool: Tool) -> Iterator[JsonObject]:
    binding = tool.passthrough_binding
    assert binding is not None, "a passthrough tool has a binding"
    endpoint = _find_endpoint(connection, org_id, binding)
    named = endpoint.name if endpoint is not None else binding.endpoint_name or binding.endpoint_id
    difference: JsonObject = {"tool": tool.name, "endpoint": named, "tool_name": binding.tool_name}
    if endpoint is None:
        yield difference | {
            "drift": GONE,
            "what": "is deleted",
            "differences": [],
            "change": BIND_ELSEWHERE_HINT,
        }
        return
    difference["endpoint_id"] = endpoint.id
    known = tool_endpoints.tools_by_name(connection, endpoint.id, [binding.tool_name]).get(binding.tool_name)
    if known is None or known.drift is not None:
        yield difference | _describe_drift(known, endpoint)


def _describe_drift(known: StoredTool | None, endpoint: ToolEndpoint) -> JsonObject:
    """`change` is what to do about it."""
    if known is None or known.drift == GONE:
        return {"drift": GONE, "what": "is no longer there", "differences": [], "change": BIND_ELSEWHERE_HINT}
    command = f"pipelines endpoints discover {endpoint.name} --accept"
    change = f"Look at the differences, then accept them: `{command}`."
    description: JsonObject = {
        "drift": known.drift,
        "what": "has changed since it was accepted",
        "change": change,
    }
    return description | {"differences": known.differences()}


def _find_endpoint(connection: Connection, org_id: int, binding: PassthroughBinding) -> ToolEndpoint | None:
    if binding.endpoint_id is not None:
        return tool_endpoints.endpoint_by_id(connection, org_id, binding.endpoint_id)
    return tool_endpoints.endpoint_by_name(connection, org_id, binding.endpoint_name or "")
