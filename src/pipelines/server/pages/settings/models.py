"""/settings/models: the models that the server asks, their costs, and single exchanges."""

from typing import Any

from fastapi import APIRouter, Request, Response

from pipelines.core.models.model_question import Purpose
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_run
from pipelines.engine.models import list_models
from pipelines.engine.models.model_costs import costs_of_run
from pipelines.engine.reports import read_exchanges
from pipelines.server.api.common import Cursor, Id, encode_cursor, id_cursor, platform_of
from pipelines.server.config.model_settings import named_by
from pipelines.server.pages.page import page
from pipelines.server.pages.settings.settings import problems_at, settings_of, settings_page
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts
from pipelines.storage.runs.model_exchanges import MOST_COUNTED, costs_of_org
from pipelines.wire.errors import OdysseyError

router = APIRouter()
SHOWN = 100
#: Larger answers are shown unparsed, because parsing them would block other requests.
MOST_READ = 64 * 1024


@router.get("/settings/models")
async def models_page(request: Request, visitor: Reader) -> Response:
    return await _models(request, visitor)


@router.post("/settings/models/test")
async def try_model(request: Request, visitor: Writer) -> Response:
    form = await form_texts(request)
    named = form.get("model", "").strip()
    body: JsonObject = {"purpose": form.get("purpose", "judge")}
    body |= {"model": named} if named else {}
    try:
        tried = await list_models.try_model(platform_of(request), visitor.org_id, body)
    except Refused as refused:
        return await _models(request, visitor, refused=refused, named=named)
    except OdysseyError as error:
        problem = Problem(path="/model", message=error.message)
        return await _models(request, visitor, refused=Refused([problem]), named=named)
    return await _models(request, visitor, tried=tried, named=named)


async def _models(
    request: Request,
    visitor: Visitor,
    *,
    tried: JsonObject | None = None,
    refused: Refused | None = None,
    named: str = "",
) -> Response:
    platform = platform_of(request)
    known = await list_models.list_models(platform, visitor.org_id, named_by(settings_of(request)))
    costs = await platform.database.read(lambda connection: costs_of_org(connection, visitor.org_id))
    return await settings_page(
        request,
        visitor,
        "settings_models.html",
        "models",
        status=422 if refused is not None else 200,
        known=known,
        costs=costs,
        most_counted=MOST_COUNTED,
        purposes=[(purpose.value, purpose.value) for purpose in Purpose],
        tried=tried,
        named=named,
        problems=problems_at(refused, "model"),
    )


@router.get("/settings/models/exchanges/{exchange_id}")
async def exchange_page(exchange_id: Id, request: Request, visitor: Reader) -> Response:
    """Any exchange, also one that belongs to no run."""
    return await _exchange(request, visitor, exchange_id)


@router.get("/runs/{run_id}/exchanges")
async def run_exchanges_page(
    run_id: Id, request: Request, visitor: Reader, cursor: Cursor = None
) -> Response:
    platform = platform_of(request)
    run = await find_run(platform, visitor.org_id, run_id)
    found = await read_exchanges.exchanges_of_run(
        platform, visitor.org_id, run_id, limit=SHOWN, before_id=id_cursor(cursor)
    )
    older = encode_cursor(str(found.last_id)) if found.last_id is not None else None
    return await page(
        request,
        visitor,
        "run_exchanges.html",
        title="Exchanges with models",
        here="runs",
        trail=[("Runs", "/runs"), (f"Run {run_id}", f"/runs/{run_id}")],
        run_id=run_id,
        exchanges=[exchange.as_json() for exchange in found.items],
        costs=await costs_of_run(platform, run),
        older=f"/runs/{run_id}/exchanges?cursor={older}" if older is not None else None,
        newest=f"/runs/{run_id}/exchanges" if cursor is not None else None,
    )


async def _exchange(request: Request, visitor: Visitor, exchange_id: int) -> Response:
    exchange = await read_exchanges.read_exchange(platform_of(request), visitor.org_id, exchange_id)
    run_id = exchange["run_id"]
    trail = [("Settings", "/settings"), ("Models", "/settings/models")]
    if run_id is not None:
        trail = [
            ("Runs", "/runs"),
            (f"Run {run_id}", f"/runs/{run_id}"),
            ("Exchanges", f"/runs/{run_id}/exchanges"),
        ]
    return await page(
        request,
        visitor,
        "exchange.html",
        title=f"Exchange {exchange_id}",
        here="runs" if run_id is not None else "settings",
        trail=trail,
        exchange=exchange,
        request_=exchange["request"],
        **_answer(exchange["answer"]),
    )


def _answer(text: Json) -> dict[str, Any]:
    """The answer parsed as JSON if it is JSON, else as text."""
    if not isinstance(text, str) or len(text) > MOST_READ:
        return {"answer": text, "is_read": False}
    try:
        return {"answer": loads(text), "is_read": True}
    except InvalidJson:
        return {"answer": text, "is_read": False}
