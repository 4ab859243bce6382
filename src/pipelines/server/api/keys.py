"""API keys of the org: made, listed, revoked. A key is shown once."""

from fastapi import APIRouter, Request, Response

from pipelines.engine.access import manage_keys
from pipelines.server.api.common import (
    Admin,
    Cursor,
    Id,
    Limit,
    Ours,
    answer,
    answer_page,
    id_cursor,
    json_body,
    read_json_object,
)
from pipelines.server.api.schemas import bodies
from pipelines.storage.accounts.keys import keys_of_org

router = APIRouter(prefix="/api/keys", tags=["keys"])


@router.post("", status_code=201, openapi_extra=json_body(bodies.KEY))
async def create_key(request: Request, platform: Ours, key: Admin) -> Response:
    """A new key of this org; `api_key` in the answer is the only time it is shown."""
    created = await manage_keys.create_key(platform, key, await read_json_object(request))
    return answer(created, 201)


@router.get("")
async def list_keys(platform: Ours, key: Admin, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """The org's keys, newest first, revoked ones too."""
    before_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: keys_of_org(connection, key.org_id, limit=limit, before_id=before_id)
    )
    return answer_page(page)


@router.delete("/{key_id}", status_code=204)
async def revoke_key(key_id: Id, platform: Ours, key: Admin) -> Response:
    """From now on this key is refused."""
    await manage_keys.revoke_key(platform, key, key_id)
    return Response(status_code=204)
