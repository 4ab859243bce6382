"""Models that the platform asks: which, whether they answer, and what was said."""

from fastapi import APIRouter, Request, Response

from pipelines.engine.models import list_models
from pipelines.engine.reports import read_exchanges
from pipelines.server.api.common import (
    Contributor,
    Cursor,
    Id,
    Limit,
    OptionalId,
    Ours,
    Viewer,
    answer,
    answer_page,
    id_cursor,
    json_body,
    read_optional_object,
)
from pipelines.server.api.schemas import bodies
from pipelines.server.config.model_settings import named_by

router = APIRouter(tags=["models"])


@router.get("/api/models")
async def get_models(
    request: Request, platform: Ours, key: Viewer, agent_id: OptionalId = None, dataset_id: OptionalId = None
) -> Response:
    """Which model is asked for what, where it is named, whether it has a price and a key.

    With `agent_id` and `dataset_id`, for the runs of these.
    """
    known = await list_models.list_models(
        platform,
        key.org_id,
        named_by(request.app.state.settings),
        agent_id=agent_id,
        dataset_id=dataset_id,
    )
    return answer(known)


@router.post("/api/models/test", openapi_extra=json_body(bodies.MODEL_TEST, required=False))
async def test_model(request: Request, platform: Ours, key: Contributor) -> Response:
    """Ask a model one tiny question: the one of a purpose (judge), or another by name. It is paid for."""
    body = await read_optional_object(request)
    return answer(await list_models.try_model(platform, key.org_id, body))


@router.get("/api/runs/{run_id}/exchanges")
async def list_exchanges(
    run_id: Id, platform: Ours, key: Viewer, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """What models were asked for a run, newest first, without the texts."""
    page = await read_exchanges.exchanges_of_run(
        platform, key.org_id, run_id, limit=limit, before_id=id_cursor(cursor)
    )
    return answer_page(page)


@router.get("/api/model-exchanges/{exchange_id}")
async def get_exchange(exchange_id: Id, platform: Ours, key: Viewer) -> Response:
    """One question to a model and what came of it, with all the words. Known secrets are masked."""
    return answer(await read_exchanges.read_exchange(platform, key.org_id, exchange_id))
