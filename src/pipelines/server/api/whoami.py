"""Who is asking, as the server sees it: the first thing to try with a new token."""

from fastapi import APIRouter, Response

from pipelines.core.access.identity import TokenBearer
from pipelines.server.api.common import Viewer, answer

router = APIRouter(prefix="/api/v1", tags=["eval library"])


@router.get("/whoami")
async def whoami(asking: Viewer) -> Response:
    """Who the key or token in this request belongs to, and what it allows."""
    issuer = asking.issuer if isinstance(asking, TokenBearer) else None
    return answer(
        {
            "name": asking.name,
            "role": asking.role.value,
            "org_id": asking.org_id,
            "credential": asking.credential,
            "issuer": issuer,
        }
    )
