"""Asking for runs: a batch over a dataset or some tasks, its progress, stopping and resuming it."""

import secrets
from dataclasses import dataclass

from pipelines.core.agent_definition import MAX_CONCURRENCY
from pipelines.core.authored import Fields, is_id
from pipelines.core.failure_rules import FaultSeed, read_fault_seed
from pipelines.core.json_text import JsonObject
from pipelines.core.problems import Problem, Refused
from pipelines.core.seed import CONVERSATION
from pipelines.core.statistics import mean_pass_hat_k, wilson
from pipelines.engine.platform import Platform
from pipelines.engine.register_agent import find_agent
from pipelines.engine.run_batch import BatchRunner
from pipelines.storage import batches, datasets, runs
from pipelines.storage.agents import Agent
from pipelines.storage.batches import Batch
from pipelines.storage.connection import Connection
from pipelines.storage.datasets import Task
from pipelines.storage.keys import hash_of
from pipelines.storage.runs import NewRun
from pipelines.wire.errors import AgentIsDraft, Conflict, NotFound
from pipelines.wire.names import RunStatus

MAX_RUNS = 100_000
MAX_REPEATS = 100
FIELDS = ("agent_id", "dataset_id", "task_ids", "repeats", "concurrency", "mode", "fault_seed")
NEVER = "9999-12-31T23:59:59.999999Z"  # a pending run has no token yet; its claim gives it one and a time


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    agent_id: int
    dataset_id: int | None
    task_ids: tuple[int, ...] | None
    repeats: int
    concurrency: int  # at most the agent's
    fault_seed: FaultSeed


async def open_batch(platform: Platform, runner: BatchRunner, org_id: int, body: JsonObject) -> Batch:
    """Store one pending run per task and repeat, then queue them. Nothing is sent before all are stored."""
    asked = _read(body)
    agent = await find_agent(platform, org_id, asked.agent_id)
    if agent.status == "draft":
        raise AgentIsDraft
    if agent.definition.is_code:
        await platform.code_mode.opened()  # refused here rather than once per run
    now = platform.now()
    batch = await platform.database.write(lambda connection: _store(connection, now, org_id, agent, asked))
    await runner.enqueue(batch)
    return batch


async def find_batch(platform: Platform, org_id: int, batch_id: int) -> Batch:
    batch = await platform.database.read(
        lambda connection: batches.batch_by_id(connection, org_id=org_id, batch_id=batch_id)
    )
    if batch is None:
        raise NotFound(f"There is no batch {batch_id}.")
    return batch


async def read_batch(platform: Platform, org_id: int, batch_id: int) -> JsonObject:
    """The batch, how far it is, and what can be said of the agent by now."""
    batch = await find_batch(platform, org_id, batch_id)
    counts, outcomes = await platform.database.read(
        lambda connection: (
            batches.counts_of_batch(connection, batch.id),
            batches.outcomes_by_task(connection, batch.id),
        )
    )
    return batch.as_json() | {"counts": counts, "summary": _summary(outcomes, batch.repeats)}


async def cancel_batch(platform: Platform, runner: BatchRunner, org_id: int, batch_id: int) -> Batch:
    """Rows first: whatever a worker hears from an agent after that changes nothing."""
    batch = await find_batch(platform, org_id, batch_id)
    if batch.status != "running":
        raise Conflict(f"Batch {batch_id} has already ended ({batch.status}).")
    now = platform.now()
    for run_id in await platform.database.write(
        lambda connection: batches.cancel_batch(connection, batch_id=batch_id, now=now)
    ):
        runner.cancel(run_id)
    return await find_batch(platform, org_id, batch_id)


async def resume_batch(platform: Platform, runner: BatchRunner, org_id: int, batch_id: int) -> Batch:
    """Go on with what was not sent, and send again what was cancelled or interrupted, each as a new run."""
    await find_batch(platform, org_id, batch_id)
    now = platform.now()

    def store(connection: Connection) -> None:
        batches.make_pending_again(connection, batch_id=batch_id)
        for run_id in batches.runs_to_retry(connection, batch_id=batch_id):
            _copy(connection, org_id, run_id, now)
        batches.reopen_batch(connection, batch_id=batch_id, now=now)

    await platform.database.write(store)
    batch = await find_batch(platform, org_id, batch_id)
    if batch.unqueued_since is not None:
        await runner.enqueue(batch)
    return batch


def _store(connection: Connection, now: str, org_id: int, agent: Agent, asked: _Asked) -> Batch:
    tasks = _tasks(connection, org_id, asked)
    _check(tasks, asked)
    batch_id = batches.add_batch(
        connection,
        org_id=org_id,
        agent_id=agent.id,
        agent_version=agent.version,
        dataset_id=asked.dataset_id,
        repeats=asked.repeats,
        concurrency=min(asked.concurrency, agent.definition.max_concurrency),
        fault_seed=asked.fault_seed,
        now=now,
    )
    version = (agent.id, agent.version)
    new: list[NewRun] = []
    for repeat in range(1, asked.repeats + 1):
        fault_seed = repeat if asked.fault_seed == "repeat" else asked.fault_seed
        new += [_pending(task, version, batch_id, repeat, fault_seed, now) for task in tasks]
    runs.add_runs(connection, new)
    batch = batches.batch_by_id(connection, org_id=org_id, batch_id=batch_id)
    assert batch is not None
    return batch


def _pending(
    task: Task, version: tuple[int, int], batch_id: int, repeat: int, fault_seed: int, now: str
) -> NewRun:
    return NewRun(
        org_id=task.org_id,
        agent_id=version[0],
        agent_version=version[1],
        task_id=task.id,
        dataset_id=task.dataset_id,
        batch_id=batch_id,
        repeat_number=repeat,
        mode="dispatch",
        status=RunStatus.PENDING,
        jti=secrets.token_hex(16),
        token_hash=hash_of(secrets.token_hex(16)),
        seed_text=task.seed_text,
        world_hash=task.world_hash,
        simulated_now=task.created_at,
        fault_seed=fault_seed,
        soft_warnings=[],
        created_at=now,
        expires_at=NEVER,
    )


def _copy(connection: Connection, org_id: int, run_id: int, now: str) -> int:
    """A new attempt at what a run was asked; the old one stays as it ended."""
    run = runs.run_by_id(connection, org_id=org_id, run_id=run_id)
    assert run is not None
    task = datasets.task_by_id(connection, org_id=org_id, task_id=run.task_id)
    assert task is not None
    assert run.batch_id is not None
    runs.mark_retried(connection, run_id=run_id)
    version = (run.agent_id, run.agent_version)
    again = _pending(task, version, run.batch_id, run.repeat_number, run.fault_seed, now)
    return runs.add_run(connection, again)


def _tasks(connection: Connection, org_id: int, asked: _Asked) -> list[Task]:
    if asked.dataset_id is not None:
        dataset = datasets.dataset_by_id(connection, org_id=org_id, dataset_id=asked.dataset_id)
        if dataset is None:
            raise NotFound(f"There is no dataset {asked.dataset_id}.")
        return datasets.tasks_of_dataset(connection, dataset.id, limit=MAX_RUNS + 1, after_id=None).items
    found = []
    for task_id in asked.task_ids or ():
        task = datasets.task_by_id(connection, org_id=org_id, task_id=task_id)
        if task is None:
            raise NotFound(f"There is no task {task_id}.")
        found.append(task)
    return found


def _check(tasks: list[Task], asked: _Asked) -> None:
    if not tasks:
        raise Refused([Problem(path="/dataset_id", message="has no tasks to run")], "the batch")
    if len(tasks) * asked.repeats > MAX_RUNS:
        message = f"{len(tasks) * asked.repeats:,} runs; a batch has at most {MAX_RUNS:,}"
        raise Refused([Problem(path="/repeats", message=message)], "the batch")
    problems = [
        Problem(
            path=f"task {task.id}",
            message="plays the user by a persona, which needs a model; that is not there yet",
            hint='set simulator_mode to "scripted" and give scripted_user_turns',
        )
        for task in tasks
        if _needs_model(task)
    ]
    if problems:
        raise Refused(problems, "the batch")


def _needs_model(task: Task) -> bool:
    # A text without the word is no conversation: of thousands of tasks, most need not be read to know it.
    if CONVERSATION not in task.seed_text:
        return False
    return task.seed.is_conversation and task.seed.simulator_mode != "scripted"


def _read(body: JsonObject) -> _Asked:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(FIELDS)
    agent_id = fields.id("agent_id", "an agent")
    if fields.has("dataset_id") == fields.has("task_ids"):
        problems.append(Problem(path="", message="give one of `dataset_id` and `task_ids`"))
    dataset_id = fields.id("dataset_id", "a dataset") if fields.has("dataset_id") else None
    task_ids = _read_task_ids(fields)
    if "mode" in body and body["mode"] != "dispatch":
        hint = 'leave it out, or send "manual" with one task to drive the run yourself'
        fields.refuse("mode", "must be 'dispatch' or 'manual'", hint)
    repeats = fields.whole_number("repeats", 1, least=1, most=MAX_REPEATS)
    concurrency = fields.whole_number("concurrency", MAX_CONCURRENCY, least=1, most=MAX_CONCURRENCY)
    fault_seed = read_fault_seed(fields, may_repeat=True)
    if problems or agent_id is None:
        raise Refused(problems, "the batch")
    return _Asked(
        agent_id=agent_id,
        dataset_id=dataset_id,
        task_ids=task_ids,
        repeats=repeats,
        concurrency=concurrency,
        fault_seed=fault_seed,
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


def _summary(outcomes: list[tuple[int, int]], repeats: int) -> JsonObject:
    """Pass rate over judged runs with its interval, and pass^k where tasks were repeated."""
    passed, judged = sum(passes for passes, _ in outcomes), sum(tries for _, tries in outcomes)
    summary: JsonObject = {"passed": passed, "judged": judged, "pass_rate": None, "pass_rate_interval": None}
    if judged:
        low, high = wilson(passed, judged)
        summary["pass_rate"] = round(passed / judged, 4)
        summary["pass_rate_interval"] = [round(low, 4), round(high, 4)]
    by_k: JsonObject = {}
    for k in range(2, repeats + 1):
        share = mean_pass_hat_k([one for one in outcomes if one[1] >= k], k)
        if share is not None:
            by_k[str(k)] = round(float(share), 4)
    return summary | {"pass_hat_k": by_k}
