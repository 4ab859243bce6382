"""Two batches side by side: which tasks regressed, which are fixed, and whether it is more than chance."""

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, NamedTuple

from pipelines.core.results.compare_batches import (
    MOST_LISTED,
    Flips,
    JudgedRun,
    PairedTest,
    TaskPair,
    counts_of,
    flips_of,
    paired_test,
    pairs_of,
)
from pipelines.engine.find import find_batch
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.fill_task_keys import name_dataset
from pipelines.storage.lists.summaries import instructions_of_tasks
from pipelines.storage.runs import batches
from pipelines.storage.runs.batches import Batch
from pipelines.wire.records import Flat, Id, Named, Record, Without

_NOT_COMPARED = frozenset(
    ("budget", "concurrency", "fault_seed", "passthrough", "cassette", "honesty", "ended_at")
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedBatch(Record):
    """One of the two batches."""

    batch: Annotated[Flat[Batch], Without(_NOT_COMPARED)]


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchComparison(Record):
    """What flipped between two batches."""

    from_batch: Id
    to_batch: Id
    before: Annotated[ComparedBatch, Named("from")]
    after: Annotated[ComparedBatch, Named("to")]
    warnings: tuple[str, ...]
    counts: Annotated[dict[str, int], "tasks by how they changed"]
    test: PairedTest
    tasks: Annotated[tuple[TaskPair, ...], "failures first; those that pass in both are counted"]
    tasks_left_off: int
    flips: Flat[Flips]


async def compare_batches(platform: Platform, org_id: int, batch_id: int, other_id: int) -> BatchComparison:
    """From one to a later one. Tasks that pass in both are counted, and not listed."""
    first = await find_batch(platform, org_id, batch_id)
    second = await find_batch(platform, org_id, other_id)
    before, after = await _runs(platform, batch_id), await _runs(platform, other_id)
    compared = await asyncio.to_thread(_compare, before, after)
    pairs = compared.pairs
    listed = [pair for pair in pairs if pair.change != "passing" or pair.notes]
    return BatchComparison(
        from_batch=batch_id,
        to_batch=other_id,
        before=ComparedBatch(batch=first),
        after=ComparedBatch(batch=second),
        warnings=tuple(_warnings(first, second)),
        counts=compared.counts,
        test=compared.test,
        tasks=await _with_instructions(platform, listed[:MOST_LISTED]),
        tasks_left_off=max(0, len(listed) - MOST_LISTED),
        flips=compared.flips,
    )


class _Comparison(NamedTuple):
    pairs: list[TaskPair]
    counts: dict[str, int]
    test: PairedTest
    flips: Flips


def _compare(before: list[JudgedRun], after: list[JudgedRun]) -> _Comparison:
    pairs = pairs_of(before, after)
    return _Comparison(pairs, counts_of(pairs), paired_test(pairs), flips_of(before, after))


async def _runs(platform: Platform, batch_id: int) -> list[JudgedRun]:
    """Of a batch whose tasks all have keys."""
    for dataset_id in await platform.database.read(partial(batches.datasets_to_name, batch_id=batch_id)):
        await name_dataset(platform, dataset_id)
    return await platform.database.read(partial(batches.judged_runs, batch_id=batch_id))


async def _with_instructions(platform: Platform, pairs: list[TaskPair]) -> tuple[TaskPair, ...]:
    ids = [pair.newest.task_id for pair in pairs]
    instructions = await platform.database.read(partial(instructions_of_tasks, task_ids=ids))
    return tuple(
        replace(pair, user_instruction=instructions[pair.newest.task_id].user_instruction) for pair in pairs
    )


def _warnings(first: Batch, second: Batch) -> list[str]:
    """What else than the agent's version differs between the two."""
    found = [
        f"batch {batch.id} has not ended ({batch.status}): its numbers will change"
        for batch in (first, second)
        if batch.status == "running"
    ]
    if first.agent_id != second.agent_id:
        found.append(f"they are of different agents: {first.agent_id} and {second.agent_id}")
    if first.fault_seed != second.fault_seed:
        found.append(f"fault_seed was {first.fault_seed}, and is {second.fault_seed}")
    if first.honesty != second.honesty:
        found.append(f"honesty was {first.honesty}, and is {second.honesty}")
    if _passthrough_text(first) != _passthrough_text(second):
        found.append(f"passthrough was {_passthrough_text(first)}, and is {_passthrough_text(second)}")
    return found


def _passthrough_text(batch: Batch) -> str:
    return batch.passthrough if batch.cassette is None else f"{batch.passthrough} ({batch.cassette})"
