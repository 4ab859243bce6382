"""Datasets and their tasks. What a task asks and the world it starts from are texts, which it refers to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, cast

from pipelines.core.models.honesty_level import Honesty
from pipelines.core.tasks.seed import CONVERSATION, Seed, own_id_of
from pipelines.core.tasks.seed_text import SeedText
from pipelines.core.tasks.task_key import content_hash, oracle_hash, tags_text, world_hash_of
from pipelines.core.text.json_text import JsonObject, dumps, loads_own, raw_json
from pipelines.storage.database.connection import Connection, Row, in_list, insert, insert_many
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.storage.database.records import Mapper, Stored, first_column, json_text
from pipelines.storage.tasks import task_keys
from pipelines.storage.tasks.stored_seed import WithSeed
from pipelines.storage.tasks.texts import Text, named, text_of, text_size, texts_of
from pipelines.wire.records import Hidden, Id, Moment, Record


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset(Record):
    """A dataset."""

    id: Id
    org_id: Hidden[int]
    name: str
    agent_id: Annotated[Id | None, "whose tools the rows were checked against"]
    task_count: int
    content_hash: Annotated[str | None, "of all its tasks in order; null while it is worked out"]
    models: Annotated[
        JsonObject,
        Stored(read=lambda text: loads_own(text) if text else {}),
        "asked for its runs, by purpose",
    ]
    honesty: Annotated[Honesty | None, "how strictly words are judged; null: as the agent says"]
    created_at: Moment


@dataclass(frozen=True, kw_only=True)
class Task(WithSeed):
    id: int
    org_id: int
    dataset_id: int
    row_number: int  # its place in the dataset, from 1
    seed_hash: str
    task_key: str | None  # what it is known by over uploads; None until one of an older release has it
    created_at: str


class TaskToRun(NamedTuple):
    """What a run takes over from its task: names instead of texts, so that many are read at once."""

    id: int
    org_id: int
    dataset_id: int
    seed_hash: str
    world_hash: str | None
    needs_model: bool  # to play the user
    is_coding: bool = False  # needs a workspace


class NewTask(NamedTuple):
    seed_hash: str
    world_hash: str | None
    needs_model: bool
    content_hash: str  # of what it asks, and
    oracle_hash: str  # of what counts as right: see core.task_key
    own_id: str | None  # its author's
    tags: str  # as JSON
    is_coding: bool = False


class WrittenSeed(NamedTuple):
    """A seed as it is stored: its world is taken out, and shared with whoever starts from the same."""

    task: NewTask
    texts: tuple[Text, ...]  # what the task refers to


_DATASETS = (
    "(SELECT d.*, (SELECT COUNT(*) FROM tasks t WHERE t.dataset_id = d.id) AS task_count FROM datasets d"
    " WHERE d.kind = 'tasks') AS counted"
)


_DATASET = Mapper(Dataset)
_TASK = Mapper(Task, apart=("seed_text",))
_TO_RUN = Mapper(TaskToRun)


def add_dataset(
    connection: Connection, *, org_id: int, name: str, agent_id: int | None, now: str, kind: str = "tasks"
) -> int:
    """Only those of the kind "tasks" are shown to anyone: the others belong to a matrix."""
    row = {"org_id": org_id, "name": name, "agent_id": agent_id, "created_at": now, "kind": kind}
    return insert(connection, "datasets", row)


def as_texts(seed: Seed | SeedText) -> WrittenSeed:
    body = seed.as_json()
    if isinstance(seed, SeedText):
        content, oracle = seed.content_hash, seed.oracle_hash
    else:
        content, oracle = content_hash(body, world_hash_of(body)), oracle_hash(body)
    state = body.pop("initial_state", None)
    text = named(dumps(body))
    world = named(dumps(state)) if isinstance(state, dict) else None
    task = NewTask(
        text.hash,
        world.hash if world is not None else None,
        _needs_model(seed),
        content,
        oracle,
        own_id_of(body.get("id")),
        tags_text(body),
        "coding_scenario" in body,
    )
    return WrittenSeed(task, (text, world) if world is not None else (text,))


def seed_over_world(body: JsonObject, *, world_hash: str, content: str) -> WrittenSeed:
    """A seed whose world is stored already: `body` is without it, `content` its canonical hash.

    The same as `as_texts` of the whole seed, which need not be put together for it.
    """
    text = named(dumps(body))
    task = NewTask(
        text.hash,
        world_hash,
        body.get("turn_mode") == CONVERSATION and body.get("simulator_mode") != "scripted",
        content_hash(body, content),
        oracle_hash(body),
        own_id_of(body.get("id")),
        tags_text(body),
    )
    return WrittenSeed(task, (text,))


_UNNAMED = dict.fromkeys(("content_hash", "oracle_hash", "tags"))


def add_tasks(
    connection: Connection,
    *,
    org_id: int,
    dataset_id: int,
    tasks: Sequence[NewTask],
    now: str,
    is_named: bool = True,
) -> list[int]:
    """Append tasks, whose texts are stored, behind those the dataset has. Those of a matrix have no keys."""
    # Nodes that append at the same time take turns: this changes nothing, and locks the dataset's row.
    connection.execute("UPDATE datasets SET name = name WHERE id = ?", (dataset_id,))
    (last,) = connection.execute(
        "SELECT COALESCE(MAX(row_number), 0) FROM tasks WHERE dataset_id = ?", (dataset_id,)
    ).fetchone()
    keys = task_keys.new_keys(connection, dataset_id, tasks, is_first=last == 0) if is_named else ()
    rows = []
    for at, task in enumerate(tasks):
        row = task._asdict() | {"org_id": org_id, "dataset_id": dataset_id, "created_at": now}
        row |= {"row_number": last + at + 1, "task_key": keys[at] if is_named else None}
        del row["own_id"]  # its key says it
        rows.append(row if is_named else row | _UNNAMED)
    insert_many(connection, "tasks", rows)
    if is_named:
        task_keys.add_content(connection, dataset_id, tasks, is_first=last == 0)
    statement = "SELECT id FROM tasks WHERE dataset_id = ? AND row_number > ? ORDER BY row_number"
    return first_column(connection, statement, (dataset_id, last))


def task_ids_of(connection: Connection, dataset_id: int) -> list[int]:
    """In the author's order."""
    statement = "SELECT id FROM tasks WHERE dataset_id = ? ORDER BY row_number"
    return first_column(connection, statement, (dataset_id,))


def world_by_hash(connection: Connection, name: str | None) -> JsonObject:
    """The initial state; {} for a seed that has none."""
    state = loads_own(world_text(connection, name))
    assert isinstance(state, dict)
    return state


def world_text(connection: Connection, name: str | None) -> str:
    return text_of(connection, name) if name is not None else "{}"


def world_size(connection: Connection, name: str | None) -> int:
    """Of its text; 0 for none."""
    return text_size(connection, name) if name is not None else 0


def dataset_by_id(connection: Connection, *, org_id: int, dataset_id: int) -> Dataset | None:
    statement = f"SELECT {_DATASET.columns} FROM {_DATASETS} WHERE id = ? AND org_id = ?"
    return _DATASET.one(connection, statement, (dataset_id, org_id))


def name_models(connection: Connection, *, dataset_id: int, models: JsonObject) -> None:
    connection.execute("UPDATE datasets SET models = ? WHERE id = ?", (json_text(models or None), dataset_id))


def models_of_dataset(connection: Connection, dataset_id: int) -> JsonObject:
    row = connection.execute("SELECT models FROM datasets WHERE id = ?", (dataset_id,)).fetchone()
    return cast(JsonObject, loads_own(row[0])) if row and row[0] else {}


def set_honesty(connection: Connection, *, dataset_id: int, honesty: str | None) -> None:
    connection.execute("UPDATE datasets SET honesty = ? WHERE id = ?", (honesty, dataset_id))


def honesty_of_dataset(connection: Connection, dataset_id: int) -> str | None:
    row = connection.execute("SELECT honesty FROM datasets WHERE id = ?", (dataset_id,)).fetchone()
    return row[0] if row else None


def datasets_of_org(
    connection: Connection,
    org_id: int,
    *,
    agent_id: int | None,
    limit: int,
    before_id: int | None,
    name: str | None = None,
    content_hash: str | None = None,
) -> Page[Dataset]:
    filters = {"org_id": org_id, "agent_id": agent_id, "name": name, "content_hash": content_hash}
    return _DATASET.page(
        connection,
        _DATASETS,
        filters=[Filter(column, value) for column, value in filters.items()],
        limit=limit,
        before_id=before_id,
    )


def task_by_id(connection: Connection, *, org_id: int, task_id: int) -> Task | None:
    statement = f"SELECT {_TASK.columns} FROM tasks WHERE id = ? AND org_id = ?"
    row = connection.execute(statement, (task_id, org_id)).fetchone()
    return _TASK.read(row, text_of(connection, row["seed_hash"])) if row else None


def tasks_of_dataset(
    connection: Connection, dataset_id: int, *, limit: int, after_id: int | None
) -> Page[Task]:
    """In the author's order."""
    rows = _page_of_dataset(connection, dataset_id, _TASK.columns, limit, after_id)
    seeds = texts_of(connection, (row["seed_hash"] for row in rows.items))
    return Page([_TASK.read(row, seeds[row["seed_hash"]]) for row in rows.items], rows.last_id)


def tasks_to_run(
    connection: Connection, dataset_id: int, *, limit: int, after_id: int | None
) -> Page[TaskToRun]:
    """In the author's order."""
    rows = _page_of_dataset(connection, dataset_id, _TO_RUN.columns, limit, after_id)
    return Page([_task_to_run(connection, row) for row in rows.items], rows.last_id)


def tasks_to_run_by_id(connection: Connection, *, org_id: int, task_ids: Sequence[int]) -> list[TaskToRun]:
    """In the order of their ids, without those that are not there."""
    condition = f"org_id = ? AND id IN {in_list(task_ids)}"
    rows = connection.execute(
        f"SELECT {_TO_RUN.columns} FROM tasks WHERE {condition} ORDER BY id", (org_id, *task_ids)
    )
    return [_task_to_run(connection, row) for row in rows.fetchall()]


def whole_seed(connection: Connection, task: Task) -> Seed:
    """The seed with its initial_state put back."""
    return replace(task.seed, initial_state=world_by_hash(connection, task.world_hash))


def whole_odyssey_seed(connection: Connection, owner: WithSeed) -> JsonObject:
    """What is shown of a task's or a run's, the world as it was written."""
    if owner.world_hash is None:
        return owner.odyssey_seed()
    return owner.odyssey_seed() | {"initial_state": raw_json(world_text(connection, owner.world_hash))}


def _page_of_dataset(
    connection: Connection, dataset_id: int, columns: str, limit: int, after_id: int | None
) -> Page[Row]:
    return page_of(
        connection,
        "tasks",
        filters=[Filter("dataset_id", dataset_id)],
        limit=limit,
        before_id=after_id,
        newest_first=False,
        columns=columns,
    )


def _needs_model(seed: Seed | SeedText) -> bool:
    return seed.is_conversation and seed.simulator_mode != "scripted"


def _task_to_run(connection: Connection, row: Row) -> TaskToRun:
    task = _TO_RUN.read(row)
    if row["needs_model"] is None:  # a conversation, perhaps, from before this was noted at the upload
        seed = WithSeed(seed_text=text_of(connection, task.seed_hash), world_hash=task.world_hash).seed
        return task._replace(needs_model=_needs_model(seed))
    return task
