"""What verdicts left behind: marks on scenarios, an org's settings, and which reports were looked through."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypedDict

from pipelines.core.evals.reviews.review_requests import ReviewSettings
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.storage.database.connection import Connection, in_list, insert, insert_row, some_of
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, first_column, json_text
from pipelines.storage.evals.reviews import SOME
from pipelines.wire.records import As, Flat, Hidden, Id, Moment, Named, Record

#: Taken back by nobody; and what asked for an edit has had one when the scenario is at another version.
_HOLDS = (
    "withdrawn_at IS NULL AND (kind <> 'needs_edit' OR scenario_version >= (SELECT version FROM"
    " eval_scenarios WHERE eval_scenarios.scenario_id = review_marks.scenario_id))"
)


class MarkKind(StrEnum):
    ACCEPTED_SHIFT = "accepted_shift"  # body: what is expected of that cell from then on
    NEEDS_EDIT = "needs_edit"  # what is expected, or how it is compared, is wrong
    REGRESSION = "regression"  # pinned with its variation: listed, and kept
    MORE_RUNS = "more_runs"  # body: how many, of which matrix


class MarkBody(TypedDict, total=False):
    """What marks of some kinds have."""

    tag: str
    reason: str
    expectation: str
    expected_behavior: JsonObject
    instead_of: str
    matrix_id: str
    run_id: Id
    is_queued: bool
    is_answered: bool
    runs: int
    refused: str
    queued_matrix_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NewMark:
    org_id: Hidden[int]
    kind: MarkKind
    scenario_id: str
    scenario_version: Id
    variation: str | None
    body: Annotated[Flat[JsonObject], As(MarkBody)]
    note: str
    review_id: str
    reviewer: Annotated[str, Named("by")]
    created_at: Moment


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark(NewMark, Record):
    """What a verdict did."""

    id: Hidden[int]
    withdrawn_at: Hidden[str | None]


_NEW_MARK = Mapper(NewMark)
_MARK = Mapper(Mark)
_MARKS = f"SELECT {_MARK.columns} FROM review_marks"


def add_mark(connection: Connection, mark: NewMark) -> int:
    return insert(connection, "review_marks", _NEW_MARK.row(mark))


def change_mark(connection: Connection, *, mark_id: int, body: JsonObject) -> None:
    connection.execute("UPDATE review_marks SET body = ? WHERE id = ?", (json_text(body), mark_id))


def withdraw_mark(connection: Connection, *, mark_id: int, now: str) -> None:
    connection.execute("UPDATE review_marks SET withdrawn_at = ? WHERE id = ?", (now, mark_id))


def withdraw_marks(connection: Connection, *, review_id: str, now: str) -> list[Mark]:
    """All that a review left behind, taken back; they stay as rows."""
    return _MARK.all(
        connection,
        "UPDATE review_marks SET withdrawn_at = ? WHERE review_id = ? AND withdrawn_at IS NULL"
        f" RETURNING {_MARK.columns}",
        (now, review_id),
    )


def marks_of_scenarios(
    connection: Connection, *, org_id: int, scenario_ids: Sequence[str], kind: MarkKind | None = None
) -> list[Mark]:
    """Those that hold, oldest first."""
    found: list[Mark] = []
    of_kind = " AND kind = ?" if kind is not None else ""
    for some in some_of(scenario_ids, SOME):
        found += _MARK.all(
            connection,
            f"{_MARKS} WHERE org_id = ? AND {_HOLDS} AND scenario_id IN {in_list(some)}{of_kind} ORDER BY id",
            (org_id, *some, *((kind.value,) if kind is not None else ())),
        )
    return found


def marks_of_org(
    connection: Connection, *, filters: list[Filter], limit: int, before_id: int | None
) -> Page[Mark]:
    """Those that hold, newest first; filters are over org_id, kind, scenario_id, variation."""
    return _MARK.page(
        connection,
        "review_marks",
        filters=filters,
        limit=limit,
        before_id=before_id,
        where=_HOLDS,
    )


def marks_of_review(connection: Connection, review_id: str) -> list[Mark]:
    return _MARK.all(connection, f"{_MARKS} WHERE review_id = ? AND {_HOLDS} ORDER BY id", (review_id,))


def accepted_mark(connection: Connection, *, matrix_id: str) -> str:
    """Another text whenever a shift of a scenario of the matrix was accepted, or that was taken back."""
    row = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(id), 0) FROM review_marks WHERE kind = 'accepted_shift'"
        " AND withdrawn_at IS NULL AND org_id = (SELECT org_id FROM eval_matrices WHERE matrix_id = ?)"
        " AND scenario_id IN (SELECT scenario_id FROM eval_tasks WHERE matrix_id = ?)",
        (matrix_id, matrix_id),
    ).fetchone()
    return f"{row[0]}/{row[1]}"


def marked_scenarios(kind: MarkKind) -> str:
    """A condition on a scenario's id: that it has such a mark."""
    return f"scenario_id IN (SELECT scenario_id FROM review_marks WHERE kind = '{kind.value}' AND {_HOLDS})"


def unqueued_runs(connection: Connection, *, before: str) -> list[Mark]:
    """Runs that verdicts asked for before that moment and that nobody has queued yet."""
    return [
        mark for mark in _more_runs(connection) if not mark.body.get("is_queued") and mark.created_at < before
    ]


def runs_asked_of_matrix(connection: Connection, matrix_id: str) -> list[Mark]:
    """More runs of its cells that were queued, and whose outcome nobody was shown yet."""
    return [
        mark
        for mark in _more_runs(connection)
        if mark.body.get("matrix_id") == matrix_id
        and mark.body.get("is_queued")
        and not mark.body.get("is_answered")
    ]


def _more_runs(connection: Connection) -> list[Mark]:
    return _MARK.all(connection, f"{_MARKS} WHERE kind = 'more_runs' AND withdrawn_at IS NULL ORDER BY id")


# -- an org's settings


def settings_of_org(connection: Connection, org_id: int) -> ReviewSettings:
    row = connection.execute("SELECT body FROM review_settings WHERE org_id = ?", (org_id,)).fetchone()
    body = loads_own(row[0]) if row else {}
    assert isinstance(body, dict)
    return ReviewSettings(**body)  # type: ignore[arg-type]  # as `put_settings` wrote it


def put_settings(connection: Connection, *, org_id: int, settings: ReviewSettings) -> None:
    row = {"org_id": org_id, "body": settings.as_json()}
    insert_row(connection, "review_settings", row, "ON CONFLICT (org_id) DO UPDATE SET body = excluded.body")


# -- reports that were looked through


def unflagged_matrices(connection: Connection, *, most: int) -> list[tuple[int, str, str]]:
    """Org, matrix and key of reports that nobody has looked through for what people have to see."""
    rows = connection.execute(
        "SELECT org_id, matrix_id, report_key FROM eval_matrices WHERE report_key IS NOT NULL"
        " AND COALESCE(reviewed_key, '') <> report_key ORDER BY id LIMIT ?",
        (most,),
    )
    return [(row[0], row[1], row[2]) for row in rows]


def flag_anew(connection: Connection, *, matrix_id: str) -> None:
    connection.execute("UPDATE eval_matrices SET reviewed_key = NULL WHERE matrix_id = ?", (matrix_id,))


def outcome_runs(connection: Connection, *, matrix_id: str, after_id: int, limit: int) -> list[int]:
    """Ids of a matrix's runs that have an outcome, in order, a page at a time."""
    statement = "SELECT run_id FROM eval_outcomes WHERE matrix_id = ? AND run_id > ? ORDER BY run_id LIMIT ?"
    return first_column(connection, statement, (matrix_id, after_id, limit))


def newest_matrix_of_cell(
    connection: Connection, *, org_id: int, scenario_id: str, variation: str
) -> str | None:
    row = connection.execute(
        "SELECT matrix_id FROM eval_outcomes WHERE scenario_id = ? AND org_id = ? AND variation = ?"
        " ORDER BY run_id DESC LIMIT 1",
        (scenario_id, org_id, variation),
    ).fetchone()
    return str(row[0]) if row else None


def mark_flagged(connection: Connection, *, matrix_id: str, report_key: str) -> None:
    connection.execute(
        "UPDATE eval_matrices SET reviewed_key = ? WHERE matrix_id = ?", (report_key, matrix_id)
    )
