"""One agent: its overview, its connection test, and its versions. Also the frame of its other tabs."""

import asyncio
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.results.task_statistics import summary_of
from pipelines.core.results.version_changes import VersionChange, version_changes
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.agents import register_agent
from pipelines.engine.find import find_agent
from pipelines.engine.runs import check_connection
from pipelines.server.api.common import MAX_ID, Id, platform_of
from pipelines.server.pages.page import go, page
from pipelines.server.pages.tasks.rule_list import rule_list
from pipelines.server.pages.visitor import Reader, Visitor, Writer
from pipelines.storage.agents import agents
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.lists import overview
from pipelines.storage.runs.batches import batches_of_org, counts_of_batch, outcomes_by_task
from pipelines.storage.tasks.datasets import Dataset, datasets_of_org
from pipelines.wire.errors import OdysseyError

router = APIRouter()
SHOWN = 10  # batches and datasets on the overview
VERSIONS = 100
TABS = (("overview", "Overview", ""), ("tools", "Tools", "/tools"), ("try", "Try a call", "/try"))
Version = Annotated[int | None, Query(ge=1, le=MAX_ID)]


async def read_agent(request: Request, visitor: Visitor, agent_id: int, version: int | None = None) -> Agent:
    """Finds the agent and parses its definition in a thread, because a large one takes long."""
    agent = await find_agent(platform_of(request), visitor.org_id, agent_id, version)
    await asyncio.to_thread(getattr, agent, "definition")
    return agent


class Lately(NamedTuple):
    batches: list[JsonObject]
    datasets: list[Dataset]


@router.get("/agents/{agent_id}")
async def overview_page(agent_id: Id, request: Request, visitor: Reader) -> Response:
    return await _overview(request, visitor, agent_id)


@router.post("/agents/{agent_id}/test-connection")
async def post_test_connection(agent_id: Id, request: Request, visitor: Writer) -> Response:
    """The overview with the result of the test. Stores nothing."""
    state = request.app.state
    try:
        tested = await check_connection.check_connection(
            platform_of(request), state.agent_client, state.code_runner, visitor.org_id, agent_id
        )
    except OdysseyError as error:
        tested = {
            "ok": False,
            "problem": error.message,
            "hint": None,
            "http_status": None,
            "latency_ms": None,
        }
    return await _overview(request, visitor, agent_id, tested=tested)


@router.post("/agents/{agent_id}/publish")
async def post_publish(agent_id: Id, request: Request, visitor: Writer) -> Response:
    """Publishes a draft, or shows all its problems."""
    try:
        await register_agent.publish_agent(platform_of(request), visitor.org_id, agent_id)
    except Refused as refused:
        problems = [problem.as_json() for problem in refused.problems]
        return await _overview(request, visitor, agent_id, problems=problems)
    return go(f"/agents/{agent_id}", "The agent is published. You can run it now.")


@router.post("/agents/{agent_id}/delete")
async def post_delete(agent_id: Id, request: Request, visitor: Writer) -> Response:
    await register_agent.delete_agent(platform_of(request), visitor.org_id, agent_id)
    return go("/agents", f"Deleted agent {agent_id}. Its runs are kept.")


@router.get("/agents/{agent_id}/versions")
async def versions_page(
    agent_id: Id, request: Request, visitor: Reader, old: Version = None, new: Version = None
) -> Response:
    """The versions, and the differences between two of them; by default the last two."""
    agent = await read_agent(request, visitor, agent_id)
    listed = await platform_of(request).database.read(
        lambda connection: agents.versions_of_agent(connection, agent_id=agent_id, limit=VERSIONS)
    )
    later = new or agent.version
    earlier = old or max(1, later - 1)
    changes: list[VersionChange] = []
    if earlier != later:
        before = await read_agent(request, visitor, agent_id, earlier)
        after = await read_agent(request, visitor, agent_id, later)
        changes = await asyncio.to_thread(_changes, before, after)
    return await agent_page(
        request,
        visitor,
        agent,
        "agent_versions.html",
        "versions",
        versions=listed,
        old=earlier,
        new=later,
        changes=changes,
    )


def _changes(before: Agent, after: Agent) -> list[VersionChange]:
    """The header's value is a secret, so only the fact that it changed is shown."""
    found = version_changes(before.definition.as_stored(), after.definition.as_stored())
    if before.sealed_auth_header != after.sealed_auth_header:
        found.append(VersionChange("auth_header_value", "changed", "(secret)", "(different secret)"))
    return found


async def agent_page(
    request: Request,
    visitor: Visitor,
    agent: Agent,
    template: str,
    tab: str,
    *,
    status: int = 200,
    **context: object,
) -> Response:
    """A page under the agent's tabs."""
    base = f"/agents/{agent.id}"
    tabs = [(name, label, base + path) for name, label, path in TABS]
    tabs.append(("versions", f"Versions ({agent.version})", f"{base}/versions"))
    return await page(
        request,
        visitor,
        template,
        title=agent.definition.name,
        here="agents",
        trail=[("Agents", "/agents")],
        status=status,
        agent=agent,
        tabs=tabs,
        tab=tab,
        **context,
    )


async def _overview(
    request: Request,
    visitor: Visitor,
    agent_id: int,
    *,
    tested: JsonObject | None = None,
    problems: list[JsonObject] | None = None,
) -> Response:
    agent = await read_agent(request, visitor, agent_id)
    lately = await platform_of(request).database.read(
        lambda connection: _lately(connection, visitor.org_id, agent_id)
    )
    return await agent_page(
        request,
        visitor,
        agent,
        "agent.html",
        "overview",
        status=422 if problems else 200,
        lately=lately,
        typed=rule_list(agent.definition.rules),
        tested=tested,
        problems=problems or [],
    )


def _lately(connection: Connection, org_id: int, agent_id: int) -> Lately:
    found = batches_of_org(connection, org_id, agent_id=agent_id, limit=SHOWN, before_id=None).items
    matrices = overview.matrices_of_batches(connection, [batch.id for batch in found])
    recent = [
        batch.as_json()
        | {
            "matrix_id": matrices.get(batch.id),
            "counts": counts_of_batch(connection, batch.id),
            "summary": summary_of(outcomes_by_task(connection, batch.id), batch.repeats),
        }
        for batch in found
    ]
    datasets = datasets_of_org(connection, org_id, agent_id=agent_id, limit=SHOWN, before_id=None).items
    return Lately(recent, datasets)
