"""Items of the review queue, who looks at them, what people said, and what happened to each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.core.evals.reviews.review import ReviewKind, ReviewStatus, Verdict
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.storage.database.connection import Connection, Row, in_list

SOME = 200  # ids in one question


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    number: int  # in the order they were opened; 0 for a run that has no row yet
    review_id: str  # rev_…
    org_id: int
    kind: ReviewKind
    status: ReviewStatus
    risk_rank: int  # 0: an ordinary run
    risk_level: str | None
    scenario_id: str | None
    scenario_version: int | None
    scenario_name: str | None
    variation: str | None  # None for a baseline run, and where there is no scenario
    fingerprint: str | None
    agent_id: int | None
    agent_version: int | None
    matrix_id: str | None  # of the newest evidence
    run_id: int | None  # where it is about one run
    reviewers_wanted: int
    is_blind: bool
    reasons: tuple[str, ...]  # why it was opened
    evidence: tuple[JsonObject, ...]  # a cell's: one part per matrix
    verdict: Verdict | None  # once decided
    outcome: JsonObject | None  # what the verdict did
    revision: int
    created_at: str
    updated_at: str
    decided_at: str | None

    def as_json(self) -> JsonObject:
        """In short, as lists show it."""
        return {
            "id": self.review_id,
            "kind": self.kind.value,
            "status": self.status.value,
            "risk_level": self.risk_level,
            "scenario_id": self.scenario_id,
            "scenario_version": self.scenario_version,
            "scenario_name": self.scenario_name,
            "variation": self.variation,
            "agent_id": self.agent_id,
            "agent_version": self.agent_version,
            "fingerprint": self.fingerprint,
            "matrix_id": self.matrix_id,
            "run_id": self.run_id,
            "reviewers_wanted": self.reviewers_wanted,
            "blind": self.is_blind,
            "reasons": [*self.reasons],
            "verdict": self.verdict.value if self.verdict is not None else None,
            "outcome": self.outcome,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "decided_at": self.decided_at,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredVerdict:
    review_id: str
    reviewer: str
    verdict: Verdict
    first_verdict: Verdict  # before this person changed their mind: what agreement is measured by
    note: str
    labels: tuple[str, ...]
    asks: JsonObject  # what beside: `runs`, `expected_behavior`
    given_at: str

    def as_json(self) -> JsonObject:
        return {
            "reviewer": self.reviewer,
            "verdict": self.verdict.value,
            "note": self.note,
            "labels": [*self.labels],
            "given_at": self.given_at,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredClaim:
    review_id: str
    reviewer: str
    claimed_until: str


# -- items

_COLUMNS = (
    *("review_id", "org_id", "kind", "status", "risk_rank", "risk_level", "scenario_id", "scenario_version"),
    *("scenario_name", "variation", "fingerprint", "agent_id", "agent_version", "matrix_id", "run_id"),
    *("reviewers_wanted", "is_blind", "reasons", "evidence", "verdict", "outcome", "revision", "created_at"),
    *("updated_at", "decided_at"),
)


def add_review(connection: Connection, review: Review) -> bool:
    """False where there is one of that id, or an open one of that cell: nothing is changed then."""
    done = connection.execute(
        f"INSERT INTO reviews ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
        " ON CONFLICT DO NOTHING",
        _values(review),
    )
    return done.rowcount == 1


def change_review(connection: Connection, review: Review) -> bool:
    """As it is now, if nobody has changed it since it was read; False otherwise."""
    done = connection.execute(
        "UPDATE reviews SET kind = ?, status = ?, matrix_id = ?, scenario_version = ?, scenario_name = ?,"
        " reasons = ?, evidence = ?, verdict = ?, outcome = ?, updated_at = ?, decided_at = ?,"
        " revision = revision + 1 WHERE review_id = ? AND revision = ?",
        (
            review.kind.value,
            review.status.value,
            review.matrix_id,
            review.scenario_version,
            review.scenario_name,
            _text([*review.reasons]),
            _text([*review.evidence]),
            review.verdict.value if review.verdict is not None else None,
            _text(review.outcome) if review.outcome is not None else None,
            review.updated_at,
            review.decided_at,
            review.review_id,
            review.revision,
        ),
    )
    return done.rowcount == 1


def set_outcome(connection: Connection, *, review_id: str, outcome: JsonObject) -> None:
    """What came of a verdict after the item was decided."""
    connection.execute(
        "UPDATE reviews SET outcome = ? WHERE review_id = ? AND status = 'decided'",
        (_text(outcome), review_id),
    )


def review_by_id(connection: Connection, *, org_id: int, review_id: str) -> Review | None:
    row = connection.execute(
        "SELECT * FROM reviews WHERE review_id = ? AND org_id = ?", (review_id, org_id)
    ).fetchone()
    return review_of(row) if row else None


def open_review_of_cell(
    connection: Connection, *, org_id: int, scenario_id: str, variation: str, fingerprint: str
) -> Review | None:
    row = connection.execute(
        "SELECT * FROM reviews WHERE org_id = ? AND scenario_id = ? AND variation = ? AND fingerprint = ?"
        " AND kind = 'shift' AND status <> 'decided'",
        (org_id, scenario_id, variation, fingerprint),
    ).fetchone()
    return review_of(row) if row else None


def decided_reviews_of_cell(
    connection: Connection, *, org_id: int, scenario_id: str, variation: str, fingerprint: str, most: int
) -> list[Review]:
    """Newest first."""
    rows = connection.execute(
        "SELECT * FROM reviews WHERE org_id = ? AND scenario_id = ? AND variation = ? AND fingerprint = ?"
        " AND kind = 'shift' AND status = 'decided' ORDER BY id DESC LIMIT ?",
        (org_id, scenario_id, variation, fingerprint, most),
    )
    return [review_of(row) for row in rows]


def review_of(row: Row) -> Review:
    verdict = row["verdict"]
    outcome = loads_own(row["outcome"]) if row["outcome"] is not None else None
    return Review(
        number=row["id"],
        review_id=row["review_id"],
        org_id=row["org_id"],
        kind=ReviewKind(row["kind"]),
        status=ReviewStatus(row["status"]),
        risk_rank=row["risk_rank"],
        risk_level=row["risk_level"],
        scenario_id=row["scenario_id"],
        scenario_version=row["scenario_version"],
        scenario_name=row["scenario_name"],
        variation=row["variation"],
        fingerprint=row["fingerprint"],
        agent_id=row["agent_id"],
        agent_version=row["agent_version"],
        matrix_id=row["matrix_id"],
        run_id=row["run_id"],
        reviewers_wanted=row["reviewers_wanted"],
        is_blind=bool(row["is_blind"]),
        reasons=tuple(str(reason) for reason in _listed(row["reasons"])),
        evidence=tuple(part for part in _listed(row["evidence"]) if isinstance(part, dict)),
        verdict=Verdict(verdict) if verdict is not None else None,
        outcome=outcome if isinstance(outcome, dict) else None,
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        decided_at=row["decided_at"],
    )


# -- what people said


def put_verdict(connection: Connection, *, org_id: int, given: StoredVerdict) -> None:
    """A person's second verdict on an item replaces the first, which is remembered."""
    connection.execute(
        "INSERT INTO review_verdicts (review_id, reviewer, org_id, verdict, first_verdict, note, labels,"
        " asks, given_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (review_id, reviewer) DO UPDATE"
        " SET verdict = excluded.verdict, note = excluded.note, labels = excluded.labels,"
        " asks = excluded.asks, given_at = excluded.given_at",
        (
            given.review_id,
            given.reviewer,
            org_id,
            given.verdict.value,
            given.first_verdict.value,
            given.note,
            _text([*given.labels]),
            _text(given.asks),
            given.given_at,
        ),
    )


def withdraw_verdicts(connection: Connection, review_id: str) -> None:
    """The item is asked anew; what was said stays in its history."""
    connection.execute("DELETE FROM review_verdicts WHERE review_id = ?", (review_id,))


def verdicts_of(connection: Connection, review_ids: Sequence[str]) -> dict[str, list[StoredVerdict]]:
    """In the order they were given, for a page of items."""
    found: dict[str, list[StoredVerdict]] = {review_id: [] for review_id in review_ids}
    for start in range(0, len(review_ids), SOME):
        some = review_ids[start : start + SOME]
        for row in connection.execute(
            f"SELECT * FROM review_verdicts WHERE review_id IN {in_list(some)} ORDER BY given_at, reviewer",
            [*some],
        ):
            found[row["review_id"]].append(_verdict(row))
    return found


# -- who looks at them


def put_claim(connection: Connection, *, org_id: int, claim: StoredClaim) -> None:
    connection.execute(
        "INSERT INTO review_claims (review_id, reviewer, org_id, claimed_until) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (review_id, reviewer) DO UPDATE SET claimed_until = excluded.claimed_until",
        (claim.review_id, claim.reviewer, org_id, claim.claimed_until),
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
    for start in range(0, len(review_ids), SOME):
        some = review_ids[start : start + SOME]
        found += [
            _claim(row)
            for row in connection.execute(
                f"SELECT * FROM review_claims WHERE review_id IN {in_list(some)} ORDER BY reviewer", [*some]
            )
        ]
    return found


def claims_of_org(connection: Connection, *, org_id: int, reviewer: str | None = None) -> list[StoredClaim]:
    named, values = (" AND reviewer = ?", (org_id, reviewer)) if reviewer is not None else ("", (org_id,))
    rows = connection.execute(f"SELECT * FROM review_claims WHERE org_id = ?{named}", values)
    return [_claim(row) for row in rows]


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
    connection.execute(
        "INSERT INTO review_events (review_id, occurred_at, reviewer, event, detail) VALUES (?, ?, ?, ?, ?)",
        (review_id, now, reviewer, event, _text(detail)),
    )


def events_of(connection: Connection, review_id: str) -> list[JsonObject]:
    rows = connection.execute(
        "SELECT occurred_at, reviewer, event, detail FROM review_events WHERE review_id = ? ORDER BY id",
        (review_id,),
    )
    return [{"at": row[0], "reviewer": row[1], "event": row[2], "detail": loads_own(row[3])} for row in rows]


def _values(review: Review) -> tuple[Any, ...]:
    return (
        review.review_id,
        review.org_id,
        review.kind.value,
        review.status.value,
        review.risk_rank,
        review.risk_level,
        review.scenario_id,
        review.scenario_version,
        review.scenario_name,
        review.variation,
        review.fingerprint,
        review.agent_id,
        review.agent_version,
        review.matrix_id,
        review.run_id,
        review.reviewers_wanted,
        int(review.is_blind),
        _text([*review.reasons]),
        _text([*review.evidence]),
        review.verdict.value if review.verdict is not None else None,
        _text(review.outcome) if review.outcome is not None else None,
        review.revision,
        review.created_at,
        review.updated_at,
        review.decided_at,
    )


def _verdict(row: Row) -> StoredVerdict:
    asks = loads_own(row["asks"])
    return StoredVerdict(
        review_id=row["review_id"],
        reviewer=row["reviewer"],
        verdict=Verdict(row["verdict"]),
        first_verdict=Verdict(row["first_verdict"]),
        note=row["note"],
        labels=tuple(str(label) for label in _listed(row["labels"])),
        asks=asks if isinstance(asks, dict) else {},
        given_at=row["given_at"],
    )


def _claim(row: Row) -> StoredClaim:
    return StoredClaim(
        review_id=row["review_id"], reviewer=row["reviewer"], claimed_until=row["claimed_until"]
    )


def _text(value: object) -> str:
    return dumps(value).decode()


def _listed(text: str) -> list[Json]:
    value = loads_own(text)
    return value if isinstance(value, list) else []
