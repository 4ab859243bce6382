"""What a batch's page says of it, and what is said before one starts."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pipelines.core.models.model_question import NANO
from pipelines.core.results.run_estimate import RunEstimate, estimate_runs
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.engine.batches.open_batch import read_batch
from pipelines.engine.find import find_agent, find_dataset
from pipelines.engine.platform import Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.lists import batch_outcomes
from pipelines.storage.runs import model_exchanges

MOST_SAMPLED = 200  # runs that an estimate rests on, the latest
MOST_UNDER_WAY = 8  # that are named
#: Of a larger batch failures are told apart once it has ended: that reads rows, counting reads an index.
MOST_GROUPED_LIVE = 10_000


async def batch_figures(platform: Platform, org_id: int, batch_id: int) -> JsonObject:
    """The batch as the API shows it, how its runs failed, and which are under way."""
    batch = await read_batch(platform, org_id, batch_id)
    counts = batch["counts"]
    assert isinstance(counts, dict)
    has_reasons = batch["status"] != "running" or int(str(counts["total"])) <= MOST_GROUPED_LIVE

    def read(connection: Connection) -> JsonObject:
        modes, errors = batch_outcomes.reasons_of_batch(connection, batch_id) if has_reasons else ({}, {})
        under_way: list[Json] = [*batch_outcomes.runs_under_way(connection, batch_id, most=MOST_UNDER_WAY)]
        return {"failure_modes": {**modes}, "error_classes": {**errors}, "under_way": under_way}

    return batch | await platform.database.read(read)


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchEstimateRequest:
    """What somebody is about to ask for; not checked any further."""

    agent_id: int
    dataset_id: int
    tag: str
    repeats: int
    concurrency: int | None
    task_id: int | None = None  # only this task


async def estimate_batch(platform: Platform, org_id: int, wanted: BatchEstimateRequest) -> RunEstimate:
    """How many runs, how long, at what cost, as far as the agent's latest runs tell."""
    agent = await find_agent(platform, org_id, wanted.agent_id)
    tasks = await tasks_with_tag(platform, org_id, wanted.dataset_id, wanted.tag)
    which = {"org_id": org_id, "agent_id": agent.id, "most": MOST_SAMPLED}
    before, spent = await platform.database.read(
        lambda connection: (
            batch_outcomes.ran_before(connection, **which),
            model_exchanges.spent_before(connection, **which),
        )
    )
    is_priced = all(run.is_priced for run in spent)
    most = agent.definition.max_concurrency
    return estimate_runs(
        (len(tasks) if wanted.task_id is None else 1) * wanted.repeats,
        at_once=min(wanted.concurrency or most, most),
        took_ms=[took_ms(run.dispatched_at, run.ended_at) for run in before],
        cost_usd=[run.cost_usd for run in before if run.cost_usd is not None],
        model_tokens=[run.tokens for run in spent],
        model_usd=[run.nanousd / NANO for run in spent] if is_priced else None,
    )


async def tasks_with_tag(platform: Platform, org_id: int, dataset_id: int, tag: str) -> list[int]:
    """All of the dataset's, where there is no tag."""
    await find_dataset(platform, org_id, dataset_id)
    tagged = await platform.database.read(
        partial(batch_outcomes.tags_of_tasks, dataset_id=dataset_id, most=platform.limits.batch_runs)
    )
    return [task_id for task_id, tags in tagged if not tag or tag in tags]


async def tags_of_dataset(platform: Platform, org_id: int, dataset_id: int) -> dict[str, int]:
    """Each tag and how many tasks have it, the most frequent first."""
    await find_dataset(platform, org_id, dataset_id)
    tagged = await platform.database.read(
        partial(batch_outcomes.tags_of_tasks, dataset_id=dataset_id, most=platform.limits.batch_runs)
    )
    counted: dict[str, int] = {}
    for _, tags in tagged:
        for tag in tags:
            counted[tag] = counted.get(tag, 0) + 1
    return dict(sorted(counted.items(), key=lambda found: (-found[1], found[0])))


def took_ms(began: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds() * 1000
