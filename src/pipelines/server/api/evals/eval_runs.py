"""Eval runs: started for one scenario, listed, read with what they were told, did and should have done."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.evals.matrix.matrix_request import read_run
from pipelines.engine.evals import start_matrix
from pipelines.engine.reports import read_eval_run
from pipelines.server.api.common import (
    Contributor,
    Cursor,
    Id,
    Limit,
    OptionalId,
    Ours,
    Runner,
    Viewer,
    answer,
    answer_page,
    id_cursor,
    json_body,
    read_json_object,
    read_moment,
)
from pipelines.server.api.evals.eval_scenarios import RiskLevel
from pipelines.server.api.schemas import bodies
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals.eval_outcomes import eval_runs
from pipelines.storage.evals.evals import BASELINE
from pipelines.wire.names import RunStatus

router = APIRouter(prefix="/api/v1/eval/runs", tags=["eval library"])
OptionalText = Annotated[str | None, Query(max_length=80)]
Moment = Annotated[str | None, Query(max_length=40, description="ISO 8601, such as 2026-11-16T12:00:00Z")]


@router.post("", status_code=202, openapi_extra=json_body(bodies.EVAL_RUN))
async def post_run(request: Request, platform: Ours, runner: Runner, key: Contributor) -> Response:
    """Run one scenario: its baseline, or one variation.

    A variation without a baseline of the same versions of scenario and agent runs that too.
    """
    opened = await start_matrix.open_matrix(
        platform,
        runner,
        key.org_id,
        read_run(await read_json_object(request)),
        most_runs=request.app.state.eval_matrix_runs,
    )
    return answer(opened.as_json(), 202)


@router.get("")
async def list_runs(
    platform: Ours,
    key: Viewer,
    scenario_id: OptionalText = None,
    variation: Annotated[
        str | None, Query(max_length=80, description=f"its id; `{BASELINE}`: runs without one")
    ] = None,
    matrix_id: OptionalText = None,
    agent_id: OptionalId = None,
    status: RunStatus | None = None,
    matched: bool | None = None,
    is_flagged: bool | None = None,
    risk_level: RiskLevel | None = None,
    fingerprint: OptionalText = None,
    since: Moment = None,
    until: Moment = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's eval runs, newest first, in short. `since` and `until` are about when a run was asked for."""
    before_id = id_cursor(cursor)
    is_baseline = True if variation == BASELINE else None
    filters = [
        Filter("org_id", key.org_id),
        Filter("scenario_id", scenario_id),
        Filter("variation", variation if not is_baseline else None),
        Filter("matrix_id", matrix_id),
        Filter("agent_id", agent_id),
        Filter("status", status.value if status is not None else None),
        Filter("matched", int(matched) if matched is not None else None),
        Filter("is_flagged", int(is_flagged) if is_flagged is not None else None),
        Filter("risk_level", risk_level),
        Filter("fingerprint", fingerprint),
        Filter("created_at", read_moment("since", since), ">="),
        Filter("created_at", read_moment("until", until), "<"),
    ]
    page = await platform.database.read(
        lambda connection: eval_runs(
            connection, filters=filters, limit=limit, before_id=before_id, is_baseline=is_baseline
        )
    )
    return answer_page(page)


@router.get("/{run_id}")
async def get_run(run_id: Id, platform: Ours, key: Viewer) -> Response:
    """What the run was told, what the agent did, what it missed, and what moved from the baseline."""
    return answer(await read_eval_run.read_eval_run(platform, key.org_id, run_id))
