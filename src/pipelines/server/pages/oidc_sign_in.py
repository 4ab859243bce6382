"""Sign-in with the OIDC issuer: redirects the browser there, and handles its return with a code."""

import hmac
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from pipelines.engine.platform import later
from pipelines.server.api.common import platform_of
from pipelines.server.oidc import LASTS_S, Begun, Oidc
from pipelines.server.pages.sign_in import Next, ask_to_sign_in, local_path, sign_in_as
from pipelines.server.pages.visitor import check_host
from pipelines.server.tokens import Tokens
from pipelines.wire.errors import NotFound, OdysseyError

router = APIRouter()
PATH = "/sign-in/oidc"
MOST_SAID = 300
NOT_BEGUN = (
    "This sign-in did not start in this browser, or it started more"
    " than 10 minutes ago. Start again here. If it"
    " fails again, allow cookies for this site."
)
Given = Annotated[str, Query(max_length=4_000)]


@router.get(f"{PATH}/start")
async def start(request: Request, then: Next = "/") -> Response:
    check_host(request)
    oidc, platform = _oidc(request), platform_of(request)
    begun = oidc.begin(local_path(then), later(platform.now(), LASTS_S))
    try:
        url = await oidc.sign_in.url(
            redirect_uri=_redirect_uri(request),
            state=begun.state,
            nonce=begun.nonce,
            challenge=begun.challenge,
        )
    except OdysseyError as error:
        return ask_to_sign_in(request, then, problem=error.message, status=503)
    response = RedirectResponse(url, 303)
    response.set_cookie(
        _cookie_name(request),
        oidc.cookie(begun),
        max_age=LASTS_S,
        path=PATH,
        httponly=True,
        samesite="lax",  # the issuer's page sends the browser back here
        secure=_redirect_uri(request).startswith("https:"),
    )
    return response


@router.get(PATH)
async def come_back(
    request: Request,
    code: Given = "",
    state: Given = "",
    error: Given = "",
    error_description: Given = "",
    iss: Given = "",
) -> Response:
    check_host(request)
    oidc = _oidc(request)
    begun = oidc.read(request.cookies.get(_cookie_name(request), ""), platform_of(request).now())
    if begun is None or not hmac.compare_digest(begun.state.encode(), state.encode()):
        return _refused(request, "/", NOT_BEGUN)
    if iss and iss != oidc.issuer:  # RFC 9207: the answer is of another issuer than was asked
        return _refused(request, begun.then, f"The response came from a different issuer than {oidc.issuer}.")
    if error or not code:
        reason = f"{error or 'no code'}{': ' if error_description else ''}{error_description}"[:MOST_SAID]
        return _refused(request, begun.then, f"{oidc.name} did not sign you in: {reason}")
    return await _finish(request, oidc, begun, code)


async def _finish(request: Request, oidc: Oidc, begun: Begun, code: str) -> Response:
    tokens: Tokens = request.app.state.tokens
    try:
        id_token = await oidc.sign_in.id_token(
            code, verifier=begun.verifier, redirect_uri=_redirect_uri(request)
        )
        bearer = await tokens.signed_in(id_token, client_id=oidc.sign_in.client.id, nonce=begun.nonce)
    except OdysseyError as error:
        return _refused(request, begun.then, error.message)
    response = await sign_in_as(request, bearer, begun.then)
    response.delete_cookie(_cookie_name(request), path=PATH)
    return response


def _refused(request: Request, then: str, problem: str) -> Response:
    response = ask_to_sign_in(request, then, problem=problem, status=401)
    response.delete_cookie(_cookie_name(request), path=PATH)
    return response


def _oidc(request: Request) -> Oidc:
    oidc: Oidc | None = request.app.state.oidc
    if oidc is None:
        raise NotFound(
            "This server has no issuer to sign in with. Set PIPELINES_OIDC_ISSUER"
            " and PIPELINES_OIDC_CLIENT_ID."
        )
    return oidc


def _redirect_uri(request: Request) -> str:
    """The redirect URI registered at the issuer, under the public URL."""
    base: str = request.app.state.public_url or str(request.base_url)
    return f"{base.rstrip('/')}{PATH}"


def _cookie_name(request: Request) -> str:
    """One cookie per port, like the sign-in cookie."""
    return f"odyssey_oidc_{request.url.port or 0}"
