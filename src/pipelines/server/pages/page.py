"""Renders pages as responses: adds the frame's context and the security headers."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.text.json_text import JsonObject
from pipelines.server.api.common import platform_of
from pipelines.server.pages.visitor import Visitor
from pipelines.storage.accounts.keys import org_name
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals.review_queue import waiting_counts
from pipelines.web.render import render

#: (name, label, path), in the order of the navigation.
PLACES = (
    ("home", "Home", "/"),
    ("agents", "Agents", "/agents"),
    ("datasets", "Datasets", "/datasets"),
    ("worlds", "Worlds", "/worlds"),
    ("runs", "Runs", "/runs"),
    ("evals", "Evals", "/evals"),
    ("review", "Review", "/review"),
)
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
SAID_COOKIE = "odyssey_said"
MOST_SAID = 1_000
FRAME_S = 3.0

Trail = Sequence[tuple[str, str]]


async def page(
    request: Request,
    visitor: Visitor,
    template: str,
    *,
    title: str,
    here: str,
    trail: Trail = (),
    status: int = 200,
    **context: Any,
) -> Response:
    """Renders a whole page. `here` is its entry in the navigation, `trail` the links that lead to it.

    Renders in a thread, because a large table takes a tenth of a second. Each org renders at most two pages
    at a time, because every such thread slows down the others.
    """
    for_path, _, said = unquote(request.cookies.get(SAID_COOKIE, "")).partition("\n")
    message = said if for_path == request.url.path else ""
    frame = {
        "me": await _me(request, visitor),
        "title": title,
        "here": here,
        "trail": trail,
        "said": message,
        "may": visitor.may,
    }
    text = await _rendered(visitor, template, frame | context)
    response = HTMLResponse(text, status, headers=HEADERS)
    if message:
        response.delete_cookie(SAID_COOKIE)
    return response


async def part(visitor: Visitor, template: str, *, status: int = 200, **context: Any) -> Response:
    """Renders a fragment of a page for htmx."""
    text = await _rendered(visitor, template, {"me": {"csrf": visitor.csrf}, "may": visitor.may} | context)
    return HTMLResponse(text, status, headers=HEADERS)


async def _rendered(visitor: Visitor, template: str, context: Mapping[str, Any]) -> str:
    async with visitor.rendering.slot(SlotHolder(visitor.org_id)):
        return await asyncio.to_thread(render, template, context)


def bare_page(template: str, *, title: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A page for a visitor who is not signed in, or whose sign-in could not be checked."""
    frame = {"me": None, "title": title, "here": "", "trail": (), "said": ""}
    return HTMLResponse(render(template, frame | context), status, headers=HEADERS)


def go(path: str, said: str = "") -> Response:
    """Redirects to a page after an action. This page shows the message once, and no other page shows it."""
    response = RedirectResponse(path, 303)
    if said:
        kept = quote(f"{urlsplit(path).path}\n{said[:MOST_SAID]}")
        response.set_cookie(SAID_COOKIE, kept, max_age=60, httponly=True, samesite="lax")
    return response


async def _me(request: Request, visitor: Visitor) -> JsonObject:
    org, waiting = await _about_org(request, visitor.org_id)
    return {
        "name": visitor.identity.name,
        "role": visitor.identity.role.value,
        "org": org,
        "csrf": visitor.csrf,
        "waiting": waiting,
        "places": [list(place) for place in PLACES],
    }


async def _about_org(request: Request, org_id: int) -> tuple[str, int]:
    """The name of the org and its number of waiting reviews, cached for a few seconds."""
    kept: dict[int, tuple[float, str, int]] = request.app.state.frames
    known = kept.get(org_id)
    if known is not None and time.monotonic() - known[0] < FRAME_S:
        return known[1], known[2]

    def read(connection: Connection) -> tuple[str, int]:
        waiting = waiting_counts(connection, org_id=org_id)["total"]
        assert isinstance(waiting, int)
        return org_name(connection, org_id), waiting

    name, waiting = await platform_of(request).database.read(read)
    kept[org_id] = (time.monotonic(), name, waiting)
    return name, waiting


def forget_counts(request: Request, org_id: int) -> None:
    """Drops the cached counts of an org after a decision."""
    request.app.state.frames.pop(org_id, None)
