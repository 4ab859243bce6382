"""Agents: what is tested. Every change makes a new version; runs keep the one they ran on."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.code.code_zip import MAX_ZIP_BYTES
from pipelines.engine.agents import register_agent
from pipelines.engine.find import find_agent
from pipelines.engine.runs import check_connection
from pipelines.engine.simulation import check_plans, propose_plans
from pipelines.engine.simulation.agent_warnings import with_warnings
from pipelines.server.api.common import (
    MAX_ID,
    Contributor,
    Cursor,
    Id,
    Limit,
    Ours,
    Viewer,
    answer,
    answer_page,
    id_cursor,
    json_body,
    limited,
    read_json_object,
)
from pipelines.server.api.schemas import bodies
from pipelines.storage.lists.summaries import agent_summaries
from pipelines.wire.errors import UnsupportedMediaType

router = APIRouter(prefix="/api/agents", tags=["agents"])
MAX_AGENT_BYTES = 8 * 1024 * 1024  # a megabyte of source, each character of it escaped at the worst
MAX_RECORDING_BYTES = 8 * 1024 * 1024  # as much as a helper process reads in its time
ZIP_KINDS = ("application/zip", "application/x-zip-compressed", "application/octet-stream")


@router.post("", status_code=201, openapi_extra=json_body(bodies.AGENT))
async def create_agent(request: Request, platform: Ours, key: Contributor) -> Response:
    """Register an agent. It is published unless the body says `"status": "draft"`."""
    body = await read_json_object(request, limit=MAX_AGENT_BYTES)
    agent = await register_agent.create_agent(platform, key.org_id, body)
    return answer(await with_warnings(platform, agent, has_tasks=False), 201)


@router.get("")
async def list_agents(
    platform: Ours,
    key: Viewer,
    status: Literal["draft", "published"] | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's agents, newest first, without tools, schemas and code: those are on the agent itself."""
    before_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: agent_summaries(
            connection, key.org_id, status=status, limit=limit, before_id=before_id
        )
    )
    return answer_page(page)


@router.get("/{agent_id}")
async def get_agent(
    agent_id: Id,
    platform: Ours,
    key: Viewer,
    version: Annotated[int | None, Query(ge=1, le=MAX_ID, description="as it was then")] = None,
) -> Response:
    """One agent, as it is or as it was at a version. The auth header's value is never shown."""
    agent = await find_agent(platform, key.org_id, agent_id, version)
    return answer(agent.as_json())


@router.put("/{agent_id}", openapi_extra=json_body(bodies.AGENT_CHANGE))
async def change_agent(agent_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Replace the fields given; the others stay. Checked whole; a new version unless nothing changed."""
    body = await read_json_object(request, limit=MAX_AGENT_BYTES)
    agent = await register_agent.change_agent(platform, key.org_id, agent_id, body)
    return answer(await with_warnings(platform, agent, has_tasks="tools_schema" in body))


@router.delete("/{agent_id}", status_code=204)
async def delete_agent(agent_id: Id, platform: Ours, key: Contributor) -> Response:
    """Take the agent off every list. Its runs keep the version they ran on."""
    await register_agent.delete_agent(platform, key.org_id, agent_id)
    return Response(status_code=204)


@router.post("/{agent_id}/publish")
async def publish_agent(agent_id: Id, platform: Ours, key: Contributor) -> Response:
    """Make a draft one that can be run."""
    agent = await register_agent.publish_agent(platform, key.org_id, agent_id)
    return answer(agent.as_json())


@router.post("/{agent_id}/test-connection")
async def post_test_connection(agent_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Is the agent there, and could it be sent a run? If not, what to change.

    An agent behind a URL is pinged with its auth header; code is loaded in a sandbox, and not called.
    """
    client, code_runner = request.app.state.agent_client, request.app.state.code_runner
    result = await check_connection.check_connection(platform, client, code_runner, key.org_id, agent_id)
    return answer(result)


@router.put("/{agent_id}/code", openapi_extra=bodies.ZIP)
async def put_code(agent_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Replace the code of an agent of mode `code` by a zip (the body); a new version if it differs."""
    await register_agent.find_code_agent(
        platform, key.org_id, agent_id
    )  # before a hundred megabytes are read
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ZIP_KINDS:
        raise UnsupportedMediaType("The body must be a zip archive, sent with Content-Type: application/zip.")
    raw = b"".join([part async for part in limited(request, MAX_ZIP_BYTES)])
    agent = await register_agent.upload_zip(platform, key.org_id, agent_id, raw)
    return answer(agent.as_json())


@router.get("/{agent_id}/code", responses=bodies.ZIP_FILE)
async def get_code(
    agent_id: Id,
    platform: Ours,
    key: Viewer,
    version: Annotated[int | None, Query(ge=1, le=MAX_ID, description="as it was then")] = None,
) -> Response:
    """The code of an agent as a zip archive, wherever it came from."""
    raw = await register_agent.download_code(platform, key.org_id, agent_id, version)
    name = f"agent-{agent_id}.zip"
    return Response(
        raw,
        headers={"content-disposition": f'attachment; filename="{name}"'},
        media_type="application/zip",
    )


@router.get("/{agent_id}/plans")
async def get_plans(
    agent_id: Id,
    platform: Ours,
    key: Viewer,
    task_id: Annotated[
        int | None, Query(ge=1, le=MAX_ID, description="read the plans over this task's world and behaviour")
    ] = None,
    examples: Annotated[bool, Query(description="with calls that show what each rule does")] = False,
) -> Response:
    """What each tool does in the sandbox: its plan, who wrote it, and how each sentence is read."""
    found = await check_plans.read_plans(platform, key.org_id, agent_id, task_id, with_examples=examples)
    return answer(found)


@router.post("/{agent_id}/plans/check", openapi_extra=json_body(bodies.PLANS_CHECK))
async def post_plans_check(agent_id: Id, request: Request, platform: Ours, key: Viewer) -> Response:
    """Check plans without saving them: every problem with its place."""
    body = await read_json_object(request)
    return answer(await check_plans.check_plans(platform, key.org_id, agent_id, body))


@router.post("/{agent_id}/plans/propose", status_code=202, openapi_extra=json_body(bodies.PROPOSE_PLANS))
async def post_plans_propose(agent_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Ask the author's model for plans of tools that have none but a guess, that do not explain the recorded
    calls, or that are named.

    The answer is a job: look at it with `GET /api/author-jobs/{job_id}`. The model is asked in one
    conversation. Each plan is tried with recorded calls, or with example calls of the model in a task's
    world, and goes back once if it fails. With a recording it is measured on calls that the model was not
    shown. Nothing is applied. 422 `model_not_configured` where no model is set.
    """
    body = await read_json_object(request, limit=MAX_RECORDING_BYTES)
    job = await propose_plans.propose_plans(platform, key.org_id, agent_id, body)
    return answer(job.as_json(), 202)


@router.post("/{agent_id}/plans/accept", openapi_extra=json_body(bodies.ACCEPT_PLANS))
async def post_plans_accept(agent_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Keep plans as `simulation` beside their tools: a new version of the agent, checked whole."""
    body = await read_json_object(request)
    agent = await propose_plans.accept_plans(platform, key.org_id, agent_id, body)
    return answer(agent.as_json())
