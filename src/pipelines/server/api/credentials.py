"""Credentials of the org: set and deleted. Their values are never answered with."""

from fastapi import APIRouter, Request, Response

from pipelines.engine.access import manage_credentials
from pipelines.server.api.common import (
    Contributor,
    Cursor,
    Id,
    Limit,
    Ours,
    Viewer,
    answer,
    answer_page,
    id_cursor,
    json_body,
    read_json_object,
)
from pipelines.server.api.schemas import bodies
from pipelines.storage.accounts.credentials import credentials_of_org

router = APIRouter(prefix="/api/credentials", tags=["credentials"])


@router.post("", status_code=201, openapi_extra=json_body(bodies.CREDENTIAL))
async def set_credential(request: Request, platform: Ours, key: Contributor) -> Response:
    """Keep a secret under a name; one of this name gets the new value. The value is never shown again."""
    stored = await manage_credentials.set_credential(platform, key.org_id, await read_json_object(request))
    return answer(stored, 201)


@router.get("")
async def list_credentials(platform: Ours, key: Viewer, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """The names of the org's credentials, newest first."""
    before_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: credentials_of_org(connection, key.org_id, limit=limit, before_id=before_id)
    )
    return answer_page(page)


@router.delete("/{credential_id}", status_code=204)
async def delete_credential(credential_id: Id, platform: Ours, key: Contributor) -> Response:
    """Forget a credential. Agents that name it fail with a clear reason until it is set again."""
    await manage_credentials.delete_credential(platform, key.org_id, credential_id)
    return Response(status_code=204)
