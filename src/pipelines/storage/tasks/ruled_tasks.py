"""Tasks of an agent's datasets that have typed rules of their own."""

from typing import NamedTuple

from pipelines.core.simulation.rules.axis import RULES
from pipelines.core.text.json_text import JsonObject
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks.stored_seed import WithSeed
from pipelines.storage.tasks.texts import text_of

LOOKED_AT = 5_000  # tasks, the newest: their seeds are searched for the name of the axis
MOST_TASKS = 200
MOST_CHARACTERS = 16 * 1024 * 1024  # of their seeds


class RuledTask(NamedTuple):
    id: int
    rules: tuple[JsonObject, ...]


def ruled_tasks(connection: Connection, *, org_id: int, agent_id: int) -> list[RuledTask]:
    """Some of the newest, by their ids; of an agent with many thousands of tasks not all are looked at."""
    rows = connection.execute(
        "SELECT t.id, t.seed_hash FROM"
        " (SELECT tasks.id, tasks.seed_hash FROM tasks JOIN datasets ON datasets.id = tasks.dataset_id"
        " WHERE datasets.org_id = ? AND datasets.agent_id = ? AND datasets.kind = 'tasks'"
        " AND tasks.removed_at IS NULL ORDER BY tasks.id DESC LIMIT ?) AS t"
        " WHERE EXISTS (SELECT 1 FROM texts WHERE texts.hash = t.seed_hash AND texts.body LIKE ?)"
        " ORDER BY t.id LIMIT ?",
        (org_id, agent_id, LOOKED_AT, f'%"{RULES}":[%', MOST_TASKS),
    ).fetchall()
    known: dict[str, tuple[JsonObject, ...]] = {}
    found: list[RuledTask] = []
    room = MOST_CHARACTERS
    for id, seed_hash in ((row["id"], row["seed_hash"]) for row in rows):
        if seed_hash not in known:
            text = text_of(connection, seed_hash)
            room -= len(text)
            if room < 0:
                break
            known[seed_hash] = _rules_in(text)
        found += [RuledTask(id, known[seed_hash])] if known[seed_hash] else []
    return found


def _rules_in(text: str) -> tuple[JsonObject, ...]:
    return WithSeed(seed_text=text, world_hash=None).seed.rules
