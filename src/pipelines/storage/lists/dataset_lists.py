"""Lists of datasets and of their tasks, with what pages show beside them and the filters they have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.tasks.seed_head import LOOKED_AT_CHARACTERS, SeedHead, head_in, instruction_in
from pipelines.core.text.json_text import Json, dumps, loads_own
from pipelines.storage.database.connection import Connection, Row, in_list
from pipelines.storage.database.paging import Page
from pipelines.storage.lists.summaries import LONGEST_SHOWN
from pipelines.storage.runs.batches import counts_of_batch, outcomes_by_task
from pipelines.storage.tasks.texts import text_of

TASKS_AT_ONCE = 200  # read and looked at together
MOST_WHOLE = 50  # long seeds read whole for one page; of further ones their beginning has to do
TASKS_LOOKED_AT = 100  # of each dataset in a list, for the axes it has
TAGS_LOOKED_AT = 1_000  # sets of tags that differ, of one dataset
MOST_TAGS = 100
_DECIDING = ("expected_outcome", "expected_state", "expected_calls", "expected_answer", "check")
_LIKE = "x.body LIKE ? ESCAPE '!'"
_IN_SIGHT = "status NOT IN ('opening', 'discarded')"


class DatasetLine(NamedTuple):
    id: int
    name: str
    agent_id: int | None
    agent_name: str | None
    task_count: int
    created_at: str


class LastBatch(NamedTuple):
    id: int
    status: str
    repeats: int
    outcomes: list[tuple[int, int]]  # as `outcomes_by_task` tells


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFilter:
    words: str = ""  # anywhere in what the seed says, its world apart
    tag: str = ""
    axis: str = ""
    has_oracle: bool | None = None


class TaskLine(NamedTuple):
    id: int
    row_number: int
    task_key: str | None
    user_instruction: str  # cut
    tags: list[Json]
    head: SeedHead


class BatchLine(NamedTuple):
    id: int
    agent_id: int
    agent_name: str | None
    agent_version: int
    status: str
    repeats: int
    created_at: str
    runs: int
    outcomes: list[tuple[int, int]]


def dataset_lines(
    connection: Connection,
    org_id: int,
    *,
    words: str,
    agent_id: int | None,
    limit: int,
    before_id: int | None,
) -> Page[DatasetLine]:
    """Newest first."""
    conditions, values = ["d.org_id = ?", "d.kind = 'tasks'"], [org_id]
    for condition, value in (
        ("LOWER(d.name) LIKE ? ESCAPE '!'", _holding(words.lower()) if words else None),
        ("d.agent_id = ?", agent_id),
        ("d.id < ?", before_id),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)  # type: ignore[arg-type]
    rows = connection.execute(
        "SELECT d.id, d.name, d.agent_id, a.name AS agent_name, d.created_at,"
        " (SELECT COUNT(*) FROM tasks t WHERE t.dataset_id = d.id) AS task_count"
        " FROM datasets d LEFT JOIN agents a ON a.id = d.agent_id"
        f" WHERE {' AND '.join(conditions)} ORDER BY d.id DESC LIMIT ?",
        (*values, limit + 1),
    ).fetchall()
    lines = [DatasetLine(*(row[name] for name in DatasetLine._fields)) for row in rows[:limit]]
    return Page(lines, lines[-1].id if len(rows) > limit else None)


def axes_of_datasets(connection: Connection, dataset_ids: Sequence[int]) -> dict[int, frozenset[str]]:
    """Which axes the first tasks of each have."""
    found: dict[int, frozenset[str]] = dict.fromkeys(dataset_ids, frozenset())
    for row in connection.execute(
        f"SELECT t.dataset_id, t.world_hash, SUBSTR(x.body, 1, {LOOKED_AT_CHARACTERS}) AS head"
        " FROM tasks t JOIN texts x ON x.hash = t.seed_hash AND x.number = 0"
        f" WHERE t.dataset_id IN {in_list(dataset_ids)} AND t.row_number <= ?",
        (*dataset_ids, TASKS_LOOKED_AT),
    ):
        found[row["dataset_id"]] |= head_in(row["head"], has_world=row["world_hash"] is not None).axes
    return found


def last_batches(connection: Connection, org_id: int, dataset_ids: Sequence[int]) -> dict[int, LastBatch]:
    """By dataset: its newest batch, of those that are to be seen."""
    rows = connection.execute(
        "SELECT id, dataset_id, status, repeats FROM batches WHERE id IN"
        " (SELECT MAX(id) FROM batches WHERE org_id = ?"
        f" AND dataset_id IN {in_list(dataset_ids)} AND {_IN_SIGHT} GROUP BY dataset_id)",
        (org_id, *dataset_ids),
    ).fetchall()
    return {
        row["dataset_id"]: LastBatch(
            row["id"], row["status"], row["repeats"], outcomes_by_task(connection, row["id"])
        )
        for row in rows
    }


def batches_of_dataset(
    connection: Connection, org_id: int, dataset_id: int, *, limit: int
) -> list[BatchLine]:
    """Newest first."""
    rows = connection.execute(
        "SELECT b.id, b.agent_id, a.name AS agent_name, b.agent_version, b.status, b.repeats, b.created_at"
        " FROM batches b LEFT JOIN agents a ON a.id = b.agent_id"
        f" WHERE b.org_id = ? AND b.dataset_id = ? AND b.{_IN_SIGHT} ORDER BY b.id DESC LIMIT ?",
        (org_id, dataset_id, limit),
    ).fetchall()
    return [_batch_line(connection, row) for row in rows]


def task_lines(
    connection: Connection, dataset_id: int, *, wanted: TaskFilter, limit: int, after_id: int | None
) -> Page[TaskLine]:
    """In the author's order. The database finds what may fit, which is then looked at."""
    conditions, values = _conditions(wanted)
    fitting: list[TaskLine] = []
    room_left = MOST_WHOLE
    # Where the database alone decides, what it finds is what is shown.
    at_once = TASKS_AT_ONCE if wanted.axis or wanted.has_oracle is not None else limit + 1
    last_id = after_id or 0
    while len(fitting) <= limit:
        rows = connection.execute(
            "SELECT t.id, t.row_number, t.task_key, t.tags, t.world_hash, t.seed_hash,"
            f" SUBSTR(x.body, 1, {LOOKED_AT_CHARACTERS}) AS head"
            " FROM tasks t JOIN texts x ON x.hash = t.seed_hash AND x.number = 0"
            f" WHERE {' AND '.join(['t.dataset_id = ?', 't.id > ?', *conditions])} ORDER BY t.id LIMIT ?",
            (dataset_id, last_id, *values, at_once),
        ).fetchall()
        for row in rows:
            is_long = len(row["head"]) == LOOKED_AT_CHARACTERS and room_left > 0
            room_left -= is_long
            line = _task_line(row, text_of(connection, row["seed_hash"]) if is_long else row["head"])
            fitting += [line] if _fits(line, wanted) else []
        if len(rows) < at_once:
            break
        last_id = rows[-1]["id"]
    return Page(fitting[:limit], fitting[limit - 1].id if len(fitting) > limit else None)


def tags_of_dataset(connection: Connection, dataset_id: int) -> list[str]:
    rows = connection.execute(
        "SELECT DISTINCT tags FROM tasks WHERE dataset_id = ? AND tags IS NOT NULL LIMIT ?",
        (dataset_id, TAGS_LOOKED_AT),
    )
    found = {str(tag) for row in rows for tag in _tags(row[0])}
    return sorted(found)[:MOST_TAGS]


def agent_choices(connection: Connection, org_id: int, *, most: int) -> list[tuple[int, str]]:
    """Agents that a dataset may be for, newest first."""
    rows = connection.execute(
        "SELECT id, name FROM agents WHERE org_id = ? AND deleted_at IS NULL ORDER BY id DESC LIMIT ?",
        (org_id, most),
    )
    return [(row[0], row[1]) for row in rows]


def _conditions(wanted: TaskFilter) -> tuple[list[str], list[object]]:
    conditions: list[str] = []
    values: list[object] = []
    if wanted.words:
        conditions.append("LOWER(x.body) LIKE ? ESCAPE '!'")
        values.append(_holding(dumps(wanted.words.lower()).decode()[1:-1]))
    if wanted.tag:
        conditions.append("t.tags LIKE ? ESCAPE '!'")
        values.append(_holding(dumps(wanted.tag).decode()))
    if wanted.axis == "initial_state":
        conditions.append("t.world_hash IS NOT NULL")
    elif wanted.axis:
        conditions.append(_LIKE)
        values.append(_holding(f'"{wanted.axis}":'))
    if wanted.has_oracle:
        conditions.append(f"({' OR '.join([_LIKE] * len(_DECIDING))})")
        values += [_holding(f'"{name}":') for name in _DECIDING]
    return conditions, values


def _fits(line: TaskLine, wanted: TaskFilter) -> bool:
    """A name that the text holds may be one of something inside an axis."""
    if wanted.axis and wanted.axis not in line.head.axes:
        return False
    return wanted.has_oracle is None or line.head.has_oracle == wanted.has_oracle


def _holding(text: str) -> str:
    """For LIKE … ESCAPE '!'."""
    for special in "!%_":
        text = text.replace(special, f"!{special}")
    return f"%{text}%"


def _task_line(row: Row, seed: str) -> TaskLine:
    return TaskLine(
        row["id"],
        row["row_number"],
        row["task_key"],
        instruction_in(row["head"], LONGEST_SHOWN),
        list(_tags(row["tags"])),
        head_in(seed, has_world=row["world_hash"] is not None),
    )


def _batch_line(connection: Connection, row: Row) -> BatchLine:
    total = counts_of_batch(connection, row["id"])["total"]
    assert isinstance(total, int)
    return BatchLine(
        row["id"],
        row["agent_id"],
        row["agent_name"],
        row["agent_version"],
        row["status"],
        row["repeats"],
        row["created_at"],
        total,
        outcomes_by_task(connection, row["id"]),
    )


def _tags(text: str | None) -> Iterable[Json]:
    tags = loads_own(text) if text is not None else []
    return tags if isinstance(tags, list) else []
