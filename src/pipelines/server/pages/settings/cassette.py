"""/settings/cassettes/NAME: the recorded calls of a cassette, to read and to search."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request, Response

from pipelines.core.calls.cassette import RecordedCall
from pipelines.engine.endpoints import manage_cassettes
from pipelines.server.api.common import MAX_ID, platform_of
from pipelines.server.pages.settings.settings import settings_page
from pipelines.server.pages.visitor import Reader

router = APIRouter()
CALLS = 50
Name = Annotated[str, Path(min_length=1, max_length=128)]


@router.get("/settings/cassettes/{name}")
async def cassette_page(
    name: Name,
    request: Request,
    visitor: Reader,
    q: Annotated[str, Query(max_length=200)] = "",
    after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> Response:
    platform = platform_of(request)
    cassette = await manage_cassettes.find_cassette(platform, visitor.org_id, name)
    found = await manage_cassettes.read_calls(platform, cassette, words=q.strip(), after_id=after, most=CALLS)
    more = urlencode({"q": q.strip(), "after": str(found.last_id)}) if found.last_id is not None else None
    return await settings_page(
        request,
        visitor,
        "settings_cassette.html",
        "cassettes",
        cassette=cassette,
        calls=[_shown(call) for call in found.calls],
        searched=found.searched,
        q=q.strip(),
        after=after,
        more=more,
    )


def _shown(call: RecordedCall) -> dict[str, Any]:
    return {
        "tool": call.tool,
        "occurrence": call.occurrence,
        "status": call.status,
        "arguments": call.arguments,
        "response": call.response,
        "failure": call.failure,
        "endpoint": call.endpoint,
        "endpoint_tool": call.endpoint_tool,
        "recorded_at": call.recorded_at,
        "notes": call.notes,
        "is_masked": call.is_masked,
    }
