"""/views: saves a list as it is shown under a name, and deletes such a view."""

import re
from functools import partial
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response

from pipelines.core.text.problems import Problem, Refused
from pipelines.server.api.common import Id, platform_of
from pipelines.server.pages.page import go
from pipelines.server.pages.visitor import Writer, form_texts
from pipelines.storage.lists.saved_views import delete_view, save_view
from pipelines.wire.errors import NotFound

router = APIRouter()
LISTS = ("/runs", "/batches", "/evals")
LONGEST_NAME = 60
LONGEST_PATH = 2_000


@router.post("/views")
async def save(request: Request, visitor: Writer) -> Response:
    form = await form_texts(request)
    name, path = form.get("name", "").strip(), form.get("path", "")
    problems = _problems(name, path)
    if problems:
        raise Refused(problems, "the view")
    platform = platform_of(request)
    write = partial(save_view, org_id=visitor.org_id, name=name, path=path, now=platform.now())
    await platform.database.write(write)
    return go(path, f"Saved as {name}.")


@router.post("/views/{view_id}/delete")
async def delete(view_id: Id, request: Request, visitor: Writer) -> Response:
    write = partial(delete_view, org_id=visitor.org_id, view_id=view_id)
    if not await platform_of(request).database.write(write):
        raise NotFound("There is no such view.")
    return go("/runs", "The view is deleted.")


def _problems(name: str, path: str) -> list[Problem]:
    """A view leads to a list of this server and to nothing else."""
    problems = []
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        problems.append(
            Problem(path="name", message=f"must be one line of at most {LONGEST_NAME} characters")
        )
    is_list = urlsplit(path).path in LISTS and path.startswith("/") and not path.startswith("//")
    if not is_list or len(path) > LONGEST_PATH or re.search(r"[\s\\]", path):
        problems.append(
            Problem(path="path", message="must be a list of this server, such as /runs?verdict=FAIL")
        )
    return problems
