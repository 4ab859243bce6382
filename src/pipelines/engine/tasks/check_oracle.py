"""The check of a corrected oracle: it is checked whole as an upload is, and nothing is stored."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pipelines.core.task_files.read_tasks import tasks_as_rows
from pipelines.core.tasks.oracle_axes import ORACLE_AXES, Correction, corrected_body
from pipelines.core.tasks.task_key import oracle_hash
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own, raw_json
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import task_in
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.upload_tasks import (
    AgentContext,
    CheckedRows,
    LargeRows,
    check_rows,
    context_of,
)
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets, oracles
from pipelines.storage.tasks.datasets import Dataset, Task
from pipelines.storage.tasks.texts import Text, named
from pipelines.wire.errors import Conflict

SMALL_CHARACTERS = 256 * 1024  # of seed and world: checked in this process; more by a helper
_ROW = "/rows/0"  # where the one row of the check stands


class StoredTask(NamedTuple):
    task: Task
    dataset: Dataset
    world: str  # as text
    version: int  # of its oracle


class CheckedOracle(NamedTuple):
    stored: StoredTask
    body: JsonObject  # the seed as it would be stored: with the new oracle, without its world
    text: Text  # of the body
    oracle_hash: str
    warnings: list[JsonObject]  # of the lint, at paths within the oracle


async def check_oracle(platform: Platform, org_id: int, task_id: int, asked: Correction) -> CheckedOracle:
    """Refused with every problem of the oracle."""
    stored = await platform.database.read(partial(load_task, org_id=org_id, task_id=task_id))
    checked = await _check_correction(platform, org_id, stored, asked)
    body, text, hashed = await asyncio.to_thread(_corrected, stored.task, checked)
    warnings = [_warning_json(warning) for warning in checked.warnings if _concerns_oracle(warning)]
    return CheckedOracle(stored, body, text, hashed, warnings)


def load_task(connection: Connection, *, org_id: int, task_id: int) -> StoredTask:
    """Conflict for a task that cannot be changed: one of a matrix, or one that was removed."""
    task = task_in(connection, org_id, task_id)
    if task.removed_at is not None:
        raise Conflict(f"Task {task_id} was removed from its dataset. Its runs keep it as it is.")
    dataset = datasets.dataset_by_id(connection, org_id=org_id, dataset_id=task.dataset_id)
    if dataset is None:  # it is no dataset that somebody uploaded
        raise Conflict(f"Task {task_id} belongs to a matrix: change its scenario instead.")
    world = datasets.world_text(connection, task.world_hash)
    return StoredTask(task, dataset, world, oracles.present_version(connection, task_id))


async def _check_correction(
    platform: Platform, org_id: int, found: StoredTask, asked: Correction
) -> CheckedRows:
    rows = await asyncio.to_thread(_rows, found, asked)
    around = await context_of(platform, found.dataset)
    problems = list(asked.problems)
    try:
        return await check_rows(platform, org_id, rows, around, problems)
    except Refused as refused:
        ours = [
            _relative_to_oracle(problem) for problem in refused.problems if _is_correctable(problem, problems)
        ]
        if ours:
            raise Refused(ours, "the oracle") from None
    # What else the task says cannot be corrected here: the agent has changed since it was uploaded.
    return await check_rows(platform, org_id, rows, AgentContext(), [])


def _rows(found: StoredTask, asked: Correction) -> Json | LargeRows:
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


def _corrected(task: Task, checked: CheckedRows) -> tuple[JsonObject, Text, str]:
    (seed,) = checked.seeds
    body = corrected_body(task.odyssey_seed(), seed.as_json(), task.world_hash)
    return body, named(dumps(body)), oracle_hash(body)
