"""Runs: one attempt of one agent version at one task."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated

from pipelines.core.agents.transcript import Message
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.core.tools.live_tools import LIVE
from pipelines.core.verdict.verdict import (
    OF_PENDING,
    FailureModeName,
    JudgeError,
    OutcomeName,
    PendingReasonName,
    Verdict,
)
from pipelines.storage.database.connection import Connection, in_list, insert, insert_values
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, first_column, json_text
from pipelines.storage.runs.passthrough import PassthroughMode
from pipelines.storage.runs.run_figures import store_figures, store_reason
from pipelines.storage.tasks.datasets import TaskToRun
from pipelines.storage.tasks.stored_seed import WithSeed
from pipelines.storage.tasks.texts import text_of
from pipelines.wire.envelope import ErrorClass
from pipelines.wire.names import RunStatus
from pipelines.wire.records import As, Hidden, Id, Moment, Named, Record, Via, one_of


def _if_started(simulated_now: str) -> Moment | None:
    return simulated_now or None


@dataclass(frozen=True, kw_only=True)
class ListedRun(Record, component="Run"):
    """A run."""

    id: Id
    org_id: Hidden[int]
    agent_id: Id
    agent_version: Id
    task_id: Id
    dataset_id: Id
    batch_id: Id | None
    repeat_number: int  # 1 for the first attempt at its task within the batch
    retried: Annotated[bool, "a later attempt took its place"]
    mode: Annotated[str, "dispatch, manual, recorded"]
    status: RunStatus
    jti: Annotated[str, "the public name of its token", Named("run_token_jti")]
    seed_hash: Hidden[str]
    #: What time it was in the run's world when it started; empty before that.
    simulated_now: Annotated[str, Via(_if_started), "its today; null until it starts"]
    fault_seed: int  # enters the draws of its random failure rules
    passthrough: PassthroughMode
    cassette: Annotated[str | None, "what they are recorded on or replayed from"]
    final_response: str | None
    messages: Annotated[Json, As(tuple[Message, ...] | None), "the transcript, as the agent told it"]
    metadata: Annotated[Json, As(JsonObject | None)]
    error_class: Annotated[str, one_of(ErrorClass)] | None
    error_json: Annotated[Json, As(Named("RunError"), or_null=True)]
    soft_warnings: Annotated[Json, As(list[str]), "what a reader of the verdict should know"]
    conversation: Annotated[Json, As(JsonObject | None), "who played the user, and whose word ended it"]
    verdict: OutcomeName | None  # None until it is judged
    failure_mode: FailureModeName | None
    pending_reason: Annotated[PendingReasonName | None, OF_PENDING]
    unverified: Annotated[
        int | None,
        "how many statements of the answer the run neither proves nor contradicts: judgement.unverified",
    ]
    judgement: Annotated[Json, As(Verdict | JudgeError | None)]
    judge_error: str | None  # why there is no verdict
    human_verdict: Annotated[str | None, "a person's; it stands beside the machine's"]
    created_at: Moment
    started_at: Moment | None
    dispatched_at: Moment | None  # when its first POST began: from then on the agent may have seen it
    ended_at: Moment | None
    expires_at: Annotated[Moment, As(Moment | None)]
    rules_version: Hidden[int] = 0  # of its org's: which translated rules are in force in it

    def plain_verdict(self) -> JsonObject:
        """Without what it rests on."""
        return {
            "verdict": self.verdict,
            "failure_mode": self.failure_mode,
            "pending_reason": self.pending_reason,
        }


@dataclass(frozen=True, kw_only=True)
class Run(ListedRun, WithSeed, component=""):
    """With the seed it was given."""


@dataclass(frozen=True, kw_only=True)
class NewRun(WithSeed):
    """What a run is opened with; the rest is the store's to fill."""

    org_id: int
    agent_id: int
    agent_version: int
    task_id: int
    dataset_id: int
    batch_id: int | None = None
    repeat_number: int = 1
    mode: str
    status: RunStatus
    jti: str
    token_hash: str
    seed_hash: str
    simulated_now: str
    fault_seed: int = 0
    passthrough: PassthroughMode = LIVE
    cassette: str | None = None
    soft_warnings: list[Json]
    created_at: str
    started_at: str | None = None
    expires_at: str
    rules_version: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingRun:
    """One of a batch, which nobody has sent: its claim gives it a token that works, and a time."""

    task: TaskToRun
    agent_id: int
    agent_version: int
    repeat_number: int
    jti: str
    token_hash: str
    fault_seed: int
    created_at: str


NEVER = "9999-12-31T23:59:59.999999Z"  # when a run that has no token yet expires
_LISTED_RUN = Mapper(ListedRun)
_RUN = Mapper(Run, apart=("seed_text",))
_NEW_RUN = Mapper(NewRun, apart=("seed_text",))
#: A batch that is not stored whole is not there yet, and neither are its runs.
IN_SIGHT = (
    "(batch_id IS NULL OR batch_id NOT IN (SELECT id FROM batches WHERE status IN ('opening', 'discarded')))"
)


#: Nobody has decided it: the judge could not prove it either way, or broke. One tried again is past deciding.
#: Written as in the index runs_to_review, which both databases use only for these very words.
NEEDS_REVIEW = (
    "(COALESCE(verdict, '') = 'PENDING' OR judge_error IS NOT NULL) AND retried = 0 AND human_verdict IS NULL"
)

#: A run of a matrix is judged by its scenario: its verdict waits for nobody, unless it was flagged.
NOT_OF_MATRIX = (
    "(batch_id IS NULL OR batch_id NOT IN (SELECT batch_id FROM eval_matrices WHERE batch_id IS NOT NULL))"
)
WAITS_FOR_PEOPLE = f"{NEEDS_REVIEW} AND {NOT_OF_MATRIX}"


#: Its answer states something that the run neither proves nor contradicts.
HAS_UNVERIFIED = "unverified > 0"
_JUDGED = ("verdict", "failure_mode", "judgement", "judge_error")
_TOLD_IN_JUDGEMENT = ("pending_reason", "unverified")


def judged_conditions(*, needs_review: bool | None, has_unverified: bool | None) -> tuple[str, ...]:
    """On rows of `runs`; None: whatever it is."""
    reviewed = {None: (), True: (WAITS_FOR_PEOPLE,), False: (f"NOT ({WAITS_FOR_PEOPLE})",)}[needs_review]
    noted = {None: (), True: (HAS_UNVERIFIED,), False: ("COALESCE(unverified, 0) = 0",)}[has_unverified]
    return (*reviewed, *noted)


def add_run(connection: Connection, run: NewRun) -> int:
    return insert(connection, "runs", _NEW_RUN.row(run))


def add_pending_runs(connection: Connection, batch_id: int, new: Sequence[PendingRun]) -> None:
    """Their calls of passthrough tools are answered as the batch says."""
    batch = "SELECT passthrough, cassette FROM batches WHERE id = ?"
    passthrough, cassette = connection.execute(batch, (batch_id,)).fetchone()
    versions = _rules_versions(connection, {run.task.dataset_id for run in new})
    alike = {
        "batch_id": batch_id,
        "mode": "dispatch",
        "status": RunStatus.PENDING.value,
        "simulated_now": "",  # its claim says what time it is
        "soft_warnings": "[]",
        "expires_at": NEVER,
        "passthrough": passthrough,
        "cassette": cassette,
    }
    rows = [
        (*_PENDING.values(run), *_of_task(run.task), versions[run.task.dataset_id], *alike.values())
        for run in new
    ]
    insert_values(connection, "runs", (*_PENDING.written, *_OF_TASK, "rules_version", *alike), rows)


_PENDING = Mapper(PendingRun, apart=("task",))
_OF_TASK = ("task_id", "org_id", "dataset_id", "seed_hash", "world_hash")
_of_task = attrgetter("id", *_OF_TASK[1:])


def _rules_versions(connection: Connection, dataset_ids: set[int]) -> dict[int, int]:
    """Of some datasets: as of which version of their org's rules runs are made now."""
    ids = sorted(dataset_ids)
    rows = connection.execute(
        "SELECT datasets.id, orgs.rules_version FROM datasets JOIN orgs ON orgs.id = datasets.org_id"
        f" WHERE datasets.id IN {in_list(ids)}",
        ids,
    )
    return {row[0]: row[1] for row in rows.fetchall()}


def run_by_id(connection: Connection, *, org_id: int, run_id: int) -> Run | None:
    return _one(connection, f"id = ? AND org_id = ? AND {IN_SIGHT}", run_id, org_id)


def run_by_token_hash(connection: Connection, token_hash: str) -> Run | None:
    return _one(connection, "token_hash = ?", token_hash)


def _one(connection: Connection, where: str, *values: object) -> Run | None:
    row = connection.execute(f"SELECT {_RUN.columns} FROM runs WHERE {where}", values).fetchone()
    return _RUN.read(row, text_of(connection, row["seed_hash"])) if row else None


def runs_of_org(
    connection: Connection,
    *,
    filters: list[Filter],
    limit: int,
    before_id: int | None,
    newest_first: bool = True,
    needs_review: bool | None = None,
) -> Page[ListedRun]:
    reviewed = judged_conditions(needs_review=needs_review, has_unverified=None)
    return _LISTED_RUN.page(
        connection,
        "runs",
        filters=filters,
        limit=limit,
        before_id=before_id,
        newest_first=newest_first,
        where=" AND ".join((IN_SIGHT, *reviewed)),
    )


def claim_run(
    connection: Connection,
    *,
    run_id: int,
    worker: str,
    jti: str,
    token_hash: str,
    now: str,
    simulated_now: str,
    expires_at: str,
) -> bool:
    """Take a pending run to dispatch it, with a fresh token; False when it is no longer pending.

    From here on the agent may have seen it, so nothing ever makes it pending again. A batch that is being
    cancelled, which takes a while where it is large, has no runs to take.
    """
    done = connection.execute(
        "UPDATE runs SET status = 'running', claimed_by = ?, jti = ?, token_hash = ?, started_at = ?,"
        " dispatched_at = ?, simulated_now = ?, expires_at = ? WHERE id = ? AND status = 'pending'"
        " AND EXISTS (SELECT 1 FROM batches WHERE batches.id = runs.batch_id AND batches.status = 'running')",
        (worker, jti, token_hash, now, now, simulated_now, expires_at, run_id),
    )
    return done.rowcount == 1


def pending_run(connection: Connection, run_id: int) -> Run | None:
    """For a worker, which was handed the id by the queue and asks for no org; None when it is not pending."""
    return _one(connection, "id = ? AND status = 'pending'", run_id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How a run ended: with a response, or with the reason why there is none."""

    status: RunStatus
    final_response: str | None = None
    messages: Json = None
    metadata: Json = None
    error_class: str | None = None
    error_json: Json = None
    soft_warnings: list[Json] | None = None  # None leaves those it has
    conversation: Json = None
    verdict: str | None = None
    failure_mode: str | None = None
    judgement: Json = None
    judge_error: str | None = None
    oracle_version: int | None = None  # of its task: by which it was judged

    @property
    def pending_reason(self) -> str | None:
        reason = _told(self.judgement, "pending_reason") if self.verdict == "PENDING" else None
        return reason if isinstance(reason, str) else None

    @property
    def unverified(self) -> int | None:
        notes = _told(self.judgement, "unverified")
        return len(notes) if isinstance(notes, list) else None


_ENDING = Mapper(Ending, apart=("soft_warnings",))


def end_run(connection: Connection, *, run_id: int, ending: Ending, now: str) -> bool:
    """Close a running run; False when it had already ended."""
    done = connection.execute(
        f"UPDATE runs SET {_ENDING.assignments}, pending_reason = ?, unverified = ?, ended_at = ?,"
        " soft_warnings = COALESCE(?, soft_warnings) WHERE id = ? AND status = 'running'",
        (
            *_ENDING.values(ending),
            *(ending.pending_reason, ending.unverified, now, json_text(ending.soft_warnings), run_id),
        ),
    )
    if done.rowcount == 1:
        store_figures(
            connection,
            run_id=run_id,
            now=now,
            metadata=ending.metadata,
            error=ending.error_json,
            judgement=ending.judgement,
            judge_error=ending.judge_error,
        )
    return done.rowcount == 1


def set_verdict(connection: Connection, *, run_id: int, ending: Ending, now: str) -> bool:
    """Only its verdict changes, and the one before is kept. False where it is the same."""
    judged = _judged(ending)
    differs = " OR ".join(f"COALESCE({column}, '') <> COALESCE(?, '')" for column in _JUDGED)
    kept = connection.execute(
        f"INSERT INTO past_verdicts (run_id, {', '.join(_JUDGED)}, replaced_at)"
        f" SELECT id, {', '.join(_JUDGED)}, ? FROM runs WHERE id = ? AND ({differs})",
        (now, run_id, *judged),
    )
    if kept.rowcount != 1:
        return False
    connection.execute(
        f"UPDATE runs SET {_SET_JUDGED}, oracle_version = ? WHERE id = ?",
        (*judged, ending.pending_reason, ending.unverified, ending.oracle_version, run_id),
    )
    store_reason(connection, run_id=run_id, judgement=ending.judgement, judge_error=ending.judge_error)
    return True


def settle_verdict(connection: Connection, *, run_id: int, ending: Ending) -> bool:
    """The verdict that a judge model came to, in place of the open one that its run ended with, which is part
    of it. False where somebody has judged the run anew since."""
    done = connection.execute(
        f"UPDATE runs SET {_SET_JUDGED} WHERE id = ? AND verdict = 'PENDING' AND judge_error IS NULL",
        (*_judged(ending), ending.pending_reason, ending.unverified, run_id),
    )
    if done.rowcount == 1:
        store_reason(connection, run_id=run_id, judgement=ending.judgement, judge_error=ending.judge_error)
    return done.rowcount == 1


_SET_JUDGED = ", ".join(f"{column} = ?" for column in (*_JUDGED, *_TOLD_IN_JUDGEMENT))


def _judged(ending: Ending) -> tuple[str | None, ...]:
    return ending.verdict, ending.failure_mode, json_text(ending.judgement), ending.judge_error


def ended_runs_of_task(connection: Connection, *, task_id: int, before_id: int | None = None) -> list[int]:
    """Newest first."""
    place, values = ("", (task_id,)) if before_id is None else (" AND id < ?", (task_id, before_id))
    return first_column(
        connection,
        f"SELECT id FROM runs WHERE task_id = ?{place} AND status IN ('completed', 'failed')"
        f" AND {IN_SIGHT} ORDER BY id DESC",
        values,
    )


def past_verdicts(connection: Connection, run_id: int) -> list[JsonObject]:
    """Those before the present one, newest first."""
    rows = connection.execute("SELECT * FROM past_verdicts WHERE run_id = ? ORDER BY id DESC", (run_id,))
    return [
        {
            "verdict": row["verdict"],
            "failure_mode": row["failure_mode"],
            "pending_reason": _told(judgement, "pending_reason"),
            "judgement": judgement,
            "judge_error": row["judge_error"],
            "replaced_at": row["replaced_at"],
        }
        for row, judgement in ((row, loads_own(row["judgement"] or "null")) for row in rows)
    ]


def _told(judgement: Json, name: str) -> Json:
    return judgement.get(name) if isinstance(judgement, dict) else None


def set_human_verdict(connection: Connection, *, org_id: int, run_id: int, verdict: str | None) -> None:
    """What people decided, or took back. The machine's verdict is not touched."""
    connection.execute(
        "UPDATE runs SET human_verdict = ? WHERE id = ? AND org_id = ?", (verdict, run_id, org_id)
    )


def postpone_expiry(connection: Connection, *, run_id: int, expires_at: str) -> None:
    """Its token lives on: time went by that was not the agent's."""
    connection.execute(
        "UPDATE runs SET expires_at = ? WHERE id = ? AND status = 'running'", (expires_at, run_id)
    )


def cancel_pending(connection: Connection, *, run_id: int, now: str) -> bool:
    done = connection.execute(
        "UPDATE runs SET status = 'cancelled', ended_at = ? WHERE id = ? AND status = 'pending'",
        (now, run_id),
    )
    return done.rowcount == 1
