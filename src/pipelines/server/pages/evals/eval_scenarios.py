"""/evals/scenarios: the scenario library, and an editor that checks the text while you type."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pipelines.core.evals.scenarios.scenario import RISK_LEVELS, Scenario
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.evals import edit_scenarios
from pipelines.engine.evals.scenario_text import format_scenario, read_text
from pipelines.server.api.common import platform_of
from pipelines.server.pages.evals.evals import TABS, TRAIL, Word, agent_choices, number_of
from pipelines.server.pages.page import go, page, part
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals.eval_scenarios import (
    StoredScenario,
    scenarios_of_org,
    versions_of_scenario,
)
from pipelines.storage.evals.review_marks import marks_of_scenarios
from pipelines.wire.errors import Conflict

router = APIRouter()
ROWS = 50
SCENARIOS = (*TRAIL, ("Scenarios", "/evals/scenarios"))
#: The initial text of a new scenario. It is valid, so the first check passes.
SAMPLE: JsonObject = {
    "name": "Refund above the limit",
    "description": "A refund of more than 500 is for a manager; nothing is paid out",
    "risk_level": "high",
    "input_context": {"event": "refund", "order_id": "4521", "amount_claimed": 740},
    "expected_behavior": {"action": "ask_manager", "offer_voucher": False},
}


@router.get("/evals/scenarios")
async def scenarios_page(
    request: Request, visitor: Reader, q: Word = "", risk: Word = "", agent: Word = "", before: Word = ""
) -> Response:
    filters = [
        Filter("org_id", visitor.org_id),
        Filter("risk_level", risk if risk in RISK_LEVELS else None),
        Filter("agent_id", number_of(agent)),
        Filter("LOWER(name)", f"%{q.lower()}%" if q else None, "LIKE"),
    ]
    found = await platform_of(request).database.read(
        lambda connection: scenarios_of_org(
            connection, filters=filters, limit=ROWS, before_id=number_of(before)
        )
    )
    last = str(found.last_id) if found.last_id is not None else None
    url = request.url.remove_query_params("before")
    return await page(
        request,
        visitor,
        "eval_scenarios.html",
        title="Scenarios",
        here="evals",
        trail=TRAIL,
        tabs=TABS,
        scenarios=await asyncio.to_thread(lambda: [(stored, stored.body()) for stored in found.items]),
        agents=await agent_choices(request, visitor.org_id),
        risks=RISK_LEVELS,
        asked={"q": q, "risk": risk, "agent": agent},
        more=f"{url.path}?{url.include_query_params(before=last).query}" if last is not None else None,
        back=f"{url.path}?{url.query}" if before else None,
    )


@router.get("/evals/scenarios/new")
async def new_page(request: Request, visitor: Writer) -> Response:
    return await _editor(request, visitor, format_scenario(SAMPLE))


@router.post("/evals/scenarios/check")
async def check(request: Request, visitor: Writer) -> Response:
    """Checks the text while the user types. Stores nothing."""
    text = (await form_texts(request)).get("text", "")
    scenario, problems = await _checked(request, visitor, text)
    return await part(visitor, "eval_check.html", scenario=scenario, problems=problems)


@router.post("/evals/scenarios")
async def create(request: Request, visitor: Writer) -> Response:
    text = (await form_texts(request)).get("text", "")
    platform = platform_of(request)
    try:
        body, _ = await read_text(platform, visitor.org_id, text)
    except Refused as refused:
        return await _editor(request, visitor, text, problems=refused.problems, status=422)
    stored = await edit_scenarios.create_scenario(platform, visitor.org_id, body)
    return go(f"/evals/scenarios/{stored.scenario_id}", "The scenario is stored.")


@router.get("/evals/scenarios/{scenario_id}")
async def scenario_page(scenario_id: str, request: Request, visitor: Reader, version: Word = "") -> Response:
    at = number_of(version)
    stored = await edit_scenarios.find_scenario(platform_of(request), visitor.org_id, scenario_id, at)
    text = await asyncio.to_thread(lambda: format_scenario(stored.body()))
    return await _editor(request, visitor, text, stored=stored, is_past=at is not None)


@router.post("/evals/scenarios/{scenario_id}")
async def change(scenario_id: str, request: Request, visitor: Writer) -> Response:
    """The text replaces the whole scenario: a field that is missing from it is removed."""
    form = await form_texts(request)
    text, platform = form.get("text", ""), platform_of(request)
    before = await edit_scenarios.find_scenario(platform, visitor.org_id, scenario_id)
    try:
        body, _ = await read_text(platform, visitor.org_id, text)
        body = dict.fromkeys(before.body()) | body | {"version": number_of(form.get("version", ""))}
        stored = await edit_scenarios.change_scenario(platform, visitor.org_id, scenario_id, body)
    except Refused as refused:
        return await _editor(
            request, visitor, text, stored=before, problems=refused.problems, status=422, base=form
        )
    except Conflict as error:
        problem = Problem(path="", message=error.message, hint="copy your text, then reload the scenario")
        return await _editor(request, visitor, text, stored=before, problems=[problem], status=409, base=form)
    message = (
        "Nothing was changed." if stored.version == before.version else f"Version {stored.version} is stored."
    )
    return go(f"/evals/scenarios/{scenario_id}", message)


@router.post("/evals/scenarios/{scenario_id}/delete")
async def delete(scenario_id: str, request: Request, visitor: Writer) -> Response:
    await edit_scenarios.delete_scenario(platform_of(request), visitor.org_id, scenario_id)
    return go("/evals/scenarios", "The scenario is deleted. Its runs and their versions are kept.")


async def _checked(
    request: Request, visitor: Visitor, text: str
) -> tuple[Scenario | None, Sequence[Problem]]:
    try:
        return (await read_text(platform_of(request), visitor.org_id, text))[1], ()
    except Refused as refused:
        return None, refused.problems


async def _editor(
    request: Request,
    visitor: Visitor,
    text: str,
    *,
    stored: StoredScenario | None = None,
    is_past: bool = False,
    problems: Sequence[Problem] = (),
    status: int = 200,
    base: dict[str, str] | None = None,
) -> Response:
    """`base`: the form as it was sent, which says on which version the text rests."""
    scenario: Scenario | None = None
    if not problems:
        scenario, problems = await _checked(request, visitor, text)
    about = await _about(request, visitor, stored) if stored is not None else {"versions": [], "marks": []}
    title = str(stored.body().get("name")) if stored is not None else "New scenario"
    return await page(
        request,
        visitor,
        "eval_scenario.html",
        title=title,
        here="evals",
        trail=SCENARIOS,
        status=status,
        stored=stored,
        is_past=is_past,
        base_version=(base or {}).get("version") or (stored.version if stored is not None else ""),
        text=text,
        scenario=scenario,
        problems=problems,
        **about,
    )


async def _about(request: Request, visitor: Visitor, stored: StoredScenario) -> dict[str, Any]:
    def read(connection: Connection) -> dict[str, Any]:
        marks = partial(marks_of_scenarios, org_id=visitor.org_id, scenario_ids=[stored.scenario_id])
        return {
            "versions": versions_of_scenario(connection, stored.scenario_id),
            "marks": [mark.as_json() for mark in marks(connection)],
        }

    return await platform_of(request).database.read(read)
