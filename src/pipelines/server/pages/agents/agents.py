"""/agents: the list, and the forms that register, import and change an agent."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from starlette.datastructures import UploadFile

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.agents import register_agent
from pipelines.engine.find import find_agent
from pipelines.server.api.common import MAX_ID, Id, platform_of
from pipelines.server.pages.agents import agent_form
from pipelines.server.pages.form_fields import MOST_TEXT, problems_by_field, problems_in, read_json_text
from pipelines.server.pages.page import go, page
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts, read_form
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Page
from pipelines.storage.lists import overview
from pipelines.storage.lists.summaries import agent_summaries
from pipelines.wire.errors import Conflict, OdysseyError

router = APIRouter()
SHOWN = 50
TRAIL = [("Agents", "/agents")]


@router.get("/agents")
async def agents_page(
    request: Request,
    visitor: Reader,
    status: Literal["", "draft", "published"] = "",
    q: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
) -> Response:
    found, last = await platform_of(request).database.read(
        lambda connection: _listed(connection, visitor.org_id, status or None, q.strip(), before)
    )
    return await page(
        request,
        visitor,
        "agents.html",
        title="Agents",
        here="agents",
        agents=found.items,
        last=last,
        wanted=status,
        q=q.strip(),
        before=before,
        next_id=found.last_id,
    )


def _listed(
    connection: Connection, org_id: int, status: str | None, words: str, before: int | None
) -> tuple[Page[JsonObject], dict[int, JsonObject]]:
    found = agent_summaries(
        connection, org_id, status=status, limit=SHOWN, before_id=before, words=words.replace("\x00", "")
    )
    batches = overview.last_batches(connection, org_id, [int(str(agent["id"])) for agent in found.items])
    counts = overview.pass_counts(connection, list(batches.values()))
    last: dict[int, JsonObject] = {}
    for agent_id, batch_id in batches.items():
        passed, judged = counts.get(batch_id, (0, 0))
        last[agent_id] = {"id": batch_id, "passed": passed, "judged": judged}
    return found, last


@router.get("/agents/new")
async def new_agent_page(request: Request, visitor: Writer) -> Response:
    return await _form_page(request, visitor, agent_form.empty_form())


@router.post("/agents/new")
async def post_new_agent(request: Request, visitor: Writer) -> Response:
    typed = await form_texts(request)
    read = await agent_form.read_agent_form(request, typed, is_change=False)
    try:
        agent = await register_agent.create_agent(platform_of(request), visitor.org_id, read.body)
    except Refused as refused:
        problems = read.and_others(refused.problems)
        return await _form_page(request, visitor, _without_secret(typed), problems=problems)
    except OdysseyError as error:
        return await _form_page(request, visitor, _without_secret(typed), problems=problems_in(error))
    return go(f"/agents/{agent.id}", f"Registered {agent.definition.name} as agent {agent.id}.")


@router.post("/agents/import")
async def post_import(request: Request, visitor: Writer) -> Response:
    """Imports the body of `POST /api/agents`, pasted or as a file."""
    form = await read_form(request)
    typed = str(form.get("json") or "")
    upload = form.get("file")
    if isinstance(upload, UploadFile) and upload.filename:
        typed = (await upload.read(MOST_TEXT + 1)).decode("utf-8", "replace")
    try:
        body = await read_json_text(request, typed, "/json")
        if not isinstance(body, dict):
            raise Refused([Problem(path="/json", message="must be a JSON object with one agent")], "the form")
        agent = await register_agent.create_agent(platform_of(request), visitor.org_id, body)
    except (Refused, OdysseyError) as error:
        return await _import_refused(request, visitor, typed, problems_in(error))
    return go(f"/agents/{agent.id}", f"Registered {agent.definition.name} as agent {agent.id}.")


@router.get("/agents/{agent_id}/edit")
async def edit_agent_page(agent_id: Id, request: Request, visitor: Writer) -> Response:
    agent = await find_agent(platform_of(request), visitor.org_id, agent_id)
    filled = await asyncio.to_thread(agent_form.form_of, agent)
    return await _form_page(request, visitor, filled, agent=agent)


@router.post("/agents/{agent_id}/edit")
async def post_edit(agent_id: Id, request: Request, visitor: Writer) -> Response:
    """Saves a new version, unless nothing changed."""
    platform = platform_of(request)
    typed = await form_texts(request)
    agent = await find_agent(platform, visitor.org_id, agent_id)
    read = await agent_form.read_agent_form(request, typed, is_change=True)
    try:
        if typed.get("version") != str(agent.version):
            raise Conflict(
                f"The agent is at version {agent.version} now: it was changed while this form was"
                " open. Save again to overwrite that change, or reload the form."
            )
        changed = await register_agent.change_agent(platform, visitor.org_id, agent_id, read.body)
    except Refused as refused:
        problems = read.and_others(refused.problems)
        return await _form_page(request, visitor, _without_secret(typed), agent=agent, problems=problems)
    except OdysseyError as error:
        return await _form_page(
            request, visitor, _without_secret(typed), agent=agent, problems=problems_in(error)
        )
    message = (
        "Nothing changed." if changed.version == agent.version else f"Saved as version {changed.version}."
    )
    return go(f"/agents/{agent_id}", message)


async def _form_page(
    request: Request,
    visitor: Visitor,
    typed: dict[str, str],
    *,
    agent: Agent | None = None,
    problems: list[Problem] | None = None,
    **context: Any,
) -> Response:
    """The form as the user filled it in, with each problem next to its field."""
    name = agent.definition.name if agent is not None else ""
    trail = [*TRAIL, (name, f"/agents/{agent.id}")] if agent is not None else TRAIL
    fields = {"json_typed": "", "json_problems": []} | context
    is_refused = bool(problems) or bool(fields["json_problems"])
    return await page(
        request,
        visitor,
        "agent_form.html",
        title="Change" if agent is not None else "Register an agent",
        here="agents",
        trail=trail,
        status=422 if is_refused else 200,
        typed=typed,
        agent=agent,
        problems=problems_by_field(problems or [], agent_form.FIELDS),
        total=len(problems or []),
        **fields,
    )


async def _import_refused(
    request: Request, visitor: Visitor, typed: str, problems: list[Problem]
) -> Response:
    problems_shown = [
        problem.as_json() | {"path": problem.path.removeprefix("/json") or ""} for problem in problems
    ]
    return await _form_page(
        request, visitor, agent_form.empty_form(), json_typed=typed, json_problems=problems_shown
    )


def _without_secret(typed: dict[str, str]) -> dict[str, str]:
    """The submitted fields without the secret, which must not appear in a page."""
    return agent_form.empty_form() | {
        name: value
        for name, value in typed.items()
        if name in agent_form.FIELDS and name != agent_form.SECRET
    }
