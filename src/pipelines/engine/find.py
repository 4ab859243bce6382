"""Records of an org by their ids. NotFound says which one is missing, also where another org has it."""

from functools import partial
from typing import TypeVar

from pipelines.engine.platform import Platform
from pipelines.storage.agents import agents
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import evals
from pipelines.storage.evals.evals import Matrix
from pipelines.storage.runs import batches, runs
from pipelines.storage.runs.batches import Batch
from pipelines.storage.runs.runs import Run
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.datasets import Dataset, Task
from pipelines.wire.errors import NotFound

Record = TypeVar("Record")


def existing(record: Record | None, what: str) -> Record:
    if record is None:
        raise NotFound(f"There is no {what}.")
    return record


async def find_agent(platform: Platform, org_id: int, agent_id: int, version: int | None = None) -> Agent:
    return await platform.database.read(lambda connection: agent_in(connection, org_id, agent_id, version))


def agent_in(connection: Connection, org_id: int, agent_id: int, version: int | None = None) -> Agent:
    agent = agents.agent_by_id(connection, org_id=org_id, agent_id=agent_id, version=version)
    return existing(agent, f"agent {agent_id}")


async def find_dataset(platform: Platform, org_id: int, dataset_id: int) -> Dataset:
    read = partial(datasets.dataset_by_id, org_id=org_id, dataset_id=dataset_id)
    return existing(await platform.database.read(read), f"dataset {dataset_id}")


def task_in(connection: Connection, org_id: int, task_id: int) -> Task:
    return existing(datasets.task_by_id(connection, org_id=org_id, task_id=task_id), f"task {task_id}")


def run_in(connection: Connection, org_id: int, run_id: int) -> Run:
    return existing(runs.run_by_id(connection, org_id=org_id, run_id=run_id), f"run {run_id}")


async def find_run(platform: Platform, org_id: int, run_id: int) -> Run:
    return await platform.database.read(lambda connection: run_in(connection, org_id, run_id))


async def find_batch(platform: Platform, org_id: int, batch_id: int) -> Batch:
    read = partial(batches.batch_by_id, org_id=org_id, batch_id=batch_id)
    return existing(await platform.database.read(read), f"batch {batch_id}")


async def find_matrix(platform: Platform, org_id: int, matrix_id: str) -> Matrix:
    read = partial(evals.matrix_by_id, org_id=org_id, matrix_id=matrix_id)
    return existing(await platform.database.read(read), f"matrix {matrix_id}")
