"""Acting on reviews: claim, release, decide, open again, several at once.

Each is one write. An item says by its revision whether somebody else, perhaps on another node, was faster:
then it is read and decided on anew.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from pipelines.core.evals.reviews.review import (
    LEASE_S,
    Claim,
    ReviewKind,
    ReviewStatus,
    blocking_claim,
    review_state,
)
from pipelines.core.evals.reviews.review_requests import BulkRequest, VerdictRequest, read_verdict
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.platform import Platform, later
from pipelines.engine.reviews.apply_verdict import apply_verdict, take_back
from pipelines.engine.reviews.read_reviews import Caller, ReviewItem, get_review, review_items, review_json
from pipelines.engine.reviews.verdict_requests import asks_of
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import reviews
from pipelines.storage.evals.reviews import Review, StoredClaim, StoredVerdict
from pipelines.wire.errors import Conflict, InvalidRequest, OdysseyError, ReviewClaimed, StorageUnavailable

T = TypeVar("T")
MOST_TRIES = 5  # at an item that others keep changing


class _ChangedMeanwhile(Exception):
    """Somebody was faster: read it again."""


async def claim_review(platform: Platform, caller: Caller, review_id: str) -> JsonObject:
    """Take an item for a quarter of an hour, or renew that; ReviewClaimed where others have its places."""
    return await write_with_retry(platform, partial(_claim, platform, caller, review_id))


async def release_review(platform: Platform, caller: Caller, review_id: str) -> JsonObject:
    """Give an item back. One that the person does not hold stays as it is."""
    return await write_with_retry(platform, partial(_release, platform, caller, review_id))


async def give_verdict(platform: Platform, caller: Caller, review_id: str, body: JsonObject) -> JsonObject:
    """What a person says. With the last voice that was missing the item is decided, and its verdict acts."""
    review = await platform.database.read(
        lambda connection: get_review(connection, org_id=caller.org_id, review_id=review_id)
    )
    given = read_verdict(body, review.kind)
    asks = await platform.database.read(lambda connection: asks_of(connection, review, given))
    return await write_with_retry(platform, partial(decide, platform, caller, review_id, given, asks))


async def reopen_review(platform: Platform, caller: Caller, review_id: str, note: str) -> JsonObject:
    """A decided item is asked anew, and what its verdict did is taken back."""
    return await write_with_retry(platform, partial(reopen, platform, caller, review_id, note))


async def act_on_several(platform: Platform, caller: Caller, bulk: BulkRequest) -> list[JsonObject]:
    """One after another, each as if it were asked for alone: what one is refused for leaves the others."""
    results: list[JsonObject] = []
    for review_id in bulk.review_ids:
        try:
            match bulk.action:
                case "claim":
                    item = await claim_review(platform, caller, review_id)
                case "release":
                    item = await release_review(platform, caller, review_id)
                case _:
                    item = await give_verdict(platform, caller, review_id, bulk.verdict)
            results.append({"id": review_id, "ok": True, "review": item})
        except StorageUnavailable:
            raise
        except (OdysseyError, Refused) as error:
            results.append({"id": review_id, "ok": False, "error": _error(error)})
    return results


def _error(error: OdysseyError | Refused) -> JsonObject:
    if isinstance(error, Refused):
        details = [problem.as_json() for problem in error.problems]
        error = InvalidRequest(str(error), details=details)
    return error.as_json()


async def write_with_retry(platform: Platform, change: Callable[[Connection], T]) -> T:
    for _ in range(MOST_TRIES):
        try:
            return await platform.database.write(change)
        except _ChangedMeanwhile:
            continue
    raise StorageUnavailable("Others keep changing this review; try again.")


# -- each within one transaction


def _claim(platform: Platform, caller: Caller, review_id: str, connection: Connection) -> JsonObject:
    item = _undecided(platform, connection, caller, review_id)
    if any(verdict.reviewer == caller.reviewer for verdict in item.verdicts):
        raise Conflict(f"{caller.reviewer} has decided on {review_id} already.")
    _check_claim(item, caller)
    now = platform.now()
    until = later(platform.database.time(connection, now), LEASE_S)
    claim = StoredClaim(review_id=review_id, reviewer=caller.reviewer, claimed_until=until)
    reviews.put_claim(connection, org_id=caller.org_id, claim=claim)
    is_renewed = any(each.reviewer == caller.reviewer for each in item.claims)
    _store(connection, replace(item.review, updated_at=now))
    _add_event(connection, item.review, caller, "renewed" if is_renewed else "claimed", now, {"until": until})
    platform.review_leases.begin(claim)
    return _current_item(platform, connection, caller, review_id)


def _release(platform: Platform, caller: Caller, review_id: str, connection: Connection) -> JsonObject:
    review = get_review(connection, org_id=caller.org_id, review_id=review_id)
    if reviews.remove_claim(connection, review_id=review_id, reviewer=caller.reviewer):
        now = platform.now()
        _store(connection, replace(review, updated_at=now))
        _add_event(connection, review, caller, "released", now, {})
    return _current_item(platform, connection, caller, review_id)


def decide(
    platform: Platform,
    caller: Caller,
    review_id: str,
    given: VerdictRequest,
    asks: JsonObject,
    connection: Connection,
) -> JsonObject:
    item = _undecided(platform, connection, caller, review_id)
    before = {verdict.reviewer: verdict for verdict in item.verdicts}
    if caller.reviewer not in before:
        _check_claim(item, caller)
    now = platform.now()
    first = before[caller.reviewer].first_verdict if caller.reviewer in before else given.verdict
    spoken = StoredVerdict(
        review_id=review_id,
        reviewer=caller.reviewer,
        verdict=given.verdict,
        first_verdict=first,
        note=given.note,
        labels=given.labels,
        asks=asks,
        given_at=now,
    )
    reviews.put_verdict(connection, org_id=caller.org_id, given=spoken)
    reviews.remove_claim(connection, review_id=review_id, reviewer=caller.reviewer)
    decision: JsonObject = {
        "verdict": given.verdict.value,
        "note": given.note,
        "labels": [*given.labels],
        **asks,
    }
    _add_event(connection, item.review, caller, "verdict", now, decision)
    _settle(connection, item.review, [*(before | {caller.reviewer: spoken}).values()], now)
    return _current_item(platform, connection, caller, review_id)


def _settle(connection: Connection, review: Review, spoken: list[StoredVerdict], now: str) -> None:
    status, verdict = review_state([each.verdict for each in spoken], review.reviewers_wanted)
    after = replace(review, status=status, updated_at=now)
    if verdict is not None:
        winner = max(
            (each for each in spoken if each.verdict is verdict),
            key=lambda each: (each.given_at, each.reviewer),
        )
        outcome = apply_verdict(connection, review, winner, now)
        after = replace(after, verdict=verdict, outcome=outcome, decided_at=now)
        reviews.remove_claims(connection, review.review_id)
    _store(connection, after)
    if status is not review.status:
        detail: JsonObject = {"verdict": verdict.value if verdict is not None else None}
        detail |= {"outcome": after.outcome}
        reviews.add_event(
            connection,
            review_id=review.review_id,
            event=status.value,
            reviewer=None,
            now=now,
            detail=detail,
        )


def reopen(
    platform: Platform, caller: Caller, review_id: str, note: str, connection: Connection
) -> JsonObject:
    review = get_review(connection, org_id=caller.org_id, review_id=review_id)
    if review.status is not ReviewStatus.DECIDED:
        raise Conflict(f"Review {review_id} is not decided ({review.status.value}).")
    _check_no_other_is_open(connection, review)
    now = platform.now()
    verdict = review.verdict.value if review.verdict is not None else None
    take_back(connection, review, now)
    reviews.withdraw_verdicts(connection, review_id)
    reopened = replace(
        review, status=ReviewStatus.OPEN, verdict=None, outcome=None, decided_at=None, updated_at=now
    )
    _store(connection, reopened)
    _add_event(connection, review, caller, "reopened", now, {"note": note, "verdict": verdict})
    return _current_item(platform, connection, caller, review_id)


def _check_no_other_is_open(connection: Connection, review: Review) -> None:
    if review.kind is not ReviewKind.SHIFT:
        return
    assert review.scenario_id is not None
    assert review.variation is not None
    other = reviews.open_review_of_cell(
        connection,
        org_id=review.org_id,
        scenario_id=review.scenario_id,
        variation=review.variation,
        fingerprint=review.fingerprint or "",
    )
    if other is not None:
        raise Conflict(f"The same cell is open as {other.review_id}; decide it there.")


def _undecided(platform: Platform, connection: Connection, caller: Caller, review_id: str) -> ReviewItem:
    """The item, with a row of its own if it had none."""
    review = get_review(connection, org_id=caller.org_id, review_id=review_id)
    if review.status is ReviewStatus.DECIDED:
        verdict = review.verdict.value if review.verdict is not None else ""
        raise Conflict(f"Review {review_id} has been decided ({verdict}); POST …/reopen to decide again.")
    if review.number == 0:
        reviews.add_review(connection, review)
        now = platform.now()
        _add_event(connection, review, None, "opened", now, {"reasons": [*review.reasons]})
        review = get_review(connection, org_id=caller.org_id, review_id=review_id)
    (item,) = review_items(platform, connection, [review])
    return item


def _check_claim(item: ReviewItem, caller: Caller) -> None:
    blocking = blocking_claim(
        item.claims,
        reviewer=caller.reviewer,
        spoken=len(item.verdicts),
        wanted=item.review.reviewers_wanted,
    )
    if blocking is not None:
        raise ReviewClaimed(_claimed_message(item.review, blocking), details=blocking.as_json())


def _claimed_message(review: Review, claim: Claim) -> str:
    return f"{claim.reviewer} is looking at {review.review_id} until {claim.until}."


def _store(connection: Connection, review: Review) -> None:
    if not reviews.change_review(connection, review):
        raise _ChangedMeanwhile


def _add_event(
    connection: Connection, review: Review, caller: Caller | None, event: str, now: str, detail: JsonObject
) -> None:
    reviews.add_event(
        connection,
        review_id=review.review_id,
        event=event,
        reviewer=caller.reviewer if caller is not None else None,
        now=now,
        detail=detail,
    )


def _current_item(platform: Platform, connection: Connection, caller: Caller, review_id: str) -> JsonObject:
    review = get_review(connection, org_id=caller.org_id, review_id=review_id)
    (item,) = review_items(platform, connection, [review])
    return review_json(item, caller)
