"""What a decided review does: to its scenario, its cell, its run. All of it in the write that decides it, and
all of it taken back when the review is opened again."""

from pipelines.core.evals.reviews.review import ReviewKind, Verdict
from pipelines.core.text.json_text import JsonObject
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import review_marks
from pipelines.storage.evals.review_marks import Mark, MarkKind, NewMark
from pipelines.storage.evals.reviews import Review, StoredVerdict
from pipelines.storage.runs import runs


def apply_verdict(connection: Connection, review: Review, winner: StoredVerdict, now: str) -> JsonObject:
    """Carry out what was decided; what was done, as the item shows it."""
    match winner.verdict:
        case Verdict.PASS | Verdict.FAIL:
            assert review.run_id is not None
            runs.set_human_verdict(
                connection, org_id=review.org_id, run_id=review.run_id, verdict=winner.verdict.value
            )
            return {"human_verdict": winner.verdict.value, "run_id": review.run_id}
        case Verdict.CONFIRMED_SUSCEPTIBLE:
            return _add_mark(connection, review, winner, MarkKind.REGRESSION, {"tag": "regression"}, now)
        case Verdict.EXPECTED_BEHAVIOR_WRONG | Verdict.MATCHER_WRONG:
            reason: JsonObject = {"reason": winner.verdict.value}
            return _add_mark(connection, review, winner, MarkKind.NEEDS_EDIT, reason, now)
        case Verdict.NEEDS_MORE_RUNS:
            request: JsonObject = {"matrix_id": review.matrix_id, "is_queued": False, **winner.asks}
            return _add_mark(connection, review, winner, MarkKind.MORE_RUNS, request, now)
        case Verdict.ACCEPTABLE_SHIFT:
            for mark in _earlier_accepted(connection, review):
                review_marks.withdraw_mark(connection, mark_id=mark.id, now=now)
            return _add_mark(connection, review, winner, MarkKind.ACCEPTED_SHIFT, winner.asks, now)


def take_back(connection: Connection, review: Review, now: str) -> list[Mark]:
    """Nothing of what the verdict did holds any more. Runs that were queued still run."""
    withdrawn = review_marks.withdraw_marks(connection, review_id=review.review_id, now=now)
    if review.run_id is not None and review.kind is not ReviewKind.SHIFT:
        runs.set_human_verdict(connection, org_id=review.org_id, run_id=review.run_id, verdict=None)
    return withdrawn


def _add_mark(
    connection: Connection, review: Review, winner: StoredVerdict, kind: MarkKind, body: JsonObject, now: str
) -> JsonObject:
    assert review.scenario_id is not None
    assert review.scenario_version is not None
    mark = NewMark(
        org_id=review.org_id,
        kind=kind,
        scenario_id=review.scenario_id,
        scenario_version=review.scenario_version,
        variation=review.variation,
        body=body,
        note=winner.note,
        review_id=review.review_id,
        reviewer=winner.reviewer,
        created_at=now,
    )
    review_marks.add_mark(connection, mark)
    return {
        "mark": kind.value,
        "scenario_id": review.scenario_id,
        "variation": review.variation,
        **body,
    }


def _earlier_accepted(connection: Connection, review: Review) -> list[Mark]:
    """A cell has one accepted shift: the last."""
    assert review.scenario_id is not None
    marks = review_marks.marks_of_scenarios(
        connection,
        org_id=review.org_id,
        scenario_ids=[review.scenario_id],
        kind=MarkKind.ACCEPTED_SHIFT,
    )
    return [mark for mark in marks if mark.variation == review.variation]
