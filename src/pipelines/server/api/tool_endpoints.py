"""Tool endpoints: live services, MCP servers and functions that an agent's tools may be passed through to."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.endpoints import call_endpoint, manage_endpoints
from pipelines.server.api.common import (
    Contributor,
    Cursor,
    Limit,
    Ours,
    Viewer,
    answer,
    answer_page,
    id_cursor,
    json_body,
    read_json_object,
    read_optional_object,
)
from pipelines.server.api.schemas import bodies
from pipelines.storage.agents.tool_endpoints import endpoints_of_org, tools_of_endpoint

router = APIRouter(prefix="/api/tool-endpoints", tags=["tool endpoints"])
#: A spec of 20 MiB as a JSON string, with what has to be escaped in it.
MAX_ENDPOINT_BYTES = 32 * 1024 * 1024


@router.post("", status_code=201, openapi_extra=json_body(bodies.TOOL_ENDPOINT))
async def create_tool_endpoint(request: Request, platform: Ours, key: Contributor) -> Response:
    """Register a tool endpoint and discover its tools.

    Where they cannot be found the endpoint is there without tools, and `discovery_error` says why.
    """
    body = await _read_endpoint(request)
    created = await manage_endpoints.create_endpoint(platform, key.org_id, body)
    return answer(created, 201)


@router.get("")
async def list_tool_endpoints(
    platform: Ours,
    key: Viewer,
    name: Annotated[
        str | None, Query(max_length=128, pattern=r"^[^\x00]*$", description="only the one of this name")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's tool endpoints, newest first, without specs and source."""
    before_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: endpoints_of_org(
            connection, key.org_id, name=name, limit=limit, before_id=before_id
        )
    )
    return answer_page(page)


@router.get("/{endpoint_id}")
async def get_tool_endpoint(endpoint_id: str, platform: Ours, key: Viewer) -> Response:
    """One tool endpoint, without its spec or source; credentials are named, never shown."""
    return answer(await manage_endpoints.find_counted(platform, key.org_id, endpoint_id))


@router.put("/{endpoint_id}", openapi_extra=json_body(bodies.TOOL_ENDPOINT_CHANGE))
async def change_tool_endpoint(
    endpoint_id: str, request: Request, platform: Ours, key: Contributor
) -> Response:
    """Replace `name`, `config` or `auth`; what is not given stays, a `config` is replaced whole.

    Another config or auth is asked for its tools anew: those that differ are drift until they are accepted.
    """
    body = await _read_endpoint(request)
    changed = await manage_endpoints.change_endpoint(platform, key.org_id, endpoint_id, body)
    return answer(changed)


@router.delete("/{endpoint_id}", status_code=204)
async def delete_tool_endpoint(endpoint_id: str, platform: Ours, key: Contributor) -> Response:
    """Forget a tool endpoint and its tools. While agents bind it: 409 `endpoint_bound`, with those agents."""
    await manage_endpoints.delete_endpoint(platform, key.org_id, endpoint_id)
    return Response(status_code=204)


@router.post("/{endpoint_id}/discover", openapi_extra=json_body(bodies.DISCOVER, required=False))
async def discover_tool_endpoint(
    endpoint_id: str, request: Request, platform: Ours, key: Contributor
) -> Response:
    """Ask the endpoint for its tools. New ones are taken; what changed or went is drift until `accept`."""
    body = await read_optional_object(request)
    return answer(await manage_endpoints.discover_tools(platform, key.org_id, endpoint_id, body))


@router.get("/{endpoint_id}/tools")
async def list_endpoint_tools(
    endpoint_id: str,
    platform: Ours,
    key: Viewer,
    drifted: Annotated[bool, Query(description="only those that are not what was accepted")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The tools as they were accepted, in the order found, each with what it has become since.

    A page of large ones may have fewer of them than `limit`.
    """
    after_id = id_cursor(cursor)
    await manage_endpoints.find_endpoint(platform, key.org_id, endpoint_id)
    # Written where it is read, off the loop: schemas are large, and each has its fingerprint taken.
    return await platform.database.read(
        lambda connection: answer_page(
            tools_of_endpoint(connection, endpoint_id, is_drifted=drifted, limit=limit, after_id=after_id)
        )
    )


@router.post("/{endpoint_id}/call", openapi_extra=json_body(bodies.ENDPOINT_CALL))
async def call_endpoint_tool(
    endpoint_id: str, request: Request, platform: Ours, key: Contributor
) -> Response:
    """Call one tool by hand, on the live endpoint. No answer that can be used: 502 `transport_error`."""
    body = await read_json_object(request)
    return answer(await call_endpoint.call_tool(platform, key.org_id, endpoint_id, body))


async def _read_endpoint(request: Request) -> JsonObject:
    """Reads the body. A large document must be sent as one JSON string, because as an object it has too many
    values."""
    try:
        return await read_json_object(request, limit=MAX_ENDPOINT_BYTES)
    except Refused as refused:
        hint = "send the OpenAPI document in `spec` as a JSON string, not as an object"
        problems = [replace(each, hint=hint) if each.hint is not None else each for each in refused.problems]
        raise Refused(problems, refused.what) from None
