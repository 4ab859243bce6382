"""The queue a page at a time, and what is counted over it.

Two lists behind one another. First what has a risk level: the highest first, and the oldest of those. Then
ordinary runs by their ids: those that have a row among the reviews, and between them those that wait for a
verdict and have none yet. Nothing is copied for them: the index over runs to review finds them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.evals.reviews.review import NO_RISK, ReviewKind, ReviewStatus
from pipelines.core.text.json_text import JsonObject
from pipelines.core.verdict.pending_words import pending_words
from pipelines.storage.database.connection import Connection, Row, in_list
from pipelines.storage.evals.reviews import REVIEWS, Review, all_reviews, one_review
from pipelines.storage.runs.runs import IN_SIGHT, WAITS_FOR_PEOPLE

RUN_PREFIX = "rev_run_"
AUDIT_PREFIX = "rev_audit_"  # of a run of a matrix


class Place(NamedTuple):
    """Where a page starts: behind this one."""

    risk_rank: int
    number: int  # of a review; of the run, where the rank is none


class QueuePage(NamedTuple):
    items: list[Review]
    last: Place | None  # None when this is the last page


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFilter:
    org_id: int
    statuses: tuple[ReviewStatus, ...]
    kind: ReviewKind | None = None
    risk_level: str | None = None
    scenario_id: str | None = None
    variation: str | None = None
    agent_id: int | None = None
    fingerprint: str | None = None
    run_id: int | None = None
    matrix_id: str | None = None
    since: str | None = None
    review_ids: tuple[str, ...] | None = None  # of claims that hold; None: whoever looks

    @property
    def is_of_scenarios(self) -> bool:
        """Whether no ordinary run can be meant."""
        named = (self.risk_level, self.scenario_id, self.variation, self.fingerprint, self.matrix_id)
        return any(value is not None for value in named) or self.kind in (ReviewKind.SHIFT, ReviewKind.AUDIT)

    @property
    def is_of_runs(self) -> bool:
        return self.kind in (ReviewKind.TASK_VERDICT, ReviewKind.JUDGE_ERROR)


def queue_page(
    connection: Connection, asked: QueueFilter, *, limit: int, after: Place | None, wanted: int, blind: bool
) -> QueuePage:
    """`wanted` and `blind` are the org's settings: what runs without a row would be opened with."""
    found: list[Review] = []
    if not asked.is_of_runs and (after is None or after.risk_rank > NO_RISK):
        found = _with_risk(connection, asked, limit=limit + 1, after=after)
    if len(found) <= limit and not asked.is_of_scenarios:
        behind = after.number if after is not None and after.risk_rank == NO_RISK else 0
        some = limit + 1 - len(found)
        found += _of_runs(connection, asked, limit=some, behind=behind, wanted=wanted, blind=blind)
    page = found[:limit]
    return QueuePage(page, _place(page[-1]) if len(found) > limit else None)


def _place(review: Review) -> Place:
    if review.risk_rank == NO_RISK:
        assert review.run_id is not None, "what has no risk level is about a run"
        return Place(NO_RISK, review.run_id)
    return Place(review.risk_rank, review.number)


def _with_risk(
    connection: Connection, asked: QueueFilter, *, limit: int, after: Place | None
) -> list[Review]:
    conditions, values = _conditions(asked)
    conditions.append("risk_rank > 0")
    if after is not None:
        conditions.append("(risk_rank < ? OR (risk_rank = ? AND id > ?))")
        values += [after.risk_rank, after.risk_rank, after.number]
    return all_reviews(
        connection,
        f"{REVIEWS} WHERE {' AND '.join(conditions)} ORDER BY risk_rank DESC, id LIMIT ?",
        (*values, limit),
    )


def _of_runs(
    connection: Connection, asked: QueueFilter, *, limit: int, behind: int, wanted: int, blind: bool
) -> list[Review]:
    conditions, values = _conditions(asked)
    found = all_reviews(
        connection,
        f"{REVIEWS} WHERE {' AND '.join(conditions)} AND risk_rank = 0 AND run_id > ?"
        " ORDER BY run_id LIMIT ?",
        (*values, behind, limit),
    )
    if ReviewStatus.OPEN in asked.statuses and asked.review_ids is None:
        found += _without_a_row(connection, asked, limit=limit, behind=behind, wanted=wanted, blind=blind)
    return sorted(found, key=lambda review: review.run_id or 0)[:limit]


_RUN = (
    "SELECT id, org_id, agent_id, agent_version, judge_error, pending_reason, created_at, ended_at FROM runs"
)
_WAITS = f"{WAITS_FOR_PEOPLE} AND {IN_SIGHT} AND org_id = ?"
_HAS_NO_ROW = f"NOT EXISTS (SELECT 1 FROM reviews WHERE reviews.review_id = '{RUN_PREFIX}' || runs.id)"


def _without_a_row(
    connection: Connection, asked: QueueFilter, *, limit: int, behind: int, wanted: int, blind: bool
) -> list[Review]:
    conditions = [_WAITS, _HAS_NO_ROW, "id > ?"]
    values: list[object] = [asked.org_id, behind]
    for condition, value in (
        ("agent_id = ?", asked.agent_id),
        ("id = ?", asked.run_id),
        ("ended_at >= ?", asked.since),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    if asked.kind is not None:
        is_error = asked.kind is ReviewKind.JUDGE_ERROR
        conditions.append(f"judge_error IS {'NOT ' if is_error else ''}NULL")
    rows = connection.execute(
        f"{_RUN} WHERE {' AND '.join(conditions)} ORDER BY id LIMIT ?", (*values, limit)
    )
    return [_waiting(row, wanted=wanted, blind=blind) for row in rows]


def run_to_review(
    connection: Connection, *, org_id: int, run_id: int, wanted: int, blind: bool, must_wait: bool
) -> Review | None:
    """The item that a run without a row is; with `must_wait`, only if it waits for a verdict."""
    condition = _WAITS if must_wait else f"ended_at IS NOT NULL AND {IN_SIGHT} AND org_id = ?"
    row = connection.execute(f"{_RUN} WHERE {condition} AND id = ?", (org_id, run_id)).fetchone()
    return _waiting(row, wanted=wanted, blind=blind) if row else None


def item_about_run(connection: Connection, *, org_id: int, run_id: int) -> Review | None:
    """Its row, where somebody has asked for it or acted on it."""
    return one_review(
        connection,
        f"{REVIEWS} WHERE review_id IN (?, ?) AND org_id = ?",
        (f"{RUN_PREFIX}{run_id}", f"{AUDIT_PREFIX}{run_id}", org_id),
    )


def _waiting(row: Row, *, wanted: int, blind: bool) -> Review:
    is_error = row["judge_error"] is not None
    opened = row["ended_at"] or row["created_at"]
    return Review(
        number=0,
        review_id=f"{RUN_PREFIX}{row['id']}",
        org_id=row["org_id"],
        kind=ReviewKind.JUDGE_ERROR if is_error else ReviewKind.TASK_VERDICT,
        status=ReviewStatus.OPEN,
        risk_rank=NO_RISK,
        risk_level=None,
        scenario_id=None,
        scenario_version=None,
        scenario_name=None,
        variation=None,
        fingerprint=None,
        agent_id=row["agent_id"],
        agent_version=row["agent_version"],
        matrix_id=None,
        run_id=row["id"],
        reviewers_wanted=wanted,
        is_blind=blind,
        reasons=(_why_it_waits(row),),
        evidence=(),
        verdict=None,
        outcome=None,
        revision=0,
        created_at=opened,
        updated_at=opened,
        decided_at=None,
    )


def _why_it_waits(row: Row) -> str:
    if row["judge_error"] is not None:
        return "the judge broke"
    words = pending_words(row["pending_reason"])
    return f"{row['pending_reason']}: {words.says}" if words else "the judge could not decide it"


def _conditions(asked: QueueFilter) -> tuple[list[str], list[object]]:
    conditions = ["org_id = ?", f"status IN {in_list(asked.statuses)}"]
    values: list[object] = [asked.org_id, *(status.value for status in asked.statuses)]
    if ReviewStatus.DECIDED not in asked.statuses:
        conditions.append("status <> 'decided'")  # the words of the index over what waits
    for column in (
        "risk_level",
        "scenario_id",
        "variation",
        "agent_id",
        "fingerprint",
        "run_id",
        "matrix_id",
    ):
        value = getattr(asked, column)
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    if asked.kind is not None:
        conditions.append("kind = ?")
        values.append(asked.kind.value)
    if asked.since is not None:
        conditions.append("created_at >= ?")
        values.append(asked.since)
    if asked.review_ids is not None:
        conditions.append(f"review_id IN {in_list(asked.review_ids)}")
        values += asked.review_ids
    return conditions, values


# -- counts


def waiting_counts(connection: Connection, *, org_id: int) -> JsonObject:
    """What waits, by kind; runs without a row among them."""
    counts: dict[str, int] = {kind.value: 0 for kind in ReviewKind}
    disputed = 0
    for kind, status, number in connection.execute(
        "SELECT kind, status, COUNT(*) FROM reviews WHERE org_id = ? AND status <> 'decided' GROUP BY 1, 2",
        (org_id,),
    ):
        counts[kind] += int(number)
        disputed += int(number) if status == ReviewStatus.DISPUTED else 0
    for is_error, number in connection.execute(
        "SELECT CASE WHEN judge_error IS NULL THEN 0 ELSE 1 END, COUNT(*) FROM runs"
        f" WHERE {_WAITS} AND {_HAS_NO_ROW} GROUP BY 1",
        (org_id,),
    ):
        counts[(ReviewKind.JUDGE_ERROR if is_error else ReviewKind.TASK_VERDICT).value] += int(number)
    return {"total": sum(counts.values()), "disputed": disputed, "by_kind": {**counts}}


def verdict_counts(
    connection: Connection, *, org_id: int, since: str | None
) -> list[tuple[str, str, int, str]]:
    """Reviewer, verdict, how often, and when last."""
    later, values = (" AND given_at >= ?", (org_id, since)) if since is not None else ("", (org_id,))
    rows = connection.execute(
        "SELECT reviewer, verdict, COUNT(*), MAX(given_at) FROM review_verdicts"
        f" WHERE org_id = ?{later} GROUP BY 1, 2 ORDER BY 1, 2",
        values,
    )
    return [(row[0], row[1], int(row[2]), row[3]) for row in rows]


def decided_counts(connection: Connection, *, org_id: int) -> dict[str, int]:
    rows = connection.execute(
        "SELECT verdict, COUNT(*) FROM reviews WHERE org_id = ? AND status = 'decided' GROUP BY 1", (org_id,)
    )
    return {row[0]: int(row[1]) for row in rows}


def shared_verdicts(
    connection: Connection, *, org_id: int, kinds: Sequence[ReviewKind], since: str | None
) -> list[dict[str, str]]:
    """Of each item with several reviewers, what each said first: reviewer -> verdict."""
    later, values = (" AND v.given_at >= ?", [since]) if since is not None else ("", [])
    rows = connection.execute(
        "SELECT v.review_id, v.reviewer, v.first_verdict FROM review_verdicts v"
        " JOIN reviews r ON r.review_id = v.review_id"
        f" WHERE v.org_id = ? AND r.kind IN {in_list(kinds)}{later} ORDER BY r.id, v.reviewer",
        (org_id, *(kind.value for kind in kinds), *values),
    )
    found: dict[str, dict[str, str]] = {}
    for review_id, reviewer, verdict in rows:
        found.setdefault(review_id, {})[reviewer] = verdict
    return [verdicts for verdicts in found.values() if len(verdicts) > 1]
