"""/settings: the signed-in person, the roles, and helpers of the other tabs."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from pipelines.core.access.identity import TokenBearer
from pipelines.core.text.problems import Problem, Refused
from pipelines.server.api.common import MAX_PAGE, platform_of
from pipelines.server.config.settings import Settings
from pipelines.server.pages.page import page
from pipelines.server.pages.visitor import Reader, Visitor, cookie_name
from pipelines.storage.accounts.keys import ApiKey, keys_of_org
from pipelines.storage.accounts.sign_ins import times_of_sign_in
from pipelines.wire.names import Role

router = APIRouter()
#: (name, label, path, the role that sees it)
TABS = (
    ("you", "You", "/settings", Role.VIEWER),
    ("keys", "Keys", "/settings/keys", Role.ADMIN),
    ("members", "Members and roles", "/settings/members", Role.VIEWER),
    ("credentials", "Credentials", "/settings/credentials", Role.VIEWER),
    ("endpoints", "Endpoints", "/settings/endpoints", Role.VIEWER),
    ("models", "Models", "/settings/models", Role.VIEWER),
    ("cassettes", "Cassettes", "/settings/cassettes", Role.VIEWER),
    ("server", "Server", "/settings/server", Role.VIEWER),
    ("data", "Data", "/settings/data", Role.ADMIN),
)
#: The permissions of each role, in addition to those of the role above.
ROLES = (
    (
        Role.VIEWER,
        (
            "view everything in the org: agents, datasets, runs, traces, evals, reviews",
            "download traces, cassettes and reports",
        ),
    ),
    (
        Role.CONTRIBUTOR,
        (
            "register agents, upload datasets and code, correct oracles",
            "start, cancel, resume and re-judge batches and matrices",
            "decide reviews and write scenarios",
            "set credentials, add tool endpoints and discover their tools, record cassettes",
        ),
    ),
    (
        Role.ADMIN,
        (
            "create and revoke keys",
            "change the review settings",
            "view data locations, sizes and retention, and prune data",
        ),
    ),
    (Role.OWNER, ("create and revoke keys of owners",)),
)


def settings_of(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


async def settings_page(
    request: Request, visitor: Visitor, template: str, tab: str, *, status: int = 200, **context: Any
) -> Response:
    """One tab. Tabs that the person has no permission for are hidden."""
    tabs = [(name, label, path) for name, label, path, role in TABS if visitor.may(role)]
    label = next(label for name, label, _, _ in TABS if name == tab)
    title = "Settings" if tab == "you" else label
    trail = [] if tab == "you" else [("Settings", "/settings")]
    return await page(
        request,
        visitor,
        template,
        title=title,
        here="settings",
        trail=trail,
        status=status,
        tabs=tabs,
        tab=tab,
        **context,
    )


def problems_at(refused: Refused | None, name: str) -> Sequence[Problem]:
    """The problems of one field."""
    return [each for each in refused.problems if each.path == f"/{name}"] if refused is not None else []


@router.get("/settings")
async def your_page(request: Request, visitor: Reader) -> Response:
    token = request.cookies[cookie_name(request)]
    times = await platform_of(request).database.read(lambda connection: times_of_sign_in(connection, token))
    identity = visitor.identity
    return await settings_page(
        request,
        visitor,
        "settings_you.html",
        "you",
        identity=identity,
        key=identity if isinstance(identity, ApiKey) else None,
        issuer=identity.issuer if isinstance(identity, TokenBearer) else None,
        times=times,
    )


@router.get("/settings/members")
async def members_page(request: Request, visitor: Reader) -> Response:
    """The keys by role, and the issuer whose tokens are accepted."""
    keys: list[ApiKey] = []
    if visitor.may(Role.ADMIN):
        found = await platform_of(request).database.read(
            lambda connection: keys_of_org(connection, visitor.org_id, limit=MAX_PAGE, before_id=None)
        )
        keys = [key for key in found.items if key.revoked_at is None]
    settings = settings_of(request)
    return await settings_page(
        request,
        visitor,
        "settings_members.html",
        "members",
        roles=[(role.value, may, [key for key in keys if key.role is role]) for role, may in ROLES],
        own=visitor.identity.role.value,
        issuer=settings.oidc_issuer,
        role_claim=settings.oidc_role_claim,
        org_claim=settings.oidc_org_claim,
    )
