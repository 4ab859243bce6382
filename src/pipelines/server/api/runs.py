"""Runs: opening one by hand, ending it, and reading what happened."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from pipelines.core.agents.agent_definition import MAX_CONCURRENCY
from pipelines.core.text.json_text import JsonObject
from pipelines.core.verdict.verdict import PendingReason
from pipelines.engine.batches import open_batch
from pipelines.engine.batches.open_batch import MAX_REPEATS
from pipelines.engine.judging import rejudge_runs, rescore
from pipelines.engine.platform import Platform
from pipelines.engine.reports.export_run import export_atif, export_json
from pipelines.engine.reports.summarize_batch import BatchEstimateRequest, estimate_batch
from pipelines.engine.reviews.decide_run import decide_run
from pipelines.engine.reviews.read_reviews import Caller
from pipelines.engine.runs import open_run, read_run
from pipelines.server.api.common import (
    MAX_ID,
    Contributor,
    Cursor,
    Id,
    JudgedBy,
    Limit,
    OptionalId,
    Ours,
    Runner,
    Viewer,
    answer,
    answer_page,
    cursor_number,
    decode_cursor,
    encode_cursor,
    id_cursor,
    json_body,
    read_json_object,
    read_optional_object,
    read_page,
)
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.api.schemas import bodies, review_bodies
from pipelines.storage.database.paging import Filter
from pipelines.storage.lists.summaries import run_summaries
from pipelines.wire.names import MODEL_CALL, PROXY_BASE, RunStatus, TraceEventType

router = APIRouter(prefix="/api/runs", tags=["runs"])
TRACE_KINDS = ["tool_call", *TraceEventType, MODEL_CALL]


@router.post("", status_code=202, openapi_extra=json_body(bodies.RUN), responses={201: {}})
async def post_run(request: Request, platform: Ours, runner: Runner, key: Contributor) -> Response:
    """Send tasks to an agent: 202 with the batch.

    With `"mode": "manual"` and one task, open a run to be driven by hand: 201, and the token is in this
    answer and nowhere else.
    """
    body = await read_json_object(request)
    if body.get("mode") != "manual":
        batch = await open_batch.open_batch(platform, runner, key.org_id, body)
        return answer(batch.as_json() | {"batch_id": batch.id}, 202)
    opened = await open_run.open_manual_run(platform, key.org_id, body)
    base = request.app.state.public_url or str(request.base_url).rstrip("/")
    connect: JsonObject = {
        "odyssey_proxy_url": f"{base}{PROXY_BASE}/runs/{opened.run.jti}",
        "run_token": opened.token,
        "run_token_jti": opened.run.jti,
    }
    return answer(opened.run.as_json() | connect, 201)


@router.get("/{run_id}/coding")
async def get_run_coding(run_id: Id, platform: Ours, key: Viewer) -> Response:
    """Of a coding run: its scenario, what it changed, and what each scorer said. 409 for any other run."""
    return answer(await rescore.read_coding(platform, key.org_id, run_id))


@router.post("/{run_id}/rescore", openapi_extra=json_body(bodies.RESCORE, required=False))
async def rescore_run(run_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Grade the change that a coding run left, again, without its agent; answers as GET …/coding does.

    By the scorers of the body, else by those that the scenario has now. The verdict follows; gradings and
    verdicts before stay as history.
    """
    scorers = rescore.read_rescore(await read_optional_object(request))
    await rescore.rescore_run(platform, key.org_id, run_id, scorers)
    return answer(await rescore.read_coding(platform, key.org_id, run_id))


@router.get("")
async def list_runs(
    platform: Ours,
    key: Viewer,
    agent_id: OptionalId = None,
    dataset_id: OptionalId = None,
    task_id: OptionalId = None,
    batch_id: OptionalId = None,
    verdict: Literal["PASS", "FAIL", "PENDING", "NOT_APPLICABLE"] | None = None,
    pending_reason: PendingReason | None = None,
    has_unverified: Annotated[
        bool | None, Query(description="the answer states something that was not verified")
    ] = None,
    status: RunStatus | None = None,
    mode: Annotated[str | None, Query(max_length=32)] = None,
    needs_review: Annotated[bool | None, Query(description="the verdict is a person's to give")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's runs, newest first, in short.

    Transcript, metadata, error and judgement are on the run itself; its response is cut at 500 characters.
    `needs_review=true` is the list for people: PENDING, or not judged.
    """
    before_id = id_cursor(cursor)
    filters = [
        Filter("org_id", key.org_id),
        Filter("agent_id", agent_id),
        Filter("dataset_id", dataset_id),
        Filter("task_id", task_id),
        Filter("batch_id", batch_id),
        Filter("verdict", verdict),
        Filter("pending_reason", pending_reason.value if pending_reason is not None else None),
        Filter("status", status.value if status is not None else None),
        Filter("mode", mode),
    ]
    page = await read_page(
        platform,
        lambda connection: run_summaries(
            connection,
            filters=filters,
            limit=limit,
            before_id=before_id,
            needs_review=needs_review,
            has_unverified=has_unverified,
        ),
        limit,
        ("runs", key.org_id),
    )
    return answer_page(page)


@router.get("/estimate")
async def estimate_runs(
    platform: Ours,
    key: Viewer,
    agent_id: Annotated[int, Query(ge=1, le=MAX_ID)],
    dataset_id: Annotated[int, Query(ge=1, le=MAX_ID)],
    repeats: Annotated[int, Query(ge=1, le=MAX_REPEATS)] = 1,
    concurrency: Annotated[int | None, Query(ge=1, le=MAX_CONCURRENCY)] = None,
) -> Response:
    """How long a batch would take and what it would cost, by what the agent's latest runs took.

    Null where no run says anything of it.
    """
    request = BatchEstimateRequest(
        agent_id=agent_id, dataset_id=dataset_id, tag="", repeats=repeats, concurrency=concurrency
    )
    return answer((await estimate_batch(platform, key.org_id, request)).as_json())


@router.get("/{run_id}")
async def get_run(run_id: Id, platform: Ours, key: Viewer) -> Response:
    """The run, its seed, the counts of its calls, what people said of it (`review`), what it cost."""
    caller = Caller(key.org_id, reviewer_of(key, None))
    return answer(await read_run.read_run(platform, caller, run_id))


@router.post("/{run_id}/finish", openapi_extra=json_body(bodies.FINISH))
async def finish_run(run_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """End a run driven by hand with the agent's final response."""
    run = await open_run.finish_run(platform, key.org_id, run_id, await read_json_object(request))
    return answer(run.as_json())


@router.post("/{run_id}/cancel")
async def cancel_run(run_id: Id, platform: Ours, runner: Runner, key: Contributor) -> Response:
    """End a run without a final response; one that was not yet sent never is."""
    run = await open_run.cancel_run(platform, key.org_id, run_id)
    runner.cancel(run_id)
    return answer(run.as_json())


@router.post("/{run_id}/judge", openapi_extra=json_body(bodies.REJUDGE, required=False))
async def judge_run(
    run_id: Id, request: Request, platform: Ours, key: Contributor, oracle: JudgedBy = "own"
) -> Response:
    """Judge an ended run anew, by its own oracle or its task's present one; nothing is sent to the agent.

    What evidence leaves open is read by the judge model, the server's or the `model` in the body.
    """
    by = rejudge_runs.read_rejudge(await read_optional_object(request), by_present_oracle=oracle == "present")
    return answer((await rejudge_runs.rejudge_run(platform, key.org_id, run_id, by)).as_json())


@router.get("/{run_id}/verdicts")
async def get_verdicts(run_id: Id, platform: Ours, key: Viewer) -> Response:
    """The run's verdict, those before it with the oracle and grader each was by, and what people said."""
    caller = Caller(key.org_id, reviewer_of(key, None))
    return answer(await rejudge_runs.read_verdicts(platform, caller, run_id))


@router.post("/{run_id}/verdict", openapi_extra=json_body(review_bodies.RUN_VERDICT))
async def post_verdict(run_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """A person's verdict on an ended run, beside the machine's; it decides the run's item of the queue.

    409 where it has been decided, unless `again` is true: then what was said before stays in the history.
    """
    body = await read_json_object(request)
    named = body.get("reviewer")
    caller = Caller(key.org_id, reviewer_of(key, named if isinstance(named, str) else None))
    return answer(await decide_run(platform, caller, run_id, body))


@router.get("/{run_id}/trace")
async def get_trace(
    run_id: Id,
    platform: Ours,
    key: Viewer,
    kind: Annotated[str | None, Query(max_length=64, description=f"one of {', '.join(TRACE_KINDS)}")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """What happened, in the order it happened. A page of long rows may have fewer of them than `limit`."""
    rows, more = await read_run.read_trace(
        platform, key.org_id, run_id, kind=kind, after=_trace_cursor(cursor), limit=limit
    )
    place = encode_cursor(f"{rows[-1].occurred_at}|{rows[-1].sequence}") if more else None
    return answer({"items": [row.as_written() for row in rows], "next_cursor": place})


@router.get("/{run_id}/output")
async def get_output(run_id: Id, platform: Ours, key: Viewer) -> Response:
    """What a code agent printed, the beginning and the end of it; secrets are taken out."""
    return answer(await read_run.read_output(platform, key.org_id, run_id))


@router.get("/{run_id}/export")
async def export_run(
    run_id: Id,
    platform: Ours,
    key: Viewer,
    format: Annotated[
        Literal["json", "atif"], Query(description="our own, or a trajectory in ATIF")
    ] = "json",
) -> Response:
    """The whole run as one file: as `pipelines show --json` prints it, or as a trajectory in ATIF."""
    return await exported_run(platform, Caller(key.org_id, reviewer_of(key, None)), run_id, format)


async def exported_run(
    platform: Platform, caller: Caller, run_id: int, format: Literal["json", "atif"]
) -> Response:
    """The run as a download, for the API and the pages."""
    if format == "atif":
        parts, name = await export_atif(platform, caller.org_id, run_id), f"run-{run_id}.atif.json"
    else:
        parts, name = await export_json(platform, caller, run_id), f"run-{run_id}.json"
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    return StreamingResponse(parts, media_type="application/json", headers=headers)


@router.get("/{run_id}/ledger")
async def get_ledger(
    run_id: Id,
    platform: Ours,
    key: Viewer,
    step: Annotated[
        int | None, Query(ge=0, le=MAX_ID, description="after this trace row; 0: at the start")
    ] = None,
) -> Response:
    """The run's world after a step; without one, as it is now."""
    return answer(await read_run.read_ledger(platform, key.org_id, run_id, step))


def _trace_cursor(cursor: str | None) -> tuple[str, int] | None:
    if cursor is None:
        return None
    occurred_at, _, sequence = decode_cursor(cursor).partition("|")
    return occurred_at, cursor_number(sequence)
