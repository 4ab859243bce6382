"""/search: finds agents, datasets, tasks, batches, runs, worlds and scenarios by number or words, and offers
commands."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from pipelines.server.api.common import platform_of
from pipelines.server.pages.commands import commands_for
from pipelines.server.pages.page import page
from pipelines.server.pages.visitor import Reader
from pipelines.storage.lists.finder import Found, find

router = APIRouter()
LONGEST = 200  # characters of a search
#: The path of the page of each kind.
PATHS = {
    "agent": "/agents/{}",
    "dataset": "/datasets/{}",
    "task": "/tasks/{}",
    "batch": "/batches/{}",
    "run": "/runs/{}",
    "world": "/worlds/{}",
    "scenario": "/evals/scenarios/{}",
    "matrix": "/evals/{}",
}


@router.get("/search")
async def search_page(
    request: Request,
    visitor: Reader,
    q: Annotated[str, Query(max_length=2_000)] = "",
    open: Annotated[Literal["yes", ""], Query()] = "",
) -> Response:
    """With `open=yes`, as the forms send it, a single hit is opened."""
    words = q.replace("\x00", "").strip()[:LONGEST]
    found: list[Found] = await platform_of(request).database.read(
        lambda connection: find(connection, visitor.org_id, words)
    )
    results = [(each, PATHS[each.kind].format(each.id)) for each in found]
    commands = commands_for(words, visitor.may)
    paths = [path for _, path in (*commands, *results)]
    if open and words and len(paths) == 1:
        return RedirectResponse(paths[0], 303)
    return await page(
        request,
        visitor,
        "search.html",
        title="Find",
        here="",
        asked=words,
        commands=commands,
        found=results,
    )
