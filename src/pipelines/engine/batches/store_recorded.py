"""The runs of an import, stored in slices that let others through; with rows and words, without verdicts."""

import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from pipelines.core.recordings.recorded_run import NOTE, RecordedRun, note_of, recorded_from_json
from pipelines.core.recordings.states import with_changes
from pipelines.core.text.json_text import JsonObject, dumps, loads_own, same
from pipelines.core.tools.trace_row import TraceRow
from pipelines.engine.batches.change_batch import remove_batch
from pipelines.engine.find import task_in
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.store_texts import store_texts
from pipelines.processes.parts_in_file import PartsInFile
from pipelines.storage.accounts.keys import hash_of
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs import batches, recorded_runs
from pipelines.storage.runs.recorded_runs import NewRecordedRun
from pipelines.storage.tasks import datasets, texts
from pipelines.storage.tasks.datasets import Task
from pipelines.storage.tasks.texts import SLICE_CHARACTERS, SLICE_ROWS, Text, named
from pipelines.wire.errors import StorageUnavailable

ABANDONED = "The import was removed as abandoned while it was being stored; try again."
_TEXT_COLUMNS = ("tool_name", "error_code", "actor_id", "client")


class RecordedRunsFile:
    """The runs of an import, in a file: one in memory at a time."""

    def __init__(self, parts: PartsInFile) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts) - 2  # behind them: the rows of the tasks, and the head

    @property
    def task_rows(self) -> bytes:
        """`{"rows": […]}`, as an upload has them; null where it has none."""
        return self._parts[-2]

    def __getitem__(self, place: int) -> RecordedRun:
        return recorded_from_json(loads_own(self._parts[place]))

    def __iter__(self) -> Iterator[RecordedRun]:
        return (self[place] for place in range(len(self)))


class ChosenTask(NamedTuple):
    task_id: int
    note: str | None  # how it was found


@dataclass(frozen=True, kw_only=True, slots=True)
class NewImport:
    org_id: int
    agent: Agent
    dataset_id: int
    runs: RecordedRunsFile
    tasks: list[ChosenTask]  # one for each run
    label: str | None


class _ReadyRun(NamedTuple):
    run: NewRecordedRun
    world: Text | None  # where it did not start from its task's

    @property
    def characters(self) -> int:
        rows = sum(len(value) for row in self.run.rows for value in row if isinstance(value, str))
        return rows + len(dumps(self.run.messages))


async def store_recorded(platform: Platform, new: NewImport) -> tuple[int, list[int]]:
    """The batch and its runs, in the order of the recording. What fails leaves nothing."""
    created = platform.now()
    batch_id = await platform.database.write_part(partial(_add_batch, new=new, now=created))
    run_ids: list[int] = []
    try:
        async for group in _groups(_prepare_runs(platform, new, created)):
            await store_texts(platform, (each.world for each in group if each.world is not None))
            store = partial(_store_group, batch_id=batch_id, group=group, now=platform.now())
            run_ids += await platform.database.write_part(store)
        if not await platform.database.write(partial(recorded_runs.show_import, batch_id=batch_id)):
            raise StorageUnavailable(
                "The import was removed as abandoned while it was being stored; try again."
            )
    except Exception:
        with suppress(StorageUnavailable):
            await remove_batch(platform, batch_id)
        raise
    return batch_id, run_ids


def _add_batch(connection: Connection, *, new: NewImport, now: str) -> int:
    repeats = Counter(task.task_id for task in new.tasks)
    return batches.add_batch(
        connection,
        org_id=new.org_id,
        agent_id=new.agent.id,
        agent_version=new.agent.version,
        dataset_id=new.dataset_id,
        repeats=max(repeats.values()),
        concurrency=1,
        status="opening",
        now=now,
    )


async def _prepare_runs(platform: Platform, new: NewImport, created: str) -> AsyncIterator[_ReadyRun]:
    counts: Counter[int] = Counter()
    found: tuple[Task, JsonObject] | None = None
    for place, chosen in enumerate(new.tasks):
        if found is None or found[0].id != chosen.task_id:  # repeats of a task often stand together
            found = await platform.database.read(
                partial(_task_and_world, org_id=new.org_id, task_id=chosen.task_id)
            )
        task, state = found
        counts[task.id] += 1
        make = partial(_prepare_run, new, place, task, state, repeat=counts[task.id], created=created)
        yield await platform.plan_readers.run(make, owner=new.org_id)


def _task_and_world(connection: Connection, *, org_id: int, task_id: int) -> tuple[Task, JsonObject]:
    task = task_in(connection, org_id, task_id)
    return task, datasets.world_by_hash(connection, task.world_hash)


def _prepare_run(
    new: NewImport, place: int, task: Task, state: JsonObject, *, repeat: int, created: str
) -> _ReadyRun:
    run = with_changes(new.runs[place], state, new.agent.definition.tools)
    before = run.state_before or {}
    world = None if same(before, state) else named(dumps(before))
    note = new.tasks[place].note
    about = note_of(run).as_json() | ({"label": new.label} if new.label is not None else {})
    stored = NewRecordedRun(
        task=task,
        agent_id=new.agent.id,
        agent_version=new.agent.version,
        repeat_number=repeat,
        jti=secrets.token_hex(16),
        token_hash=hash_of(secrets.token_hex(16)),
        world_hash=world.hash if world is not None else task.world_hash,
        simulated_now=task.simulated_start() or run.now or "",
        final_response=_without_nul(run.responses[-1]) if run.responses else None,
        messages=run.messages,
        metadata=(run.metadata or {}) | {NOTE: about},
        error_class=run.error_class,
        error_json=run.error_json,
        soft_warnings=[*run.notes, *([note] if note is not None else [])],
        conversation=run.conversation,
        created_at=created,
        rows=tuple(map(_without_nuls, _with_times(run.rows, created))),
    )
    return _ReadyRun(stored, world)


def _with_times(rows: tuple[TraceRow, ...], created: str) -> Iterator[TraceRow]:
    """A row without a time of its own happened no later than the first that has one."""
    first = next((row.occurred_at for row in rows if row.occurred_at), created)
    return (row if row.occurred_at else row._replace(occurred_at=first) for row in rows)


def _without_nuls(row: TraceRow) -> TraceRow:
    """Postgres has no place for a NUL. In JSON it is escaped; these are stored as they are."""
    texts = {name: _without_nul(value) for name in _TEXT_COLUMNS if (value := getattr(row, name)) is not None}
    return row._replace(**texts)  # type: ignore[arg-type]  # columns of text


def _without_nul(text: str) -> str:
    return text.replace("\0", "\ufffd")


async def _groups(ready: AsyncIterator[_ReadyRun]) -> AsyncIterator[list[_ReadyRun]]:
    """As many runs together as make one short write, or one that is larger."""
    group: list[_ReadyRun] = []
    rows, characters = 0, 0
    async for each in ready:
        rows, characters = rows + 1 + len(each.run.rows), characters + each.characters
        if group and (rows > SLICE_ROWS or characters > SLICE_CHARACTERS):
            yield group
            group, rows, characters = [], 1 + len(each.run.rows), each.characters
        group.append(each)
    if group:
        yield group


def _store_group(connection: Connection, *, batch_id: int, group: list[_ReadyRun], now: str) -> list[int]:
    if not batches.go_on_opening(connection, batch_id=batch_id, is_whole=False, now=now):
        raise StorageUnavailable(ABANDONED)
    worlds = sorted({each.world.hash for each in group if each.world is not None})
    texts.keep_texts(connection, worlds)
    return [recorded_runs.add_recorded_run(connection, batch_id, each.run) for each in group]
