"""Identifies the visitor of a page, and checks the origin of forms and the Host header."""

import hashlib
import hmac
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.params import Depends as DependsOn
from starlette.datastructures import FormData, UploadFile

from pipelines.core.access.identity import Identity
from pipelines.core.limits.fair_slots import FairSlots
from pipelines.server.api.common import at_least, note_org, platform_of
from pipelines.storage.accounts.sign_ins import signed_in
from pipelines.wire.errors import BodyTooLarge, Forbidden, MisdirectedRequest, OdysseyError
from pipelines.wire.names import Role

MEBIBYTE = 1024 * 1024
MOST_FIELDS = 1_000
MOST_ENCODED = MEBIBYTE // 4  # bytes of a form that is not sent in parts
NOT_OURS = "This form did not come from a page of this server. Reload the page and try again."
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf"
READING = ("GET", "HEAD")


class SignInNeeded(Exception):
    """The visitor is not signed in, or the sign-in has expired."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Visitor:
    identity: Identity
    csrf: str
    rendering: FairSlots  # whose pages are made, by turns

    @property
    def org_id(self) -> int:
        return self.identity.org_id

    def may(self, role: str) -> bool:
        """Whether a button that needs this role is shown."""
        return at_least(self.identity, Role(role))


def cookie_name(request: Request) -> str:
    """One cookie per port, because browsers share cookies between the ports of a host."""
    return f"odyssey_{request.url.port or 0}"


def csrf_of(token: str) -> str:
    return hmac.new(token.encode(), b"csrf", hashlib.sha256).hexdigest()


def check_host(request: Request) -> None:
    """Refuses unknown host names, to prevent DNS rebinding: another site could point its own name at this
    address and get the same origin. IP addresses are safe."""
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    own = urlsplit(request.app.state.public_url).hostname or ""
    if host in ("localhost", own) or host.endswith(".localhost") or _is_address(host):
        return
    raise MisdirectedRequest(
        f"This server is not known as {host[:100]!r}. Open it by its IP address or as localhost, or"
        " set PIPELINES_PUBLIC_URL to the URL that people use."
    )


async def who_signed_in(request: Request) -> Identity | None:
    """The identity behind the sign-in cookie; None if it has expired or was revoked."""
    token = request.cookies.get(cookie_name(request), "")
    platform = platform_of(request)
    now = platform.now()
    if not token:
        return None
    return await platform.database.read(lambda connection: signed_in(connection, token, now))


async def visitor_if_any(request: Request) -> Visitor | None:
    """The visitor of an address that is no page, if they are signed in."""
    try:
        return await _visitor(request)
    except (OdysseyError, SignInNeeded):
        return None


async def _visitor(request: Request) -> Visitor:
    check_host(request)
    identity = await who_signed_in(request)
    if identity is None:
        raise SignInNeeded
    note_org(request, identity.org_id)
    visitor = Visitor(
        identity=identity,
        csrf=csrf_of(request.cookies[cookie_name(request)]),
        rendering=request.app.state.rendering,
    )
    if request.method not in READING:
        await check_is_ours(request, visitor.csrf)
    request.state.visitor = visitor
    return visitor


async def check_is_ours(request: Request, csrf: str) -> None:
    """Refuses a form that did not come from a page of this server, by its Origin header and its CSRF
    token."""
    check_origin(request)
    given = request.headers.get(CSRF_HEADER) or str((await read_form(request)).get(CSRF_FIELD, ""))
    if not hmac.compare_digest(given.encode("utf-8", "replace"), csrf.encode()):
        raise Forbidden(NOT_OURS)


def check_origin(request: Request) -> None:
    """Refuses a form whose Origin header names another site."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    scheme, _, host = (origin or "").partition("://")
    is_same = origin is None or (scheme in ("http", "https") and host == request.headers.get("host"))
    if not is_same or site not in (None, "same-origin", "none"):
        raise Forbidden(NOT_OURS)


async def read_form(request: Request, most: int | None = None) -> FormData:
    """The fields and files of a form, up to a limit of bytes. The form is read once and cached.

    Parsing a percent-encoded form blocks the event loop (half a second per MiB). So forms with long texts use
    multipart/form-data, which is cheap to parse.
    """
    length = request.headers.get("content-length", "")
    limit = request.app.state.upload_limit_mb * MEBIBYTE if most is None else most
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        limit = min(limit, MOST_ENCODED)
    if not (length.isascii() and length.isdigit()) or len(length) > 18 or int(length) > limit:
        raise BodyTooLarge(f"The form is over {limit // 1024:,} KiB, or has no Content-Length.")
    return await request.form(max_files=100, max_fields=MOST_FIELDS, max_part_size=8 * MEBIBYTE)


async def form_texts(request: Request, most: int | None = None) -> dict[str, str]:
    """The text fields of the form; for a repeated name, the last value."""
    form = await read_form(request, most)
    return {name: value for name, value in form.multi_items() if not isinstance(value, UploadFile)}


def _needs(role: Role) -> DependsOn:
    async def check(visitor: Annotated[Visitor, Depends(_visitor)]) -> Visitor:
        if not at_least(visitor.identity, role):
            raise Forbidden(
                f"You are signed in as {visitor.identity.role.value}. You"
                f" need the role {role.value} for this."
            )
        return visitor

    return Depends(check)  # type: ignore[no-any-return]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


Reader = Annotated[Visitor, _needs(Role.VIEWER)]
Writer = Annotated[Visitor, _needs(Role.CONTRIBUTOR)]
Keeper = Annotated[Visitor, _needs(Role.ADMIN)]
