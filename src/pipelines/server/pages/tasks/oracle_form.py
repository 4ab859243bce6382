"""/tasks/{id}/oracle: a form for what counts as right in a task.

It is checked while somebody types. Before it is saved, it shows which stored runs would be judged otherwise.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.tasks.oracle_axes import ORACLE_AXES, oracle_in
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.verdict.axis_of_check import axis_of_check
from pipelines.engine.find import find_run
from pipelines.engine.judging.accept_run import propose_oracle
from pipelines.engine.judging.preview_oracle import MOST_PREVIEWED, OraclePreview, preview_oracle
from pipelines.engine.judging.rejudge_runs import RejudgedRuns, RejudgeOptions, rejudge_task
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.check_oracle import StoredTask, load_task
from pipelines.engine.tasks.correct_oracle import correct_oracle
from pipelines.server.api.common import MAX_ID, Id, Ours, platform_of
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.pages.form_fields import number_in, problems_by_field
from pipelines.server.pages.page import forget_counts, go, page, part
from pipelines.server.pages.tasks.oracle_fields import (
    OUTCOMES,
    axis_text,
    document_fields,
    filled,
    read_oracle_form,
)
from pipelines.server.pages.visitor import Visitor, Writer, form_texts
from pipelines.storage.runs.runs import Run
from pipelines.wire.errors import Conflict

router = APIRouter()
TAKE = "take_"  # a button that fills its field with what the run did


@router.get("/tasks/{task_id}/oracle")
async def oracle_page(
    task_id: Id,
    request: Request,
    platform: Ours,
    visitor: Writer,
    run: Annotated[int | None, Query(ge=1, le=MAX_ID, description="whose verdict is in doubt")] = None,
) -> Response:
    """Filled with the present oracle; with a run, what that run did stands beside it."""
    stored = await _stored(platform, visitor, task_id)
    typed = filled(oracle_in(stored.task.seed_text))
    return await _page(request, visitor, stored, typed, await _run_of(platform, visitor, stored, run))


@router.post("/tasks/{task_id}/oracle/check")
async def check_part(task_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    """The oracle in words, and its lint: a fragment, which htmx asks for while somebody types."""
    typed = await form_texts(request)
    checked = await _preview_context(request, visitor, task_id, typed, most_runs=0)
    return await part(visitor, "oracle_told.html", **checked)


@router.post("/tasks/{task_id}/oracle")
async def post_oracle(task_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    """Shows what would flip, and saves what was shown: a text that changed since then is shown again."""
    typed = await form_texts(request)
    stored = await _stored(platform, visitor, task_id)
    run = await _run_of(platform, visitor, stored, number_in(typed.get("run", "")))
    for axis in ORACLE_AXES:
        if TAKE + axis in typed:
            taken = await _proposed(platform, visitor, run)
            return await _page(request, visitor, stored, typed | {axis: taken.get(axis, "")}, run)
    try:
        body = await read_oracle_form(request, typed)
        if "save" in typed and typed.get("shown") == _name(body):
            return await _save(request, visitor, task_id, run, body)
        preview = await preview_oracle(platform, visitor.org_id, task_id, body)
    except Refused as refused:
        return await _page(request, visitor, stored, typed, run, problems=refused.problems)
    return await _page(request, visitor, stored, typed, run, preview=preview, shown=_name(body))


async def _save(
    request: Request, visitor: Visitor, task_id: int, run: Run | None, body: JsonObject
) -> Response:
    platform = platform_of(request)
    who = reviewer_of(visitor.identity, None)
    saved = await correct_oracle(platform, visitor.org_id, task_id, who, body)
    by = RejudgeOptions(by_present_oracle=True)
    done = await rejudge_task(platform, visitor.org_id, task_id, by, limit=MOST_PREVIEWED)
    forget_counts(request, visitor.org_id)
    path = f"/runs/{run.id}" if run is not None else f"/tasks/{task_id}"
    return go(path, f"Saved as oracle version {saved.version}. {_counted(done)}")


def _counted(done: RejudgedRuns) -> str:
    judged, changed = int(str(done.report["judged"])), int(str(done.report["changed"]))
    if not judged:
        return "There is no run to judge again."
    said = f"{judged:,} run{'s' if judged != 1 else ''} judged again: {changed:,} verdict"
    said += f"{'s' if changed != 1 else ''} changed."
    if done.failed:
        said += f" For {len(done.failed):,} the judge model gave nothing: theirs stay."
    return said + (" Older runs keep their verdicts." if done.last_id is not None else "")


async def _preview_context(
    request: Request, visitor: Visitor, task_id: int, typed: Mapping[str, str], *, most_runs: int
) -> dict[str, Any]:
    platform = platform_of(request)
    try:
        body = await read_oracle_form(request, typed)
        preview = await preview_oracle(platform, visitor.org_id, task_id, body, most_runs=most_runs)
    except Refused as refused:
        return {"in_words": (), "findings": [], "problems": [each.as_json() for each in refused.problems]}
    return {"in_words": preview.in_words, "findings": preview.warnings, "problems": []}


async def _page(
    request: Request,
    visitor: Visitor,
    stored: StoredTask,
    typed: Mapping[str, str],
    run: Run | None,
    *,
    problems: list[Problem] | None = None,
    preview: OraclePreview | None = None,
    shown: str = "",
) -> Response:
    task, dataset = stored.task, stored.dataset
    trail = [
        ("Datasets", "/datasets"),
        (dataset.name, f"/datasets/{dataset.id}"),
        (f"Task {task.row_number}", f"/tasks/{task.id}"),
    ]
    if run is not None:
        trail = [("Runs", "/runs"), (f"Run {run.id}", f"/runs/{run.id}")]
    checked = (
        {"in_words": preview.in_words, "findings": preview.warnings, "problems": []}
        if preview is not None
        else await _preview_context(request, visitor, task.id, typed, most_runs=0)
    )
    return await page(
        request,
        visitor,
        "oracle_form.html",
        title="Correct the oracle",
        here="runs" if run is not None else "datasets",
        trail=trail,
        status=422 if problems else 200,
        task=task,
        version=stored.version,
        run=run,
        broken=_broken(run),
        proposed=await _proposed(platform_of(request), visitor, run),
        typed=typed,
        fields=document_fields(typed),
        outcome=typed.get("expected_outcome", ""),
        outcomes=OUTCOMES,
        note=typed.get("note", ""),
        at=problems_by_field(problems or [], (*ORACLE_AXES, "note")),
        is_refused=bool(problems),
        preview=preview,
        shown=shown,
        **checked,
    )


async def _stored(platform: Platform, visitor: Visitor, task_id: int) -> StoredTask:
    return await platform.database.read(
        lambda connection: load_task(connection, org_id=visitor.org_id, task_id=task_id)
    )


async def _run_of(platform: Platform, visitor: Visitor, stored: StoredTask, run_id: int | None) -> Run | None:
    """A run of another task says nothing here."""
    run = await find_run(platform, visitor.org_id, run_id) if run_id is not None else None
    return run if run is not None and run.task_id == stored.task.id else None


async def _proposed(platform: Platform, visitor: Visitor, run: Run | None) -> dict[str, str]:
    """What the run did, as the text of each field; nothing where it proves no oracle."""
    if run is None:
        return {}
    try:
        proposal = await propose_oracle(platform, visitor.org_id, run.id)
    except Conflict:
        return {}
    return {axis: axis_text(value) for axis, value in proposal.oracle.axes.items() if value is not None}


def _broken(run: Run | None) -> dict[str, list[str]]:
    """What the verdict of the run says against it, by axis."""
    judged: Any = run.judgement if run is not None and isinstance(run.judgement, dict) else {}
    found: dict[str, list[str]] = {}
    for finding in judged.get("findings") or ():
        axis = axis_of_check(str(finding["check"]))
        if axis is not None and finding["status"] != "held":
            found.setdefault(axis, []).append(str(finding["says"]))
    return found


def _name(body: Json) -> str:
    """Of an oracle that was shown: what is saved is the same."""
    return hashlib.sha256(dumps(body)).hexdigest()
