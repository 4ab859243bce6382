"""The actions of a seed session's page. A refused form keeps its input."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response

from pipelines.core.tasks.seed_limits import LARGEST_STATE
from pipelines.core.text.json_text import InvalidJson
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.worlds import review_rows, review_world
from pipelines.engine.worlds.finalize_session import finalize_session
from pipelines.server.api.common import Id, platform_of
from pipelines.server.api.seed_sessions import generator_of
from pipelines.server.errors import status_of
from pipelines.server.pages.form_fields import budget_in, number_in
from pipelines.server.pages.page import go
from pipelines.server.pages.visitor import Visitor, Writer, form_texts
from pipelines.server.pages.worlds.worlds import Refusal, session_page
from pipelines.storage.tasks.seed_sessions import SeedSession
from pipelines.wire.errors import NotFound, OdysseyError

router = APIRouter()
Result = TypeVar("Result")
MOST_PASTED = LARGEST_STATE + 64 * 1024


@router.post("/worlds/{session_id}/refine")
async def refine(session_id: Id, request: Request, visitor: Writer) -> Response:
    form = await form_texts(request)
    body: Any = {"prompt": form.get("prompt", ""), "revision": number_in(form.get("revision", ""))}
    action = review_world.refine_world(
        platform_of(request), visitor.org_id, session_id, visitor.identity.name, body
    )
    return await _done(
        request,
        visitor,
        session_id,
        action,
        lambda made: str(made.told.get("said") or "The world is changed."),
        at="refine",
        typed={"prompt": str(body["prompt"])},
    )


@router.post("/worlds/{session_id}/regenerate")
async def regenerate(session_id: Id, request: Request, visitor: Writer) -> Response:
    seen = number_in((await form_texts(request)).get("revision", ""))
    action = review_world.regenerate_world(
        platform_of(request), visitor.org_id, session_id, visitor.identity.name, {}, seen=seen
    )
    return await _done(request, visitor, session_id, action, "A new world is created.")


@router.post("/worlds/{session_id}/paste")
async def paste(session_id: Id, request: Request, visitor: Writer) -> Response:
    form = await form_texts(request, MOST_PASTED)
    text = form.get("state", "")

    async def action() -> None:
        try:
            await review_world.paste_world(
                platform_of(request),
                visitor.org_id,
                session_id,
                visitor.identity.name,
                text.encode("utf-8", "replace"),
                is_body=False,
                seen=number_in(form.get("revision", "")),
            )
        except InvalidJson as error:
            hint = "check for a missing comma or quote there"
            problem = Problem(path="", message=f"This is not JSON: {error}", hint=hint)
            raise Refused([problem], "the world") from None

    message = "Your world replaces the previous one."
    return await _done(request, visitor, session_id, action(), message, at="paste", typed={"state": text})


@router.post("/worlds/{session_id}/undo")
async def undo(session_id: Id, request: Request, visitor: Writer) -> Response:
    seen = number_in((await form_texts(request)).get("revision", ""))
    action = review_world.undo_world(
        platform_of(request), visitor.org_id, session_id, visitor.identity.name, seen=seen
    )
    return await _done(request, visitor, session_id, action, "The previous world is restored.")


@router.post("/worlds/{session_id}/continue")
async def go_on(session_id: Id, request: Request, visitor: Writer) -> Response:
    seen = number_in((await form_texts(request)).get("revision", ""))
    action = review_rows.continue_session(
        platform_of(request), generator_of(request), visitor.org_id, session_id, {}, seen=seen
    )
    message = "The world is frozen. The rows are being generated."
    return await _done(request, visitor, session_id, action, message)


@router.post("/worlds/{session_id}/rows/{row_id}/drop")
async def drop_row(session_id: Id, row_id: Id, request: Request, visitor: Writer) -> Response:
    action = review_rows.drop_row(platform_of(request), visitor.org_id, session_id, row_id)
    return await _done(request, visitor, session_id, action, f"Row {row_id} is dropped.")


@router.post("/worlds/{session_id}/rows/{row_id}/regenerate")
async def regenerate_row(session_id: Id, row_id: Id, request: Request, visitor: Writer) -> Response:
    action = review_rows.regenerate_row(
        platform_of(request), generator_of(request), visitor.org_id, session_id, row_id
    )
    return await _done(request, visitor, session_id, action, f"A new row replaces row {row_id}.")


@router.post("/worlds/{session_id}/buckets/{number}/drop")
async def drop_bucket(session_id: Id, number: Id, request: Request, visitor: Writer) -> Response:
    action = review_rows.drop_bucket(platform_of(request), visitor.org_id, session_id, number)
    return await _done(
        request, visitor, session_id, action, lambda bucket: f"The rows of {bucket.name} are dropped."
    )


@router.post("/worlds/{session_id}/buckets/{number}/regenerate")
async def regenerate_bucket(session_id: Id, number: Id, request: Request, visitor: Writer) -> Response:
    action = review_rows.regenerate_bucket(
        platform_of(request), generator_of(request), visitor.org_id, session_id, number
    )
    message = "The rows of the bucket are being generated again."
    return await _done(request, visitor, session_id, action, message)


@router.post("/worlds/{session_id}/resume")
async def resume(session_id: Id, request: Request, visitor: Writer) -> Response:
    form = await form_texts(request)
    body: Any = {}
    if form.get("budget"):  # the whole of it stands in the form: what is empty there is no limit
        body = {"max_cost_usd": None, "max_model_tokens": None} | budget_in(form)
    action = review_rows.resume_session(
        platform_of(request), generator_of(request), visitor.org_id, session_id, body
    )
    typed = {name: form.get(name, "")[:40] for name in ("max_cost_usd", "max_model_tokens")} if body else {}
    return await _done(
        request, visitor, session_id, action, _resumed, at="budget" if body else "", typed=typed
    )


def _resumed(session: SeedSession) -> str:
    is_generating = session.status == "rows_generating"
    return "The missing rows are being generated." if is_generating else "The budget is set."


@router.post("/worlds/{session_id}/finalize")
async def finalize(session_id: Id, request: Request, visitor: Writer) -> Response:
    action = finalize_session(platform_of(request), visitor.org_id, session_id)
    message = "The dataset is created. Each of its tasks starts from this world."
    return await _done(request, visitor, session_id, action, message)


@router.post("/worlds/{session_id}/abandon")
async def abandon(session_id: Id, request: Request, visitor: Writer) -> Response:
    action = review_rows.abandon_session(platform_of(request), visitor.org_id, session_id)
    return await _done(request, visitor, session_id, action, "The session is abandoned.")


async def _done(
    request: Request,
    visitor: Visitor,
    session_id: int,
    action: Awaitable[Result],
    said: str | Callable[[Result], str],
    *,
    at: str = "",
    typed: dict[str, str] | None = None,
) -> Response:
    """Performs the action and redirects to the page; if it is refused, shows the page with the problems."""
    try:
        result = await action
    except NotFound:
        raise
    except Refused as refused:
        refusal = Refusal(at=at, problems=tuple(refused.problems), typed=typed or {}, status=422)
        return await session_page(request, visitor, session_id, refusal=refusal)
    except OdysseyError as error:
        refusal = Refusal(at="", said=error.message, typed=typed or {}, status=status_of(type(error)))
        return await session_page(request, visitor, session_id, refusal=refusal)
    return go(f"/worlds/{session_id}", said if isinstance(said, str) else said(result))
