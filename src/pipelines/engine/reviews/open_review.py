"""A review that a person asks for, of a run or of a cell."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pipelines.core.evals.reviews.review import Flag, ReviewStatus
from pipelines.core.evals.reviews.review_requests import ReviewRequest, ReviewSettings
from pipelines.core.text.json_text import JsonObject
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.flag_reviews import (
    add_opened,
    fingerprint_of,
    flags_in_report,
    store_audit,
    store_flag,
)
from pipelines.engine.reviews.read_reviews import Caller, review_items, review_json
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import eval_outcomes, evals, review_marks, review_queue, reviews
from pipelines.storage.evals.evals import Matrix
from pipelines.storage.evals.reviews import Review
from pipelines.storage.runs import runs
from pipelines.wire.errors import Conflict, NotFound


class OpenedReview(NamedTuple):
    review: JsonObject
    is_new: bool


async def open_review(platform: Platform, caller: Caller, opening: ReviewRequest) -> OpenedReview:
    """The item; one that is open already is answered as it is. Of a decided one: Conflict."""
    if opening.run_id is not None:
        change = partial(_open_run, platform, caller, opening, opening.run_id)
        return await platform.database.write(change)
    matrix = await _matrix_of_cell(platform, caller.org_id, opening)
    flag = await _flag_of_cell(platform, matrix, opening, caller)
    return await platform.database.write(partial(_open_cell, platform, caller, opening, matrix, flag))


async def _matrix_of_cell(platform: Platform, org_id: int, opening: ReviewRequest) -> Matrix:
    scenario_id, variation = opening.scenario_id or "", opening.variation or ""

    def find(connection: Connection) -> Matrix | None:
        matrix_id = opening.matrix_id or review_marks.newest_matrix_of_cell(
            connection, org_id=org_id, scenario_id=scenario_id, variation=variation
        )
        if matrix_id is None:
            return None
        return evals.matrix_by_id(connection, org_id=org_id, matrix_id=matrix_id)

    matrix = await platform.database.read(find)
    if matrix is None:
        of_matrix = f" in {opening.matrix_id[:80]}" if opening.matrix_id is not None else ""
        raise NotFound(f"There is no cell of {scenario_id[:80]} and {variation[:80]}{of_matrix}.")
    return matrix


async def _flag_of_cell(platform: Platform, matrix: Matrix, opening: ReviewRequest, caller: Caller) -> Flag:
    if matrix.report_key is None:
        raise Conflict(f"Matrix {matrix.matrix_id} has no report yet ({matrix.status}); wait for its end.")
    place = (opening.scenario_id or "", opening.variation or "")
    reasons = {place: _reason_by_hand(caller, opening)}
    for flag in await flags_in_report(platform, matrix, matrix.report_key, reasons):
        if (flag.scenario_id, flag.variation) == place:
            return flag
    raise NotFound(f"Matrix {matrix.matrix_id} has no cell of {place[0][:80]} and {place[1][:80]}.")


def _open_cell(
    platform: Platform,
    caller: Caller,
    opening: ReviewRequest,
    matrix: Matrix,
    flag: Flag,
    connection: Connection,
) -> OpenedReview:
    fingerprint = fingerprint_of(connection, matrix.org_id, flag.run_ids)
    settings = _settings(connection, caller, opening)
    review, is_new = store_flag(
        platform, connection, matrix, flag, fingerprint, settings, reviewer=caller.reviewer
    )
    return _opened_review(platform, caller, review, is_new, connection)


def _open_run(
    platform: Platform, caller: Caller, opening: ReviewRequest, run_id: int, connection: Connection
) -> OpenedReview:
    settings = _settings(connection, caller, opening)
    reason = _reason_by_hand(caller, opening)
    review, is_new = item_of_run(platform, connection, caller, run_id, settings=settings, reason=reason)
    return _opened_review(platform, caller, review, is_new, connection)


def item_of_run(
    platform: Platform,
    connection: Connection,
    caller: Caller,
    run_id: int,
    *,
    settings: ReviewSettings,
    reason: str,
) -> tuple[Review, bool]:
    """The item about one ended run, and whether it is new: a run has at most one."""
    outcome = eval_outcomes.outcome_of_run(connection, org_id=caller.org_id, run_id=run_id)
    if outcome is not None:
        return store_audit(platform, connection, outcome, settings, reason, reviewer=caller.reviewer)
    item = review_queue.run_to_review(
        connection,
        org_id=caller.org_id,
        run_id=run_id,
        wanted=settings.reviewers_wanted,
        blind=settings.blind,
        must_wait=False,
    )
    if item is None:
        raise _no_such_run(connection, caller.org_id, run_id)
    item = replace(item, reasons=(reason,))
    return item, add_opened(connection, item, platform.now(), reviewer=caller.reviewer)


def _no_such_run(connection: Connection, org_id: int, run_id: int) -> Exception:
    if runs.run_by_id(connection, org_id=org_id, run_id=run_id) is None:
        return NotFound(f"There is no run {run_id}.")
    return Conflict(f"Run {run_id} has not ended yet.")


def _opened_review(
    platform: Platform, caller: Caller, review: Review, is_new: bool, connection: Connection
) -> OpenedReview:
    stored = reviews.review_by_id(connection, org_id=caller.org_id, review_id=review.review_id)
    assert stored is not None
    if stored.status is ReviewStatus.DECIDED:
        verdict = stored.verdict.value if stored.verdict is not None else ""
        raise Conflict(
            f"{stored.review_id} has been decided ({verdict}); "
            f"POST …/{stored.review_id}/reopen opens it again."
        )
    (item,) = review_items(platform, connection, [stored])
    return OpenedReview(review_json(item, caller), is_new)


def _settings(connection: Connection, caller: Caller, opening: ReviewRequest) -> ReviewSettings:
    settings = review_marks.settings_of_org(connection, caller.org_id)
    if opening.reviewers_wanted is not None:
        settings = replace(settings, reviewers_wanted=opening.reviewers_wanted)
    return replace(settings, blind=opening.blind) if opening.blind is not None else settings


def _reason_by_hand(caller: Caller, opening: ReviewRequest) -> str:
    note = f": {opening.note}" if opening.note else ""
    return f"opened by {caller.reviewer}{note}"
