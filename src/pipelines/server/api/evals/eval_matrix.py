"""The test matrix, every scenario under every variation: started, watched, stopped, resumed, reported."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from pipelines.core.evals.matrix.matrix_request import read_matrix
from pipelines.engine.evals import start_matrix
from pipelines.engine.evals.score_matrix import MatrixReports
from pipelines.engine.find import find_matrix
from pipelines.server.api.common import (
    Contributor,
    Cursor,
    Limit,
    OptionalId,
    Ours,
    Runner,
    Viewer,
    answer,
    answer_page,
    at_once,
    id_cursor,
    is_still_known,
    json_body,
    read_json_object,
    read_moment,
    read_optional_object,
)
from pipelines.server.api.evals.eval_runs import Moment
from pipelines.server.api.evals.eval_scenarios import TextId
from pipelines.server.api.schemas import bodies
from pipelines.server.service.batch_watches import BatchWatches, while_welcome
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals.evals import matrices_of_org

router = APIRouter(prefix="/api/v1/eval/matrix", tags=["eval library"])


def _watches_of(request: Request) -> BatchWatches:
    watches: BatchWatches = request.app.state.matrix_watches
    return watches


def reports_of(request: Request) -> MatrixReports:
    reports: MatrixReports = request.app.state.matrix_reports
    return reports


Watches = Annotated[BatchWatches, at_once(_watches_of)]
Reports = Annotated[MatrixReports, at_once(reports_of)]


@router.post("", status_code=202, openapi_extra=json_body(bodies.MATRIX))
async def post_matrix(request: Request, platform: Ours, runner: Runner, key: Contributor) -> Response:
    """Cross scenarios with variations. Each scenario's baselines run in between, in an order of chance."""
    opened = await start_matrix.open_matrix(
        platform,
        runner,
        key.org_id,
        read_matrix(await read_json_object(request)),
        most_runs=request.app.state.eval_matrix_runs,
    )
    return answer(opened.as_json(), 202)


@router.get("")
async def list_matrices(
    platform: Ours,
    key: Viewer,
    kind: Literal["matrix", "run"] | None = None,
    status: Literal["running", "completed", "cancelled", "budget_exceeded"] | None = None,
    agent_id: OptionalId = None,
    since: Moment = None,
    until: Moment = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's matrices, newest first; runs of one scenario asked for by themselves have the kind `run`."""
    before_id = id_cursor(cursor)
    filters = [
        Filter("org_id", key.org_id),
        Filter("kind", kind),
        Filter("status", status),
        Filter("agent_id", agent_id),
        Filter("created_at", read_moment("since", since), ">="),
        Filter("created_at", read_moment("until", until), "<"),
    ]
    page = await platform.database.read(
        lambda connection: matrices_of_org(connection, filters=filters, limit=limit, before_id=before_id)
    )
    return answer_page(page)


@router.get("/{matrix_id}")
async def get_matrix(matrix_id: TextId, reports: Reports, key: Viewer) -> Response:
    """The report: cells, columns and scenarios with their numbers; while it runs, from what there is."""
    parts = await reports.report(key.org_id, matrix_id)
    return StreamingResponse(_encoded(parts), media_type="application/json")


@router.get("/{matrix_id}/events", responses=bodies.EVENTS)
async def get_events(
    matrix_id: TextId, request: Request, platform: Ours, watches: Watches, key: Viewer
) -> Response:
    """Progress as server-sent events: one `progress` at each change, `end` with the last."""
    matrix = await find_matrix(platform, key.org_id, matrix_id)
    return StreamingResponse(
        while_welcome(watches.events(key.org_id, matrix.batch_id), partial(is_still_known, request)),
        media_type="text/event-stream",
        headers={"cache-control": "no-cache"},
    )


@router.post("/{matrix_id}/cancel")
async def cancel_matrix(matrix_id: TextId, platform: Ours, runner: Runner, key: Contributor) -> Response:
    """Send nothing more and stop waiting for what was sent; what has ended stays, and is reported."""
    matrix = await start_matrix.cancel_matrix(platform, runner, key.org_id, matrix_id)
    return answer(await start_matrix.read_progress(platform, matrix))


@router.post("/{matrix_id}/resume", status_code=202, openapi_extra=json_body(bodies.BUDGET, required=False))
async def resume_matrix(
    matrix_id: TextId, request: Request, platform: Ours, runner: Runner, key: Contributor
) -> Response:
    """Go on: send what was not sent, and try again what was cancelled or interrupted.

    A budget in the body takes the place of the one before; a matrix that has spent its own needs one.
    """
    body = await read_optional_object(request)
    matrix = await start_matrix.resume_matrix(platform, runner, key.org_id, matrix_id, body)
    return answer(await start_matrix.read_progress(platform, matrix), 202)


async def _encoded(parts: AsyncIterator[str]) -> AsyncIterator[bytes]:
    async for part in parts:
        yield part.encode()
