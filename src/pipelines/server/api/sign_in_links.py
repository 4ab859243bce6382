"""Links that sign a browser in to the pages, for whoever holds a key."""

import secrets
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Response

from pipelines.engine.platform import later
from pipelines.server.api.common import Ours, Viewer, answer
from pipelines.storage.accounts.keys import ApiKey
from pipelines.storage.accounts.sign_ins import add_link
from pipelines.wire.records import Moment, Record


@dataclass(frozen=True, kw_only=True, slots=True)
class SignInLink(Record):
    """Signs a browser in."""

    path: Annotated[str, "of this server; good for one sign-in"]
    expires_at: Moment


router = APIRouter(prefix="/api/sign-in-links", tags=["keys"])
LASTS_S = 10 * 60  # long enough to walk to another machine with it


@router.post("", status_code=201)
async def create_sign_in_link(platform: Ours, key: Viewer) -> Response:
    """A path of this server that signs one browser in, as this key. It works once, for 10 minutes."""
    assert isinstance(key, ApiKey), "tokens are accepted only under /api/v1"
    code, now = secrets.token_urlsafe(24), platform.now()
    expires_at = later(now, LASTS_S)
    await platform.database.write(
        lambda connection: add_link(connection, token=code, key_id=key.id, now=now, expires_at=expires_at)
    )
    return answer(SignInLink(path=f"/sign-in?code={code}", expires_at=expires_at), 201)
