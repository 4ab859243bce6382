"""Working off batches: shards of runs, and what happens when one is cut off.

A run is claimed by one update of its row just before its POST. A shard that starts again (after a kill, on
another worker) finds every run in one of three states: ended, pending (send it), or claimed by a worker that
is gone: the agent may have seen it, so it ends as `interrupted` and is offered for retry.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from pipelines.engine.durable_shards import LANES, DurableShards, Shard
from pipelines.engine.platform import Platform, timestamp
from pipelines.storage import batches, runs
from pipelines.storage.agents import Agent, agent_by_id
from pipelines.storage.batches import Batch
from pipelines.storage.connection import Connection
from pipelines.storage.keys import hash_of
from pipelines.storage.runs import Run
from pipelines.wire.names import RunStatus

SHARD = 250  # runs: large enough that queueing costs nothing, small enough to share and to resume
HEARTBEAT_S = 3.0
SILENT_S = 15.0  # five missed heartbeats: a worker that long without a word is taken to be gone
GRACE_S = 30  # a token outlives the agent's time by this much: its last call may be on its way


class Claimed(NamedTuple):
    """A run that this worker, and no other, sends to its agent."""

    run: Run
    token: str
    agent: Agent


DispatchRun = Callable[[Claimed], Awaitable[None]]


class _Work(NamedTuple):
    batch: Batch
    agent: Agent
    unfinished: list[tuple[int, str]]
    claims: dict[int, str | None]


class BatchRunner:
    """Works off shards in this process. `dispatch_run` sends one claimed run and ends it."""

    def __init__(
        self, platform: Platform, *, worker: str, database_url: str, dispatch_run: DispatchRun
    ) -> None:
        self._platform = platform
        self._worker = worker
        self._dispatch_run = dispatch_run
        self._in_flight: dict[int, asyncio.Task[None]] = {}
        self._shards = DurableShards(database_url=database_url, worker=worker, run_shard=self._run_shard)
        self._beating: asyncio.Task[None] | None = None

    async def start(self, *, listen: bool) -> None:
        """Take up unfinished work. Without any, only a worker (`listen`) loads the durable engine at once."""
        unfinished = await self._platform.database.read(batches.unfinished_batches)
        if listen or unfinished:
            await self._listen()

    async def stop(self) -> None:
        """What is in flight is cut off as by a kill: it ends as interrupted when work goes on."""
        if self._beating is not None:
            self._beating.cancel()
            with suppress(asyncio.CancelledError):
                await self._beating
        for task in self._in_flight.values():
            task.cancel()
        await asyncio.gather(*self._in_flight.values(), return_exceptions=True)
        await self._shards.stop()

    async def enqueue(self, batch: Batch, run_ids: list[int]) -> None:
        await self._listen()
        shards = [
            Shard(batch.id, part[0], part[-1])
            for part in (run_ids[start : start + SHARD] for start in range(0, len(run_ids), SHARD))
        ]
        await self._shards.enqueue(shards, agent_id=batch.agent_id, concurrency=batch.concurrency)

    def cancel(self, run_id: int) -> None:
        """Stop waiting for the agent, if it is this process that does."""
        task = self._in_flight.get(run_id)
        if task is not None:
            task.cancel()

    async def _listen(self) -> None:
        if self._beating is None:
            await self._beat()
            self._beating = asyncio.create_task(self._keep_beating())
        await self._shards.start()

    # -- a shard

    async def _run_shard(self, shard: Shard) -> None:
        work = await self._platform.database.read(lambda connection: _work(connection, shard))
        for run_id, status in work.unfinished:
            if status == RunStatus.RUNNING and self._is_cut_off(run_id, work):
                await self._interrupt(run_id)
        slots = asyncio.Semaphore(max(1, work.batch.concurrency // LANES))
        async with asyncio.TaskGroup() as group:
            for run_id, status in work.unfinished:
                if status == RunStatus.PENDING:
                    await slots.acquire()
                    group.create_task(self._one(run_id, work.agent, slots))
        now = self._platform.now()
        await self._platform.database.write(
            lambda connection: batches.finish_batch(connection, batch_id=shard.batch_id, now=now)
        )

    def _is_cut_off(self, run_id: int, work: _Work) -> bool:
        """Claimed by this worker in an earlier life, or by one that is no longer there."""
        return run_id not in self._in_flight and work.claims.get(run_id) in (self._worker, None)

    async def _one(self, run_id: int, agent: Agent, slots: asyncio.Semaphore) -> None:
        try:
            claimed = await self._claim(run_id, agent)
            if claimed is not None:
                task = asyncio.ensure_future(self._dispatch_run(claimed))
                self._in_flight[run_id] = task
                with suppress(asyncio.CancelledError):  # cancelled by a person: its row says so
                    await task
        finally:
            self._in_flight.pop(run_id, None)
            slots.release()

    async def _claim(self, run_id: int, agent: Agent) -> Claimed | None:
        """Its row says `running` before a byte is sent: what is claimed is never sent by anyone else."""
        token, jti, now = secrets.token_urlsafe(32), secrets.token_hex(16), self._platform.now()
        lifetime = timedelta(seconds=int(str(agent.definition["run_timeout_s"])) + GRACE_S)

        def claim(connection: Connection) -> Run | None:
            turns = runs.turns_of(connection, run_id)
            return runs.claim_run(
                connection,
                run_id=run_id,
                worker=self._worker,
                jti=jti,
                token_hash=hash_of(token),
                now=now,
                expires_at=timestamp(datetime.fromisoformat(now) + lifetime * turns),
            )

        run = await self._platform.database.write(claim)
        return None if run is None else Claimed(run, token, agent)

    async def _interrupt(self, run_id: int) -> None:
        now = self._platform.now()
        self._platform.live_runs.deactivate(run_id)
        await self._platform.database.write(
            lambda connection: batches.interrupt_run(connection, run_id=run_id, now=now)
        )

    # -- other workers

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            await self._beat()
            for gone in await self._silent_workers():
                await self._shards.take_over(gone)

    async def _beat(self) -> None:
        now = self._platform.now()
        await self._platform.database.write(
            lambda connection: batches.beat(connection, worker=self._worker, now=now)
        )

    async def _silent_workers(self) -> list[str]:
        before = timestamp(datetime.fromisoformat(self._platform.now()) - timedelta(seconds=SILENT_S))
        return await self._platform.database.write(
            lambda connection: batches.take_silent_workers(connection, before=before)
        )


def _work(connection: Connection, shard: Shard) -> _Work:
    batch = batches.batch_for_work(connection, shard.batch_id)
    agent = agent_by_id(connection, org_id=batch.org_id, agent_id=batch.agent_id, version=batch.agent_version)
    assert agent is not None, "a batch's agent version is never deleted"
    unfinished = batches.unfinished_runs(
        connection, batch_id=shard.batch_id, first=shard.first, last=shard.last
    )
    return _Work(batch, agent, unfinished, batches.claims(connection, batch_id=shard.batch_id))
