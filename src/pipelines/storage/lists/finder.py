"""Finding things by number or words, for people: a few of each kind, from queries of a bounded size."""

from typing import NamedTuple

from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import holding
from pipelines.storage.lists.summaries import instructions_of_tasks
from pipelines.storage.runs.runs import IN_SIGHT

OF_EACH = 8
LATEST_RUNS = 200  # whose tasks' words are looked at
LATEST_DATASETS, LATEST_TASKS = 20, 200  # likewise
LONGEST_ASKED = 200
MAX_ID = 2**63 - 1


class Found(NamedTuple):
    kind: str  # agent, dataset, task, batch, run, world (a seed session), scenario, matrix
    id: str
    text: str  # what tells it from others
    when: str | None = None


def find(connection: Connection, org_id: int, asked: str) -> list[Found]:
    """By number first: whoever types one knows what they look for. `batch 8` and `task refund` mean only that
    kind, unless there is none such."""
    words = asked.strip()
    first, _, rest = words.partition(" ")
    kind = next((each for each, names in _SPELLED.items() if first.lower() in names), None)
    if kind is not None and rest.strip():
        found = _find(connection, org_id, rest.strip(), {kind})
        if found:
            return found
    return _find(connection, org_id, words, set(_SPELLED)) if words else []


def _find(connection: Connection, org_id: int, words: str, kinds: set[str]) -> list[Found]:
    number = words.removeprefix("#")
    found = _by_number(connection, org_id, int(number), kinds) if _is_id(number) else []
    found += _named(connection, org_id, words, kinds)
    if "batch" in kinds:
        found += _batches_of(connection, org_id, words)
    if "task" in kinds:
        found += _tasks_asking(connection, org_id, words)
    if "run" in kinds:
        found += _runs_asking(connection, org_id, words)
    known: dict[tuple[str, str], Found] = {}
    for one in found:
        known.setdefault((one.kind, one.id), one)
    return [*known.values()]


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and 0 < int(text) <= MAX_ID


#: A kind as people write it before a number or words.
_SPELLED = {
    "agent": ("agent", "agents"),
    "dataset": ("dataset", "datasets"),
    "task": ("task", "tasks"),
    "batch": ("batch", "batches"),
    "run": ("run", "runs"),
    "world": ("world", "worlds"),
    "scenario": ("scenario", "scenarios"),
    "matrix": ("matrix", "matrices"),
}
_BATCHES = (
    "SELECT b.id, CASE WHEN d.name IS NULL THEN a.name ELSE a.name || ', ' || d.name END, b.created_at"
    " FROM batches b JOIN agents a ON a.id = b.agent_id"
    " LEFT JOIN datasets d ON d.id = b.dataset_id AND d.kind = 'tasks'"
    " WHERE b.org_id = ? AND b.status NOT IN ('opening', 'discarded')"
)
#: Each takes (org, id). A number is an agent's, a dataset's, a batch's, a run's and a task's at once.
_NUMBERED = {
    "run": "SELECT id, COALESCE(verdict, status), created_at FROM runs"
    f" WHERE org_id = ? AND id = ? AND {IN_SIGHT}",
    "batch": f"{_BATCHES} AND b.id = ?",
    "agent": "SELECT id, name, updated_at FROM agents WHERE org_id = ? AND id = ? AND deleted_at IS NULL",
    "dataset": "SELECT id, name, created_at FROM datasets WHERE org_id = ? AND id = ? AND kind = 'tasks'"
    " AND deleted_at IS NULL",
    "world": "SELECT id, name, updated_at FROM seed_sessions WHERE org_id = ? AND id = ?",
    "task": "SELECT t.id, d.name, t.created_at FROM tasks t JOIN datasets d ON d.id = t.dataset_id"
    " AND d.kind = 'tasks' WHERE t.org_id = ? AND t.id = ? AND t.removed_at IS NULL",
}
_NAMED = {
    "agent": "SELECT id, name, updated_at FROM agents WHERE org_id = ? AND deleted_at IS NULL"
    " AND LOWER(name) LIKE ? ORDER BY id DESC LIMIT ?",
    "dataset": "SELECT id, name, created_at FROM datasets WHERE org_id = ? AND kind = 'tasks'"
    " AND deleted_at IS NULL AND LOWER(name) LIKE ? ORDER BY id DESC LIMIT ?",
    "world": "SELECT id, name, updated_at FROM seed_sessions WHERE org_id = ?"
    " AND LOWER(name) LIKE ? ORDER BY id DESC LIMIT ?",
    "scenario": "SELECT scenario_id, name, updated_at FROM eval_scenarios WHERE org_id = ?"
    " AND deleted_at IS NULL AND LOWER(scenario_id || ' ' || name) LIKE ?"
    " ORDER BY id DESC LIMIT ?",
    "matrix": "SELECT matrix_id, kind, created_at FROM eval_matrices WHERE org_id = ?"
    " AND batch_id IS NOT NULL AND LOWER(matrix_id) LIKE ? ORDER BY id DESC LIMIT ?",
}


def _by_number(connection: Connection, org_id: int, number: int, kinds: set[str]) -> list[Found]:
    found: list[Found] = []
    for kind, statement in _NUMBERED.items():
        if kind not in kinds:
            continue
        row = connection.execute(statement, (org_id, number)).fetchone()
        if row is not None:
            found.append(Found(kind, str(row[0]), str(row[1]), row[2]))
    return found


def _named(connection: Connection, org_id: int, words: str, kinds: set[str]) -> list[Found]:
    found: list[Found] = []
    for kind, statement in _NAMED.items():
        if kind not in kinds:
            continue
        rows = connection.execute(statement, (org_id, holding(words), OF_EACH))
        found += [Found(kind, str(row[0]), str(row[1]), row[2]) for row in rows]
    return found


def _batches_of(connection: Connection, org_id: int, words: str) -> list[Found]:
    """The newest batches whose agent or dataset has that name."""
    rows = connection.execute(
        f"{_BATCHES} AND (LOWER(a.name) LIKE ? OR LOWER(d.name) LIKE ?) ORDER BY b.id DESC LIMIT ?",
        (org_id, holding(words), holding(words), OF_EACH),
    )
    return [Found("batch", str(row[0]), str(row[1]), row[2]) for row in rows]


def _runs_asking(connection: Connection, org_id: int, words: str) -> list[Found]:
    """Of the latest runs, those whose task asks in these words: all of them, in any order."""
    rows = connection.execute(
        f"SELECT id, task_id, created_at FROM runs WHERE org_id = ? AND {IN_SIGHT} ORDER BY id DESC LIMIT ?",
        (org_id, LATEST_RUNS),
    ).fetchall()
    return _asking(connection, "run", words, [(row["id"], row["task_id"], row["created_at"]) for row in rows])


def _tasks_asking(connection: Connection, org_id: int, words: str) -> list[Found]:
    """Of the latest tasks of the newest datasets, those that ask in these words."""
    rows = connection.execute(
        "SELECT id, created_at FROM tasks WHERE dataset_id IN (SELECT id FROM datasets WHERE org_id = ?"
        " AND kind = 'tasks' ORDER BY id DESC LIMIT ?) ORDER BY id DESC LIMIT ?",
        (org_id, LATEST_DATASETS, LATEST_TASKS),
    ).fetchall()
    return _asking(connection, "task", words, [(row["id"], row["id"], row["created_at"]) for row in rows])


def _asking(
    connection: Connection, kind: str, words: str, looked_at: list[tuple[int, int, str]]
) -> list[Found]:
    """Of (id, task, when), those whose task has this key or asks in these words, all of them in any order."""
    instructions = instructions_of_tasks(connection, (task_id for _, task_id, _ in looked_at))
    needles = words.lower().split()
    found: list[Found] = []
    for number, task_id, when in looked_at:
        task = instructions[task_id]
        text = task.user_instruction or ""
        if all(word in text.lower() for word in needles) or words == task.task_key:
            found.append(Found(kind, str(number), text[:LONGEST_ASKED], when))
    return found[:OF_EACH]
