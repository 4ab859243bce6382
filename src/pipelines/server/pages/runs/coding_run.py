"""/runs/{id} of a coding task: the change, the results of the scorers, and scoring it again."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response

from pipelines.engine.find import find_run
from pipelines.engine.judging.rescore import read_coding, rescore_run
from pipelines.engine.platform import Platform
from pipelines.server.api.common import Id, Ours
from pipelines.server.pages.page import forget_counts, go
from pipelines.server.pages.visitor import Reader, Writer
from pipelines.storage.runs.runs import Run
from pipelines.web.diff_view import shown_diff
from pipelines.wire.errors import Conflict, NotFound

router = APIRouter()


async def coding_context(platform: Platform, run: Run) -> dict[str, Any]:
    """The template context for the workspace of a run; None if the run has none."""
    if run.seed.coding_scenario is None:
        return {"coding": None, "change": None}
    coding = await read_coding(platform, run.org_id, run.id)
    diff = coding["diff"]
    diff_view = await asyncio.to_thread(shown_diff, diff) if diff is not None else None
    return {"coding": coding | {"scenario_ref": run.seed.scenario_ref}, "change": diff_view}


@router.post("/runs/{run_id}/rescore")
async def rescore(run_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    """Grades the stored change with the scenario's current scorers. Calls no agent."""
    before = await find_run(platform, visitor.org_id, run_id)
    try:
        after = await rescore_run(platform, visitor.org_id, run_id, None)
    except Conflict as error:
        return go(f"/runs/{run_id}", error.message)
    forget_counts(request, visitor.org_id)
    now = after.verdict or "no verdict"
    message = (
        f"{now}, as before" if before.verdict == after.verdict else f"{before.verdict or 'none'} → {now}"
    )
    return go(f"/runs/{run_id}", f"Scored again: {message}.")


@router.get("/runs/{run_id}/patch")
async def patch(run_id: Id, platform: Ours, visitor: Reader) -> Response:
    """The whole change in the format of `git apply`."""
    run = await find_run(platform, visitor.org_id, run_id)
    coding = await read_coding(platform, visitor.org_id, run_id) if run.seed.coding_scenario else None
    diff = coding["diff"] if coding is not None else None
    if not isinstance(diff, dict):
        raise NotFound(f"Run {run_id} has no change to download.")
    headers = {
        "content-disposition": f'attachment; filename="run-{run_id}.patch"',
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    return Response(str(diff["patch"]), media_type="text/plain; charset=utf-8", headers=headers)
