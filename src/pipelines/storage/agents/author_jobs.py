"""Questions to the author's model that take minutes, as jobs: how far each is, then its answer or error."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.storage.database.connection import Connection, insert
from pipelines.storage.database.records import Mapper, json_text
from pipelines.wire.records import As, Hidden, Id, Moment, Record, Schema, one_of

RUNNING = "running"
DONE = "done"
FAILED = "failed"


_ANSWER = Schema(
    anyOf=[
        {"$ref": "#/components/schemas/ProposedPlanList"},
        {"$ref": "#/components/schemas/LearnedPlanList"},
        {"type": "object"},
        {"type": "null"},
    ]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AuthorJob(Record):
    """A question to the author's model that may take minutes."""

    id: Id
    org_id: Hidden[int]
    subject: Annotated[str, "such as `dataset 12`"]
    status: Annotated[str, one_of((RUNNING, DONE, FAILED))]
    done: Annotated[int, "parts that are answered: texts, or tools"]
    total: Annotated[int | None, "of so many; null: not known yet"]
    answer: Annotated[Json, _ANSWER, "once it is done; of a dataset `items` are rules"]
    error: Annotated[Json, As(JsonObject | None), "once it has failed: `code`, `message`, perhaps `details`"]
    created_at: Moment
    updated_at: Moment


_JOB = Mapper(AuthorJob)
_JOBS = f"SELECT {_JOB.columns} FROM author_jobs"


def add_job(connection: Connection, *, org_id: int, subject: str, now: str) -> int:
    times = {"created_at": now, "updated_at": now}
    new = {"org_id": org_id, "subject": subject, "status": RUNNING, "done": 0}
    return insert(connection, "author_jobs", new | times)


def note_progress(connection: Connection, job_id: int, *, done: int, total: int | None, now: str) -> None:
    connection.execute(
        "UPDATE author_jobs SET done = ?, total = ?, updated_at = ? WHERE id = ? AND status = ?",
        (done, total, now, job_id, RUNNING),
    )


def end_job(connection: Connection, job_id: int, *, answer: Json, error: Json, now: str) -> None:
    """With an answer or an error."""
    connection.execute(
        "UPDATE author_jobs SET status = ?, answer = ?, error = ?, updated_at = ?"
        " WHERE id = ? AND status = ?",
        (DONE if error is None else FAILED, *map(json_text, (answer, error)), now, job_id, RUNNING),
    )


def job_by_id(connection: Connection, *, org_id: int, job_id: int) -> AuthorJob | None:
    return _JOB.one(connection, f"{_JOBS} WHERE id = ? AND org_id = ?", (job_id, org_id))


def last_job(connection: Connection, *, org_id: int, subject: str) -> AuthorJob | None:
    statement = f"{_JOBS} WHERE org_id = ? AND subject = ? ORDER BY id DESC LIMIT 1"
    return _JOB.one(connection, statement, (org_id, subject))
