"""Correcting a task's oracle: a new version of the task, checked whole as an upload is. Runs that were made
keep theirs, and can be judged by the new one."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pipelines.core.task_files.read_tasks import tasks_as_rows
from pipelines.core.tasks.oracle_axes import (
    ORACLE_AXES,
    Correction,
    corrected_body,
    oracle_in,
    read_correction,
)
from pipelines.core.tasks.task_key import oracle_hash
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own, raw_json
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import task_in
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.fill_task_keys import name_dataset
from pipelines.engine.tasks.upload_tasks import (
    AgentContext,
    CheckedRows,
    LargeRows,
    agent_context,
    check_rows,
)
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets, oracles, texts
from pipelines.storage.tasks.datasets import Dataset, Task
from pipelines.storage.tasks.texts import Text
from pipelines.wire.errors import Conflict, StorageUnavailable

MOST_TRIES = 5  # at a task whose oracle others keep changing
SMALL_CHARACTERS = 256 * 1024  # of seed and world: checked in this process; more by a helper
_ROW = "/rows/0"  # where the one row of the check stands


class Corrected(NamedTuple):
    version: int
    warnings: list[JsonObject]


class _StoredTask(NamedTuple):
    task: Task
    dataset: Dataset
    world: str  # as text
    version: int


async def correct_oracle(
    platform: Platform, org_id: int, task_id: int, who: str, body: JsonObject
) -> Corrected:
    """The version that the task has now. One that changes nothing makes no new version."""
    correction = read_correction(body)
    for _ in range(MOST_TRIES):
        found = await platform.database.read(partial(_load_task, org_id=org_id, task_id=task_id))
        checked = await _check_correction(platform, org_id, found, correction)
        corrected = await asyncio.to_thread(_corrected_seed, found.task, checked)
        warnings = [_warning_json(warning) for warning in checked.warnings if _concerns_oracle(warning)]
        if corrected.text.hash == found.task.seed_hash:
            return Corrected(found.version, warnings)
        version = await _store(platform, found.task, corrected, correction, correction.by or who)
        if version is not None:
            await name_dataset(platform, found.dataset.id)
            return Corrected(version, warnings)
    raise StorageUnavailable("Others keep changing this oracle; try again.")


async def read_oracles(platform: Platform, org_id: int, task_id: int) -> list[JsonObject]:
    """Every version, newest first, with who changed it and why."""

    def read(connection: Connection) -> list[JsonObject]:
        task_in(connection, org_id, task_id)
        versions = oracles.versions_of_task(connection, task_id)
        seeds = texts.texts_of(connection, {version.seed_hash for version in versions})
        return [
            {
                "version": version.version,
                "by": version.changed_by,
                "note": version.note,
                "created_at": version.created_at,
                **oracle_in(seeds[version.seed_hash]),
            }
            for version in versions
        ]

    return await platform.database.read(read)


def _load_task(connection: Connection, *, org_id: int, task_id: int) -> _StoredTask:
    task = task_in(connection, org_id, task_id)
    dataset = datasets.dataset_by_id(connection, org_id=org_id, dataset_id=task.dataset_id)
    if dataset is None:  # it is no dataset that somebody uploaded
        raise Conflict(f"Task {task_id} belongs to a matrix: change its scenario instead.")
    world = datasets.world_text(connection, task.world_hash)
    return _StoredTask(task, dataset, world, oracles.present_version(connection, task_id))


async def _check_correction(
    platform: Platform, org_id: int, found: _StoredTask, asked: Correction
) -> CheckedRows:
    rows = await asyncio.to_thread(_rows, found, asked)
    context = AgentContext()
    if found.dataset.agent_id is not None:
        context = await agent_context(platform, org_id, found.dataset.agent_id) or context
    problems = list(asked.problems)
    try:
        return await check_rows(platform, org_id, rows, context, problems)
    except Refused as refused:
        ours = [
            _relative_to_oracle(problem) for problem in refused.problems if _is_correctable(problem, problems)
        ]
        if ours:
            raise Refused(ours, "the oracle") from None
    # What else the task says cannot be corrected here: the agent has changed since it was uploaded.
    return await check_rows(platform, org_id, rows, AgentContext(), [])


def _rows(found: _StoredTask, asked: Correction) -> Json | LargeRows:
    seed = replace(found.task.seed, drawn_as=None, coding_scenario=None)
    (row,) = tasks_as_rows([seed])
    row = {name: value for name, value in (row | asked.axes).items() if value is not None}
    if len(found.task.seed_text) + len(found.world) <= SMALL_CHARACTERS:
        return [row | {"state": loads_own(found.world)}]
    return LargeRows(data=dumps({"rows": [row | {"state": raw_json(found.world)}]}), format=None)


def _is_correctable(problem: Problem, problems: list[Problem]) -> bool:
    return problem in problems or problem.column in ORACLE_AXES


def _relative_to_oracle(problem: Problem) -> Problem:
    return replace(problem, path=problem.path.removeprefix(_ROW), row=None, column=None)


def _concerns_oracle(warning: JsonObject) -> bool:
    return warning.get("column") in ORACLE_AXES


def _warning_json(warning: JsonObject) -> JsonObject:
    """`row 1, column expected_state, at /a` -> `/expected_state/a`"""
    inside = str(warning.get("path", "")).partition(", at ")[2]
    rest = {key: value for key, value in warning.items() if key not in ("path", "row", "column")}
    return {"path": f"/{warning['column']}{inside}", **rest}


class _NewSeed(NamedTuple):
    text: Text
    oracle_hash: str


def _corrected_seed(task: Task, checked: CheckedRows) -> _NewSeed:
    (seed,) = checked.seeds
    body = corrected_body(task.odyssey_seed(), seed.as_json(), task.world_hash)
    return _NewSeed(texts.named(dumps(body)), oracle_hash(body))


async def _store(
    platform: Platform, task: Task, corrected: _NewSeed, asked: Correction, by: str
) -> int | None:
    database, now, text = platform.database, platform.now(), corrected.text
    missing = await database.read(partial(texts.missing_texts, hashes=[text.hash]))
    for parts in texts.slices_of([text] if missing else []):
        await database.write_part(partial(texts.add_parts, parts=parts, now=now))
    change = partial(
        oracles.add_version,
        task_id=task.id,
        before=task.seed_hash,
        after=text.hash,
        oracle_hash=corrected.oracle_hash,
        note=asked.note,
        by=by,
        now=now,
    )
    version = await database.write(change)
    if missing and version is not None:
        await database.write_part(partial(texts.keep_texts, hashes=[text.hash]))
    return version
