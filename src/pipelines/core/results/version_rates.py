"""The pass rate of an agent on a dataset, version by version: one rate for each version with its build.

Batches of the same version and build are pooled, and so are their runs of a task: a further batch of the same
build adds runs and no tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.results.task_statistics import clustered_wilson
from pipelines.core.text.statistics import Interval


class BatchOutcomes(NamedTuple):
    """A batch over a dataset, with (passes, judged runs) of its tasks."""

    batch_id: int
    dataset_id: int
    agent_id: int
    agent_version: int
    build: str | None  # its label, or what the agent reported
    created_at: str
    by_task: dict[int, tuple[int, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionRate:
    agent_version: int
    build: str | None
    created_at: str  # of its first batch
    batch_ids: tuple[int, ...]  # oldest first
    passed: int
    judged: int
    interval: Interval

    @property
    def rate(self) -> float:
        return self.passed / self.judged

    @property
    def name(self) -> str:
        return f"v{self.agent_version}" + (f" {self.build}" if self.build else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class RateSeries:
    agent_id: int
    dataset_id: int
    rates: tuple[VersionRate, ...]  # by their first batches, oldest first


def rate_series(batches: Sequence[BatchOutcomes]) -> list[RateSeries]:
    """By agent and dataset, the one that ran last first. Batches without a judged run say nothing."""
    judged = sorted((batch for batch in batches if batch.by_task), key=lambda batch: batch.batch_id)
    by_place: dict[tuple[int, int], list[BatchOutcomes]] = {}
    for batch in judged:
        by_place.setdefault((batch.agent_id, batch.dataset_id), []).append(batch)
    latest = sorted(by_place.items(), key=lambda item: -item[1][-1].batch_id)
    return [
        RateSeries(agent_id=agent_id, dataset_id=dataset_id, rates=_rates(found))
        for (agent_id, dataset_id), found in latest
    ]


def _rates(batches: Sequence[BatchOutcomes]) -> tuple[VersionRate, ...]:
    by_build: dict[tuple[int, str | None], list[BatchOutcomes]] = {}
    for batch in batches:
        by_build.setdefault((batch.agent_version, batch.build), []).append(batch)
    return tuple(_rate(version, build, found) for (version, build), found in by_build.items())


def _rate(version: int, build: str | None, batches: Sequence[BatchOutcomes]) -> VersionRate:
    tasks: dict[int, tuple[int, int]] = {}
    for batch in batches:
        for task_id, (passed, judged) in batch.by_task.items():
            before = tasks.get(task_id, (0, 0))
            tasks[task_id] = before[0] + passed, before[1] + judged
    outcomes = list(tasks.values())
    return VersionRate(
        agent_version=version,
        build=build,
        created_at=batches[0].created_at,
        batch_ids=tuple(batch.batch_id for batch in batches),
        passed=sum(passed for passed, _ in outcomes),
        judged=sum(judged for _, judged in outcomes),
        interval=clustered_wilson(outcomes),
    )
