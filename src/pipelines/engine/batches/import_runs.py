"""Recorded runs made into stored ones: read, matched with tasks, stored whole, then judged like live ones.

Nobody sees the batch before all its runs are stored; one that is cut off before that is removed at a start,
and what is stored without a verdict is judged then.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from pipelines.core.recordings.import_request import WHAT, ImportHead, head_from_json
from pipelines.core.recordings.match_tasks import KnownTask, Match, NamedRun, match_tasks
from pipelines.core.recordings.own_tasks import known_tasks
from pipelines.core.tasks.seed import Seed
from pipelines.core.tasks.seed_text import SeedText
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.batches.store_recorded import ChosenTask, NewImport, RecordedRunsFile, store_recorded
from pipelines.engine.find import find_agent, find_dataset
from pipelines.engine.judging.judge_run import judge_and_end
from pipelines.engine.judging.stored_answers import responses_of
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.upload_tasks import (
    CHECKING_BYTES,
    CHECKING_S,
    MOST_SEEDS_BYTES,
    AgentContext,
    LargeRows,
    agent_context,
    check_rows,
    create_dataset,
)
from pipelines.processes.parts_in_file import PartsInFile
from pipelines.processes.pool import Input, Job
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs import batches, recorded_runs
from pipelines.storage.runs.runs import Ending, Run
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.texts import SLICE_ROWS
from pipelines.wire.names import RunStatus

DEFAULT_NAME = "Recorded runs"  # the dataset of an import that brings its tasks, without a label
JUDGED_AT_ONCE = 4  # runs held in memory; how many are judged at a time is for all orgs together
CODING = "was given a coding task: a recording has no workspace that scorers could grade"


async def import_runs(platform: Platform, org_id: int, data: Input) -> JsonObject:
    """Store and judge them; the batch, and of each run its verdict and what should be known of it."""
    job = Job("recorded_runs", {}, CHECKING_S, MOST_SEEDS_BYTES, CHECKING_BYTES)
    parts = await platform.upload_helpers.run_into(PartsInFile(), job, data, owner=org_id)
    head, runs = head_from_json(loads_own(parts[-1])), RecordedRunsFile(parts)
    agent = await find_agent(platform, org_id, head.agent_id) if head.agent_id is not None else None
    dataset_id, tasks = await _choose_tasks(platform, org_id, head, runs)
    assert agent is not None, "an import without an agent has a problem"
    new = NewImport(
        org_id=org_id, agent=agent, dataset_id=dataset_id, runs=runs, tasks=tasks, label=head.label
    )
    batch_id, run_ids = await store_recorded(platform, new)
    await judge_stored(platform, batch_id, run_ids)
    found = await platform.database.read(partial(_run_summaries, run_ids=run_ids))
    report: JsonObject = {"batch_id": batch_id, "dataset_id": dataset_id, "recognised": head.told}
    return report | {"runs": found}


async def judge_stored(platform: Platform, batch_id: int, run_ids: Iterable[int]) -> None:
    """The verdicts of runs that are stored whole; then the batch has ended."""
    waiting = asyncio.Semaphore(JUDGED_AT_ONCE)

    async def one(run_id: int) -> None:
        async with waiting:
            run = await platform.database.read(partial(recorded_runs.recorded_run, run_id=run_id))
            if run is not None:
                await judge_and_end(platform, run, _ending(run), responses_of(run))

    tasks = [asyncio.create_task(one(run_id)) for run_id in run_ids]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:  # after the first that breaks, none of the others goes on unseen
            task.cancel()
    now = platform.now()
    await platform.database.write(partial(batches.finish_batch, batch_id=batch_id, now=now))


async def judge_unjudged(platform: Platform) -> None:
    """At a start: runs that were stored, and whose server went down before it had judged them."""
    remaining = await platform.database.read(recorded_runs.unjudged_runs)
    for batch_id in dict.fromkeys(batch_id for batch_id, _ in remaining):
        await judge_stored(platform, batch_id, [run_id for of, run_id in remaining if of == batch_id])


def _ending(run: Run) -> Ending:
    return Ending(
        status=RunStatus.FAILED if run.error_class is not None else RunStatus.COMPLETED,
        final_response=run.final_response,
        messages=run.messages,
        metadata=run.metadata,
        error_class=run.error_class,
        error_json=run.error_json,
        conversation=run.conversation,
    )


def _run_summaries(connection: Connection, *, run_ids: Sequence[int]) -> list[Json]:
    found: list[Json] = []
    for run_id in run_ids:
        run = recorded_runs.recorded_run(connection, run_id)
        assert run is not None
        found.append(
            {
                "run_id": run.id,
                "task_id": run.task_id,
                "repeat_number": run.repeat_number,
                "verdict": run.verdict,
                "failure_mode": run.failure_mode,
                "judge_error": run.judge_error,
                "notes": run.soft_warnings,
            }
        )
    return found


# -- by which tasks


async def _choose_tasks(
    platform: Platform, org_id: int, head: ImportHead, runs: RecordedRunsFile
) -> tuple[int, list[ChosenTask]]:
    """The dataset, and the task of each run. Refused with every problem of the runs and of the tasks."""
    problems = list(head.problems)
    if head.dataset_id is not None and not problems:
        known = await _load_tasks(platform, org_id, head.dataset_id)
        matches = await asyncio.to_thread(_match_runs, runs, known, problems)
        return head.dataset_id, [ChosenTask(known[match.task].id or 0, match.note) for match in matches]
    rows = LargeRows(data=runs.task_rows, format=None)
    seeds = await _check_tasks(platform, org_id, head, rows, problems) if head.has_tasks else ()
    if problems:
        raise Refused(problems, WHAT)
    known = await asyncio.to_thread(known_tasks, seeds)
    own = [Match(task) for task in head.task_of] if head.task_of is not None else None
    matches = await asyncio.to_thread(_match_runs, runs, known, problems, own)
    name = head.label or DEFAULT_NAME
    uploaded = await create_dataset(
        platform, org_id, name=name, agent_id=head.agent_id, rows=rows, reuse=True
    )
    chosen = [ChosenTask(uploaded.task_ids[match.task], match.note) for match in matches]
    return uploaded.dataset.id, chosen


def _match_runs(
    runs: RecordedRunsFile,
    known: Sequence[KnownTask],
    problems: list[Problem],
    own: Sequence[Match] | None = None,
) -> list[Match]:
    """Refused with every run that has no task, or one that no recording can be judged by. `own` are the
    matches of recordings that make their tasks."""
    named = [NamedRun(run.place, run.task, run.instruction) for run in runs]
    matches = match_tasks(named, known, problems) if own is None else own
    for run, match in zip(named, matches, strict=True):
        if match is not None and known[match.task].is_coding:
            problems.append(Problem(path=run.place, message=CODING))
    if problems:
        raise Refused(problems, WHAT)
    return [match for match in matches if match is not None]


async def _check_tasks(
    platform: Platform, org_id: int, head: ImportHead, rows: LargeRows, problems: list[Problem]
) -> Sequence[Seed | SeedText]:
    """The tasks that come with an import; what is wrong with them is told with the rest."""
    context = await agent_context(platform, org_id, head.agent_id) if head.agent_id is not None else None
    try:
        checked = await check_rows(platform, org_id, rows, context or AgentContext(), [])
    except Refused as refused:
        problems += [replace(each, path=f"/tasks, {each.path}") for each in refused.problems]
        return ()
    return checked.seeds


async def _load_tasks(platform: Platform, org_id: int, dataset_id: int) -> list[KnownTask]:
    await find_dataset(platform, org_id, dataset_id)
    known: list[KnownTask] = []
    after_id: int | None = None
    while True:
        page = await platform.database.read(
            partial(datasets.tasks_of_dataset, dataset_id=dataset_id, limit=SLICE_ROWS, after_id=after_id)
        )
        known += [
            KnownTask(
                task.row_number,
                task.task_key,
                task.seed.user_instruction,
                task.id,
                task.seed.coding_scenario is not None,
            )
            for task in page.items
        ]
        after_id = page.last_id
        if after_id is None:
            return known
