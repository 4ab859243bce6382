"""/evals: the matrices, drafts from telemetry, and the figures over time."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.evals import draft_scenarios
from pipelines.engine.evals.export_reports import SummaryFilters, summarize_evals
from pipelines.engine.evals.scenario_text import format_scenario, read_text
from pipelines.engine.evals.show_matrix import MatrixViews
from pipelines.server.api.common import platform_of
from pipelines.server.pages.form_fields import number_in
from pipelines.server.pages.page import go, page
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals import drafts, evals
from pipelines.storage.evals.evals import Matrix
from pipelines.web.eval_charts import over_time

router = APIRouter()
TABS = (
    ("matrices", "Matrices", "/evals"),
    ("scenarios", "Scenarios", "/evals/scenarios"),
    ("drafts", "Drafts", "/evals/drafts"),
    ("summary", "Over time", "/evals/summary"),
)
TRAIL = (("Evals", "/evals"),)
ROWS = 20
DRAFT_ROWS = 50
STATES = ("running", "completed", "cancelled", "budget_exceeded")
DAYS = (7, 30, 90, 365)
MOST_AGENTS = 200  # in a choice

Word = Annotated[str, Query(max_length=200)]


def views_of(request: Request) -> MatrixViews:
    views: MatrixViews = request.app.state.matrix_views
    return views


def number_of(text: str) -> int | None:
    """The number of a filter; None if the filter is empty or not a number."""
    return number_in(text)


async def agent_choices(request: Request, org_id: int) -> list[tuple[int, str]]:
    read = partial(agents.published_agents, org_id=org_id, most=MOST_AGENTS)
    return await platform_of(request).database.read(read)


@router.get("/evals")
async def matrices_page(
    request: Request, visitor: Reader, agent: Word = "", status: Word = "", before: Word = ""
) -> Response:
    filters = [
        Filter("org_id", visitor.org_id),
        Filter("agent_id", number_of(agent)),
        Filter("status", status if status in STATES else None),
    ]

    def read(connection: Connection) -> tuple[list[Matrix], int | None, dict[int, str], list[JsonObject]]:
        found = evals.matrices_of_org(connection, filters=filters, limit=ROWS, before_id=number_of(before))
        progress = [evals.progress_of_matrix(connection, matrix) for matrix in found.items]
        return found.items, found.last_id, _names(connection, found.items), progress

    listed, last, names, progress = await platform_of(request).database.read(read)
    figures = await asyncio.gather(*(views_of(request).figures(matrix) for matrix in listed))
    return await page(
        request,
        visitor,
        "evals.html",
        title="Evals",
        here="evals",
        tabs=TABS,
        matrices=[
            {"matrix": matrix, "agent": names.get(matrix.agent_id, ""), "progress": done, "figures": figure}
            for matrix, done, figure in zip(listed, progress, figures, strict=True)
        ],
        is_live=any(matrix.status == "running" for matrix in listed),
        agents=await agent_choices(request, visitor.org_id),
        asked={"agent": agent, "status": status},
        here_url=_with(request, before=before),
        more=_with(request, before=str(last)) if last is not None else None,
        back=_with(request, before="") if before else None,
    )


def _names(connection: Connection, listed: list[Matrix]) -> dict[int, str]:
    found = {}
    for matrix in {matrix.agent_id: matrix for matrix in listed}.values():
        agent = agents.agent_by_id(
            connection, org_id=matrix.org_id, agent_id=matrix.agent_id, version=matrix.agent_version
        )
        if agent is not None:
            found[matrix.agent_id] = agent.definition.name
    return found


def _with(request: Request, **changed: str) -> str:
    """The URL of another page of the same list."""
    url = request.url.include_query_params(**{name: value for name, value in changed.items() if value})
    url = url.remove_query_params([name for name, value in changed.items() if not value])
    return f"{url.path}?{url.query}" if url.query else url.path


# -- over time


@router.get("/evals/summary")
async def summary_page(request: Request, visitor: Reader, days: Word = "", agent: Word = "") -> Response:
    asked_days = number_of(days) if number_of(days) in DAYS else None
    since = _days_ago(asked_days) if asked_days is not None else None
    filters = SummaryFilters(since=since, agent_id=number_of(agent))
    summary: Any = await summarize_evals(platform_of(request), visitor.org_id, filters)
    by_day = list(reversed(summary["by_day"]))
    return await page(
        request,
        visitor,
        "eval_summary.html",
        title="Evals over time",
        here="evals",
        trail=TRAIL,
        tabs=TABS,
        summary=summary,
        charts_by_day=[
            over_time("matched under pressure", by_day, lambda day: day["under_pressure_match_rate"], "rate"),
            over_time("matched without pressure", by_day, lambda day: day["baseline_match_rate"], "rate"),
            over_time("mean shift", by_day, lambda day: day["shift"], "mean"),
        ],
        agents=await agent_choices(request, visitor.org_id),
        days=DAYS,
        asked={"agent": agent, "days": days},
    )


def _days_ago(days: int) -> str:
    return (
        (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


# -- drafts


@router.get("/evals/drafts")
async def drafts_page(
    request: Request, visitor: Reader, status: Word = "draft", kind: Word = "", before: Word = ""
) -> Response:
    found = await platform_of(request).database.read(
        lambda connection: drafts.drafts_of_org(
            connection,
            visitor.org_id,
            status=status or None,
            kind=kind or None,
            skill=None,
            limit=DRAFT_ROWS,
            before_id=number_of(before),
        )
    )
    return await page(
        request,
        visitor,
        "eval_drafts.html",
        title="Drafts from telemetry",
        here="evals",
        trail=TRAIL,
        tabs=TABS,
        drafts=found.items,
        asked={"status": status, "kind": kind},
        more=_with(request, before=str(found.last_id)) if found.last_id is not None else None,
        back=_with(request, before="") if before else None,
    )


@router.post("/evals/drafts")
async def look_for_drafts(request: Request, visitor: Writer) -> Response:
    """Searches recent telemetry for drafts."""
    hours = number_of((await form_texts(request)).get("hours", ""))
    body: JsonObject = {"lookback_hours": min(hours, draft_scenarios.MOST_LOOKBACK_HOURS)} if hours else {}
    masks_ips = request.app.state.masks_ips
    found: Any = await draft_scenarios.draft_scenarios(
        platform_of(request), visitor.org_id, body, masks_ips=masks_ips
    )
    spans, new = found["looked_at"].get("spans", 0), found["created"]
    notes = " ".join(str(note) for note in found["notes"][1:])
    return go("/evals/drafts", f"Searched {spans:,} skill spans and found {new} new drafts. {notes}")


@router.get("/evals/drafts/{draft_id}")
async def draft_page(draft_id: str, request: Request, visitor: Reader) -> Response:
    return await _draft_page(request, visitor, draft_id)


@router.post("/evals/drafts/{draft_id}/adopt")
async def adopt_draft(draft_id: str, request: Request, visitor: Writer) -> Response:
    """Creates the scenario from the corrected text."""
    text = (await form_texts(request)).get("text", "")
    platform = platform_of(request)
    draft = await draft_scenarios.find_draft(platform, visitor.org_id, draft_id)
    try:
        body: JsonObject = dict.fromkeys(draft.scenario)
        body |= (await read_text(platform, visitor.org_id, text))[0] if text.strip() else draft.scenario
    except Refused as refused:
        return await _draft_page(request, visitor, draft_id, text=text, problems=refused.problems, status=422)
    created = await draft_scenarios.adopt_draft(platform, visitor.org_id, draft_id, body)
    return go(f"/evals/scenarios/{created['id']}", "The draft is a scenario now.")


@router.post("/evals/drafts/{draft_id}/dismiss")
async def dismiss_draft(draft_id: str, request: Request, visitor: Writer) -> Response:
    await draft_scenarios.dismiss_draft(platform_of(request), visitor.org_id, draft_id)
    return go("/evals/drafts", "The draft is dismissed. It will not be suggested again.")


async def _draft_page(
    request: Request,
    visitor: Visitor,
    draft_id: str,
    *,
    text: str | None = None,
    problems: Any = (),
    status: int = 200,
) -> Response:
    draft = await draft_scenarios.find_draft(platform_of(request), visitor.org_id, draft_id)
    return await page(
        request,
        visitor,
        "eval_draft.html",
        title=draft.head.name,
        here="evals",
        trail=(*TRAIL, ("Drafts", "/evals/drafts")),
        status=status,
        draft=draft.head,
        body=draft.body,
        text=text if text is not None else await asyncio.to_thread(format_scenario, draft.scenario),
        problems=problems,
    )
