"""/ui/style: shows the palette, the type and every component. Also serves the static files."""

from fastapi import APIRouter, Request, Response

from pipelines.core.ledger.world_changes import WorldChange
from pipelines.server.pages.page import page
from pipelines.server.pages.visitor import Reader
from pipelines.web.assets import BASE, assets, vendored
from pipelines.wire.errors import NotFound

router = APIRouter()
FOREVER = "public, max-age=31536000, immutable"
SAMPLE = {
    "order_id": "4521",
    "amount": 79.5,
    "is_gift": False,
    "items": [{"sku": "mug-blue", "quantity": 2}, {"sku": "tray", "quantity": 1}],
    "note": "The buyer asked for the parcel to be left with the neighbour. " * 12,
}


@router.get("/ui/style")
async def style_page(request: Request, visitor: Reader) -> Response:
    return await page(
        request,
        visitor,
        "style.html",
        title="Style",
        here="",
        sample=SAMPLE,
        sample_change=WorldChange("changed", "order.4521", "status", "shipped", "refunded"),
        vendored=vendored(),
    )


@router.get(BASE + "/{version}/{name}")
async def static_file(version: str, name: str, request: Request) -> Response:
    """Needs no sign-in: static files hold no data."""
    asset = assets().get(name)
    if asset is None:
        raise NotFound(f"There is no file {name[:100]}.")
    headers = {
        "cache-control": FOREVER if version == asset.version else "no-cache",
        "x-content-type-options": "nosniff",
        "vary": "accept-encoding",
    }
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(
            asset.zipped, media_type=asset.content_type, headers=headers | {"content-encoding": "gzip"}
        )
    return Response(asset.content, media_type=asset.content_type, headers=headers)
