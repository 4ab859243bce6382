"""/review/rev_…: one item with its evidence, and the form to decide it."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.params import Path as PathParam

from pipelines.core.evals.reviews.review import ReviewKind, ReviewStatus, Verdict
from pipelines.core.evals.reviews.review_words import LABELS
from pipelines.core.tasks.oracle_axes import oracle_in
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.core.text.problems import Refused
from pipelines.engine.evals.queue_requested_runs import queue_requested_runs
from pipelines.engine.evals.scenario_from_run import ScenarioFields, scenario_from_run
from pipelines.engine.find import find_run
from pipelines.engine.platform import Platform
from pipelines.engine.reviews import decide_reviews
from pipelines.engine.reviews.preview_verdicts import preview_verdicts
from pipelines.engine.reviews.read_reviews import Caller, read_review
from pipelines.engine.runs.read_run import read_trace
from pipelines.engine.runs.run_changes import MOST_CHANGES, run_changes
from pipelines.server.api.common import platform_of, runner_of
from pipelines.server.pages.form_fields import number_in, read_json_text
from pipelines.server.pages.page import HEADERS, forget_counts, go, page, part
from pipelines.server.pages.reviews.review_queue import (
    WINDOW,
    QueueFilters,
    is_held,
    just_done,
    kind_label,
    listed,
    looker_of,
    next_free,
    read_queue_filters,
    verdict_label,
)
from pipelines.server.pages.visitor import CSRF_HEADER, Reader, Visitor, Writer, form_texts
from pipelines.storage.agents.agents import agent_names
from pipelines.storage.lists.builds import builds_of_runs
from pipelines.wire.errors import Conflict, ReviewClaimed

router = APIRouter()
ReviewId = Annotated[str, PathParam(max_length=64, pattern="^rev_[a-z0-9_]+$")]
MOST_CALLS = 40
NOT_A_RUN = (
    "This item has a scenario already. You can create a scenario only from an item about an ordinary run."
)


@router.get("/review/{review_id}")
async def review_item_page(review_id: ReviewId, request: Request, visitor: Reader) -> Response:
    return await _item_page(request, visitor, review_id, read_queue_filters(request.query_params))


@router.post("/review/{review_id}/claim")
async def claim(review_id: ReviewId, request: Request, visitor: Writer) -> Response:
    """Claims the item. The page sends this when it opens and every few minutes while it is open."""
    platform, caller = platform_of(request), looker_of(request, visitor)
    problem = ""
    try:
        item = await decide_reviews.claim_review(platform, caller, review_id)
    except (Conflict, ReviewClaimed) as error:
        problem = error.message
        item = await read_review(platform, caller, review_id)
    if request.headers.get("hx-request"):
        return await part(visitor, "review_lease.html", item=item, reviewer=caller.reviewer, problem=problem)
    return go(f"/review/{review_id}", problem or "You have claimed this item for 15 minutes.")


@router.post("/review/{review_id}/release")
async def release(review_id: ReviewId, request: Request, visitor: Writer) -> Response:
    platform, caller = platform_of(request), looker_of(request, visitor)
    await decide_reviews.release_review(platform, caller, review_id)
    if CSRF_HEADER in request.headers:  # a script sent it, as the person went elsewhere
        return Response(status_code=204, headers=HEADERS)
    return go("/review", "You have released the item.")


@router.post("/review/{review_id}/verdict")
async def decide(review_id: ReviewId, request: Request, visitor: Writer) -> Response:
    platform, caller = platform_of(request), looker_of(request, visitor)
    form = await form_texts(request)
    filters = read_queue_filters(form)
    waiting = (await listed(platform, caller, filters, limit=WINDOW)).items
    try:
        item = await decide_reviews.give_verdict(platform, caller, review_id, await _verdict(request, form))
    except (Refused, Conflict, ReviewClaimed) as refused:
        return await _item_page(request, visitor, review_id, filters, refused=refused, typed=form)
    if item["verdict"] == Verdict.NEEDS_MORE_RUNS:
        await queue_requested_runs(platform, runner_of(request), review_id)
    forget_counts(request, visitor.org_id)
    following = next_free(waiting, caller, review_id)
    where = f"/review/{following}" if following is not None else "/review"
    return go(where + filters.query(done=review_id), _done(item))


@router.post("/review/{review_id}/reopen")
async def reopen(review_id: ReviewId, request: Request, visitor: Writer) -> Response:
    """Reopens the item and undoes the effect of its verdict."""
    form = await form_texts(request)
    caller = looker_of(request, visitor)
    await decide_reviews.reopen_review(platform_of(request), caller, review_id, form.get("note", ""))
    forget_counts(request, visitor.org_id)
    query = read_queue_filters(form).query()
    return go(f"/review/{review_id}{query}", "The item is open again, and its decision is undone.")


@router.post("/review/{review_id}/scenario")
async def make_scenario(review_id: ReviewId, request: Request, visitor: Writer) -> Response:
    """Creates a scenario from an ordinary run. A person states the expected behaviour; it is never
    guessed."""
    platform, caller = platform_of(request), looker_of(request, visitor)
    form = await form_texts(request)
    item = await read_review(platform, caller, review_id)
    try:
        if item["scenario_id"] is not None or not isinstance(item["run_id"], int):
            raise Conflict(NOT_A_RUN)
        fields = ScenarioFields(
            name=form.get("name", "").strip(),
            risk_level=form.get("risk_level", ""),
            expected_behavior=await _json(request, form, "expected"),
        )
        scenario = await scenario_from_run(platform, visitor.org_id, item["run_id"], fields)
    except (Refused, Conflict) as refused:
        filters = read_queue_filters(form)
        return await _item_page(
            request, visitor, review_id, filters, refused=refused, typed=form, is_scenario=True
        )
    return go(f"/evals/scenarios/{scenario.scenario_id}", f"Created from run {item['run_id']}.")


async def _item_page(
    request: Request,
    visitor: Visitor,
    review_id: str,
    wanted: QueueFilters,
    *,
    refused: Refused | Conflict | ReviewClaimed | None = None,
    typed: dict[str, str] | None = None,
    is_scenario: bool = False,
) -> Response:
    platform, caller = platform_of(request), looker_of(request, visitor)
    item: dict[str, Any] = await read_review(platform, caller, review_id)
    queue = (await listed(platform, caller, wanted, limit=WINDOW)).items
    names, builds = await platform.database.read(
        lambda connection: (
            agent_names(connection, visitor.org_id, limit=WINDOW),
            builds_of_runs(connection, [item["run_id"]] if item["run_id"] else []),
        )
    )
    effects = await preview_verdicts(platform, caller, review_id) if visitor.may("contributor") else []
    voices = {voice for _, voice in effects}
    kind = ReviewKind(str(item["kind"]))
    is_run = kind in (ReviewKind.TASK_VERDICT, ReviewKind.JUDGE_ERROR)
    return await page(
        request,
        visitor,
        "review_item.html",
        title=_title(item),
        here="review",
        trail=[("Review", f"/review{wanted.query()}")],
        status=422 if refused is not None else 200,
        item=item,
        kind_label=kind_label(item["kind"]),
        wanted=wanted,
        place=_place(queue, review_id),
        agent=names.get(item["agent_id"]),
        build=builds.get(item["run_id"]),
        effects=effects,
        voice_of_all=voices.pop() if len(voices) == 1 else "",
        is_held=is_held(item, caller) and item["status"] != ReviewStatus.DECIDED,
        has_spoken=any(each["reviewer"] == caller.reviewer for each in item["verdicts"]),
        reviewer=caller.reviewer,
        run=await _run_evidence(platform, caller, item) if is_run else None,
        done=await just_done(platform, caller, request.query_params.get("done", "")),
        refusal=_problem(refused),
        problem="",
        problems=refused.problems if isinstance(refused, Refused) else [],
        typed=typed or {},
        is_scenario=is_scenario,
        verdict_label=verdict_label,
        labels={verdict.value: label for verdict, label in LABELS.items()},
    )


async def _run_evidence(platform: Platform, caller: Caller, item: dict[str, Any]) -> JsonObject:
    """The request, calls and changes of an ordinary run, and its oracle."""
    run_id = int(item["run_id"])
    run = await find_run(platform, caller.org_id, run_id)
    rows, is_more = await read_trace(
        platform, caller.org_id, run_id, kind="tool_call", after=None, limit=MOST_CALLS
    )
    changed = await run_changes(platform, caller.org_id, run_id)
    oracle: JsonObject = {axis: held for axis, held in oracle_in(run.seed_text).items() if held is not None}
    changes: list[Any] = list(changed[:MOST_CHANGES])
    return {
        "id": run_id,
        "asked": run.seed.user_instruction,
        "response": run.final_response,
        "task_id": run.task_id,
        "oracle": oracle,
        "calls": [row.as_json() for row in rows],
        "has_more_calls": is_more,
        "changes": changes,
        "has_more_changes": len(changed) > MOST_CHANGES,
        "expected": _written(_object_in(run.final_response)),
    }


async def _verdict(request: Request, form: dict[str, str]) -> JsonObject:
    body: JsonObject = {"verdict": form.get("verdict", ""), "note": form.get("note", "")}
    labels: list[Json] = [label.strip() for label in form.get("labels", "").split(",") if label.strip()]
    body |= {"labels": labels} if labels else {}
    chosen = form.get("verdict")
    if chosen == Verdict.NEEDS_MORE_RUNS and form.get("runs"):
        number = number_in(form["runs"])
        body |= {"runs": number if number is not None else form["runs"][:40]}
    if chosen == Verdict.ACCEPTABLE_SHIFT and form.get("expected_behavior", "").strip():
        body |= {"expected_behavior": await _json(request, form, "expected_behavior")}
    return body


async def _json(request: Request, form: dict[str, str], name: str) -> Json:
    return await read_json_text(request, form.get(name, ""), name)


def _object_in(text: Json) -> JsonObject | None:
    """The answer as a JSON object; None for prose."""
    if not isinstance(text, str) or len(text) > 20_000 or not text.lstrip().startswith("{"):
        return None
    try:
        value = loads(text.encode())
    except InvalidJson:
        return None
    return value if isinstance(value, dict) else None


def _written(value: JsonObject | None) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) if value is not None else ""


def _place(queue: list[JsonObject], review_id: str) -> JsonObject:
    """The position of the item in the list, and its neighbours."""
    ids: list[Json] = [item["id"] for item in queue]
    if review_id not in ids:
        return {"number": None, "of": len(ids), "before": None, "after": ids[0] if ids else None}
    at = ids.index(review_id)
    return {
        "number": at + 1,
        "of": len(ids),
        "before": ids[at - 1] if at else None,
        "after": ids[at + 1] if at + 1 < len(ids) else None,
    }


def _title(item: dict[str, Any]) -> str:
    if item["scenario_name"]:
        variation = str(item["variation"] or "baseline").replace("_", " ")
        return f"{item['scenario_name']}: {variation}"
    return f"Run {item['run_id']}"


def _done(item: dict[str, Any]) -> str:
    if item["status"] == ReviewStatus.DECIDED:
        return f"Decided: {verdict_label(str(item['verdict']))}."
    if item["status"] == ReviewStatus.DISPUTED:
        return "Saved. The reviewers disagree, so one more person must decide."
    return f"Saved. Verdicts still needed: {item['reviewers_missing']}."


def _problem(refused: Refused | Conflict | ReviewClaimed | None) -> str:
    if refused is None:
        return ""
    return "This action failed." if isinstance(refused, Refused) else refused.message
