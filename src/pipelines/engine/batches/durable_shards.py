"""Shards of a batch as durable workflows, on DBOS: queued, shared by workers, resumed after a kill.

The engine owns which shard runs where. What has happened to each run is in the run's own row, so a shard that
is started twice repeats nothing (see run_batch). DBOS is imported when the first batch needs it: it brings
SQLAlchemy, which a server without batches need not load.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

QUEUE = "shards"
#: Each agent has this many lanes, and a lane one shard at a time, over all workers: two machines can share a
#: batch, and the agent's concurrency is divided between the lanes.
LANES = 2
POLL_S = 0.2
APPLICATION_VERSION = "1"  # all workers of one release take up each other's shards


class Shard(NamedTuple):
    batch_id: int
    first: int  # run ids, both included
    last: int
    lane: int = 0


RunShard = Callable[[Shard], Coroutine[Any, Any, None]]


class ShardCutOff(BaseException):
    """This process stops, the shard does not end. Were it an Exception, DBOS would store it as the end."""


class DurableShards:
    """One per process: DBOS itself is one per process."""

    def __init__(self, *, database_url: str, worker: str, run_shard: RunShard) -> None:
        self._database_url = database_url
        self._worker = worker
        self._run_shard = run_shard
        self._loop = asyncio.get_running_loop()
        self._starting = threading.Lock()
        self._dbos: Any = None
        self._workflow: Any = None

    async def start(self) -> None:
        """Take up what this worker left unfinished, and listen for more."""
        await asyncio.to_thread(self._start)

    async def enqueue(self, shards: list[Shard], *, agent_id: int) -> None:
        await asyncio.to_thread(self._enqueue, shards, agent_id)

    async def take_over(self, worker: str) -> None:
        """Start the shards of a worker that is gone."""
        await asyncio.to_thread(lambda: self._dbos._recover_pending_workflows([worker]))

    async def stop(self) -> None:
        if self._dbos is not None:
            await asyncio.to_thread(lambda: self._dbos.destroy(destroy_registry=True))
            self._dbos = None

    def _start(self) -> None:
        with self._starting:
            if self._dbos is not None:
                return
            from dbos import DBOS

            DBOS(
                config={
                    "name": "odyssey",
                    "system_database_url": self._database_url,
                    "executor_id": self._worker,
                    "application_version": APPLICATION_VERSION,
                    "log_level": "ERROR",
                    "db_engine_kwargs": self._engine_options(),
                }
            )

            def run_shard(batch_id: int, first: int, last: int, lane: int) -> None:
                self._work(Shard(batch_id, first, last, lane))

            self._workflow = DBOS.workflow(name="run_shard")(run_shard)
            DBOS.launch()
            DBOS.register_queue(QUEUE, partition_concurrency=1, polling_interval_sec=POLL_S)
            self._dbos = DBOS

    def _engine_options(self) -> dict[str, Any]:
        if self._database_url.startswith("sqlite"):
            return {}
        from pipelines.storage.database.bounded_postgres import engine_options

        return engine_options(self._database_url)

    def _enqueue(self, shards: list[Shard], agent_id: int) -> None:
        from dbos import SetEnqueueOptions

        self._start()
        for shard in shards:
            with SetEnqueueOptions(queue_partition_key=f"agent-{agent_id}-{shard.lane}"):
                self._dbos.enqueue_workflow(QUEUE, self._workflow, *shard)

    def _work(self, shard: Shard) -> None:
        """On a thread of DBOS: the work itself is the event loop's."""
        done = asyncio.run_coroutine_threadsafe(self._run_shard(shard), self._loop)
        try:
            done.result()
        except concurrent.futures.CancelledError:
            raise ShardCutOff from None
