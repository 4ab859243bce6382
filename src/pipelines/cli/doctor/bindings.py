"""Checks of passthrough bindings: whether the server has each endpoint and tool as accepted."""

import os
from collections.abc import Iterator
from typing import Any

import httpx2

from pipelines.cli.client import KEY_FILE, find_key, uses_proxies
from pipelines.cli.doctor.agent_files import declared_tools
from pipelines.cli.doctor.findings import Finding, ok, problem, warning
from pipelines.cli.project import Project
from pipelines.core.text.authored import did_you_mean
from pipelines.core.tools.tools_schema import Tool

CHECK = "passthrough"
ENDPOINTS = "/api/tool-endpoints"
PATIENCE_S = 15.0
Row = dict[str, Any]


class EndpointsUnknown(Exception):
    """The server's endpoints could not be listed; the message says why."""


def binding_findings(project: Project, server: str, *, is_reached: bool) -> Iterator[Finding]:
    """Empty if no tool is bound. Without a server or a key, the bound tools are only named."""
    bound = [tool for tool in declared_tools(project) if tool.passthrough_binding is not None]
    if not bound:
        return
    named = ", ".join(tool.name for tool in bound[:5]) + (", …" if len(bound) > 5 else "")
    if not is_reached:
        yield warning(CHECK, f"not checked without a server: {named}", "name it with --server")
        return
    try:
        with _client(server) as client:
            known = {each["name"]: each for each in _list_all(client, ENDPOINTS)}
            found = [finding for tool in bound for finding in _check_tool(client, tool, known)]
    except EndpointsUnknown as error:
        yield warning(CHECK, f"not checked: {error}", f"set PIPELINES_API_KEY, or run where {KEY_FILE} is")
        return
    yield from found
    if not found:
        word = "binding is" if len(bound) == 1 else "bindings are"
        yield ok(CHECK, f"{len(bound)} {word} as accepted: {named}")


def _check_tool(client: httpx2.Client, tool: Tool, known: dict[str, Row]) -> Iterator[Finding]:
    binding = tool.passthrough_binding
    assert binding is not None
    by_id = {each["id"]: each for each in known.values()}
    if binding.endpoint_id is not None:
        endpoint, name = by_id.get(binding.endpoint_id), binding.endpoint_id
    else:
        name = binding.endpoint_name or ""
        endpoint = known.get(name)
    if endpoint is None:
        hint = did_you_mean(name, known) or "register it first: pipelines endpoints add"
        yield problem(CHECK, f"tool {tool.name}: the server has no endpoint {name}", hint)
        return
    yield from _check_endpoint_tool(client, tool, endpoint, binding.tool_name)


def _check_endpoint_tool(
    client: httpx2.Client, tool: Tool, endpoint: Row, tool_name: str
) -> Iterator[Finding]:
    listed = {each["name"]: each for each in _list_all(client, f"{ENDPOINTS}/{endpoint['id']}/tools")}
    found = listed.get(tool_name)
    again = f"pipelines endpoints discover {endpoint['name']}"
    if found is None:
        why = f" ({endpoint['discovery_error']})" if endpoint["discovery_error"] else ""
        hint = did_you_mean(tool_name, listed) or f"look again: {again}"
        seen = f"tool {tool.name}: endpoint {endpoint['name']} has no tool {tool_name}{why}"
        yield problem(CHECK, seen, hint)
    elif found["drift"] is not None:
        what = "is gone" if found["drift"] == "gone" else "has changed"
        seen = f"tool {tool.name}: {tool_name} of {endpoint['name']} {what} since it was accepted"
        say = problem if tool.is_passthrough else warning  # runs are refused for the one alone
        yield say(CHECK, seen, f"see how: {again}; then accept it: {again} --accept")


def _client(server: str) -> httpx2.Client:
    found = find_key(server)
    key = os.environ.get("PIPELINES_API_KEY") or (found.key if found is not None else None)
    if key is None:
        raise EndpointsUnknown("there is no API key here")
    return httpx2.Client(
        base_url=server,
        headers={"X-API-Key": key},
        timeout=PATIENCE_S,
        trust_env=uses_proxies(server),
    )


def _list_all(client: httpx2.Client, path: str) -> Iterator[Row]:
    cursor: str | None = None
    while True:
        query = {"limit": "500"} | ({"cursor": cursor} if cursor is not None else {})
        try:
            answer = client.get(path, params=query)
        except httpx2.HTTPError as error:
            raise EndpointsUnknown(str(error) or type(error).__name__) from None
        if not answer.is_success:
            raise EndpointsUnknown(f"{path} answers {answer.status_code}")
        page = answer.json()
        yield from page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return
