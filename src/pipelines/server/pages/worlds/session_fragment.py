"""The progress part of a session's page, as the event that replaces it."""

import asyncio

from pipelines.core.text.json_text import JsonObject
from pipelines.web.render import render

TEMPLATE = "world_progress.html"


async def session_fragment(session: JsonObject) -> str:
    """Renders the fragment. All viewers get the same one, so it contains nothing about one visitor."""
    return await asyncio.to_thread(render, TEMPLATE, {"session": session})
