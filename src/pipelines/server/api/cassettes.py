"""Cassettes: recorded calls of passthrough tools, listed, exported, imported, verified, deleted."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse

from pipelines.engine.calls.live_hops import LiveHops
from pipelines.engine.endpoints import manage_cassettes
from pipelines.engine.endpoints.verify_cassette import verify_cassette as verified
from pipelines.engine.platform import Platform
from pipelines.processes.pool import TookTooMuch
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
    read_body,
    read_json_object,
    unreadable,
)
from pipelines.server.api.schemas import bodies
from pipelines.storage.agents.cassettes import MAX_BYTES, Cassette, cassettes_of_org

router = APIRouter(prefix="/api/cassettes", tags=["cassettes"])
LINES = "application/x-ndjson"
Name = Annotated[str, Path(min_length=1, max_length=128)]


@router.get("")
async def list_cassettes(platform: Ours, key: Viewer, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """The org's cassettes, newest first."""
    before_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: cassettes_of_org(connection, key.org_id, limit=limit, before_id=before_id)
    )
    return answer_page(page)


@router.get("/{name}", responses=bodies.CASSETTE_LINES)
async def export_cassette(name: Name, platform: Ours, key: Viewer) -> Response:
    """Its calls as JSON lines, in the order in which they were recorded; secrets were masked before."""
    return await as_download(platform, await manage_cassettes.find_cassette(platform, key.org_id, name))


@router.put("/{name}", openapi_extra=bodies.TAKES_CASSETTE)
async def import_cassette(name: Name, request: Request, platform: Ours, key: Contributor) -> Response:
    """Take a cassette as JSON lines, in place of what is there under this name.

    422 with the number of every line that cannot be read.
    """
    body = await read_body(request, MAX_BYTES)
    try:
        imported = await manage_cassettes.import_cassette(platform, key.org_id, name, body)
    except TookTooMuch as error:
        raise unreadable(error) from None
    finally:
        if not isinstance(body, bytes):
            body.close()
    return answer(imported)


@router.delete("/{name}", status_code=204)
async def delete_cassette(name: Name, platform: Ours, key: Contributor) -> Response:
    """Delete a cassette. Runs that replay it go on with what they hold in memory."""
    await manage_cassettes.delete_cassette(platform, key.org_id, name)
    return Response(status_code=204)


@router.post("/{name}/verify", openapi_extra=json_body(bodies.VERIFY_CASSETTE, required=False))
async def verify_cassette(name: Name, request: Request, platform: Ours, key: Contributor) -> Response:
    """Ask the live endpoints again, and report what differs from the recording, by JSONPath.

    Only tools that are known to read are called; `include_writes` calls all of them once more.
    """
    is_empty = (
        request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers
    )
    body = {} if is_empty else await read_json_object(request)
    live_hops: LiveHops = request.app.state.live_hops
    return answer(await verified(platform, live_hops.ask, key.org_id, name, body))


async def as_download(platform: Platform, cassette: Cassette) -> Response:
    """The calls of the cassette as a download, in chunks."""
    lines = _lines(platform, cassette)
    first = await anext(lines, b"")  # what is wrong at once has an answer of its own
    return StreamingResponse(
        _all(first, lines),
        media_type=LINES,
        headers={"content-disposition": f'attachment; filename="{cassette.name}.jsonl"'},
    )


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Ends without the last chunk if the rest cannot be read, so that no client takes it for the whole."""
    yield first
    async for some in rest:
        yield some


async def _lines(platform: Platform, cassette: Cassette) -> AsyncIterator[bytes]:
    async for some in manage_cassettes.calls_in_order(platform, cassette):
        yield "".join(f"{call.line}\n" for call in some).encode()
