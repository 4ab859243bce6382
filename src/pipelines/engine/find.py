"""Records of an org by their ids. NotFound says which one is missing, also where another org has it."""

from functools import partial

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
from pipelines.storage.tasks.datasets import Dataset
from pipelines.wire.errors import NotFound


async def find_agent(platform: Platform, org_id: int, agent_id: int, version: int | None = None) -> Agent:
    return await platform.database.read(lambda connection: agent_in(connection, org_id, agent_id, version))


def agent_in(connection: Connection, org_id: int, agent_id: int, version: int | None = None) -> Agent:
    agent = agents.agent_by_id(connection, org_id=org_id, agent_id=agent_id, version=version)
    if agent is None:
        raise NotFound(f"There is no agent {agent_id}.")
    return agent


async def find_dataset(platform: Platform, org_id: int, dataset_id: int) -> Dataset:
    dataset = await platform.database.read(
        lambda connection: datasets.dataset_by_id(connection, org_id=org_id, dataset_id=dataset_id)
    )
    if dataset is None:
        raise NotFound(f"There is no dataset {dataset_id}.")
    return dataset


async def find_run(platform: Platform, org_id: int, run_id: int) -> Run:
    run = await platform.database.read(
        lambda connection: runs.run_by_id(connection, org_id=org_id, run_id=run_id)
    )
    if run is None:
        raise NotFound(f"There is no run {run_id}.")
    return run


async def find_batch(platform: Platform, org_id: int, batch_id: int) -> Batch:
    batch = await platform.database.read(
        lambda connection: batches.batch_by_id(connection, org_id=org_id, batch_id=batch_id)
    )
    if batch is None:
        raise NotFound(f"There is no batch {batch_id}.")
    return batch


async def find_matrix(platform: Platform, org_id: int, matrix_id: str) -> Matrix:
    matrix = await platform.database.read(partial(evals.matrix_by_id, org_id=org_id, matrix_id=matrix_id))
    if matrix is None:
        raise NotFound(f"There is no matrix {matrix_id}.")
    return matrix
