"""A person's verdict on a run. It is given through the run's item of the review queue, so that there is one
history, one claim and one count of voices, wherever somebody decides."""

from dataclasses import dataclass
from functools import partial

from pipelines.core.evals.reviews.review import ReviewKind, ReviewStatus
from pipelines.core.evals.reviews.review_requests import VerdictRequest, read_verdict
from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.decide_reviews import decide, reopen, write_with_retry
from pipelines.engine.reviews.open_review import item_of_run
from pipelines.engine.reviews.read_reviews import Caller, review_items, review_json
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import review_marks, review_queue
from pipelines.storage.evals.reviews import Review
from pipelines.storage.runs import runs
from pipelines.wire.errors import Conflict


@dataclass(frozen=True, kw_only=True, slots=True)
class _VerdictRequest:
    given: VerdictRequest
    again: bool  # also where it has been decided


async def decide_run(platform: Platform, caller: Caller, run_id: int, body: JsonObject) -> JsonObject:
    """The machine's verdict, the people's, and the item. Conflict where it was decided and `again` is not
    said: nobody overrules another by accident."""
    request = _read_request(body)
    return await write_with_retry(platform, partial(_decide, platform, caller, run_id, request))


def review_of_run(
    platform: Platform, connection: Connection, caller: Caller, run_id: int
) -> JsonObject | None:
    """What people made of a run so far; None where nobody was asked or has acted."""
    review = review_queue.item_about_run(connection, org_id=caller.org_id, run_id=run_id)
    if review is None:
        return None
    (item,) = review_items(platform, connection, [review])
    return review_json(item, caller)


def _read_request(body: JsonObject) -> _VerdictRequest:
    again = body.get("again")
    rest = {key: value for key, value in body.items() if key != "again"}
    problems: list[Problem] = []
    if again is not None and not isinstance(again, bool):
        problems.append(Problem(path="/again", message=f"`again` must be true or false, not {kind(again)}"))
    try:
        # PASS or FAIL of whatever run: what else an audited one takes is about its scenario.
        given = read_verdict(rest, ReviewKind.TASK_VERDICT)
    except Refused as refused:
        raise Refused([*problems, *refused.problems], "the verdict") from None
    if problems:
        raise Refused(problems, "the verdict")
    return _VerdictRequest(given=given, again=again is True)


def _decide(
    platform: Platform, caller: Caller, run_id: int, asked: _VerdictRequest, connection: Connection
) -> JsonObject:
    review = _find_item(platform, connection, caller, run_id)
    if review.status is ReviewStatus.DECIDED:
        if not asked.again:
            decided = review.verdict.value if review.verdict is not None else ""
            says = f'Run {run_id} has been decided ({decided}); send "again": true (--again) to decide again.'
            raise Conflict(says)
        reopen(platform, caller, review.review_id, asked.given.note, connection)
    item = decide(platform, caller, review.review_id, asked.given, {}, connection)
    run = runs.run_by_id(connection, org_id=caller.org_id, run_id=run_id)
    assert run is not None, "its item was found"
    return {
        "run_id": run_id,
        "verdict": run.verdict,
        "failure_mode": run.failure_mode,
        "pending_reason": run.pending_reason,
        "human_verdict": run.human_verdict,
        "review": item,
    }


def _find_item(platform: Platform, connection: Connection, caller: Caller, run_id: int) -> Review:
    """As it is; one that waits in the queue without a row gets it when it is decided."""
    found = review_queue.item_about_run(connection, org_id=caller.org_id, run_id=run_id)
    if found is not None:
        return found
    settings = review_marks.settings_of_org(connection, caller.org_id)
    waiting = review_queue.run_to_review(
        connection,
        org_id=caller.org_id,
        run_id=run_id,
        wanted=settings.reviewers_wanted,
        blind=settings.blind,
        must_wait=True,
    )
    if waiting is not None:
        return waiting
    reason = f"{caller.reviewer} gave a verdict without being asked"
    review, _ = item_of_run(platform, connection, caller, run_id, settings=settings, reason=reason)
    return review
