"""Items of the review queue, who looks at them, what people said, and what happened to each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.core.evals.reviews.review import ReviewKind, ReviewStatus, Verdict
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.storage.database.connection import Connection, in_list, insert_row, some_of
from pipelines.storage.database.records import Mapper, Stored, json_text
from pipelines.wire.records import Hidden, Id, Moment, Named, Record, one_of

SOME = 200  # ids in one question


@dataclass(frozen=True, kw_only=True, slots=True)
class Review(Record):
    """A question to people."""

    number: Annotated[Hidden[int], Stored(column="id")]
    review_id: Annotated[str, Named("id")]  # rev_…
    org_id: Hidden[int]
    kind: ReviewKind
    status: ReviewStatus
    risk_rank: Hidden[int]  # 0: an ordinary run
    risk_level: Annotated[str, one_of(("low", "medium", "high", "critical"))] | None
    scenario_id: str | None
    scenario_version: Id | None
    scenario_name: str | None
    variation: str | None  # None for a baseline run, and where there is no scenario
    agent_id: Id | None
    agent_version: Id | None
    fingerprint: str | None
    matrix_id: Annotated[str | None, "of the newest evidence"]
    run_id: Annotated[Id | None, "where it is about one run"]
    reviewers_wanted: int
    is_blind: Annotated[bool, Named("blind")]
    reasons: Annotated[tuple[str, ...], "why it was opened; hidden from who decides blind"]
    evidence: Hidden[tuple[JsonObject, ...]]  # a cell's: one part per matrix
    verdict: Verdict | None  # once decided
    outcome: Annotated[JsonObject | None, "what the verdict did"]
    revision: Hidden[int]
    created_at: Moment
    updated_at: Moment
    decided_at: Moment | None


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredVerdict(Record, component="ReviewVerdict"):
    """What a person said."""

    review_id: Hidden[str]
    reviewer: str
    verdict: Verdict
    first_verdict: Hidden[Verdict]  # before this person changed their mind: what agreement is measured by
    note: str
    labels: tuple[str, ...]
    asks: Hidden[JsonObject]  # what beside: `runs`, `expected_behavior`
    given_at: Moment


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredClaim:
    review_id: str
    reviewer: str
    claimed_until: str


_VERDICT = Mapper(StoredVerdict)
_CLAIM = Mapper(StoredClaim)
_CLAIMS = f"SELECT {_CLAIM.columns} FROM review_claims"

# -- items

_REVIEW = Mapper(Review)
REVIEWS = f"SELECT {_REVIEW.columns} FROM reviews"


def add_review(connection: Connection, review: Review) -> bool:
    """False where there is one of that id, or an open one of that cell: nothing is changed then."""
    return insert_row(connection, "reviews", _REVIEW.row(review), "ON CONFLICT DO NOTHING").rowcount == 1


def change_review(connection: Connection, review: Review) -> bool:
    """As it is now, if nobody has changed it since it was read; False otherwise."""
    row = _REVIEW.row(review)
    done = connection.execute(
        f"UPDATE reviews SET {', '.join(f'{name} = ?' for name in _CHANGING)}, revision = revision + 1"
        " WHERE review_id = ? AND revision = ?",
        (*(row[name] for name in _CHANGING), review.review_id, review.revision),
    )
    return done.rowcount == 1


_CHANGING = (
    *("kind", "status", "matrix_id", "scenario_version", "scenario_name", "reasons", "evidence", "verdict"),
    *("outcome", "updated_at", "decided_at"),
)


def set_outcome(connection: Connection, *, review_id: str, outcome: JsonObject) -> None:
    """What came of a verdict after the item was decided."""
    connection.execute(
        "UPDATE reviews SET outcome = ? WHERE review_id = ? AND status = 'decided'",
        (json_text(outcome), review_id),
    )


def review_by_id(connection: Connection, *, org_id: int, review_id: str) -> Review | None:
    return one_review(connection, f"{REVIEWS} WHERE review_id = ? AND org_id = ?", (review_id, org_id))


def open_review_of_cell(
    connection: Connection, *, org_id: int, scenario_id: str, variation: str, fingerprint: str
) -> Review | None:
    return one_review(
        connection,
        f"{REVIEWS} WHERE org_id = ? AND scenario_id = ? AND variation = ? AND fingerprint = ?"
        " AND kind = 'shift' AND status <> 'decided'",
        (org_id, scenario_id, variation, fingerprint),
    )


def decided_reviews_of_cell(
    connection: Connection, *, org_id: int, scenario_id: str, variation: str, fingerprint: str, most: int
) -> list[Review]:
    """Newest first."""
    return all_reviews(
        connection,
        f"{REVIEWS} WHERE org_id = ? AND scenario_id = ? AND variation = ? AND fingerprint = ?"
        " AND kind = 'shift' AND status = 'decided' ORDER BY id DESC LIMIT ?",
        (org_id, scenario_id, variation, fingerprint, most),
    )


class CellReview(NamedTuple):
    review_id: str
    status: str
    verdict: str | None


def review_of_matrix_cell(
    connection: Connection, *, org_id: int, matrix_id: str, scenario_id: str, variation: str
) -> CellReview | None:
    """The newest question to people about a cell of this matrix."""
    row = connection.execute(
        "SELECT review_id, status, verdict FROM reviews WHERE org_id = ? AND matrix_id = ?"
        " AND scenario_id = ? AND variation = ? AND kind = 'shift' ORDER BY id DESC LIMIT 1",
        (org_id, matrix_id, scenario_id, variation),
    ).fetchone()
    return CellReview(*row) if row is not None else None


def decisions_of_matrix(
    connection: Connection, *, org_id: int, matrix_id: str, most: int
) -> list[tuple[str, str, str]]:
    """Scenario, variation and verdict of the cells that people have decided; the newest decision of a cell is
    the last."""
    rows = connection.execute(
        "SELECT scenario_id, variation, verdict FROM reviews WHERE org_id = ? AND matrix_id = ?"
        " AND kind = 'shift' AND status = 'decided' AND variation IS NOT NULL"
        " ORDER BY decided_at, id LIMIT ?",
        (org_id, matrix_id, most),
    )
    return [(row[0], row[1], row[2]) for row in rows]


one_review, all_reviews = _REVIEW.one, _REVIEW.all


# -- what people said


def put_verdict(connection: Connection, *, org_id: int, given: StoredVerdict) -> None:
    """A person's second verdict on an item replaces the first, which is remembered."""
    insert_row(
        connection,
        "review_verdicts",
        {"org_id": org_id} | _VERDICT.row(given),
        "ON CONFLICT (review_id, reviewer) DO UPDATE"
        " SET verdict = excluded.verdict, note = excluded.note, labels = excluded.labels,"
        " asks = excluded.asks, given_at = excluded.given_at",
    )


def withdraw_verdicts(connection: Connection, review_id: str) -> None:
    """The item is asked anew; what was said stays in its history."""
    connection.execute("DELETE FROM review_verdicts WHERE review_id = ?", (review_id,))


def verdicts_of(connection: Connection, review_ids: Sequence[str]) -> dict[str, list[StoredVerdict]]:
    """In the order they were given, for a page of items."""
    found: dict[str, list[StoredVerdict]] = {review_id: [] for review_id in review_ids}
    for some in some_of(review_ids, SOME):
        condition = f"review_id IN {in_list(some)} ORDER BY given_at, reviewer"
        statement = f"SELECT {_VERDICT.columns} FROM review_verdicts WHERE {condition}"
        for given in _VERDICT.all(connection, statement, some):
            found[given.review_id].append(given)
    return found


# -- who looks at them


def put_claim(connection: Connection, *, org_id: int, claim: StoredClaim) -> None:
    insert_row(
        connection,
        "review_claims",
        {"org_id": org_id} | _CLAIM.row(claim),
        "ON CONFLICT (review_id, reviewer) DO UPDATE SET claimed_until = excluded.claimed_until",
    )


def remove_claim(connection: Connection, *, review_id: str, reviewer: str) -> bool:
    done = connection.execute(
        "DELETE FROM review_claims WHERE review_id = ? AND reviewer = ?", (review_id, reviewer)
    )
    return done.rowcount == 1


def remove_claims(connection: Connection, review_id: str) -> None:
    connection.execute("DELETE FROM review_claims WHERE review_id = ?", (review_id,))


def claims_of(connection: Connection, review_ids: Sequence[str]) -> list[StoredClaim]:
    """Also those whose time is up: how long one holds is not for the database to say."""
    found: list[StoredClaim] = []
    for some in some_of(review_ids, SOME):
        statement = f"{_CLAIMS} WHERE review_id IN {in_list(some)} ORDER BY reviewer"
        found += _CLAIM.all(connection, statement, some)
    return found


def claims_of_org(connection: Connection, *, org_id: int, reviewer: str | None = None) -> list[StoredClaim]:
    named, values = (" AND reviewer = ?", (org_id, reviewer)) if reviewer is not None else ("", (org_id,))
    return _CLAIM.all(connection, f"{_CLAIMS} WHERE org_id = ?{named}", values)


# -- history


def add_event(
    connection: Connection,
    *,
    review_id: str,
    event: str,
    reviewer: str | None,
    now: str,
    detail: JsonObject,
) -> None:
    row = {"review_id": review_id, "occurred_at": now, "reviewer": reviewer, "event": event, "detail": detail}
    insert_row(connection, "review_events", row)


def events_of(connection: Connection, review_id: str) -> list[JsonObject]:
    rows = connection.execute(
        "SELECT occurred_at, reviewer, event, detail FROM review_events WHERE review_id = ? ORDER BY id",
        (review_id,),
    )
    return [{"at": row[0], "reviewer": row[1], "event": row[2], "detail": loads_own(row[3])} for row in rows]
