"""/worlds: the list of seed sessions, one session, and its world as tables."""

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from pipelines.core.ledger.world_difference import change_from_json
from pipelines.core.tasks.seed_session import EMBEDDED, ROWS_REVIEW, STATUSES, WORLD_REVIEW
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.failure_rules import rule_from_stored
from pipelines.core.tools.failure_words import rule_in_words
from pipelines.engine.worlds import review_rows, review_world
from pipelines.engine.worlds.estimate_session import estimate_session
from pipelines.engine.worlds.open_session import find_session, session_json
from pipelines.server.api.common import MAX_ID, Id, platform_of
from pipelines.server.pages.page import page
from pipelines.server.pages.tasks.datasets import AGENTS_OFFERED, ChosenId
from pipelines.server.pages.visitor import Reader, Visitor, who_signed_in
from pipelines.server.service.batch_watches import BatchWatches, while_welcome
from pipelines.storage.agents.agents import agent_names
from pipelines.storage.database.connection import Connection
from pipelines.storage.lists.dataset_lists import agent_choices
from pipelines.storage.tasks import seed_rows, seed_sessions, world_revisions
from pipelines.storage.tasks.seed_rows import SeedRow
from pipelines.storage.tasks.seed_sessions import SeedSession
from pipelines.storage.tasks.world_revisions import WorldRevision
from pipelines.wire.errors import ModelFailed, ModelNotConfigured

router = APIRouter()
SHOWN = 50
ENTITIES = 25  # of a type on the session's page; its own page has more
ENTITIES_OF_TYPE = 200
REVISIONS = 12
ROWS = 50
#: The names of the statuses on the page.
STEPS = {
    "world_review": "reviewing the world",
    "rows_generating": "generating rows",
    "rows_review": "reviewing rows",
    "finalized": "a dataset",
    "abandoned": "abandoned",
}
assert set(STEPS) == set(STATUSES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A refused action: shown at its form, with the submitted input."""

    at: str = ""  # refine, paste, or "" for the whole page
    said: str = ""
    problems: tuple[Problem, ...] = ()
    typed: dict[str, str] = field(default_factory=dict)
    status: int = 200


NOTHING = Refusal()


@router.get("/worlds")
async def worlds_page(
    request: Request,
    visitor: Reader,
    agent_id: ChosenId = "",
    status: Literal["", "world_review", "rows_generating", "rows_review", "finalized", "abandoned"] = "",
    before: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
) -> Response:
    def read(connection: Connection) -> dict[str, Any]:
        found = seed_sessions.sessions_of_org(
            connection,
            visitor.org_id,
            agent_id=int(agent_id) if agent_id else None,
            status=status or None,
            limit=SHOWN,
            before_id=before,
        )
        agents = agent_choices(connection, visitor.org_id, most=AGENTS_OFFERED)
        names = agent_names(connection, visitor.org_id, limit=AGENTS_OFFERED)
        listed = [(session, _counts(connection, session.id)) for session in found.items]
        return {"sessions": listed, "last_id": found.last_id, "agents": agents, "names": names}

    lists = await platform_of(request).database.read(read)
    filters = {"agent_id": agent_id, "status": status}
    return await page(
        request,
        visitor,
        "worlds.html",
        title="Worlds",
        here="worlds",
        asked=filters,
        steps=STEPS,
        more=_listed_at(filters, lists["last_id"]) if lists["last_id"] is not None else None,
        back=_listed_at(filters, None) if before is not None else None,
        **lists,
    )


@router.get("/worlds/{session_id}")
async def world_page(
    session_id: Id,
    request: Request,
    visitor: Reader,
    bucket: ChosenId = "",
    shown: Literal["kept", "rejected", "dropped"] = "kept",
    after: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
) -> Response:
    rows = RowQuery(bucket=int(bucket) if bucket else None, shown=shown, after=after)
    return await session_page(request, visitor, session_id, rows=rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowQuery:
    bucket: int | None = None
    shown: review_rows.RowFilter = "kept"
    after: int | None = None


async def session_page(
    request: Request,
    visitor: Visitor,
    session_id: int,
    *,
    rows: RowQuery | None = None,
    refusal: Refusal = NOTHING,
) -> Response:
    """The session: its world to review, or its rows next to the frozen world."""
    platform = platform_of(request)
    session = await find_session(platform, visitor.org_id, session_id)
    details = await platform.database.read(partial(_about, session=session))
    tables = await review_world.world_tables(
        platform, session, session.revision, only=None, first=0, most=ENTITIES
    )
    foreseen = await _foreseen(request, session) if session.status == WORLD_REVIEW else None
    context: dict[str, Any] = {"rows": [], "coverage": None, "more_rows": None, "query": RowQuery()}
    if session.status != WORLD_REVIEW:
        context = await _rows(request, session, rows or RowQuery())
    return await page(
        request,
        visitor,
        "world.html",
        title=session.name,
        here="worlds",
        trail=[("Worlds", "/worlds")],
        status=refusal.status,
        refusal=refusal,
        foreseen=foreseen,
        tables=tables["tables"],
        flags=tables["flags"],
        steps=STEPS,
        now=platform.now(),
        **details,
        **context,
    )


async def _foreseen(request: Request, session: SeedSession) -> JsonObject | None:
    """The estimated cost of rows by a model; None if no model is the author or none is set any more."""
    if session.author == EMBEDDED:
        return None
    try:
        return await estimate_session(platform_of(request), session.org_id, session.id)
    except (ModelNotConfigured, ModelFailed):
        return None


@router.get("/worlds/{session_id}/world")
async def whole_world_page(
    session_id: Id,
    request: Request,
    visitor: Reader,
    type: Annotated[str, Query(max_length=255)] = "",
    first: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    revision: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Response:
    """The entities of one type or of all types, beyond those on the session's page, of any revision."""
    platform = platform_of(request)
    session = await find_session(platform, visitor.org_id, session_id)
    number = revision or session.revision
    tables = await review_world.world_tables(
        platform, session, number, only=type or None, first=first, most=ENTITIES_OF_TYPE
    )
    return await page(
        request,
        visitor,
        "world_whole.html",
        title=f"World, revision {number}",
        here="worlds",
        trail=[("Worlds", "/worlds"), (session.name, f"/worlds/{session_id}")],
        session=session.as_json(),
        number=number,
        type=type,
        first=first,
        at_once=ENTITIES_OF_TYPE,
        tables=tables["tables"],
        flags=tables["flags"],
    )


@router.get("/worlds/{session_id}/events")
async def world_events(session_id: Id, request: Request, visitor: Reader) -> Response:
    """Server-sent events with the progress as HTML, rendered once for all viewers."""
    await find_session(platform_of(request), visitor.org_id, session_id)
    watches: BatchWatches = request.app.state.session_page_watches

    async def is_welcome() -> bool:
        return await who_signed_in(request) is not None

    return StreamingResponse(
        while_welcome(watches.events(visitor.org_id, session_id), is_welcome),
        media_type="text/event-stream",
        headers={"cache-control": "no-cache", "x-content-type-options": "nosniff"},
    )


def _about(connection: Connection, session: SeedSession) -> dict[str, Any]:
    present = world_revisions.revision_by_number(connection, session_id=session.id, number=session.revision)
    assert present is not None
    history = world_revisions.revisions_of_session(
        connection, session_id=session.id, limit=REVISIONS, before=None
    )
    names = agent_names(connection, session.org_id, limit=AGENTS_OFFERED)
    return {
        "session": session_json(connection, session),
        "agent_name": names.get(session.agent_id, f"agent {session.agent_id}"),
        "revision": present,
        "world": present.told,
        "advisories": grouped(present.told["advisories"]),
        "history": [(each, shown_changes(each)) for each in history.items],
        "has_older": history.last_id is not None,
    }


def grouped(advisories: Any) -> list[tuple[str, list[JsonObject]]]:
    """The advisories by kind, in their order."""
    kinds: dict[str, list[JsonObject]] = {}
    for each in advisories:
        kinds.setdefault(str(each["name"]), []).append(each)
    return [(kind.replace("_", " "), found) for kind, found in kinds.items()]


def shown_changes(revision: WorldRevision) -> dict[str, Any]:
    changes: Any = revision.changes
    return {**changes, "listed": [change_from_json(change) for change in changes["listed"]]}


async def _rows(request: Request, session: SeedSession, query: RowQuery) -> dict[str, Any]:
    platform = platform_of(request)
    found = await review_rows.list_rows(
        platform,
        session.org_id,
        session.id,
        shown=query.shown,
        bucket=query.bucket,
        limit=ROWS,
        after_id=query.after,
    )
    has_coverage = session.status == ROWS_REVIEW
    coverage = await review_rows.read_coverage(platform, session.org_id, session.id) if has_coverage else None
    filters = {"bucket": str(query.bucket or ""), "shown": "" if query.shown == "kept" else query.shown}
    more = urlencode(
        {name: value for name, value in filters.items() if value} | {"after": str(found.last_id)}
    )
    return {
        "rows": [_shown_row(row) for row in found.items],
        "coverage": coverage,
        "more_rows": f"/worlds/{session.id}?{more}#rows" if found.last_id is not None else None,
        "query": query,
    }


def _shown_row(row: SeedRow) -> JsonObject:
    body = row.as_json()
    rules: Any = body["failure_rules"]
    words: list[Json] = [rule_in_words(rule_from_stored(rule)) for rule in rules]
    return body | {"rules": words}


def _counts(connection: Connection, session_id: int) -> tuple[int, int]:
    """The numbers of kept and wanted rows."""
    buckets = seed_rows.buckets_of_session(connection, session_id)
    return sum(each.kept for each in buckets), sum(each.wanted for each in buckets)


def _listed_at(asked: dict[str, str], before: int | None) -> str:
    kept = {name: value for name, value in asked.items() if value}
    query = urlencode(kept | ({"before": str(before)} if before is not None else {}))
    return f"/worlds?{query}" if query else "/worlds"
