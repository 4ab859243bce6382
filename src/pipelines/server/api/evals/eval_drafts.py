"""Drafts: scenarios that telemetry suggests, for a person to correct, adopt or dismiss."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.params import Path as PathParam

from pipelines.core.text.json_text import JsonObject
from pipelines.engine.evals import draft_scenarios
from pipelines.engine.evals.draft_scenarios import MOST_LOOKBACK_HOURS, MOST_SCENARIOS
from pipelines.server.api.common import (
    Contributor,
    Cursor,
    Limit,
    Ours,
    Viewer,
    answer,
    answer_page,
    id_cursor,
    json_body,
    read_optional_object,
)
from pipelines.storage.evals import drafts

router = APIRouter(prefix="/api/v1/eval", tags=["eval library"])
DraftId = Annotated[str, PathParam(description="drf_…", max_length=100)]
_WANTED: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "device_id": {"type": "string", "minLength": 1, "maxLength": 500},
        "lookback_hours": {"type": "integer", "minimum": 1, "maximum": MOST_LOOKBACK_HOURS},
        "max_scenarios": {"type": "integer", "minimum": 1, "maximum": MOST_SCENARIOS},
    },
}
_CORRECTIONS: JsonObject = {
    "type": "object",
    "description": "fields of the scenario, in place of the draft's",
}


@router.post("/scenarios/auto-generate", openapi_extra=json_body(_WANTED, required=False))
async def auto_generate(request: Request, platform: Ours, key: Contributor) -> Response:
    """Look through recent skill spans for decisions that recur, where an input decides, and what is rare.

    Answers with drafts and their confidence, and with what was looked at. A second look adds nothing.
    """
    body = await read_optional_object(request)
    masks_ips = request.app.state.masks_ips
    return answer(await draft_scenarios.draft_scenarios(platform, key.org_id, body, masks_ips=masks_ips))


@router.get("/drafts")
async def list_drafts(
    platform: Ours,
    key: Viewer,
    status: Annotated[Literal["draft", "adopted", "dismissed"] | None, Query()] = None,
    kind: Annotated[Literal["recurring", "decision_point", "edge_case"] | None, Query()] = None,
    skill: Annotated[str | None, Query(max_length=200)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's drafts, newest first. The scenario itself is on the draft."""
    before_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: drafts.drafts_of_org(
            connection, key.org_id, status=status, kind=kind, skill=skill, limit=limit, before_id=before_id
        )
    )
    return answer_page(page)


@router.get("/drafts/{draft_id}")
async def get_draft(draft_id: DraftId, platform: Ours, key: Viewer) -> Response:
    """One draft: its scenario, how sure it is, and from which spans it comes."""
    return answer((await draft_scenarios.find_draft(platform, key.org_id, draft_id)).as_json())


@router.post(
    "/drafts/{draft_id}/adopt", status_code=201, openapi_extra=json_body(_CORRECTIONS, required=False)
)
async def adopt_draft(draft_id: DraftId, request: Request, platform: Ours, key: Contributor) -> Response:
    """Make a scenario of a draft, with corrections if need be; the draft says which it became."""
    corrections = await read_optional_object(request)
    return answer(await draft_scenarios.adopt_draft(platform, key.org_id, draft_id, corrections), 201)


@router.post("/drafts/{draft_id}/dismiss")
async def dismiss_draft(draft_id: DraftId, platform: Ours, key: Contributor) -> Response:
    """Decide against a draft: it does not come back with the next look."""
    return answer((await draft_scenarios.dismiss_draft(platform, key.org_id, draft_id)).as_json())
