"""Oracles made of runs: what a run proves, and a run that is accepted as right."""

from fastapi import APIRouter, Request, Response

from pipelines.engine.judging import accept_run
from pipelines.server.api.common import Contributor, Id, Ours, Viewer, answer, json_body, read_optional_object
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.api.schemas import bodies

router = APIRouter(prefix="/api/runs", tags=["runs"])


@router.get("/{run_id}/oracle")
async def get_proposed_oracle(run_id: Id, platform: Ours, key: Viewer) -> Response:
    """The oracle that an ended run proves, the run judged by it, and whether doing nothing meets it.

    Nothing is stored. 409 with the reason where no oracle can be made of the run.
    """
    return answer((await accept_run.propose_oracle(platform, key.org_id, run_id)).as_json())


@router.post("/{run_id}/oracle/accept", openapi_extra=json_body(bodies.ORACLE, required=False))
async def post_accepted(run_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Accept an ended run as right: its oracle becomes a new version of its task's, and judges the run.

    Axes in the body replace the proposed ones; null takes one away. What was the oracle before stays as an
    earlier version.
    """
    body = await read_optional_object(request)
    named = body.get("by")
    who = reviewer_of(key, named if isinstance(named, str) else None)
    return answer((await accept_run.accept_run(platform, key.org_id, run_id, who, body)).as_json())
