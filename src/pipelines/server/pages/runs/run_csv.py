"""/runs.csv: a list of runs as a file, with the filters, the order and the columns of the page."""

import csv
import io
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from pipelines.core.text.problems import Refused
from pipelines.core.text.spreadsheet import spreadsheet_value
from pipelines.engine.platform import Platform
from pipelines.server.api.common import platform_of
from pipelines.server.pages.runs.run_query import USUAL_COLUMNS, RunQuery, read_run_query
from pipelines.server.pages.runs.runs import run_took_ms
from pipelines.server.pages.visitor import Reader
from pipelines.storage.lists.run_lists import RunPage, run_page

router = APIRouter()
AT_ONCE = 500
MOST_ROWS = 100_000

Cell = Callable[[Any], object]
ALWAYS: Mapping[str, Cell] = {
    "run": lambda run: run["id"],
    "batch": lambda run: run["batch_id"],
    "repeat": lambda run: run["repeat_number"],
    "verdict": lambda run: run["verdict"],
    "why": lambda run: run["failure_mode"] or run["pending_reason"] or run["error_class"],
    "task": lambda run: run["row_number"],
    "task_key": lambda run: run["task_key"],
    "request": lambda run: run["user_instruction"],
}
CHOSEN: Mapping[str, Mapping[str, Cell]] = {
    "reason": {"first_reason": lambda run: run["reason"]},
    "people": {"people": lambda run: run["human_verdict"]},
    "agent": {
        "agent": lambda run: run["agent_name"],
        "version": lambda run: run["agent_version"],
        "label": lambda run: run["build"] and (run["build"].label or run["build"].reported_build),
    },
    "status": {"status": lambda run: run["status"]},
    "calls": {"calls": lambda run: run["calls_total"]},
    "duration": {"took_ms": run_took_ms},
    "tokens": {"tokens": lambda run: run["tokens"]},
    "cost": {"cost_usd": lambda run: run["cost_usd"]},
    "started": {"started_at": lambda run: run["started_at"] or run["created_at"]},
}


@router.get("/runs.csv")
async def runs_csv(request: Request, visitor: Reader) -> Response:
    """Every run of the view, not only those of one page."""
    query = read_run_query(
        request.query_params, visitor.org_id, columns=request.query_params.getlist("column")
    )
    if query.problems:
        raise Refused(query.problems, "the view")
    columns = dict(ALWAYS)
    for name in query.columns or USUAL_COLUMNS:
        columns |= CHOSEN[name]
    return StreamingResponse(
        _lines(platform_of(request), query, columns),
        media_type="text/csv; charset=utf-8",
        headers={
            "content-disposition": 'attachment; filename="runs.csv"',
            "x-content-type-options": "nosniff",
        },
    )


async def _lines(platform: Platform, query: RunQuery, columns: Mapping[str, Cell]) -> AsyncIterator[bytes]:
    yield _line([*columns])
    place, written = None, 0
    while written < MOST_ROWS:
        listed = await platform.database.read_for_batch(_reader(query, place))
        for run in listed.items:
            yield _line([cell(run) for cell in columns.values()])
        written += len(listed.items)
        place = listed.last_id
        if place is None:
            return


def _reader(query: RunQuery, place: int | None) -> Callable[[Any], RunPage]:
    return lambda connection: run_page(connection, query.wanted, limit=AT_ONCE, before_id=place)


def _line(values: Sequence[object]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([spreadsheet_value(value) for value in values])
    return text.getvalue().encode()
