"""Home: what ran lately, what waits, and the next step."""

from fastapi import APIRouter, Request, Response

from pipelines.server.pages.page import page
from pipelines.server.pages.visitor import Reader

router = APIRouter()


@router.get("/")
async def home_page(request: Request, visitor: Reader) -> Response:
    return await page(request, visitor, "home.html", title="Home", here="home")
