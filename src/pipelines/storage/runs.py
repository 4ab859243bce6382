"""Runs: one attempt of one agent version at one task."""

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.core.json_text import Json, JsonObject, dumps, loads_own
from pipelines.storage.connection import Connection, Row, insert
from pipelines.storage.paging import Filter, Page, page_of
from pipelines.storage.stored_seed import WithSeed
from pipelines.wire.names import RunStatus


@dataclass(frozen=True, kw_only=True)
class Run(WithSeed):
    id: int
    org_id: int
    agent_id: int
    agent_version: int
    task_id: int
    dataset_id: int
    batch_id: int | None
    repeat_number: int  # 1 for the first attempt at its task within the batch
    retried: bool  # cut off or cancelled, and another run stands in its place now
    mode: str  # manual: driven by hand; dispatch: sent to the agent
    status: RunStatus
    jti: str  # the token's public name
    simulated_now: str  # what time it is in the run's world
    fault_seed: int  # enters the draws of its random failure rules
    final_response: str | None
    messages: Json
    metadata: Json
    error_class: str | None
    error_json: Json
    soft_warnings: Json
    verdict: str | None  # PASS, FAIL, PENDING, NOT_APPLICABLE; None until it is judged
    failure_mode: str | None
    judgement: Json  # the whole verdict: scores, reasoning, evidence, grader
    judge_error: str | None  # why there is no verdict
    created_at: str
    started_at: str | None
    dispatched_at: str | None  # when its first POST began: from then on the agent may have seen it
    ended_at: str | None
    expires_at: str

    def as_json(self) -> JsonObject:
        return {
            "id": self.id,
            "agent_id": self.agent_id,
            "agent_version": self.agent_version,
            "task_id": self.task_id,
            "dataset_id": self.dataset_id,
            "batch_id": self.batch_id,
            "repeat_number": self.repeat_number,
            "retried": self.retried,
            "mode": self.mode,
            "status": self.status.value,
            "run_token_jti": self.jti,
            "simulated_now": self.simulated_now,
            "fault_seed": self.fault_seed,
            "final_response": self.final_response,
            "messages": self.messages,
            "metadata": self.metadata,
            "error_class": self.error_class,
            "error_json": self.error_json,
            "soft_warnings": self.soft_warnings,
            "verdict": self.verdict,
            "failure_mode": self.failure_mode,
            "judgement": self.judgement,
            "judge_error": self.judge_error,
            "created_at": self.created_at,
            "started_at": self.started_at,
            "dispatched_at": self.dispatched_at,
            "ended_at": self.ended_at,
            "expires_at": self.expires_at,
        }


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
    simulated_now: str
    fault_seed: int = 0
    soft_warnings: list[Json]
    created_at: str
    expires_at: str


_COLUMNS = (
    "org_id, agent_id, agent_version, task_id, dataset_id, batch_id, repeat_number, mode, status, jti,"
    " token_hash, seed, world_hash, simulated_now, fault_seed, soft_warnings, created_at, started_at,"
    " expires_at"
)
_NEW = f"INSERT INTO runs ({_COLUMNS}) VALUES ({', '.join('?' * len(_COLUMNS.split(', ')))})"


#: Nobody has decided it: the judge could not prove it either way, or broke. One tried again is past deciding.
#: Written as in the index runs_to_review, which both databases use only for these very words.
NEEDS_REVIEW = "(COALESCE(verdict, '') = 'PENDING' OR judge_error IS NOT NULL) AND retried = 0"


def add_run(connection: Connection, run: NewRun) -> int:
    return insert(connection, _NEW, _values(run))


def add_runs(connection: Connection, new: Iterable[NewRun]) -> None:
    connection.executemany(_NEW, [_values(run) for run in new])


def _values(run: NewRun) -> tuple[object, ...]:
    return (
        run.org_id,
        run.agent_id,
        run.agent_version,
        run.task_id,
        run.dataset_id,
        run.batch_id,
        run.repeat_number,
        run.mode,
        run.status.value,
        run.jti,
        run.token_hash,
        run.seed_text,
        run.world_hash,
        run.simulated_now,
        run.fault_seed,
        dumps(run.soft_warnings).decode(),
        run.created_at,
        run.created_at if run.status is RunStatus.RUNNING else None,
        run.expires_at,
    )


def run_by_id(connection: Connection, *, org_id: int, run_id: int) -> Run | None:
    row = connection.execute("SELECT * FROM runs WHERE id = ? AND org_id = ?", (run_id, org_id)).fetchone()
    return _run(row) if row else None


def run_by_token_hash(connection: Connection, token_hash: str) -> Run | None:
    row = connection.execute("SELECT * FROM runs WHERE token_hash = ?", (token_hash,)).fetchone()
    return _run(row) if row else None


def runs_of_org(
    connection: Connection,
    *,
    filters: list[Filter],
    limit: int,
    before_id: int | None,
    newest_first: bool = True,
    needs_review: bool | None = None,
) -> Page[Run]:
    rows = page_of(
        connection,
        "runs",
        filters=filters,
        limit=limit,
        before_id=before_id,
        newest_first=newest_first,
        where={None: None, True: NEEDS_REVIEW, False: f"NOT ({NEEDS_REVIEW})"}[needs_review],
    )
    return Page([_run(row) for row in rows.items], rows.last_id)


def claim_run(
    connection: Connection, *, run_id: int, worker: str, jti: str, token_hash: str, now: str, expires_at: str
) -> Run | None:
    """Take a pending run to dispatch it, with a fresh token; None when it is no longer pending.

    From here on the agent may have seen it, so nothing ever makes it pending again.
    """
    done = connection.execute(
        "UPDATE runs SET status = 'running', claimed_by = ?, jti = ?, token_hash = ?, started_at = ?,"
        " dispatched_at = ?, expires_at = ? WHERE id = ? AND status = 'pending'",
        (worker, jti, token_hash, now, now, expires_at, run_id),
    )
    if done.rowcount != 1:
        return None
    return _run(connection.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone())


def turns_of(connection: Connection, run_id: int) -> int:
    """How many turns the run's conversation may have."""
    (text,) = connection.execute("SELECT seed FROM runs WHERE id = ?", (run_id,)).fetchone()
    seed = loads_own(text)
    turns = seed.get("max_turns") if isinstance(seed, dict) else None
    return turns if isinstance(turns, int) else 1


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
    verdict: str | None = None
    failure_mode: str | None = None
    judgement: Json = None
    judge_error: str | None = None


def end_run(connection: Connection, *, run_id: int, ending: Ending, now: str) -> bool:
    """Close a running run; False when it had already ended."""
    done = connection.execute(
        "UPDATE runs SET status = ?, ended_at = ?, final_response = ?, messages = ?, metadata = ?,"
        " error_class = ?, error_json = ?, soft_warnings = COALESCE(?, soft_warnings), verdict = ?,"
        " failure_mode = ?, judgement = ?, judge_error = ? WHERE id = ? AND status = 'running'",
        (
            ending.status.value,
            now,
            ending.final_response,
            _text(ending.messages),
            _text(ending.metadata),
            ending.error_class,
            _text(ending.error_json),
            _text(ending.soft_warnings),
            ending.verdict,
            ending.failure_mode,
            _text(ending.judgement),
            ending.judge_error,
            run_id,
        ),
    )
    return done.rowcount == 1


def set_verdict(connection: Connection, *, run_id: int, ending: Ending) -> None:
    """Judge an ended run anew: nothing but its verdict changes."""
    connection.execute(
        "UPDATE runs SET verdict = ?, failure_mode = ?, judgement = ?, judge_error = ? WHERE id = ?",
        (ending.verdict, ending.failure_mode, _text(ending.judgement), ending.judge_error, run_id),
    )


def postpone_expiry(connection: Connection, *, run_id: int, expires_at: str) -> None:
    """Its token lives on: time went by that was not the agent's."""
    connection.execute(
        "UPDATE runs SET expires_at = ? WHERE id = ? AND status = 'running'", (expires_at, run_id)
    )


def mark_retried(connection: Connection, *, run_id: int) -> None:
    connection.execute("UPDATE runs SET retried = 1 WHERE id = ?", (run_id,))


def cancel_pending(connection: Connection, *, run_id: int, now: str) -> bool:
    done = connection.execute(
        "UPDATE runs SET status = 'cancelled', ended_at = ? WHERE id = ? AND status = 'pending'",
        (now, run_id),
    )
    return done.rowcount == 1


def _text(value: object) -> str | None:
    return dumps(value).decode() if value is not None else None


def _value(text: str | None) -> Json:
    return loads_own(text) if text is not None else None


def _run(row: Row) -> Run:
    return Run(
        id=row["id"],
        org_id=row["org_id"],
        agent_id=row["agent_id"],
        agent_version=row["agent_version"],
        task_id=row["task_id"],
        dataset_id=row["dataset_id"],
        batch_id=row["batch_id"],
        repeat_number=row["repeat_number"],
        retried=bool(row["retried"]),
        mode=row["mode"],
        status=RunStatus(row["status"]),
        jti=row["jti"],
        seed_text=row["seed"],
        world_hash=row["world_hash"],
        simulated_now=row["simulated_now"],
        fault_seed=row["fault_seed"],
        final_response=row["final_response"],
        messages=_value(row["messages"]),
        metadata=_value(row["metadata"]),
        error_class=row["error_class"],
        error_json=_value(row["error_json"]),
        soft_warnings=_value(row["soft_warnings"]),
        verdict=row["verdict"],
        failure_mode=row["failure_mode"],
        judgement=_value(row["judgement"]),
        judge_error=row["judge_error"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        dispatched_at=row["dispatched_at"],
        ended_at=row["ended_at"],
        expires_at=row["expires_at"],
    )
