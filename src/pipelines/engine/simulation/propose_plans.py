"""Plans for tools without a good one: a model writes them in one conversation about all of these tools. A
plan that fails its check goes back to it once, with the reason. A person accepts.
"""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pipelines.core.ledger.initial_state import read_initial_state
from pipelines.core.ledger.ledger import World
from pipelines.core.models.model_question import ModelQuestion, Purpose
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.example_calls import replayed
from pipelines.core.simulation.fidelity.examples import CallSplit, select_examples
from pipelines.core.simulation.fidelity.recording import Recording, read_recording
from pipelines.core.simulation.proposed_plans.backend_data import ExampleCalls, in_order_of_types
from pipelines.core.simulation.proposed_plans.conversation import (
    AnsweredPlan,
    Conversation,
    answer_problems,
    answered_plans,
    start_conversation,
)
from pipelines.core.simulation.proposed_plans.plan_trial import (
    Outcomes,
    PlanTrial,
    TrialSetting,
    recorded_outcomes,
    try_plans,
)
from pipelines.core.simulation.proposed_plans.proposal import (
    PresentPlan,
    ProposedPlan,
    ProposedPlanList,
    proposal_of,
)
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.tasks.seed import Seed
from pipelines.core.tasks.seed_limits import LONGEST_BEHAVIOR
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject
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
from pipelines.wire.errors import ModelFailed

MOST_TOOLS = 60  # of one conversation
FIELDS = ("task_id", "tools", "recording", "behavior")


class _PlanRequest(NamedTuple):
    task_id: int | None
    tools: tuple[str, ...]
    recording: Recording | None
    behavior: str | None  # in place of the task's


class _PlanWork(NamedTuple):
    """What is asked for, and what it is compared with."""

    around: TrialSetting
    present: PlannedSimulator
    tools: tuple[str, ...]
    left_out: tuple[str, ...]
    splits: Mapping[str, CallSplit]  # of tools with recorded calls
    outcomes: Outcomes  # with the plans that the tools have
    conversation: Conversation


class _Try(NamedTuple):
    """A plan of an answer, and what came of it."""

    plan: AnsweredPlan
    trial: PlanTrial
    answer: CheckedAnswer


class _WrittenPlan(NamedTuple):
    best: _Try
    rounds: int


async def propose_plans(platform: Platform, org_id: int, agent_id: int, body: JsonObject) -> AuthorJob:
    """Asks for plans of the tools that are named, or of those whose plan is a guess or does not explain what
    was recorded. Nothing is stored but the answer of the job, and nothing is applied."""
    request = await platform.plan_readers.run(partial(_read_request, body), owner=org_id)
    agent = await find_agent(platform, org_id, agent_id)
    named = await models_named_for(platform, agent, None)
    platform.models.needed(Purpose.AUTHOR, named)
    seed = await seed_of_task(platform, org_id, request.task_id) if request.task_id is not None else None
    _refuse_unknown(request.tools, agent)
    asker = Asker(org_id=org_id, subject=subject_of(agent_id), named=named)
    work = partial(_propose, platform, asker, agent, seed, request)
    return await start_job(platform, org_id, subject_of(agent_id), work)


def subject_of(agent_id: int) -> str:
    return f"agent {agent_id}"


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
            recording = _read_recording(state, tasks, problems)
    behavior = fields.text("behavior", longest=LONGEST_BEHAVIOR, may_be_blank=True)
    if problems:
        raise Refused(problems, "the request")
    return _PlanRequest(task_id, tuple(dict.fromkeys(tools)), recording, behavior)


def _read_recording(state: JsonObject, tasks: Sequence[Json], problems: list[Problem]) -> Recording | None:
    try:
        recording = read_recording(state, tasks)
    except Refused as refused:
        problems += refused.problems
        return None
    states = {"/recording/state": state}
    states |= {f"line {at}": task.state for at, task in enumerate(recording.tasks, 1) if task.state}
    for path, each in states.items():
        read_initial_state(each, ledger_schema=None, path=path, problems=problems)
    return recording


def _refuse_unknown(named: Sequence[str], agent: Agent) -> None:
    known = {tool.name for tool in agent.definition.tools}
    problems = [
        Problem(path="/tools", message=f"the agent declares no tool named {name[:128]!r}")
        for name in named
        if name not in known
    ]
    if problems:
        raise Refused(problems, "the request")


async def _propose(
    platform: Platform,
    asker: Asker,
    agent: Agent,
    seed: Seed | None,
    request: _PlanRequest,
    progress: Progress,
) -> JsonObject:
    work = await platform.plan_readers.run(partial(_prepare, agent, seed, request), owner=asker.org_id)
    conversation = work.conversation
    written: dict[str, _WrittenPlan] = {}
    for turn in conversation.turns:
        await progress(len(written), len(work.tools))
        kept = {name: one.best.plan.steps for name, one in written.items() if not one.best.trial.problems}
        some = await _write_plans(platform, asker, work.around, conversation, turn.tools, kept)
        conversation = conversation.after([one.best.plan for one in some.values()])
        written |= some
    await progress(len(written), len(work.tools))
    shown = await platform.plan_readers.run(partial(_proposals, work, written), owner=asker.org_id)
    return shown.as_json()


async def _write_plans(
    platform: Platform,
    asker: Asker,
    around: TrialSetting,
    conversation: Conversation,
    tools: Sequence[str],
    kept: Mapping[str, Json],
) -> dict[str, _WrittenPlan]:
    """Of one turn. Plans that fail go back once; of two tries of a plan the better is taken."""
    question = conversation.question()
    first = await _ask_and_try(platform, asker, around, question, tools, kept)
    best = {name: _WrittenPlan(one, 1) for name, one in first.items()}
    wrong = {name: one.trial.complaints for name, one in first.items() if not one.trial.is_done}
    if not wrong:
        return best
    answer = next(iter(first.values())).answer.data
    right = {name: one.plan.steps for name, one in first.items() if name not in wrong}
    again = conversation.again(question, answer, wrong)
    try:
        second = await _ask_and_try(platform, asker, around, again, [*wrong], {**kept, **right})
    except ModelFailed:
        return best
    for name, one in second.items():
        better = max(first[name], one, key=lambda each: each.trial.rank)
        best[name] = _WrittenPlan(better, 2)
    return best


async def _ask_and_try(
    platform: Platform,
    asker: Asker,
    around: TrialSetting,
    question: ModelQuestion,
    tools: Sequence[str],
    kept: Mapping[str, Json],
) -> dict[str, _Try]:
    answer = await platform.models.ask(asker, question, check=partial(answer_problems, tools=tools))
    plans = answered_plans(answer.data)
    tried = await platform.plan_readers.run(partial(try_plans, plans, around, kept=kept), owner=asker.org_id)
    return {name: _Try(plans[name], tried[name], answer) for name in tools}


def _plan_context(agent: Agent, seed: Seed | None, request: _PlanRequest) -> TrialSetting:
    recording = request.recording
    state: JsonObject = {}
    if seed is not None:
        state = seed.initial_state
    elif recording is not None:
        state = _state_with_all_types(recording)
    return TrialSetting(
        tools=agent.definition.tools,
        ledger_schema=agent.definition.ledger_schema,
        world=World.from_initial_state(state),
        behavior=request.behavior or (seed.behavior_instructions if seed is not None else None),
        reading_limit=partial(has_time, MOST_READING_S),
        clock=time.perf_counter,
        rules=active_rules(agent.definition.rules, seed.rules if seed is not None else ()),
        recording=recording,
        now=seed.now if seed is not None else None,
    )


def _state_with_all_types(recording: Recording) -> JsonObject:
    """Where tasks have a state of their own, each type as it is in the first task that has it."""
    state = {**recording.state}
    for task in recording.tasks:
        state = {**(task.state or {}), **state}
    return state


def _prepare(agent: Agent, seed: Seed | None, request: _PlanRequest) -> _PlanWork:
    """Beside the loop: a recording may have many megabytes of state, and reading plans takes its time."""
    around = _plan_context(agent, seed, request)
    present = around.simulator()
    splits = around.splits(request.tools or present.tools)
    outcomes = recorded_outcomes(around, splits)
    tools = in_order_of_types(request.tools or _tools_without_good_plan(present, outcomes), present)
    some = tools[:MOST_TOOLS]
    return _PlanWork(
        around=around,
        present=present,
        tools=tuple(some),
        left_out=tuple(tools[MOST_TOOLS:]),
        splits=splits,
        outcomes=outcomes,
        conversation=start_conversation(some, present, partial(_examples, around, splits), now=around.now),
    )


def _tools_without_good_plan(present: PlannedSimulator, outcomes: Outcomes) -> list[str]:
    """A recording decides over how sure a plan is, and whether it was written or read. Without recorded calls
    it is whether the plan is a guess in this world."""
    return [
        name
        for name, tool in present.tools.items()
        if (
            not all(one.is_right for one in outcomes[name].values())
            if name in outcomes
            else not tool.is_passthrough and _is_guess(present, name)
        )
    ]


def _is_guess(present: PlannedSimulator, name: str) -> bool:
    found = present.plan_of(name)
    return found.plan is None or found.is_guess


def _examples(around: TrialSetting, splits: Mapping[str, CallSplit], tool: str) -> ExampleCalls:
    if around.recording is None or tool not in splits:
        return ExampleCalls()
    split = splits[tool]
    shown = select_examples(around.recording, tool, among=split.shown)
    return ExampleCalls(shown, len(split.shown) + len(split.held_out))


def _proposals(work: _PlanWork, written: Mapping[str, _WrittenPlan]) -> ProposedPlanList:
    return ProposedPlanList(
        items=tuple(_proposal(work, name, one) for name, one in written.items()), left_out=work.left_out
    )


def _proposal(work: _PlanWork, name: str, written: _WrittenPlan) -> ProposedPlan:
    plan, trial, answer = written.best
    found = work.present.plan_of(name)
    examples = [replayed(one, work.present, now=work.around.now).shown for one in plan.examples]
    present = PresentPlan(
        body=found.plan.as_json() if found.plan is not None else None,
        outcomes=work.outcomes.get(name, {}),
        right_examples=sum(one["problem"] is None for one in examples),
    )
    return proposal_of(
        plan,
        trial,
        present,
        work.splits.get(name),
        rounds=written.rounds,
        model=answer.model,
        exchange_id=answer.exchange_id,
    )
