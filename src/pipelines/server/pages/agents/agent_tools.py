"""The tools of an agent: who answers them, how Odyssey simulates them, and a form to try a call."""

import asyncio
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.models.model_question import Purpose
from pipelines.core.simulation.plan_text import plan_as_yaml
from pipelines.core.simulation.plan_words import plan_in_words
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.example_arguments import example_arguments
from pipelines.core.tools.tools_schema import Tool
from pipelines.engine.agents import register_agent
from pipelines.engine.endpoints.bind_endpoints import refuse_drift
from pipelines.engine.platform import Platform
from pipelines.engine.simulation import check_plans
from pipelines.engine.simulation.try_tool_call import Scratch, TriedCall, scratch_of_task, try_call
from pipelines.server.api.common import MAX_ID, Id, OptionalId, platform_of
from pipelines.server.pages.agents.agent import agent_page, read_agent
from pipelines.server.pages.form_fields import problems_by_field, problems_in, read_json_text
from pipelines.server.pages.page import go
from pipelines.server.pages.tasks.sentence_list import (
    IN_PART,
    NOT_ENFORCED,
    NOT_READ,
    UNIFORM,
    sentence_rows,
)
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts
from pipelines.storage.agents import tool_endpoints
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.lists.summaries import task_summaries
from pipelines.storage.tasks.datasets import datasets_of_org
from pipelines.web.pretty_json import pretty_json
from pipelines.wire.errors import Conflict, EndpointDrift, NotFound, OdysseyError

router = APIRouter()
SHOWN = 50  # tools whose plans are read for one page
DATASETS, TASKS = 3, 15  # worlds to choose from: tasks of the newest datasets
MOST_STATE = 100_000  # characters of a world that are put into a field to be changed
MOST_NAMES = 200  # of tools of endpoints, to choose from
Name = Annotated[str, Query(max_length=200)]


class World(NamedTuple):
    """A task whose world can be chosen."""

    task_id: int
    label: str


@router.get("/agents/{agent_id}/tools")
async def tools_page(
    agent_id: Id,
    request: Request,
    visitor: Reader,
    tool: Name = "",
    task: Annotated[int | None, Query(ge=0, le=MAX_ID, description="0: an empty world")] = None,
    start: Annotated[int, Query(ge=0, le=1_000)] = 0,
) -> Response:
    return await _tools(request, visitor, agent_id, tool=tool, task=task, start=start)


@router.post("/agents/{agent_id}/tools/{name}")
async def post_switch(agent_id: Id, name: str, request: Request, visitor: Writer) -> Response:
    """Switches a tool between the simulated backend and a live endpoint, as a new version of the agent."""
    platform = platform_of(request)
    typed = await form_texts(request)
    agent = await read_agent(request, visitor, agent_id)
    try:
        if typed.get("version") != str(agent.version):
            raise Conflict(
                f"The agent has changed: it is at version {agent.version} now. Reload the page and try again."
            )
        changed = await register_agent.change_agent(
            platform, visitor.org_id, agent_id, {"tools_schema": _switched(agent, name, typed)}
        )
    except (Refused, OdysseyError) as error:
        problems = [problem.as_json() for problem in problems_in(error)]
    else:
        mode = typed.get("mode", "sandbox")
        return go(
            f"/agents/{agent_id}/tools?tool={name}",
            f"{name} now uses {mode}. Saved as version {changed.version}.",
        )
    return await _tools(
        request, visitor, agent_id, tool=name, task=None, start=0, typed=typed, problems=problems
    )


def _switched(agent: Agent, name: str, typed: dict[str, str]) -> list[Json]:
    """All tools with one of them changed. A binding is kept for the next time; what only live replies have
    (a ledger adapter) goes, as a sandbox tool may not have it."""
    if name not in {tool.name for tool in agent.definition.tools}:
        raise NotFound(f"The agent has no tool named {name[:128]!r}.")
    tools: list[Json] = []
    for tool in agent.definition.tools:
        body = tool.as_json()
        if tool.name == name:
            body["default_execution_mode"] = typed.get("mode", "sandbox")
            if typed.get("endpoint"):
                body["passthrough_binding"] = {
                    "endpoint_id": typed["endpoint"],
                    "tool_name": typed.get("tool_name", "").strip() or name,
                }
            if typed.get("mode") != "passthrough":
                body.pop("ledger_write_policy", None)
                body.pop("ledger_adapter", None)
        tools.append(body)
    return tools


async def _tools(
    request: Request,
    visitor: Visitor,
    agent_id: int,
    *,
    tool: str,
    task: int | None,
    start: int,
    typed: dict[str, str] | None = None,
    problems: list[JsonObject] | None = None,
) -> Response:
    platform, org_id = platform_of(request), visitor.org_id
    agent = await read_agent(request, visitor, agent_id)
    worlds = await platform.database.read(lambda connection: worlds_of(connection, org_id, agent_id))
    task_id = task if task is not None else (worlds[0].task_id if worlds else 0)
    chosen = _chosen(agent, tool)
    names = [each.name for each in agent.definition.tools]
    start = names.index(chosen.name) // SHOWN * SHOWN if chosen is not None and tool else start
    listed = agent.definition.tools[start : start + SHOWN]
    plans = await _plans(platform, org_id, agent_id, task_id, [each.name for each in listed])
    return await agent_page(
        request,
        visitor,
        agent,
        "agent_tools.html",
        "tools",
        status=422 if problems else 200,
        tools=listed,
        plans=plans["by_tool"],
        told=plans,
        chosen=chosen if chosen in listed else (listed[0] if listed else None),
        worlds=worlds,
        task_id=task_id,
        start=start,
        more=start + SHOWN if start + SHOWN < len(names) else None,
        drift=await _drift(platform, agent),
        endpoints=await platform.database.read(lambda connection: _endpoints(connection, org_id)),
        typed={"endpoint": "", "tool_name": ""} | (typed or {}),
        problems=problems or [],
        has_author=platform.models.model_for(Purpose.AUTHOR, agent.definition.config.models) is not None,
        has_simulator=platform.models.model_for(Purpose.SIMULATOR, agent.definition.config.models)
        is not None,
    )


def _chosen(agent: Agent, name: str) -> Tool | None:
    tools = agent.definition.tools
    if not name:
        return tools[0] if tools else None
    found = next((tool for tool in tools if tool.name == name), None)
    if found is None:
        raise NotFound(f"The agent has no tool named {name[:128]!r}.")
    return found


async def _plans(
    platform: Platform, org_id: int, agent_id: int, task_id: int, only: list[str]
) -> dict[str, Any]:
    read = await check_plans.read_plans(platform, org_id, agent_id, task_id or None, only)
    return await asyncio.to_thread(_in_words, read)


def _in_words(read: JsonObject) -> dict[str, Any]:
    items: Any = read["items"]
    listed: Any = read["sentences"]
    sentences = sentence_rows(listed)
    return {
        "by_tool": {
            item["tool"]: item
            | {
                "words": plan_in_words(item["plan"]),
                "yaml": plan_as_yaml(item["plan"]) if item["plan"] is not None else "",
            }
            for item in items
        },
        "unread": [one for one in sentences if one.status in (NOT_READ, IN_PART, NOT_ENFORCED)],
        "uniform": [one for one in sentences if one.status is UNIFORM],
        "typed": _of_typed_rules(read, [one.sentence for one in sentences]),
        "findings": read["findings"],
    }


def _of_typed_rules(read: JsonObject, sentences: list[str]) -> list[str]:
    """The typed rules that are not enforced, as sentences."""
    listed: Any = read["not_understood"]
    return [
        sentences_listed
        for sentences_listed in listed
        if not any(sentences_listed.startswith(one) for one in sentences)
    ]


def worlds_of(connection: Connection, org_id: int, agent_id: int) -> list[World]:
    """Tasks of the agent's newest datasets; if it has none, of the newest datasets of the org."""
    own = datasets_of_org(connection, org_id, agent_id=agent_id, limit=DATASETS, before_id=None).items
    found = own or datasets_of_org(connection, org_id, agent_id=None, limit=DATASETS, before_id=None).items
    worlds: list[World] = []
    for dataset in found:
        for task in task_summaries(connection, dataset.id, limit=TASKS, after_id=None).items:
            instruction = str(task["user_instruction"] or "")[:70]
            worlds.append(
                World(int(str(task["id"])), f"{dataset.name[:40]}, task {task['row_number']}: {instruction}")
            )
    return worlds


async def _drift(platform: Platform, agent: Agent) -> dict[str, JsonObject]:
    """The drift of passthrough tools, by tool name."""
    try:
        await refuse_drift(platform, agent)
    except EndpointDrift as drift:
        details: Any = drift.details
        return {each["tool"]: each for each in details["tools"]}
    return {}


def _endpoints(connection: Connection, org_id: int) -> list[JsonObject]:
    """The endpoints to choose from, with the names of their tools."""
    found: list[JsonObject] = []
    for head in tool_endpoints.endpoint_heads(connection, org_id)[:MOST_NAMES]:
        page = tool_endpoints.tools_of_endpoint(connection, head.id, limit=MOST_NAMES, after_id=None)
        names: list[Json] = [tool.accepted.name for tool in page.items]
        found.append({"id": head.id, "name": head.name, "type": head.type, "tools": names})
    return found


# -- trying a call


@router.get("/agents/{agent_id}/try")
async def try_page(
    agent_id: Id, request: Request, visitor: Reader, tool: Name = "", task: OptionalId = None
) -> Response:
    platform, org_id = platform_of(request), visitor.org_id
    agent = await read_agent(request, visitor, agent_id)
    worlds = await platform.database.read(lambda connection: worlds_of(connection, org_id, agent_id))
    task_id = task or (worlds[0].task_id if worlds else None)
    scratch = await scratch_of_task(platform, org_id, task_id) if task_id else Scratch({})
    typed = await asyncio.to_thread(_filled, _chosen(agent, tool), task_id, scratch)
    return await _try(request, visitor, agent, worlds, typed)


@router.post("/agents/{agent_id}/try")
async def post_try(agent_id: Id, request: Request, visitor: Writer) -> Response:
    """The reply and the changes of a trial call. Opens no run and stores nothing."""
    platform, org_id = platform_of(request), visitor.org_id
    typed = await form_texts(request)
    agent = await read_agent(request, visitor, agent_id)
    worlds = await platform.database.read(lambda connection: worlds_of(connection, org_id, agent_id))
    try:
        scratch = await _scratch(request, platform, org_id, typed)
        arguments = (typed.get("arguments", "").strip() or "{}").encode()
        tried = await try_call(platform, org_id, agent_id, typed.get("tool", ""), arguments, scratch)
    except Refused as refused:
        return await _try(request, visitor, agent, worlds, typed, problems=refused.problems)
    return await _try(request, visitor, agent, worlds, typed, tried=tried)


async def _scratch(request: Request, platform: Platform, org_id: int, typed: dict[str, str]) -> Scratch:
    """The world in the form field; if it was too large for the field, the world of the chosen task."""
    state, task = typed.get("state", "").strip(), typed.get("task", "")
    behavior = typed.get("behavior", "").strip() or None
    scratch = Scratch({})
    if task.isascii() and task.isdigit() and 0 < len(task) < 19:
        scratch = await scratch_of_task(platform, org_id, int(task))
    if state:
        scratch = scratch._replace(state=await read_json_text(request, state, "/state"), now=None)
    return scratch._replace(behavior=behavior)


def _filled(tool: Tool | None, task_id: int | None, scratch: Scratch) -> dict[str, str]:
    state = scratch.state if isinstance(scratch.state, dict) else {}
    text = pretty_json(state)
    return {
        "tool": tool.name if tool is not None else "",
        "task": str(task_id or ""),
        "arguments": pretty_json(example_arguments(tool.input_schema, state)) if tool is not None else "{}",
        "state": text if len(text) <= MOST_STATE else "",
        "behavior": scratch.behavior or "",
    }


async def _try(
    request: Request,
    visitor: Visitor,
    agent: Agent,
    worlds: list[World],
    typed: dict[str, str],
    *,
    tried: TriedCall | None = None,
    problems: list[Problem] | None = None,
) -> Response:
    chosen = next((tool for tool in agent.definition.tools if tool.name == typed.get("tool")), None)
    return await agent_page(
        request,
        visitor,
        agent,
        "agent_try.html",
        "try",
        status=422 if problems else 200,
        worlds=worlds,
        typed={"tool": "", "task": "", "arguments": "", "state": "", "behavior": ""} | typed,
        chosen=chosen,
        tried=tried,
        problems=problems_by_field(problems or [], ("state", "arguments", "behavior")),
    )
