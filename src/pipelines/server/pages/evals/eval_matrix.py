"""/evals/new and /evals/{matrix}: the form for a matrix with its estimate, the heatmap, and the cells."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from pipelines.core.agents.build_label import FIELDS as LABEL_FIELDS
from pipelines.core.evals.heatmap.cell_words import cell_sentences
from pipelines.core.evals.heatmap.heatmap_page import ROW_FILTERS
from pipelines.core.evals.matrix.matrix_request import read_matrix
from pipelines.core.evals.scenarios.variation import BUILTIN, DEFAULT_INTENSITY, INTENSITIES
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.evals import start_matrix
from pipelines.engine.evals.edit_scenarios import known_variations
from pipelines.engine.evals.forecast_matrix import MatrixForecast, forecast_matrix
from pipelines.engine.evals.show_cell import read_cell
from pipelines.engine.evals.show_matrix import MatrixView
from pipelines.server.api.common import platform_of, runner_of
from pipelines.server.api.evals.eval_matrix import reports_of
from pipelines.server.api.evals.eval_reports import MEDIA_TYPES, get_heatmap
from pipelines.server.pages.evals.evals import TRAIL, Word, agent_choices, number_of, views_of
from pipelines.server.pages.form_fields import label_in
from pipelines.server.pages.page import HEADERS, go, page, part
from pipelines.server.pages.reviews.review_queue import verdict_label
from pipelines.server.pages.visitor import Reader, Visitor, Writer, read_form
from pipelines.storage.evals.eval_scenarios import names_of_scenarios, scenario_choices
from pipelines.storage.evals.reviews import review_of_matrix_cell
from pipelines.web.heatmap import trusted_table
from pipelines.wire.errors import NotFound

router = APIRouter()
MOST_LISTED = 300  # scenarios to choose from; more are only taken all together
MOST_TAKEN = 20_000
FIELDS = ("agent_id", "repeats", "baseline_repeats", "intensity", "delivery", "all", *LABEL_FIELDS)
DELIVERIES = (
    ("", "the agent's own setting"),
    ("system", "system prompt"),
    ("user", "user turn"),
    ("tool_result", "tool result"),
)


# -- the builder


@router.get("/evals/new")
async def new_page(request: Request, visitor: Writer) -> Response:
    """Initially selects what the URL says, else all scenarios and all built-in variations."""
    query = request.query_params
    chosen = {
        "agent_id": query.get("agent", ""),
        "scenarios": query.getlist("scenario"),
        "variations": query.getlist("variation") or list(BUILTIN),
        "all": "" if query.getlist("scenario") else "yes",
        "repeats": query.get("repeats", "5"),
        "baseline_repeats": "",
        "intensity": str(DEFAULT_INTENSITY),
        "delivery": "",
        "label": query.get("label", ""),
        "note": "",
    }
    return await _builder(request, visitor, chosen)


@router.post("/evals/new/forecast")
async def forecast(request: Request, visitor: Writer) -> Response:
    """The estimate for the current choices. Starts nothing."""
    chosen = _chosen(await read_form(request))
    found, problems = await _forecast(request, visitor, chosen)
    return await part(visitor, "eval_forecast.html", forecast=found, problems=problems, chosen=chosen)


@router.post("/evals/new")
async def start(request: Request, visitor: Writer) -> Response:
    form = await read_form(request)
    chosen = _chosen(form)
    if form.get("act") == "forecast":
        return await _builder(request, visitor, chosen)
    platform = platform_of(request)
    try:
        opened = await start_matrix.open_matrix(
            platform,
            runner_of(request),
            visitor.org_id,
            read_matrix(await _request_body(request, visitor, chosen)),
            most_runs=request.app.state.eval_matrix_runs,
        )
    except Refused:
        return await _builder(request, visitor, chosen, status=422)
    return go(f"/evals/{opened.matrix.matrix_id}", f"Started: {opened.runs:,} runs.")


def _chosen(form: FormData) -> dict[str, Any]:
    one = {name: str(form.get(name, "")) for name in FIELDS}
    many = {name: [str(each) for each in form.getlist(name)] for name in ("scenarios", "variations")}
    return one | many


async def _request_body(request: Request, visitor: Visitor, chosen: dict[str, Any]) -> JsonObject:
    """The body for the API. A field that is not a number stays text, so that the API reports it."""
    scenarios: list[str] = chosen["scenarios"]
    if chosen["all"]:
        read = partial(names_of_scenarios, org_id=visitor.org_id, most=MOST_TAKEN)
        scenarios = list(reversed(await platform_of(request).database.read(read)))
    numbers = {
        name: _number(chosen[name])
        for name in ("agent_id", "repeats", "baseline_repeats", "intensity")
        if chosen[name]
    }
    ids: list[Json] = [*scenarios]
    variations: list[Json] = [*chosen["variations"]]
    body: JsonObject = {"scenario_ids": ids, "variation_types": variations, **numbers}
    return body | label_in(chosen) | ({"delivery": chosen["delivery"]} if chosen["delivery"] else {})


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else text


async def _forecast(
    request: Request, visitor: Visitor, chosen: dict[str, Any]
) -> tuple[MatrixForecast | None, Sequence[Problem]]:
    try:
        body = await _request_body(request, visitor, chosen)
        most = request.app.state.eval_matrix_runs
        return await forecast_matrix(platform_of(request), visitor.org_id, body, most_runs=most), ()
    except Refused as refused:
        return None, refused.problems


async def _builder(
    request: Request, visitor: Visitor, chosen: dict[str, Any], *, status: int = 200
) -> Response:
    found, problems = await _forecast(request, visitor, chosen)
    variations = await known_variations(platform_of(request), visitor.org_id)

    read = partial(scenario_choices, org_id=visitor.org_id, most=MOST_LISTED)
    listed, total = await platform_of(request).database.read(read)
    return await page(
        request,
        visitor,
        "eval_new.html",
        title="New matrix",
        here="evals",
        trail=TRAIL,
        status=status,
        chosen=chosen,
        agents=await agent_choices(request, visitor.org_id),
        scenarios=listed,
        total=total,
        variations=list(variations.values()),
        intensities=INTENSITIES,
        deliveries=DELIVERIES,
        forecast=found,
        problems=problems,
        is_refused=status != 200,
    )


# -- the heatmap


@router.get("/evals/{matrix_id}")
async def matrix_page(
    matrix_id: str, request: Request, visitor: Reader, show: Word = "all", first: Word = "", seen: Word = ""
) -> Response:
    """The whole page, or for htmx the part that changes while the matrix runs; 204 if it has not changed."""
    show = show if show in ROW_FILTERS else "all"
    at = number_of(first) or 0
    view = await views_of(request).page(visitor.org_id, matrix_id, first=at, show=show, seen=seen)
    if view.body is None:
        return Response(status_code=204, headers=HEADERS)
    context = _map_context(view, show, at)
    if request.headers.get("hx-request"):
        return await part(visitor, "eval_map.html", is_part=True, **context)
    title = f"{context['agent']} under pressure"
    return await page(request, visitor, "eval_matrix.html", title=title, here="evals", trail=TRAIL, **context)


def _map_context(shown: MatrixView, show: str, first: int) -> dict[str, Any]:
    body, matrix = shown.body, shown.matrix
    agent = body["report"].get("agent") or {}
    path = f"/evals/{quote(matrix.matrix_id, safe='')}"
    following = body["next"]
    return {
        "matrix": matrix,
        "progress": shown.progress,
        "body": body,
        "table": trusted_table(body["table"]),
        "legend": trusted_table(body["legend"]),
        "agent": agent.get("name") or f"agent {matrix.agent_id}",
        "path": path,
        "show": show,
        "seen": shown.key,
        "here_url": f"{path}?show={show}&first={first}&seen={quote(shown.key)}",
        "more": f"{path}?show={show}&first={following}" if following is not None else None,
        "back": f"{path}?show={show}" if first else None,
    }


@router.get("/evals/{matrix_id}/heatmap.{format}")
async def heatmap_file(matrix_id: str, format: str, request: Request, visitor: Reader) -> Response:
    """The same files as the API returns."""
    if format not in MEDIA_TYPES:
        raise NotFound(f"There is no heatmap of this format. Use {', '.join(MEDIA_TYPES)}.")
    kind: Any = format
    response = await get_heatmap(matrix_id, kind, platform_of(request), reports_of(request), visitor.identity)
    response.headers["content-disposition"] = response.headers["content-disposition"].replace(
        "inline", "attachment"
    )
    return response


@router.post("/evals/{matrix_id}/cancel")
async def cancel(matrix_id: str, request: Request, visitor: Writer) -> Response:
    await start_matrix.cancel_matrix(platform_of(request), runner_of(request), visitor.org_id, matrix_id)
    return go(f"/evals/{quote(matrix_id, safe='')}", "The matrix is cancelled. Finished runs are reported.")


@router.post("/evals/{matrix_id}/resume")
async def resume(matrix_id: str, request: Request, visitor: Writer) -> Response:
    await start_matrix.resume_matrix(platform_of(request), runner_of(request), visitor.org_id, matrix_id)
    return go(f"/evals/{quote(matrix_id, safe='')}", "The matrix continues with the remaining runs.")


# -- a cell


@router.get("/evals/{matrix_id}/cell")
async def cell_page(
    matrix_id: str, request: Request, visitor: Reader, scenario: Word = "", variation: Word = ""
) -> Response:
    """Without a variation: the baseline of the scenario."""
    view = await views_of(request).cell(visitor.org_id, matrix_id, scenario, variation or None)
    body, path = view.body, f"/evals/{quote(matrix_id, safe='')}"
    cell, row, column = body["cell"], body["row"], body["column"]
    settings = body["report"].get("settings") or {}
    read = await read_cell(
        platform_of(request),
        view.matrix,
        scenario_id=scenario,
        version=int(row["version"]),
        variation=variation or None,
        components=(cell or {}).get("components") or (),
    )
    review = await platform_of(request).database.read(
        partial(
            review_of_matrix_cell,
            org_id=visitor.org_id,
            matrix_id=matrix_id,
            scenario_id=scenario,
            variation=variation,
        )
    )
    column_name = column["name"] if column is not None else "baseline"
    agent = (body["report"].get("agent") or {}).get("name") or f"agent {view.matrix.agent_id}"
    return await page(
        request,
        visitor,
        "eval_cell.html",
        title=f"{row['name']} · {column_name}",
        here="evals",
        trail=(*TRAIL, (f"{agent} under pressure", path)),
        matrix=view.matrix,
        path=path,
        row=row,
        column=column,
        cell=cell,
        review=review,
        verdict_label=verdict_label,
        bands=trusted_table(body["bands"]),
        scale=trusted_table(cell["scale"]) if cell is not None else "",
        around=body["around"],
        sentences=cell_sentences(cell, row, settings) if cell is not None else [],
        read=read,
    )
