"""Opening reviews: of flagged cells and an audit sample when a matrix has its report, and by hand.

A matrix is done with once its row names the report that was looked through. Until then everything here may be
done again: an open item of the same cell takes the evidence of a matrix once, an audited run has one item.
"""

import asyncio
import logging
import secrets
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import IO

from pipelines.core.evals.reviews.review import (
    Flag,
    ReviewKind,
    ReviewStatus,
    is_audited,
    merge_evidence,
    rank_of,
)
from pipelines.core.evals.reviews.review_requests import ReviewSettings
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Job
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import eval_outcomes, eval_scenarios, evals, review_marks, review_queue, reviews
from pipelines.storage.evals.eval_outcomes import EvalOutcome
from pipelines.storage.evals.evals import Matrix
from pipelines.storage.evals.review_marks import Mark
from pipelines.storage.evals.review_queue import AUDIT_PREFIX
from pipelines.storage.evals.reviews import Review
from pipelines.wire.errors import StorageUnavailable

log = logging.getLogger(__name__)
READING_S = 120.0  # of processor time: the report of 100,000 cells takes some 5 s
MOST_FLAGS_BYTES = 1024 * 1024 * 1024
FLAGS_A_WRITE = 20
AUDITS_A_WRITE = 100
RUNS_A_PAGE = 5_000
MATRICES_A_ROUND = 20
DECIDED_LOOKED_AT = 20  # newest decided reviews of a cell that may already have judged the same runs


def new_review_id() -> str:
    return f"rev_{secrets.token_hex(12)}"


async def flag_ended_matrices(platform: Platform) -> None:
    """Some whose report nobody has looked through yet."""
    waiting = await platform.database.read(partial(review_marks.unflagged_matrices, most=MATRICES_A_ROUND))
    for org_id, matrix_id, report_key in waiting:
        try:
            await flag_matrix(platform, org_id, matrix_id, report_key)
        except StorageUnavailable:
            raise
        except Exception:  # one that cannot be read must not keep the others from people
            log.exception("matrix %s could not be looked through for what people have to see", matrix_id)


async def flag_matrix(platform: Platform, org_id: int, matrix_id: str, report_key: str) -> None:
    """Items for what people have to see of a matrix, then the word that it was done."""
    database = platform.database
    matrix = await database.read(partial(evals.matrix_by_id, org_id=org_id, matrix_id=matrix_id))
    if matrix is None:
        return
    settings, marks = await database.read(
        lambda connection: (
            review_marks.settings_of_org(connection, org_id),
            review_marks.runs_asked_of_matrix(connection, matrix_id),
        )
    )
    reasons = {_cell_of(mark): _request_reason(mark) for mark in marks}
    flags = await flags_in_report(platform, matrix, report_key, reasons)
    for start in range(0, len(flags), FLAGS_A_WRITE):
        some = flags[start : start + FLAGS_A_WRITE]
        await database.write_part(partial(_store_flags, platform, matrix, some, settings))
    await _audit(platform, matrix, flags, settings)
    await database.write(partial(_mark_flagged, matrix_id=matrix_id, report_key=report_key, answered=marks))


async def flags_in_report(
    platform: Platform, matrix: Matrix, report_key: str, wanted: Mapping[tuple[str, str], str]
) -> list[Flag]:
    """A report may be of 100,000 cells: it goes to a helper process part by part, and flags come back."""
    requests: list[Json] = [[*place, why] for place, why in wanted.items()]
    job = Job(
        "report_flags", {"matrix_id": matrix.matrix_id, "wanted": requests}, READING_S, MOST_FLAGS_BYTES
    )
    file: IO[bytes] = await asyncio.to_thread(tempfile.TemporaryFile)
    try:
        number = 0
        while part := await platform.database.read(
            partial(evals.report_part, matrix_id=matrix.matrix_id, report_key=report_key, number=number)
        ):
            await asyncio.to_thread(file.write, part.encode())
            number += 1
        flags = await platform.upload_helpers.run(job, file, owner=matrix.org_id) if number else []
    finally:
        file.close()
    return await asyncio.to_thread(lambda: [Flag.from_stored(loads_own(flag)) for flag in flags])


def _cell_of(mark: Mark) -> tuple[str, str]:
    return mark.scenario_id, mark.variation or ""


def _request_reason(mark: Mark) -> str:
    return f"{mark.body.get('runs')} more runs were asked for in {mark.review_id}"


def _mark_flagged(
    connection: Connection, *, matrix_id: str, report_key: str, answered: Sequence[Mark]
) -> None:
    review_marks.mark_flagged(connection, matrix_id=matrix_id, report_key=report_key)
    for mark in answered:
        review_marks.change_mark(connection, mark_id=mark.id, body=mark.body | {"is_answered": True})


# -- flagged cells


def _store_flags(
    platform: Platform,
    matrix: Matrix,
    flags: Sequence[Flag],
    settings: ReviewSettings,
    connection: Connection,
) -> None:
    for flag in flags:
        fingerprint = fingerprint_of(connection, matrix.org_id, flag.run_ids)
        if not was_decided(connection, matrix.org_id, flag, fingerprint):
            store_flag(platform, connection, matrix, flag, fingerprint, settings)


def fingerprint_of(connection: Connection, org_id: int, run_ids: Sequence[int]) -> str:
    """What most runs of a cell were run on; an agent may tell another model with each answer."""
    outputs = eval_outcomes.outputs_of_runs(connection, org_id=org_id, run_ids=run_ids)
    counted = Counter(output.fingerprint for output in outputs)
    return max(sorted(counted), key=lambda name: counted[name]) if counted else ""


def was_decided(connection: Connection, org_id: int, flag: Flag, fingerprint: str) -> bool:
    """Whether people have judged these very runs: their report was only made again."""
    cell = flag.evidence.get("cell")
    expectation = cell.get("expectation") if isinstance(cell, dict) else None
    decided = reviews.decided_reviews_of_cell(
        connection,
        org_id=org_id,
        scenario_id=flag.scenario_id,
        variation=flag.variation,
        fingerprint=fingerprint,
        most=DECIDED_LOOKED_AT,
    )
    for review in decided:
        for part in review.evidence:
            before = part.get("cell")
            if part.get("matrix_id") == flag.evidence.get("matrix_id") and isinstance(before, dict):
                is_same = before.get("run_ids") == [*flag.run_ids]
                if is_same and before.get("expectation") == expectation:
                    return True
    return False


def store_flag(
    platform: Platform,
    connection: Connection,
    matrix: Matrix,
    flag: Flag,
    fingerprint: str,
    settings: ReviewSettings,
    *,
    reviewer: str | None = None,
) -> tuple[Review, bool]:
    """The open item of the cell with this evidence, and whether it is new."""
    now = platform.now()
    known = reviews.open_review_of_cell(
        connection,
        org_id=matrix.org_id,
        scenario_id=flag.scenario_id,
        variation=flag.variation,
        fingerprint=fingerprint,
    )
    event, after = "opened", known
    if known is None:
        after = _new_item(
            matrix,
            flag,
            settings,
            now,
            review_id=new_review_id(),
            kind=ReviewKind.SHIFT,
            scenario_name=flag.scenario_name,
            fingerprint=fingerprint,
            run_id=None,
            reasons=flag.reasons,
            evidence=(flag.evidence,),
        )
        if not reviews.add_review(connection, after):  # another node has just opened it
            return store_flag(platform, connection, matrix, flag, fingerprint, settings, reviewer=reviewer)
    else:
        event = "evidence_added"
        evidence = merge_evidence(known.evidence, flag.evidence)
        reasons = tuple(dict.fromkeys([*known.reasons, *flag.reasons]))
        if [*known.evidence] == evidence and reasons == known.reasons:
            return known, False
        after = replace(
            known,
            evidence=tuple(evidence),
            reasons=reasons,
            matrix_id=matrix.matrix_id,
            scenario_version=flag.scenario_version,
            updated_at=now,
        )
        if not reviews.change_review(connection, after):  # somebody has just acted on it
            return store_flag(platform, connection, matrix, flag, fingerprint, settings, reviewer=reviewer)
    assert after is not None
    detail: JsonObject = {"matrix_id": matrix.matrix_id, "reasons": [*flag.reasons]}
    reviews.add_event(
        connection, review_id=after.review_id, event=event, reviewer=reviewer, now=now, detail=detail
    )
    return after, known is None


def _new_item(
    source: Matrix | EvalOutcome,
    cell: Flag | EvalOutcome,
    settings: ReviewSettings,
    now: str,
    *,
    review_id: str,
    kind: ReviewKind,
    scenario_name: str | None,
    fingerprint: str,
    run_id: int | None,
    reasons: tuple[str, ...],
    evidence: tuple[JsonObject, ...],
) -> Review:
    return Review(
        number=0,
        review_id=review_id,
        org_id=source.org_id,
        kind=kind,
        status=ReviewStatus.OPEN,
        risk_rank=rank_of(cell.risk_level),
        risk_level=cell.risk_level,
        scenario_id=cell.scenario_id,
        scenario_version=cell.scenario_version,
        scenario_name=scenario_name,
        variation=cell.variation,
        fingerprint=fingerprint,
        agent_id=source.agent_id,
        agent_version=source.agent_version,
        matrix_id=source.matrix_id,
        run_id=run_id,
        reviewers_wanted=settings.reviewers_wanted,
        is_blind=settings.blind,
        reasons=reasons,
        evidence=evidence,
        verdict=None,
        outcome=None,
        revision=0,
        created_at=now,
        updated_at=now,
        decided_at=None,
    )


def add_opened(connection: Connection, item: Review, now: str, *, reviewer: str | None = None) -> bool:
    """Stores a new item with its first event; False where it is stored already."""
    is_new = reviews.add_review(connection, item)
    if is_new:
        reviews.add_event(
            connection,
            review_id=item.review_id,
            event="opened",
            reviewer=reviewer,
            now=now,
            detail={"reasons": [*item.reasons]},
        )
    return is_new


# -- runs whose agent may have deceived its graders


async def flag_tampering(platform: Platform, org_id: int, run_id: int, signs: Sequence[str]) -> None:
    """An ended run goes to people with what was seen; one that has an item already keeps it."""
    now = platform.now()

    def store(connection: Connection) -> None:
        settings = review_marks.settings_of_org(connection, org_id)
        item = review_queue.run_to_review(
            connection,
            org_id=org_id,
            run_id=run_id,
            wanted=settings.reviewers_wanted,
            blind=settings.blind,
            must_wait=False,
        )
        if item is not None:
            add_opened(connection, replace(item, reasons=tuple(dict.fromkeys(signs))), now)

    await platform.database.write(store)


# -- the audit sample


async def _audit(platform: Platform, matrix: Matrix, flags: Sequence[Flag], settings: ReviewSettings) -> None:
    """Of the runs that nothing pointed out, baselines among them."""
    flagged = {run_id for flag in flags for run_id in flag.run_ids}
    after_id = 0
    while page := await platform.database.read(
        partial(review_marks.outcome_runs, matrix_id=matrix.matrix_id, after_id=after_id, limit=RUNS_A_PAGE)
    ):
        after_id = page[-1]
        drawn = [
            run_id for run_id in page if run_id not in flagged and is_audited(run_id, settings.audit_share)
        ]
        for start in range(0, len(drawn), AUDITS_A_WRITE):
            some = drawn[start : start + AUDITS_A_WRITE]
            await platform.database.write_part(partial(_store_audits, platform, matrix, some, settings))


def _store_audits(
    platform: Platform,
    matrix: Matrix,
    run_ids: Sequence[int],
    settings: ReviewSettings,
    connection: Connection,
) -> None:
    reason = f"drawn for the audit sample of {settings.audit_share:.3g}"
    for run_id in run_ids:
        outcome = eval_outcomes.outcome_of_run(connection, org_id=matrix.org_id, run_id=run_id)
        if outcome is not None:
            store_audit(platform, connection, outcome, settings, reason)


def store_audit(
    platform: Platform,
    connection: Connection,
    outcome: EvalOutcome,
    settings: ReviewSettings,
    reason: str,
    *,
    reviewer: str | None = None,
) -> tuple[Review, bool]:
    """The item about one eval run, and whether it is new: a run has at most one."""
    review_id = f"{AUDIT_PREFIX}{outcome.run_id}"
    known = reviews.review_by_id(connection, org_id=outcome.org_id, review_id=review_id)
    if known is not None:
        return known, False
    now = platform.now()
    scenario = eval_scenarios.scenario_by_id(
        connection,
        org_id=outcome.org_id,
        scenario_id=outcome.scenario_id,
        version=outcome.scenario_version,
    )
    name = scenario.body().get("name") if scenario is not None else None
    item = _new_item(
        outcome,
        outcome,
        settings,
        now,
        review_id=review_id,
        kind=ReviewKind.AUDIT,
        scenario_name=str(name) if name is not None else None,
        fingerprint=outcome.fingerprint,
        run_id=outcome.run_id,
        reasons=(reason,),
        evidence=(),
    )
    return item, add_opened(connection, item, now, reviewer=reviewer)
