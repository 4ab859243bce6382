"""Starting a matrix, or runs of one scenario; stopping it, going on with it, asking a cell more often.

A matrix is a batch of ordinary runs: sending, killing and resuming them is `run_batch`'s.
"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pipelines.core.agents.delivery import delivery_for
from pipelines.core.evals.matrix.matrix_request import (
    MatrixRequest,
    read_matrix,
    unknown_scenarios,
    unknown_variations,
)
from pipelines.core.evals.matrix.matrix_tasks import MatrixPlan
from pipelines.core.evals.scenarios.pair import JOINT, with_pairs
from pipelines.core.evals.scenarios.scenario import read_scenario
from pipelines.core.evals.scenarios.variation import Variation
from pipelines.core.models.model_question import Purpose
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import MOST_SHOWN, Problem, Refused
from pipelines.engine.batches import open_batch
from pipelines.engine.batches.change_batch import add_runs
from pipelines.engine.batches.check_budget import check_budget
from pipelines.engine.batches.run_batch import BatchRunner
from pipelines.engine.batches.store_matrix import SCENARIOS_AT_ONCE, store_matrix
from pipelines.engine.endpoints.bind_endpoints import refuse_drift
from pipelines.engine.evals.edit_scenarios import known_variations
from pipelines.engine.find import find_agent, find_batch, find_matrix
from pipelines.engine.judging import score_eval_run
from pipelines.engine.models.ask_model_for_reply import refuse_without_model
from pipelines.engine.platform import Platform
from pipelines.storage.agents import agents
from pipelines.storage.agents.agents import Agent
from pipelines.storage.evals import eval_outcomes, eval_scenarios, evals
from pipelines.storage.evals.eval_scenarios import ListedScenario, StoredScenario
from pipelines.storage.evals.evals import Matrix, NewMatrix
from pipelines.storage.runs import batches
from pipelines.storage.tasks import datasets
from pipelines.wire.errors import AgentIsDraft, Conflict, NotFound

MAX_MATRIX_RUNS = 200_000  # 100,000 cells with their baselines, and some
MAX_RUN_IDS = 1_000  # shown in the answer to a request for runs
MOST_BASELINES = 50  # that a run is compared with, of those that are there
NAMES_COMPARED = 1_000  # scenarios, for a hint on one that is not there
AGENTS_LISTED = 50


def new_matrix_id() -> str:
    return f"mtx_{secrets.token_hex(12)}"


class OpenedMatrix(NamedTuple):
    matrix: Matrix
    runs: int
    run_ids: list[int]  # of a request for runs; of a matrix they are listed at its own address

    def as_json(self) -> JsonObject:
        ids: list[Json] = list(self.run_ids)
        body: JsonObject = self.matrix.as_json() | {"runs": self.runs}
        return body | ({"run_ids": ids} if self.matrix.kind == "run" else {})


async def open_matrix(
    platform: Platform,
    runner: BatchRunner,
    org_id: int,
    asked: MatrixRequest,
    *,
    most_runs: int = MAX_MATRIX_RUNS,
) -> OpenedMatrix:
    """Every scenario crossed with every variation; or one scenario's baseline, or one variation of it with a
    baseline where there is none to compare with. Nothing is sent before all of it is stored."""
    checked = await _check_request(platform, org_id, asked, most_runs)
    agent = checked.agent
    if agent.status == "draft":
        raise AgentIsDraft
    await refuse_without_model(platform, agent, None)
    if agent.definition.is_code:
        await platform.code_mode.opened()  # refused here rather than once per run
    await refuse_drift(platform, agent)
    await check_budget(platform, org_id, asked.budget, agent, None, what="the matrix")
    compared_with = await _baselines(platform, org_id, asked, checked)
    plan = _plan(asked, checked, has_baselines=bool(compared_with))
    concurrency = min(asked.concurrency, agent.definition.max_concurrency)
    new = NewMatrix(
        matrix_id=new_matrix_id(),
        org_id=org_id,
        kind="run" if asked.is_run else "matrix",
        agent_id=agent.id,
        agent_version=agent.version,
        tools_hash=score_eval_run.tools_hash(agent.definition),
        settings=_settings(asked, plan, concurrency, compared_with),
        created_at=platform.now(),
    )
    batch_id = await store_matrix(
        platform,
        new,
        agent,
        plan,
        scenario_ids=asked.scenario_ids,
        concurrency=concurrency,
        budget=asked.budget,
    )
    run_ids: list[int] = []
    if asked.is_run:  # before any is sent
        run_ids = await platform.database.read(
            partial(batches.pending_runs, batch_id=batch_id, first=0, last=2**62)
        )
    await runner.enqueue(await find_batch(platform, org_id, batch_id))
    matrix = await find_matrix(platform, org_id, new.matrix_id)
    return OpenedMatrix(matrix, len(asked.scenario_ids) * plan.runs_of_scenario, run_ids[:MAX_RUN_IDS])


class CheckedMatrix(NamedTuple):
    """A request that could be opened as it stands."""

    asked: MatrixRequest
    agent: Agent
    plan: MatrixPlan
    concurrency: int

    @property
    def runs(self) -> int:
        return len(self.asked.scenario_ids) * self.plan.runs_of_scenario


async def check_matrix(
    platform: Platform, org_id: int, body: JsonObject, *, most_runs: int = MAX_MATRIX_RUNS
) -> CheckedMatrix:
    """What opening it would come to, with nothing stored and nothing sent; Refused as opening it would be."""
    request = read_matrix(body)
    checked = await _check_request(platform, org_id, request, most_runs)
    plan = _plan(request, checked, has_baselines=False)
    concurrency = min(request.concurrency, checked.agent.definition.max_concurrency)
    return CheckedMatrix(request, checked.agent, plan, concurrency)


async def read_progress(platform: Platform, matrix: Matrix) -> JsonObject:
    """The matrix and how far it is, without a report."""
    progress = await platform.database.read(partial(evals.progress_of_matrix, matrix=matrix))
    return matrix.as_json() | {"progress": progress}


async def progress_of_batch(platform: Platform, org_id: int, batch_id: int) -> JsonObject:
    """The same by its batch, for those who watch it."""
    matrix = await platform.database.read(partial(evals.matrix_of_batch, batch_id=batch_id))
    if matrix is None or matrix.org_id != org_id:
        raise NotFound(f"There is no matrix of batch {batch_id}.")
    return await read_progress(platform, matrix)


async def cancel_matrix(platform: Platform, runner: BatchRunner, org_id: int, matrix_id: str) -> Matrix:
    """What has ended stays, and is reported."""
    matrix = await find_matrix(platform, org_id, matrix_id)
    if matrix.status != "running":
        raise Conflict(f"Matrix {matrix_id} has already ended ({matrix.status}).")
    await open_batch.cancel_batch(platform, runner, org_id, matrix.batch_id)
    return await find_matrix(platform, org_id, matrix_id)


async def resume_matrix(
    platform: Platform, runner: BatchRunner, org_id: int, matrix_id: str, body: JsonObject | None = None
) -> Matrix:
    """Go on with what was not sent, and try again what was cancelled or cut off; what has ended stays."""
    matrix = await find_matrix(platform, org_id, matrix_id)
    await open_batch.resume_batch(platform, runner, org_id, matrix.batch_id, body)
    return await find_matrix(platform, org_id, matrix_id)


async def add_runs_to_cell(
    platform: Platform,
    runner: BatchRunner,
    org_id: int,
    matrix_id: str,
    *,
    scenario_id: str,
    variation: str | None,
    runs: int,
) -> Matrix:
    """More runs of one cell (None: of a row's baseline), in turn in the wordings it was asked in."""
    matrix = await find_matrix(platform, org_id, matrix_id)
    tasks = await platform.database.read(
        partial(evals.tasks_of_cell, matrix_id=matrix_id, scenario_id=scenario_id, variation=variation)
    )
    if not tasks:
        cell = variation or evals.BASELINE
        raise NotFound(f"Matrix {matrix_id} has no cell of {scenario_id} and {cell}.")
    ids = [task.task_id for task in tasks]
    to_run, requested = await platform.database.read(
        lambda connection: (
            datasets.tasks_to_run_by_id(connection, org_id=org_id, task_ids=ids),
            eval_outcomes.last_repeats(connection, batch_id=matrix.batch_id, task_ids=ids),
        )
    )
    by_id = {task.id: task for task in to_run}
    last = max(requested.values(), default=0)
    places = [(by_id[ids[(last + at) % len(ids)]], last + at + 1) for at in range(runs)]
    agent = await find_agent(platform, org_id, matrix.agent_id, matrix.agent_version)
    await refuse_drift(platform, agent)
    await add_runs(platform, matrix.batch_id, agent, places)
    await runner.enqueue(await find_batch(platform, org_id, matrix.batch_id))
    return await find_matrix(platform, org_id, matrix_id)


# -- what is asked for, checked whole before anything is stored


class _CheckedRequest(NamedTuple):
    agent: Agent
    scenarios: Mapping[str, ListedScenario]
    variations: tuple[Variation, ...]


async def _check_request(
    platform: Platform, org_id: int, asked: MatrixRequest, most_runs: int
) -> _CheckedRequest:
    """All that is wrong with it in one answer, as far as it can be told."""
    what = "the run" if asked.is_run else "the matrix"
    found = await platform.database.read(
        partial(eval_scenarios.listed_scenarios, org_id=org_id, scenario_ids=asked.scenario_ids)
    )
    problems: list[Problem] = []
    if len(found) < len(asked.scenario_ids):
        names = await platform.database.read(
            partial(eval_scenarios.names_of_scenarios, org_id=org_id, most=NAMES_COMPARED)
        )
        problems += await asyncio.to_thread(unknown_scenarios, asked, found, names)
    known = with_pairs(await known_variations(platform, org_id), asked.variation_ids)
    problems += unknown_variations(asked, known)
    problems += _size_problems(asked, most_runs)
    agent = await _choose_agent(platform, org_id, asked, found, problems)
    if agent is not None:
        problems += _delivery_problems(asked, agent)
    if agent is not None and not problems:
        problems += await _seed_problems(platform, org_id, asked, agent)
    if problems or agent is None:
        raise Refused(problems[:MOST_SHOWN], what, total=len(problems))
    return _CheckedRequest(agent, found, tuple(known[id] for id in asked.variation_ids))


def _delivery_problems(asked: MatrixRequest, agent: Agent) -> list[Problem]:
    delivery = delivery_for(asked.delivery, agent.definition.variation_delivery)
    if delivery != "tool_result" or agent.definition.tools or not asked.variation_ids:
        return []
    message = "the agent declares no tools, so no tool reply can carry a variation"
    return [Problem(path="/delivery", message=message, hint="`system` or `user`")]


def _size_problems(asked: MatrixRequest, most_runs: int) -> list[Problem]:
    columns = len(asked.variation_ids)
    runs = len(asked.scenario_ids) * (asked.baselines + asked.repeats * columns)
    if runs <= most_runs:
        return []
    shape = f"{len(asked.scenario_ids):,} scenarios × {columns} variations × {asked.repeats} repeats"
    message = f"{shape} and the baselines are {runs:,} runs; a matrix has at most {most_runs:,}"
    path = "/repeats" if asked.repeats > 1 else "/scenario_ids"
    return [Problem(path=path, message=message, hint="start several, or raise PIPELINES_EVAL_MATRIX_RUNS")]


async def _choose_agent(
    platform: Platform,
    org_id: int,
    asked: MatrixRequest,
    found: Mapping[str, ListedScenario],
    problems: list[Problem],
) -> Agent | None:
    """The scenarios' own, else the request's, else the org's only published one."""
    named = {listed.agent_id for listed in found.values()}
    if None in named:
        named.add(asked.agent_id or await _only_agent(platform, org_id, problems))
    ids = sorted(id for id in named if id is not None)
    if len(ids) > 1:
        problems.append(_different_agents(asked, found, ids))
        return None
    if not ids:
        return None
    agent = await platform.database.read(partial(agents.agent_by_id, org_id=org_id, agent_id=ids[0]))
    if agent is None:
        own = ids[0] != asked.agent_id
        message = f"there is no agent {ids[0]}" + (", which the scenarios name" if own else "")
        problems.append(Problem(path="/agent_id", message=message))
    return agent


def _different_agents(
    asked: MatrixRequest, found: Mapping[str, ListedScenario], ids: Sequence[int]
) -> Problem:
    agent_texts = []
    for agent_id in ids[:10]:
        first = next((id for id, listed in found.items() if listed.agent_id == agent_id), None)
        agent_texts.append(
            f"agent {agent_id} ({first})" if first is not None else f"agent {agent_id} (the request)"
        )
    message = f"its scenarios are of different agents: {', '.join(agent_texts)}"
    path = "/scenario_id" if asked.is_run else "/scenario_ids"
    return Problem(path=path, message=message, hint="start one matrix for each agent")


async def _only_agent(platform: Platform, org_id: int, problems: list[Problem]) -> int | None:
    there = await platform.database.read(partial(agents.published_agents, org_id=org_id, most=AGENTS_LISTED))
    if len(there) == 1:
        return there[0][0]
    listed = ", ".join(f"{id} ({name[:80]})" for id, name in there)
    if there:
        message = "no agent is named: the scenarios name none, and the org has several"
        hint = f"one of: {listed}"
    else:
        message = "no agent is named, and the org has no published agent"
        hint = "register one: POST /api/agents, or `pipelines odyssey register`"
    problems.append(Problem(path="/agent_id", message=message, hint=hint))
    return None


async def _seed_problems(
    platform: Platform, org_id: int, asked: MatrixRequest, agent: Agent
) -> list[Problem]:
    """Of scenarios with a world: whether this agent's tools can play in it."""
    problems: list[Problem] = []
    has_user = platform.models.model_for(Purpose.USER) is not None
    for start in range(0, len(asked.scenario_ids), SCENARIOS_AT_ONCE):
        some = asked.scenario_ids[start : start + SCENARIOS_AT_ONCE]
        found = await platform.database.read(
            partial(eval_scenarios.scenarios_by_id, org_id=org_id, scenario_ids=some)
        )
        with_world = [each for each in found.values() if '"odyssey_seed":' in each.body_text]
        if with_world:
            problems += await asyncio.to_thread(_world_problems, with_world, agent, has_user)
    return problems


def _world_problems(some: Sequence[StoredScenario], agent: Agent, has_user: bool) -> list[Problem]:
    problems: list[Problem] = []
    for stored in some:
        definition = agent.definition
        try:
            scenario = read_scenario(
                stored.body(), tools=definition.tools, ledger_schema=definition.ledger_schema
            )
        except Refused as refused:
            problems += [
                replace(each, path=f"{stored.scenario_id}: {each.path}") for each in refused.problems
            ]
            continue
        seed = Seed.from_stored({"user_instruction": "", **(scenario.odyssey_seed or {})})
        if seed.needs_model and not has_user:
            message = "plays the user by a persona, which needs a model"
            hint = "set PIPELINES_USER_MODEL or PIPELINES_MODEL, or play it by a script"
            problems.append(Problem(path=f"{stored.scenario_id}: /odyssey_seed", message=message, hint=hint))
    return problems


async def _baselines(
    platform: Platform, org_id: int, asked: MatrixRequest, checked: _CheckedRequest
) -> list[int]:
    """Runs that a variation of one scenario is compared with; none where its baseline is to run too."""
    if not (asked.is_run and asked.variation_ids) or asked.baseline_repeats is not None:
        return []
    (scenario_id,) = asked.scenario_ids
    return await platform.database.read(
        partial(
            eval_outcomes.baseline_runs,
            org_id=org_id,
            scenario_id=scenario_id,
            scenario_version=checked.scenarios[scenario_id].version,
            agent_id=checked.agent.id,
            agent_version=checked.agent.version,
            most=MOST_BASELINES,
        )
    )


def _plan(asked: MatrixRequest, checked: _CheckedRequest, *, has_baselines: bool) -> MatrixPlan:
    is_baseline_only = not asked.variation_ids
    baselines = asked.repeats if is_baseline_only else asked.baselines
    return MatrixPlan(
        variations=checked.variations,
        repeats=asked.repeats,
        baselines=0 if has_baselines else baselines,
        intensity=asked.intensity,
        delivery=delivery_for(asked.delivery, checked.agent.definition.variation_delivery),
        rng_seed=asked.rng_seed if asked.rng_seed is not None else secrets.randbits(32),
    )


def _variation_json(variation: Variation) -> JsonObject:
    """A pair is stored nowhere else, so its name is kept here."""
    named: JsonObject = {"id": variation.id, "version": variation.version}
    return named | ({"name": variation.name} if JOINT in variation.id else {})


def _settings(
    asked: MatrixRequest, plan: MatrixPlan, concurrency: int, compared_with: Sequence[int]
) -> JsonObject:
    variations: list[Json] = [_variation_json(each) for each in plan.variations]
    ids: list[Json] = list(compared_with)
    settings: JsonObject = {
        "scenarios": len(asked.scenario_ids),
        "variations": variations,
        "repeats": plan.repeats,
        "baseline_repeats": plan.baselines,
        "intensity": plan.intensity,
        "delivery": plan.delivery,
        "rng_seed": plan.rng_seed,
        "concurrency": concurrency,
    }
    return settings | ({"baseline_run_ids": ids} if ids else {})
