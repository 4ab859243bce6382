"""Batches: their progress, stopping, resuming, judging again, comparing, exporting."""

import csv
import io
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.engine.batches import open_batch
from pipelines.engine.find import find_batch
from pipelines.engine.judging import rejudge_runs, rescore
from pipelines.engine.models.model_costs import costs_of_batch
from pipelines.engine.platform import Platform
from pipelines.engine.reports import report_batch
from pipelines.engine.reports.compare_batches import compare_batches as compared_batches
from pipelines.engine.reports.report_batch import DEFAULT_MB, MOST_MB
from pipelines.server.api.common import (
    MAX_ID,
    MAX_PAGE,
    Contributor,
    Cursor,
    Id,
    JudgedBy,
    Limit,
    OptionalId,
    Ours,
    Runner,
    Viewer,
    answer,
    answer_page,
    at_once,
    encode_cursor,
    id_cursor,
    is_still_known,
    json_body,
    read_optional_object,
    read_page,
)
from pipelines.server.api.evals.eval_matrix import Reports
from pipelines.server.api.schemas import bodies
from pipelines.server.service.batch_watches import BatchWatches, while_welcome
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Filter
from pipelines.storage.lists.summaries import instructions_of_tasks
from pipelines.storage.runs.batches import batches_of_org
from pipelines.storage.runs.runs import runs_of_org

router = APIRouter(prefix="/api/batches", tags=["batches"])
EXPORT_PAGE = 200  # runs in memory at once while a batch is exported
EXPORTED = (
    "id",
    "task_id",
    "task_key",
    "repeat_number",
    "retried",
    "status",
    "verdict",
    "failure_mode",
    "pending_reason",
    "unverified",
    "error_class",
    "final_response",
)


def _watches_of(request: Request) -> BatchWatches:
    watches: BatchWatches = request.app.state.watches
    return watches


REPORT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/html": {}}}}
MaxMb = Annotated[int, Query(ge=1, le=MOST_MB, description="megabytes that the file may have")]
Watches = Annotated[BatchWatches, at_once(_watches_of)]


@router.get("")
async def list_batches(
    platform: Ours, key: Viewer, agent_id: OptionalId = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The org's batches, newest first."""
    before_id = id_cursor(cursor)
    page = await read_page(
        platform,
        lambda connection: batches_of_org(
            connection, key.org_id, agent_id=agent_id, limit=limit, before_id=before_id
        ),
        limit,
        ("batches", key.org_id),
    )
    return answer_page(page)


@router.get("/{batch_id}")
async def get_batch(
    batch_id: Id,
    platform: Ours,
    key: Viewer,
    costs: Annotated[bool, Query(description="false: without them, for those who ask often")] = True,
) -> Response:
    """The batch, its counts by status and verdict, the pass rate with its interval, pass^k, and its costs."""
    batch = await open_batch.read_batch(platform, key.org_id, batch_id)
    costs_by_part = await costs_of_batch(platform, batch_id) if costs else None
    return answer(batch | {"costs": costs_by_part})


@router.get("/{batch_id}/events", responses=bodies.EVENTS)
async def get_events(
    batch_id: Id, request: Request, platform: Ours, watches: Watches, key: Viewer
) -> Response:
    """Progress as server-sent events: one `progress` at each change, `end` with the last."""
    await find_batch(platform, key.org_id, batch_id)
    return StreamingResponse(
        while_welcome(watches.events(key.org_id, batch_id), partial(is_still_known, request)),
        media_type="text/event-stream",
        headers={"cache-control": "no-cache"},
    )


@router.post("/{batch_id}/cancel")
async def cancel_batch(batch_id: Id, platform: Ours, runner: Runner, key: Contributor) -> Response:
    """Send nothing more and stop waiting for what was sent."""
    batch = await open_batch.cancel_batch(platform, runner, key.org_id, batch_id)
    return answer(batch.as_json())


@router.post("/{batch_id}/resume", openapi_extra=json_body(bodies.BUDGET, required=False))
async def resume_batch(
    batch_id: Id, request: Request, platform: Ours, runner: Runner, key: Contributor
) -> Response:
    """Go on: send what was not sent, and make a new attempt at what was cancelled or interrupted.

    A budget in the body takes the place of the one before; a batch that has spent its own needs one.
    """
    body = await read_optional_object(request)
    batch = await open_batch.resume_batch(platform, runner, key.org_id, batch_id, body)
    return answer(batch.as_json(), 202)


@router.post("/{batch_id}/judge", openapi_extra=json_body(bodies.REJUDGE, required=False))
async def judge_batch(
    batch_id: Id,
    request: Request,
    platform: Ours,
    key: Contributor,
    oracle: JudgedBy = "own",
    limit: Annotated[int | None, Query(ge=1, le=MAX_PAGE, description="runs in this call; all")] = None,
    cursor: Cursor = None,
) -> Response:
    """Judge every ended run anew, by its own oracle or its task's present one; nothing is sent to the agent.

    What evidence leaves open is read by the judge model, the server's or the `model` in the body. Says which
    verdicts changed; with `limit`, a part at a time. Verdicts before stay as history.
    """
    by = rejudge_runs.read_rejudge(await read_optional_object(request), by_present_oracle=oracle == "present")
    done = await rejudge_runs.rejudge_batch(
        platform, key.org_id, batch_id, by, after_id=id_cursor(cursor), limit=limit
    )
    place = encode_cursor(str(done.last_id)) if done.last_id is not None else None
    return answer(done.report | {"next_cursor": place})


@router.post("/{batch_id}/rescore", openapi_extra=json_body(bodies.RESCORE, required=False))
async def rescore_batch(
    batch_id: Id,
    request: Request,
    platform: Ours,
    key: Contributor,
    limit: Annotated[int | None, Query(ge=1, le=MAX_PAGE)] = None,
    cursor: Cursor = None,
) -> Response:
    """Grade the changes that the batch's coding runs left, again, without their agent.

    By the scorers of the body, else by those that the scenarios have now. Says which verdicts changed; with
    `limit`, a part at a time.
    """
    scorers = rescore.read_rescore(await read_optional_object(request))
    done = await rescore.rescore_batch(
        platform, key.org_id, batch_id, scorers, after_id=id_cursor(cursor), limit=limit
    )
    place = encode_cursor(str(done.last_id)) if done.last_id is not None else None
    return answer(done.report | {"next_cursor": place})


@router.get("/{batch_id}/compare")
async def compare_batches(
    batch_id: Id,
    platform: Ours,
    key: Viewer,
    to: Annotated[int, Query(ge=1, le=MAX_ID, description="the later batch")],
) -> Response:
    """What flipped from this batch to another: task by task (`tasks`, failures first), run by run (`flips`).

    Tasks are paired by `task_key`, over uploads; a task that was changed, or has another oracle, says so.
    """
    return answer(await compared_batches(platform, key.org_id, batch_id, to))


@router.get("/{batch_id}/export", responses=bodies.EXPORT)
async def export_batch(
    batch_id: Id, platform: Ours, key: Viewer, format: Annotated[Literal["csv", "json"], Query()] = "json"
) -> Response:
    """Every run with its verdict, in the order of their ids."""
    return await exported_batch(platform, key.org_id, batch_id, format)


async def exported_batch(
    platform: Platform, org_id: int, batch_id: int, format: Literal["csv", "json"]
) -> StreamingResponse:
    await find_batch(platform, org_id, batch_id)
    pages = _pages(platform, [Filter("org_id", org_id), Filter("batch_id", batch_id)])
    if format == "json":
        return StreamingResponse(_as_json(pages), media_type="application/json")
    name = f'attachment; filename="batch-{batch_id}.csv"'
    return StreamingResponse(_as_csv(pages), headers={"content-disposition": name}, media_type="text/csv")


@router.get("/{batch_id}/report/contents")
async def get_report_contents(
    batch_id: Id, platform: Ours, key: Viewer, max_mb: MaxMb = DEFAULT_MB
) -> Response:
    """What a report of the batch would hold, and how large it would be: to be read before it is asked for."""
    return answer(await report_batch.report_contents(platform, key.org_id, batch_id, max_mb))


@router.get("/{batch_id}/report", responses=REPORT)
async def get_report(
    batch_id: Id, platform: Ours, reports: Reports, key: Viewer, max_mb: MaxMb = DEFAULT_MB
) -> Response:
    """The batch as one HTML file that works from disk: table, traces, a matrix' heatmap; secrets are masked.

    What does not fit into `max_mb` is left out, traces of passed runs first; the file says so.
    """
    parts = await report_batch.report_file(platform, reports, key.org_id, batch_id, max_mb)
    return report_answer(batch_id, parts)


def report_answer(batch_id: int, parts: list[bytes]) -> Response:
    """The report as a download, for the API and the pages."""
    headers = {
        "content-length": str(sum(map(len, parts))),
        "content-disposition": f'attachment; filename="batch-{batch_id}.html"',
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    return StreamingResponse(_each(parts), media_type="text/html; charset=utf-8", headers=headers)


async def _each(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def _pages(platform: Platform, filters: list[Filter]) -> AsyncIterator[list[JsonObject]]:
    """Yields the runs page by page, because a batch can have many runs with long transcripts."""
    after: int | None = None
    while True:
        items, after = await platform.database.read(partial(_exported, filters=filters, after=after))
        yield items
        if after is None:
            return


def _exported(
    connection: Connection, *, filters: list[Filter], after: int | None
) -> tuple[list[JsonObject], int | None]:
    page = runs_of_org(connection, filters=filters, limit=EXPORT_PAGE, before_id=after, newest_first=False)
    instructions = instructions_of_tasks(connection, (run.task_id for run in page.items))
    return [run.as_json() | instructions[run.task_id].as_json() for run in page.items], page.last_id


async def _as_json(pages: AsyncIterator[list[JsonObject]]) -> AsyncIterator[bytes]:
    opening = b'{"items":['
    async for page in pages:
        for run in page:
            yield opening + dumps(run)
            opening = b","
    yield b"]}" if opening == b"," else opening + b"]}"


async def _as_csv(pages: AsyncIterator[list[JsonObject]]) -> AsyncIterator[str]:
    text = io.StringIO()
    table = csv.DictWriter(text, EXPORTED, extrasaction="ignore")
    table.writeheader()
    async for page in pages:
        table.writerows(page)
        yield text.getvalue()
        text.seek(0)
        text.truncate()
