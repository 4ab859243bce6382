"""/review: the queue, decisions on several items at once, and progress per person."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.evals.reviews.review import RISK_RANKS, ReviewKind, Verdict
from pipelines.core.evals.reviews.review_requests import read_bulk
from pipelines.core.evals.reviews.review_words import KINDS, effects_in_general
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.engine.evals.queue_requested_runs import queue_requested_runs
from pipelines.engine.judging.read_judges import read_calibration
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.decide_reviews import act_on_several
from pipelines.engine.reviews.read_reviews import (
    change_settings,
    read_agreement,
    read_progress,
    read_settings,
)
from pipelines.server.api.common import platform_of, runner_of
from pipelines.server.pages.page import forget_counts, go, page
from pipelines.server.pages.reviews.review_queue import (
    NAME_COOKIE,
    SHOWN,
    STATUSES,
    cursor_of,
    is_free,
    just_done,
    kind_label,
    listed,
    looker_of,
    name_cookie,
    next_free,
    read_queue_filters,
    verdict_label,
)
from pipelines.server.pages.visitor import Keeper, Reader, Writer, form_texts, read_form
from pipelines.server.service.review_watch import ReviewWatch
from pipelines.storage.agents.agents import agent_names
from pipelines.storage.database.connection import Connection
from pipelines.storage.lists.summaries import instructions_of_runs

router = APIRouter()
MOST_AGENTS = 200
YEAR_S = 365 * 24 * 3600
AGREEMENT_KINDS = ("shift", "task_verdict", "audit")


@router.get("/review")
async def review_page(
    request: Request, visitor: Reader, cursor: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    platform = platform_of(request)
    filters = read_queue_filters(request.query_params)
    watch: ReviewWatch = request.app.state.review_watch
    await watch.look()  # what has ended by now is among what is shown
    caller = looker_of(request, visitor)
    found = await listed(platform, caller, filters, limit=SHOWN, cursor=cursor)
    names, instructions = await platform.database.read(
        lambda connection: _names_and_requests(connection, visitor.org_id, found.items)
    )
    more = cursor_of(found)
    return await page(
        request,
        visitor,
        "review.html",
        title="Review",
        here="review",
        wanted=filters,
        items=[_row(item, instructions) for item in found.items],
        first=next_free(found.items, caller, "") if not cursor else None,
        free=sum(1 for item in found.items if is_free(item, caller)),
        more=f"/review{filters.query(cursor=more)}" if more else None,
        back=f"/review{filters.query()}" if cursor else None,
        agents=names,
        statuses=STATUSES,
        kinds=KINDS,
        risks=tuple(RISK_RANKS),
        effects=effects_in_general(ReviewKind(filters.kind)) if filters.kind else [],
        reviewer=caller.reviewer,
        progress=await read_progress(platform, visitor.org_id, since=None),
        agreement=await _agreement(platform, visitor.org_id),
        judges=(await read_calibration(platform, visitor.org_id))["items"],
        settings=await read_settings(platform, visitor.org_id),
        verdict_label=verdict_label,
        done=await just_done(platform, caller, request.query_params.get("done", "")),
    )


@router.post("/review/bulk")
async def bulk(request: Request, visitor: Writer) -> Response:
    form, texts = await read_form(request), await form_texts(request)
    filters = read_queue_filters(texts)
    action = texts.get("action", "")
    body: JsonObject = {"action": action, "ids": [str(id) for id in form.getlist("id")]}
    if action == "verdict":
        body |= {key: texts[key] for key in ("verdict", "note") if texts.get(key)}
    if not body["ids"]:
        return go(f"/review{filters.query()}", "Select at least one item first.")
    if action == "verdict" and "verdict" not in body:
        return go(f"/review{filters.query()}", "Choose a verdict first.")
    platform, caller = platform_of(request), looker_of(request, visitor)
    bulk_request = read_bulk(body)
    results = await act_on_several(platform, caller, bulk_request)
    for result in results:
        if result["ok"] and bulk_request.verdict.get("verdict") == Verdict.NEEDS_MORE_RUNS:
            await queue_requested_runs(platform, runner_of(request), str(result["id"]))
    forget_counts(request, visitor.org_id)
    return go(f"/review{filters.query()}", _result_message(results, action))


@router.post("/review/as")
async def review_as(request: Request, visitor: Writer) -> Response:
    """Stores the reviewer's name in a cookie, for keys that several people share."""
    form = await form_texts(request)
    response = go(form.get("back", "") if form.get("back", "").startswith("/review") else "/review")
    name = name_cookie(form.get("name", ""))
    if name:
        response.set_cookie(NAME_COOKIE, name, max_age=YEAR_S, httponly=True, samesite="lax")
    else:
        response.delete_cookie(NAME_COOKIE)
    return response


@router.post("/review/settings")
async def change_review_settings(request: Request, visitor: Keeper) -> Response:
    form = await form_texts(request)
    body: JsonObject = {"blind": form.get("blind") == "yes"}
    body |= {"reviewers_wanted": _number(form.get("reviewers_wanted", ""))}
    share = _number(form.get("audit_percent", ""))
    body |= {"audit_share": share / 100 if isinstance(share, int | float) else share}
    await change_settings(platform_of(request), visitor.org_id, body)
    return go("/review", "Saved. The settings apply to reviews opened from now on.")


def _number(text: str) -> Json:
    """The number in a field; a text that is not a number stays, and the API refuses it by name."""
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text[:40]


def _names_and_requests(
    connection: Connection, org_id: int, items: list[JsonObject]
) -> tuple[dict[int, str], dict[int, str | None]]:
    """The names of the agents, and the user requests of the runs of the items."""
    run_ids = [item["run_id"] for item in items if item["scenario_id"] is None]
    instructions = instructions_of_runs(
        connection, org_id=org_id, run_ids=[id for id in run_ids if isinstance(id, int)]
    )
    texts = {run_id: of.user_instruction for run_id, of in instructions.items()}
    return agent_names(connection, org_id, limit=MOST_AGENTS), texts


def _row(item: JsonObject, asked: dict[int, str | None]) -> JsonObject:
    run_id = item["run_id"]
    return item | {
        "kind_label": kind_label(str(item["kind"])),
        "asked": asked.get(run_id) if isinstance(run_id, int) else None,
    }


async def _agreement(platform: Platform, org_id: int) -> list[JsonObject]:
    """The agreement of reviewers, by kind of item."""
    found = await asyncio.gather(
        *(read_agreement(platform, org_id, kind=kind, since=None) for kind in AGREEMENT_KINDS)
    )
    return [each for each in found if each.get("items")]


def _result_message(results: list[JsonObject], action: str) -> str:
    done = sum(1 for result in results if result["ok"])
    word = {"claim": "taken", "release": "released"}.get(action, "decided")
    message = f"{done} of {len(results)} {word}."
    problems = list(dict.fromkeys(_refusal(result) for result in results if not result["ok"]))
    return " ".join([message, *problems[:3]])


def _refusal(result: JsonObject) -> str:
    error = result.get("error")
    return str(error.get("message", "")) if isinstance(error, dict) else ""
