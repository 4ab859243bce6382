"""/compare/runs: two runs side by side, with their calls aligned and their divergence."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.results.align_calls import ALIKE, AlignedRow
from pipelines.core.text.json_text import JsonObject
from pipelines.engine.reports import compare_runs
from pipelines.server.api.common import MAX_ID, Ours
from pipelines.server.pages.form_fields import number_in
from pipelines.server.pages.page import page
from pipelines.server.pages.runs.trace_lines import arguments_text
from pipelines.server.pages.runs.trace_view import cause_words, took_ms, usage_of, verdict_card
from pipelines.server.pages.visitor import Reader
from pipelines.storage.runs.runs import Run
from pipelines.storage.runs.trace_steps import CallToCompare
from pipelines.wire.errors import NotFound

router = APIRouter()
WINDOW = 200
MOST_FIELDS = 200
BRIEF_CHARS = 200
RunNumber = Annotated[str, Query(max_length=40)]


@router.get("/compare/runs")
async def compare_page(
    request: Request,
    platform: Ours,
    visitor: Reader,
    from_: Annotated[str, Query(alias="from", max_length=40)] = "",
    to: RunNumber = "",
    at: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    only: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    numbers, problems = [number_in(from_), number_in(to)], {}
    for name, given, number in (("from", from_, numbers[0]), ("to", to, numbers[1])):
        if given and number is None:
            problems[name] = "must be the number of a run, such as 17"
    if numbers[0] is None or numbers[1] is None:
        return await _choice(request, platform, visitor, from_, to, problems)
    try:
        compared = await compare_runs.compare_runs(platform, visitor.org_id, numbers[0], numbers[1])
    except NotFound as error:
        return await _choice(request, platform, visitor, from_, to, {"to": error.message})
    rows = list(enumerate(compared.rows))
    if only == "differences":
        rows = [(place, row) for place, row in rows if row.kind != "alike"]
    start = min(at, max(len(rows) - 1, 0)) // WINDOW * WINDOW
    lasting, first = compared.divergence.lasting, compared.divergence.first
    marked = lasting if lasting is not None else first
    return await page(
        request,
        visitor,
        "compare_runs.html",
        title=f"Runs {numbers[0]} and {numbers[1]}",
        here="runs",
        trail=[("Runs", "/runs")],
        sides=[_side(compared.left), _side(compared.right)],
        same_task=compared.left.run.task_id == compared.right.run.task_id,
        same_world=compared.left.run.world_hash == compared.right.run.world_hash,
        rows=[_row(place, row, compared) for place, row in rows[start : start + WINDOW]],
        counts={kind: sum(row.kind == kind for row in compared.rows) for kind in _KINDS},
        kinds=_KINDS,
        total=len(compared.rows),
        listed=len(rows),
        start=start,
        window=WINDOW,
        lasting=lasting,
        first=first,
        marked=marked,
        marked_at=next((i for i, (place, _) in enumerate(rows) if place == marked), 0) // WINDOW * WINDOW,
        meets_again=_meets_again(compared.rows, first) if lasting is None else None,
        worlds=compared.worlds[:MOST_FIELDS],
        world_count=len(compared.worlds),
        differing=sum(not each.is_same for each in compared.worlds),
        world_problem=compared.world_problem,
        is_cut=compared.left.is_cut or compared.right.is_cut,
        most_calls=compare_runs.MOST_CALLS,
        too_long=compared.too_long,
        only=only,
        link=lambda **changed: (
            "/compare/runs?"
            + urlencode({"from": numbers[0], "to": numbers[1]} | ({"only": only} if only else {}) | changed)
        ),
    )


_KINDS = {
    "alike": "same call and reply",
    "text": "same call, different text in the reply",
    "reply": "same call, different reply",
    "arguments": "same tool, different arguments",
    "left": "only in the first run",
    "right": "only in the second run",
}


async def _choice(
    request: Request, platform: Any, visitor: Any, from_: str, to: str, problems: dict[str, str]
) -> Response:
    """A form to choose two runs: other runs of the same task, or any run by number."""
    run: Run | None = None
    others: list[JsonObject] = []
    number = number_in(from_)
    if number is not None:
        try:
            run, others = await compare_runs.others_of_task(platform, visitor.org_id, number)
        except NotFound as error:
            problems = problems | {"from": error.message}
    return await page(
        request,
        visitor,
        "compare_choice.html",
        title="Compare two runs",
        here="runs",
        trail=[("Runs", "/runs")],
        status=422 if problems else 200,
        run=run,
        others=others,
        problems={name: [{"message": message}] for name, message in problems.items()},
        from_text=from_,
        to_text=to,
    )


def _side(side: compare_runs.Side) -> dict[str, Any]:
    run = side.run
    card = verdict_card(run)
    return {
        "run": run,
        "agent": side.agent,
        "build": side.build,
        "asked": side.asked,
        "cause_words": cause_words(run),
        "card": card,
        "took_ms": took_ms(run),
        "usage": usage_of(run.metadata),
        "calls": len(side.calls),
        "response": run.final_response,
    }


def _row(place: int, row: AlignedRow, compared: compare_runs.ComparedRuns) -> dict[str, Any]:
    return {
        "place": place,
        "kind": row.kind,
        "differs": row.kind not in ALIKE,
        "left": _call(row.left.sequence, compared.left.calls) if row.left is not None else None,
        "right": _call(row.right.sequence, compared.right.calls) if row.right is not None else None,
    }


def _call(sequence: int, calls: dict[int, CallToCompare]) -> dict[str, Any]:
    call = calls[sequence]
    return {
        "sequence": sequence,
        "tool": call.tool_name,
        "arguments": arguments_text((call.arguments or "")[:BRIEF_CHARS]),
        "source": call.source,
        "status": call.http_status,
        "reply": (call.response or "")[:BRIEF_CHARS],
    }


def _meets_again(rows: list[AlignedRow], first: int | None) -> int | None:
    """The row after the first difference from which on the runs agree again."""
    if first is None:
        return None
    return next((place for place in range(first, len(rows)) if rows[place].kind in ALIKE), None)
