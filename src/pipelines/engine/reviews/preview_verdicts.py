"""What each verdict on a review would do, worked out as it would be when given, and nothing is changed."""

from pipelines.core.evals.reviews.review import VERDICTS, ReviewStatus, Verdict
from pipelines.core.evals.reviews.review_requests import VerdictRequest
from pipelines.core.evals.reviews.review_words import Effect, effect_of, vote_effect
from pipelines.core.text.problems import Refused
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.read_reviews import Caller, ReviewItem, get_review, review_items
from pipelines.engine.reviews.verdict_requests import asks_of
from pipelines.storage.database.connection import Connection


async def preview_verdicts(platform: Platform, caller: Caller, review_id: str) -> list[tuple[Effect, str]]:
    """Each with what this person's voice does to the item; none where it is decided."""

    def read(connection: Connection) -> list[tuple[Effect, str]]:
        review = get_review(connection, org_id=caller.org_id, review_id=review_id)
        if review.status is ReviewStatus.DECIDED:
            return []
        (item,) = review_items(platform, connection, [review])
        return [_effect(connection, item, caller, verdict) for verdict in VERDICTS[review.kind]]

    return await platform.database.read(read)


def _effect(connection: Connection, item: ReviewItem, caller: Caller, verdict: Verdict) -> tuple[Effect, str]:
    review = item.review
    given = VerdictRequest(
        verdict=verdict, note="", labels=(), reviewer=None, runs=None, expected_behavior=None
    )
    try:
        effect = effect_of(review.kind, verdict, asks_of(connection, review, given), None)
    except Refused as refused:
        effect = effect_of(review.kind, verdict, {}, "; ".join(each.said() for each in refused.problems))
    spoken = {each.reviewer: each.verdict for each in item.verdicts}
    is_blind = (review.is_blind or caller.wants_blind) and caller.reviewer not in spoken
    others = [verdicts for who, verdicts in spoken.items() if who != caller.reviewer]
    return effect, vote_effect(verdict, others, review.reviewers_wanted, is_blind=is_blind)
