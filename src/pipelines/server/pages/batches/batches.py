"""/batches: the list of batches, and one batch with its figures, tasks and runs."""

import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from pipelines.core.results.task_statistics import summary_of
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.verdict.error_words import ERROR_WORDS, error_in_words, nothing_was_reached
from pipelines.engine.batches import open_batch
from pipelines.engine.find import find_batch
from pipelines.engine.judging import rejudge_runs
from pipelines.engine.judging.read_judges import read_batch_judges
from pipelines.engine.reports.summarize_batch import batch_figures, took_ms
from pipelines.server.api.batches import exported_batch
from pipelines.server.api.common import MAX_ID, Id, encode_cursor, platform_of, runner_of
from pipelines.server.pages.batches.batch_fragment import shown_figures
from pipelines.server.pages.form_fields import budget_in, label_in
from pipelines.server.pages.page import go, page
from pipelines.server.pages.runs.rejudge_form import rejudge_in
from pipelines.server.pages.runs.run_query import SORTS, RunQuery, read_id, read_run_query
from pipelines.server.pages.runs.runs import Offered, offered_filters, shown_runs
from pipelines.server.pages.visitor import Reader, Writer, form_texts, who_signed_in
from pipelines.server.service.batch_watches import BatchWatches, while_welcome
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.evals.evals import Matrix, matrix_of_batch
from pipelines.storage.lists import batch_outcomes
from pipelines.storage.lists.run_lists import agent_names, count_runs, dataset_names, run_page
from pipelines.storage.lists.saved_views import SavedView, views_of_org
from pipelines.storage.lists.summaries import instructions_of_tasks
from pipelines.storage.runs import model_exchanges
from pipelines.storage.runs.batches import BATCH_STATUSES, Batch, batches_of_org
from pipelines.wire.envelope import ErrorClass

router = APIRouter()
BATCHES = 25  # in a page of the list: each is counted over all its runs
TASKS = 50
RUNS = 50
BATCH_FILTERS = (
    *("agent_id", "dataset_id", "agent_version", "label", "since", "until", "sort", "cursor"),
    "batch_status",
)
BATCH_SORTS = ("newest", "oldest")
COLUMNS_OF_BATCH = ("reason", "status", "calls", "duration", "started")
MOST_REPEATS = 20  # of a task, shown each
JUDGED_FOR_S = 5.0  # in one request; what is left is gone on with by another
JUDGED_AT_ONCE = 16  # as many as a model reads at once

Steadiness = Annotated[str | None, Query(max_length=32)]
OptionalPlace = Annotated[int | None, Query(ge=0, le=MAX_ID)]


@router.get("/batches")
async def batches_page(request: Request, visitor: Reader) -> Response:
    given = {name: request.query_params.get(name, "") for name in BATCH_FILTERS}
    status = given.pop("batch_status")
    query = read_run_query(given, visitor.org_id)
    if query.order not in BATCH_SORTS:
        query.problems.append(Problem(path="sort", message=f"must be one of {', '.join(BATCH_SORTS)}"))
    if status:
        query.given["batch_status"] = status
        if status not in BATCH_STATUSES:
            message = f"must be one of {', '.join(BATCH_STATUSES)}"
            query.problems.append(Problem(path="batch_status", message=message))

    def read(
        connection: Connection,
    ) -> tuple[Page[Batch], list[JsonObject], Offered, Offered, list[SavedView]]:
        agents, datasets = offered_filters(connection, query)
        saved = views_of_org(connection, visitor.org_id, "/batches")
        if query.problems:
            return Page([], None), [], agents, datasets, saved
        found = batches_of_org(
            connection,
            visitor.org_id,
            agent_id=query.wanted.agent_id,
            limit=BATCHES,
            before_id=query.before_id,
            filters=_batch_filters(query, status),
            newest_first=query.order == "newest",
        )
        return found, _listed(connection, found.items, visitor.org_id), agents, datasets, saved

    found, batches, agents, datasets, saved = await platform_of(request).database.read(read)
    older = encode_cursor(str(found.last_id)) if found.last_id is not None else None
    return await page(
        request,
        visitor,
        "batches.html",
        title="Batches",
        here="runs",
        status=422 if query.problems else 200,
        query=query,
        agents=agents,
        datasets=datasets,
        statuses=BATCH_STATUSES,
        sorts=[(name, SORTS[name]) for name in BATCH_SORTS],
        saved=saved,
        view_path=query.url("/batches"),
        batches=batches,
        older=query.url("/batches", cursor=older) if older is not None else None,
        newest=query.url("/batches") if query.before_id is not None else None,
    )


def _batch_filters(query: RunQuery, status: str) -> list[Filter]:
    wanted = query.wanted
    return [
        Filter("dataset_id", wanted.dataset_id),
        Filter("agent_version", wanted.agent_version),
        Filter("COALESCE(label, reported_build)", wanted.label),
        Filter("created_at", wanted.since, ">="),
        Filter("created_at", wanted.until, "<"),
        Filter("status", status or None),
    ]


@router.get("/batches/{batch_id}")
async def batch_page(
    batch_id: Id,
    request: Request,
    visitor: Reader,
    steadiness: Steadiness = None,
    task_after: OptionalPlace = None,
    judge_after: OptionalPlace = None,
    judge_model: Annotated[str, Query(max_length=500)] = "",
    oracle: Annotated[Literal["own", "present"], Query()] = "own",
) -> Response:
    platform = platform_of(request)
    batch = await batch_figures(platform, visitor.org_id, batch_id)
    filters = {name: value for name, value in request.query_params.items() if name != "batch_id"}
    query = read_run_query(
        filters,
        visitor.org_id,
        order="failures",
        columns=request.query_params.getlist("column"),
        batch_id=batch_id,
    )
    if steadiness is not None and steadiness not in batch_outcomes.STEADINESS:
        known = ", ".join(batch_outcomes.STEADINESS)
        query.problems.append(Problem(path="steadiness", message=f"must be one of {known}"))

    def read(connection: Connection) -> dict[str, Any]:
        found = _about(connection, batch, visitor.org_id)
        if query.problems:
            return found | {"tasks": [], "more_tasks": None, "runs": []} | _NOWHERE
        listed = run_page(connection, query.wanted, limit=RUNS, before_id=query.before_id)
        tasks = _tasks(connection, batch, steadiness, task_after) if _is_repeated(batch) else _NO_TASKS
        counted = {"counted": count_runs(connection, query.wanted)}
        place = {"batch_id": str(batch_id), "sort": query.order}
        shown = shown_runs(query, listed, f"/batches/{batch_id}", usual=COLUMNS_OF_BATCH, **place)
        return found | tasks | shown | counted

    context = await platform.database.read(read)
    return await page(
        request,
        visitor,
        "batch.html",
        title=f"Batch {batch_id}",
        here="runs",
        trail=[("Batches", "/batches")],
        status=422 if query.problems else 200,
        query=query,
        here_url=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        steadiness=steadiness,
        task_after=task_after,
        judge_after=judge_after,
        judge_model=judge_model,
        judges=(await read_batch_judges(platform_of(request), visitor.org_id, batch_id))["items"],
        oracle=oracle,
        batch=shown_figures(batch, platform.now()),
        **context,
    )


@router.get("/batches/{batch_id}/events")
async def batch_events(batch_id: Id, request: Request, visitor: Reader) -> Response:
    """Server-sent events with the progress of the batch as HTML, rendered once for all viewers."""
    await find_batch(platform_of(request), visitor.org_id, batch_id)
    watches: BatchWatches = request.app.state.batch_page_watches

    async def is_welcome() -> bool:
        return await who_signed_in(request) is not None

    return StreamingResponse(
        while_welcome(watches.events(visitor.org_id, batch_id), is_welcome),
        media_type="text/event-stream",
        headers={"cache-control": "no-cache", "x-content-type-options": "nosniff"},
    )


@router.post("/batches/{batch_id}/label")
async def label(batch_id: Id, request: Request, visitor: Writer) -> Response:
    form = await form_texts(request)
    platform, org_id = platform_of(request), visitor.org_id
    await find_batch(platform, org_id, batch_id)
    matrix = await platform.database.read(lambda connection: matrix_of_batch(connection, batch_id))
    back = f"/evals/{matrix.matrix_id}" if matrix is not None else f"/batches/{batch_id}"
    try:
        await open_batch.label_batch(platform, org_id, batch_id, label_in(form))
    except Refused as refused:
        return go(back, refused.problems[0].said())
    return go(back, "The label is saved.")


@router.post("/batches/{batch_id}/cancel")
async def cancel(batch_id: Id, request: Request, visitor: Writer) -> Response:
    await open_batch.cancel_batch(platform_of(request), runner_of(request), visitor.org_id, batch_id)
    return go(f"/batches/{batch_id}", "The batch is cancelled. No more tasks are sent.")


@router.post("/batches/{batch_id}/resume")
async def resume(batch_id: Id, request: Request, visitor: Writer) -> Response:
    body = budget_in(await form_texts(request))
    batch = await open_batch.resume_batch(
        platform_of(request), runner_of(request), visitor.org_id, batch_id, body
    )
    message = "The batch continues." if batch.status == "running" else "There is nothing left to run."
    return go(f"/batches/{batch_id}", message)


@router.post("/batches/{batch_id}/judge")
async def judge(batch_id: Id, request: Request, visitor: Writer) -> Response:
    """Judges as many runs as fit into a few seconds. The page offers to continue with the rest."""
    form = await form_texts(request)
    problems: list[Problem] = []
    after_id = read_id(form, "after", problems) if form.get("after") else None
    judged = changed = failed = 0
    try:
        by = rejudge_in(form)
    except Refused as refused:
        return go(f"/batches/{batch_id}", refused.problems[0].said())
    ends_at = time.monotonic() + JUDGED_FOR_S
    while True:
        done = await rejudge_runs.rejudge_batch(
            platform_of(request),
            visitor.org_id,
            batch_id,
            by,
            after_id=after_id,
            limit=JUDGED_AT_ONCE,
        )
        judged += int(str(done.report["judged"]))
        changed += int(str(done.report["changed"]))
        failed += len(done.failed)
        after_id = done.last_id
        if after_id is None or time.monotonic() > ends_at:
            break
    message = f"Judged {judged:,} runs again; {changed:,} verdicts changed."
    message += f" The judge model gave no verdict for {failed:,}: {done.failed[-1]}" if done.failed else ""
    if after_id is not None:
        oracle = "&oracle=present" if by.by_present_oracle else ""
        model = f"&judge_model={quote(by.model)}" if by.model is not None else ""
        return go(
            f"/batches/{batch_id}?judge_after={after_id}{oracle}{model}", message + " Some runs are left."
        )
    return go(f"/batches/{batch_id}", message)


@router.get("/batches/{batch_id}/export")
async def export(
    batch_id: Id,
    request: Request,
    visitor: Reader,
    format: Annotated[Literal["csv", "json"], Query()] = "csv",
) -> Response:
    answer = await exported_batch(platform_of(request), visitor.org_id, batch_id, format)
    answer.headers["content-disposition"] = f'attachment; filename="batch-{batch_id}.{format}"'
    answer.headers["x-content-type-options"] = "nosniff"
    return answer


_NOWHERE: dict[str, Any] = {"searched": None, "older": None, "newest": None, "counted": None}
_NO_TASKS: dict[str, Any] = {"tasks": [], "more_tasks": None}


def _listed(connection: Connection, batches: list[Batch], org_id: int) -> list[JsonObject]:
    outcomes = batch_outcomes.outcomes_of_batches(connection, [batch.id for batch in batches])
    agents = agent_names(connection, (batch.agent_id for batch in batches), org_id=org_id)
    named = (batch.dataset_id for batch in batches if batch.dataset_id is not None)
    datasets = dataset_names(connection, named, org_id=org_id)
    return [
        batch.as_json()
        | {
            "agent_name": agents.get(batch.agent_id, ""),
            "dataset_name": datasets.get(batch.dataset_id or 0),
            "total": outcomes[batch.id].total,
            "ended": _ended(outcomes[batch.id].by_status),
            "by_verdict": {**outcomes[batch.id].by_verdict},
            "summary": summary_of(outcomes[batch.id].by_task, batch.repeats),
            "took_ms": took_ms(batch.created_at, batch.ended_at) if batch.ended_at else None,
        }
        for batch in batches
    ]


def _ended(by_status: Mapping[str, int]) -> int:
    return sum(number for status, number in by_status.items() if status not in ("pending", "running"))


def _about(connection: Connection, batch: JsonObject, org_id: int) -> dict[str, Any]:
    batch_id, agent_id, dataset_id = (batch[name] for name in ("id", "agent_id", "dataset_id"))
    assert isinstance(batch_id, int)
    assert isinstance(agent_id, int)
    matrix = matrix_of_batch(connection, batch_id)
    datasets = dataset_names(connection, [dataset_id] if isinstance(dataset_id, int) else [], org_id=org_id)
    return {
        "agent_name": agent_names(connection, [agent_id], org_id=org_id).get(agent_id, ""),
        "dataset_name": next(iter(datasets.values()), None),
        "matrix_id": matrix.matrix_id if matrix is not None else None,
        "compare_url": _compare_url(connection, batch, matrix, org_id),
        "unreached": _unreached(connection, batch),
        "cost": batch_outcomes.cost_of_batch(connection, batch_id),
        "asked_models": model_exchanges.costs_of_batch(connection, batch_id),
    }


def _compare_url(connection: Connection, batch: JsonObject, matrix: Matrix | None, org_id: int) -> str:
    """Compares with the batch before it of the same agent over the same dataset, if there is one."""
    if matrix is not None:
        return f"/compare/matrices?to={quote(matrix.matrix_id)}"
    batch_id, agent_id, dataset_id = (batch[name] for name in ("id", "agent_id", "dataset_id"))
    assert isinstance(batch_id, int)
    assert isinstance(agent_id, int)
    if not isinstance(dataset_id, int):
        return f"/compare/batches?to={batch_id}"
    earlier = batches_of_org(
        connection, org_id, agent_id=agent_id, dataset_id=dataset_id, limit=1, before_id=batch_id
    ).items
    first = f"from={earlier[0].id}&" if earlier else ""
    return f"/compare/batches?{first}to={batch_id}"


def _unreached(connection: Connection, batch: JsonObject) -> str | None:
    """Why the agent could not be reached, if no run of the batch reached it."""
    counts: Any = batch["counts"]
    errors: Any = batch["error_classes"]
    if not nothing_was_reached(errors, _ended(counts["by_status"])):
        return None
    error = batch_outcomes.last_error(connection, int(str(batch["id"])), ErrorClass.AGENT_UNREACHABLE)
    words = error_in_words(ErrorClass.AGENT_UNREACHABLE, error) or ""
    return words.removeprefix(ERROR_WORDS[ErrorClass.AGENT_UNREACHABLE])


def _is_repeated(batch: JsonObject) -> bool:
    return int(str(batch["repeats"])) > 1


def _tasks(
    connection: Connection, batch: JsonObject, steadiness: str | None, after_id: int | None
) -> dict[str, Any]:
    batch_id = int(str(batch["id"]))
    found = batch_outcomes.task_outcomes(
        connection, batch_id=batch_id, steadiness=steadiness, limit=TASKS, after_id=after_id
    )
    ids = [task.task_id for task in found.items]
    instructions = instructions_of_tasks(connection, ids)
    repeats = batch_outcomes.repeats_of_tasks(connection, batch_id=batch_id, task_ids=ids)
    tasks = [
        {
            **task._asdict(),
            **instructions[task.task_id]._asdict(),
            "repeats": repeats[task.task_id][:MOST_REPEATS],
            "left_off": max(0, len(repeats[task.task_id]) - MOST_REPEATS),
        }
        for task in found.items
    ]
    return {"tasks": tasks, "more_tasks": found.last_id}
