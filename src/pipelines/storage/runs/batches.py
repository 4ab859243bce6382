"""Batches: many runs asked for at once. The runs carry their own state; a batch only names them.

What changes many of its runs is made in slices, each a short write of its own: see `engine.open_batch`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.core.models.honesty_level import STANDARD
from pipelines.core.models.model_budget import Budget
from pipelines.core.models.model_question import cost_usd
from pipelines.core.results.compare_batches import JudgedRun
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.tools.failure_rules import FaultSeed
from pipelines.core.tools.live_tools import LIVE
from pipelines.storage.database.connection import Connection, Row, in_list, insert
from pipelines.storage.database.paging import Filter, Page, page_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    id: int
    org_id: int
    agent_id: int
    agent_version: int
    dataset_id: int | None
    repeats: int
    concurrency: int
    fault_seed: FaultSeed  # enters the draws of random failure rules
    passthrough: str  # of its runs: how calls of passthrough tools are answered
    cassette: str | None
    status: str  # running, completed, cancelled, budget_exceeded; opening and discarded are not shown
    created_at: str
    ended_at: str | None
    unqueued_since: str | None  # its runs are stored, but not known to be queued
    honesty: str = STANDARD  # how strictly the words of its runs are judged
    budget: Budget = field(default_factory=Budget)  # what it may spend on models
    #: What counts against it: with what is reserved for questions under way.
    model_nanousd: int = 0
    model_tokens: int = 0

    def as_json(self) -> JsonObject:
        return {
            "id": self.id,
            "agent_id": self.agent_id,
            "agent_version": self.agent_version,
            "dataset_id": self.dataset_id,
            "repeats": self.repeats,
            "concurrency": self.concurrency,
            "fault_seed": self.fault_seed,
            "passthrough": self.passthrough,
            "cassette": self.cassette,
            "honesty": self.honesty,
            "status": self.status,
            "budget": {
                **self.budget.as_json(),
                "cost_usd": cost_usd(self.model_nanousd),
                "tokens": self.model_tokens,
            },
            "created_at": self.created_at,
            "ended_at": self.ended_at,
        }


class CancelledRun(NamedTuple):
    id: int
    was_sent: bool


class RunToRetry(NamedTuple):
    task_id: int
    agent_id: int
    agent_version: int
    repeat_number: int
    fault_seed: int


BUDGET_EXCEEDED = "budget_exceeded"
_IN_SIGHT = "status NOT IN ('opening', 'discarded')"
#: Ended before its runs were.
_STOPPED = "status IN ('cancelled', 'budget_exceeded')"
_NO_BUDGET = Budget()


def add_batch(
    connection: Connection,
    *,
    org_id: int,
    agent_id: int,
    agent_version: int,
    dataset_id: int | None,
    repeats: int,
    concurrency: int,
    fault_seed: FaultSeed = 0,
    passthrough: str = LIVE,
    cassette: str | None = None,
    budget: Budget = _NO_BUDGET,
    honesty: str = STANDARD,
    status: str = "running",
    now: str,
) -> int:
    mode = passthrough if passthrough != LIVE else None
    settings = (agent_version, dataset_id, repeats, concurrency, str(fault_seed), mode, cassette)
    return insert(
        connection,
        "INSERT INTO batches (org_id, agent_id, agent_version, dataset_id, repeats, concurrency, fault_seed,"
        " passthrough, cassette, max_cost_nanousd, max_model_tokens, honesty, status, created_at,"
        " unqueued_since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (org_id, agent_id, *settings, budget.max_nanousd, budget.max_tokens, honesty, status, now, now),
    )


def honesty_of_batch(connection: Connection, batch_id: int) -> str:
    row = connection.execute("SELECT honesty FROM batches WHERE id = ?", (batch_id,)).fetchone()
    return (row[0] if row else None) or STANDARD


def go_on_opening(connection: Connection, *, batch_id: int, is_whole: bool, now: str) -> bool:
    """Before one more slice of its runs is stored; False when it was discarded meanwhile."""
    done = connection.execute(
        "UPDATE batches SET status = ?, unqueued_since = ? WHERE id = ? AND status = 'opening'",
        ("running" if is_whole else "opening", now, batch_id),
    )
    return done.rowcount == 1


def half_stored_batches(connection: Connection, *, before: str) -> list[int]:
    """Batches that nobody goes on storing, and those of which some runs are still to be removed."""
    rows = connection.execute(
        "SELECT id FROM batches WHERE status IN ('opening', 'discarded') AND"
        " (status = 'discarded' OR unqueued_since < ?) ORDER BY id",
        (before,),
    )
    return [row[0] for row in rows]


def discard_batch(connection: Connection, *, batch_id: int, before: str) -> None:
    """So that nobody goes on storing it."""
    connection.execute(
        "UPDATE batches SET status = 'discarded' WHERE id = ? AND status = 'opening' AND unqueued_since < ?",
        (batch_id, before),
    )


def remove_discarded(connection: Connection, *, batch_id: int, most: int) -> bool:
    """Some of its runs, none of which was ever sent; with the last goes the batch. True when it is gone.

    Only runs of an import have rows before their batch is stored whole."""
    some = "SELECT id FROM runs WHERE batch_id = ? ORDER BY id LIMIT ?"
    connection.execute(
        f"DELETE FROM trace_rows WHERE run_id IN ({some})"
        " AND EXISTS (SELECT 1 FROM batches WHERE id = ? AND status = 'discarded')",
        (batch_id, most, batch_id),
    )
    done = connection.execute(
        f"DELETE FROM runs WHERE id IN ({some})"
        " AND EXISTS (SELECT 1 FROM batches WHERE id = ? AND status = 'discarded')",
        (batch_id, most, batch_id),
    )
    if done.rowcount == most:
        return False
    connection.execute("DELETE FROM batches WHERE id = ? AND status = 'discarded'", (batch_id,))
    return True


def batch_by_id(connection: Connection, *, org_id: int, batch_id: int) -> Batch | None:
    row = connection.execute(
        f"SELECT * FROM batches WHERE id = ? AND org_id = ? AND {_IN_SIGHT}", (batch_id, org_id)
    ).fetchone()
    return _batch(row) if row else None


def batches_of_org(
    connection: Connection, org_id: int, *, agent_id: int | None, limit: int, before_id: int | None
) -> Page[Batch]:
    rows = page_of(
        connection,
        "batches",
        filters=[Filter("org_id", org_id), Filter("agent_id", agent_id)],
        limit=limit,
        before_id=before_id,
        where=_IN_SIGHT,
    )
    return Page([_batch(row) for row in rows.items], rows.last_id)


def counts_of_batch(connection: Connection, batch_id: int) -> JsonObject:
    """How many runs stand where, and what they were judged."""
    by_status: JsonObject = {}
    by_verdict: JsonObject = {}
    total = 0
    for status, verdict, count in connection.execute(
        "SELECT status, verdict, COUNT(*) FROM runs WHERE batch_id = ? AND retried = 0"
        " GROUP BY 1, 2 ORDER BY 1, 2",
        (batch_id,),
    ):
        total += count
        by_status[status] = count + int(str(by_status.get(status, 0)))
        if verdict is not None:
            by_verdict[verdict] = count + int(str(by_verdict.get(verdict, 0)))
    return {"total": total, "by_status": by_status, "by_verdict": by_verdict}


def outcomes_by_task(connection: Connection, batch_id: int) -> list[tuple[int, int]]:
    """(passes, judged runs) of each task with a PASS or a FAIL: what cannot be decided counts for neither."""
    rows = connection.execute(
        "SELECT SUM(CASE WHEN verdict = 'PASS' THEN 1 ELSE 0 END), COUNT(*), task_id FROM runs"
        " WHERE batch_id = ? AND retried = 0 AND verdict IN ('PASS', 'FAIL') GROUP BY 3 ORDER BY 3",
        (batch_id,),
    )
    return [(int(row[0]), int(row[1])) for row in rows]


def ended_runs(connection: Connection, *, batch_id: int) -> list[int]:
    rows = connection.execute(
        "SELECT id FROM runs WHERE batch_id = ? AND status IN ('completed', 'failed') ORDER BY id",
        (batch_id,),
    )
    return [row[0] for row in rows]


def judged_runs(connection: Connection, *, batch_id: int) -> list[JudgedRun]:
    """Every run that stands for its place in the batch. A task without a key is only like itself."""
    rows = connection.execute(
        "SELECT COALESCE(t.task_key, 'task ' || t.id), t.id, t.row_number, t.content_hash,"
        " COALESCE(o.oracle_hash, t.oracle_hash), r.repeat_number, r.id, r.verdict, r.failure_mode,"
        " r.pending_reason"
        " FROM runs r JOIN tasks t ON t.id = r.task_id"
        " LEFT JOIN task_oracles o ON o.task_id = t.id AND o.version = COALESCE(r.oracle_version, 1)"
        " WHERE r.batch_id = ? AND r.retried = 0 ORDER BY r.id",
        (batch_id,),
    )
    return [JudgedRun(*row) for row in rows]


def datasets_to_name(connection: Connection, *, batch_id: int) -> list[int]:
    """Those of its tasks that an older release stored, and that have no keys yet."""
    rows = connection.execute(
        "SELECT DISTINCT t.dataset_id FROM runs r JOIN tasks t ON t.id = r.task_id"
        " JOIN datasets d ON d.id = t.dataset_id AND d.kind = 'tasks'"
        " WHERE r.batch_id = ? AND t.task_key IS NULL",
        (batch_id,),
    )
    return [row[0] for row in rows]


def runs_to_retry(connection: Connection, *, batch_id: int) -> list[int]:
    """Runs that were cut off or cancelled after they were sent, and have no new attempt yet."""
    rows = connection.execute(
        f"SELECT id FROM runs WHERE batch_id = ? AND {_TO_RETRY} ORDER BY id", (batch_id,)
    )
    return [row[0] for row in rows]


def runs_never_sent(connection: Connection, *, batch_id: int) -> list[int]:
    """Runs that were cancelled before anyone sent them."""
    rows = connection.execute(
        f"SELECT id FROM runs WHERE batch_id = ? AND {_NEVER_SENT} ORDER BY id", (batch_id,)
    )
    return [row[0] for row in rows]


_TO_RETRY = (
    "retried = 0 AND dispatched_at IS NOT NULL"
    " AND (status = 'cancelled' OR (status = 'failed' AND error_class = 'interrupted'))"
)
_NEVER_SENT = "retried = 0 AND status = 'cancelled' AND dispatched_at IS NULL"


def pending_runs(connection: Connection, *, batch_id: int, first: int, last: int) -> list[int]:
    """Runs that nobody has sent, in order; `first` and `last` are run ids, both included."""
    rows = connection.execute(
        "SELECT id FROM runs WHERE batch_id = ? AND id BETWEEN ? AND ?"
        " AND status IN ('pending', 'running') AND status = 'pending' ORDER BY id",
        (batch_id, first, last),
    )
    return [row[0] for row in rows]


def claimed_runs(connection: Connection, *, worker: str, batch_id: int, first: int, last: int) -> list[int]:
    """Runs that a worker has under way."""
    rows = connection.execute(
        "SELECT id FROM runs WHERE batch_id = ? AND id BETWEEN ? AND ?"
        " AND status IN ('pending', 'running') AND status = 'running' AND claimed_by = ?",
        (batch_id, first, last, worker),
    )
    return [row[0] for row in rows]


def no_longer_running(connection: Connection, *, run_ids: list[int]) -> list[int]:
    marks = ", ".join("?" * len(run_ids)) or "NULL"
    rows = connection.execute(
        f"SELECT id FROM runs WHERE id IN ({marks}) AND status NOT IN ('pending', 'running')", run_ids
    )
    return [row[0] for row in rows]


def batch_for_work(connection: Connection, batch_id: int) -> Batch:
    """For a worker, which was handed the id by the queue and asks for no org."""
    return _batch(connection.execute("SELECT * FROM batches WHERE id = ?", (batch_id,)).fetchone())


def unfinished_batches(connection: Connection, org_id: int | None = None) -> list[int]:
    """Of all orgs, or of one."""
    of_org, values = ("", ()) if org_id is None else (" AND org_id = ?", (org_id,))
    rows = connection.execute(f"SELECT id FROM batches WHERE status = 'running'{of_org} ORDER BY id", values)
    return [row[0] for row in rows]


def unqueued_batches(connection: Connection) -> list[Batch]:
    rows = connection.execute(
        "SELECT * FROM batches WHERE status = 'running' AND unqueued_since IS NOT NULL ORDER BY id"
    )
    return [_batch(row) for row in rows]


def mark_unqueued(connection: Connection, *, now: str) -> None:
    """All that is unfinished: the queue was lost."""
    connection.execute(
        "UPDATE batches SET unqueued_since = ? WHERE status = 'running' AND unqueued_since IS NULL", (now,)
    )


def mark_queued(connection: Connection, *, batch_id: int, since: str) -> None:
    """Unless more of it was stored meanwhile."""
    connection.execute(
        "UPDATE batches SET unqueued_since = NULL WHERE id = ? AND unqueued_since = ?", (batch_id, since)
    )


_INTERRUPT = (
    "UPDATE runs SET status = 'failed', ended_at = ?, error_class = 'interrupted', error_json ="
    ' \'{"detail":"the server stopped while the agent was working; resume the batch to send it again"}\','
    " verdict = 'NOT_APPLICABLE' WHERE status = 'running' AND "
)


def interrupt_run(connection: Connection, *, run_id: int, now: str) -> None:
    """A run whose dispatch was cut off: the agent may have acted on it, so it is not sent again."""
    connection.execute(_INTERRUPT + "id = ?", (now, run_id))


def interrupt_worker(
    connection: Connection, *, worker: str, now: str, but: Collection[int] = frozenset()
) -> None:
    """All that a worker had under way when it went; `but` these runs, which it still has."""
    marks = ", ".join("?" * len(but)) or "NULL"
    spared = f" AND id NOT IN ({marks})" if but else ""
    connection.execute(_INTERRUPT + "claimed_by = ?" + spared, (now, worker, *but))


def finish_batch(connection: Connection, *, batch_id: int, now: str, if_queued: bool = False) -> bool:
    """Close a batch once no run of it is left to do, nor a judge to be asked; `if_queued`: unless more of it
    is about to be queued."""
    done = connection.execute(
        "UPDATE batches SET status = 'completed', ended_at = ? WHERE id = ? AND status = 'running'"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE batch_id = ? AND status IN ('pending', 'running'))"
        " AND NOT EXISTS (SELECT 1 FROM model_judgements WHERE batch_id = ? AND status = 'wanted')"
        + (" AND unqueued_since IS NULL" if if_queued else ""),
        (now, batch_id, batch_id, batch_id),
    )
    return done.rowcount == 1


def judged_out(connection: Connection) -> list[int]:
    """Batches that go on although nothing is left of them: their last judge was asked, and a kill came."""
    rows = connection.execute(
        "SELECT id FROM batches WHERE status = 'running' AND unqueued_since IS NULL"
        " AND EXISTS (SELECT 1 FROM model_judgements WHERE batch_id = batches.id)"
        " AND NOT EXISTS (SELECT 1 FROM model_judgements WHERE batch_id = batches.id AND status = 'wanted')"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE batch_id = batches.id"
        " AND status IN ('pending', 'running')) ORDER BY id"
    )
    return [row[0] for row in rows]


SPENT = "what the batch may spend on models is used up; resume it with a higher budget"


def stop_batch(connection: Connection, *, batch_id: int, now: str, status: str = "cancelled") -> bool:
    """From here on nobody claims a run of it. False when it had ended."""
    done = connection.execute(
        "UPDATE batches SET status = ?, ended_at = ? WHERE id = ? AND status = 'running'",
        (status, now, batch_id),
    )
    return done.rowcount == 1


def set_budget(connection: Connection, *, batch_id: int, budget: Budget) -> None:
    connection.execute(
        "UPDATE batches SET max_cost_nanousd = ?, max_model_tokens = ? WHERE id = ?",
        (budget.max_nanousd, budget.max_tokens, batch_id),
    )


def cancel_some_runs(connection: Connection, *, batch_id: int, now: str, most: int) -> list[CancelledRun]:
    """Of a batch that was stopped, and not resumed since; none when none is left."""
    spent = connection.execute(
        f"SELECT 1 FROM batches WHERE id = ? AND status = '{BUDGET_EXCEEDED}'", (batch_id,)
    ).fetchone()
    because = (BUDGET_EXCEEDED, dumps({"detail": SPENT}).decode()) if spent is not None else (None, None)
    rows = connection.execute(
        "UPDATE runs SET status = 'cancelled', ended_at = ?, error_class = ?, error_json = ?"
        " WHERE status IN ('pending', 'running')"
        " AND id IN (SELECT id FROM runs WHERE batch_id = ? AND status IN ('pending', 'running')"
        f" ORDER BY id LIMIT ?) AND EXISTS (SELECT 1 FROM batches WHERE id = ? AND {_STOPPED})"
        " RETURNING id, dispatched_at",
        (now, *because, batch_id, most, batch_id),
    )
    return [CancelledRun(row[0], row[1] is not None) for row in rows.fetchall()]


def half_cancelled_batches(connection: Connection) -> list[int]:
    """Whose server went down while it cancelled their runs."""
    rows = connection.execute(
        f"SELECT id FROM batches WHERE {_STOPPED} AND EXISTS (SELECT 1 FROM runs"
        " WHERE runs.batch_id = batches.id AND runs.status IN ('pending', 'running')) ORDER BY id"
    )
    return [row[0] for row in rows]


def start_resuming(connection: Connection, *, batch_id: int, now: str) -> None:
    connection.execute(
        "UPDATE batches SET status = 'running', ended_at = NULL, unqueued_since = ? WHERE id = ?",
        (now, batch_id),
    )


def make_pending_again(connection: Connection, *, batch_id: int, run_ids: Sequence[int]) -> bool:
    """Those that were never sent; False when the batch was cancelled meanwhile."""
    if is_cancelled(connection, batch_id):
        return False
    connection.execute(
        "UPDATE runs SET status = 'pending', ended_at = NULL, error_class = NULL, error_json = NULL"
        f" WHERE id IN {in_list(run_ids)} AND {_NEVER_SENT}",
        run_ids,
    )
    return True


def take_for_retry(
    connection: Connection, *, batch_id: int, run_ids: Sequence[int]
) -> list[RunToRetry] | None:
    """Those that have no new attempt yet, for whoever asks first; None when the batch was cancelled."""
    if is_cancelled(connection, batch_id):
        return None
    rows = connection.execute(
        f"UPDATE runs SET retried = 1 WHERE id IN {in_list(run_ids)} AND {_TO_RETRY}"
        " RETURNING id, task_id, agent_id, agent_version, repeat_number, fault_seed",
        run_ids,
    )
    return [RunToRetry(*row[1:]) for row in sorted(rows.fetchall(), key=lambda row: int(row[0]))]


def is_cancelled(connection: Connection, batch_id: int) -> bool:
    """By a person, or by its budget."""
    row = connection.execute(f"SELECT 1 FROM batches WHERE id = ? AND {_STOPPED}", (batch_id,)).fetchone()
    return row is not None


def reopen_batch(connection: Connection, *, batch_id: int, now: str) -> None:
    """Where something of it is pending; what has nothing left to do, or was cancelled, stays ended."""
    connection.execute(
        "UPDATE batches SET status = 'running', ended_at = NULL, unqueued_since = ? WHERE id = ?"
        f" AND NOT {_STOPPED} AND EXISTS (SELECT 1 FROM runs WHERE batch_id = ?"
        " AND status IN ('pending', 'running') AND status = 'pending')",
        (now, batch_id, batch_id),
    )


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


def _batch(row: Row) -> Batch:
    return Batch(
        id=row["id"],
        org_id=row["org_id"],
        agent_id=row["agent_id"],
        agent_version=row["agent_version"],
        dataset_id=row["dataset_id"],
        repeats=row["repeats"],
        fault_seed="repeat" if row["fault_seed"] == "repeat" else int(row["fault_seed"]),
        passthrough=row["passthrough"] or LIVE,
        cassette=row["cassette"],
        concurrency=row["concurrency"],
        status=row["status"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        unqueued_since=row["unqueued_since"],
        honesty=row["honesty"] or STANDARD,
        budget=Budget(max_nanousd=row["max_cost_nanousd"], max_tokens=row["max_model_tokens"]),
        model_nanousd=row["model_cost_nanousd"],
        model_tokens=row["model_tokens"],
    )
