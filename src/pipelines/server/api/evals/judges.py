"""Judge models: who read which runs, how far people bear them out, and where two of them differ."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from pipelines.engine.judging import read_judges
from pipelines.server.api.common import Id, Ours, Viewer, answer

router = APIRouter(tags=["judges"])
JudgeName = Annotated[str, Query(min_length=1, max_length=600, description="`model@prompt version`")]


@router.get("/api/judges/calibration")
async def list_calibrations(platform: Ours, key: Viewer) -> Response:
    """Every judge model against people's verdicts on the same runs: rates, and kappa with its interval.

    `uncalibrated` under 30 runs that both decided: then there are no figures.
    """
    return answer(await read_judges.read_calibration(platform, key.org_id))


@router.get("/api/batches/{batch_id}/judges")
async def list_judges(batch_id: Id, platform: Ours, key: Viewer) -> Response:
    """The judge models that have read runs of the batch, with what that cost."""
    return answer(await read_judges.read_batch_judges(platform, key.org_id, batch_id))


@router.get("/api/batches/{batch_id}/judges/compare")
async def compare_judges(
    batch_id: Id, platform: Ours, key: Viewer, first: JudgeName, second: JudgeName
) -> Response:
    """Two judges over the runs that both read: agreement, kappa with its interval, and where they differ."""
    return answer(await read_judges.compare_judges(platform, key.org_id, batch_id, first, second))
