"""A matrix, stored in slices as a batch is: its tasks first, then its runs. Nobody sees it before the last.

One that is cut off in between is found by `finish_changes` and removed; nobody was told of it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from pipelines.core.agents.build_label import BuildLabel
from pipelines.core.calls.run_moment import seed_name
from pipelines.core.evals.matrix.matrix_tasks import CellTask, MatrixPlan, shuffle_runs, tasks_of_scenario
from pipelines.core.evals.scenarios.injection import seed_of
from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.models.model_budget import Budget
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.batches.change_batch import NewBatch, PlannedRun, store_batch
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.store_texts import store_texts
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import evals
from pipelines.storage.evals.eval_scenarios import StoredScenario, scenarios_by_id
from pipelines.storage.evals.evals import NewEvalTask, NewMatrix
from pipelines.storage.runs.runs import NEVER
from pipelines.storage.tasks import datasets, texts
from pipelines.storage.tasks.datasets import TaskToRun
from pipelines.storage.tasks.texts import SLICE_ROWS, Text, named
from pipelines.wire.errors import StorageUnavailable

SCENARIOS_AT_ONCE = 10  # in memory, each with the texts of its row
#: A task is two rows, one of them with six indexes.
TASKS_AT_ONCE = SLICE_ROWS // 2


class _NewCellTask(NamedTuple):
    """A task with the texts that it refers to."""

    task: NewEvalTask
    repeats: tuple[int, ...]
    texts: tuple[Text, ...]


class _StoredTasks(NamedTuple):
    tasks: list[TaskToRun]
    planned_runs: list[tuple[int, int]]  # (position among the tasks, repeat)


async def store_matrix(
    platform: Platform,
    new: NewMatrix,
    agent: Agent,
    plan: MatrixPlan,
    *,
    scenario_ids: Sequence[str],
    concurrency: int,
    budget: Budget,
    label: BuildLabel,
) -> int:
    """The id of its batch."""
    dataset_id = await platform.database.write(partial(_add_matrix, new=new))
    try:
        stored = await _store_tasks(platform, new, agent, plan, scenario_ids, dataset_id)
        planned_runs = await asyncio.to_thread(_shuffle_runs, stored.planned_runs, plan.rng_seed)
        batch = NewBatch(
            org_id=new.org_id,
            agent=agent,
            dataset_id=dataset_id,
            tasks=stored.tasks,
            planned_runs=planned_runs,
            repeats=plan.repeats,
            concurrency=concurrency,
            budget=budget,
            honesty=agent.definition.config.honesty,
            label=label,
            fault_seed=0,  # pressure alone may differ between the cells of a row
            store_with_row=partial(_attach_batch, matrix_id=new.matrix_id, now=new.created_at),
        )
        return await store_batch(platform, batch)
    except BaseException:
        with suppress(StorageUnavailable):
            await remove_matrix(platform, new.matrix_id)
        raise


async def remove_matrix(platform: Platform, matrix_id: str) -> None:
    """One that has no batch; cut off, it is gone on with. Its texts stay: others may have the same."""
    remove = partial(evals.remove_some_of_matrix, matrix_id=matrix_id, most=TASKS_AT_ONCE)
    while not await platform.database.write_part(remove):
        pass


async def remove_half_stored(platform: Platform, *, before: str = NEVER) -> None:
    for matrix_id in await platform.database.read(partial(evals.half_stored_matrices, before=before)):
        await remove_matrix(platform, matrix_id)


def _shuffle_runs(planned_runs: Sequence[tuple[int, int]], rng_seed: int) -> list[PlannedRun]:
    return [PlannedRun(*place) for place in shuffle_runs(planned_runs, rng_seed)]


def _add_matrix(connection: Connection, *, new: NewMatrix) -> int:
    dataset_id = datasets.add_dataset(
        connection,
        org_id=new.org_id,
        name=new.matrix_id,
        agent_id=new.agent_id,
        now=new.created_at,
        kind="eval",
    )
    evals.add_matrix(connection, new, dataset_id=dataset_id)
    return dataset_id


def _attach_batch(connection: Connection, batch_id: int, *, matrix_id: str, now: str) -> None:
    if not evals.attach_batch(connection, matrix_id=matrix_id, batch_id=batch_id, now=now):
        raise _gave_up_error()


def _gave_up_error() -> StorageUnavailable:
    return StorageUnavailable("The matrix was removed as abandoned while it was being stored; try again.")


async def _store_tasks(
    platform: Platform,
    new: NewMatrix,
    agent: Agent,
    plan: MatrixPlan,
    scenario_ids: Sequence[str],
    dataset_id: int,
) -> _StoredTasks:
    stored = _StoredTasks([], [])
    async for written in _new_cell_tasks(platform, new.org_id, agent, plan, scenario_ids):
        for start in range(0, len(written), TASKS_AT_ONCE):
            some = written[start : start + TASKS_AT_ONCE]
            new_texts = await store_texts(platform, (text for each in some for text in each.texts))
            add = partial(
                evals.add_eval_tasks,
                matrix_id=new.matrix_id,
                dataset_id=dataset_id,
                tasks=[each.task for each in some],
                now=platform.now(),
            )
            added = await platform.database.write_part(partial(_add_tasks, add=add, hashes=new_texts))
            stored.planned_runs.extend(
                (len(stored.tasks) + at, repeat) for at, each in enumerate(some) for repeat in each.repeats
            )
            stored.tasks.extend(added)
    return stored


def _add_tasks(
    connection: Connection, *, add: Callable[[Connection], list[TaskToRun] | None], hashes: Sequence[str]
) -> list[TaskToRun]:
    """Some tasks; from here on the texts they refer to are loose no more."""
    added = add(connection)
    if added is None:
        raise _gave_up_error()
    texts.keep_texts(connection, hashes)
    return added


async def _new_cell_tasks(
    platform: Platform, org_id: int, agent: Agent, plan: MatrixPlan, scenario_ids: Sequence[str]
) -> AsyncIterator[list[_NewCellTask]]:
    """The tasks of some scenarios at a time, written out on a thread: the texts are long."""
    for start in range(0, len(scenario_ids), SCENARIOS_AT_ONCE):
        some = scenario_ids[start : start + SCENARIOS_AT_ONCE]
        found = await platform.database.read(partial(scenarios_by_id, org_id=org_id, scenario_ids=some))
        for place, id in enumerate(some, start):
            if id not in found:  # deleted since the request was checked
                message = f"there is no scenario `{id}`"
                raise Refused([Problem(path=f"/scenario_ids/{place}", message=message)], "the matrix")
        yield await asyncio.to_thread(_write_rows, plan, [found[id] for id in some])


def _write_rows(plan: MatrixPlan, some: Sequence[StoredScenario]) -> list[_NewCellTask]:
    return [written for stored in some for written in _write_row(plan, stored)]


def _write_row(plan: MatrixPlan, stored: StoredScenario) -> list[_NewCellTask]:
    scenario = Scenario.from_stored(stored.body())
    plain = datasets.as_texts(Seed.from_stored(seed_of(scenario, None)))
    # What is invented and what fails at random is the same in all cells of a row: pressure alone differs.
    drawn_as = seed_name(_parse_seed(plain.texts[0]), plain.task.world_hash)
    return [_write_cell(stored, scenario, cell, drawn_as) for cell in tasks_of_scenario(plan, scenario)]


def _parse_seed(seed: Text) -> JsonObject:
    body = loads_own(seed.body)
    assert isinstance(body, dict)
    return body


def _write_cell(stored: StoredScenario, scenario: Scenario, cell: CellTask, drawn_as: str) -> _NewCellTask:
    injection = cell.injection
    named_as: JsonObject = {"drawn_as": drawn_as} if injection is not None else {}
    seed = datasets.as_texts(Seed.from_stored(cell.seed | named_as))
    head = {
        "task": seed.task,
        "scenario_id": stored.scenario_id,
        "scenario_version": stored.version,
        "risk_level": scenario.risk_level,
    }
    if injection is None:
        return _NewCellTask(NewEvalTask(**head), cell.repeats, seed.texts)  # type: ignore[arg-type]
    injected = named(injection.text.encode())
    task = NewEvalTask(
        **head,  # type: ignore[arg-type]
        variation=injection.variation,
        variation_version=injection.version,
        intensity=injection.intensity,
        wording=injection.wording,
        delivery=injection.delivery,
        text_hash=injected.hash,
    )
    return _NewCellTask(task, cell.repeats, (*seed.texts, injected))
