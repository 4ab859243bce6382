"""The review queue: what people have to look at, taking it, deciding, and what came of that."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.params import Path as PathParam

from pipelines.core.access.identity import Identity, TokenBearer
from pipelines.core.evals.reviews.review import ReviewKind, ReviewStatus, Verdict
from pipelines.core.evals.reviews.review_requests import (
    read_bulk,
    read_opening,
    read_reopening,
    read_reviewer,
)
from pipelines.core.text.json_text import JsonObject
from pipelines.engine.evals.queue_requested_runs import queue_requested_runs
from pipelines.engine.reviews import decide_reviews, read_reviews
from pipelines.engine.reviews.open_review import open_review
from pipelines.engine.reviews.read_reviews import Caller
from pipelines.server.api.common import (
    Admin,
    Contributor,
    Cursor,
    Limit,
    OptionalId,
    Ours,
    Runner,
    Viewer,
    answer,
    answer_page,
    at_once,
    cursor_number,
    decode_cursor,
    encode_cursor,
    id_cursor,
    json_body,
    read_json_object,
    read_moment,
)
from pipelines.server.api.schemas import review_bodies as schemas
from pipelines.server.service.review_watch import ReviewWatch
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals.review_marks import MarkKind, marks_of_org
from pipelines.storage.evals.review_queue import Place, QueueFilter
from pipelines.wire.errors import Forbidden, InvalidCursor

router = APIRouter(prefix="/api/v1/eval/reviews", tags=["reviews"])
ReviewId = Annotated[str, PathParam(max_length=64, pattern="^rev_[a-z0-9_]+$")]
Text = Annotated[str | None, Query(max_length=255)]
Who = Annotated[str | None, Query(max_length=255, description="who looks; without it, the key's name")]
Since = Annotated[str | None, Query(max_length=40, description="ISO-8601; without a zone, UTC")]
Blind = Annotated[bool, Query(description="without the machine's verdict, until yours is in")]
WAITING = (ReviewStatus.OPEN, ReviewStatus.DISPUTED)


def _watch_of(request: Request) -> ReviewWatch:
    watch: ReviewWatch = request.app.state.review_watch
    return watch


Watch = Annotated[ReviewWatch, at_once(_watch_of)]


def reviewer_of(key: Identity, named: str | None) -> str:
    """The reviewer: the holder of a token; for a key, the name in the request, else the name of the key."""
    name = (named or "").strip()
    if isinstance(key, TokenBearer) and name not in ("", key.name):
        raise Forbidden(f"This token belongs to {key.name}. It cannot act for {name[:80]}.")
    return name or key.name


@router.get("")
async def list_reviews(
    platform: Ours,
    watch: Watch,
    key: Viewer,
    status: Annotated[
        Literal["waiting", "open", "disputed", "decided", "any"],
        Query(description="waiting: open and disputed"),
    ] = "waiting",
    kind: ReviewKind | None = None,
    risk_level: Literal["low", "medium", "high", "critical"] | None = None,
    scenario_id: Text = None,
    variation: Text = None,
    agent_id: OptionalId = None,
    fingerprint: Text = None,
    matrix_id: Text = None,
    run_id: OptionalId = None,
    claimed_by: Annotated[str | None, Query(max_length=255, description="whose claim holds")] = None,
    since: Since = None,
    reviewer: Who = None,
    blind: Blind = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """What waits for people: the highest risk first, then the oldest.

    Behind it, ordinary runs whose verdict is open or whose judge broke, oldest first.
    """
    filters = QueueFilter(
        org_id=key.org_id,
        statuses=_statuses(status),
        kind=kind,
        risk_level=risk_level,
        scenario_id=scenario_id,
        variation=variation,
        agent_id=agent_id,
        fingerprint=fingerprint,
        run_id=run_id,
        matrix_id=matrix_id,
        since=read_moment("since", since),
    )
    after = _place(cursor)
    await watch.look()
    caller = Caller(key.org_id, reviewer_of(key, reviewer), blind)
    page = await read_reviews.list_reviews(
        platform, caller, filters, claimed_by=claimed_by, limit=limit, after=after
    )
    next_cursor = encode_cursor(f"{page.last.risk_rank}|{page.last.number}") if page.last else None
    return answer({"items": page.items, "next_cursor": next_cursor})


@router.post("", status_code=201, openapi_extra=json_body(schemas.OPENING), responses={200: {}})
async def post_review(request: Request, platform: Ours, key: Contributor) -> Response:
    """Open a review by hand, of a run or of a cell. 200 where it is open already."""
    opening = read_opening(await read_json_object(request))
    caller = Caller(key.org_id, reviewer_of(key, opening.reviewer))
    opened = await open_review(platform, caller, opening)
    return answer(opened.review, 201 if opened.is_new else 200)


@router.post("/bulk", openapi_extra=json_body(schemas.BULK))
async def post_bulk(request: Request, platform: Ours, runner: Runner, key: Contributor) -> Response:
    """Claim, release or decide several. Each succeeds or fails alone, and `results` say which."""
    bulk = read_bulk(await read_json_object(request))
    caller = Caller(key.org_id, reviewer_of(key, bulk.reviewer))
    results = await decide_reviews.act_on_several(platform, caller, bulk)
    for result in results:
        if result["ok"] and bulk.verdict.get("verdict") == Verdict.NEEDS_MORE_RUNS:
            await queue_requested_runs(platform, runner, str(result["id"]))
    done = sum(1 for result in results if result["ok"])
    return answer({"results": results, "done": done, "failed": len(results) - done})


@router.get("/progress")
async def get_progress(platform: Ours, key: Viewer, since: Since = None) -> Response:
    """What each person decided and holds, what waits, and what was decided."""
    return answer(await read_reviews.read_progress(platform, key.org_id, since=read_moment("since", since)))


@router.get("/agreement")
async def get_agreement(
    platform: Ours,
    key: Viewer,
    kind: Literal["shift", "audit", "task_verdict"] = "shift",
    since: Since = None,
) -> Response:
    """How far people agree on items that several decided on: kappa with its interval."""
    return answer(
        await read_reviews.read_agreement(platform, key.org_id, kind=kind, since=read_moment("since", since))
    )


@router.get("/settings")
async def get_settings(platform: Ours, key: Viewer) -> Response:
    """What the org's reviews are opened with."""
    return answer((await read_reviews.read_settings(platform, key.org_id)).as_json())


@router.put("/settings", openapi_extra=json_body(schemas.SETTINGS))
async def put_settings(request: Request, platform: Ours, key: Admin) -> Response:
    """Change what reviews are opened with from now on: fields that are not given stay."""
    body = await read_json_object(request)
    return answer((await read_reviews.change_settings(platform, key.org_id, body)).as_json())


@router.get("/marks")
async def list_marks(
    platform: Ours,
    key: Viewer,
    kind: MarkKind | None = None,
    scenario_id: Text = None,
    variation: Text = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """What verdicts did: shifts that were accepted, scenarios to edit, regressions pinned, runs asked for."""
    before_id = id_cursor(cursor)
    filters = [
        Filter("org_id", key.org_id),
        Filter("kind", kind.value if kind is not None else None),
        Filter("scenario_id", scenario_id),
        Filter("variation", variation),
    ]
    page = await platform.database.read(
        lambda connection: marks_of_org(connection, filters=filters, limit=limit, before_id=before_id)
    )
    return answer_page(page)


@router.get("/{review_id}")
async def get_review(
    review_id: ReviewId, platform: Ours, key: Viewer, reviewer: Who = None, blind: Blind = False
) -> Response:
    """One item with its evidence: scenario, injected words, before and after field by field, and history."""
    caller = Caller(key.org_id, reviewer_of(key, reviewer), blind)
    return answer(await read_reviews.read_review(platform, caller, review_id))


@router.post("/{review_id}/claim", openapi_extra=json_body(schemas.WHO, required=False))
async def claim_review(review_id: ReviewId, request: Request, platform: Ours, key: Contributor) -> Response:
    """Take it for 15 minutes, or renew that. 409 `review_claimed` while others have it, with until when."""
    reviewer = read_reviewer(await _optional_object(request))
    caller = Caller(key.org_id, reviewer_of(key, reviewer.name))
    return answer(await decide_reviews.claim_review(platform, caller, review_id))


@router.post("/{review_id}/release", openapi_extra=json_body(schemas.WHO, required=False))
async def release_review(review_id: ReviewId, request: Request, platform: Ours, key: Contributor) -> Response:
    """Give it back."""
    reviewer = read_reviewer(await _optional_object(request))
    caller = Caller(key.org_id, reviewer_of(key, reviewer.name))
    return answer(await decide_reviews.release_review(platform, caller, review_id))


@router.post("/{review_id}/verdict", openapi_extra=json_body(schemas.VERDICT))
async def post_verdict(
    review_id: ReviewId, request: Request, platform: Ours, runner: Runner, key: Contributor
) -> Response:
    """Say what you think. With the last voice that was missing it is decided, and the verdict acts."""
    body = await read_json_object(request)
    named = body.get("reviewer")
    caller = Caller(key.org_id, reviewer_of(key, named if isinstance(named, str) else None))
    item = await decide_reviews.give_verdict(platform, caller, review_id, body)
    if item["verdict"] == Verdict.NEEDS_MORE_RUNS:
        await queue_requested_runs(platform, runner, review_id)
        item = await read_reviews.read_review(platform, caller, review_id)
    return answer(item)


@router.post("/{review_id}/reopen", openapi_extra=json_body(schemas.REOPEN, required=False))
async def reopen_review(review_id: ReviewId, request: Request, platform: Ours, key: Contributor) -> Response:
    """Ask a decided item anew, and take back what its verdict did. What was said stays in its history."""
    who, note = read_reopening(await _optional_object(request))
    caller = Caller(key.org_id, reviewer_of(key, who.name))
    return answer(await decide_reviews.reopen_review(platform, caller, review_id, note))


async def _optional_object(request: Request) -> JsonObject:
    is_empty = request.headers.get("content-length", "0") == "0"
    if is_empty and "transfer-encoding" not in request.headers:
        return {}
    return await read_json_object(request)


def _statuses(asked: str) -> tuple[ReviewStatus, ...]:
    if asked == "waiting":
        return WAITING
    return tuple(ReviewStatus) if asked == "any" else (ReviewStatus(asked),)


def _place(cursor: str | None) -> Place | None:
    if cursor is None:
        return None
    rank, separator, number = decode_cursor(cursor).partition("|")
    if not separator:
        raise InvalidCursor
    return Place(cursor_number(rank), cursor_number(number))
