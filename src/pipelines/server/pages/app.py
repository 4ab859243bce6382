"""All pages as one ASGI application next to the API. Its errors are pages, and it accepts sign-ins, not
keys."""

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.types import Scope

from pipelines.core.limits.fair_slots import FairSlots
from pipelines.core.text.problems import Refused
from pipelines.server.errors import from_http, from_refusal, from_validation, status_of
from pipelines.server.pages import coding, home, oidc_sign_in, saved_views, search, sign_in, style
from pipelines.server.pages.agents import agent, agent_tools, agents, plan_proposals
from pipelines.server.pages.batches import batch_judges, batches, compare_batches, new_batch, report
from pipelines.server.pages.evals import compare_matrices, eval_matrix, eval_scenarios, evals
from pipelines.server.pages.page import bare_page, page
from pipelines.server.pages.reviews import review, review_item
from pipelines.server.pages.runs import (
    accept_run,
    annotations,
    coding_run,
    compare_runs,
    run_csv,
    runs,
    trace,
)
from pipelines.server.pages.settings import (
    cassette,
    models,
    settings,
    settings_keys,
    settings_live,
    settings_server,
)
from pipelines.server.pages.tasks import (
    dataset_actions,
    dataset_rules,
    datasets,
    new_dataset,
    oracle_form,
    task_form,
    tasks,
)
from pipelines.server.pages.visitor import READING, SignInNeeded, Visitor, visitor_if_any
from pipelines.server.pages.worlds import new_world, world_forms, worlds
from pipelines.wire.errors import InternalError, NotFound, OdysseyError

LONGEST_PATH = 200  # characters of an unknown address in its message
RENDERED_AT_ONCE = 3  # pages; an org has two of them


def first_part(path: str) -> str:
    return path[1:].partition("/")[0]


#: All modules with pages. The order matters: the first takes a path that fits two, such as /datasets/new.
MODULES = (
    *(home, sign_in, oidc_sign_in, style, search),
    *(agents, agent, agent_tools, plan_proposals),
    *(new_dataset, datasets, dataset_actions, dataset_rules, tasks, task_form, oracle_form, coding),
    *(new_world, worlds, world_forms),
    *(
        models,
        runs,
        run_csv,
        saved_views,
        trace,
        accept_run,
        annotations,
        coding_run,
        new_batch,
        batches,
        batch_judges,
        compare_batches,
        compare_runs,
        report,
    ),
    *(evals, eval_scenarios, eval_matrix, compare_matrices),
    *(review, review_item),
    *(settings, settings_keys, settings_live, cassette, settings_server),
)
#: The first parts of the paths that are pages. The API answers all others.
ROOTS = frozenset(first_part(route.path) for module in MODULES for route in module.router.routes) - {""}


def is_page(path: str) -> bool:
    return path == "/" or first_part(path) in ROOTS


def looks_for_page(scope: Scope) -> bool:
    """Whether a browser opens this address, which may be unknown, as a page."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return scope["method"] in READING and b"text/html" in accepted


def build_pages(state: State) -> FastAPI:
    """`state` is shared with the API and lives as long as the server."""
    # `include_router` would build every route a second time, at the first request.
    routes = [route for module in MODULES for route in module.router.routes]
    pages = FastAPI(routes=routes, docs_url=None, redoc_url=None, openapi_url=None)
    pages.state = state
    state.frames = {}
    state.rendering = FairSlots.all_but_one_each(RENDERED_AT_ONCE)

    async def on_stranger(request: Request, error: Exception) -> Response:
        return sign_in.to_sign_in(request)

    async def on_error(request: Request, error: Exception) -> Response:
        return await _error_page(request, _ours(request, error))

    for kind in (OdysseyError, Refused, RequestValidationError, HTTPException, Exception):
        pages.add_exception_handler(kind, on_error)
    pages.add_exception_handler(SignInNeeded, on_stranger)
    return pages


def _ours(request: Request, error: Exception) -> OdysseyError:
    if isinstance(error, OdysseyError):
        return error
    if isinstance(error, Refused):
        return from_refusal(error)
    if isinstance(error, RequestValidationError):
        return from_validation(error)
    if isinstance(error, HTTPException):
        if error.status_code == 404:
            return NotFound(f"There is no page at {request.url.path[:LONGEST_PATH]}.")
        return from_http(error, request)
    return InternalError()


async def _error_page(request: Request, error: OdysseyError) -> Response:
    """An error page: with the frame if the visitor is signed in, bare for server errors."""
    status = status_of(type(error))
    details = error.details if isinstance(error.details, list) else []
    problems = [found for found in details if isinstance(found, dict) and "message" in found]
    title = error.code.replace("_", " ").capitalize()
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    if visitor is None and status == 404 and request.method in READING:
        visitor = await visitor_if_any(request)
    if visitor is None or status >= 500:
        return bare_page("error.html", title=title, status=status, error=error, problems=problems)
    return await page(
        request, visitor, "error.html", title=title, here="", status=status, error=error, problems=problems
    )
