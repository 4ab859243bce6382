"""Importing recorded runs: read by a helper process, as uploads of tasks are, then stored and judged."""

from fastapi import APIRouter, Request, Response

from pipelines.core.text.json_text import InvalidJson
from pipelines.engine.batches.import_runs import import_runs
from pipelines.processes.pool import TookTooMuch
from pipelines.server.api.common import (
    Contributor,
    Ours,
    answer,
    check_is_json,
    json_body,
    read_body,
    unreadable,
)
from pipelines.server.api.schemas import bodies
from pipelines.wire.errors import InvalidJsonBody

router = APIRouter(prefix="/api/runs", tags=["runs"])
MEBIBYTE = 1024 * 1024


@router.post("/import", status_code=201, openapi_extra=json_body(bodies.IMPORT))
async def post_import(request: Request, platform: Ours, key: Contributor) -> Response:
    """Store runs that were recorded elsewhere as a batch, and judge them like live ones.

    A run is OpenAI-style messages, an ATIF trajectory, OTLP GenAI spans or an exported run, recognised by its
    shape; beside it may stand `task`, `state_before` and `state_after`.
    """
    check_is_json(request)
    body = await read_body(request, request.app.state.upload_limit_mb * MEBIBYTE)
    try:
        return answer(await import_runs(platform, key.org_id, body), 201)
    except InvalidJson as error:
        raise InvalidJsonBody(f"The body cannot be read: {error}.") from None
    except TookTooMuch as error:
        raise unreadable(error) from None
    finally:
        if not isinstance(body, bytes):
            body.close()
