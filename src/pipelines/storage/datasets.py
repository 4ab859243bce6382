"""Datasets, their tasks, and the worlds the tasks start from."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipelines.core.json_text import JsonObject, dumps, loads_own, written
from pipelines.core.seed import Seed
from pipelines.core.seed_text import SeedText
from pipelines.storage.connection import Connection, Row, insert
from pipelines.storage.paging import Filter, Page, page_of
from pipelines.storage.stored_seed import WithSeed


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    id: int
    org_id: int
    name: str
    agent_id: int | None
    task_count: int
    created_at: str

    def as_json(self) -> JsonObject:
        return {
            "id": self.id,
            "name": self.name,
            "agent_id": self.agent_id,
            "task_count": self.task_count,
            "created_at": self.created_at,
        }


@dataclass(frozen=True, kw_only=True)
class Task(WithSeed):
    id: int
    org_id: int
    dataset_id: int
    row_number: int  # its place in the dataset, from 1
    created_at: str


_DATASETS = (
    "(SELECT d.*, (SELECT COUNT(*) FROM tasks t WHERE t.dataset_id = d.id) AS task_count FROM datasets d)"
    " AS counted"
)


def add_dataset(connection: Connection, *, org_id: int, name: str, agent_id: int | None, now: str) -> int:
    return insert(
        connection,
        "INSERT INTO datasets (org_id, name, agent_id, created_at) VALUES (?, ?, ?, ?)",
        (org_id, name, agent_id, now),
    )


def add_tasks(
    connection: Connection, *, org_id: int, dataset_id: int, seeds: Iterable[Seed | SeedText], now: str
) -> list[int]:
    """Append tasks behind those the dataset has. The world of each seed is taken out and shared."""
    # Nodes that append at the same time take turns: this changes nothing, and locks the dataset's row.
    connection.execute("UPDATE datasets SET name = name WHERE id = ?", (dataset_id,))
    (last,) = connection.execute(
        "SELECT COALESCE(MAX(row_number), 0) FROM tasks WHERE dataset_id = ?", (dataset_id,)
    ).fetchone()
    ids = []
    for number, seed in enumerate(seeds, last + 1):
        body = seed.as_json()
        world = body.pop("initial_state", None)
        made = insert(
            connection,
            "INSERT INTO tasks (org_id, dataset_id, row_number, seed, world_hash, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                org_id,
                dataset_id,
                number,
                dumps(body).decode(),
                add_world(connection, world) if isinstance(world, dict) else None,
                now,
            ),
        )
        ids.append(made)
    return ids


def add_world(connection: Connection, state: JsonObject) -> str:
    text = dumps(state)
    name = hashlib.sha256(text).hexdigest()
    connection.execute(
        "INSERT INTO worlds (hash, state) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, text.decode())
    )
    return name


def world_by_hash(connection: Connection, name: str | None) -> JsonObject:
    """The initial state; {} for a seed that has none."""
    state = loads_own(world_text(connection, name))
    assert isinstance(state, dict)
    return state


def world_text(connection: Connection, name: str | None) -> str:
    row = connection.execute("SELECT state FROM worlds WHERE hash = ?", (name,)).fetchone()
    return str(row[0]) if row else "{}"


def dataset_by_id(connection: Connection, *, org_id: int, dataset_id: int) -> Dataset | None:
    row = connection.execute(
        f"SELECT * FROM {_DATASETS} WHERE id = ? AND org_id = ?", (dataset_id, org_id)
    ).fetchone()
    return _dataset(row) if row else None


def datasets_of_org(
    connection: Connection,
    org_id: int,
    *,
    agent_id: int | None,
    limit: int,
    before_id: int | None,
) -> Page[Dataset]:
    rows = page_of(
        connection,
        _DATASETS,
        filters=[Filter("org_id", org_id), Filter("agent_id", agent_id)],
        limit=limit,
        before_id=before_id,
    )
    return Page([_dataset(row) for row in rows.items], rows.last_id)


def task_by_id(connection: Connection, *, org_id: int, task_id: int) -> Task | None:
    row = connection.execute("SELECT * FROM tasks WHERE id = ? AND org_id = ?", (task_id, org_id)).fetchone()
    return _task(row) if row else None


def tasks_of_dataset(
    connection: Connection, dataset_id: int, *, limit: int, after_id: int | None
) -> Page[Task]:
    """In the author's order."""
    rows = page_of(
        connection,
        "tasks",
        filters=[Filter("dataset_id", dataset_id)],
        limit=limit,
        before_id=after_id,
        newest_first=False,
    )
    return Page([_task(row) for row in rows.items], rows.last_id)


def whole_seed(connection: Connection, task: Task) -> Seed:
    """The seed with its initial_state put back."""
    return replace(task.seed, initial_state=world_by_hash(connection, task.world_hash))


def whole_odyssey_seed(connection: Connection, task: Task) -> JsonObject:
    """What is shown of it, the world as it was written."""
    if task.world_hash is None:
        return task.odyssey_seed()
    return task.odyssey_seed() | {"initial_state": written(world_text(connection, task.world_hash))}


def _dataset(row: Row) -> Dataset:
    return Dataset(
        id=row["id"],
        org_id=row["org_id"],
        name=row["name"],
        agent_id=row["agent_id"],
        task_count=row["task_count"],
        created_at=row["created_at"],
    )


def _task(row: Row) -> Task:
    return Task(
        id=row["id"],
        org_id=row["org_id"],
        dataset_id=row["dataset_id"],
        row_number=row["row_number"],
        seed_text=row["seed"],
        world_hash=row["world_hash"],
        created_at=row["created_at"],
    )
