"""Shards of a batch as durable workflows, on DBOS: queued, shared by workers, resumed after a kill.

The engine owns which shard runs where. What has happened to each run is in the run's own row, so a shard that
is started twice repeats nothing (see run_batch). DBOS is imported when the first batch needs it: it brings
SQLAlchemy, which a server without batches need not load.
"""

import asyncio
import concurrent.futures
import logging
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

from pipelines.wire.errors import StorageUnavailable

log = logging.getLogger(__name__)

QUEUE = "shards"
#: Each agent has this many lanes, and a lane one shard at a time, over all workers: two machines can share a
#: batch, and the agent's concurrency is divided between the lanes.
LANES = 2
POLL_S = 0.2
RETRY_S = 0.5  # how long to leave a queue alone that could not be written
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
    """One per process: DBOS itself is one per process. Where the queue cannot be written, `start` and
    `enqueue` raise StorageUnavailable, and can be tried again."""

    def __init__(self, *, database_url: str, worker: str, run_shard: RunShard) -> None:
        self._database_url = database_url
        self._worker = worker
        self._run_shard = run_shard
        self._loop = asyncio.get_running_loop()
        self._starting = threading.Lock()
        self._dbos: Any = None
        self._workflow: Any = None
        self._stopping = threading.Event()

    async def start(self) -> None:
        """Take up what this worker left unfinished, and listen for more."""
        await asyncio.to_thread(_told, self._start)

    async def enqueue(self, shards: list[Shard], *, agent_id: int) -> None:
        await asyncio.to_thread(_told, lambda: self._enqueue(shards, agent_id))

    async def take_over(self, worker: str) -> None:
        """Start the shards of a worker that is gone."""
        await asyncio.to_thread(lambda: self._dbos._recover_pending_workflows([worker]))

    async def stop(self) -> None:
        self._stopping.set()
        if self._dbos is not None:
            await asyncio.to_thread(lambda: self._dbos.destroy(destroy_registry=True))
            self._dbos = None

    def _start(self) -> None:
        with self._starting:
            if self._dbos is not None:
                return
            from dbos import DBOS

            try:
                self._launch(DBOS)
            except BaseException:  # half of it would be there for every later try, and refuse all of them
                with suppress(Exception):
                    DBOS.destroy(destroy_registry=True)
                raise
            self._dbos = DBOS

    def _launch(self, dbos: Any) -> None:
        instance = dbos(
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

        self._workflow = dbos.workflow(name="run_shard")(run_shard)
        dbos.launch()
        system = instance._sys_db
        system.update_workflow_outcome = self._patient(system.update_workflow_outcome)
        dbos.register_queue(QUEUE, partition_concurrency=1, polling_interval_sec=POLL_S)

    def _patient(self, write: Callable[..., Any]) -> Callable[..., Any]:
        """The end of a shard is written until it is stored: DBOS itself gives up on a full disk, and the lane
        would be taken until a restart. Written twice, it changes nothing."""

        def written(*args: Any, **named: Any) -> Any:
            while True:
                try:
                    return write(*args, **named)
                except Exception as error:
                    if not _is_storage_error(error) or self._stopping.wait(RETRY_S):
                        raise
                    log.warning("the end of a shard waits for the queue: %s", error)

        return written

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


def _told(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception as error:
        if not _is_storage_error(error):
            raise
        log.warning("The queue of batches could not be written: %s", error)
        raise StorageUnavailable("The queue of batches could not be written; try again.") from error


def _is_storage_error(error: BaseException) -> bool:
    """Of SQLAlchemy, or of the database below it; DBOS wraps some of them."""
    from sqlalchemy.exc import DBAPIError

    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, DBAPIError | OSError | sqlite3.Error):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
