"""Asking for runs: a batch over a dataset or some tasks, its progress, stopping and resuming it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pipelines.core.agents.agent_definition import MAX_CONCURRENCY
from pipelines.core.coding.coding_tasks import HTTP_HINT, HTTP_REFUSAL
from pipelines.core.models.honesty_level import read_honesty
from pipelines.core.models.model_budget import FIELDS as BUDGET_FIELDS
from pipelines.core.models.model_budget import Budget, read_budget
from pipelines.core.models.model_question import Purpose
from pipelines.core.results.task_statistics import summary_of
from pipelines.core.text.authored import Fields, is_id
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.failure_rules import FaultSeed, read_fault_seed
from pipelines.core.tools.live_tools import REPLAY
from pipelines.core.tools.passthrough_choice import FIELDS as PASSTHROUGH_FIELDS
from pipelines.core.tools.passthrough_choice import Passthrough, read_passthrough
from pipelines.engine.batches.change_batch import (
    NewBatch,
    cancel_runs,
    every_repeat,
    resume_runs,
    store_batch,
)
from pipelines.engine.batches.check_budget import check_budget, raise_budget
from pipelines.engine.batches.run_batch import BatchRunner
from pipelines.engine.endpoints.bind_endpoints import refuse_drift
from pipelines.engine.endpoints.prepare_cassette import check_cassette, prepare_cassette
from pipelines.engine.find import find_agent, find_batch, find_dataset
from pipelines.engine.judging.choose_honesty import honesty_of
from pipelines.engine.models.ask_model_for_reply import refuse_without_model
from pipelines.engine.models.choose_model import models_named_for
from pipelines.engine.platform import Platform
from pipelines.engine.simulation.check_rules import check_rules
from pipelines.storage.lists import batch_outcomes
from pipelines.storage.runs import batches
from pipelines.storage.runs.batches import Batch
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.datasets import TaskToRun
from pipelines.storage.tasks.texts import SLICE_ROWS
from pipelines.wire.errors import AgentIsDraft, Conflict, NotFound

MAX_REPEATS = 100
FIELDS = (
    *("agent_id", "dataset_id", "task_ids", "repeats", "concurrency", "mode", "fault_seed", "honesty"),
    *PASSTHROUGH_FIELDS,
    *BUDGET_FIELDS,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _BatchRequest:
    agent_id: int
    dataset_id: int | None
    task_ids: tuple[int, ...] | None
    repeats: int
    concurrency: int  # at most the agent's
    fault_seed: FaultSeed
    passthrough: Passthrough
    budget: Budget
    honesty: str | None  # in place of the dataset's and the agent's


async def open_batch(platform: Platform, runner: BatchRunner, org_id: int, body: JsonObject) -> Batch:
    """Store one pending run per task and repeat, then queue them. Nothing is sent before all are stored."""
    request = _read_request(body)
    agent = await find_agent(platform, org_id, request.agent_id)
    if agent.status == "draft":
        raise AgentIsDraft
    if agent.definition.is_code:
        await platform.code_mode.opened()  # refused here rather than once per run
    if request.passthrough.mode != REPLAY:  # then the endpoint as it was recorded is what counts
        await refuse_drift(platform, agent)
    tasks = await _load_tasks(platform, org_id, request)
    _check_tasks(tasks, request, most=platform.limits.batch_runs, is_code=agent.definition.is_code)
    if any(task.needs_model for task in tasks):
        platform.models.needed(Purpose.USER, await models_named_for(platform, agent, request.dataset_id))
    await check_rules(platform, agent, tasks, of_dataset=request.dataset_id is not None)
    await refuse_without_model(platform, agent, request.dataset_id or tasks[0].dataset_id)
    await check_cassette(platform, org_id, request.passthrough, "the batch")
    await check_budget(platform, org_id, request.budget, agent, request.dataset_id, what="the batch")
    new = NewBatch(
        org_id=org_id,
        agent=agent,
        dataset_id=request.dataset_id,
        tasks=tasks,
        planned_runs=every_repeat(len(tasks), request.repeats),
        repeats=request.repeats,
        concurrency=min(request.concurrency, agent.definition.max_concurrency),
        fault_seed=request.fault_seed,
        passthrough=request.passthrough,
        budget=request.budget,
        honesty=request.honesty
        or await honesty_of(platform, agent, request.dataset_id or tasks[0].dataset_id),
    )
    await prepare_cassette(platform, org_id, request.passthrough)
    batch = await find_batch(platform, org_id, await store_batch(platform, new))
    await runner.enqueue(batch)
    return batch


async def read_batch(platform: Platform, org_id: int, batch_id: int) -> JsonObject:
    """The batch, how far it is, and what can be said of the agent by now."""
    batch = await find_batch(platform, org_id, batch_id)
    counts, outcomes, reasons, unverified = await platform.database.read(
        lambda connection: (
            batches.counts_of_batch(connection, batch.id),
            batches.outcomes_by_task(connection, batch.id),
            batch_outcomes.pending_reasons_of_batch(connection, batch.id),
            batch_outcomes.unverified_of_batch(connection, batch.id),
        )
    )
    body: JsonObject = {"pending_reasons": {**reasons}, "unverified": unverified}
    return batch.as_json() | {"counts": counts, "summary": summary_of(outcomes, batch.repeats) | body}


async def cancel_batch(platform: Platform, runner: BatchRunner, org_id: int, batch_id: int) -> Batch:
    """Rows first: whatever a worker hears from an agent after that changes nothing."""
    batch = await find_batch(platform, org_id, batch_id)
    if batch.status != "running":
        raise Conflict(f"Batch {batch_id} has already ended ({batch.status}).")
    await platform.database.write(partial(batches.stop_batch, batch_id=batch_id, now=platform.now()))
    async for run_id in cancel_runs(platform, batch_id):
        runner.cancel(run_id)
    runner.on_end(batch_id)
    return await find_batch(platform, org_id, batch_id)


async def resume_batch(
    platform: Platform, runner: BatchRunner, org_id: int, batch_id: int, body: JsonObject | None = None
) -> Batch:
    """Go on with what was not sent, and send again what was cancelled or interrupted, each as a new run.

    A budget in the body takes the place of the one before; one that is used up keeps it from going on.
    """
    batch = await find_batch(platform, org_id, batch_id)
    await raise_budget(platform, batch, body or {})
    if batch.passthrough != REPLAY:
        await refuse_drift(platform, await find_agent(platform, org_id, batch.agent_id, batch.agent_version))
    await resume_runs(platform, org_id, batch_id)
    batch = await find_batch(platform, org_id, batch_id)
    if batch.status == "running" and batch.unqueued_since is not None:
        await runner.enqueue(batch)
    return batch


async def _load_tasks(platform: Platform, org_id: int, asked: _BatchRequest) -> list[TaskToRun]:
    """What the batch is over, in the author's order, or the order they were asked for."""
    if asked.dataset_id is not None:
        return await _tasks_of_dataset(platform, org_id, asked.dataset_id)
    found: dict[int, TaskToRun] = {}
    task_ids = asked.task_ids or ()
    for start in range(0, len(task_ids), SLICE_ROWS):
        some = await platform.database.read(
            partial(datasets.tasks_to_run_by_id, org_id=org_id, task_ids=task_ids[start : start + SLICE_ROWS])
        )
        found |= {task.id: task for task in some}
    for task_id in task_ids:
        if task_id not in found:
            raise NotFound(f"There is no task {task_id}.")
    return [found[task_id] for task_id in task_ids]


async def _tasks_of_dataset(platform: Platform, org_id: int, dataset_id: int) -> list[TaskToRun]:
    await find_dataset(platform, org_id, dataset_id)
    tasks: list[TaskToRun] = []
    after_id: int | None = None
    while len(tasks) <= platform.limits.batch_runs:
        page = await platform.database.read(
            partial(datasets.tasks_to_run, dataset_id=dataset_id, limit=SLICE_ROWS, after_id=after_id)
        )
        tasks += page.items
        after_id = page.last_id
        if after_id is None:
            break
    return tasks


def _check_tasks(tasks: list[TaskToRun], asked: _BatchRequest, *, most: int, is_code: bool) -> None:
    if not tasks:
        raise Refused([Problem(path="/dataset_id", message="has no tasks to run")], "the batch")
    if len(tasks) * asked.repeats > most:
        message = f"these are {len(tasks) * asked.repeats:,} runs; a batch has at most {most:,}"
        hint = "start several, or raise PIPELINES_BATCH_RUNS"
        raise Refused([Problem(path="/repeats", message=message, hint=hint)], "the batch")
    if not is_code and (problems := coding_refusals(tasks)):
        raise Refused(problems, "the batch")


def coding_refusals(tasks: Sequence[TaskToRun]) -> list[Problem]:
    """Of an agent that is reached over HTTP."""
    return [
        Problem(path=f"task {task.id}", message=HTTP_REFUSAL, hint=HTTP_HINT)
        for task in tasks
        if task.is_coding
    ]


def _read_request(body: JsonObject) -> _BatchRequest:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(FIELDS)
    agent_id = fields.id("agent_id", "an agent")
    if fields.has("dataset_id") == fields.has("task_ids"):
        problems.append(Problem(path="", message="give either `dataset_id` or `task_ids`"))
    dataset_id = fields.id("dataset_id", "a dataset") if fields.has("dataset_id") else None
    task_ids = _read_task_ids(fields)
    if "mode" in body and body["mode"] != "dispatch":
        hint = 'leave it out, or send "manual" with one task to drive the run yourself'
        fields.refuse("mode", "must be 'dispatch' or 'manual'", hint)
    repeats = fields.whole_number("repeats", 1, least=1, most=MAX_REPEATS)
    concurrency = fields.whole_number("concurrency", MAX_CONCURRENCY, least=1, most=MAX_CONCURRENCY)
    fault_seed = read_fault_seed(fields, may_repeat=True)
    passthrough = read_passthrough(fields)
    budget = read_budget(fields)
    honesty = read_honesty(fields)
    if problems or agent_id is None:
        raise Refused(problems, "the batch")
    return _BatchRequest(
        agent_id=agent_id,
        dataset_id=dataset_id,
        task_ids=task_ids,
        repeats=repeats,
        concurrency=concurrency,
        fault_seed=fault_seed,
        passthrough=passthrough,
        budget=budget,
        honesty=honesty,
    )


def _read_task_ids(fields: Fields) -> tuple[int, ...] | None:
    listed = fields.get("task_ids")
    if listed is None:
        return None
    ids = tuple(id for id in listed if is_id(id)) if isinstance(listed, list) else ()
    if not ids or not isinstance(listed, list) or len(ids) < len(listed):
        fields.refuse("task_ids", "must be a list of task ids")
    elif len(set(ids)) < len(ids):
        fields.refuse("task_ids", "has a task twice", "to run a task more than once, use `repeats`")
    return ids
