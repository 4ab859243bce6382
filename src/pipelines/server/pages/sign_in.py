"""Signs people in with a one-time link, a key or a token, and signs them out."""

import secrets
from typing import Annotated
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from pipelines.core.access.identity import Identity
from pipelines.core.access.tokens import is_like_token
from pipelines.engine.platform import later
from pipelines.server.api.common import identity_by_secret, platform_of
from pipelines.server.oidc import Oidc
from pipelines.server.pages.page import bare_page, go
from pipelines.server.pages.visitor import Reader, check_host, check_origin, cookie_name, form_texts
from pipelines.server.tokens import Tokens
from pipelines.storage.accounts.sign_ins import add_sign_in, end_sign_in, take_link
from pipelines.storage.database.connection import Connection
from pipelines.wire.errors import OdysseyError

router = APIRouter()
LASTS_S = 14 * 24 * 3600
MOST_FORM = 64 * 1024  # bytes, of anybody: a token of an issuer has some thousand
TOKEN_LASTS_S = 8 * 3600  # a working day: its issuer may take back what a token says
NOT_A_LINK = (
    "This link has been used already, or it has expired. Sign in with a"
    " key, or get a new link with `pipelines open`."
)

Next = Annotated[str, Query(alias="next", max_length=2_000)]


@router.get("/sign-in")
async def sign_in_page(
    request: Request, code: Annotated[str, Query(max_length=200)] = "", then: Next = "/"
) -> Response:
    check_host(request)
    if not code:
        return ask_to_sign_in(request, then)
    platform = platform_of(request)
    now, token = platform.now(), secrets.token_urlsafe(32)

    def take(connection: Connection) -> Identity | None:
        key = take_link(connection, code, now)
        if key is not None:
            add_sign_in(connection, token=token, identity=key, now=now, expires_at=later(now, LASTS_S))
        return key

    if await platform.database.write(take) is None:
        return ask_to_sign_in(request, then, problem=NOT_A_LINK, status=401)
    return _signed_in(request, token, LASTS_S, then)


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Needs no CSRF token, because the sender must know a key. But forms from other sites are refused: they
    could sign a person in with the attacker's key and read what that person does."""
    check_host(request)
    check_origin(request)
    form = await form_texts(request, MOST_FORM)
    then = form.get("next", "/")
    try:
        identity = await _known(request, form.get("key", "").strip())
    except OdysseyError as error:
        return ask_to_sign_in(request, then, problem=error.message, status=401)
    return await sign_in_as(request, identity, then)


async def sign_in_as(request: Request, identity: Identity, then: str) -> Response:
    """A new sign-in of somebody who is known, in this browser."""
    platform = platform_of(request)
    now, token = platform.now(), secrets.token_urlsafe(32)
    lasts_s = TOKEN_LASTS_S if identity.credential == "token" else LASTS_S
    await platform.database.write(
        lambda connection: add_sign_in(
            connection, token=token, identity=identity, now=now, expires_at=later(now, lasts_s)
        )
    )
    return _signed_in(request, token, lasts_s, then)


@router.post("/sign-out")
async def sign_out(request: Request, visitor: Reader) -> Response:
    name = cookie_name(request)
    token = request.cookies[name]
    await platform_of(request).database.write(lambda connection: end_sign_in(connection, token))
    response = go("/sign-in")
    response.delete_cookie(name)
    return response


def to_sign_in(request: Request) -> Response:
    """A page for which somebody must be known; they come back to it."""
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"hx-redirect": "/sign-in"})
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = target if request.method in ("GET", "HEAD") else "/"
    return RedirectResponse(f"/sign-in?next={quote(back, safe='')}", 303)


async def _known(request: Request, secret: str) -> Identity:
    if is_like_token(secret):
        tokens: Tokens = request.app.state.tokens
        return await tokens.bearer(secret)
    return await identity_by_secret(platform_of(request), secret)


def ask_to_sign_in(request: Request, then: str, *, problem: str = "", status: int = 200) -> Response:
    oidc: Oidc | None = request.app.state.oidc
    return bare_page(
        "sign_in.html",
        title="Sign in",
        then=local_path(then),
        problem=problem,
        status=status,
        issuer=oidc.name if oidc is not None else None,
    )


def _signed_in(request: Request, token: str, lasts_s: int, then: str) -> Response:
    response = go(local_path(then))
    is_https = urlsplit(request.app.state.public_url).scheme == "https"
    response.set_cookie(
        cookie_name(request), token, max_age=lasts_s, httponly=True, samesite="lax", secure=is_https
    )
    return response


def local_path(path: str) -> str:
    """Only a path of this server: a link to the sign-in page must not lead anywhere else."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_ours else "/"
