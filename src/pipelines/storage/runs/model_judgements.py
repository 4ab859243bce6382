"""What judge models made of runs: every judgement is kept, with its model, its prompt and what it cost.

One that is `wanted` was promised when its run ended, in the same write; whoever finds it asks, so that a kill
loses none.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.core.models.model_question import cost_usd
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.core.verdict.verdict import FailureMode, Outcome, Verdict
from pipelines.storage.database.connection import Connection, insert
from pipelines.storage.database.records import Mapper
from pipelines.wire.records import As, Id, Moment, Named, Record, Via, one_of

WANTED = "wanted"  # the model is to be asked
JUDGED = "judged"
FAILED = "failed"  # nothing usable came: `failure` says why, and the run waits for a person


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What a model said of a run. Without a verdict where nothing usable came."""

    model: str
    prompt_version: str
    verdict: str | None = None
    failure_mode: str | None = None
    body: Json = None  # the whole verdict, as it stands on the run where it was taken
    failure: str | None = None
    problem: str | None = None
    exchange_id: int | None = None
    tokens: int | None = None
    cost_nanousd: int | None = None
    is_taken: bool = True  # became the run's verdict; else it stands beside it


def _read(body: str | None) -> Json:
    return loads_own(body) if body is not None else None


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredJudgement(Record, component="ModelJudgement"):
    """One reading of a run by a judge model. All of them are kept."""

    id: Id
    run_id: Id
    status: Annotated[str, one_of(("wanted", "judged", "failed"))]
    model: str
    prompt_version: str
    verdict: Annotated[str, one_of(Outcome)] | None
    failure_mode: Annotated[str, one_of(FailureMode)] | None
    failure: str | None
    problem: str | None
    exchange_id: Id | None
    tokens: int | None
    cost_nanousd: Annotated[int | None, Named("cost_usd"), Via(cost_usd)]
    is_taken: Annotated[int, Via(bool), "it became the run's verdict; else it stands beside it"]
    created_at: Moment
    ended_at: Moment | None
    body: Annotated[str | None, Named("judgement"), Via(_read), As(Verdict | None)]


class PendingJudgement(NamedTuple):
    id: int
    org_id: int
    run_id: int
    batch_id: int | None
    model: str


class Judge(NamedTuple):
    """Two prompts make two judges of one model."""

    model: str
    prompt_version: str

    @property
    def name(self) -> str:
        return f"{self.model}@{self.prompt_version}"


class RunVerdict(NamedTuple):
    run_id: int
    task_id: int
    verdict: str
    failure_mode: str | None
    human_verdict: str | None


_JUDGEMENT = Mapper(Judgement)
_STORED = Mapper(StoredJudgement)


def add_wanted(
    connection: Connection,
    *,
    org_id: int,
    run_id: int,
    batch_id: int | None,
    judge: Judge,
    worker: str,
    now: str,
) -> int:
    own = {"org_id": org_id, "run_id": run_id, "batch_id": batch_id, "status": WANTED, "is_taken": False}
    return insert(
        connection, "model_judgements", own | judge._asdict() | {"claimed_by": worker, "created_at": now}
    )


def wanted_by_id(connection: Connection, judgement_id: int) -> PendingJudgement | None:
    """None where it has ended."""
    row = connection.execute(
        "SELECT id, org_id, run_id, batch_id, model FROM model_judgements WHERE id = ? AND status = ?",
        (judgement_id, WANTED),
    ).fetchone()
    return PendingJudgement(*row) if row else None


def take_wanted(
    connection: Connection, *, worker: str, gone: str | None = None, before: str | None = None
) -> list[tuple[int, int]]:
    """(judgement, run): of this worker, of one that is gone, and what was promised `before`: nobody asks so
    long."""
    connection.execute(
        "UPDATE model_judgements SET claimed_by = ? WHERE status = ? AND (claimed_by = ? OR created_at < ?)",
        (worker, WANTED, gone if gone is not None else worker, before or ""),
    )
    rows = connection.execute(
        "SELECT id, run_id FROM model_judgements WHERE status = ? AND claimed_by = ? ORDER BY id",
        (WANTED, worker),
    )
    return [(row[0], row[1]) for row in rows]


def end_wanted(connection: Connection, judgement_id: int, judgement: Judgement, *, now: str) -> bool:
    """False when somebody else has ended it."""
    done = connection.execute(
        f"UPDATE model_judgements SET {_JUDGEMENT.assignments}, status = ?, ended_at = ?"
        " WHERE id = ? AND status = ?",
        (*_JUDGEMENT.values(judgement), _status(judgement), now, judgement_id, WANTED),
    )
    return done.rowcount == 1


def add_judgement(
    connection: Connection,
    judgement: Judgement,
    *,
    org_id: int,
    run_id: int,
    batch_id: int | None,
    now: str,
) -> int:
    own = {"org_id": org_id, "run_id": run_id, "batch_id": batch_id, "created_at": now, "ended_at": now}
    row = _JUDGEMENT.row(judgement) | own | {"status": _status(judgement)}
    return insert(connection, "model_judgements", row)


def judgements_of_run(connection: Connection, run_id: int, *, most: int = 100) -> list[StoredJudgement]:
    """The newest first."""
    statement = f"SELECT {_STORED.columns} FROM model_judgements WHERE run_id = ? ORDER BY id DESC LIMIT ?"
    return _STORED.all(connection, statement, (run_id, most))


def judges_of_batch(connection: Connection, batch_id: int) -> list[tuple[Judge, JsonObject]]:
    """Who judged runs of a batch, how many, and at what cost."""
    rows = connection.execute(
        "SELECT model, prompt_version, COUNT(DISTINCT run_id), COUNT(*),"
        " SUM(CASE WHEN status = 'failed' THEN 1 ELSE 0 END),"
        " SUM(CASE WHEN status = 'wanted' THEN 1 ELSE 0 END), SUM(COALESCE(cost_nanousd, 0))"
        " FROM model_judgements WHERE batch_id = ? GROUP BY 1, 2 ORDER BY 1, 2",
        (batch_id,),
    )
    return [
        (
            Judge(row[0], row[1]),
            {
                "runs": row[2],
                "judgements": row[3],
                "failed": row[4],
                "wanted": row[5],
                "cost_usd": cost_usd(row[6]),
            },
        )
        for row in rows
    ]


_LATEST = (
    "SELECT MAX(id) FROM model_judgements WHERE status = 'judged' AND model = ? AND prompt_version = ? AND {}"
    " GROUP BY run_id"
)
_VERDICTS = (
    "SELECT j.run_id, r.task_id, j.verdict, j.failure_mode, r.human_verdict FROM model_judgements j"
    " JOIN runs r ON r.id = j.run_id WHERE j.id IN ({}) ORDER BY j.run_id"
)


def verdicts_in_batch(connection: Connection, batch_id: int, judge: Judge) -> list[RunVerdict]:
    """What a judge said of each run of a batch: its latest."""
    latest = _LATEST.format("batch_id = ?")
    return [RunVerdict(*row) for row in connection.execute(_VERDICTS.format(latest), (*judge, batch_id))]


def judges_of_org(connection: Connection, org_id: int) -> list[Judge]:
    rows = connection.execute(
        "SELECT DISTINCT model, prompt_version FROM model_judgements WHERE org_id = ? AND status = 'judged'"
        " ORDER BY 1, 2",
        (org_id,),
    )
    return [Judge(*row) for row in rows]


def labelled_verdicts(connection: Connection, org_id: int, judge: Judge) -> list[RunVerdict]:
    """What a judge said of each run that people have decided: its latest."""
    latest = _LATEST.format("run_id IN (SELECT id FROM runs WHERE org_id = ? AND human_verdict IS NOT NULL)")
    return [RunVerdict(*row) for row in connection.execute(_VERDICTS.format(latest), (*judge, org_id))]


def _status(judgement: Judgement) -> str:
    return JUDGED if judgement.verdict is not None else FAILED
