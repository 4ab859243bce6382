"""An org, its agent, tasks and runs, stored in either database."""

from collections.abc import Callable

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.runs import batches, runs
from pipelines.storage.runs.runs import NewRun
from pipelines.storage.tasks import datasets, texts
from pipelines.wire.names import RunStatus

NOW = "2026-05-01T12:00:00.000000Z"

SEED = Seed(user_instruction="Do it.", initial_state={"order": {"1": {"n": 1}}})

LATER = "2026-05-01T12:01:00.000000Z"

SIMULATED = "2025-02-03T04:05:06.000000Z"


def place(connection: Connection) -> JsonObject:
    """An org with an agent, a task and a batch."""
    org_id = add_org(connection, "org", NOW)
    agent_id = agents.add_agent(connection, org_id=org_id, name="a", status="published", now=NOW)
    agents.add_version(
        connection,
        agent_id=agent_id,
        definition=AgentDefinition(name="a"),
        sealed_auth_header=b"\0\x01",
        status="published",
        now=NOW,
    )
    dataset_id = datasets.add_dataset(connection, org_id=org_id, name="d", agent_id=agent_id, now=NOW)
    (task_id,) = add_tasks(connection, org_id, dataset_id, [SEED])
    batch_id = batches.add_batch(
        connection,
        org_id=org_id,
        agent_id=agent_id,
        agent_version=1,
        dataset_id=dataset_id,
        repeats=1,
        concurrency=4,
        now=NOW,
    )
    return {
        "org_id": org_id,
        "agent_id": agent_id,
        "task_id": task_id,
        "dataset_id": dataset_id,
        "batch_id": batch_id,
    }


def add_tasks(connection: Connection, org_id: int, dataset_id: int, seeds: list[Seed]) -> list[int]:
    """With their texts, all in one transaction: for a few."""
    written = [datasets.as_texts(seed) for seed in seeds]
    for slice in texts.slices_of(text for seed in written for text in seed.texts):
        texts.add_parts(connection, set(slice), now=NOW)
    tasks = [seed.task for seed in written]
    return datasets.add_tasks(connection, org_id=org_id, dataset_id=dataset_id, tasks=tasks, now=NOW)


def pending(at: JsonObject, number: int) -> NewRun:
    return NewRun(
        **at,  # type: ignore[arg-type]
        agent_version=1,
        repeat_number=number,
        mode="dispatch",
        status=RunStatus.PENDING,
        jti=f"jti-{number}",
        token_hash=f"hash-{number}",
        seed_hash=datasets.as_texts(SEED).task.seed_hash,
        seed_text='{"user_instruction":"Do it."}',
        world_hash=None,
        simulated_now=NOW,
        soft_warnings=[],
        created_at=NOW,
        expires_at=LATER,
    )


def claim(run_id: int, worker: str, token: str) -> Callable[[Connection], object]:
    return lambda connection: runs.claim_run(
        connection,
        run_id=run_id,
        worker=worker,
        jti=token,
        token_hash=token,
        now=NOW,
        simulated_now=SIMULATED,
        expires_at=LATER,
    )


async def stored_runs(database: Database, count: int) -> tuple[JsonObject, list[int]]:
    def store(connection: Connection) -> tuple[JsonObject, list[int]]:
        at = place(connection)
        return at, [runs.add_run(connection, pending(at, number)) for number in range(count)]

    return await database.write(store)
