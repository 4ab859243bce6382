"""Workers: who runs batches, and since when each was last heard of."""

from pipelines.storage.database.connection import Connection
from pipelines.storage.runs.batches import interrupt_worker

#: What stands in a worker's row instead of its latest beat.
LEFT = ""  # it stopped and said so
TAKEN = "gone, taken"  # followed by whom: another goes on with its shards


def enlist(connection: Connection, *, worker: str, now: str) -> None:
    """From here on it may claim runs, and is missed when it goes."""
    connection.execute(
        "INSERT INTO workers (id, seen_at) VALUES (?, ?)"
        " ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
        (worker, now),
    )


def beat(connection: Connection, *, worker: str, now: str) -> bool:
    """Say that a worker is there; False when it is not listed any more: it was taken to be gone."""
    done = connection.execute(
        "UPDATE workers SET seen_at = ? WHERE id = ? AND seen_at NOT LIKE ?", (now, worker, f"{TAKEN}%")
    )
    return done.rowcount == 1


def is_listed(connection: Connection, *, worker: str) -> bool:
    row = connection.execute("SELECT seen_at FROM workers WHERE id = ?", (worker,)).fetchone()
    return row is not None and not row[0].startswith(TAKEN)


def signs_of_workers(connection: Connection) -> dict[str, str]:
    """What the row of each says: when it sent its latest beat, by its own clock, or one of the above."""
    return {row[0]: row[1] for row in connection.execute("SELECT id, seen_at FROM workers")}


def leave(connection: Connection, *, worker: str, now: str) -> None:
    """A worker that stops says so: what it had under way is cut off, its shards may be taken at once."""
    interrupt_worker(connection, worker=worker, now=now)
    connection.execute("UPDATE workers SET seen_at = ? WHERE id = ?", (LEFT, worker))


def take_worker(connection: Connection, *, worker: str, sign: str, mark: str, now: str) -> bool:
    """Take one that is gone; False where its row says another `sign`: it is there, or someone was faster."""
    done = connection.execute(
        "UPDATE workers SET seen_at = ? WHERE id = ? AND seen_at = ?", (mark, worker, sign)
    )
    if done.rowcount != 1:
        return False
    interrupt_worker(connection, worker=worker, now=now)
    return True


def forget_worker(connection: Connection, *, worker: str, sign: str) -> None:
    """Unless it has been heard of since."""
    connection.execute("DELETE FROM workers WHERE id = ? AND seen_at = ?", (worker, sign))
