"""Who is asking, as the server sees it: the first thing to try with a new token."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Response

from pipelines.core.access.identity import TokenBearer
from pipelines.server.api.common import Viewer, answer
from pipelines.wire.names import Role
from pipelines.wire.records import Id, Record, one_of


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownIdentity(Record, component="Identity"):
    """Who is asking."""

    name: str
    role: Role
    org_id: Id
    credential: Annotated[str, one_of(("key", "token"))]
    issuer: Annotated[str | None, "of a token"]


router = APIRouter(prefix="/api/v1", tags=["eval library"])


@router.get("/whoami")
async def whoami(asking: Viewer) -> Response:
    """Who the key or token in this request belongs to, and what it allows."""
    issuer = asking.issuer if isinstance(asking, TokenBearer) else None
    return answer(
        KnownIdentity(
            name=asking.name,
            role=asking.role,
            org_id=asking.org_id,
            credential=asking.credential,
            issuer=issuer,
        )
    )
