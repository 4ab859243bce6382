"""/runs/{id}: the steps of a run, the world after each step, and the verdict.

htmx loads the timeline in windows, and a step with its world as fragments. Without scripts, each is a link to
this page.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.find import find_run
from pipelines.engine.judging import rejudge_runs
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.decide_run import decide_run
from pipelines.engine.reviews.read_reviews import Caller
from pipelines.engine.runs import open_run, read_run, read_steps
from pipelines.engine.runs.read_steps import END, Timeline, TimelineView
from pipelines.server.api.common import MAX_ID, Id, Ours, Runner, answer
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.api.runs import exported_run
from pipelines.server.pages.page import forget_counts, go, page, part
from pipelines.server.pages.runs.coding_run import coding_context
from pipelines.server.pages.runs.rejudge_form import rejudge_in
from pipelines.server.pages.runs.trace_lines import WINDOW, lines_of, window_at
from pipelines.server.pages.runs.trace_query import ShownAs, TraceQuery, view_links
from pipelines.server.pages.runs.trace_talk import talk_context
from pipelines.server.pages.runs.trace_time import bars_of, model_calls, time_context
from pipelines.server.pages.runs.trace_view import (
    MOST_FAILURES,
    MOST_WARNINGS,
    first_shown,
    people_of,
    review_of,
    step_context,
    strip_of,
    verdict_card,
    warnings_of,
)
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts
from pipelines.storage.runs.annotations import Annotation, annotations_of_run
from pipelines.storage.runs.runs import Run
from pipelines.storage.tasks import datasets
from pipelines.wire.errors import Conflict, ModelFailed, ModelNotConfigured

router = APIRouter()
StepName = Annotated[str, Query(max_length=24)]
Words = Annotated[str, Query(max_length=200)]
Place = Annotated[int, Query(ge=0, le=MAX_ID)]


@router.get("/runs/{run_id}")
async def run_page(
    run_id: Id,
    request: Request,
    platform: Ours,
    visitor: Reader,
    query: ShownAs,
    s: StepName = "",
    q: Words = "",
    at: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
) -> Response:
    caller = _looker(visitor)
    read = await read_steps.read_run_page(platform, caller, run_id, _view_chooser(s, at), query.filter)
    timeline = read.timeline
    run = timeline.run
    assert read.step is not None
    step_name = timeline.items[read.step.place].name
    trail = [("Runs", "/runs")]
    trail += [(f"Batch {run.batch_id}", f"/batches/{run.batch_id}")] if run.batch_id is not None else []
    return await page(
        request,
        visitor,
        "trace.html",
        title=f"Run {run_id}",
        here="runs",
        trail=trail,
        strip=strip_of(read),
        card=verdict_card(run),
        judge=read.judge,
        is_correctable=await _is_correctable(platform, visitor, run),
        written=await _written(platform, run_id),
        talk=talk_context(run),
        people=people_of(read.review),
        review_id=review_of(read),
        earlier=read.earlier,
        warnings=warnings_of(run)[:MOST_WARNINGS],
        warning_count=len(warnings_of(run)),
        missed=s if s and s != step_name else "",
        is_asked=bool(s),
        found=await _found(platform, visitor, run_id, q) if q else None,
        q=q,
        links=view_links(query, step_name, timeline),
        time=time_context(timeline) if query.view == "time" else None,
        **_list_context(timeline, read.briefs, read.window, step_name, query),
        **await _step_parts(platform, visitor, read.step),
        **await coding_context(platform, run),
    )


@router.get("/runs/{run_id}/window")
async def window_part(
    run_id: Id, platform: Ours, visitor: Reader, query: ShownAs, at: Place = 0, s: StepName = ""
) -> Response:
    """Two hundred lines of the timeline, around a line or a step."""

    def window(timeline: Timeline) -> range:
        return window_at(timeline.line_places.get(s, 0) if s else at, timeline)

    timeline, briefs = await read_steps.read_window(platform, visitor.org_id, run_id, window, query.filter)
    lists = _list_context(timeline, briefs, window(timeline), s, query)
    return await part(visitor, "trace_lines.html", **lists)


@router.get("/runs/{run_id}/steps/{name}")
async def step_part(run_id: Id, name: str, platform: Ours, visitor: Reader, query: ShownAs) -> Response:
    """One step, and the world after it."""
    step = await read_steps.read_step(platform, visitor.org_id, run_id, name, line_filter=query.filter)
    parts = await _step_parts(platform, visitor, step)
    return await part(visitor, "trace_step_and_world.html", query=query, **parts)


@router.get("/runs/{run_id}/steps/{name}/json")
async def step_json(run_id: Id, name: str, platform: Ours, visitor: Reader) -> Response:
    """The whole step, however long its values are."""
    step = await read_steps.read_step(platform, visitor.org_id, run_id, name, with_world=False)
    response = answer(step.row.as_written() if step.row is not None else None)
    response.headers.update({"x-content-type-options": "nosniff", "cache-control": "no-store"})
    return response


@router.get("/runs/{run_id}/found")
async def found_part(
    run_id: Id, platform: Ours, visitor: Reader, q: Words = "", after: Place = 0
) -> Response:
    """The steps that contain the search words."""
    found = await _found(platform, visitor, run_id, q, after) if q else None
    return await part(visitor, "trace_found.html", found=found, q=q, run_id=run_id)


@router.get("/runs/{run_id}/live")
async def live_part(
    run_id: Id,
    platform: Ours,
    visitor: Reader,
    query: ShownAs,
    seen: Place = 0,
    at: Place = 0,
    s: StepName = "",
) -> Response:
    """New steps of a run in progress: the summary line, and the window if it grew."""

    def choose(timeline: Timeline) -> TimelineView:
        return TimelineView(window_at(at, timeline))

    read = await read_steps.read_run_page(platform, _looker(visitor), run_id, choose, query.filter)
    timeline = read.timeline
    if timeline.has_ended:  # then there is a verdict, and the page is another one
        return Response(status_code=200, headers={"hx-refresh": "true", "cache-control": "no-store"})
    lists = _list_context(timeline, read.briefs, read.window, s, query, is_oob=True)
    return await part(
        visitor,
        "trace_live.html",
        strip=strip_of(read),
        has_grown=len(timeline.steps) != seen,
        **lists,
    )


@router.get("/runs/{run_id}/entity")
async def entity_page(
    run_id: Id,
    request: Request,
    platform: Ours,
    visitor: Reader,
    type: Annotated[str, Query(max_length=1_000)],
    id: Annotated[str, Query(max_length=1_000)],
    s: StepName = "",
) -> Response:
    """The history of one entity over the run."""
    run, first, history = await read_steps.read_entity(platform, visitor.org_id, run_id, (type, id))
    return await page(
        request,
        visitor,
        "trace_entity.html",
        title=f"{type} {id}"[:200],
        here="runs",
        trail=[("Runs", "/runs"), (f"Run {run_id}", f"/runs/{run_id}" + (f"?s={quote(s)}" if s else ""))],
        run=run,
        entity_type=type,
        entity_id=id,
        first=first,
        history=history[:500],
        more=max(0, len(history) - 500),
        s=s,
    )


@router.get("/runs/{run_id}/download")
async def download(
    run_id: Id, platform: Ours, visitor: Reader, format: Literal["json", "atif"] = "json"
) -> Response:
    """The whole run as one file: our own JSON, or a trajectory in ATIF."""
    return await exported_run(platform, _looker(visitor), run_id, format)


@router.post("/runs/{run_id}/judge")
async def judge(run_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    """Judges the run again. Sends nothing to the agent."""
    form = await form_texts(request)
    before = await find_run(platform, visitor.org_id, run_id)
    try:
        after = await rejudge_runs.rejudge_run(platform, visitor.org_id, run_id, rejudge_in(form))
    except (Conflict, ModelFailed, ModelNotConfigured) as error:
        return go(f"/runs/{run_id}", error.message)
    except Refused as refused:
        return go(f"/runs/{run_id}", refused.problems[0].said())
    forget_counts(request, visitor.org_id)
    same = (before.verdict, before.failure_mode) == (after.verdict, after.failure_mode)
    now = after.verdict or "no verdict"
    now += f" ({after.pending_reason})" if after.pending_reason else ""
    message = (
        f"Judged again: {now}, as before." if same else f"Judged again: {before.verdict or 'none'} → {now}."
    )
    return go(f"/runs/{run_id}", message)


@router.post("/runs/{run_id}/verdict")
async def give_verdict(run_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    """Stores a person's verdict on a run without a review item. The machine's verdict stays."""
    form = await form_texts(request)
    given: JsonObject = {"verdict": form.get("verdict", "")}
    given |= {"note": form["note"].strip()} if form.get("note", "").strip() else {}
    try:
        await decide_run(platform, _looker(visitor), run_id, given)
    except Conflict as error:
        return go(f"/runs/{run_id}", error.message)
    forget_counts(request, visitor.org_id)
    return go(f"/runs/{run_id}", f"Your verdict: {given['verdict']}.")


@router.post("/runs/{run_id}/cancel")
async def cancel(run_id: Id, platform: Ours, runner: Runner, visitor: Writer) -> Response:
    """Ends the run without an answer."""
    await open_run.cancel_run(platform, visitor.org_id, run_id)
    runner.cancel(run_id)
    return go(f"/runs/{run_id}", "The run is cancelled.")


async def _written(platform: Platform, run_id: int) -> list[Annotation]:
    return await platform.database.read(lambda connection: annotations_of_run(connection, run_id))


async def _is_correctable(platform: Platform, visitor: Visitor, run: Run) -> bool:
    """Whether the page offers to correct the oracle of the task."""
    find = partial(datasets.is_changeable, org_id=visitor.org_id, task_id=run.task_id)
    return run.seed.coding_scenario is None and await platform.database.read(find)


def _view_chooser(s: str, at: int | None) -> Callable[[Timeline], TimelineView]:
    """The requested step, else the most relevant one, and the lines around it or the requested lines."""

    def choose(timeline: Timeline) -> TimelineView:
        step = s if s in timeline.positions else first_shown(timeline)
        return TimelineView(window_at(timeline.line_places[step] if at is None else at, timeline), step)

    return choose


def _list_context(
    timeline: Timeline, briefs: Any, window: range, shown: str, query: TraceQuery, *, is_oob: bool = False
) -> dict[str, Any]:
    lines = lines_of(timeline, briefs, window)
    near = timeline.line_places.get(shown)
    return {
        "query": query,
        "bars": bars_of(timeline, briefs, window) if query.view == "time" else {},
        "has_tokens": model_calls(timeline) > 0,
        # A step that is folded or filtered out has no line: the one before it is marked.
        "marked": timeline.lines[near].item.name if near is not None else shown,
        "near": near,
        "run_id": timeline.run.id,
        "lines": lines,
        "window": window,
        "window_size": WINDOW,
        "items": len(timeline.lines),
        "total": len(timeline.steps),
        "actors": timeline.actors if len(timeline.actors) > 1 else [],
        "shown": shown,
        "failures": timeline.failures[:MOST_FAILURES],
        "is_oob": is_oob,
    }


async def _step_parts(platform: Platform, visitor: Visitor, step: read_steps.StepInFull) -> dict[str, Any]:
    context = step_context(step)
    output = None
    if context["item"].name == END:
        output = await read_run.read_output(platform, visitor.org_id, step.timeline.run.id)
    row = context["row"]
    every = await _written(platform, step.timeline.run.id) if row is not None else []
    written = [each for each in every if each.step == row.sequence]
    return {"step": context | {"output": output, "written": written}}


async def _found(
    platform: Platform, visitor: Visitor, run_id: int, q: str, after: int = 0
) -> read_steps.StepsFound:
    return await read_steps.search_steps(platform, visitor.org_id, run_id, q, after)


def _looker(visitor: Visitor) -> Caller:
    return Caller(visitor.org_id, reviewer_of(visitor.identity, None))
