"""Datasets: an upload is checked whole and refused whole, then its seeds are frozen as tasks."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

from pipelines.core.json_text import Json, JsonObject, dumps
from pipelines.core.ledger import World
from pipelines.core.ledger_schema import LedgerSchema
from pipelines.core.problems import Problem, Refused
from pipelines.core.seed import Seed
from pipelines.core.simulation.behavior import read_behavior
from pipelines.core.tasks_csv import parse_tasks, tasks_as_csv, tasks_as_rows
from pipelines.core.tools_schema import Tool
from pipelines.core.verdict.lint import lint_seeds
from pipelines.engine.platform import Platform
from pipelines.storage import agents, datasets, texts
from pipelines.storage.connection import Connection
from pipelines.storage.datasets import Dataset, NewTask, WrittenSeed
from pipelines.storage.texts import SLICE_ROWS
from pipelines.wire.errors import NotFound, StorageUnavailable

MAX_NAME = 255
EXPORTED_AT_ONCE = 50  # tasks: others have their turn with the database's readers in between
WRITTEN_AT_ONCE = 250  # seeds made into texts before the first of them is stored
MOST_READ = 200  # behaviour texts that differ, read for one answer: each takes some hundredths of a second
MAX_WARNINGS = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Uploaded:
    dataset: Dataset
    task_ids: list[int]
    warnings: list[JsonObject]  # what is taken, but may not do what its author hopes

    def as_json(self) -> JsonObject:
        ids: list[Json] = list(self.task_ids)
        warnings: list[Json] = list(self.warnings)
        return self.dataset.as_json() | {"task_ids": ids, "warnings": warnings}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Surroundings:
    """What rows are checked against: nothing without an agent."""

    tools: tuple[Tool, ...] | None = None
    ledger_schema: LedgerSchema | None = None


async def create_dataset(
    platform: Platform, org_id: int, *, name: Json, agent_id: Json, rows: bytes | Json
) -> Uploaded:
    problems = _name_problems(name) + _agent_id_problems(agent_id)
    around = _Surroundings()
    if isinstance(agent_id, int) and not problems:
        found = await _surroundings(platform, org_id, agent_id)
        if found is None:
            raise NotFound(f"There is no agent {agent_id}.")
        around = found
    seeds = await asyncio.to_thread(_seeds, rows, around, problems)
    now = platform.now()

    def add_dataset(connection: Connection) -> int:
        return datasets.add_dataset(
            connection,
            org_id=org_id,
            name=str(name),
            agent_id=agent_id if isinstance(agent_id, int) else None,
            now=now,
        )

    dataset, task_ids = await _store(platform, org_id, seeds, add_dataset, now)
    warnings = await asyncio.to_thread(_warnings, seeds, around)
    return Uploaded(dataset=dataset, task_ids=task_ids, warnings=warnings)


async def append_tasks(platform: Platform, org_id: int, dataset_id: int, rows: bytes | Json) -> Uploaded:
    dataset = await find_dataset(platform, org_id, dataset_id)
    around = _Surroundings()
    if dataset.agent_id is not None:
        # An agent that was deleted meanwhile leaves nothing to check against.
        around = await _surroundings(platform, org_id, dataset.agent_id) or around
    seeds = await asyncio.to_thread(_seeds, rows, around, [])
    dataset, task_ids = await _store(platform, org_id, seeds, lambda connection: dataset_id, platform.now())
    warnings = await asyncio.to_thread(_warnings, seeds, around)
    return Uploaded(dataset=dataset, task_ids=task_ids, warnings=warnings)


async def find_dataset(platform: Platform, org_id: int, dataset_id: int) -> Dataset:
    dataset = await platform.database.read(
        lambda connection: datasets.dataset_by_id(connection, org_id=org_id, dataset_id=dataset_id)
    )
    if dataset is None:
        raise NotFound(f"There is no dataset {dataset_id}.")
    return dataset


async def export_tasks_as_csv(platform: Platform, org_id: int, dataset_id: int) -> bytes:
    await find_dataset(platform, org_id, dataset_id)
    seeds = await _seeds_of(platform, dataset_id)
    return await asyncio.to_thread(tasks_as_csv, seeds)


async def export_tasks_as_body(platform: Platform, org_id: int, dataset_id: int) -> JsonObject:
    """What would make the dataset anew, as it is sent to us."""
    dataset = await find_dataset(platform, org_id, dataset_id)
    rows: list[Json] = [*await asyncio.to_thread(tasks_as_rows, await _seeds_of(platform, dataset_id))]
    return {"name": dataset.name, "rows": rows}


async def _seeds_of(platform: Platform, dataset_id: int) -> list[Seed]:
    """Every seed of the dataset in order, whole."""
    seeds: list[Seed] = []
    after_id: int | None = None
    while True:

        def some(connection: Connection, after_id: int | None = after_id) -> tuple[list[Seed], int | None]:
            page = datasets.tasks_of_dataset(
                connection, dataset_id, limit=EXPORTED_AT_ONCE, after_id=after_id
            )
            return [datasets.whole_seed(connection, task) for task in page.items], page.last_id

        found, after_id = await platform.database.read(some)
        seeds += found
        if after_id is None:
            return seeds


def _name_problems(name: Json) -> list[Problem]:
    if isinstance(name, str) and name.strip() and len(name) <= MAX_NAME:
        return []
    return [Problem(path="/name", message=f"must be text of 1 to {MAX_NAME} characters")]


def _agent_id_problems(agent_id: Json) -> list[Problem]:
    if agent_id is None:
        return []
    if isinstance(agent_id, int) and not isinstance(agent_id, bool) and 0 < agent_id < 2**63:
        return []
    return [Problem(path="/agent_id", message="must be the id of an agent, or left out")]


async def _surroundings(platform: Platform, org_id: int, agent_id: int) -> _Surroundings | None:
    agent = await platform.database.read(
        lambda connection: agents.agent_by_id(connection, org_id=org_id, agent_id=agent_id)
    )
    if agent is None:
        return None
    return _Surroundings(tools=agent.definition.tools, ledger_schema=agent.definition.ledger_schema)


def _seeds(rows: bytes | Json, around: _Surroundings, problems: list[Problem]) -> list[Seed]:
    try:
        seeds = parse_tasks(rows, tools=around.tools, ledger_schema=around.ledger_schema)
    except Refused as refused:
        refused.problems[:0] = problems
        raise
    if problems:
        raise Refused(problems, "the dataset")
    return seeds


async def _store(
    platform: Platform, org_id: int, seeds: list[Seed], dataset_of: Callable[[Connection], int], now: str
) -> tuple[Dataset, list[int]]:
    """The texts first, in slices that let others through; then, at once, the tasks that refer to them.

    An upload that is cut off leaves texts that nobody sees and the next start removes.
    """
    tasks, new_texts = await _store_texts(platform, seeds)

    def store(connection: Connection) -> tuple[Dataset, list[int]]:
        dataset_id = dataset_of(connection)
        ids = datasets.add_tasks(connection, org_id=org_id, dataset_id=dataset_id, tasks=tasks, now=now)
        dataset = datasets.dataset_by_id(connection, org_id=org_id, dataset_id=dataset_id)
        assert dataset is not None
        return dataset, ids

    stored = await platform.database.write_part(store)
    with suppress(StorageUnavailable):  # the tasks are there, and the next start finds what they refer to
        for start in range(0, len(new_texts), SLICE_ROWS):
            some = new_texts[start : start + SLICE_ROWS]
            await platform.database.write_part(partial(texts.keep_texts, hashes=some))
    return stored


async def _store_texts(platform: Platform, seeds: list[Seed]) -> tuple[list[NewTask], list[str]]:
    """The tasks whose texts they are, and which were not there already."""
    tasks: list[NewTask] = []
    new_texts: list[str] = []
    left = iter(seeds)
    while some := list(islice(left, WRITTEN_AT_ONCE)):
        written = await asyncio.to_thread(_written, some)
        bodies = {text.hash: text for seed in written for text in seed.texts}
        missing = await platform.database.read(partial(texts.missing_texts, hashes=bodies))
        for slice in texts.slices_of(text for name, text in bodies.items() if name in missing):
            await platform.database.write_part(partial(texts.add_parts, parts=slice, now=platform.now()))
        tasks += [seed.task for seed in written]
        new_texts += missing
    return tasks, new_texts


def _written(seeds: list[Seed]) -> list[WrittenSeed]:
    return [datasets.written(seed) for seed in seeds]


def _warnings(seeds: list[Seed], around: _Surroundings) -> list[JsonObject]:
    """Oracles that prove nothing, and sentences of behaviour text that no rule was read from, by row."""
    linted = lint_seeds(seeds, tools=around.tools, ledger_schema=around.ledger_schema)
    found = [problem.as_json() for problem in linted]
    read: dict[tuple[str, bytes], tuple[str, ...]] = {}
    unread: list[int] = []
    for row, seed in enumerate(seeds, 1):
        if not seed.behavior_instructions or around.tools is None:
            continue
        # Rows of one dataset mostly share their rules and the make of their worlds: each is read once.
        key = (seed.behavior_instructions, _make_of(seed.initial_state))
        if key not in read and len(read) >= MOST_READ:
            unread.append(row)
            continue
        if key not in read:
            read[key] = _not_understood(seed, around)
        says = "not understood, so not enforced without a model: "
        found += [_behavior_warning(row, says + sentence) for sentence in read[key]]
    if unread:
        says = f"not read for this answer, as in {len(unread)} rows from here on; each run says what it lacks"
        found.insert(0, _behavior_warning(unread[0], says))
    return found[:MAX_WARNINGS]


def _not_understood(seed: Seed, around: _Surroundings) -> tuple[str, ...]:
    assert seed.behavior_instructions is not None
    assert around.tools is not None
    return read_behavior(
        seed.behavior_instructions,
        tools=around.tools,
        world=World.from_initial_state(seed.initial_state),
        ledger_schema=around.ledger_schema,
    ).not_understood


def _behavior_warning(row: int, message: str) -> JsonObject:
    path = "/behavior_instructions"
    return Problem(path=path, message=message, row=row, column="behavior").as_json()


def _make_of(state: JsonObject) -> bytes:
    """Its types and their fields, without ids and values."""
    make: JsonObject = {}
    for kind, of_kind in state.items():
        named = of_kind.values() if isinstance(of_kind, dict) else ()
        fields = sorted({name for attrs in named if isinstance(attrs, dict) for name in attrs})
        make[kind] = list(fields)
    return dumps(make)
