"""The review queue in storage, on SQLite and on Postgres alike."""

from dataclasses import replace
from typing import Any

import pytest

from pipelines.core.evals.reviews.review import ReviewKind, ReviewStatus, Verdict, rank_of
from pipelines.core.evals.reviews.review_requests import ReviewSettings
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals import review_marks, review_queue, reviews
from pipelines.storage.evals.review_marks import MarkKind, NewMark
from pipelines.storage.evals.review_queue import QueueFilter
from pipelines.storage.evals.reviews import Review, StoredClaim, StoredVerdict

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
LATER = "2026-05-01T12:01:00.000000Z"
WAITING = (ReviewStatus.OPEN, ReviewStatus.DISPUTED)


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(lambda connection: add_org(connection, "org", NOW))
    return database


def review(review_id: str, **changes: Any) -> Review:
    risk_level = changes.pop("risk_level", "critical")
    blank = Review(
        number=0,
        review_id=review_id,
        org_id=1,
        kind=ReviewKind.SHIFT,
        status=ReviewStatus.OPEN,
        risk_rank=rank_of(risk_level),
        risk_level=risk_level,
        scenario_id="scn_1",
        scenario_version=1,
        scenario_name="S",
        variation="time_pressure",
        fingerprint="f1",
        agent_id=1,
        agent_version=1,
        matrix_id="mtx_1",
        run_id=None,
        reviewers_wanted=1,
        is_blind=False,
        reasons=("far off",),
        evidence=({"matrix_id": "mtx_1"},),
        verdict=None,
        outcome=None,
        revision=0,
        created_at=NOW,
        updated_at=NOW,
        decided_at=None,
    )
    return replace(blank, **changes)


async def test_a_cell_has_one_open_item_and_any_number_of_decided_ones(database: Database) -> None:
    def story(connection: Connection) -> None:
        assert reviews.add_review(connection, review("rev_1"))
        assert not reviews.add_review(connection, review("rev_1", variation="sycophancy"))
        assert not reviews.add_review(connection, review("rev_2"))
        assert reviews.add_review(connection, review("rev_3", fingerprint="f2"))
        first = reviews.review_by_id(connection, org_id=1, review_id="rev_1")
        assert first is not None
        assert replace(first, number=0) == review("rev_1")
        decided = replace(
            first, status=ReviewStatus.DECIDED, verdict=Verdict.ACCEPTABLE_SHIFT, outcome={"mark": "x"}
        )
        assert reviews.change_review(connection, decided)
        assert not reviews.change_review(connection, decided), "its revision is not the one that was read"
        assert reviews.add_review(connection, review("rev_2"))
        cell = {"org_id": 1, "scenario_id": "scn_1", "variation": "time_pressure", "fingerprint": "f1"}
        there = reviews.open_review_of_cell(connection, **cell)  # type: ignore[arg-type]
        assert there is not None
        assert there.review_id == "rev_2"
        before = reviews.decided_reviews_of_cell(connection, **cell, most=5)  # type: ignore[arg-type]
        assert [(each.review_id, each.verdict, each.outcome) for each in before] == [
            ("rev_1", Verdict.ACCEPTABLE_SHIFT, {"mark": "x"})
        ]
        assert reviews.review_by_id(connection, org_id=2, review_id="rev_1") is None

    await database.write(story)


async def test_pages_go_by_risk_then_age_and_end_with_runs(database: Database) -> None:
    def story(connection: Connection) -> None:
        for number, risk in enumerate(("low", "critical", "high", "critical")):
            reviews.add_review(connection, review(f"rev_{number}", risk_level=risk, fingerprint=str(number)))
        for run_id in (9, 7):
            item = review(f"rev_run_{run_id}", risk_level=None, kind=ReviewKind.TASK_VERDICT, run_id=run_id)
            reviews.add_review(connection, item)
        asked = QueueFilter(org_id=1, statuses=WAITING)
        seen: list[str] = []
        place = None
        while True:
            page = review_queue.queue_page(connection, asked, limit=2, after=place, wanted=1, blind=False)
            seen += [item.review_id for item in page.items]
            place = page.last
            if place is None:
                break
        assert seen == ["rev_1", "rev_3", "rev_2", "rev_0", "rev_run_7", "rev_run_9"]
        counts = review_queue.waiting_counts(connection, org_id=1)
        assert (counts["total"], counts["disputed"]) == (6, 0)

    await database.write(story)


async def test_verdicts_claims_and_events_are_kept(database: Database) -> None:
    def story(connection: Connection) -> None:
        reviews.add_review(connection, review("rev_1"))
        for verdict in (Verdict.ACCEPTABLE_SHIFT, Verdict.MATCHER_WRONG):
            given = StoredVerdict(
                review_id="rev_1",
                reviewer="ann",
                verdict=verdict,
                first_verdict=verdict,
                note="n",
                labels=("a", "b"),
                asks={"runs": 3},
                given_at=NOW,
            )
            reviews.put_verdict(connection, org_id=1, given=given)
        reviews.put_verdict(connection, org_id=1, given=replace(given, reviewer="bob"))
        ann, bob = reviews.verdicts_of(connection, ["rev_1", "rev_9"])["rev_1"]
        assert (ann.verdict, ann.first_verdict) == (Verdict.MATCHER_WRONG, Verdict.ACCEPTABLE_SHIFT)
        assert (bob.labels, bob.asks) == (("a", "b"), {"runs": 3})
        shared = review_queue.shared_verdicts(connection, org_id=1, kinds=[ReviewKind.SHIFT], since=None)
        assert shared == [{"ann": "acceptable_shift", "bob": "matcher_wrong"}]
        counted = review_queue.verdict_counts(connection, org_id=1, since=NOW)
        assert counted == [("ann", "matcher_wrong", 1, NOW), ("bob", "matcher_wrong", 1, NOW)]
        assert review_queue.verdict_counts(connection, org_id=1, since=LATER) == []
        for until in (NOW, LATER):
            claim = StoredClaim(review_id="rev_1", reviewer="cem", claimed_until=until)
            reviews.put_claim(connection, org_id=1, claim=claim)
        assert reviews.claims_of(connection, ["rev_1"]) == [claim]
        assert reviews.claims_of_org(connection, org_id=1, reviewer="ann") == []
        assert reviews.remove_claim(connection, review_id="rev_1", reviewer="cem")
        assert not reviews.remove_claim(connection, review_id="rev_1", reviewer="cem")
        for event in ("opened", "claimed"):
            reviews.add_event(
                connection, review_id="rev_1", event=event, reviewer=None, now=NOW, detail={"n": 1}
            )
        assert [each["event"] for each in reviews.events_of(connection, "rev_1")] == ["opened", "claimed"]

    await database.write(story)


async def test_marks_hold_until_they_are_taken_back(database: Database) -> None:
    def mark(kind: MarkKind, **body: Any) -> NewMark:
        return NewMark(
            org_id=1,
            kind=kind,
            scenario_id="scn_1",
            scenario_version=1,
            variation="time_pressure",
            body=body,
            note="",
            review_id="rev_1",
            reviewer="ann",
            created_at=NOW,
        )

    def story(connection: Connection) -> None:
        review_marks.add_mark(connection, mark(MarkKind.REGRESSION))
        more = review_marks.add_mark(connection, mark(MarkKind.MORE_RUNS, matrix_id="mtx_1", runs=3))
        of_org = review_marks.marks_of_org(connection, filters=[Filter("org_id", 1)], limit=5, before_id=None)
        assert [each.kind for each in of_org.items] == [MarkKind.MORE_RUNS, MarkKind.REGRESSION]
        assert review_marks.unqueued_runs(connection, before=NOW) == []
        assert len(review_marks.unqueued_runs(connection, before=LATER)) == 1
        queued = {"matrix_id": "mtx_1", "runs": 3, "is_queued": True}
        review_marks.change_mark(connection, mark_id=more, body=queued)
        assert review_marks.unqueued_runs(connection, before=LATER) == []
        assert len(review_marks.runs_asked_of_matrix(connection, "mtx_1")) == 1
        kept = review_marks.marks_of_scenarios(
            connection, org_id=1, scenario_ids=["scn_1"], kind=MarkKind.REGRESSION
        )
        assert [each.review_id for each in kept] == ["rev_1"]
        assert len(review_marks.withdraw_marks(connection, review_id="rev_1", now=LATER)) == 2
        assert review_marks.marks_of_scenarios(connection, org_id=1, scenario_ids=["scn_1"]) == []
        assert review_marks.settings_of_org(connection, 1) == ReviewSettings()
        changed = ReviewSettings(reviewers_wanted=3, blind=True, audit_share=0.5)
        review_marks.put_settings(connection, org_id=1, settings=changed)
        assert review_marks.settings_of_org(connection, 1) == changed
        assert review_marks.unflagged_matrices(connection, most=5) == []
        assert review_marks.accepted_mark(connection, matrix_id="mtx_1") == "0/0"

    await database.write(story)
