"""/settings/keys and /settings/credentials. Secrets are shown once, or never."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.access import manage_credentials, manage_keys
from pipelines.server.api.common import Id, encode_cursor, id_cursor, platform_of
from pipelines.server.pages.page import go
from pipelines.server.pages.settings.settings import problems_at, settings_page
from pipelines.server.pages.visitor import Keeper, Reader, Visitor, Writer, form_texts
from pipelines.storage.accounts.credentials import credentials_of_org
from pipelines.storage.accounts.keys import keys_of_org
from pipelines.wire.errors import Conflict, Forbidden, NotFound

router = APIRouter()
SHOWN = 100
Place = Annotated[str, Query(max_length=200)]


@router.get("/settings/keys")
async def keys_page(request: Request, visitor: Keeper, cursor: Place = "") -> Response:
    return await _keys(request, visitor, cursor=cursor)


@router.post("/settings/keys")
async def make_key(request: Request, visitor: Keeper) -> Response:
    """Answers with the page instead of a redirect, because the key can be shown only now."""
    form = await form_texts(request)
    body: JsonObject = {"name": form.get("name", ""), "role": form.get("role", "")}
    try:
        created = await manage_keys.create_key(platform_of(request), visitor.identity, body)
    except (Refused, Forbidden) as refused:
        return await _keys(request, visitor, refused=refused, typed=form)
    return await _keys(request, visitor, made=created.key.as_json(), secret=created.api_key)


@router.post("/settings/keys/{key_id}/revoke")
async def revoke_key(key_id: Id, request: Request, visitor: Keeper) -> Response:
    try:
        await manage_keys.revoke_key(platform_of(request), visitor.identity, key_id)
    except (Conflict, Forbidden, NotFound) as refused:
        return await _keys(request, visitor, refused=refused)
    return go("/settings/keys", f"Key {key_id} is revoked. Everybody who signed in with it is signed out.")


@router.get("/settings/credentials")
async def credentials_page(request: Request, visitor: Reader, cursor: Place = "") -> Response:
    return await _credentials(request, visitor, cursor=cursor)


@router.post("/settings/credentials")
async def set_credential(request: Request, visitor: Writer) -> Response:
    form = await form_texts(request)
    body: JsonObject = {"name": form.get("name", "").strip(), "value": form.get("value", "")}
    try:
        stored = await manage_credentials.set_credential(platform_of(request), visitor.org_id, body)
    except Refused as refused:
        return await _credentials(request, visitor, refused=refused, name=form.get("name", ""))
    warned = " ".join(_warning_text(each) for each in stored.soft_warnings)
    return go("/settings/credentials", f"{stored.credential.name} is set. {warned}".strip())


@router.post("/settings/credentials/{credential_id}/delete")
async def delete_credential(credential_id: Id, request: Request, visitor: Writer) -> Response:
    await manage_credentials.delete_credential(platform_of(request), visitor.org_id, credential_id)
    return go(
        "/settings/credentials",
        "The credential is deleted. Agents and endpoints that use it fail until you set it again.",
    )


async def _keys(
    request: Request,
    visitor: Visitor,
    *,
    cursor: str = "",
    refused: Exception | None = None,
    typed: dict[str, str] | None = None,
    made: JsonObject | None = None,
    secret: str = "",
) -> Response:
    before_id = id_cursor(cursor or None)
    found = await platform_of(request).database.read(
        lambda connection: keys_of_org(connection, visitor.org_id, limit=SHOWN, before_id=before_id)
    )
    return await settings_page(
        request,
        visitor,
        "settings_keys.html",
        "keys",
        status=422 if refused is not None else 200,
        keys=found.items,
        more=_more("/settings/keys", found.last_id),
        back="/settings/keys" if cursor else None,
        made=made,
        secret=secret,
        typed=typed or {},
        refusal="" if refused is None or isinstance(refused, Refused) else str(refused),
        name_problems=problems_at(refused if isinstance(refused, Refused) else None, "name"),
        roles=[role for role in manage_keys.ROLES if role != "owner" or visitor.may("owner")],
    )


async def _credentials(
    request: Request, visitor: Visitor, *, cursor: str = "", refused: Refused | None = None, name: str = ""
) -> Response:
    """Does not send a refused value back; the user enters it again."""
    before_id = id_cursor(cursor or None)
    found = await platform_of(request).database.read(
        lambda connection: credentials_of_org(connection, visitor.org_id, limit=SHOWN, before_id=before_id)
    )
    return await settings_page(
        request,
        visitor,
        "settings_credentials.html",
        "credentials",
        status=422 if refused is not None else 200,
        credentials=[each.as_json() for each in found.items],
        more=_more("/settings/credentials", found.last_id),
        back="/settings/credentials" if cursor else None,
        name=name,
        name_problems=problems_at(refused, "name"),
        value_problems=problems_at(refused, "value"),
    )


def _more(path: str, last_id: int | None) -> str | None:
    return f"{path}?cursor={encode_cursor(str(last_id))}" if last_id is not None else None


def _warning_text(warning: Json) -> str:
    return str(warning.get("message", warning)) if isinstance(warning, dict) else str(warning)
