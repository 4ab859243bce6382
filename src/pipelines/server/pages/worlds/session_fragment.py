"""What a session's page shows of rows being made, as the event that replaces it."""

import asyncio

from pipelines.core.text.json_text import JsonObject
from pipelines.web.render import render

TEMPLATE = "world_progress.html"


async def session_fragment(session: JsonObject) -> str:
    """Nothing in it is for one visitor, since all get the same."""
    return await asyncio.to_thread(render, TEMPLATE, {"session": session})
