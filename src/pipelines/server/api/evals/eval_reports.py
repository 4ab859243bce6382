"""What people read off the eval library: heatmaps as files, two matrices compared, the summary."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from pipelines.core.evals.heatmap.heatmap_style import POLICY
from pipelines.engine.evals import export_reports
from pipelines.engine.evals.export_reports import SummaryFilters
from pipelines.server.api.common import MAX_ID, OptionalId, Ours, Viewer, answer, read_moment
from pipelines.server.api.evals.eval_matrix import Reports
from pipelines.server.api.evals.eval_runs import Moment, OptionalText
from pipelines.server.api.evals.eval_scenarios import RiskLevel, TextId
from pipelines.storage.evals.evals import BASELINE

router = APIRouter(prefix="/api/v1/eval", tags=["eval library"])
MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}
#: Names in the file come from users. This policy prevents them from running or loading anything.
POLICIES = {"html": POLICY, "svg": "default-src 'none'; style-src 'unsafe-inline'"}
FILES: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}}
}


@router.get("/matrix/{matrix_id}/heatmap.{format}", responses=FILES)
async def get_heatmap(
    matrix_id: TextId,
    format: Literal["json", "csv", "svg", "html"],
    platform: Ours,
    reports: Reports,
    key: Viewer,
) -> Response:
    """Every scenario under every variation, in colours by shift; while the matrix runs, from what there is.

    The HTML is one file that works from disk, with details of each cell.
    """
    parts = await export_reports.draw_heatmap(platform, reports, key.org_id, matrix_id, format)
    headers = {
        "content-length": str(sum(map(len, parts))),
        "x-content-type-options": "nosniff",
        "content-disposition": f'inline; filename="heatmap-{_file_name(matrix_id)}.{format}"',
    }
    if format in POLICIES:
        headers["content-security-policy"] = POLICIES[format]
    return StreamingResponse(_each(parts), media_type=MEDIA_TYPES[format], headers=headers)


@router.get("/matrix/{matrix_id}/compare")
async def compare_matrices(
    matrix_id: TextId,
    platform: Ours,
    reports: Reports,
    key: Viewer,
    to: Annotated[str, Query(min_length=1, max_length=80, description="the later matrix")],
) -> Response:
    """What flipped from this matrix to another: same scenario, same variation; with the paired test."""
    found = await export_reports.compare_matrices(platform, reports, key.org_id, matrix_id, to)
    return Response(found, media_type="application/json")


@router.get("/summary")
async def get_summary(
    platform: Ours,
    key: Viewer,
    since: Moment = None,
    until: Moment = None,
    scenario_id: OptionalText = None,
    variation: Annotated[
        str | None, Query(max_length=80, description=f"its id; `{BASELINE}`: runs without one")
    ] = None,
    risk_level: RiskLevel | None = None,
    agent_id: OptionalId = None,
    agent_version: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    matrix_id: OptionalText = None,
    fingerprint: OptionalText = None,
) -> Response:
    """Match rates, shift distribution and flagged count; by scenario, variation, risk, agent version and day.

    `since` and `until` are about when a run ended.
    """
    filters = SummaryFilters(
        since=read_moment("since", since),
        until=read_moment("until", until),
        scenario_id=scenario_id,
        variation=variation,
        risk_level=risk_level,
        agent_id=agent_id,
        agent_version=agent_version,
        matrix_id=matrix_id,
        fingerprint=fingerprint,
    )
    return answer(await export_reports.summarize_evals(platform, key.org_id, filters))


def _file_name(matrix_id: str) -> str:
    """The file name for the header. Only safe characters of the id are used."""
    return "".join(character for character in matrix_id if character.isascii() and character.isalnum())


async def _each(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
