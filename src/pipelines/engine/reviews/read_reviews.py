"""Reading the review queue: lists, one item with all that a person needs to decide, progress, agreement."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pipelines.core.evals.reviews.agreement import agreement
from pipelines.core.evals.reviews.review import Claim, ReviewKind, ReviewStatus, without_machine
from pipelines.core.evals.reviews.review_requests import ReviewSettings, read_review_settings
from pipelines.core.text.json_text import JsonObject
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.review_evidence import evidence_of
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import review_marks, review_queue, reviews
from pipelines.storage.evals.review_queue import RUN_PREFIX, Place, QueueFilter
from pipelines.storage.evals.reviews import Review, StoredVerdict
from pipelines.wire.errors import NotFound

#: Kinds whose verdicts are the same words: agreement is measured within one of these.
COMPARED_KINDS = {
    "shift": (ReviewKind.SHIFT,),
    "audit": (ReviewKind.AUDIT,),
    "task_verdict": (ReviewKind.TASK_VERDICT, ReviewKind.JUDGE_ERROR),
}


class Caller(NamedTuple):
    """Who looks, and whether they want to decide without the machine's verdict."""

    org_id: int
    reviewer: str
    wants_blind: bool = False


class ReviewItem(NamedTuple):
    """An item with what people made of it so far."""

    review: Review
    verdicts: list[StoredVerdict]
    claims: list[Claim]  # those that hold


class ListedPage(NamedTuple):
    items: list[JsonObject]
    last: Place | None


def get_review(connection: Connection, *, org_id: int, review_id: str) -> Review:
    """Its row, or the run that it would be about, which gets one when somebody acts on it."""
    review = reviews.review_by_id(connection, org_id=org_id, review_id=review_id)
    number = review_id.removeprefix(RUN_PREFIX)
    if review is None and number != review_id and number.isascii() and number.isdigit() and len(number) < 19:
        settings = review_marks.settings_of_org(connection, org_id)
        review = review_queue.run_to_review(
            connection,
            org_id=org_id,
            run_id=int(number),
            wanted=settings.reviewers_wanted,
            blind=settings.blind,
            must_wait=True,
        )
        if review is not None and review.review_id != review_id:  # rev_run_007
            review = None
    if review is None:
        raise NotFound(f"There is no review {review_id[:80]}.")
    return review


def review_items(platform: Platform, connection: Connection, found: Sequence[Review]) -> list[ReviewItem]:
    ids = [review.review_id for review in found]
    now = platform.database.time(connection, platform.now())
    claims: dict[str, list[Claim]] = {}
    for review_id, claim in platform.review_leases.live(reviews.claims_of(connection, ids), now):
        claims.setdefault(review_id, []).append(claim)
    verdicts = reviews.verdicts_of(connection, ids)
    return [
        ReviewItem(review, verdicts[review.review_id], claims.get(review.review_id, [])) for review in found
    ]


def review_json(item: ReviewItem, caller: Caller, more: JsonObject | None = None) -> JsonObject:
    """For this person: without the machine's verdict until theirs is in, where that is asked for."""
    review = item.review
    whole: JsonObject = review.as_json() | {
        "claims": [claim.as_json() for claim in item.claims],
        "verdicts": [verdict.as_json() for verdict in item.verdicts],
        "reviewers_missing": max(0, review.reviewers_wanted - len(item.verdicts)),
        "links": _links(review),
        **(more or {}),
    }
    has_spoken = any(verdict.reviewer == caller.reviewer for verdict in item.verdicts)
    is_blind = review.is_blind or caller.wants_blind
    if is_blind and not has_spoken and review.status is not ReviewStatus.DECIDED:
        return without_machine(whole)
    return whole


async def list_reviews(
    platform: Platform,
    caller: Caller,
    asked: QueueFilter,
    *,
    claimed_by: str | None,
    limit: int,
    after: Place | None,
) -> ListedPage:
    """Highest risk first, then oldest; ordinary runs behind them."""

    def read(connection: Connection) -> ListedPage:
        settings = review_marks.settings_of_org(connection, caller.org_id)
        filters = asked
        if claimed_by is not None:
            now = platform.database.time(connection, platform.now())
            held = reviews.claims_of_org(connection, org_id=caller.org_id, reviewer=claimed_by)
            ids = tuple(review_id for review_id, _ in platform.review_leases.live(held, now))
            filters = replace(asked, review_ids=ids)
        page = review_queue.queue_page(
            connection,
            filters,
            limit=limit,
            after=after,
            wanted=settings.reviewers_wanted,
            blind=settings.blind,
        )
        items = review_items(platform, connection, page.items)
        return ListedPage([review_json(item, caller) for item in items], page.last)

    return await platform.database.read(read)


async def read_review(platform: Platform, caller: Caller, review_id: str) -> JsonObject:
    """With its evidence and its history."""

    def read(connection: Connection) -> JsonObject:
        review = get_review(connection, org_id=caller.org_id, review_id=review_id)
        (item,) = review_items(platform, connection, [review])
        marks = review_marks.marks_of_review(connection, review_id)
        more = evidence_of(connection, review)
        more |= {
            "marks": [mark.as_json() for mark in marks],
            "history": [*reviews.events_of(connection, review_id)],
        }
        return review_json(item, caller, more)

    return await platform.database.read(read)


async def read_progress(platform: Platform, org_id: int, *, since: str | None) -> JsonObject:
    """Per person what they decided and hold, and what waits."""

    def read(connection: Connection) -> JsonObject:
        now = platform.database.time(connection, platform.now())
        people: dict[str, JsonObject] = {}
        given: dict[str, dict[str, int]] = {}
        last: dict[str, str] = {}
        for reviewer, verdict, number, when in review_queue.verdict_counts(
            connection, org_id=org_id, since=since
        ):
            given.setdefault(reviewer, {})[verdict] = number
            last[reviewer] = max(last.get(reviewer, ""), when)
        held: dict[str, int] = {}
        claims = reviews.claims_of_org(connection, org_id=org_id)
        for _, claim in platform.review_leases.live(claims, now):
            held[claim.reviewer] = held.get(claim.reviewer, 0) + 1
        for reviewer in sorted(given.keys() | held.keys()):
            counts = given.get(reviewer, {})
            people[reviewer] = {
                "reviewer": reviewer,
                "verdicts": sum(counts.values()),
                "by_verdict": {**counts},
                "claimed": held.get(reviewer, 0),
                "last_verdict_at": last.get(reviewer),
            }
        decided = review_queue.decided_counts(connection, org_id=org_id)
        return {
            "reviewers": [*people.values()],
            "waiting": review_queue.waiting_counts(connection, org_id=org_id),
            "decided": {"total": sum(decided.values()), "by_verdict": {**decided}},
        }

    return await platform.database.read(read)


async def read_agreement(platform: Platform, org_id: int, *, kind: str, since: str | None) -> JsonObject:
    """Over items with several reviewers, by what each said first."""
    found = await platform.database.read(
        lambda connection: review_queue.shared_verdicts(
            connection, org_id=org_id, kinds=COMPARED_KINDS[kind], since=since
        )
    )
    return {"kind": kind} | agreement(found)


async def read_settings(platform: Platform, org_id: int) -> ReviewSettings:
    return await platform.database.read(lambda connection: review_marks.settings_of_org(connection, org_id))


async def change_settings(platform: Platform, org_id: int, body: JsonObject) -> ReviewSettings:
    """For items opened from now on; those that are there keep what they were opened with."""

    def change(connection: Connection) -> ReviewSettings:
        before = review_marks.settings_of_org(connection, org_id)
        settings = read_review_settings(body, before)
        review_marks.put_settings(connection, org_id=org_id, settings=settings)
        return settings

    return await platform.database.write(change)


def _links(review: Review) -> JsonObject:
    base = "/api/v1/eval"
    links: JsonObject = {"self": f"{base}/reviews/{review.review_id}"}
    if review.scenario_id is not None:
        links["scenario"] = f"{base}/scenarios/{review.scenario_id}"
    if review.matrix_id is not None:
        links["matrix"] = f"{base}/matrix/{review.matrix_id}"
    if review.run_id is not None:
        links["run"] = f"/api/runs/{review.run_id}"
        links["trace"] = f"/api/runs/{review.run_id}/trace"
    return links
