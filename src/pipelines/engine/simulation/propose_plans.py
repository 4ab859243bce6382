"""Plans for tools without a good one: a model writes them, told what is wrong with each try. A person
accepts."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from pipelines.core.ledger.ledger import World
from pipelines.core.models.model_question import Purpose
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.fidelity.recording import Recording, read_recording
from pipelines.core.simulation.plan_text import plan_as_yaml
from pipelines.core.simulation.proposed_plans.plan_question import plan_question
from pipelines.core.simulation.proposed_plans.plan_trial import (
    PlanTrial,
    TrialSetting,
    difference_in_plans,
    fidelity_now,
    try_plan,
)
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.tasks.seed import Seed
from pipelines.core.tasks.seed_limits import LONGEST_BEHAVIOR
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.agents.register_agent import change_agent
from pipelines.engine.find import find_agent
from pipelines.engine.live.live_runs import MOST_READING_S
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.model_calls.ask_models import Asker, CheckedAnswer
from pipelines.engine.models.choose_model import models_named_for
from pipelines.engine.platform import Platform
from pipelines.engine.simulation.author_jobs import Progress, start_job
from pipelines.engine.simulation.check_plans import seed_of_task
from pipelines.storage.agents.agents import Agent
from pipelines.storage.agents.author_jobs import AuthorJob

MOST_ROUNDS = 5
MOST_TOOLS = 10  # asked for at once
FIELDS = ("task_id", "tools", "recording", "behavior")


class _PlanRequest(NamedTuple):
    task_id: int | None
    tools: tuple[str, ...]
    recording: Recording | None
    behavior: str | None  # in place of the task's


class _WrittenPlan(NamedTuple):
    best: PlanTrial
    why: str
    rounds: int
    asked: CheckedAnswer


async def propose_plans(platform: Platform, org_id: int, agent_id: int, body: JsonObject) -> AuthorJob:
    """Asks for a plan for each tool that is named, or whose plan is no more than a guess. Nothing is stored
    but the answer of the job, and nothing is applied."""
    work = await _read_work(platform, org_id, agent_id, body)
    return await start_job(platform, org_id, subject_of(agent_id), work)


def subject_of(agent_id: int) -> str:
    return f"agent {agent_id}"


async def _read_work(
    platform: Platform, org_id: int, agent_id: int, body: JsonObject
) -> Callable[[Progress], Awaitable[JsonObject]]:
    """Refuses what cannot be asked for."""
    request = await platform.plan_readers.run(partial(_read_request, body), owner=org_id)
    agent = await find_agent(platform, org_id, agent_id)
    named = await models_named_for(platform, agent, None)
    platform.models.needed(Purpose.AUTHOR, named)
    seed = await seed_of_task(platform, org_id, request.task_id) if request.task_id is not None else None
    context, simulator = await platform.plan_readers.run(
        partial(_prepare, agent, seed, request), owner=org_id
    )
    tools = _tools_to_plan(request.tools, simulator)
    asker = Asker(org_id=org_id, subject=subject_of(agent_id), named=named)

    async def work(progress: Progress) -> JsonObject:
        items: list[Json] = []
        some = tools[:MOST_TOOLS]
        for at, name in enumerate(some):
            await progress(at, len(some))
            items.append(await _proposal(platform, asker, name, context, simulator, request.recording))
        await progress(len(some), len(some))
        return {"items": items, "left_out": [*tools[MOST_TOOLS:]]}

    return work


async def accept_plans(platform: Platform, org_id: int, agent_id: int, body: JsonObject) -> Agent:
    """Keep plans as `simulation` beside their tools: a new version of the agent, checked whole."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("plans",))
    plans = body.get("plans")
    if not isinstance(plans, dict) or not plans:
        fields.refuse("plans", "must be an object: the steps of each tool, by its name")
    agent = await find_agent(platform, org_id, agent_id)
    known = {tool.name for tool in agent.definition.tools}
    for name in plans if isinstance(plans, dict) else ():
        if name not in known:
            problems.append(
                Problem(path=f"/plans/{name}", message=f"the agent declares no tool named {name!r}")
            )
    if problems or not isinstance(plans, dict):
        raise Refused(problems, "the plans")
    tools: list[Json] = [
        tool.as_json() | ({"simulation": plans[tool.name]} if tool.name in plans else {})
        for tool in agent.definition.tools
    ]
    return await change_agent(platform, org_id, agent_id, {"tools_schema": tools})


def _read_request(body: JsonObject) -> _PlanRequest:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(FIELDS)
    task_id = fields.id("task_id", "a task") if fields.has("task_id") else None
    tools = fields.texts("tools") if fields.has("tools") else ()
    recording = None
    recording_body = body.get("recording")
    if recording_body is not None:
        state = recording_body.get("state", {}) if isinstance(recording_body, dict) else None
        tasks = recording_body.get("tasks") if isinstance(recording_body, dict) else None
        if not isinstance(state, dict) or not isinstance(tasks, list):
            fields.refuse("recording", "must be {state, tasks}: state.json and the lines of calls.jsonl")
        else:
            try:
                recording = read_recording(state, tasks)
            except Refused as refused:
                problems += refused.problems
    behavior = fields.text("behavior", longest=LONGEST_BEHAVIOR, may_be_blank=True)
    if problems:
        raise Refused(problems, "the request")
    return _PlanRequest(task_id, tuple(tools), recording, behavior)


def _plan_context(agent: Agent, seed: Seed | None, asked: _PlanRequest) -> TrialSetting:
    recording = asked.recording
    state: JsonObject = {}
    if seed is not None:
        state = seed.initial_state
    elif recording is not None:
        first = next((task.state for task in recording.tasks if task.state is not None), None)
        state = recording.state or first or {}
    return TrialSetting(
        tools=agent.definition.tools,
        ledger_schema=agent.definition.ledger_schema,
        world=World.from_initial_state(state),
        behavior=asked.behavior or (seed.behavior_instructions if seed is not None else None),
        reading_limit=partial(has_time, MOST_READING_S),
        clock=time.perf_counter,
        rules=active_rules(agent.definition.rules, seed.rules if seed is not None else ()),
    )


def _prepare(agent: Agent, seed: Seed | None, asked: _PlanRequest) -> tuple[TrialSetting, PlannedSimulator]:
    """Beside the loop: a recording may have many megabytes of state, and reading plans takes its time."""
    context = _plan_context(agent, seed, asked)
    simulator = context.simulator()
    for name in simulator.tools:
        simulator.plan_of(name)
    return context, simulator


def _tools_to_plan(named: tuple[str, ...], simulator: PlannedSimulator) -> list[str]:
    unknown = [name for name in named if name not in simulator.tools]
    if unknown:
        listed = [
            Problem(path="/tools", message=f"the agent declares no tool named {name!r}") for name in unknown
        ]
        raise Refused(listed, "the request")
    if named:
        return list(dict.fromkeys(named))
    found = simulator.plans.items()
    tools = simulator.tools
    return [
        name
        for name, plan in found
        if (plan.is_guess or plan.plan is None) and not tools[name].is_passthrough
    ]


async def _proposal(
    platform: Platform,
    asker: Asker,
    name: str,
    around: TrialSetting,
    simulator: PlannedSimulator,
    recording: Recording | None,
) -> JsonObject:
    written = await _write_plan(platform, asker, name, around, simulator, recording)
    present = simulator.plan_of(name)
    before = present.plan.as_json() if present.plan is not None else None
    now = None
    if recording is not None:
        now = await platform.plan_readers.run(
            partial(fidelity_now, name, around, recording), owner=asker.org_id
        )
    best = written.best
    return {
        "tool": name,
        "plan": best.steps,
        "text": plan_as_yaml(best.steps) if not best.problems else None,
        "difference": [*difference_in_plans(before, best.steps)] if not best.problems else [],
        "why": written.why,
        "rounds": written.rounds,
        "is_usable": not best.problems,
        "problems": [problem.as_json() for problem in (*best.problems, *best.differences)],
        "tried": best.as_json(),
        "fidelity_now": now.as_json() if now is not None else None,
        "model": written.asked.model,
        "exchange_id": written.asked.exchange_id,
    }


async def _write_plan(
    platform: Platform,
    asker: Asker,
    name: str,
    around: TrialSetting,
    simulator: PlannedSimulator,
    recording: Recording | None,
) -> _WrittenPlan:
    """The best of at most five tries, each told what was wrong with the one before."""
    question = plan_question(name, simulator, recording)
    best: _WrittenPlan | None = None
    for number in range(1, MOST_ROUNDS + 1):
        exchange = await platform.models.ask(asker, question)
        steps = exchange.data["steps"]
        tried = await platform.plan_readers.run(
            partial(try_plan, name, steps, around, recording), owner=asker.org_id
        )
        if best is None or tried.rank > best.best.rank:
            best = _WrittenPlan(tried, str(exchange.data["why"]), number, exchange)
        if tried.is_done:
            break
        question = question.again(dumps(exchange.data).decode(), [*tried.problems, *tried.differences])
    assert best is not None
    return best._replace(rounds=number)
