"""Plans that a model proposes for the tools of an agent. A person sees what each is worth, and accepts all,
some or none of them.
"""

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData, UploadFile

from pipelines.core.models.model_question import Purpose
from pipelines.core.simulation.plan_words import plan_in_words
from pipelines.core.simulation.sentences import call_in_words
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.simulation.author_jobs import WAITED_FOR_S, find_job, last_job
from pipelines.engine.simulation.propose_plans import accept_plans, propose_plans, subject_of
from pipelines.server.api.common import Id, OptionalId, platform_of
from pipelines.server.pages.agents.agent import agent_page, read_agent
from pipelines.server.pages.agents.agent_tools import worlds_of
from pipelines.server.pages.form_fields import number_in, problems_in, read_json_text
from pipelines.server.pages.page import go
from pipelines.server.pages.visitor import Reader, Visitor, Writer, read_form
from pipelines.storage.agents.author_jobs import AuthorJob
from pipelines.wire.errors import Conflict, ModelNotConfigured, NotFound, OdysseyError

router = APIRouter()
LONGEST_CALL = 300  # characters of an example
MOST_FILE = 8 * 1024 * 1024  # bytes of each file of a recording


@router.get("/agents/{agent_id}/proposals")
async def proposals_page(
    agent_id: Id, request: Request, visitor: Reader, task: OptionalId = None
) -> Response:
    """What to ask the model for, and the last answer."""
    return await _form(request, visitor, agent_id, task=task)


@router.post("/agents/{agent_id}/proposals")
async def post_proposals(agent_id: Id, request: Request, visitor: Writer) -> Response:
    """Asks the author model for plans, over the world of the task or with a recording. Applies nothing."""
    form = await read_form(request)
    platform = platform_of(request)
    task = number_in(str(form.get("task", "")))
    try:
        body = await _request_body(request, form)
        job = await propose_plans(platform, visitor.org_id, agent_id, body)
    except (Refused, ModelNotConfigured) as error:
        return await _form(request, visitor, agent_id, task=task, problems=problems_in(error))
    await find_job(platform, visitor.org_id, job.id, wait_s=WAITED_FOR_S)
    return go(f"/agents/{agent_id}/proposals/{job.id}", "")


@router.get("/agents/{agent_id}/proposals/{job_id}")
async def proposal_page(agent_id: Id, job_id: Id, request: Request, visitor: Reader) -> Response:
    """How far the conversation with the model is, then the plans that it proposes."""
    return await _answer(request, visitor, agent_id, await _job(request, visitor, agent_id, job_id))


@router.post("/agents/{agent_id}/proposals/{job_id}/accept")
async def post_accept(agent_id: Id, job_id: Id, request: Request, visitor: Writer) -> Response:
    """Stores the selected plans with their tools, as a new version of the agent."""
    form = await read_form(request)
    job = await _job(request, visitor, agent_id, job_id)
    agent = await read_agent(request, visitor, agent_id)
    try:
        if form.get("version") != str(agent.version):
            raise Conflict(
                f"The agent has changed: it is at version {agent.version} now. Reload the page and try again."
            )
        plans = _selected(job, [str(one) for one in form.getlist("tool")])
        changed = await accept_plans(platform_of(request), visitor.org_id, agent_id, {"plans": plans})
    except (Refused, OdysseyError) as error:
        return await _answer(request, visitor, agent_id, job, problems=problems_in(error))
    names = ", ".join(plans)
    return go(f"/agents/{agent_id}/tools", f"New plans: {names}. Saved as version {changed.version}.")


def _selected(job: AuthorJob, names: list[str]) -> JsonObject:
    if not names:
        raise Conflict("Select at least one plan.")
    items: Any = job.answer["items"] if isinstance(job.answer, dict) else []
    usable: JsonObject = {one["tool"]: one["plan"] for one in items if one["is_usable"]}
    missing = [name for name in names if name not in usable]
    if missing:
        raise Conflict(f"There is no usable plan for {', '.join(missing)[:200]}.")
    return {name: usable[name] for name in names}


async def _job(request: Request, visitor: Visitor, agent_id: int, job_id: int) -> AuthorJob:
    job = await find_job(platform_of(request), visitor.org_id, job_id)
    if job.subject != subject_of(agent_id):
        raise NotFound(f"Agent {agent_id} has no proposal {job_id}.")
    return job


async def _request_body(request: Request, form: FormData) -> JsonObject:
    body: JsonObject = {}
    if tools := [str(one) for one in form.getlist("tool")]:
        body["tools"] = [*tools]
    task = number_in(str(form.get("task", "")))
    calls, state = await _file_text(form, "calls"), await _file_text(form, "state")
    if task is not None and not calls:
        body["task_id"] = task
    if calls:
        lines = ",".join(line for line in calls.splitlines() if line.strip())
        body["recording"] = {
            "state": await read_json_text(request, state or "{}", "/state"),
            "tasks": await read_json_text(request, f"[{lines}]", "/calls"),
        }
    elif state:
        raise Refused([Problem(path="/calls", message="choose the file with the recorded calls")], "the form")
    return body


async def _file_text(form: FormData, name: str) -> str:
    file = form.get(name)
    if not isinstance(file, UploadFile) or not file.filename:
        return ""
    if (file.size or 0) > MOST_FILE:
        problem = Problem(path=f"/{name}", message=f"is over {MOST_FILE // 2**20} MiB")
        raise Refused([problem], "the form")
    return (await file.read()).decode("utf-8", "replace")


async def _form(
    request: Request,
    visitor: Visitor,
    agent_id: int,
    *,
    task: int | None = None,
    problems: list[Problem] | None = None,
) -> Response:
    platform, org_id = platform_of(request), visitor.org_id
    agent = await read_agent(request, visitor, agent_id)
    worlds = await platform.database.read(lambda connection: worlds_of(connection, org_id, agent_id))
    return await agent_page(
        request,
        visitor,
        agent,
        "plan_proposals.html",
        "tools",
        status=422 if problems else 200,
        problems=[problem.as_json() for problem in problems or []],
        worlds=worlds,
        task_id=task or (worlds[0].task_id if worlds else 0),
        tools=[tool.name for tool in agent.definition.tools],
        has_author=platform.models.model_for(Purpose.AUTHOR, agent.definition.config.models) is not None,
        last=await last_job(platform, org_id, subject_of(agent_id)),
        job=None,
    )


async def _answer(
    request: Request,
    visitor: Visitor,
    agent_id: int,
    job: AuthorJob,
    *,
    problems: list[Problem] | None = None,
) -> Response:
    agent = await read_agent(request, visitor, agent_id)
    answer: Any = job.answer or {"items": [], "left_out": []}
    return await agent_page(
        request,
        visitor,
        agent,
        "plan_proposals.html",
        "tools",
        status=422 if problems else 200,
        problems=[problem.as_json() for problem in problems or []],
        job=job,
        items=[(one, _words(one), _examples(one)) for one in answer["items"]],
        left_out=answer["left_out"],
    )


def _words(item: Any) -> list[Any]:
    plan: Json = item["plan"]
    return plan_in_words(plan) if item["is_usable"] and isinstance(plan, list) else []


def _examples(item: Any) -> list[tuple[str, bool]]:
    """Each call in words, and whether it came out otherwise than the model says."""
    return [(call_in_words(one, LONGEST_CALL), bool(one["problem"])) for one in item["examples"]]
