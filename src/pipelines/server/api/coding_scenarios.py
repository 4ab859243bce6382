"""Coding scenarios: what coding tasks start from, how that is set up, and how a change to it is graded."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.params import Path as PathParam

from pipelines.core.coding.diff import patch_of
from pipelines.core.coding.scenario import CodingScenario
from pipelines.core.text.authored import Fields
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.coding import edit_coding_scenarios
from pipelines.engine.coding.score_workspace import grade
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
    read_json,
    read_json_object,
)
from pipelines.server.api.schemas import bodies
from pipelines.storage.database.paging import Filter
from pipelines.storage.tasks.coding import scenarios_of_org

router = APIRouter(prefix="/api/coding-scenarios", tags=["coding"])
Ref = Annotated[str, PathParam(min_length=1, max_length=200, description="its id or its name")]
MAX_SCENARIO_BYTES = 12 * 1024 * 1024
LONGEST_PATCH = 64 * 1024 * 1024


@router.post("", status_code=201, openapi_extra=json_body(bodies.CODING_SCENARIO))
async def create_coding_scenario(request: Request, platform: Ours, key: Contributor) -> Response:
    """A new coding scenario. 409 where the org has one of this name."""
    body = await read_json(request, limit=MAX_SCENARIO_BYTES)
    stored = await edit_coding_scenarios.create_scenario(platform, key.org_id, body)
    return answer(stored.as_json(), 201)


@router.get("")
async def list_coding_scenarios(
    platform: Ours,
    key: Viewer,
    name: Annotated[
        str | None, Query(max_length=128, pattern=r"^[^\x00]*$", description="only the one of this name")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's coding scenarios, newest first, in short: no files, no test files."""
    before_id = id_cursor(cursor)
    filters = [Filter("org_id", key.org_id), Filter("name", name)]
    page = await platform.database.read(
        lambda connection: scenarios_of_org(connection, filters=filters, limit=limit, before_id=before_id)
    )
    return answer_page(page)


@router.get("/{ref}")
async def get_coding_scenario(ref: Ref, platform: Ours, key: Viewer) -> Response:
    """The scenario, whole."""
    stored = await edit_coding_scenarios.find_scenario(platform, key.org_id, ref)
    return answer(stored.as_json())


@router.put("/{ref}", openapi_extra=json_body(bodies.CODING_SCENARIO))
async def replace_coding_scenario(ref: Ref, request: Request, platform: Ours, key: Contributor) -> Response:
    """The scenario replaced whole. Tasks that were made of it before keep their copies."""
    body = await read_json(request, limit=MAX_SCENARIO_BYTES)
    stored = await edit_coding_scenarios.replace_scenario(platform, key.org_id, ref, body)
    return answer(stored.as_json())


@router.delete("/{ref}", status_code=204, response_class=Response)
async def delete_coding_scenario(ref: Ref, platform: Ours, key: Contributor) -> Response:
    """Forget a scenario. Tasks that were made of it keep their copies."""
    await edit_coding_scenarios.delete_scenario(platform, key.org_id, ref)
    return Response(status_code=204)


@router.post("/{ref}/grade", openapi_extra=json_body(bodies.GRADE))
async def grade_coding_scenario(ref: Ref, request: Request, platform: Ours, key: Contributor) -> Response:
    """Grade any change by the scenario's scorers, as that of an agent would be.

    A reference must pass and no change (an empty patch) must fail, or the scenario proves nothing.
    """
    body = await read_json_object(request, limit=LONGEST_PATCH)
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("patch",))
    patch = fields.text("patch", may_be_blank=True) or ""
    if problems:
        raise Refused(problems, "the change")
    stored = await edit_coding_scenarios.find_scenario(platform, key.org_id, ref)
    scenario = CodingScenario.from_stored(stored.body())
    most = platform.workspaces.limits.diff_bytes
    graded = await grade(platform, org_id=key.org_id, scenario=scenario, diff=patch_of(patch).cut(most))
    return answer(graded.as_json() | {"diff": graded.diff.as_json()})
