"""The eval library: its scenarios, with every version they had, and the variations they are run under."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.params import Path as PathParam

from pipelines.core.text.json_text import JsonObject
from pipelines.engine.evals import edit_scenarios
from pipelines.server.api.common import (
    MAX_ID,
    Contributor,
    Cursor,
    Limit,
    OptionalId,
    Ours,
    Viewer,
    answer,
    answer_page,
    cursor_number,
    decode_cursor,
    encode_cursor,
    id_cursor,
    json_body,
    read_json,
    read_json_object,
)
from pipelines.server.api.schemas import bodies
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals.eval_scenarios import scenarios_of_org, versions_of_scenario
from pipelines.storage.evals.review_marks import MarkKind, marked_scenarios, marks_of_scenarios

router = APIRouter(prefix="/api/v1/eval", tags=["eval library"])
TextId = Annotated[str, PathParam(min_length=1, max_length=80)]
RiskLevel = Literal["low", "medium", "high", "critical"]


@router.post("/scenarios", status_code=201, openapi_extra=json_body(bodies.SCENARIO))
async def create_scenario(request: Request, platform: Ours, key: Contributor) -> Response:
    """A new scenario: given this input, the agent should produce this behaviour."""
    stored = await edit_scenarios.create_scenario(platform, key.org_id, await read_json(request))
    return answer(stored.as_json(), 201)


@router.get("/scenarios")
async def list_scenarios(
    platform: Ours,
    key: Viewer,
    risk_level: RiskLevel | None = None,
    agent_id: OptionalId = None,
    name: Annotated[str | None, Query(max_length=255, description="the whole name")] = None,
    marked: Annotated[MarkKind | None, Query(description="what reviewers decided about it")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's scenarios at their current versions, newest first."""
    before_id = id_cursor(cursor)
    filters = [
        Filter("org_id", key.org_id),
        Filter("risk_level", risk_level),
        Filter("agent_id", agent_id),
        Filter("name", name),
    ]
    page = await platform.database.read(
        lambda connection: scenarios_of_org(
            connection,
            filters=filters,
            limit=limit,
            before_id=before_id,
            where=marked_scenarios(marked) if marked is not None else None,
        )
    )
    return answer_page(page)


@router.get("/scenarios/{scenario_id}")
async def get_scenario(
    scenario_id: TextId,
    platform: Ours,
    key: Viewer,
    version: Annotated[int | None, Query(ge=1, le=MAX_ID, description="left out: the current one")] = None,
) -> Response:
    """The scenario, the versions it had, and what reviewers decided about it.

    One that was deleted answers only by version.
    """
    stored = await edit_scenarios.find_scenario(platform, key.org_id, scenario_id, version)
    versions, marks = await platform.database.read(
        lambda connection: (
            versions_of_scenario(connection, scenario_id),
            marks_of_scenarios(connection, org_id=key.org_id, scenario_ids=[scenario_id]),
        )
    )
    listed: JsonObject = {
        "versions": [{"version": number, "created_at": created_at} for number, created_at in versions]
    }
    listed |= {"marks": [mark.as_json() for mark in marks]}
    return answer(stored.as_json() | listed)


@router.put("/scenarios/{scenario_id}", openapi_extra=json_body(bodies.SCENARIO_CHANGE))
async def change_scenario(
    scenario_id: TextId, request: Request, platform: Ours, key: Contributor
) -> Response:
    """A new version: the fields given replace the old ones, null takes one away, the others stay.

    Runs keep the version they were asked by. With `version` in the body, 409 where that is not current.
    """
    body = await read_json_object(request)
    stored = await edit_scenarios.change_scenario(platform, key.org_id, scenario_id, body)
    return answer(stored.as_json())


@router.delete("/scenarios/{scenario_id}", status_code=204, response_class=Response)
async def delete_scenario(scenario_id: TextId, platform: Ours, key: Contributor) -> Response:
    """Hide a scenario from lists and new matrices; its runs and their versions stay.

    409 for one that reviewers pinned as a regression: its review has to be opened again first.
    """
    await edit_scenarios.delete_scenario(platform, key.org_id, scenario_id)
    return Response(status_code=204)


@router.get("/variations")
async def list_variations(platform: Ours, key: Viewer, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """The built-in ones, then the org's own, each with its wordings and their hashes."""
    after = cursor_number(decode_cursor(cursor)) if cursor is not None else 0
    known = list((await edit_scenarios.known_variations(platform, key.org_id)).values())
    following = encode_cursor(str(after + limit)) if after + limit < len(known) else None
    listed = [variation.as_shown() for variation in known[after : after + limit]]
    return answer({"items": listed, "next_cursor": following})


@router.post("/variations", status_code=201, openapi_extra=json_body(bodies.VARIATION))
async def create_variation(request: Request, platform: Ours, key: Contributor) -> Response:
    """A variation of one's own. Under an id that was used before it is the next version of it."""
    variation = await edit_scenarios.create_variation(platform, key.org_id, await read_json(request))
    return answer(variation.as_shown(), 201)


@router.get("/variations/{variation_id}")
async def get_variation(variation_id: TextId, platform: Ours, key: Viewer) -> Response:
    """The variation at its newest version."""
    return answer((await edit_scenarios.find_variation(platform, key.org_id, variation_id)).as_shown())
