"""/batches/{id}/judges: compares two judge models over the runs of a batch."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.text.problems import Refused
from pipelines.engine.judging.read_judges import compare_judges, read_batch_judges
from pipelines.server.api.common import Id, platform_of
from pipelines.server.pages.page import page
from pipelines.server.pages.visitor import Reader

router = APIRouter()
JudgeName = Annotated[str, Query(max_length=600)]


@router.get("/batches/{batch_id}/judges")
async def judges_page(
    batch_id: Id, request: Request, visitor: Reader, first: JudgeName = "", second: JudgeName = ""
) -> Response:
    platform = platform_of(request)
    known = await read_batch_judges(platform, visitor.org_id, batch_id)
    found, problem = None, None
    if first and second:
        try:
            found = await compare_judges(platform, visitor.org_id, batch_id, first, second)
        except Refused as refused:
            problem = refused.problems[0].said()
    return await page(
        request,
        visitor,
        "batch_judges.html",
        title="Compare judges",
        here="batches",
        trail=[("Batches", "/batches"), (f"Batch {batch_id}", f"/batches/{batch_id}")],
        batch_id=batch_id,
        judges=known["items"],
        first=first,
        second=second,
        found=found,
        problem=problem,
    )
