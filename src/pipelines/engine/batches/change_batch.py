"""The many runs of a batch, stored and changed in slices: each is a short write that lets others through.

What a kill between two slices leaves behind is said at each function, and seen to by `finish_changes`.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from pipelines.core.models.honesty_level import STANDARD
from pipelines.core.models.model_budget import Budget
from pipelines.core.tools.failure_rules import FaultSeed
from pipelines.core.tools.passthrough_choice import Passthrough
from pipelines.engine.platform import Platform
from pipelines.storage.accounts.keys import hash_of
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import evals
from pipelines.storage.runs import batches, runs
from pipelines.storage.runs.runs import NEVER, PendingRun
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.datasets import TaskToRun
from pipelines.storage.tasks.texts import SLICE_ROWS
from pipelines.wire.errors import Conflict, StorageUnavailable


class PlannedRun(NamedTuple):
    """Which task is sent, and which of its repeats that is. Names of names: a batch may have 100,000."""

    task: int  # its position among the batch's tasks
    repeat: int  # from 1


def every_repeat(tasks: int, repeats: int) -> list[PlannedRun]:
    """All tasks once, then all of them again, as often as asked."""
    return [PlannedRun(task, repeat) for repeat in range(1, repeats + 1) for task in range(tasks)]


def _store_nothing_more(connection: Connection, batch_id: int) -> None:
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class NewBatch:
    org_id: int
    agent: Agent
    dataset_id: int | None
    tasks: Sequence[TaskToRun]
    planned_runs: Sequence[PlannedRun]  # one run each, sent in this order
    repeats: int  # as it is shown: how often each task is tried
    concurrency: int
    fault_seed: FaultSeed
    passthrough: Passthrough = field(default_factory=Passthrough)
    budget: Budget = field(default_factory=Budget)
    honesty: str = STANDARD
    #: Stored with the batch's row, in the same write; what it raises leaves nothing of the batch behind.
    store_with_row: Callable[[Connection, int], None] = _store_nothing_more

    @property
    def total(self) -> int:
        return len(self.planned_runs)


async def store_batch(platform: Platform, new: NewBatch) -> int:
    """Its id. Nobody sees the batch or a run of it before the last slice; one that is cut off is removed."""
    now = platform.now()
    batch_id: int | None = None
    for start in range(0, new.total, SLICE_ROWS):
        planned_runs = new.planned_runs[start : start + SLICE_ROWS]
        pending = await asyncio.to_thread(_pending_runs, new, planned_runs, now)
        is_whole = start + SLICE_ROWS >= new.total
        try:
            if batch_id is None:
                first = partial(_store_first, new=new, pending=pending, is_whole=is_whole, now=now)
                batch_id = await platform.database.write_part(first)
            else:
                more = partial(_store_more, batch_id=batch_id, pending=pending, is_whole=is_whole)
                await platform.database.write_part(partial(more, now=platform.now()))
        except Exception:
            if batch_id is not None:
                with suppress(StorageUnavailable):
                    await remove_batch(platform, batch_id)
            raise
    assert batch_id is not None, "a batch has runs"
    return batch_id


async def remove_batch(platform: Platform, batch_id: int, *, before: str = NEVER) -> None:
    """One that was not stored whole, unless somebody goes on with it; cut off, it is gone on with."""
    await platform.database.write(partial(batches.discard_batch, batch_id=batch_id, before=before))
    remove = partial(batches.remove_discarded, batch_id=batch_id, most=SLICE_ROWS)
    while not await platform.database.write_part(remove):
        pass


async def cancel_runs(platform: Platform, batch_id: int) -> AsyncIterator[int]:
    """All that is unfinished of a batch that was stopped; the ids of what had been sent, slice by slice.

    Cut off, it is gone on with; meanwhile nobody claims what is still pending.
    """
    cancel = partial(batches.cancel_some_runs, batch_id=batch_id, now=platform.now(), most=SLICE_ROWS)
    while cancelled := await platform.database.write_part(cancel):
        for run in cancelled:
            if run.was_sent:
                yield run.id


async def resume_runs(platform: Platform, org_id: int, batch_id: int) -> None:
    """What was never sent is pending again, and what was cut off gets a new attempt.

    Cut off itself, the batch goes on with what was done of it, and can be resumed again for the rest. So it
    is, too, when somebody cancels it meanwhile.
    """
    never_sent, cut_off, pending = await platform.database.read(
        lambda connection: (
            batches.runs_never_sent(connection, batch_id=batch_id),
            batches.runs_to_retry(connection, batch_id=batch_id),
            batches.pending_runs(connection, batch_id=batch_id, first=0, last=2**62),
        )
    )
    if not (never_sent or cut_off or pending):
        return
    now = platform.now()
    await platform.database.write(partial(_start_resuming, batch_id=batch_id, now=now))
    make_pending = partial(batches.make_pending_again, batch_id=batch_id)
    add_retries = partial(_add_retries, org_id=org_id, batch_id=batch_id, now=now)
    for change, run_ids in ((make_pending, never_sent), (add_retries, cut_off)):
        for start in range(0, len(run_ids), SLICE_ROWS):
            some = run_ids[start : start + SLICE_ROWS]
            if not await platform.database.write_part(partial(change, run_ids=some)):
                return
    await platform.database.write(partial(batches.reopen_batch, batch_id=batch_id, now=platform.now()))


def _start_resuming(connection: Connection, *, batch_id: int, now: str) -> None:
    batches.start_resuming(connection, batch_id=batch_id, now=now)
    evals.forget_report_of_batch(connection, batch_id=batch_id)  # it will have more to tell


async def add_runs(
    platform: Platform, batch_id: int, agent: Agent, planned_runs: Sequence[tuple[TaskToRun, int]]
) -> None:
    """More runs of a batch that is there already, whether it has ended or not; for a few, in one write.

    The caller queues them. A batch that was cancelled stays so: its runs could not be claimed.
    """
    now = platform.now()
    version = (agent.id, agent.version)
    pending = [_pending_run(task, version, repeat, 0, now) for task, repeat in planned_runs]

    def store(connection: Connection) -> None:
        if batches.is_cancelled(connection, batch_id):
            raise Conflict("The batch was stopped; resume it first.")
        runs.add_pending_runs(connection, batch_id, pending)
        _start_resuming(connection, batch_id=batch_id, now=now)

    await platform.database.write_part(store)


def _store_first(
    connection: Connection, *, new: NewBatch, pending: list[PendingRun], is_whole: bool, now: str
) -> int:
    batch_id = batches.add_batch(
        connection,
        org_id=new.org_id,
        agent_id=new.agent.id,
        agent_version=new.agent.version,
        dataset_id=new.dataset_id,
        repeats=new.repeats,
        concurrency=new.concurrency,
        fault_seed=new.fault_seed,
        passthrough=new.passthrough.mode,
        cassette=new.passthrough.cassette,
        budget=new.budget,
        honesty=new.honesty,
        status="running" if is_whole else "opening",
        now=now,
    )
    new.store_with_row(connection, batch_id)
    runs.add_pending_runs(connection, batch_id, pending)
    return batch_id


def _store_more(
    connection: Connection, *, batch_id: int, pending: list[PendingRun], is_whole: bool, now: str
) -> None:
    if not batches.go_on_opening(connection, batch_id=batch_id, is_whole=is_whole, now=now):
        raise StorageUnavailable("The batch was removed as abandoned while it was being stored; try again.")
    runs.add_pending_runs(connection, batch_id, pending)


def _add_retries(connection: Connection, *, org_id: int, batch_id: int, run_ids: list[int], now: str) -> bool:
    """A new attempt at what each run was asked; the old one stays as it ended."""
    retried = batches.take_for_retry(connection, batch_id=batch_id, run_ids=run_ids)
    if retried is None:
        return False
    ids = sorted({run.task_id for run in retried})
    found = datasets.tasks_to_run_by_id(connection, org_id=org_id, task_ids=ids)
    tasks = {task.id: task for task in found}
    again = [
        _pending_run(
            tasks[run.task_id], (run.agent_id, run.agent_version), run.repeat_number, run.fault_seed, now
        )
        for run in retried
    ]
    runs.add_pending_runs(connection, batch_id, again)
    return True


def _pending_runs(new: NewBatch, planned_runs: Sequence[PlannedRun], now: str) -> list[PendingRun]:
    version = (new.agent.id, new.agent.version)
    pending = []
    for place in planned_runs:
        fault_seed = place.repeat if new.fault_seed == "repeat" else new.fault_seed
        pending.append(_pending_run(new.tasks[place.task], version, place.repeat, fault_seed, now))
    return pending


def _pending_run(
    task: TaskToRun, version: tuple[int, int], repeat: int, fault_seed: int, now: str
) -> PendingRun:
    return PendingRun(
        task=task,
        agent_id=version[0],
        agent_version=version[1],
        repeat_number=repeat,
        jti=secrets.token_hex(16),
        token_hash=hash_of(secrets.token_hex(16)),
        fault_seed=fault_seed,
        created_at=now,
    )
