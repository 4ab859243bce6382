"""Seed sessions: one shared world, reviewed; then rows made of it, looked through and made a dataset."""

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from pipelines.core.tasks.seed_limits import LARGEST_STATE
from pipelines.core.tasks.seed_session import read_only_revision, read_revision
from pipelines.core.text.json_text import InvalidJson
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.engine.worlds import estimate_session, review_rows, review_world
from pipelines.engine.worlds.finalize_session import finalize_session as finalized
from pipelines.engine.worlds.generate_rows import RowGenerator
from pipelines.engine.worlds.open_session import find_session, read_session, session_json
from pipelines.engine.worlds.open_session import open_session as opened
from pipelines.server.api.common import (
    Contributor,
    Cursor,
    Id,
    Limit,
    OptionalId,
    Ours,
    Viewer,
    answer,
    answer_page,
    at_once,
    check_is_json,
    id_cursor,
    is_still_known,
    json_body,
    read_body,
    read_json_object,
    read_optional_object,
)
from pipelines.server.api.schemas import session_bodies as schemas
from pipelines.server.api.schemas.bodies import EVENTS
from pipelines.server.service.batch_watches import BatchWatches, while_welcome
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import world_revisions
from pipelines.storage.tasks.seed_sessions import SeedSession, sessions_of_org
from pipelines.storage.tasks.world_revisions import WorldRevision
from pipelines.wire.errors import InvalidJsonBody

router = APIRouter(prefix="/api/seed-sessions", tags=["seed sessions"])
KIBIBYTE = 1024
LARGEST_PASTE = LARGEST_STATE + 64 * KIBIBYTE  # the world, and what stands around it
Status = Literal["world_review", "rows_generating", "rows_review", "finalized", "abandoned"]


def generator_of(request: Request) -> RowGenerator:
    generator: RowGenerator = request.app.state.row_generator
    return generator


def _watches_of(request: Request) -> BatchWatches:
    watches: BatchWatches = request.app.state.session_watches
    return watches


Generator = Annotated[RowGenerator, at_once(generator_of)]
IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", description="the revision that was looked at, as `revision` in the body"),
]


def _seen(if_match: str | None) -> int | None:
    """The revision of an If-Match header: an entity tag or a plain number; `*` means any."""
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        problem = Problem(path="If-Match", message="must be the number of a revision, or *")
        raise Refused([problem], "the headers")
    return read_revision(int(text), "If-Match")


@router.post("", status_code=201, openapi_extra=json_body(schemas.SEED_SESSION))
async def create_seed_session(request: Request, platform: Ours, key: Contributor) -> Response:
    """Make a world for an agent's tools, to be reviewed. Rows are made of it once you continue.

    Without `buckets` some are chosen, and `buckets_chosen` says so. The same `rng_seed`, `now` and agent give
    the same bytes.
    """
    session = await opened(platform, key.org_id, key.name, await read_json_object(request))
    return await _answer_session(platform, session, 201)


@router.post("/estimate", openapi_extra=json_body(schemas.SEED_SESSION))
async def estimate_new_seed_session(request: Request, platform: Ours, key: Contributor) -> Response:
    """What a session would ask of a model, about, and what that costs. Nothing is asked or stored.

    Takes what opening one takes. The cost is null where nobody knows the model's price.
    """
    body = await read_json_object(request)
    return answer(await estimate_session.estimate_new_session(platform, key.org_id, body))


@router.get("")
async def list_seed_sessions(
    platform: Ours,
    key: Viewer,
    agent_id: OptionalId = None,
    status: Status | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's seed sessions, newest first."""
    before_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: sessions_of_org(
            connection, key.org_id, agent_id=agent_id, status=status, limit=limit, before_id=before_id
        )
    )
    return answer_page(page)


@router.get("/{session_id}")
async def get_seed_session(session_id: Id, platform: Ours, key: Viewer) -> Response:
    """The session, its buckets and how far each is, and why drafts were rejected."""
    return answer(await read_session(platform, key.org_id, session_id))


@router.get("/{session_id}/estimate")
async def estimate_seed_session(session_id: Id, platform: Ours, key: Viewer) -> Response:
    """What its rows will still ask of a model, about, and what that costs."""
    return answer(await estimate_session.estimate_session(platform, key.org_id, session_id))


@router.get("/{session_id}/events", responses=EVENTS)
async def get_seed_session_events(
    session_id: Id,
    request: Request,
    platform: Ours,
    key: Viewer,
    watches: Annotated[BatchWatches, at_once(_watches_of)],
) -> Response:
    """Rows being made, as server-sent events: `progress` at each change, `end` when all are made."""
    await find_session(platform, key.org_id, session_id)
    return StreamingResponse(
        while_welcome(watches.events(key.org_id, session_id), partial(is_still_known, request)),
        media_type="text/event-stream",
        headers={"cache-control": "no-cache"},
    )


@router.get("/{session_id}/world")
async def get_world(
    session_id: Id,
    platform: Ours,
    key: Viewer,
    revision: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="the present one")] = None,
) -> Response:
    """The session's world: its types and how many of each, notes, advisories, and the whole state."""
    world = await review_world.read_world(platform, key.org_id, session_id, revision)
    response = answer(world)
    response.headers["etag"] = f'"{world["revision"]}"'
    return response


@router.put("/{session_id}/world", openapi_extra=json_body(schemas.PASTED_WORLD))
async def paste_world(
    session_id: Id, request: Request, platform: Ours, key: Contributor, if_match: IfMatch = None
) -> Response:
    """Your own world in place of the present one: `{state, revision?}`, checked whole and refused whole."""
    seen = _seen(if_match)
    check_is_json(request)
    body = await read_body(request, LARGEST_PASTE)
    try:
        revision = await review_world.paste_world(
            platform, key.org_id, session_id, key.name, body, is_body=True, seen=seen
        )
    except InvalidJson as error:
        raise InvalidJsonBody(f"The body cannot be read: {error}.") from None
    finally:
        if not isinstance(body, bytes):
            body.close()
    return _revised(revision)


@router.post("/{session_id}/world/refine", openapi_extra=json_body(schemas.REFINEMENT))
async def refine_world(
    session_id: Id, request: Request, platform: Ours, key: Contributor, if_match: IfMatch = None
) -> Response:
    """Change the world by a sentence. What is not asked about keeps its ids and values."""
    seen, body = _seen(if_match), await read_json_object(request)
    return _revised(
        await review_world.refine_world(platform, key.org_id, session_id, key.name, body, seen=seen)
    )


@router.post("/{session_id}/world/regenerate", openapi_extra=json_body(schemas.REGENERATION, required=False))
async def regenerate_world(
    session_id: Id, request: Request, platform: Ours, key: Contributor, if_match: IfMatch = None
) -> Response:
    """Make the world anew, with other chances or with the `rng_seed` given."""
    seen, body = _seen(if_match), await read_optional_object(request)
    return _revised(
        await review_world.regenerate_world(platform, key.org_id, session_id, key.name, body, seen=seen)
    )


@router.post("/{session_id}/world/undo", openapi_extra=json_body(schemas.OF_REVISION, required=False))
async def undo_world(
    session_id: Id, request: Request, platform: Ours, key: Contributor, if_match: IfMatch = None
) -> Response:
    """Back to the world before the latest change that still stands, as a new revision."""
    seen = await _seen_in_body(request, if_match)
    return _revised(await review_world.undo_world(platform, key.org_id, session_id, key.name, seen=seen))


@router.get("/{session_id}/revisions")
async def list_revisions(
    session_id: Id, platform: Ours, key: Viewer, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Every revision of the world, newest first, each with how it differs from the one before."""
    await find_session(platform, key.org_id, session_id)
    before = id_cursor(cursor)
    page = await platform.database.read(
        partial(world_revisions.revisions_of_session, session_id=session_id, limit=limit, before=before)
    )
    return answer_page(page)


@router.post(
    "/{session_id}/continue",
    status_code=202,
    openapi_extra=json_body(schemas.OF_REVISION, required=False),
)
async def continue_seed_session(
    session_id: Id,
    request: Request,
    platform: Ours,
    generator: Generator,
    key: Contributor,
    if_match: IfMatch = None,
) -> Response:
    """Freeze the world and start on the rows."""
    seen, body = _seen(if_match), await read_optional_object(request)
    session = await review_rows.continue_session(platform, generator, key.org_id, session_id, body, seen=seen)
    return await _answer_session(platform, session, 202)


@router.post(
    "/{session_id}/resume", status_code=202, openapi_extra=json_body(schemas.RESUMED, required=False)
)
async def resume_seed_session(
    session_id: Id, request: Request, platform: Ours, generator: Generator, key: Contributor
) -> Response:
    """Go on with buckets that ended with fewer rows than wanted, with another budget for models if given.

    While the world is reviewed only the budget is changed.
    """
    body = await read_optional_object(request)
    session = await review_rows.resume_session(platform, generator, key.org_id, session_id, body)
    return await _answer_session(platform, session, 202)


@router.get("/{session_id}/rows")
async def list_rows(
    session_id: Id,
    platform: Ours,
    key: Viewer,
    status: Annotated[review_rows.RowFilter, Query()] = "kept",
    bucket: Annotated[int | None, Query(ge=1, le=1000, description="its number")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Rows as they were made, each with its oracle and its proof; rejected ones with the reason."""
    page = await review_rows.list_rows(
        platform,
        key.org_id,
        session_id,
        shown=status,
        bucket=bucket,
        limit=limit,
        after_id=id_cursor(cursor),
    )
    return answer_page(page)


@router.get("/{session_id}/coverage")
async def get_coverage(session_id: Id, platform: Ours, key: Viewer) -> Response:
    """What the kept rows are about, counted: tools, outcomes, failures, how many calls."""
    return answer(await review_rows.read_coverage(platform, key.org_id, session_id))


@router.put("/{session_id}/rows/{row_id}", openapi_extra=json_body(schemas.ROW_TEXT))
async def rewrite_row(
    session_id: Id, row_id: Id, request: Request, platform: Ours, key: Contributor
) -> Response:
    """Give a kept row another text. Its reference calls and its oracle stay."""
    body = await read_json_object(request)
    rewritten = await review_rows.rewrite_row(platform, key.org_id, session_id, row_id, body)
    return answer(rewritten.row.as_json())


@router.delete("/{session_id}/rows/{row_id}")
async def drop_row(session_id: Id, row_id: Id, platform: Ours, key: Contributor) -> Response:
    """Leave a row out; its bucket wants one less."""
    return answer((await review_rows.drop_row(platform, key.org_id, session_id, row_id)).as_json())


@router.post("/{session_id}/rows/{row_id}/regenerate", status_code=202)
async def regenerate_row(
    session_id: Id, row_id: Id, platform: Ours, generator: Generator, key: Contributor
) -> Response:
    """Leave a row out and make another in its place."""
    session = await review_rows.regenerate_row(platform, generator, key.org_id, session_id, row_id)
    return await _answer_session(platform, session, 202)


@router.delete("/{session_id}/buckets/{number}")
async def drop_bucket(session_id: Id, number: Id, platform: Ours, key: Contributor) -> Response:
    """Leave all rows of a bucket out."""
    return answer((await review_rows.drop_bucket(platform, key.org_id, session_id, number)).as_json())


@router.post("/{session_id}/buckets/{number}/regenerate", status_code=202)
async def regenerate_bucket(
    session_id: Id, number: Id, platform: Ours, generator: Generator, key: Contributor
) -> Response:
    """Leave all rows of a bucket out and make as many others as were asked for."""
    session = await review_rows.regenerate_bucket(platform, generator, key.org_id, session_id, number)
    return await _answer_session(platform, session, 202)


@router.post("/{session_id}/finalize", status_code=201)
async def finalize_seed_session(session_id: Id, platform: Ours, key: Contributor) -> Response:
    """Make a dataset of the kept rows; every task starts from the frozen world. `dataset_id` names it."""
    return await _answer_session(platform, await finalized(platform, key.org_id, session_id), 201)


@router.post("/{session_id}/abandon")
async def abandon_seed_session(session_id: Id, platform: Ours, key: Contributor) -> Response:
    """End the session without a dataset; it stays to be looked at."""
    return await _answer_session(
        platform, await review_rows.abandon_session(platform, key.org_id, session_id), 200
    )


async def _seen_in_body(request: Request, if_match: str | None) -> int | None:
    return read_only_revision(await read_optional_object(request)) or _seen(if_match)


async def _answer_session(platform: Platform, session: SeedSession, status: int) -> Response:
    def read(connection: Connection) -> Any:
        return session_json(connection, session)

    return answer(await platform.database.read(read), status)


def _revised(revision: WorldRevision) -> Response:
    response = answer({"session_id": revision.session_id} | revision.as_json() | revision.told)
    response.headers["etag"] = f'"{revision.number}"'
    return response
