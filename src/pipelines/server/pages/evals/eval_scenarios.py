"""/evals/scenarios: the scenario library, and an editor that checks the text while you type."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Query, Request, Response
from starlette.datastructures import UploadFile

from pipelines.core.evals.scenarios.scenario import RISK_LEVELS, Scenario
from pipelines.core.evals.scenarios.scenario_file import LARGEST_YAML
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.evals import edit_scenarios
from pipelines.engine.evals.import_scenarios import import_scenarios
from pipelines.engine.evals.scenario_text import format_scenario, read_text, read_unchecked
from pipelines.server.api.common import platform_of
from pipelines.server.pages.evals import scenario_form
from pipelines.server.pages.evals.evals import TABS, TRAIL, Word, agent_choices, number_of
from pipelines.server.pages.page import go, page, part
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts, read_form
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
LONGEST_SHOWN = 64 * 1024  # characters of a refused file that the page gives back
#: Which editor: the form, or the text.
Form = Annotated[Literal["", "yes"], Query()]
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
async def new_page(request: Request, visitor: Writer, form: Form = "") -> Response:
    typed = Typed(fields=scenario_form.fields_of(SAMPLE)) if form else Typed(text=format_scenario(SAMPLE))
    return await _editor(request, visitor, typed)


@router.get("/evals/scenarios/import")
async def import_page(request: Request, visitor: Writer) -> Response:
    return await _import_form(request, visitor)


@router.post("/evals/scenarios/import")
async def post_import(request: Request, visitor: Writer) -> Response:
    """Stores all scenarios of a file, or none."""
    form = await read_form(request)
    text, upload = str(form.get("text") or ""), form.get("file")
    if isinstance(upload, UploadFile) and upload.filename:
        text = (await upload.read(LARGEST_YAML + 1)).decode("utf-8", "replace")
    try:
        done = await import_scenarios(platform_of(request), visitor.org_id, text)
    except Refused as refused:
        return await _import_form(request, visitor, text=text, problems=refused.problems)
    counts = [f"{number} {what}" for what, number in done._asdict().items() if number]
    return go("/evals/scenarios", f"The file is imported: {', '.join(counts) or 'it has no scenarios'}.")


async def _import_form(
    request: Request, visitor: Visitor, *, text: str = "", problems: Sequence[Problem] = ()
) -> Response:
    return await page(
        request,
        visitor,
        "eval_import.html",
        title="Import scenarios",
        here="evals",
        trail=SCENARIOS,
        status=422 if problems else 200,
        text=text[:LONGEST_SHOWN],
        problems=problems,
    )


@router.post("/evals/scenarios/check")
async def check(request: Request, visitor: Writer) -> Response:
    """Checks the text while the user types. Stores nothing."""
    text = (await form_texts(request)).get("text", "")
    scenario, problems = await _checked(request, visitor, text)
    return await part(visitor, "eval_check.html", scenario=scenario, problems=problems)


@router.post("/evals/scenarios")
async def create(request: Request, visitor: Writer) -> Response:
    form = await form_texts(request)
    platform = platform_of(request)
    if form.get("act") == "switch":
        return await _switched(request, visitor, form)
    try:
        body = await _body_of(request, visitor, form)
        stored = await edit_scenarios.create_scenario(platform, visitor.org_id, body)
    except Refused as refused:
        return await _editor(request, visitor, _typed_in(form), problems=refused.problems, status=422)
    return go(f"/evals/scenarios/{stored.scenario_id}", "The scenario is stored.")


@router.get("/evals/scenarios/{scenario_id}")
async def scenario_page(
    scenario_id: str, request: Request, visitor: Reader, version: Word = "", form: Form = ""
) -> Response:
    at = number_of(version)
    stored = await edit_scenarios.find_scenario(platform_of(request), visitor.org_id, scenario_id, at)
    if form and at is None and visitor.may("contributor"):
        typed = Typed(fields=scenario_form.fields_of(stored.body()))
    else:
        typed = Typed(text=await asyncio.to_thread(lambda: format_scenario(stored.body())))
    return await _editor(request, visitor, typed, stored=stored, is_past=at is not None)


@router.post("/evals/scenarios/{scenario_id}")
async def change(scenario_id: str, request: Request, visitor: Writer) -> Response:
    """What was typed replaces the whole scenario: a field that is missing from it is removed."""
    form = await form_texts(request)
    platform, typed = platform_of(request), _typed_in(form)
    before = await edit_scenarios.find_scenario(platform, visitor.org_id, scenario_id)
    if form.get("act") == "switch":
        return await _switched(request, visitor, form, stored=before)
    try:
        body = await _body_of(request, visitor, form)
        body = dict.fromkeys(before.body()) | body | {"version": number_of(form.get("version", ""))}
        stored = await edit_scenarios.change_scenario(platform, visitor.org_id, scenario_id, body)
    except Refused as refused:
        return await _editor(
            request, visitor, typed, stored=before, problems=refused.problems, status=422, base=form
        )
    except Conflict as error:
        problem = Problem(path="", message=error.message, hint="copy your text, then reload the scenario")
        return await _editor(
            request, visitor, typed, stored=before, problems=[problem], status=409, base=form
        )
    message = (
        "Nothing was changed." if stored.version == before.version else f"Version {stored.version} is stored."
    )
    return go(f"/evals/scenarios/{scenario_id}", message)


def _typed_in(form: dict[str, str]) -> "Typed":
    return Typed(fields=form) if form.get("as") == "form" else Typed(text=form.get("text", ""))


async def _body_of(request: Request, visitor: Visitor, form: dict[str, str]) -> JsonObject:
    """What was typed, as the form or as text. Raises Refused."""
    if form.get("as") != "form":
        return (await read_text(platform_of(request), visitor.org_id, form.get("text", "")))[0]
    body, problems = await asyncio.to_thread(scenario_form.body_of, form)
    try:
        await edit_scenarios.check_scenario(platform_of(request), visitor.org_id, body)
    except Refused as refused:
        told = {problem.path for problem in problems}
        problems += [problem for problem in refused.problems if problem.path not in told]
    if problems:
        raise Refused(problems, "the scenario")
    return body


async def _switched(
    request: Request, visitor: Visitor, form: dict[str, str], stored: StoredScenario | None = None
) -> Response:
    """The same scenario in the other editor. Nothing is stored; what cannot be read stays as it was typed."""
    problems: Sequence[Problem] = ()
    typed = _typed_in(form)
    if typed.fields is not None:
        body, problems = await asyncio.to_thread(scenario_form.body_of, typed.fields)
        typed = typed if problems else Typed(text=format_scenario(body))
    else:
        try:
            body = await asyncio.to_thread(read_unchecked, typed.text)
            typed = Typed(fields=scenario_form.fields_of(body))
        except Refused as refused:
            problems = refused.problems
    status = 422 if problems else 200
    return await _editor(request, visitor, typed, stored=stored, problems=problems, status=status, base=form)


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


class Typed(NamedTuple):
    """What stands in the editor: the text, or the fields of the form."""

    text: str = ""
    fields: dict[str, str] | None = None


async def _editor(
    request: Request,
    visitor: Visitor,
    typed: Typed,
    *,
    stored: StoredScenario | None = None,
    is_past: bool = False,
    problems: Sequence[Problem] = (),
    status: int = 200,
    base: dict[str, str] | None = None,
) -> Response:
    """`base`: the form as it was sent, which says on which version the text rests."""
    scenario: Scenario | None = None
    fields = typed.fields
    if fields is None and not problems:
        scenario, problems = await _checked(request, visitor, typed.text)
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
        text=typed.text,
        scenario=scenario,
        problems=problems,
        fields=fields,
        **(await _form_context(request, visitor, fields, problems) if fields is not None else {}),
        **about,
    )


async def _form_context(
    request: Request, visitor: Visitor, fields: dict[str, str], problems: Sequence[Problem]
) -> dict[str, Any]:
    known = await edit_scenarios.known_variations(platform_of(request), visitor.org_id)
    names = [(id, variation.name) for id, variation in known.items()]
    return {
        "labels": scenario_form.LABELS,
        "at": scenario_form.form_problems(problems),
        "agents": [("", "the agent that a matrix names"), *await agent_choices(request, visitor.org_id)],
        "has_more": scenario_form.has_more(fields),
        "risks": [(risk, risk) for risk in RISK_LEVELS],
        "variations": scenario_form.variation_choices(fields, names),
        "form": dict.fromkeys((*scenario_form.LABELS, scenario_form.REST), "") | fields,
    }


async def _about(request: Request, visitor: Visitor, stored: StoredScenario) -> dict[str, Any]:
    def read(connection: Connection) -> dict[str, Any]:
        marks = partial(marks_of_scenarios, org_id=visitor.org_id, scenario_ids=[stored.scenario_id])
        return {
            "versions": versions_of_scenario(connection, stored.scenario_id),
            "marks": [mark.as_json() for mark in marks(connection)],
        }

    return await platform_of(request).database.read(read)
