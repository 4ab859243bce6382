"""A plan that a model proposes for a tool. A person sees its trial and decides whether to keep it."""

from typing import Any

from fastapi import APIRouter, Request, Response

from pipelines.core.simulation.plan_words import plan_in_words
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Refused
from pipelines.engine.simulation.author_jobs import WAITED_FOR_S, find_job
from pipelines.engine.simulation.propose_plans import accept_plans, propose_plans, subject_of
from pipelines.server.api.common import Id, platform_of
from pipelines.server.pages.agents.agent import agent_page, read_agent
from pipelines.server.pages.form_fields import read_json_text
from pipelines.server.pages.page import go
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts
from pipelines.storage.agents.author_jobs import RUNNING, AuthorJob
from pipelines.wire.errors import Conflict, ModelNotConfigured, NotFound

router = APIRouter()


@router.post("/agents/{agent_id}/tools/{name}/propose")
async def post_propose(agent_id: Id, name: str, request: Request, visitor: Writer) -> Response:
    """Asks the author model for a plan, with the world of the chosen task. Stores nothing."""
    typed = await form_texts(request)
    task = typed.get("task", "")
    body: JsonObject = {"tools": [name]}
    if task.isascii() and task.isdigit() and int(task[:19]) > 0:
        body["task_id"] = int(task[:18])
    platform = platform_of(request)
    try:
        job = await propose_plans(platform, visitor.org_id, agent_id, body)
    except Refused as refused:
        return await _page(request, visitor, agent_id, name, failed=refused.problems[0].said())
    except ModelNotConfigured as failed:
        return await _page(request, visitor, agent_id, name, failed=failed.message)
    job = await find_job(platform, visitor.org_id, job.id, wait_s=WAITED_FOR_S)
    if job.status == RUNNING:
        return go(f"/agents/{agent_id}/tools/{name}/proposal/{job.id}", "")
    return await _job_page(request, visitor, agent_id, name, job)


@router.get("/agents/{agent_id}/tools/{name}/proposal/{job_id}")
async def get_proposal(agent_id: Id, name: str, job_id: Id, request: Request, visitor: Reader) -> Response:
    """How far the question to the model is, then the plan that it proposes."""
    job = await find_job(platform_of(request), visitor.org_id, job_id)
    if job.subject != subject_of(agent_id):
        raise NotFound(f"Agent {agent_id} has no proposal {job_id}.")
    return await _job_page(request, visitor, agent_id, name, job)


async def _job_page(request: Request, visitor: Visitor, agent_id: int, name: str, job: AuthorJob) -> Response:
    answer: Any = job.answer
    error: Any = job.error
    if error is not None:
        return await _page(request, visitor, agent_id, name, failed=error["message"])
    item = next((one for one in answer["items"] if one["tool"] == name), None) if answer else None
    return await _page(request, visitor, agent_id, name, item=item, job=job)


@router.post("/agents/{agent_id}/tools/{name}/plan")
async def post_plan(agent_id: Id, name: str, request: Request, visitor: Writer) -> Response:
    """Stores the plan with the tool, as a new version of the agent."""
    typed = await form_texts(request)
    agent = await read_agent(request, visitor, agent_id)
    try:
        if typed.get("version") != str(agent.version):
            raise Conflict(
                f"The agent has changed: it is at version {agent.version} now. Reload the page and try again."
            )
        plans: JsonObject = {name: await read_json_text(request, typed.get("plan", ""), "/plan")}
        changed = await accept_plans(platform_of(request), visitor.org_id, agent_id, {"plans": plans})
    except Refused as refused:
        return await _page(request, visitor, agent_id, name, failed=refused.problems[0].said())
    except Conflict as conflict:
        return await _page(request, visitor, agent_id, name, failed=conflict.message)
    return go(
        f"/agents/{agent_id}/tools?tool={name}",
        f"{name} now has this plan. Saved as version {changed.version}.",
    )


async def _page(
    request: Request,
    visitor: Visitor,
    agent_id: int,
    name: str,
    *,
    item: Json = None,
    job: AuthorJob | None = None,
    failed: str = "",
) -> Response:
    agent = await read_agent(request, visitor, agent_id)
    plan = item.get("plan") if isinstance(item, dict) else None
    is_usable = isinstance(item, dict) and item["is_usable"] is True
    return await agent_page(
        request,
        visitor,
        agent,
        "agent_proposal.html",
        "tools",
        status=422 if failed else 200,
        tool=name,
        item=item,
        words=plan_in_words(plan) if is_usable and isinstance(plan, list) else [],
        plan=dumps(plan).decode(),
        failed=failed,
        job=job,
    )
