"""Tasks of other ranges: proved, then stored as coding scenarios."""

from fastapi import APIRouter, Request, Response

from pipelines.engine.coding.edit_coding_scenarios import LARGEST_SCENARIO
from pipelines.engine.coding.import_scenario import LONGEST_PATCH, import_scenario
from pipelines.server.api.common import Contributor, Ours, answer, json_body, read_json_object
from pipelines.server.api.schemas.bodies import CODING_IMPORT

router = APIRouter(prefix="/api/coding-scenarios", tags=["coding"])
MAX_IMPORT_BYTES = LARGEST_SCENARIO + 2 * LONGEST_PATCH


@router.post("/import", openapi_extra=json_body(CODING_IMPORT))
async def import_coding_scenario(request: Request, platform: Ours, key: Contributor) -> Response:
    """Store a scenario if it is proved: its reference passes, and no change does not.

    Otherwise `id` is null and `refused` says why. It takes as long as the task itself, twice.
    """
    body = await read_json_object(request, limit=MAX_IMPORT_BYTES)
    return answer(await import_scenario(platform, key.org_id, body))
