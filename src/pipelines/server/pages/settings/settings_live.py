"""/settings/endpoints and /settings/cassettes: live tool endpoints, and recordings of their replies."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.datastructures import UploadFile

from pipelines.core.endpoints.endpoint_drift import StoredTool
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.calls.live_hops import LiveHops
from pipelines.engine.endpoints import manage_cassettes, manage_endpoints
from pipelines.engine.endpoints.verify_cassette import verify_cassette
from pipelines.engine.platform import Platform
from pipelines.processes.pool import TookTooMuch
from pipelines.server.api.cassettes import as_download
from pipelines.server.api.common import encode_cursor, id_cursor, platform_of, unreadable
from pipelines.server.pages.form_fields import read_json_text
from pipelines.server.pages.page import go
from pipelines.server.pages.settings.settings import settings_page
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts, read_form
from pipelines.storage.agents.cassettes import MAX_BYTES, Cassette, cassettes_of_org
from pipelines.storage.agents.endpoint_bindings import BoundAgent, agents_bound_to
from pipelines.storage.agents.tool_endpoints import CountedEndpoint, endpoints_of_org, tools_of_endpoint
from pipelines.storage.database.connection import Connection
from pipelines.wire.errors import EndpointBound, OdysseyError

router = APIRouter()
SHOWN = 100
MOST_TOOLS = 200
Place = Annotated[str, Query(max_length=200)]
EndpointId = Annotated[str, Path(max_length=64)]
Name = Annotated[str, Path(min_length=1, max_length=128)]


# Endpoints


@router.get("/settings/endpoints")
async def endpoints_page(request: Request, visitor: Reader, cursor: Place = "") -> Response:
    return await _endpoints(request, visitor, cursor=cursor)


@router.post("/settings/endpoints")
async def add_endpoint(request: Request, visitor: Writer) -> Response:
    """Adds the endpoint from the JSON body of the API; shows all problems at once."""
    text = (await form_texts(request)).get("endpoint", "")
    try:
        body = await _object(request, text)
        created = await manage_endpoints.create_endpoint(platform_of(request), visitor.org_id, body)
    except Refused as refused:
        return await _endpoints(request, visitor, refused=refused, typed=text)
    return go(f"/settings/endpoints/{created.endpoint.id}", f"The endpoint {created.endpoint.name} is added.")


@router.get("/settings/endpoints/{endpoint_id}")
async def endpoint_page(endpoint_id: EndpointId, request: Request, visitor: Reader) -> Response:
    return await _endpoint(request, visitor, endpoint_id)


@router.post("/settings/endpoints/{endpoint_id}/discover")
async def discover(endpoint_id: EndpointId, request: Request, visitor: Writer) -> Response:
    """Discovers the tools of the endpoint again, and shows their drift."""
    accept = (await form_texts(request)).get("accept") == "yes"
    body: JsonObject = {"accept": accept}
    platform = platform_of(request)
    try:
        done = await manage_endpoints.discover_tools(platform, visitor.org_id, endpoint_id, body)
    except OdysseyError as error:
        return await _endpoint(request, visitor, endpoint_id, refusal=error.message)
    found, endpoint = done.endpoint, done.endpoint.endpoint
    if endpoint.discovery_error is not None:
        return await _endpoint(request, visitor, endpoint_id)
    drift = f", {found.drifted} of them drifted" if found.drifted else ""
    return go(f"/settings/endpoints/{endpoint_id}", f"{endpoint.name} answers: {found.tools} tools{drift}.")


@router.post("/settings/endpoints/{endpoint_id}/delete")
async def delete_endpoint(endpoint_id: EndpointId, request: Request, visitor: Writer) -> Response:
    try:
        await manage_endpoints.delete_endpoint(platform_of(request), visitor.org_id, endpoint_id)
    except EndpointBound as error:
        return await _endpoint(request, visitor, endpoint_id, refusal=error.message)
    return go("/settings/endpoints", "The endpoint and its tools are deleted.")


async def _endpoints(
    request: Request, visitor: Visitor, *, cursor: str = "", refused: Refused | None = None, typed: str = ""
) -> Response:
    before_id = id_cursor(cursor or None)

    def read(connection: Connection) -> tuple[list[CountedEndpoint], list[int], int | None]:
        found = endpoints_of_org(connection, visitor.org_id, limit=SHOWN, before_id=before_id)
        bound = [len(agents_bound_to(connection, each.endpoint.id)) for each in found.items]
        return found.items, bound, found.last_id

    endpoints, bound, last_id = await platform_of(request).database.read(read)
    rows = [each.as_json() | {"agents": number} for each, number in zip(endpoints, bound, strict=True)]
    return await settings_page(
        request,
        visitor,
        "settings_endpoints.html",
        "endpoints",
        status=422 if refused is not None else 200,
        endpoints=rows,
        more=f"/settings/endpoints?cursor={encode_cursor(str(last_id))}" if last_id is not None else None,
        back="/settings/endpoints" if cursor else None,
        problems=refused.problems if refused is not None else [],
        typed=typed,
    )


async def _endpoint(request: Request, visitor: Visitor, endpoint_id: str, *, refusal: str = "") -> Response:
    platform = platform_of(request)
    found = await manage_endpoints.find_counted(platform, visitor.org_id, endpoint_id)

    def read(connection: Connection) -> tuple[list[StoredTool], list[BoundAgent], bool]:
        tools = tools_of_endpoint(connection, endpoint_id, limit=MOST_TOOLS, after_id=None)
        return tools.items, agents_bound_to(connection, endpoint_id), tools.last_id is not None

    tools, agents, is_more = await platform.database.read(read)
    return await settings_page(
        request,
        visitor,
        "settings_endpoint.html",
        "endpoints",
        status=422 if refusal else 200,
        endpoint=found.as_json(),
        tools=[tool.as_json() for tool in tools],
        has_more_tools=is_more,
        agents=agents,
        refusal=refusal,
    )


# Cassettes


@router.get("/settings/cassettes")
async def cassettes_page(request: Request, visitor: Reader, cursor: Place = "") -> Response:
    return await _cassettes(request, visitor, cursor=cursor)


@router.post("/settings/cassettes/import")
async def import_cassette(request: Request, visitor: Writer) -> Response:
    form = await read_form(request)
    file, name = form.get("file"), str(form.get("name", "")).strip()
    try:
        if not isinstance(file, UploadFile) or not file.filename:
            raise Refused([Problem(path="/file", message="choose a JSON Lines file")], "the cassette")
        if file.size is None or file.size > MAX_BYTES:
            message = f"is over {MAX_BYTES // (1024 * 1024)} MiB"
            raise Refused([Problem(path="/file", message=message)], "the cassette")
        name = name or file.filename.removesuffix(".jsonl")
        imported = await manage_cassettes.import_cassette(
            platform_of(request), visitor.org_id, name, file.file
        )
    except TookTooMuch as error:
        raise unreadable(error) from None
    except Refused as refused:
        return await _cassettes(request, visitor, refused=refused, name=name)
    return go("/settings/cassettes", f"{imported.name} has {imported.calls} calls.")


@router.get("/settings/cassettes/{name}/export")
async def export_cassette(name: Name, request: Request, visitor: Reader) -> Response:
    platform = platform_of(request)
    cassette = await manage_cassettes.find_cassette(platform, visitor.org_id, name)
    return await as_download(platform, cassette)


@router.post("/settings/cassettes/{name}/verify")
async def verify(name: Name, request: Request, visitor: Writer) -> Response:
    """Repeats the recorded calls of read-only tools on the live endpoints."""
    platform = platform_of(request)
    live_hops: LiveHops = request.app.state.live_hops
    cassette = await manage_cassettes.find_cassette(platform, visitor.org_id, name)
    report = (await verify_cassette(platform, live_hops.ask, visitor.org_id, name, {})).as_json()
    return await settings_page(
        request, visitor, "settings_verified.html", "cassettes", cassette=cassette, report=report
    )


@router.post("/settings/cassettes/{name}/delete")
async def delete_cassette(name: Name, request: Request, visitor: Writer) -> Response:
    await manage_cassettes.delete_cassette(platform_of(request), visitor.org_id, name)
    return go("/settings/cassettes", f"{name} is deleted.")


async def _cassettes(
    request: Request, visitor: Visitor, *, cursor: str = "", refused: Refused | None = None, name: str = ""
) -> Response:
    found, last_id = await _listed(platform_of(request), visitor.org_id, id_cursor(cursor or None))
    return await settings_page(
        request,
        visitor,
        "settings_cassettes.html",
        "cassettes",
        status=422 if refused is not None else 200,
        cassettes=found,
        more=f"/settings/cassettes?cursor={encode_cursor(str(last_id))}" if last_id is not None else None,
        back="/settings/cassettes" if cursor else None,
        problems=refused.problems if refused is not None else [],
        name=name,
    )


async def _listed(
    platform: Platform, org_id: int, before_id: int | None
) -> tuple[list[Cassette], int | None]:
    found = await platform.database.read(
        lambda connection: cassettes_of_org(connection, org_id, limit=SHOWN, before_id=before_id)
    )
    return found.items, found.last_id


async def _object(request: Request, text: str) -> JsonObject:
    value = await read_json_text(request, text, "")
    if not isinstance(value, dict):
        raise Refused([Problem(path="", message="must be a JSON object")], "the endpoint")
    return value
