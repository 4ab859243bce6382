"""Datasets: an upload is checked whole and refused whole, then its seeds are frozen as tasks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from pipelines.core.coding.coding_tasks import CodingContext
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.models.model_question import Purpose
from pipelines.core.task_files.column_naming import DEFAULT_NAMING, ColumnNaming
from pipelines.core.task_files.file_formats import TABLE, Format
from pipelines.core.task_files.read_tasks import columns_of, csv_header, csv_rows, read_tasks, tasks_as_rows
from pipelines.core.task_files.upload_warnings import upload_warnings
from pipelines.core.tasks.seed import Seed
from pipelines.core.tasks.seed_text import SeedText
from pipelines.core.tasks.task_key import fold_content, refuse_taken_ids
from pipelines.core.tasks.task_modes import NEEDS_MODEL
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.uploads import MAX_NAME, is_name
from pipelines.core.tools.tools_schema import Tool
from pipelines.engine.coding.edit_coding_scenarios import coding_context, with_scenarios
from pipelines.engine.find import find_dataset
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.seed_file import SeedsFile
from pipelines.engine.tasks.store_texts import store_texts
from pipelines.processes.jobs import MOST_WARNING_S
from pipelines.processes.parts_in_file import PartsInFile
from pipelines.processes.pool import Input, Job
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets, task_keys, texts
from pipelines.storage.tasks.datasets import Dataset, NewTask, WrittenSeed
from pipelines.storage.tasks.texts import SLICE_ROWS
from pipelines.wire.errors import NotFound, StorageUnavailable

EXPORTED_AT_ONCE = 10  # tasks in memory, each with its world
MEBIBYTE = 1024 * 1024
WRITTEN_AT_ONCE = 250  # seeds made into texts before the first of them is stored, and
WRITTEN_CHARACTERS = 4 * MEBIBYTE  # of them, or one that is larger
CHECKING_S = 120.0  # of a large upload by a helper process; 64 MiB take some 20
CHECKING_BYTES = 768 * MEBIBYTE  # of its address space; 64 MiB of any format take half of it at most
MOST_SEEDS_BYTES = 1024 * MEBIBYTE  # as texts: far past what an upload makes


@dataclass(frozen=True, kw_only=True, slots=True)
class UploadedDataset:
    dataset: Dataset
    task_ids: list[int]
    warnings: list[JsonObject]  # what is taken, but may not do what its author hopes
    notes: list[str]  # what is taken otherwise than it stands in the file
    sentences: list[JsonObject]  # of behaviour texts, as they were read
    is_reused: bool = False  # it was there already

    def as_json(self) -> JsonObject:
        return self.dataset.as_json() | {
            "task_ids": [*self.task_ids],
            "warnings": [*self.warnings],
            "notes": [*self.notes],
            "sentences": [*self.sentences],
            "reused": self.is_reused,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class LargeRows:
    """Rows for a helper process to read: a file, or a JSON object with `rows`, strictly read before."""

    data: Input
    format: Format | None  # of a file


@dataclass(frozen=True, kw_only=True, slots=True)
class SmallFile:
    data: bytes
    format: Format


Rows: TypeAlias = Json | SmallFile | LargeRows


class CheckedRows(NamedTuple):
    seeds: Sequence[Seed | SeedText]
    warnings: list[JsonObject]
    notes: list[str]
    sentences: list[JsonObject]

    def as_uploaded(
        self, dataset: Dataset, task_ids: list[int], *, is_reused: bool = False
    ) -> UploadedDataset:
        return UploadedDataset(
            dataset=dataset,
            task_ids=task_ids,
            warnings=self.warnings,
            notes=self.notes,
            sentences=self.sentences,
            is_reused=is_reused,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentContext:
    """What rows are checked against: nothing without an agent."""

    tools: tuple[Tool, ...] | None = None
    ledger_schema: LedgerSchema | None = None
    rules: tuple[JsonObject, ...] = ()
    definition_text: str | None = None  # the agent's
    is_http_agent: bool = False  # known to be one


async def create_dataset(
    platform: Platform,
    org_id: int,
    *,
    name: Json,
    agent_id: Json,
    rows: Rows,
    reuse: Json = None,
    naming: ColumnNaming = DEFAULT_NAMING,
) -> UploadedDataset:
    """With `reuse`, the dataset of the same name, agent and content is given back where there is one."""
    problems = _name_problems(name) + _agent_id_problems(agent_id) + _reuse_problems(reuse)
    context = AgentContext()
    if isinstance(agent_id, int) and not problems:
        found = await agent_context(platform, org_id, agent_id)
        if found is None:
            raise NotFound(f"There is no agent {agent_id}.")
        context = found
    checked = await check_rows(platform, org_id, rows, context, problems, naming)
    now = platform.now()
    of_agent = agent_id if isinstance(agent_id, int) else None
    if (
        reuse
        and (same := await _find_same_dataset(platform, org_id, str(name), of_agent, checked.seeds))
        is not None
    ):
        dataset = await find_dataset(platform, org_id, same)
        ids = await platform.database.read(partial(datasets.task_ids_of, dataset_id=same))
        return checked.as_uploaded(dataset, ids, is_reused=True)

    def add_dataset(connection: Connection) -> int:
        return datasets.add_dataset(connection, org_id=org_id, name=str(name), agent_id=of_agent, now=now)

    dataset, task_ids = await _store(platform, org_id, checked.seeds, add_dataset, now)
    return checked.as_uploaded(dataset, task_ids)


async def append_tasks(platform: Platform, org_id: int, dataset_id: int, rows: Rows) -> UploadedDataset:
    dataset = await find_dataset(platform, org_id, dataset_id)
    context = AgentContext()
    if dataset.agent_id is not None:
        # An agent that was deleted meanwhile leaves nothing to check against.
        context = await agent_context(platform, org_id, dataset.agent_id) or context
    checked = await check_rows(platform, org_id, rows, context, [])
    dataset, task_ids = await _store(
        platform, org_id, checked.seeds, lambda connection: dataset_id, platform.now()
    )
    return checked.as_uploaded(dataset, task_ids)


async def export_tasks_as_csv(platform: Platform, dataset_id: int) -> AsyncIterator[bytes]:
    """A part at a time: a dataset may have any number of tasks, and each a large world."""
    axes: set[str] = set()
    async for seeds in _seeds_of(platform, dataset_id):
        axes.update(axis for seed in seeds for axis in seed.as_json())
    columns = columns_of(axes)
    yield csv_header(columns)
    async for seeds in _seeds_of(platform, dataset_id):
        yield await asyncio.to_thread(csv_rows, seeds, columns)


async def export_tasks_as_body(platform: Platform, dataset: Dataset) -> AsyncIterator[bytes]:
    """What would make the dataset anew, as it is sent to us; a part at a time."""
    opening = b'{"name":' + dumps(dataset.name) + b',"rows":['
    async for seeds in _seeds_of(platform, dataset.id):
        for row in await asyncio.to_thread(tasks_as_rows, seeds):
            yield opening + dumps(row)
            opening = b","
    yield (b"" if opening == b"," else opening) + b"]}"


async def _seeds_of(platform: Platform, dataset_id: int) -> AsyncIterator[list[Seed]]:
    """Every seed of the dataset in order, whole, a few at a time."""
    after_id: int | None = None
    worlds: dict[str | None, JsonObject] = {}  # of the page before: tasks beside each other often share one
    while True:

        def some(
            connection: Connection,
            after_id: int | None = after_id,
            known: dict[str | None, JsonObject] = worlds,
        ) -> tuple[list[Seed], dict[str | None, JsonObject], int | None]:
            page = datasets.tasks_of_dataset(
                connection, dataset_id, limit=EXPORTED_AT_ONCE, after_id=after_id
            )
            here: dict[str | None, JsonObject] = {}
            for name in (task.world_hash for task in page.items):
                if name not in here:
                    here[name] = known.get(name) or datasets.world_by_hash(connection, name)
            # What a corrected task draws under is its former name, which no author writes.
            seeds = [
                replace(
                    task.seed,
                    initial_state=here[task.world_hash],
                    drawn_as=None,
                    coding_scenario=None,
                )
                for task in page.items
            ]
            return seeds, here, page.last_id

        seeds, worlds, after_id = await platform.database.read(some)
        yield seeds
        if after_id is None:
            return


def _name_problems(name: Json) -> list[Problem]:
    if is_name(name):
        return []
    return [Problem(path="/name", message=f"must be text of 1 to {MAX_NAME} characters")]


def _reuse_problems(reuse: Json) -> list[Problem]:
    if reuse is None or isinstance(reuse, bool):
        return []
    return [Problem(path="/reuse", message="must be true or false")]


def _agent_id_problems(agent_id: Json) -> list[Problem]:
    if agent_id is None:
        return []
    if isinstance(agent_id, int) and not isinstance(agent_id, bool) and 0 < agent_id < 2**63:
        return []
    return [Problem(path="/agent_id", message="must be the id of an agent, or left out")]


async def agent_context(platform: Platform, org_id: int, agent_id: int) -> AgentContext | None:
    agent = await platform.database.read(
        lambda connection: agents.agent_by_id(connection, org_id=org_id, agent_id=agent_id)
    )
    if agent is None:
        return None
    return AgentContext(
        tools=agent.definition.tools,
        ledger_schema=agent.definition.ledger_schema,
        rules=agent.definition.rules,
        definition_text=agent.definition_text,
        is_http_agent=not agent.definition.is_code,
    )


async def check_rows(
    platform: Platform,
    org_id: int,
    rows: Rows,
    around: AgentContext,
    problems: list[Problem],
    naming: ColumnNaming = DEFAULT_NAMING,
) -> CheckedRows:
    """The seeds and what their author should know, or Refused with every problem."""
    coding = await coding_context(platform, org_id, is_http_agent=around.is_http_agent)
    try:
        if isinstance(rows, LargeRows):
            checked = await _check_in_helper(platform, org_id, rows, around, naming, coding)
        else:
            checked = await platform.plan_readers.run(
                partial(_check_here, rows, around, naming, coding), owner=org_id
            )
    except Refused as refused:
        refused.problems[:0] = problems
        raise
    if problems:
        raise Refused(problems, "the dataset")
    notes = checked.notes
    if platform.models.model_for(Purpose.USER) is not None:  # then nothing is missing
        notes = [note for note in notes if not note.endswith(NEEDS_MODEL)]
    return checked._replace(seeds=await with_scenarios(platform, org_id, checked.seeds), notes=notes)


async def _check_in_helper(
    platform: Platform,
    org_id: int,
    rows: LargeRows,
    around: AgentContext,
    naming: ColumnNaming,
    coding: CodingContext,
) -> CheckedRows:
    request: JsonObject = {
        "format": rows.format,
        "definition": around.definition_text,
        "naming": naming.as_json(),
        "coding": coding.as_json(),
    }
    job = Job("upload_rows", request, CHECKING_S, MOST_SEEDS_BYTES, CHECKING_BYTES)
    parts = await platform.upload_helpers.run_into(PartsInFile(), job, rows.data, owner=org_id)
    report: Any = loads_own(parts[-1])
    return CheckedRows(SeedsFile(parts), report["warnings"], report["notes"], report["sentences"])


def _check_here(
    rows: Json | SmallFile, around: AgentContext, naming: ColumnNaming, coding: CodingContext
) -> CheckedRows:
    source, format = (rows.data, rows.format) if isinstance(rows, SmallFile) else (rows, TABLE)
    read = read_tasks(
        source,
        format=format,
        tools=around.tools,
        ledger_schema=around.ledger_schema,
        naming=naming,
        coding=coding,
    )
    warnings = upload_warnings(
        read.seeds,
        tools=around.tools,
        ledger_schema=around.ledger_schema,
        may_read=has_time(MOST_WARNING_S),
        rows=read.rows,
        rules=around.rules,
    )
    return CheckedRows(read.seeds, warnings.warnings, list(read.notes), warnings.sentences)


async def _find_same_dataset(
    platform: Platform, org_id: int, name: str, agent_id: int | None, seeds: Sequence[Seed | SeedText]
) -> int | None:
    """The dataset that was made of the same tasks."""
    content: str | None = None
    count = 0
    while some := await asyncio.to_thread(_next_seed_texts, seeds, count):
        tasks = [written.task for written in some]
        count += len(tasks)
        content = fold_content(content, ((task.seed_hash, task.world_hash) for task in tasks))
    if content is None:
        return None
    return await platform.database.read(
        partial(task_keys.same_dataset, org_id=org_id, name=name, agent_id=agent_id, content_hash=content)
    )


async def _store(
    platform: Platform,
    org_id: int,
    seeds: Sequence[Seed | SeedText],
    dataset_of: Callable[[Connection], int],
    now: str,
) -> tuple[Dataset, list[int]]:
    """The texts first, in slices that let others through; then, at once, the tasks that refer to them.

    An upload that is cut off leaves texts that nobody sees and the next start removes.
    """
    tasks, new_texts = await _store_texts(platform, seeds)

    def store(connection: Connection) -> tuple[Dataset, list[int]]:
        dataset_id = dataset_of(connection)
        own_ids = [task.own_id for task in tasks if task.own_id is not None]
        refuse_taken_ids(task_keys.keys_taken(connection, dataset_id, own_ids))
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


async def _store_texts(
    platform: Platform, seeds: Sequence[Seed | SeedText]
) -> tuple[list[NewTask], list[str]]:
    """The tasks whose texts they are, and which were not there already."""
    tasks: list[NewTask] = []
    new_texts: list[str] = []
    while written := await asyncio.to_thread(_next_seed_texts, seeds, len(tasks)):
        new_texts += await store_texts(platform, (text for seed in written for text in seed.texts))
        tasks += [seed.task for seed in written]
    return tasks, new_texts


def _next_seed_texts(seeds: Sequence[Seed | SeedText], start: int) -> list[WrittenSeed]:
    """Some of them, from one on: as many as are stored together."""
    written: list[WrittenSeed] = []
    room = WRITTEN_CHARACTERS
    for at in range(start, min(start + WRITTEN_AT_ONCE, len(seeds))):
        written.append(datasets.as_texts(seeds[at]))
        room -= sum(len(text.body) for text in written[-1].texts)
        if room <= 0:
            break
    return written
