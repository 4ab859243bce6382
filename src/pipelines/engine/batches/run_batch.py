"""Working off batches: shards of runs, and what happens when one is cut off.

A run is claimed by one update of its row just before its POST, so nobody sends it twice. A shard that starts
again (after a kill, on another worker) sends what is still pending. What a worker that is gone had claimed,
the agent may have seen: it ends as `interrupted` and is offered for retry. Who is gone: `worker_beats`.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.engine.batches.durable_shards import LANES, DurableShards, Shard
from pipelines.engine.batches.finish_changes import finish_changes
from pipelines.engine.batches.worker_beats import BEATS, WorkerBeats
from pipelines.engine.platform import Platform, later
from pipelines.storage.accounts.keys import hash_of
from pipelines.storage.agents.agents import Agent, agent_by_id
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import WORKS_FOR
from pipelines.storage.runs import batches, runs, workers
from pipelines.storage.runs.batches import Batch
from pipelines.storage.runs.runs import Run
from pipelines.wire.errors import StorageUnavailable
from pipelines.wire.names import RunStatus

log = logging.getLogger(__name__)
SHARD = 250  # runs: large enough that queueing costs nothing, small enough to share and to resume
RETRY_S = 1.0  # how long to leave a database alone that could not answer
GRACE_S = 30  # a token outlives the agent's time by this much: its last call may be on its way


class ClaimedRun(NamedTuple):
    """A run that this worker, and no other, sends to its agent."""

    run: Run
    token: str
    agent: Agent


DispatchRun = Callable[[ClaimedRun], Awaitable[None]]


def _ignore_end(batch_id: int) -> None:
    pass


class _PendingWork(NamedTuple):
    batch: Batch
    agent: Agent
    pending: list[int]


class BatchRunner:
    """Works off shards in this process. `dispatch_run` sends one claimed run and ends it."""

    def __init__(
        self,
        platform: Platform,
        *,
        worker: str,
        database_url: str,
        silent_s: float,
        is_shared: bool,
        dispatch_run: DispatchRun,
        on_end: Callable[[int], None] = _ignore_end,
    ) -> None:
        """`is_shared`: other processes may work on the same database. `on_end` hears which batch ended."""
        self._platform = platform
        self._worker = worker
        self._round_s = silent_s / BEATS
        self._dispatch_run = dispatch_run
        self.on_end = on_end
        self._shards = DurableShards(database_url=database_url, worker=worker, run_shard=self._run_shard)
        self._at_work: set[asyncio.Task[None]] = set()  # one task per shard
        self._in_flight: dict[int, asyncio.Task[None]] = {}  # from just before the claim to the end
        self._beats: WorkerBeats | None = None
        if is_shared:
            self._beats = WorkerBeats(
                platform,
                worker=worker,
                beat_s=self._round_s,
                take_over=self._take_over,
                on_declared_gone=self._drop_shards,
            )
        self._unqueued: dict[tuple[int, str | None], int] = {}  # seen unqueued in how many rounds
        self._maintenance: asyncio.Task[None] | None = None
        self._is_stopping = False
        #: Why stored batches are not queued at present; empty while they are.
        self.queue_problem = ""

    async def start(self, *, listen: bool, is_queue_new: bool = False) -> None:
        """Take up unfinished work. Without any, only a worker (`listen`) loads the durable engine at once.

        Where the queue is new, whatever is unfinished was in one that is gone: it is queued again.
        """
        now = self._platform.now()
        if is_queue_new:
            await self._platform.database.write(partial(batches.mark_unqueued, now=now))
        await self._platform.database.write(
            lambda connection: batches.interrupt_worker(connection, worker=self._worker, now=now)
        )
        await finish_changes(self._platform, at_start=True)
        unfinished = await self._platform.database.read(batches.unfinished_batches)
        if listen or unfinished:
            try:
                await self._listen()
            except StorageUnavailable as error:  # in rounds it is tried again
                log.warning("unfinished batches wait for the queue: %s", error)
            await self._enqueue_forgotten(rounds=0)

    async def stop(self) -> None:
        """What is in flight is cut off as by a kill, and said to be; the rest waits for whoever goes on."""
        self._is_stopping = True
        if self._maintenance is None:
            return
        self._maintenance.cancel()
        if self._beats is not None:
            await self._beats.stop()
        for shard in self._at_work:
            shard.cancel()
        await asyncio.gather(self._maintenance, *self._at_work, return_exceptions=True)
        now = self._platform.now()
        with suppress(StorageUnavailable):
            await self._platform.database.write(
                lambda connection: workers.leave(connection, worker=self._worker, now=now)
            )
        await self._shards.stop()

    async def enqueue(self, batch: Batch) -> None:
        """Queue what is pending of a batch that is stored. It will be run: where the queue cannot be written
        now, the batch is queued as soon as it can."""
        try:
            await self._enqueue(batch)
        except StorageUnavailable as error:
            log.warning("batch %s is stored and waits for the queue: %s", batch.id, error)
            self._queue_later(batch)
        except Exception:  # it is stored and would run all the same: an error would say that it does not
            log.exception("batch %s is stored and could not be queued", batch.id)
            self._queue_later(batch)

    def _queue_later(self, batch: Batch) -> None:
        self._unqueued[batch.id, batch.unqueued_since] = BEATS  # with the next round
        self.queue_problem = "Batches wait, because the queue cannot be written."

    async def _enqueue(self, batch: Batch) -> None:
        """Shards that overlap do no harm: each run is claimed once."""
        await self._listen()
        work = await self._platform.database.read(lambda connection: _load_work(connection, batch.id))
        most = work.agent.definition.max_concurrency
        await self._shards.enqueue(
            shards_of(batch, work.pending, lanes=min(LANES, most)), agent_id=batch.agent_id
        )
        now = self._platform.now()

        def queued(connection: Connection) -> bool:
            batches.mark_queued(connection, batch_id=batch.id, since=batch.unqueued_since or "")
            # Without anything pending no shard will find that there is nothing left to do.
            return not work.pending and batches.finish_batch(connection, batch_id=batch.id, now=now)

        if await self._platform.database.write(queued):
            self.on_end(batch.id)
        self.queue_problem = ""

    def cancel(self, run_id: int) -> None:
        """Stop waiting for the agent, if it is this process that does. Its row says why already."""
        self._platform.live_runs.deactivate(run_id)
        task = self._in_flight.get(run_id)
        if task is not None:
            task.cancel()

    async def _listen(self) -> None:
        if self._maintenance is None:
            if self._beats is not None:
                await self._beats.start()
            self._maintenance = asyncio.create_task(self._maintain())
        await self._shards.start()

    # -- a shard

    async def _run_shard(self, shard: Shard) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._is_stopping:
            raise asyncio.CancelledError
        self._at_work.add(task)
        try:
            while not await self._send_pending(shard):
                pass
        finally:
            self._at_work.discard(task)

    async def _send_pending(self, shard: Shard) -> bool:
        """Send what is pending of it; True once nothing is."""
        database = self._platform.database
        try:
            work = await database.read_for_batch(
                lambda connection: _load_work(connection, shard.batch_id, shard)
            )
            if work.pending:
                await self._send(work, slots_of(work.batch.concurrency, shard.lane))
                return False
            now, mine = self._platform.now(), set(self._in_flight)
            if await database.write(lambda connection: self._close_shard(connection, shard, mine, now)):
                self.on_end(shard.batch_id)
        except StorageUnavailable as error:
            log.warning("batch %s waits for the database: %s", shard.batch_id, error)
            await asyncio.sleep(RETRY_S)
            return False
        return True

    async def _send(self, work: _PendingWork, at_once: int) -> None:
        slots = asyncio.Semaphore(at_once)
        async with asyncio.TaskGroup() as group:
            for run_id in work.pending:
                await slots.acquire()
                group.create_task(self._send_one(run_id, work, slots))

    async def _send_one(self, run_id: int, work: _PendingWork, slots: asyncio.Semaphore) -> None:
        """Nothing but its cancellation leaves here: the other runs of the shard go on."""
        task = asyncio.current_task()
        assert task is not None
        WORKS_FOR.set(work.batch.org_id)
        self._in_flight.setdefault(run_id, task)  # unless a shard that overlaps is about to claim it
        try:
            async with self._platform.dispatching.slot(SlotHolder(work.batch.org_id, work.batch.id)):
                claimed = await self._claim(run_id, work.agent)
                if claimed is not None:
                    self._in_flight[run_id] = task
                    await self._dispatch_run(claimed)
        except StorageUnavailable as error:
            log.warning("run %s waits for the database: %s", run_id, error)
            await asyncio.sleep(RETRY_S)
        except Exception:  # our fault, on one run: its shard's end finds it and says that it was cut off
            log.exception("run %s broke", run_id)
            await asyncio.sleep(RETRY_S)  # one that broke before it was claimed is still pending
        finally:
            if self._in_flight.get(run_id) is task:
                del self._in_flight[run_id]
            slots.release()

    async def _claim(self, run_id: int, agent: Agent) -> ClaimedRun | None:
        """Its row says `running` before a byte is sent: what is claimed is never sent by anyone else."""
        platform = self._platform
        token, jti, now = secrets.token_urlsafe(32), secrets.token_hex(16), platform.now()
        turn_s = agent.definition.run_timeout_s + GRACE_S
        began = platform.live_runs.steady()

        def to_claim(connection: Connection) -> tuple[Run, float] | None:
            pending = runs.pending_run(connection, run_id)
            if pending is None:
                return None
            lifetime_s = turn_s * pending.turns()
            expires_at = later(platform.database.time(connection, now), lifetime_s)
            run = replace(pending, status=RunStatus.RUNNING, jti=jti, expires_at=expires_at)
            # A run stored by a version that took its task's date for it keeps that.
            simulated_now = pending.simulated_now or pending.simulated_start() or now
            run = replace(run, started_at=now, dispatched_at=now, simulated_now=simulated_now)
            with suppress(Exception):  # what is wrong with a seed is told when it is sent
                run.seed  # noqa: B018 - read here, on a reader's thread, rather than on the loop
            return run, lifetime_s

        # Its seed may be large: it is read before the claim, so that nobody waits for the writer meanwhile.
        found = await platform.database.read_for_batch(to_claim)
        if found is None:
            return None
        run, lifetime_s = found

        def claim(connection: Connection) -> bool:
            if self._beats is not None and not workers.is_listed(connection, worker=self._worker):
                raise StorageUnavailable("other workers have declared this worker gone")
            return runs.claim_run(
                connection,
                run_id=run_id,
                worker=self._worker,
                jti=jti,
                token_hash=hash_of(token),
                now=now,
                simulated_now=run.simulated_now,
                expires_at=run.expires_at,
            )

        if not await platform.database.write(claim):
            return None
        platform.live_runs.expect_end(run.id, began + lifetime_s)
        return ClaimedRun(run, token, agent)

    def _close_shard(self, connection: Connection, shard: Shard, mine: set[int], now: str) -> bool:
        """True when the batch ended with it."""
        for run_id in batches.claimed_runs(
            connection, worker=self._worker, batch_id=shard.batch_id, first=shard.first, last=shard.last
        ):
            if run_id not in mine:  # its claim or its end could not be stored when it was due
                batches.interrupt_run(connection, run_id=run_id, now=now)
        return batches.finish_batch(connection, batch_id=shard.batch_id, now=now)

    # -- beside the shards

    async def _maintain(self) -> None:
        """On a task of its own: a beat must not wait for any of it."""
        while True:
            await asyncio.sleep(self._round_s)
            try:
                if self._beats is not None:
                    await self._cancel_runs_ended_elsewhere()
                await self._enqueue_forgotten(rounds=BEATS)
                await finish_changes(self._platform, at_start=False)
            except Exception:  # whatever it was, the next round may have more luck
                log.exception("worker %s could not maintain its batches", self._worker)

    async def _drop_shards(self) -> None:
        """Others have this one's shards. What it claimed before it heard of that, nobody would end."""
        log.warning("worker %s was declared gone; other workers continue its shards", self._worker)
        shards = list(self._at_work)
        for shard in shards:
            shard.cancel()
        await asyncio.gather(*shards, return_exceptions=True)
        now, mine = self._platform.now(), set(self._in_flight)
        await self._platform.database.write(
            lambda connection: batches.interrupt_worker(connection, worker=self._worker, now=now, but=mine)
        )

    async def _cancel_runs_ended_elsewhere(self) -> None:
        """Another node took a request to cancel, or took this one for gone."""
        mine = list(self._in_flight)
        for run_id in await self._platform.database.read(
            lambda connection: batches.no_longer_running(connection, run_ids=mine)
        ):
            self.cancel(run_id)

    async def _take_over(self, gone: str) -> None:
        await self._shards.take_over(gone)
        await self._platform.judge_tasks.take_up(gone)

    async def _enqueue_forgotten(self, *, rounds: int) -> None:
        """Batches whose server went down between storing and queueing them: unqueued for so many rounds."""
        found = await self._platform.database.read(batches.unqueued_batches)
        seen = self._unqueued
        self._unqueued = {
            (batch.id, batch.unqueued_since): seen.get((batch.id, batch.unqueued_since), 0) + 1
            for batch in found
        }
        for batch in found:
            if self._unqueued[batch.id, batch.unqueued_since] > rounds:
                await self.enqueue(batch)
        if not found:
            self.queue_problem = ""


def shards_of(batch: Batch, run_ids: list[int], *, lanes: int) -> list[Shard]:
    """Dealt out to the agent's lanes; all in one where a batch may have only one run at a time."""
    if batch.concurrency == 1:
        size, first_lane = len(run_ids), batch.id
    else:
        size, first_lane = min(SHARD, -(-len(run_ids) // LANES)), 0
    parts = [run_ids[start : start + size] for start in range(0, len(run_ids), max(1, size))]
    return [
        Shard(batch.id, part[0], part[-1], number % lanes) for number, part in enumerate(parts, first_lane)
    ]


def slots_of(concurrency: int, lane: int) -> int:
    """A lane's share of a batch's runs at once. What does not divide evenly goes to the first lanes.

    >>> [slots_of(5, lane) for lane in range(LANES)]
    [3, 2]
    """
    return max(1, concurrency // LANES + (lane < concurrency % LANES))


def _load_work(connection: Connection, batch_id: int, shard: Shard | None = None) -> _PendingWork:
    batch = batches.batch_for_work(connection, batch_id)
    agent = agent_by_id(connection, org_id=batch.org_id, agent_id=batch.agent_id, version=batch.agent_version)
    assert agent is not None, "a batch's agent version is never deleted"
    first, last = (shard.first, shard.last) if shard is not None else (0, 2**62)
    return _PendingWork(
        batch, agent, batches.pending_runs(connection, batch_id=batch_id, first=first, last=last)
    )
