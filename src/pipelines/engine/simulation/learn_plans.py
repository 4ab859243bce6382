"""Plans that are learnt from a recording, without a model: one helper process a tool. A person accepts."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.fidelity.recording import read_recording
from pipelines.core.simulation.plan_text import plan_as_yaml
from pipelines.core.simulation.proposed_plans.proposal import difference_in_plans
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_agent
from pipelines.engine.platform import Platform
from pipelines.engine.simulation.author_jobs import Progress, start_job
from pipelines.engine.simulation.propose_plans import subject_of
from pipelines.processes.pool import Job
from pipelines.storage.agents.agents import Agent
from pipelines.storage.agents.author_jobs import AuthorJob

FIELDS = ("recording", "budget_s", "refuse_contradictions")
BUDGET_S = 60
MOST_BUDGET_S = 600
_READING_S = 60.0  # of processor time, for the body alone
_MOST_RESULT_BYTES = 8 * 1024 * 1024  # of one tool


class _LearnRequest(NamedTuple):
    body: bytes
    budget_s: float


async def learn_plans(platform: Platform, org_id: int, agent_id: int, body: JsonObject) -> AuthorJob:
    """Nothing is applied: `accept_plans` keeps the plans that a person chooses."""
    request = await platform.plan_readers.run(partial(_read_request, body), owner=org_id)
    agent = await find_agent(platform, org_id, agent_id)
    return await start_job(platform, org_id, subject_of(agent_id), _work(platform, org_id, agent, request))


def _read_request(body: JsonObject) -> _LearnRequest:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(FIELDS)
    budget = body.get("budget_s", BUDGET_S)
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not 1 <= budget <= MOST_BUDGET_S:
        fields.refuse("budget_s", f"must be a number of seconds from 1 to {MOST_BUDGET_S}")
        budget = BUDGET_S
    if not isinstance(body.get("refuse_contradictions", False), bool):
        fields.refuse("refuse_contradictions", "must be true or false")
    recording = body.get("recording")
    state = recording.get("state", {}) if isinstance(recording, dict) else None
    tasks = recording.get("tasks") if isinstance(recording, dict) else None
    if not isinstance(state, dict) or not isinstance(tasks, list):
        fields.refuse("recording", "must be {state, tasks}: state.json and the lines of calls.jsonl")
    else:
        try:
            read_recording(state, tasks)
        except Refused as refused:
            problems += refused.problems
    if problems:
        raise Refused(problems, "the request")
    return _LearnRequest(dumps(body), float(budget))


def _work(
    platform: Platform, org_id: int, agent: Agent, request: _LearnRequest
) -> Callable[[Progress], Awaitable[JsonObject]]:
    definition = agent.definition.as_stored()

    async def run(name: str, limit_s: float, **arguments: Any) -> Any:
        job = Job(name, {"definition": definition, **arguments}, limit_s, _MOST_RESULT_BYTES)
        return loads_own(b"".join(await platform.upload_helpers.run(job, request.body, owner=org_id)))

    async def work(progress: Progress) -> JsonObject:
        loop = asyncio.get_running_loop()
        names = await run("recorded_tools", _READING_S)
        present = await platform.plan_readers.run(partial(_present_plans, agent, request.body), owner=org_id)
        items: list[Json] = []
        left_s = request.budget_s
        for at, name in enumerate(names):
            await progress(at, len(names))
            share_s = left_s / (len(names) - at)
            began = loop.time()
            learned = await run("learn_tool", _READING_S + share_s, tool=name, budget_s=share_s)
            left_s = max(0.0, left_s - (loop.time() - began))
            items.append(_item(learned, present))
        await progress(len(names), len(names))
        return {"items": items, **await run("unseen_in_recording", _READING_S)}

    return work


def _present_plans(agent: Agent, body: bytes) -> PlannedSimulator:
    recording: Any = loads_own(body)
    tasks = recording["recording"]["tasks"]
    state = recording["recording"].get("state") or (tasks[0].get("state") if tasks else None) or {}
    simulator = build_simulator(agent.definition.tools, world=World.from_initial_state(state))
    for name in simulator.tools:
        simulator.plan_of(name)
    return simulator


def _item(learned: JsonObject, simulator: PlannedSimulator) -> JsonObject:
    """With the plan as text, and how it differs from the one in force."""
    present = simulator.plan_of(str(learned["tool"]))
    before: Json = present.plan.as_json() if present.plan is not None else None
    return {
        **learned,
        "text": plan_as_yaml(learned["plan"]),
        "difference": [*difference_in_plans(before, learned["plan"])],
    }
