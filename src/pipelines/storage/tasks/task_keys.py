"""The keys of tasks and the content of datasets. A key is given once, where the task is added, and stays."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from pipelines.core.tasks.task_key import fold_content, key_of, keys_of
from pipelines.storage.database.connection import Connection, in_list, some_of
from pipelines.storage.tasks.texts import SLICE_ROWS


class KeyedTask(Protocol):
    """Of a new task: what its key and the content of its dataset are made of."""

    @property
    def seed_hash(self) -> str: ...
    @property
    def world_hash(self) -> str | None: ...
    @property
    def content_hash(self) -> str: ...
    @property
    def own_id(self) -> str | None: ...


class UnnamedTask(NamedTuple):
    """Of an older release: it has no key yet."""

    id: int
    org_id: int
    dataset_id: int
    seed_hash: str
    world_hash: str | None


class TaskName(NamedTuple):
    id: int
    content_hash: str
    oracle_hash: str
    tags: str  # as JSON


def new_keys(
    connection: Connection, dataset_id: int, tasks: Sequence[KeyedTask], *, is_first: bool
) -> list[str]:
    """For tasks that are being added to the dataset, whose row is locked by the caller."""
    own_ids, contents = [task.own_id for task in tasks], [task.content_hash for task in tasks]
    keys = {task.own_id or key_of(task.content_hash) for task in tasks}
    used_keys = keys_taken(connection, dataset_id, keys) if not is_first else {}
    # Only where keys are taken is it worth to look through the dataset for how many have which content.
    counted = _counted(connection, dataset_id, contents) if used_keys else {}
    return keys_of(own_ids, contents, used_keys, counted)


def keys_taken(connection: Connection, dataset_id: int, keys: Iterable[str]) -> dict[str, int]:
    """Those of some keys that tasks of the dataset have, with the number of the row."""
    found: dict[str, int] = {}
    for some in some_of(sorted(set(keys)), SLICE_ROWS):
        rows = connection.execute(
            f"SELECT task_key, row_number FROM tasks WHERE dataset_id = ? AND task_key IN {in_list(some)}",
            (dataset_id, *some),
        )
        found |= {row[0]: row[1] for row in rows}
    return found


def add_content(
    connection: Connection, dataset_id: int, tasks: Sequence[KeyedTask], *, is_first: bool
) -> None:
    """To the dataset's hash; one that has none, but tasks, waits until they have keys."""
    row = connection.execute("SELECT content_hash FROM datasets WHERE id = ?", (dataset_id,)).fetchone()
    if row[0] is None and not is_first:
        return
    content = fold_content(row[0], ((task.seed_hash, task.world_hash) for task in tasks))
    connection.execute("UPDATE datasets SET content_hash = ? WHERE id = ?", (content, dataset_id))


def same_dataset(
    connection: Connection, *, org_id: int, name: str, agent_id: int | None, content_hash: str
) -> int | None:
    """The newest one with this content, name and agent."""
    row = connection.execute(
        "SELECT MAX(id) FROM datasets WHERE org_id = ? AND content_hash = ? AND name = ?"
        " AND COALESCE(agent_id, 0) = ? AND kind = 'tasks'",
        (org_id, content_hash, name, agent_id or 0),
    ).fetchone()
    return row[0] if row is not None else None


# What an older release left


def dataset_to_name(connection: Connection, *, after: int = 0) -> int | None:
    """The first, past this one, whose tasks have not all a key."""
    row = connection.execute(
        "SELECT MIN(id) FROM datasets WHERE content_hash IS NULL AND kind = 'tasks' AND id > ?", (after,)
    ).fetchone()
    return row[0] if row is not None else None


def unnamed_tasks(connection: Connection, dataset_id: int) -> list[UnnamedTask]:
    """Some of them, in the author's order."""
    rows = connection.execute(
        "SELECT id, org_id, dataset_id, seed_hash, world_hash FROM tasks"
        " WHERE dataset_id = ? AND task_key IS NULL ORDER BY row_number LIMIT ?",
        (dataset_id, SLICE_ROWS),
    )
    return [UnnamedTask(*row) for row in rows.fetchall()]


def name_tasks(connection: Connection, *, dataset_id: int, names: Sequence[TaskName]) -> None:
    """Give keys to those that another node has not named meanwhile."""
    connection.execute("UPDATE datasets SET name = name WHERE id = ?", (dataset_id,))  # nodes take turns
    ids = [name.id for name in names]
    rows = connection.execute(f"SELECT id FROM tasks WHERE id IN {in_list(ids)} AND task_key IS NULL", ids)
    without_name = {row[0] for row in rows.fetchall()}
    unnamed = [name for name in names if name.id in without_name]
    contents = [name.content_hash for name in unnamed]
    used_keys = keys_taken(connection, dataset_id, map(key_of, contents))
    counted = _counted(connection, dataset_id, contents) if used_keys else {}
    keys = keys_of([None] * len(unnamed), contents, used_keys, counted)
    connection.executemany(
        "UPDATE tasks SET task_key = ?, content_hash = ?, oracle_hash = ?, tags = ? WHERE id = ?",
        [(key, *name[1:], name.id) for key, name in zip(keys, unnamed, strict=True)],
    )


class Content(NamedTuple):
    hash: str
    last_row: int


def content_of(connection: Connection, dataset_id: int) -> Content:
    """Of a dataset whose tasks all have keys."""
    rows = connection.execute(
        "SELECT row_number, seed_hash, world_hash FROM tasks WHERE dataset_id = ?"
        " AND task_key IS NOT NULL ORDER BY row_number",
        (dataset_id,),
    ).fetchall()
    folded = fold_content(None, ((row[1], row[2]) for row in rows))
    return Content(folded, rows[-1][0] if rows else 0)


def finish_naming(connection: Connection, *, dataset_id: int, content: Content) -> bool:
    """Unless something was added meanwhile."""
    done = connection.execute(
        "UPDATE datasets SET content_hash = ? WHERE id = ? AND content_hash IS NULL"
        " AND COALESCE((SELECT MAX(row_number) FROM tasks WHERE dataset_id = ?), 0) = ?",
        (content.hash, dataset_id, dataset_id, content.last_row),
    )
    return done.rowcount == 1


def _counted(connection: Connection, dataset_id: int, contents: Iterable[str]) -> dict[str, int]:
    """How many tasks of the dataset have which content: one look through all of them."""
    rows = connection.execute(
        "SELECT content_hash, COUNT(*) FROM tasks WHERE dataset_id = ? GROUP BY 1", (dataset_id,)
    )
    names = set(contents)
    return {row[0]: row[1] for row in rows if row[0] in names}
