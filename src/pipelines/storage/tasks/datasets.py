"""Datasets and their tasks. What a task asks and the world it starts from are texts, which it refers to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from pipelines.core.tasks.seed import CONVERSATION, Seed, own_id_of
from pipelines.core.tasks.seed_text import SeedText
from pipelines.core.tasks.task_key import content_hash, oracle_hash, tags_text, world_hash_of
from pipelines.core.text.json_text import JsonObject, dumps, loads_own, raw_json
from pipelines.storage.database.connection import Connection, Row, in_list, insert, insert_many
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.storage.tasks import task_keys
from pipelines.storage.tasks.stored_seed import WithSeed
from pipelines.storage.tasks.texts import Text, named, text_of, text_size, texts_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    id: int
    org_id: int
    name: str
    agent_id: int | None
    task_count: int
    content_hash: str | None  # of all its tasks; None until those of an older release have keys
    models: JsonObject  # asked for its runs instead of the agent's and the server's, by purpose
    honesty: str | None  # in place of the agent's
    created_at: str

    def as_json(self) -> JsonObject:
        return {
            "id": self.id,
            "name": self.name,
            "agent_id": self.agent_id,
            "task_count": self.task_count,
            "content_hash": self.content_hash,
            "models": self.models,
            "honesty": self.honesty,
            "created_at": self.created_at,
        }


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


def add_dataset(
    connection: Connection, *, org_id: int, name: str, agent_id: int | None, now: str, kind: str = "tasks"
) -> int:
    """Only those of the kind "tasks" are shown to anyone: the others belong to a matrix."""
    return insert(
        connection,
        "INSERT INTO datasets (org_id, name, agent_id, created_at, kind) VALUES (?, ?, ?, ?, ?)",
        (org_id, name, agent_id, now, kind),
    )


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
    insert_many(
        connection,
        "INSERT INTO tasks (org_id, dataset_id, row_number, seed_hash, world_hash, needs_model,"
        " task_key, content_hash, oracle_hash, tags, is_coding, created_at) VALUES",
        [
            (
                *(org_id, dataset_id, last + at + 1, task.seed_hash, task.world_hash, int(task.needs_model)),
                *((keys[at], task.content_hash, task.oracle_hash, task.tags) if is_named else [None] * 4),
                int(task.is_coding),
                now,
            )
            for at, task in enumerate(tasks)
        ],
    )
    if is_named:
        task_keys.add_content(connection, dataset_id, tasks, is_first=last == 0)
    rows = connection.execute(
        "SELECT id FROM tasks WHERE dataset_id = ? AND row_number > ? ORDER BY row_number", (dataset_id, last)
    )
    return [row[0] for row in rows]


def task_ids_of(connection: Connection, dataset_id: int) -> list[int]:
    """In the author's order."""
    rows = connection.execute("SELECT id FROM tasks WHERE dataset_id = ? ORDER BY row_number", (dataset_id,))
    return [row[0] for row in rows]


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
    row = connection.execute(
        f"SELECT * FROM {_DATASETS} WHERE id = ? AND org_id = ?", (dataset_id, org_id)
    ).fetchone()
    return _dataset(row) if row else None


def name_models(connection: Connection, *, dataset_id: int, models: JsonObject) -> None:
    text = dumps(models).decode() if models else None
    connection.execute("UPDATE datasets SET models = ? WHERE id = ?", (text, dataset_id))


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
    wanted = {"org_id": org_id, "agent_id": agent_id, "name": name, "content_hash": content_hash}
    rows = page_of(
        connection,
        _DATASETS,
        filters=[Filter(column, value) for column, value in wanted.items()],
        limit=limit,
        before_id=before_id,
    )
    return Page([_dataset(row) for row in rows.items], rows.last_id)


def task_by_id(connection: Connection, *, org_id: int, task_id: int) -> Task | None:
    row = connection.execute("SELECT * FROM tasks WHERE id = ? AND org_id = ?", (task_id, org_id)).fetchone()
    return _task(row, text_of(connection, row["seed_hash"])) if row else None


def tasks_of_dataset(
    connection: Connection, dataset_id: int, *, limit: int, after_id: int | None
) -> Page[Task]:
    """In the author's order."""
    rows = _page_of_dataset(connection, dataset_id, limit, after_id)
    seeds = texts_of(connection, (row["seed_hash"] for row in rows.items))
    return Page([_task(row, seeds[row["seed_hash"]]) for row in rows.items], rows.last_id)


def tasks_to_run(
    connection: Connection, dataset_id: int, *, limit: int, after_id: int | None
) -> Page[TaskToRun]:
    """In the author's order."""
    rows = _page_of_dataset(connection, dataset_id, limit, after_id)
    return Page([_task_to_run(connection, row) for row in rows.items], rows.last_id)


def tasks_to_run_by_id(connection: Connection, *, org_id: int, task_ids: Sequence[int]) -> list[TaskToRun]:
    """In the order of their ids, without those that are not there."""
    rows = connection.execute(
        f"SELECT * FROM tasks WHERE org_id = ? AND id IN {in_list(task_ids)} ORDER BY id", (org_id, *task_ids)
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


def _page_of_dataset(connection: Connection, dataset_id: int, limit: int, after_id: int | None) -> Page[Row]:
    return page_of(
        connection,
        "tasks",
        filters=[Filter("dataset_id", dataset_id)],
        limit=limit,
        before_id=after_id,
        newest_first=False,
    )


def _needs_model(seed: Seed | SeedText) -> bool:
    return seed.is_conversation and seed.simulator_mode != "scripted"


def _dataset(row: Row) -> Dataset:
    return Dataset(
        id=row["id"],
        org_id=row["org_id"],
        name=row["name"],
        agent_id=row["agent_id"],
        task_count=row["task_count"],
        content_hash=row["content_hash"],
        models=cast(JsonObject, loads_own(row["models"])) if row["models"] else {},
        honesty=row["honesty"],
        created_at=row["created_at"],
    )


def _task(row: Row, seed_text: str) -> Task:
    return Task(
        id=row["id"],
        org_id=row["org_id"],
        dataset_id=row["dataset_id"],
        row_number=row["row_number"],
        seed_hash=row["seed_hash"],
        seed_text=seed_text,
        world_hash=row["world_hash"],
        task_key=row["task_key"],
        created_at=row["created_at"],
    )


def _task_to_run(connection: Connection, row: Row) -> TaskToRun:
    needs_model = row["needs_model"]
    if needs_model is None:  # a conversation, perhaps, from before this was noted at the upload
        needs_model = _needs_model(_task(row, text_of(connection, row["seed_hash"])).seed)
    return TaskToRun(
        row["id"],
        row["org_id"],
        row["dataset_id"],
        row["seed_hash"],
        row["world_hash"],
        bool(needs_model),
        bool(row["is_coding"]),
    )
