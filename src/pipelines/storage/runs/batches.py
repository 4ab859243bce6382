"""Batches: many runs asked for at once. The runs carry their own state; a batch only names them.

What changes many of its runs is made in slices, each a short write of its own: see `engine.open_batch`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.core.agents.build_label import BuildLabel
from pipelines.core.models.honesty_level import STANDARD, Honesty
from pipelines.core.models.model_budget import Budget
from pipelines.core.models.model_question import NANO
from pipelines.core.results.compare_batches import JudgedRun
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.tools.failure_rules import FaultSeed
from pipelines.core.tools.live_tools import LIVE
from pipelines.storage.database.connection import Connection, in_list, insert
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, Stored, first_column, first_value
from pipelines.storage.runs.passthrough import PassthroughMode, stored_mode
from pipelines.wire.records import Flat, Hidden, Id, Moment, Named, Record, one_of, shown

BATCH_STATUSES = ("running", "completed", "cancelled", "budget_exceeded")


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchBudget(Record):
    """What a batch may spend on models that the platform asks, and has."""

    budget: Flat[Budget]
    cost_usd: Annotated[float, "spent, with what is reserved for questions under way"]
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch(Record):
    """Many runs asked for at once."""

    id: Id
    org_id: Hidden[int]
    agent_id: Id
    agent_version: Id
    dataset_id: Id | None
    repeats: int
    concurrency: int
    fault_seed: Annotated[
        FaultSeed,
        "what random failure rules draw",
        Stored(read=lambda text: text if text == "repeat" else int(text)),
    ]
    passthrough: PassthroughMode
    cassette: Annotated[str | None, "what they are recorded on or replayed from"]
    honesty: Annotated[
        Honesty, "how strictly words are judged", Stored(read=lambda level: level or STANDARD)
    ] = STANDARD
    label: Annotated[str | None, "the build of the agent, as a person names it"] = None
    note: str | None = None
    reported_build: Annotated[str | None, "`metadata.build` of the first of its runs that has one"] = None
    has_other_builds: Annotated[bool, "whether later runs reported another build"] = False
    status: Annotated[str, one_of(BATCH_STATUSES)]  # opening and discarded ones are not shown
    max_cost_nanousd: Hidden[int | None] = None
    max_model_tokens: Hidden[int | None] = None
    #: What counts against its budget: with what is reserved for questions under way.
    model_nanousd: Annotated[Hidden[int], Stored(column="model_cost_nanousd")] = 0
    model_tokens: Hidden[int] = 0
    created_at: Moment
    ended_at: Moment | None
    unqueued_since: Hidden[str | None]  # its runs are stored, but not known to be queued

    @property
    def budget(self) -> Budget:
        """What it may spend on models."""
        return Budget(max_nanousd=self.max_cost_nanousd, max_tokens=self.max_model_tokens)

    @shown(after="status")
    def spending(self) -> Annotated[BatchBudget, Named("budget")]:
        return BatchBudget(budget=self.budget, cost_usd=self.model_nanousd / NANO, tokens=self.model_tokens)


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
_NO_LABEL = BuildLabel()
_BATCH = Mapper(Batch)


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
    label: BuildLabel = _NO_LABEL,
    status: str = "running",
    now: str,
) -> int:
    return insert(
        connection,
        "batches",
        {
            "org_id": org_id,
            "agent_id": agent_id,
            "agent_version": agent_version,
            "dataset_id": dataset_id,
            "repeats": repeats,
            "concurrency": concurrency,
            "fault_seed": str(fault_seed),
            "passthrough": stored_mode(passthrough),
            "cassette": cassette,
            "max_cost_nanousd": budget.max_nanousd,
            "max_model_tokens": budget.max_tokens,
            "honesty": honesty,
            "label": label.label,
            "note": label.note,
            "status": status,
            "created_at": now,
            "unqueued_since": now,
        },
    )


def honesty_of_batch(connection: Connection, batch_id: int) -> str:
    return first_value(connection, "SELECT honesty FROM batches WHERE id = ?", (batch_id,)) or STANDARD


def go_on_opening(connection: Connection, *, batch_id: int, is_whole: bool, now: str) -> bool:
    """Before one more slice of its runs is stored; False when it was discarded meanwhile."""
    done = connection.execute(
        "UPDATE batches SET status = ?, unqueued_since = ? WHERE id = ? AND status = 'opening'",
        ("running" if is_whole else "opening", now, batch_id),
    )
    return done.rowcount == 1


def half_stored_batches(connection: Connection, *, before: str) -> list[int]:
    """Batches that nobody goes on storing, and those of which some runs are still to be removed."""
    return first_column(
        connection,
        "SELECT id FROM batches WHERE status IN ('opening', 'discarded') AND"
        " (status = 'discarded' OR unqueued_since < ?) ORDER BY id",
        (before,),
    )


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
    statement = f"SELECT {_BATCH.columns} FROM batches WHERE id = ? AND org_id = ? AND {_IN_SIGHT}"
    return _BATCH.one(connection, statement, (batch_id, org_id))


def batches_of_org(
    connection: Connection,
    org_id: int,
    *,
    agent_id: int | None,
    dataset_id: int | None = None,
    limit: int,
    before_id: int | None,
    filters: Sequence[Filter] = (),
    newest_first: bool = True,
) -> Page[Batch]:
    return _BATCH.page(
        connection,
        "batches",
        filters=[
            Filter("org_id", org_id),
            Filter("agent_id", agent_id),
            Filter("dataset_id", dataset_id),
            *filters,
        ],
        limit=limit,
        before_id=before_id,
        newest_first=newest_first,
        where=_IN_SIGHT,
    )


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
    return first_column(
        connection,
        "SELECT id FROM runs WHERE batch_id = ? AND status IN ('completed', 'failed') ORDER BY id",
        (batch_id,),
    )


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
    return first_column(
        connection,
        "SELECT DISTINCT t.dataset_id FROM runs r JOIN tasks t ON t.id = r.task_id"
        " JOIN datasets d ON d.id = t.dataset_id AND d.kind = 'tasks'"
        " WHERE r.batch_id = ? AND t.task_key IS NULL",
        (batch_id,),
    )


def runs_to_retry(connection: Connection, *, batch_id: int) -> list[int]:
    """Runs that were cut off or cancelled after they were sent, and have no new attempt yet."""
    return first_column(
        connection, f"SELECT id FROM runs WHERE batch_id = ? AND {_TO_RETRY} ORDER BY id", (batch_id,)
    )


def runs_never_sent(connection: Connection, *, batch_id: int) -> list[int]:
    """Runs that were cancelled before anyone sent them."""
    return first_column(
        connection, f"SELECT id FROM runs WHERE batch_id = ? AND {_NEVER_SENT} ORDER BY id", (batch_id,)
    )


_TO_RETRY = (
    "retried = 0 AND dispatched_at IS NOT NULL"
    " AND (status = 'cancelled' OR (status = 'failed' AND error_class = 'interrupted'))"
)
_NEVER_SENT = "retried = 0 AND status = 'cancelled' AND dispatched_at IS NULL"


def pending_runs(connection: Connection, *, batch_id: int, first: int, last: int) -> list[int]:
    """Runs that nobody has sent, in order; `first` and `last` are run ids, both included."""
    return first_column(
        connection,
        "SELECT id FROM runs WHERE batch_id = ? AND id BETWEEN ? AND ?"
        " AND status IN ('pending', 'running') AND status = 'pending' ORDER BY id",
        (batch_id, first, last),
    )


def claimed_runs(connection: Connection, *, worker: str, batch_id: int, first: int, last: int) -> list[int]:
    """Runs that a worker has under way."""
    return first_column(
        connection,
        "SELECT id FROM runs WHERE batch_id = ? AND id BETWEEN ? AND ?"
        " AND status IN ('pending', 'running') AND status = 'running' AND claimed_by = ?",
        (batch_id, first, last, worker),
    )


def no_longer_running(connection: Connection, *, run_ids: list[int]) -> list[int]:
    statement = f"SELECT id FROM runs WHERE id IN {in_list(run_ids)} AND status NOT IN ('pending', 'running')"
    return first_column(connection, statement, run_ids)


def batch_for_work(connection: Connection, batch_id: int) -> Batch:
    """For a worker, which was handed the id by the queue and asks for no org."""
    found = _BATCH.one(connection, f"SELECT {_BATCH.columns} FROM batches WHERE id = ?", (batch_id,))
    assert found is not None, "a batch with shards is never removed"
    return found


def unfinished_batches(connection: Connection, org_id: int | None = None) -> list[int]:
    """Of all orgs, or of one."""
    of_org, values = ("", ()) if org_id is None else (" AND org_id = ?", (org_id,))
    return first_column(
        connection, f"SELECT id FROM batches WHERE status = 'running'{of_org} ORDER BY id", values
    )


def unqueued_batches(connection: Connection) -> list[Batch]:
    condition = "status = 'running' AND unqueued_since IS NOT NULL"
    return _BATCH.all(connection, f"SELECT {_BATCH.columns} FROM batches WHERE {condition} ORDER BY id")


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
    spared = f" AND id NOT IN {in_list([*but])}" if but else ""
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
    return first_column(
        connection,
        "SELECT id FROM batches WHERE status = 'running' AND unqueued_since IS NULL"
        " AND EXISTS (SELECT 1 FROM model_judgements WHERE batch_id = batches.id)"
        " AND NOT EXISTS (SELECT 1 FROM model_judgements WHERE batch_id = batches.id AND status = 'wanted')"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE batch_id = batches.id"
        " AND status IN ('pending', 'running')) ORDER BY id",
    )


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
    return first_column(
        connection,
        f"SELECT id FROM batches WHERE {_STOPPED} AND EXISTS (SELECT 1 FROM runs"
        " WHERE runs.batch_id = batches.id AND runs.status IN ('pending', 'running')) ORDER BY id",
    )


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
