"""/runs: the runs of the org, filtered by the URL."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.reports.summarize_batch import took_ms
from pipelines.server.api.common import encode_cursor, platform_of
from pipelines.server.pages.page import page
from pipelines.server.pages.runs.run_query import (
    CHOICES,
    COLUMNS,
    SORTS,
    USUAL_COLUMNS,
    RunQuery,
    read_id,
    read_run_query,
)
from pipelines.server.pages.visitor import Reader
from pipelines.storage.agents.agents import published_agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.lists.run_lists import (
    RunCount,
    RunPage,
    agent_names,
    count_runs,
    dataset_names,
    run_page,
)
from pipelines.storage.lists.saved_views import SavedView, views_of_org
from pipelines.storage.runs.annotations import labels_of_org
from pipelines.storage.tasks.datasets import datasets_of_org

router = APIRouter()
ROWS = 50
MOST_OFFERED = 200  # agents and datasets in a list to choose from

Offered = list[tuple[str, str]]


@router.get("/runs")
async def runs_page(request: Request, visitor: Reader) -> Response:
    query = read_run_query(
        request.query_params, visitor.org_id, columns=request.query_params.getlist("column")
    )

    def read(
        connection: Connection,
    ) -> tuple[Offered, Offered, list[str], RunPage, RunCount, list[SavedView]]:
        agents, datasets = offered_filters(connection, query)
        labels = labels_of_org(connection, visitor.org_id, most=MOST_OFFERED)
        saved = views_of_org(connection, visitor.org_id, "/runs")
        if query.problems:
            return agents, datasets, labels, RunPage([], None, None), RunCount(0, 0, is_all=True), saved
        listed = run_page(connection, query.wanted, limit=ROWS, before_id=query.before_id)
        return agents, datasets, labels, listed, count_runs(connection, query.wanted), saved

    agents, datasets, labels, listed, counted, saved = await platform_of(request).database.read(read)
    return await page(
        request,
        visitor,
        "runs.html",
        title="Runs",
        here="runs",
        status=422 if query.problems else 200,
        query=query,
        agents=agents,
        datasets=datasets,
        choices=CHOICES,
        labels=labels,
        **shown_runs(query, listed, "/runs"),
        counted=counted,
        saved=saved,
        view_path=query.url("/runs"),
    )


def shown_runs(
    query: RunQuery, listed: RunPage, path: str, *, usual: Sequence[str] = USUAL_COLUMNS, **fixed: str
) -> dict[str, Any]:
    """The rows of a table of runs with its columns, for any page that shows one. `fixed` is what the path
    says of the runs, such as their batch."""
    has_costs = any(run["cost_usd"] is not None for run in listed.items)
    columns = query.columns or (*usual, *(("cost",) if has_costs else ()))
    older = encode_cursor(str(listed.last_id)) if listed.last_id is not None else None
    runs = [run | {"took_ms": run_took_ms(run)} for run in listed.items]
    return {
        "runs": [*runs],
        "columns": columns,
        "column_names": list(COLUMNS.items()),
        "sorts": SORTS,
        "csv": replace(query, columns=columns).url("/runs.csv", **fixed),
        "searched": listed.searched,
        "older": query.url(path, cursor=older) if older is not None else None,
        "newest": query.url(path) if query.before_id is not None else None,
    }


def offered_filters(connection: Connection, query: RunQuery) -> tuple[Offered, Offered]:
    """The agents and datasets to choose from, including the current choice."""
    org_id = query.wanted.org_id
    agents = dict(published_agents(connection, org_id=org_id, most=MOST_OFFERED))
    listed = datasets_of_org(connection, org_id, agent_id=None, limit=MOST_OFFERED, before_id=None)
    datasets = {dataset.id: dataset.name for dataset in listed.items}
    if query.wanted.agent_id is not None and query.wanted.agent_id not in agents:
        agents |= agent_names(connection, [query.wanted.agent_id], org_id=org_id)
    if query.wanted.dataset_id is not None and query.wanted.dataset_id not in datasets:
        datasets |= dataset_names(connection, [query.wanted.dataset_id], org_id=org_id)
    return _offered(agents), _offered(datasets)


@router.get("/compare/marked")
async def compare_marked(request: Request, visitor: Reader) -> Response:
    """Compares two selected runs or batches, the older one first."""
    matrices = request.query_params.getlist("matrix")
    if len(matrices) == 2:  # in the order of the list, the newest first
        query = urlencode({"from": matrices[1], "to": matrices[0]})
        return RedirectResponse(f"/compare/matrices?{query}", 303)
    for name, path in (("run", "/compare/runs"), ("batch", "/compare/batches")):
        marked = request.query_params.getlist(name)
        if marked:
            problems: list[Problem] = []
            ids = [read_id({name: text}, name, problems) for text in marked[:100]]
            numbers = sorted({number for number in ids if number is not None})
            if len(numbers) == 2 and not problems:
                return RedirectResponse(f"{path}?from={numbers[0]}&to={numbers[1]}", 303)
            break
    wrong = Problem(
        path="", message="select two items to compare", hint="press x, or use the checkboxes of the list"
    )
    raise Refused([wrong], "the selection")


def run_took_ms(run: JsonObject) -> float | None:
    began, ended = run["dispatched_at"] or run["started_at"], run["ended_at"]
    return took_ms(str(began), str(ended)) if began and ended else None


def _offered(names: dict[int, str]) -> Offered:
    return [(str(number), f"{name} ({number})") for number, name in sorted(names.items(), reverse=True)]
