"""/report/{batch}: what the report of a batch will contain, and the report as a file."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines.engine.reports.report_batch import DEFAULT_MB, MOST_MB, report_contents, report_file
from pipelines.server.api.batches import report_answer
from pipelines.server.api.common import Id, platform_of
from pipelines.server.api.evals.eval_matrix import reports_of
from pipelines.server.pages.page import page
from pipelines.server.pages.visitor import Reader

router = APIRouter()
SIZES = (5, DEFAULT_MB, MOST_MB)
MaxMb = Annotated[int, Query(ge=1, le=MOST_MB)]


@router.get("/report/{batch_id}")
async def report_page(
    request: Request, visitor: Reader, batch_id: Id, max_mb: MaxMb = DEFAULT_MB
) -> Response:
    contents = await report_contents(platform_of(request), visitor.org_id, batch_id, max_mb)
    trail = [("Batches", "/batches"), (f"Batch {batch_id}", f"/batches/{batch_id}")]
    sizes = [(number, f"{number} MB") for number in sorted({*SIZES, max_mb})]
    return await page(
        request, visitor, "report.html", title="Report", here="runs", trail=trail, told=contents, sizes=sizes
    )


@router.get("/report/{batch_id}/file")
async def report_download(
    request: Request, visitor: Reader, batch_id: Id, max_mb: MaxMb = DEFAULT_MB
) -> Response:
    parts = await report_file(platform_of(request), reports_of(request), visitor.org_id, batch_id, max_mb)
    return report_answer(batch_id, parts)
