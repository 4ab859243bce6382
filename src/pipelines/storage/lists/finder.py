"""Finding things by number or words, for people: a few of each kind, from queries of a bounded size."""

from typing import NamedTuple

from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import holding
from pipelines.storage.lists.summaries import instructions_of_tasks
from pipelines.storage.runs.runs import IN_SIGHT

OF_EACH = 8
LATEST_RUNS = 200  # whose tasks' words are looked at
LONGEST_ASKED = 200
MAX_ID = 2**63 - 1


class Found(NamedTuple):
    kind: str  # agent, dataset, task, batch, run, world (a seed session), scenario, matrix
    id: str
    text: str  # what tells it from others
    when: str | None = None


def find(connection: Connection, org_id: int, asked: str) -> list[Found]:
    """By number first: whoever types one knows what they look for."""
    words = asked.strip()
    if not words:
        return []
    number = words.removeprefix("#")
    found = _by_number(connection, org_id, int(number)) if _is_id(number) else []
    found += _named(connection, org_id, words)
    found += _batches_of(connection, org_id, words)
    return [*dict.fromkeys((*found, *_runs_asking(connection, org_id, words)))]


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and 0 < int(text) <= MAX_ID


#: Each takes (org, id). A number is an agent's, a dataset's, a batch's, a run's and a task's at once.
_NUMBERED = {
    "run": "SELECT id, COALESCE(verdict, status), created_at FROM runs"
    f" WHERE org_id = ? AND id = ? AND {IN_SIGHT}",
    "batch": "SELECT b.id, a.name, b.created_at FROM batches b JOIN agents a ON a.id = b.agent_id"
    " WHERE b.org_id = ? AND b.id = ? AND b.status NOT IN ('opening', 'discarded')",
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


def _by_number(connection: Connection, org_id: int, number: int) -> list[Found]:
    found: list[Found] = []
    for kind, statement in _NUMBERED.items():
        row = connection.execute(statement, (org_id, number)).fetchone()
        if row is not None:
            found.append(Found(kind, str(row[0]), str(row[1]), row[2]))
    return found


def _named(connection: Connection, org_id: int, words: str) -> list[Found]:
    found: list[Found] = []
    for kind, statement in _NAMED.items():
        rows = connection.execute(statement, (org_id, holding(words), OF_EACH))
        found += [Found(kind, str(row[0]), str(row[1]), row[2]) for row in rows]
    return found


def _batches_of(connection: Connection, org_id: int, words: str) -> list[Found]:
    """The newest batches of agents of that name."""
    rows = connection.execute(
        "SELECT b.id, a.name, b.created_at FROM batches b JOIN agents a ON a.id = b.agent_id"
        " WHERE b.org_id = ? AND b.status NOT IN ('opening', 'discarded')"
        " AND LOWER(a.name) LIKE ? ORDER BY b.id DESC LIMIT ?",
        (org_id, holding(words), OF_EACH),
    )
    return [Found("batch", str(row[0]), str(row[1]), row[2]) for row in rows]


def _runs_asking(connection: Connection, org_id: int, words: str) -> list[Found]:
    """Of the latest runs, those whose task asks in these words: all of them, in any order."""
    rows = connection.execute(
        f"SELECT id, task_id, created_at FROM runs WHERE org_id = ? AND {IN_SIGHT} ORDER BY id DESC LIMIT ?",
        (org_id, LATEST_RUNS),
    ).fetchall()
    instructions = instructions_of_tasks(connection, (row["task_id"] for row in rows))
    needles = words.lower().split()
    found: list[Found] = []
    for row in rows:
        task = instructions[row["task_id"]]
        text = (task.user_instruction or "").lower()
        if all(word in text for word in needles) or words == task.task_key:
            found.append(
                Found("run", str(row["id"]), (task.user_instruction or "")[:LONGEST_ASKED], row["created_at"])
            )
    return found[:OF_EACH]
